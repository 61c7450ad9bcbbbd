//! What leads into each node: whether packets can come to a link by other ways than a router's.

use lopsided_core::NodeId;

/// What a node is, for those that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Giver {
    /// It sends on what comes to it, by its routes.
    Router,
    /// It sends what is its own, or sends on by one way.
    Plain,
    /// A stage or a medium may make packets of its own, or lead others elsewhere.
    Wilful,
}

/// The nodes whose wires lead into each node.
pub(crate) struct Inlets {
    givers: Vec<Giver>,
    into: Vec<Vec<NodeId>>,
}

impl Inlets {
    /// `wires` are pairs of a node and one that it sends to.
    pub fn new(givers: Vec<Giver>, wires: impl Iterator<Item = (NodeId, NodeId)>) -> Inlets {
        let mut into = vec![Vec::new(); givers.len()];
        for (from, to) in wires.filter(|(_, to)| to.index() < givers.len()) {
            into[to.index()].push(from);
        }
        Inlets { givers, into }
    }

    /// The one router before this link, where nothing wilful stands between it and other links, or before it.
    pub fn router_before(&self, link: NodeId) -> Option<NodeId> {
        let is = |node: NodeId, giver: Giver| self.givers[node.index()] == giver;
        let [router] = self.into[link.index()][..] else { return None };
        let plain = || self.into[router.index()].iter().all(|from| is(*from, Giver::Plain));
        (is(router, Giver::Router) && plain()).then_some(router)
    }
}
