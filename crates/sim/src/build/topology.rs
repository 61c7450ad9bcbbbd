//! The network of a scenario as numbered nodes, wires and routes.

use crate::address::{FIRST_HOST, address};
use crate::error::BuildError;
use crate::options::Outside;
use lopsided_core::{Dir, NodeId, Port};
use lopsided_net::{Attachment, Routes};
use lopsided_scenario::{Graph, Hop, NodeRef, Scenario};

/// The network with numbered nodes, and the links of each node.
pub(super) struct Topology<'a> {
    graph: &'a Graph,
    /// Number of hosts.
    pub hosts: usize,
    /// The outgoing links of each host and then of each router, by port.
    pub outlets: Vec<Vec<Hop>>,
    /// For each link: the port at its end `from`, and the port at its end `to`.
    ports: Vec<(Port, Port)>,
}

impl<'a> Topology<'a> {
    pub fn new(graph: &'a Graph) -> Result<Topology<'a>, BuildError> {
        let hosts = graph.hosts.len();
        let mut net =
            Topology { graph, hosts, outlets: vec![Vec::new(); hosts + graph.routers.len()], ports: Vec::new() };
        for (link, spec) in graph.links.iter().enumerate() {
            let from = net.attach(spec.from, Hop { link, dir: Dir::Down })?;
            let to = net.attach(spec.to, Hop { link, dir: Dir::Up })?;
            net.ports.push((from, to));
        }
        Ok(net)
    }

    /// Attaches a link to a node, and returns the port of the link at that node.
    fn attach(&mut self, at: NodeRef, hop: Hop) -> Result<Port, BuildError> {
        let node = self.number(at);
        // Ports have 16 bits.
        let limit = usize::from(u16::MAX);
        let outlets = &mut self.outlets[node];
        if outlets.len() == limit {
            return Err(BuildError::TooMany { what: "links", at: self.graph.name(at).to_owned(), limit });
        }
        outlets.push(hop);
        Ok(Port(outlets.len() as u16 - 1))
    }

    /// Returns the number of a node.
    fn number(&self, node: NodeRef) -> usize {
        match node {
            NodeRef::Host(host) => host,
            NodeRef::Router(router) => self.hosts + router,
        }
    }

    /// Returns the node number of the first link direction.
    pub fn first_link(&self) -> usize {
        self.outlets.len()
    }

    /// Returns the node of a link direction.
    pub fn link_node(&self, hop: Hop) -> NodeId {
        NodeId((self.first_link() + 2 * hop.link + usize::from(hop.dir == Dir::Up)) as u32)
    }

    /// Returns the node that sends into a link direction, and its port for this link.
    pub fn origin(&self, hop: Hop) -> (usize, Port) {
        let (spec, (from, to)) = (&self.graph.links[hop.link], self.ports[hop.link]);
        match hop.dir {
            Dir::Down => (self.number(spec.from), from),
            Dir::Up => (self.number(spec.to), to),
        }
    }

    /// Returns true if the node needs a routing table. A host with a single link needs no table, which saves memory in
    /// large networks.
    pub fn chooses(&self, node: usize) -> bool {
        node >= self.hosts || self.outlets[node].len() > 1
    }

    /// Returns, for each port of each node, the node and port at the far end of the wire.
    pub fn wires(&self) -> Vec<Vec<Attachment>> {
        let into_link = |hop: &Hop| Attachment { node: self.link_node(*hop), port: Port(0) };
        let mut wires: Vec<Vec<Attachment>> =
            self.outlets.iter().map(|hops| hops.iter().map(into_link).collect()).collect();
        for link in 0..self.graph.links.len() {
            for dir in Dir::BOTH {
                // A direction ends at the node and port where the opposite direction starts.
                let (node, port) = self.origin(Hop { link, dir: dir.reverse() });
                wires.push(vec![Attachment { node: NodeId(node as u32), port }]);
            }
        }
        wires
    }
}

/// The routes of the flows.
pub(super) struct Routing {
    /// Routing tables of all hosts, followed by the routing tables of all routers.
    pub tables: Vec<Routes>,
    /// Each link that receives packets only from other links, preceded by the list of these other links. See
    /// [`lopsided_net::Network::with_followers`].
    pub followers: Vec<(Vec<NodeId>, NodeId)>,
}

/// The sources of the packets that enter a link.
#[derive(Clone, Default)]
struct Sources {
    /// True if a host sends packets directly into the link.
    host: bool,
    /// The links whose packets enter this link.
    links: Vec<NodeId>,
}

impl Routing {
    pub fn new(scenario: &Scenario, net: &Topology<'_>, outside: &[Outside]) -> Result<Routing, BuildError> {
        let graph = &scenario.graph;
        let paths = graph.routes();
        let mut tables = vec![Routes::beginning_at(FIRST_HOST); net.outlets.len()];
        let mut sources = vec![Sources::default(); net.first_link() + 2 * graph.links.len()];
        for flow in &scenario.flows {
            if flow.from.max(flow.to) >= net.hosts {
                return Err(BuildError::NoHost { flow: flow.name.clone() });
            }
            // The reverse path carries ACKs and replies.
            for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
                let no_path = || BuildError::NoPath {
                    flow: flow.name.clone(),
                    from: graph.hosts[from].clone(),
                    to: graph.hosts[to].clone(),
                };
                let mut before = None;
                for hop in paths.path(from, to).ok_or_else(no_path)? {
                    let (node, port) = net.origin(hop);
                    if net.chooses(node) {
                        tables[node].set(address(to), port);
                    }
                    let link = net.link_node(hop);
                    let known = &mut sources[link.index()];
                    // Record which link precedes each link.
                    match before.replace(link) {
                        None => known.host = true,
                        Some(before) if known.links.last() == Some(&before) => {}
                        Some(before) => known.links.push(before),
                    }
                }
            }
        }
        for Outside { host: from, .. } in outside {
            for Outside { host: to, addresses, takes_the_rest, .. } in outside.iter().filter(|to| to.host != *from) {
                // If there is no path between two outside hosts, no route is set, and packets between them are dropped.
                for hop in paths.path(*from, *to).unwrap_or_default() {
                    let (node, port) = net.origin(hop);
                    tables[node].set(address(*to), port);
                    // All addresses of an outside host use the route of the host.
                    addresses.iter().for_each(|address| tables[node].set(*address, port));
                    if *takes_the_rest {
                        tables[node].set_default(port);
                    }
                }
            }
        }
        let followers = sources.into_iter().enumerate().filter(|(_, sources)| !sources.host).map(|(node, sources)| {
            let mut links = sources.links;
            // Several flows may cross the same pair of links, so remove duplicates.
            links.sort_unstable();
            links.dedup();
            (links, NodeId(node as u32))
        });
        Ok(Routing { tables, followers: followers.collect() })
    }
}
