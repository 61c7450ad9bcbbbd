//! The graph of a scenario as numbered nodes, wires and routes.

use crate::address::{FIRST_HOST, address};
use crate::error::BuildError;
use crate::options::Outside;
use lopsided_core::{Dir, NodeId, Port};
use lopsided_net::{Attachment, Routes};
use lopsided_scenario::{Graph, Hop, NodeRef, Scenario};

/// The graph with its nodes numbered and each node's links at hand.
pub(super) struct Topology<'a> {
    graph: &'a Graph,
    pub hosts: usize,
    /// For each host, then each router: its links as crossed when leaving it, by port.
    pub outlets: Vec<Vec<Hop>>,
    /// For each link, the port at its `from` and at its `to`.
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

    fn attach(&mut self, at: NodeRef, hop: Hop) -> Result<Port, BuildError> {
        let node = self.number(at);
        let limit = usize::from(u16::MAX);
        let outlets = &mut self.outlets[node];
        if outlets.len() == limit {
            return Err(BuildError::TooMany { what: "links", at: self.graph.name(at).to_owned(), limit });
        }
        outlets.push(hop);
        Ok(Port(outlets.len() as u16 - 1))
    }

    fn number(&self, node: NodeRef) -> usize {
        match node {
            NodeRef::Host(host) => host,
            NodeRef::Router(router) => self.hosts + router,
        }
    }

    pub fn first_link(&self) -> usize {
        self.outlets.len()
    }

    pub fn link_node(&self, hop: Hop) -> NodeId {
        NodeId((self.first_link() + 2 * hop.link + usize::from(hop.dir == Dir::Up)) as u32)
    }

    /// The node that a hop leaves, and by which of its ports.
    pub fn origin(&self, hop: Hop) -> (usize, Port) {
        let (spec, (from, to)) = (&self.graph.links[hop.link], self.ports[hop.link]);
        match hop.dir {
            Dir::Down => (self.number(spec.from), from),
            Dir::Up => (self.number(spec.to), to),
        }
    }

    /// Whether the node needs routes: a host with one link does not, and large networks have many.
    pub fn chooses(&self, node: usize) -> bool {
        node >= self.hosts || self.outlets[node].len() > 1
    }

    /// What hangs on each port of each node.
    pub fn wires(&self) -> Vec<Vec<Attachment>> {
        let into_link = |hop: &Hop| Attachment { node: self.link_node(*hop), port: Port(0) };
        let mut wires: Vec<Vec<Attachment>> =
            self.outlets.iter().map(|hops| hops.iter().map(into_link).collect()).collect();
        for link in 0..self.graph.links.len() {
            for dir in Dir::BOTH {
                // A packet arrives where the opposite direction leaves.
                let (node, port) = self.origin(Hop { link, dir: dir.reverse() });
                wires.push(vec![Attachment { node: NodeId(node as u32), port }]);
            }
        }
        wires
    }
}

/// How the packets of the flows go.
pub(super) struct Routing {
    /// The routes of hosts, then routers, that the flows need, both ways, and those between hosts outside.
    pub tables: Vec<Routes>,
    /// Each link that gets packets over other links alone, behind those.
    pub followers: Vec<(Vec<NodeId>, NodeId)>,
}

/// Where a link's packets come from.
#[derive(Clone, Default)]
struct Sources {
    host: bool,
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
                    match before.replace(link) {
                        None => known.host = true,
                        Some(before) if known.links.last() == Some(&before) => {}
                        Some(before) => known.links.push(before),
                    }
                }
            }
        }
        for Outside { host: from, .. } in outside {
            for Outside { host: to, addresses, takes_the_rest } in outside.iter().filter(|to| to.host != *from) {
                // Of those that no path joins, packets for each other are lost for want of a route.
                for hop in paths.path(*from, *to).unwrap_or_default() {
                    let (node, port) = net.origin(hop);
                    tables[node].set(address(*to), port);
                    addresses.iter().for_each(|address| tables[node].set(*address, port));
                    if *takes_the_rest {
                        tables[node].set_default(port);
                    }
                }
            }
        }
        let followers = sources.into_iter().enumerate().filter(|(_, sources)| !sources.host).map(|(node, sources)| {
            let mut links = sources.links;
            links.sort_unstable();
            links.dedup();
            (links, NodeId(node as u32))
        });
        Ok(Routing { tables, followers: followers.collect() })
    }
}
