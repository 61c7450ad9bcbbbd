//! What leads into each node: whether packets can come to a link by other ways than a router's.

use crate::network::{NetNode, Network};
use lopsided_core::{Node, NodeId};

/// The nodes whose wires lead into each router and each link.
pub(crate) struct Inlets(Vec<Vec<NodeId>>);

impl Inlets {
    pub fn of<H: Node>(network: &Network<H>) -> Inlets {
        let mut inlets = vec![Vec::new(); network.nodes().count()];
        for node in (0..inlets.len()).map(|index| NodeId(index as u32)) {
            for wire in network.wires_of(node) {
                if matches!(network.node(wire.node), NetNode::Router(_) | NetNode::Link(_)) {
                    inlets[wire.node.index()].push(node);
                }
            }
        }
        Inlets(inlets)
    }

    /// Whether there is nothing but one router between these links and that one: no stage or medium, which makes
    /// packets of its own, gives it any, or gives them to the router.
    pub fn lead_straight<H: Node>(&self, network: &Network<H>, leaders: &[NodeId], follower: NodeId) -> bool {
        let [router] = self.0[follower.index()][..] else { return false };
        matches!(network.node(router), NetNode::Router(_))
            && self.0[router.index()].iter().all(|from| matches!(network.node(*from), NetNode::Link(_) | NetNode::Host(_)))
            && leaders.iter().all(|leader| network.behind(*leader) == router)
    }
}
