//! Builds a network from a scenario: nodes, wires, routes, applications.
//!
//! Nodes are numbered in this order:
//!
//! 1. the hosts and then the routers, in the order of the scenario
//! 2. the two directions of each link, down before up
//! 3. the stages of each link, the reflectors of sensing packets (delay probes), and the routers in front of links with
//!    an MTU
//! 4. the nodes of the run options: middleboxes, edges of passages, and routers and edges of outside hosts

mod flows;
mod link;
mod medium;
mod stages;
mod topology;

use crate::address::{FIRST_HOST, address};
use crate::error::BuildError;
use crate::event_log::Places;
use crate::host::{Host, Interface};
use crate::labels::{NodeKind, NodeLabel};
use crate::options::{MiddleboxPlacement, Outside, Passage, RunOptions};
use crate::simulation::Simulation;
use crate::stack::Stacks;
use flows::place_flow;
use lopsided_core::tcp_event::TcpEventMask;
use lopsided_core::{Accounting, Dir, EventMask, FlowId, NodeId, Port, Time};
use lopsided_net::{Attachment, NetNode, Network, Router, Routes};
use lopsided_scenario::{Hop, InterfaceSpec, Scenario};
use topology::{Routing, Topology};

/// Builds the network of a scenario for one seed.
pub(crate) fn build(scenario: &Scenario, seed: u64, options: RunOptions) -> Result<Simulation, BuildError> {
    let net = Topology::new(&scenario.graph)?;
    check_carried(scenario, &net, options.outside.iter().map(|outside| outside.host).chain(options.passages.clone()))?;
    let Routing { tables, followers } = Routing::new(scenario, &net, &options.outside)?;
    // A host with a single link always uses the same route, so it needs no routing table.
    let mut hosts: Vec<Host> = (0..net.hosts)
        .map(|host| {
            let interface = scenario.interfaces.get(&host).map(|spec| interface(spec, scenario, &net.outlets[host]));
            Ok(Host::new(address(host), net.chooses(host).then(|| tables[host].clone()), interface.transpose()?))
        })
        .collect::<Result<_, BuildError>>()?;
    let mut stacks = Stacks::new(&options.controllers);
    let flows = scenario
        .flows
        .iter()
        .enumerate()
        .map(|(number, spec)| {
            let flow = FlowId(number as u32);
            place_flow(flow, spec, scenario.duration, seed, &options, &mut stacks, &mut hosts)
        })
        .collect::<Result<Vec<_>, _>>()?;
    // Checking the windows takes time at every segment, so hosts check them only if the scenario records changes.
    if scenario.record.on_change {
        hosts.iter_mut().for_each(Host::watch_windows);
    }
    if options.observers.iter().any(|observer| observer.mask().has(EventMask::TCP)) {
        hosts.iter_mut().for_each(|host| host.listen_to(TcpEventMask::ALL));
    }
    let mut nodes = nodes(scenario, &net, hosts, tables, seed, &options)?;
    let mut wires = net.wires();
    let stages = stages::place(scenario, &net, seed, &mut nodes, &mut wires)?.into_iter();
    let label = |stage: stages::Unnamed| NodeLabel {
        node: stage.node,
        name: format!("{}/{}", scenario.graph.links[stage.hop.link].name, stage.what),
        kind: NodeKind::Stage(stage.hop.dir),
    };
    let mut labels: Vec<NodeLabel> = stages.map(label).collect();
    // Compute this before the middleboxes are moved into the network.
    let has_middleboxes = !options.middleboxes.is_empty();
    labels.extend(add_middleboxes(scenario, &net, options.middleboxes, &mut nodes, &mut wires)?);
    let mut passages = Vec::with_capacity(options.passages.len());
    for host in options.passages {
        let passage = lead_out(host, &mut nodes, &mut wires);
        let name = format!("{}/passage", scenario.graph.hosts[host]);
        let label = |node| NodeLabel { node, name: name.clone(), kind: NodeKind::Passage };
        labels.extend([passage.near, passage.far].map(label));
        passages.push(passage);
    }
    let mut edges = Vec::with_capacity(options.outside.len());
    for outside in &options.outside {
        if !outside.keeps_flows {
            edges.push(NodeId(outside.host as u32));
            continue;
        }
        let routes = routes_next_to(outside, &options.outside, net.hosts);
        let [router, edge] = attach_edge(outside.host, routes, &mut nodes, &mut wires);
        let name = format!("{}/outside", scenario.graph.hosts[outside.host]);
        let label = |node| NodeLabel { node, name: name.clone(), kind: NodeKind::Passage };
        labels.extend([router, edge].map(label));
        edges.push(edge);
    }
    let mut accounting = Accounting::new(nodes.len());
    options.observers.into_iter().for_each(|observer| accounting.subscribe(observer));
    // Edges and middleboxes can send any packet on any wire, so the senders to a link are unknown.
    let plain = !has_middleboxes && !nodes.iter().any(|node| matches!(node, NetNode::Edge));
    let (cores, from_events) = (options.cores, options.cores_from_events);
    let network = Network::new(nodes, &wires, accounting).with_threads(cores, from_events);
    let network = if plain { network.with_followers(followers) } else { network };
    // Samples at each change require one global order of events. User code that shares state between hosts also
    // requires it.
    let shares = !options.controllers.names().is_empty() || options.applications.names().next().is_some();
    let in_one_order = scenario.record.on_change || shares;
    let network = if in_one_order { network.in_one_order() } else { network };
    // The event queue packs node and time into 64 bits, so the maximum duration of a run decreases with the size of the
    // network.
    if Time::ZERO + scenario.duration > network.horizon() {
        return Err(BuildError::TooLong { limit: network.horizon() - Time::ZERO });
    }
    let (links, first_link) = (2 * scenario.graph.links.len(), net.first_link());
    Ok(Simulation { network, flows, links, first_link, places: Places::default(), unnamed: labels, passages, edges })
}

