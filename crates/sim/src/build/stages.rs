//! The stages of each direction of a link, put into the way of its packets.
//!
//! From the node that a direction leaves to its queue a packet meets the direction's entry stages in their order; behind the line its
//! exit stages. A stage that sees the other direction stands in that one's way too, at the same end of the line, so that both
//! directions meet the stages of an end in opposite orders.

use super::topology::Topology;
use crate::error::BuildError;
use crate::host::Host;
use lopsided_core::{Dir, NodeId, Port};
use lopsided_net::{Attachment, NetNode};
use lopsided_scenario::{Hop, Scenario};
use lopsided_stage::{StageNode, StageRole, StageSide};

/// A stage that was built, and where it is.
struct Placed {
    node: NodeId,
    side: StageSide,
    sees_reverse: bool,
}

/// Appends the stages to the nodes, in the order of [`crate::node_labels`], and puts them into the wires.
pub(super) fn place(
    scenario: &Scenario,
    net: &Topology<'_>,
    seed: u64,
    nodes: &mut Vec<NetNode<Host>>,
    wires: &mut Vec<Vec<Attachment>>,
) -> Result<(), BuildError> {
    for link in 0..scenario.graph.links.len() {
        let mut of_dir = Vec::new();
        for dir in Dir::BOTH {
            of_dir.push(build(scenario, Hop { link, dir }, seed, nodes, wires)?);
        }
        for dir in Dir::BOTH {
            let (own, other) = (&of_dir[usize::from(dir == Dir::Up)], &of_dir[usize::from(dir == Dir::Down)]);
            connect(Hop { link, dir }, own, other, net, wires);
        }
    }
    Ok(())
}

/// The stages of one direction.
fn build(
    scenario: &Scenario,
    hop: Hop,
    seed: u64,
    nodes: &mut Vec<NetNode<Host>>,
    wires: &mut Vec<Vec<Attachment>>,
) -> Result<Vec<Placed>, BuildError> {
    let spec = &scenario.graph.links[hop.link];
    let mut placed = Vec::new();
    for (number, config) in spec.dir(hop.dir).stages.iter().enumerate() {
        let role = format!("{}/{}/stage {}", spec.name, hop.dir.name(), number + 1);
        let stage = config.build(&StageRole { seed, role: &role }).map_err(|fault| BuildError::Link {
            link: format!("{}.{}", spec.name, hop.dir.name()),
            what: format!("stages.{}.{}: {fault}", number + 1, fault.key),
        })?;
        let node = NodeId(nodes.len() as u32);
        placed.push(Placed { node, side: config.side(), sees_reverse: stage.sees_reverse() });
        nodes.push(NetNode::Custom(Box::new(stage)));
        // Each port leads nowhere yet: to the stage itself.
        let nowhere = [StageNode::FORWARD, StageNode::REVERSE].map(|port| Attachment { node, port });
        wires.push(nowhere.to_vec());
    }
    Ok(placed)
}

/// Leads one direction through its stages, and those of the other that want to see it.
fn connect(hop: Hop, own: &[Placed], other: &[Placed], net: &Topology<'_>, wires: &mut [Vec<Attachment>]) {
    let own_at =
        |side| own.iter().filter(move |stage| stage.side == side).map(|stage| (stage.node, StageNode::FORWARD));
    let other_at = |side| {
        let seeing = other.iter().rev().filter(move |stage| stage.side == side && stage.sees_reverse);
        seeing.map(|stage| (stage.node, StageNode::REVERSE))
    };
    let link = net.link_node(hop);
    let (origin, port) = net.origin(hop);
    let destination = wires[link.index()][0];
    let before = other_at(StageSide::Exit).chain(own_at(StageSide::Entry));
    let behind = other_at(StageSide::Entry).chain(own_at(StageSide::Exit));
    let way = before.chain([(link, Port(0))]).chain(behind);
    // By which wire the packet comes: a node's, and which of its ports.
    let mut from = (origin, usize::from(port.0));
    for (node, port) in way {
        wires[from.0][from.1] = Attachment { node, port };
        from = (node.index(), usize::from(port.0));
    }
    wires[from.0][from.1] = destination;
}
