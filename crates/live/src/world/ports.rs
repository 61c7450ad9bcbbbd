//! Which flow a packet belongs to, and which way it goes: told by the address and port of the flow's end that listens.

use lopsided_app::Side;
use lopsided_core::{FlowId, Transport};
use lopsided_scenario::Scenario;
use lopsided_sim::listeners;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The flows of a scenario by their listening ends, each of which is one flow's alone.
#[derive(Debug)]
pub(super) struct Ports {
    listeners: BTreeMap<(IpAddr, u16), (FlowId, Side)>,
}

impl Ports {
    pub fn of(scenario: &Scenario) -> Ports {
        let flows = scenario.flows.iter().zip(0..).map(|(flow, number)| (FlowId(number), flow.listener()));
        Ports { listeners: listeners(scenario).into_iter().zip(flows).collect() }
    }

    /// The flow, and the side that the packet goes to. `None`: of no flow, or nothing that has ports.
    pub fn flow(&self, addresses: (IpAddr, IpAddr), transport: &Transport) -> Option<(FlowId, Side)> {
        let (from, to) = match transport {
            Transport::Tcp(header) => (header.src_port, header.dst_port),
            Transport::Udp(header) => (header.src_port, header.dst_port),
            Transport::Other { .. } => return None,
        };
        let toward = self.listeners.get(&(addresses.1, to)).copied();
        toward.or_else(|| self.listeners.get(&(addresses.0, from)).map(|(flow, side)| (*flow, side.other())))
    }
}