/// Creates the nodes of the scenario: hosts, routers, media, and both directions of each link.
fn nodes(
    scenario: &Scenario,
    net: &Topology<'_>,
    hosts: Vec<Host>,
    tables: Vec<Routes>,
    seed: u64,
    options: &RunOptions,
) -> Result<Vec<NetNode<Host>>, BuildError> {
    let audit = options.audit_queues;
    let mut nodes: Vec<NetNode<Host>> = Vec::with_capacity(net.hosts + 2 * scenario.graph.links.len());
    for (number, host) in hosts.into_iter().enumerate() {
        // An edge replaces the simulated host, which is dropped.
        let is_outside = options.outside.iter().any(|outside| outside.host == number && !outside.keeps_flows);
        nodes.push(if is_outside { NetNode::Edge } else { NetNode::Host(Box::new(host)) });
    }
    for (router, routes) in tables.into_iter().skip(net.hosts).enumerate() {
        let shared = scenario.graph.media.iter().find(|medium| medium.router == router);
        nodes.push(match shared {
            None => NetNode::Router(Box::new(Router::new(routes))),
            Some(medium) => NetNode::Custom(Box::new(medium::build(medium, &routes, scenario, net, seed, audit)?)),
        });
    }
    for spec in &scenario.graph.links {
        for dir in Dir::BOTH {
            nodes.push(NetNode::Link(Box::new(link::build(spec, dir, seed, audit)?)));
        }
    }
    Ok(nodes)
}

/// Inserts each middlebox after its link, and returns the labels of the middleboxes.
fn add_middleboxes(
    scenario: &Scenario,
    net: &Topology<'_>,
    middleboxes: Vec<MiddleboxPlacement>,
    nodes: &mut Vec<NetNode<Host>>,
    wires: &mut Vec<Vec<Attachment>>,
) -> Result<Vec<NodeLabel>, BuildError> {
    let mut labels = Vec::with_capacity(middleboxes.len());
    for placed in middleboxes {
        if placed.link >= scenario.graph.links.len() {
            return Err(no_link(placed.link));
        }
        let link = net.link_node(Hop { link: placed.link, dir: placed.dir }).index();
        let inlet = Attachment { node: NodeId(nodes.len() as u32), port: Port(0) };
        // The link now leads to the middlebox, and the middlebox leads to the node after the link.
        let onward = std::mem::replace(&mut wires[link][0], inlet);
        nodes.push(NetNode::Custom(placed.node));
        wires.push(vec![onward]);
        labels.push(NodeLabel { node: inlet.node, name: placed.name, kind: NodeKind::Middlebox(placed.dir) });
    }
    Ok(labels)
}

