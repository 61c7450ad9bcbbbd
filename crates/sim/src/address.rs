//! The addresses of hosts, and the ports of listening applications.

use crate::host::FIRST_SERVICE;
use lopsided_app::Side;
use lopsided_scenario::{FlowSpec, Scenario};
use std::net::{IpAddr, Ipv4Addr};

/// The address of the first host. Hosts have the addresses 10.0.0.1, 10.0.0.2, ... in the order of the scenario.
pub(crate) const FIRST_HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The address of a host, by its index in the scenario.
pub fn address(host: usize) -> IpAddr {
    Ipv4Addr::from_bits(FIRST_HOST.to_bits() + host as u32).into()
}

/// Address and port of the listening end of each flow. The listening end is the receiver of data, or the sender of data
/// if the receiver opens the connection.
pub fn listeners(scenario: &Scenario) -> Vec<(IpAddr, u16)> {
    let mut services = vec![0; scenario.graph.hosts.len()];
    let place = |flow: &FlowSpec| {
        let host = if flow.listener() == Side::From { flow.from } else { flow.to };
        // The same order as in `build::flows`, so that the ports agree.
        let before = services[host];
        services[host] += 1;
        (address(host), FIRST_SERVICE + before)
    };
    scenario.flows.iter().map(place).collect()
}
