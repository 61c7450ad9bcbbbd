//! The network: hosts, routers and the links between them, and the path a packet takes.
//!
//! Routing is static and by destination: a router sends a packet over the link that begins a path of fewest links, the
//! first such link in the scenario's order where several do. Hosts do not forward. Left out: weights, changes during a
//! run.

use lopsided_core::Dir;
use lopsided_link::{LinkConfig, MediumConfig};
use std::collections::VecDeque;
use std::sync::Arc;

/// The network of a scenario.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Graph {
    pub hosts: Vec<String>,
    pub routers: Vec<String>,
    pub links: Vec<LinkSpec>,
    /// The routers that are shared media, in ascending order.
    pub media: Vec<MediumSpec>,
}

/// A medium that several stations share: its links join them to it.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumSpec {
    /// Its place in [`Graph::routers`].
    pub router: usize,
    pub medium: MediumConfig,
}

/// A line between two nodes, each direction with its own everything. Lines that are alike may share what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    pub name: String,
    /// Where `down` begins and `up` ends.
    pub from: NodeRef,
    /// Where `down` ends and `up` begins.
    pub to: NodeRef,
    pub down: Arc<LinkConfig>,
    pub up: Arc<LinkConfig>,
    /// No route leads over it from `to` to `from`.
    pub one_way: bool,
}

impl LinkSpec {
    pub fn dir(&self, dir: Dir) -> &LinkConfig {
        match dir {
            Dir::Down => &self.down,
            Dir::Up => &self.up,
        }
    }

    pub fn dir_mut(&mut self, dir: Dir) -> &mut LinkConfig {
        match dir {
            Dir::Down => Arc::make_mut(&mut self.down),
            Dir::Up => Arc::make_mut(&mut self.up),
        }
    }
}

/// A node by its place in [`Graph::hosts`] or [`Graph::routers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRef {
    Host(usize),
    Router(usize),
}

impl NodeRef {
    /// The place in [`Graph::hosts`], of a host.
    pub fn host(self) -> Option<usize> {
        match self {
            NodeRef::Host(index) => Some(index),
            NodeRef::Router(_) => None,
        }
    }
}

/// One link on a path, and the direction in which it is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// A place in [`Graph::links`].
    pub link: usize,
    pub dir: Dir,
}

impl Hop {
    fn reversed(self) -> Hop {
        Hop { link: self.link, dir: self.dir.reverse() }
    }
}

impl Graph {
    pub fn name(&self, node: NodeRef) -> &str {
        match node {
            NodeRef::Host(index) => &self.hosts[index],
            NodeRef::Router(index) => &self.routers[index],
        }
    }

    /// Finds paths; worth keeping where many are asked for.
    pub fn routes(&self) -> Routes<'_> {
        Routes::new(self)
    }
}

/// The graph with the links of each node at hand.
#[derive(Debug)]
pub struct Routes<'a> {
    graph: &'a Graph,
    /// For each host all its links, as crossed when leaving it, with the node at the far end.
    of_host: Vec<Vec<(Hop, NodeRef)>>,
    /// For each router its links to other routers only, as crossed when leaving it.
    between_routers: Vec<Vec<(Hop, usize)>>,
}

impl<'a> Routes<'a> {
    fn new(graph: &'a Graph) -> Routes<'a> {
        let mut of_host = vec![Vec::new(); graph.hosts.len()];
        let mut between_routers = vec![Vec::new(); graph.routers.len()];
        for (link, spec) in graph.links.iter().enumerate() {
            for (near, far, dir) in [(spec.from, spec.to, Dir::Down), (spec.to, spec.from, Dir::Up)] {
                match (near, far) {
                    (NodeRef::Host(host), _) => of_host[host].push((Hop { link, dir }, far)),
                    (NodeRef::Router(router), NodeRef::Router(next)) => {
                        between_routers[router].push((Hop { link, dir }, next));
                    }
                    (NodeRef::Router(_), NodeRef::Host(_)) => {}
                }
            }
        }
        Routes { graph, of_host, between_routers }
    }

    fn is_open(&self, hop: Hop) -> bool {
        hop.dir == Dir::Down || !self.graph.links[hop.link].one_way
    }

    /// The links from one host to another in the order they are crossed, or `None` where there is no way.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        let distance = self.distances_to(to);
        let links_from = |far: &NodeRef| match far {
            NodeRef::Host(host) => (*host == to).then_some(0),
            NodeRef::Router(router) => distance[*router],
        };
        let open = self.of_host[from].iter().filter(|(hop, _)| self.is_open(*hop));
        let first = open.filter_map(|(hop, far)| Some((links_from(far)?, *hop, *far)));
        let (_, hop, mut node) = first.min_by_key(|(links, hop, _)| (*links, hop.link))?;
        let mut path = vec![hop];
        while let NodeRef::Router(router) = node {
            let (hop, next) = self.next_hop(router, to, &distance)?;
            path.push(hop);
            node = next;
        }
        Some(path)
    }

    /// The link that a router sends a packet for the host over.
    fn next_hop(&self, router: usize, to: usize, distance: &[Option<u32>]) -> Option<(Hop, NodeRef)> {
        let here = distance[router]?;
        if here == 1 {
            let from_here = self.of_host[to].iter().filter(|(_, far)| *far == NodeRef::Router(router));
            let mut hops = from_here.map(|(hop, _)| hop.reversed());
            return Some((hops.find(|hop| self.is_open(*hop))?, NodeRef::Host(to)));
        }
        let open = |hop: Hop, next: usize| distance[next] == Some(here - 1) && self.is_open(hop);
        let closer = self.between_routers[router].iter().find(|(hop, next)| open(*hop, *next))?;
        Some((closer.0, NodeRef::Router(closer.1)))
    }

    /// For each router the number of links to the host.
    fn distances_to(&self, host: usize) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.graph.routers.len()];
        let mut waiting = VecDeque::new();
        for (hop, far) in &self.of_host[host] {
            if let NodeRef::Router(router) = far {
                if distance[*router].is_none() && self.is_open(hop.reversed()) {
                    distance[*router] = Some(1);
                    waiting.push_back((*router, 1));
                }
            }
        }
        while let Some((router, links)) = waiting.pop_front() {
            for (hop, next) in &self.between_routers[router] {
                if distance[*next].is_none() && self.is_open(hop.reversed()) {
                    distance[*next] = Some(links + 1);
                    waiting.push_back((*next, links + 1));
                }
            }
        }
        distance
    }
}
