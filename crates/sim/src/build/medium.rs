//! A scenario's shared medium, made into a node.

use super::topology::Topology;
use crate::address::address;
use crate::error::BuildError;
use lopsided_link::SharedLink;
use lopsided_net::Routes;
use lopsided_queue::Qdisc;
use lopsided_scenario::{MediumSpec, NodeRef, Scenario};
use lopsided_spec::Fault;
use std::collections::BTreeMap;

/// The node of the medium: a station for each of its links, called after the node at the other end.
pub(super) fn build(
    spec: &MediumSpec,
    routes: &Routes,
    scenario: &Scenario,
    net: &Topology<'_>,
    seed: u64,
    audit: bool,
) -> Result<SharedLink, BuildError> {
    let settings = spec.medium.settings();
    let wrong = |fault: Fault| BuildError::Link {
        link: settings.name.clone(),
        what: if fault.key.is_empty() { fault.to_string() } else { format!("{}: {fault}", fault.key) },
    };
    let own = NodeRef::Router(spec.router);
    let mut stations = Vec::new();
    for hop in &net.outlets[net.hosts + spec.router] {
        let link = &scenario.graph.links[hop.link];
        let other = if link.from == own { link.to } else { link.from };
        let name = scenario.graph.name(other).to_owned();
        let queue = settings.queue.build(seed, &format!("{}/{name}", settings.name)).map_err(wrong)?;
        if queue.senses().is_some() {
            let fault = Fault::new("queue", "a station of a medium has no far end that could return sensing packets");
            return Err(wrong(fault.help("put the discipline in front of the link that leads to the medium")));
        }
        stations.push((name, if audit { queue.checked() } else { queue }));
    }
    if stations.len() < 2 {
        return Err(wrong(Fault::new("", "a medium joins at least two stations: add links to it")));
    }
    let medium = spec.medium.build(stations.len(), seed).map_err(wrong)?;
    let hosts = (0..net.hosts).map(address);
    let ports: BTreeMap<_, _> = hosts.filter_map(|host| routes.to(host).map(|port| (host, port))).collect();
    Ok(SharedLink::new(stations, medium, ports))
}
