//! What the nodes of a run are called.

use lopsided_core::{Dir, NodeId};
use lopsided_scenario::{LinkSpec, Scenario};

/// What a node of the world is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub node: NodeId,
    pub name: String,
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Host,
    Router,
    /// A medium that several stations share.
    Medium,
    /// One direction of a link.
    Link(Dir),
    /// A stage of a direction of a link.
    Stage(Dir),
    /// A node put behind a direction of a link.
    Middlebox(Dir),
    /// An edge of a [`Passage`](crate::Passage).
    Passage,
}

impl NodeKind {
    /// Of a link or what stands in it, else empty.
    pub fn direction(self) -> &'static str {
        match self {
            NodeKind::Host | NodeKind::Router | NodeKind::Medium | NodeKind::Passage => "",
            NodeKind::Link(dir) | NodeKind::Stage(dir) | NodeKind::Middlebox(dir) => dir.name(),
        }
    }
}

/// The nodes of the scenario's network in the order of their numbers; those that a run is given beside come behind.
pub fn node_labels(scenario: &Scenario) -> Vec<NodeLabel> {
    let graph = &scenario.graph;
    let hosts = graph.hosts.iter().map(|name| (name.clone(), NodeKind::Host));
    let kind = |router: usize| {
        let shared = graph.media.iter().any(|medium| medium.router == router);
        if shared { NodeKind::Medium } else { NodeKind::Router }
    };
    let routers = graph.routers.iter().enumerate().map(|(router, name)| (name.clone(), kind(router)));
    let links = graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| (link.name.clone(), NodeKind::Link(dir))));
    let stages = graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| stage_names(link, dir))).flatten();
    let all = hosts.chain(routers).chain(links).chain(stages).enumerate();
    all.map(|(number, (name, kind))| NodeLabel { node: NodeId(number as u32), name, kind }).collect()
}

/// Stages are called after their link, their place and their kind.
fn stage_names(link: &LinkSpec, dir: Dir) -> Vec<(String, NodeKind)> {
    let stages = link.dir(dir).stages.iter().enumerate();
    stages
        .map(|(place, stage)| (format!("{}/{} {}", link.name, place + 1, stage.kind()), NodeKind::Stage(dir)))
        .collect()
}
