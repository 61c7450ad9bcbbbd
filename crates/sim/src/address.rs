//! Addresses of hosts, and ports on which applications listen.

use crate::host::FIRST_SERVICE;
use lopsided_app::Side;
use lopsided_scenario::{FlowSpec, Scenario};
use std::net::{IpAddr, Ipv4Addr};

/// Address of the first host. The hosts of a scenario have the addresses 10.0.0.1, 10.0.0.2, ... in order.
pub(crate) const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Returns the address of a host, given its index in the scenario.
pub fn address(host: usize) -> IpAddr {
    Ipv4Addr::from_bits(FIRST_HOST.to_bits() + host as u32).into()
}

/// Returns the address and port at which each flow listens. The receiver listens, unless the receiver opens the
/// connection.
pub fn listeners(scenario: &Scenario) -> Vec<(IpAddr, u16)> {
    let mut services = vec![0; scenario.graph.hosts.len()];
    let place = |flow: &FlowSpec| {
        let host = if flow.listener() == Side::From { flow.from } else { flow.to };
        // `build::flows` assigns ports in the same order.
        let before = services[host];
        services[host] += 1;
        (address(host), FIRST_SERVICE + before)
    };
    scenario.flows.iter().map(place).collect()
}
