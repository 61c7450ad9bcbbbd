//! Derives the flow and direction of a packet from the address and port of the flow's listening end.

use lopsided_app::Side;
use lopsided_core::{FlowId, Transport};
use lopsided_scenario::Scenario;
use lopsided_sim::listeners;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The flows of a scenario, indexed by listening address and port. Each listening end belongs to exactly one flow.
#[derive(Debug)]
pub(super) struct Ports {
    listeners: BTreeMap<(IpAddr, u16), (FlowId, Side)>,
}

impl Ports {
    pub fn of(scenario: &Scenario) -> Ports {
        let flows = scenario.flows.iter().zip(0..).map(|(flow, number)| (FlowId(number), flow.listener()));
        Ports { listeners: listeners(scenario).into_iter().zip(flows).collect() }
    }

    /// Returns the packet's flow, and the side that receives the packet. `None` if the packet belongs to no flow or has
    /// no ports.
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
