//! The wires that lead into each node. They decide whether all packets of a link come over one router, which is a
//! condition for rows of links.

use lopsided_core::NodeId;

/// How a node chooses the packets that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Giver {
    /// It forwards received packets by its routes.
    Router,
    /// It sends its own packets, or forwards all packets over one wire.
    Plain,
    /// A stage, a medium or an edge: it may create packets or send received packets elsewhere, so no promise about the
    /// origin of its packets is possible.
    Custom,
}

/// The nodes with a wire into each node.
pub(crate) struct Inlets {
    givers: Vec<Giver>,
    into: Vec<Vec<NodeId>>,
}

impl Inlets {
    /// `wires` has one pair per wire: the sending node and the receiving node.
    pub fn new(givers: Vec<Giver>, wires: impl Iterator<Item = (NodeId, NodeId)>) -> Inlets {
        let mut into = vec![Vec::new(); givers.len()];
        // A port that is not wired leads to no node.
        for (from, to) in wires.filter(|(_, to)| to.index() < givers.len()) {
            into[to.index()].push(from);
        }
        Inlets { givers, into }
    }

    /// Returns the router in front of this link, if that router is the link's only source and only hosts and links send
    /// to the router.
    pub fn router_before(&self, link: NodeId) -> Option<NodeId> {
        let is = |node: NodeId, giver: Giver| self.givers[node.index()] == giver;
        // A link with several sources cannot be part of a row.
        let [router] = self.into[link.index()][..] else { return None };
        let plain = || self.into[router.index()].iter().all(|from| is(*from, Giver::Plain));
        (is(router, Giver::Router) && plain()).then_some(router)
    }
}
