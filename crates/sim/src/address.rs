//! The addresses of a scenario's hosts, and the ports of its services.

use crate::host::FIRST_SERVICE;
use lopsided_app::Side;
use lopsided_scenario::{FlowSpec, Scenario};
use std::net::{IpAddr, Ipv4Addr};

/// Hosts have the addresses 10.0.0.1, 10.0.0.2 and so on, in the scenario's order.
pub(crate) const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The address of a host by its place in the scenario.
pub fn address(host: usize) -> IpAddr {
    Ipv4Addr::from_bits(FIRST_HOST.to_bits() + host as u32).into()
}

/// Where the listening end of each flow is found: the receiver of data, but for applications whose receiver asks for
/// it.
pub fn listeners(scenario: &Scenario) -> Vec<(IpAddr, u16)> {
    let mut services = vec![0; scenario.graph.hosts.len()];
    let place = |flow: &FlowSpec| {
        let host = if flow.listener() == Side::From { flow.from } else { flow.to };
        let before = services[host];
        services[host] += 1;
        (address(host), FIRST_SERVICE + before)
    };
    scenario.flows.iter().map(place).collect()
}
