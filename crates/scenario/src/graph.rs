//! The network: hosts, routers and links, and the path of a packet between two hosts.
//!
//! Routing is static and depends only on the destination. A packet takes the path with the fewest links. If several
//! links start such a path, the packet takes the link that is listed first. Hosts do not forward packets. Left out:
//! link weights, and route changes during a run.

use lopsided_core::Dir;
use lopsided_link::{LinkConfig, MediumConfig};
use std::collections::VecDeque;
use std::sync::Arc;

/// The network of a scenario.
///
/// # Examples
///
/// ```
/// use lopsided_core::Dir;
/// use lopsided_scenario::Scenario;
///
/// let text = r#"
///     [scenario]
///     duration = "10 s"
///     [link]
///     rtt = "20 ms"
///     down.rate = "10 Mbit/s"
///     up.rate = "1 Mbit/s"
///     [lan]
///     rate = "1 Gbit/s"
///     [[flow]]
///     direction = "down"
/// "#;
/// let scenario = Scenario::parse(text, "lan.toml", &[]).unwrap();
/// let path = scenario.graph.routes().path(0, 1).unwrap();
/// let names: Vec<&str> = path.iter().map(|hop| scenario.graph.links[hop.link].name.as_str()).collect();
/// assert_eq!(names, ["server-r1", "link", "r2-client"]);
/// assert!(path.iter().all(|hop| hop.dir == Dir::Down));
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Graph {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the routers.
    pub routers: Vec<String>,
    /// The links.
    pub links: Vec<LinkSpec>,
    /// The routers that are shared media, in ascending order of their index.
    pub media: Vec<MediumSpec>,
}

/// A medium that several stations share. A node is a station of the medium if a link connects the node to the medium.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumSpec {
    /// Index of the medium in [`Graph::routers`].
    pub router: usize,
    /// Settings of the medium.
    pub medium: MediumConfig,
}

/// A link between two nodes, with separate settings for each direction. Links with equal settings may share one copy of
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// The link's name.
    pub name: String,
    /// The node where `down` begins and `up` ends.
    pub from: NodeRef,
    /// The node where `down` ends and `up` begins.
    pub to: NodeRef,
    /// Settings of the direction from `from` to `to`.
    pub down: Arc<LinkConfig>,
    /// Settings of the direction from `to` to `from`.
    pub up: Arc<LinkConfig>,
    /// True if routes may use the link only in the direction from `from` to `to`.
    pub one_way: bool,
}

impl LinkSpec {
    /// Returns the settings of a direction.
    pub fn dir(&self, dir: Dir) -> &LinkConfig {
        match dir {
            Dir::Down => &self.down,
            Dir::Up => &self.up,
        }
    }

    /// Returns the settings of a direction for modification. Other links that share the settings keep the old values.
    pub fn dir_mut(&mut self, dir: Dir) -> &mut LinkConfig {
        match dir {
            Dir::Down => Arc::make_mut(&mut self.down),
            Dir::Up => Arc::make_mut(&mut self.up),
        }
    }
}

/// A node, as an index into [`Graph::hosts`] or [`Graph::routers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeRef {
    /// A host.
    Host(usize),
    /// A router or a shared medium.
    Router(usize),
}

impl NodeRef {
    /// Returns the index in [`Graph::hosts`]; `None` for a router.
    pub fn host(self) -> Option<usize> {
        match self {
            NodeRef::Host(index) => Some(index),
            NodeRef::Router(_) => None,
        }
    }
}

/// One link of a path, and the direction in which the path crosses the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the link in [`Graph::links`].
    pub link: usize,
    /// The direction in which the path crosses the link.
    pub dir: Dir,
}

impl Hop {
    fn reversed(self) -> Hop {
        Hop { link: self.link, dir: self.dir.reverse() }
    }
}

impl Graph {
    /// Returns the name of a node.
    pub fn name(&self, node: NodeRef) -> &str {
        match node {
            NodeRef::Host(index) => &self.hosts[index],
            NodeRef::Router(index) => &self.routers[index],
        }
    }

    /// Prepares the graph for path searches. Reuse the result if you need several paths.
    pub fn routes(&self) -> Routes<'_> {
        Routes::new(self)
    }
}

/// The graph, with a list of the links at each node.
#[derive(Debug)]
pub struct Routes<'a> {
    graph: &'a Graph,
    /// For each host, the links that leave it, each with the node at the far end.
    of_host: Vec<Vec<(Hop, NodeRef)>>,
    /// For each router, its links to other routers, each with the index of the other router.
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
                    // This link is not stored here, because `of_host` contains it in the direction from the host.
                    (NodeRef::Router(_), NodeRef::Host(_)) => {}
                }
            }
        }
        Routes { graph, of_host, between_routers }
    }

    /// Returns true if routes may use the link in this direction.
    fn is_open(&self, hop: Hop) -> bool {
        hop.dir == Dir::Down || !self.graph.links[hop.link].one_way
    }

    /// Returns the links from one host to another, in order; `None` if there is no path.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<Hop>> {
        let distance = self.distances_to(to);
        let links_from = |far: &NodeRef| match far {
            NodeRef::Host(host) => (*host == to).then_some(0),
            NodeRef::Router(router) => distance[*router],
        };
        let open = self.of_host[from].iter().filter(|(hop, _)| self.is_open(*hop));
        let first = open.filter_map(|(hop, far)| Some((links_from(far)?, *hop, *far)));
        // Prefer the path with the fewest links, then the link that is listed first in the scenario.
        let (_, hop, mut node) = first.min_by_key(|(links, hop, _)| (*links, hop.link))?;
        let mut path = vec![hop];
        while let NodeRef::Router(router) = node {
            let (hop, next) = self.next_hop(router, to, &distance)?;
            path.push(hop);
            node = next;
        }
        Some(path)
    }

    /// Returns a router's link towards the host `to`, and the node at the far end.
    fn next_hop(&self, router: usize, to: usize, distance: &[Option<u32>]) -> Option<(Hop, NodeRef)> {
        let here = distance[router]?;
        // The router has a direct link to the host.
        if here == 1 {
            let from_here = self.of_host[to].iter().filter(|(_, far)| *far == NodeRef::Router(router));
            let mut hops = from_here.map(|(hop, _)| hop.reversed());
            return Some((hops.find(|hop| self.is_open(*hop))?, NodeRef::Host(to)));
        }
        let open = |hop: Hop, next: usize| distance[next] == Some(here - 1) && self.is_open(hop);
        let closer = self.between_routers[router].iter().find(|(hop, next)| open(*hop, *next))?;
        Some((closer.0, NodeRef::Router(closer.1)))
    }

    /// Returns the number of links from each router to the host; `None` for a router without a path to the host.
    fn distances_to(&self, host: usize) -> Vec<Option<u32>> {
        let mut distance = vec![None; self.graph.routers.len()];
        // A breadth-first search backwards from the host assigns each router its shortest distance.
        let mut waiting = VecDeque::new();
        for (hop, far) in &self.of_host[host] {
            if let NodeRef::Router(router) = far {
                // The search goes from the host to the routers, but packets flow towards the host, so the reverse
                // direction of the link must be open.
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
