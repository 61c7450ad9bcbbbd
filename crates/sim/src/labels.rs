//! What the nodes of a run are called.

use lopsided_core::{Dir, NodeId};
use lopsided_scenario::Scenario;

/// What a node of the world is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub node: NodeId,
    pub name: String,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Host,
    Router,
    /// One direction of a link.
    Link(Dir),
    /// A node put behind a direction of a link.
    Middlebox(Dir),
}

impl NodeKind {
    /// Of a link or what stands in it, else empty.
    pub fn direction(self) -> &'static str {
        match self {
            NodeKind::Host | NodeKind::Router => "",
            NodeKind::Link(dir) | NodeKind::Middlebox(dir) => dir.name(),
        }
    }
}

/// The nodes of the scenario's network in the order of their numbers; those that a run is given beside come behind.
pub fn node_labels(scenario: &Scenario) -> Vec<NodeLabel> {
    let graph = &scenario.graph;
    let hosts = graph.hosts.iter().map(|name| (name.clone(), NodeKind::Host));
    let routers = graph.routers.iter().map(|name| (name.clone(), NodeKind::Router));
    let links = graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| (link.name.clone(), NodeKind::Link(dir))));
    let all = hosts.chain(routers).chain(links).enumerate();
    all.map(|(number, (name, kind))| NodeLabel { node: NodeId(number as u32), name, kind }).collect()
}