/// Checks the hosts outside of the simulation. Each of these hosts must have one link and no interface of its own.
fn check_carried(
    scenario: &Scenario,
    net: &Topology<'_>,
    hosts: impl Iterator<Item = usize>,
) -> Result<(), BuildError> {
    for host in hosts {
        let wrong = |what: &str| {
            let host = scenario.graph.hosts.get(host).cloned().unwrap_or_else(|| host.to_string());
            BuildError::Outside { host, what: what.to_owned() }
        };
        let outlets = net.outlets.get(host).filter(|_| host < net.hosts).ok_or_else(|| wrong("there is none"))?;
        if outlets.len() != 1 {
            return Err(wrong("it must have exactly one link"));
        }
        if scenario.interfaces.contains_key(&host) {
            return Err(wrong("it has an interface of its own, which only a simulated host can have"));
        }
    }
    Ok(())
}

/// Inserts two edges between a host and its link, and returns them as a passage.
fn lead_out(host: usize, nodes: &mut Vec<NetNode<Host>>, wires: &mut Vec<Vec<Attachment>>) -> Passage {
    let [near, far] = [0, 1].map(|more| NodeId((nodes.len() + more) as u32));
    let first = |node| Attachment { node, port: Port(0) };
    let inwards = first(NodeId(host as u32));
    // Redirect all links that lead to the host to the edge `far`.
    for wire in wires.iter_mut().flatten().filter(|wire| **wire == inwards) {
        *wire = first(far);
    }
    let outwards = std::mem::replace(&mut wires[host][0], first(near));
    nodes.extend([NetNode::Edge, NetNode::Edge]);
    wires.extend([vec![inwards], vec![outwards]]);
    Passage { host, near, far }
}

/// Ports of the router that [`attach_edge`] inserts.
const TO_LINK: Port = Port(0);
const TO_HOST: Port = Port(1);
const TO_EDGE: Port = Port(2);

/// Returns the routes of the router that [`attach_edge`] inserts in front of a simulated host and its edge.
fn routes_next_to(outside: &Outside, all: &[Outside], hosts: usize) -> Routes {
    let mut routes = Routes::beginning_at(FIRST_HOST);
    routes.set_default(if outside.takes_the_rest { TO_EDGE } else { TO_LINK });
    (0..hosts).for_each(|host| routes.set(address(host), if host == outside.host { TO_HOST } else { TO_LINK }));
    for other in all {
        let port = if other.host == outside.host { TO_EDGE } else { TO_LINK };
        other.addresses.iter().for_each(|address| routes.set(*address, port));
    }
    routes
}

/// Inserts a router and an edge between a host and its link.
fn attach_edge(
    host: usize,
    routes: Routes,
    nodes: &mut Vec<NetNode<Host>>,
    wires: &mut Vec<Vec<Attachment>>,
) -> [NodeId; 2] {
    let [router, edge] = [0, 1].map(|more| NodeId((nodes.len() + more) as u32));
    let inwards = Attachment { node: NodeId(host as u32), port: Port(0) };
    // Redirect all links that lead to the host to the router.
    for wire in wires.iter_mut().flatten().filter(|wire| **wire == inwards) {
        *wire = Attachment { node: router, port: TO_LINK };
    }
    let outwards = std::mem::replace(&mut wires[host][0], Attachment { node: router, port: TO_HOST });
    nodes.extend([NetNode::Router(Box::new(Router::new(routes))), NetNode::Edge]);
    let to_edge = Attachment { node: edge, port: Port(0) };
    wires.extend([vec![outwards, inwards, to_edge], vec![Attachment { node: router, port: TO_EDGE }]]);
    [router, edge]
}

/// Builds a host's interface. A transmit ring needs a single link with a constant rate.
fn interface(spec: &InterfaceSpec, scenario: &Scenario, outlets: &[Hop]) -> Result<Interface, BuildError> {
    let ring = match (spec.ring, outlets) {
        (None, _) => None,
        (Some(places), &[hop]) => {
            let link = &scenario.graph.links[hop.link];
            Some(link::ring(places, link.dir(hop.dir)).ok_or_else(|| no_ring(&link.name))?)
        }
        (Some(_), _) => return Err(no_ring("of a host with several")),
    };
    Ok(Interface::new(spec.delay, spec.limit, ring))
}

fn no_ring(link: &str) -> BuildError {
    let what =
        "a ring needs one link with a rate, without a shaper and header compression, behind the interface".to_owned();
    BuildError::Link { link: link.to_owned(), what }
}

fn no_link(link: usize) -> BuildError {
    BuildError::Link {
        link: link.to_string(),
        what: "a middlebox is placed on this link, but there is no such link".to_owned(),
    }
}
