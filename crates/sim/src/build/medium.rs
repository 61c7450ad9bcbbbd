//! Builds the node of a shared medium.

use super::topology::Topology;
use crate::address::address;
use crate::error::BuildError;
use lopsided_link::{SharedLink, StationQueue};
use lopsided_net::Routes;
use lopsided_queue::Qdisc;
use lopsided_scenario::{Hop, MediumSpec, NodeRef, Scenario};
use lopsided_spec::Fault;
use std::collections::{BTreeMap, BTreeSet};

/// Builds the node of a shared medium, with one station per link.
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
    let name_of = |hop: &Hop| {
        let link = &scenario.graph.links[hop.link];
        scenario.graph.name(if link.from == own { link.to } else { link.from }).to_owned()
    };
    let names: Vec<String> = net.outlets[net.hosts + spec.router].iter().map(name_of).collect();
    // With a single station, no other station could receive its packets.
    if names.len() < 2 {
        return Err(wrong(Fault::new("", "a medium joins at least two stations: add links to it")));
    }
    let medium = spec.medium.build(&names, seed).map_err(wrong)?;
    let mut stations = Vec::new();
    for (number, station) in names.iter().enumerate() {
        // For each queue of a station, the name of the queue and the receiving station.
        let receivers: BTreeSet<usize> =
            (0..names.len()).filter(|to| *to != number).map(|to| medium.next_hop(number, to)).collect();
        let queues: Vec<(String, usize)> = match medium.queue_per_receiver() && receivers.len() > 1 {
            true => receivers.iter().map(|to| (format!("{station}/{}", names[*to]), *to)).collect(),
            false => vec![(station.clone(), receivers.first().copied().unwrap_or(number))],
        };
        let mut lanes = Vec::new();
        for (name, receiver) in queues {
            let mut queue = settings.queue.build(seed, &format!("{}/{name}", settings.name)).map_err(wrong)?;
            // Sensing packets need a reflector at the far end of the link, and a station has no reflector.
            if queue.sensing().is_some() {
                let fault =
                    Fault::new("queue", "a station of a medium has no far end that could return sensing packets");
                return Err(wrong(fault.help("put the discipline in front of the link that leads to the medium")));
            }
            lanes.push(StationQueue { name, receiver, queue: if audit { queue.checked() } else { queue } });
        }
        stations.push((station.clone(), lanes));
    }
    let hosts = (0..net.hosts).map(address);
    // For each host, the port of the station that leads to the host.
    let ports: BTreeMap<_, _> = hosts.filter_map(|host| routes.to(host).map(|port| (host, port))).collect();
    Ok(SharedLink::new(stations, medium, ports))
}
