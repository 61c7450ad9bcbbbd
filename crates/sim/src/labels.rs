//! The names of the nodes of a run.

use lopsided_core::{Dir, NodeId};
use lopsided_scenario::{LinkSpec, Scenario};

/// The name and kind of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    /// The node's number.
    pub node: NodeId,
    /// The node's name.
    pub name: String,
    /// The node's kind.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeKind {
    /// A host.
    Host,
    /// A router.
    Router,
    /// A medium that several stations share.
    Medium,
    /// One direction of a link.
    Link(Dir),
    /// A stage in this direction of a link.
    Stage(Dir),
    /// A middlebox after this direction of a link.
    Middlebox(Dir),
    /// An edge of a [`Passage`](crate::Passage), or the router or edge of an outside host.
    Passage,
}

impl NodeKind {
    /// Returns the direction for a link and for nodes inside a link; otherwise an empty text.
    pub fn direction(self) -> &'static str {
        match self {
            NodeKind::Host | NodeKind::Router | NodeKind::Medium | NodeKind::Passage => "",
            NodeKind::Link(dir) | NodeKind::Stage(dir) | NodeKind::Middlebox(dir) => dir.name(),
        }
    }
}

/// Returns the nodes of the scenario by node number. Nodes of the run options are not included.
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
    // This is the order in which `build` numbers the nodes.
    let all = hosts.chain(routers).chain(links).chain(stages).enumerate();
    all.map(|(number, (name, kind))| NodeLabel { node: NodeId(number as u32), name, kind }).collect()
}

/// Returns the names and kinds of a direction's stages.
fn stage_names(link: &LinkSpec, dir: Dir) -> Vec<(String, NodeKind)> {
    let stages = link.dir(dir).stages.iter().enumerate();
    stages
        .map(|(place, stage)| (format!("{}/{} {}", link.name, place + 1, stage.kind()), NodeKind::Stage(dir)))
        .collect()
}
