//! Inserts the stages of each direction of a link into the wires.
//!
//! A packet of a direction passes, in this order:
//!
//! 1. the gate that enforces the direction's MTU
//! 2. the entry stages
//! 3. the queue and the line
//! 4. the exit stages
//!
//! A stage that sees the other direction is also part of that direction's path, at the same end of the line.
//!
//! A queue that sends sensing packets ([`lopsided_queue::Qdisc::sensing`]) also sees the other direction. Its reflector,
//! if there is one, is the first exit stage.

use super::topology::Topology;
use crate::error::BuildError;
use crate::host::Host;
use lopsided_core::{Dir, NodeId, Port};
use lopsided_link::Link;
use lopsided_net::{Attachment, NetNode};
use lopsided_queue::FarEnd;
use lopsided_scenario::{Hop, Scenario};
use lopsided_stage::{MtuGate, Reflector, StageNode, StageRole, StageSide};

/// A stage, with its node.
struct Placed {
    node: NodeId,
    side: StageSide,
    sees_reverse: bool,
}

/// The stages of one direction of a link.
struct Way {
    stages: Vec<Placed>,
    /// True if the queue of this direction also sees the packets of the other direction.
    senses: bool,
}

/// The number, link and name of a node that the scenario does not list as a stage.
pub(super) struct Unnamed {
    pub node: NodeId,
    pub hop: Hop,
    pub what: &'static str,
}

/// Appends the stages to the nodes, in the order of [`crate::node_labels`], and inserts them into the wires.
pub(super) fn place(
    scenario: &Scenario,
    net: &Topology<'_>,
    seed: u64,
    nodes: &mut Vec<NetNode<Host>>,
    wires: &mut Vec<Vec<Attachment>>,
) -> Result<Vec<Unnamed>, BuildError> {
    let mut unnamed = Vec::new();
    let links = 0..scenario.graph.links.len();
    let hops: Vec<[Hop; 2]> = links.map(|link| Dir::BOTH.map(|dir| Hop { link, dir })).collect();
    let mut ways = Vec::new();
    for hop in hops.iter().flatten() {
        ways.push(Way { stages: build(scenario, *hop, seed, nodes, wires)?, senses: false });
    }
    for (way, hop) in ways.iter_mut().zip(hops.iter().flatten()) {
        let NetNode::Link(link) = &nodes[net.link_node(*hop).index()] else { unreachable!("a link's own node") };
        let Some(far_end) = link.senses() else { continue };
        way.senses = true;
        let nowhere = wires[net.link_node(*hop).index()][0];
        // Add a second port for packets of the other direction. `connect` wires it.
        wires[net.link_node(*hop).index()].push(nowhere);
        // Without this reflector, a reflector that the scenario lists as a stage returns the sensing packets.
        if far_end == FarEnd::Link {
            let node = append(StageNode::new(Box::new(Reflector::default())), nodes, wires);
            way.stages.insert(0, Placed { node, side: StageSide::Exit, sees_reverse: true });
            unnamed.push(Unnamed { node, hop: *hop, what: "reflector" });
        }
    }
    for (way, hop) in ways.iter_mut().zip(hops.iter().flatten()) {
        let Some(mtu) = scenario.graph.links[hop.link].dir(hop.dir).mtu else { continue };
        // The gate's number makes its address in ICMP messages unique.
        let gate = MtuGate::new(mtu.get() as u16, unnamed.len() as u16);
        let node = append(StageNode::new(Box::new(gate)), nodes, wires);
        // "Packet too big" messages are sent back to the node from which the packets arrive.
        let (origin, port) = net.origin(*hop);
        wires[node.index()][usize::from(StageNode::REVERSE.0)] = Attachment { node: NodeId(origin as u32), port };
        way.stages.insert(0, Placed { node, side: StageSide::Entry, sees_reverse: false });
        unnamed.push(Unnamed { node, hop: *hop, what: "mtu" });
    }
    for (of_dir, hops) in ways.chunks(2).zip(&hops) {
        connect(hops[0], &of_dir[0], &of_dir[1], net, wires);
        connect(hops[1], &of_dir[1], &of_dir[0], net, wires);
    }
    Ok(unnamed)
}

/// Appends a stage as a node. Both of its ports lead to the stage itself until `connect` wires them.
fn append(stage: StageNode, nodes: &mut Vec<NetNode<Host>>, wires: &mut Vec<Vec<Attachment>>) -> NodeId {
    let node = NodeId(nodes.len() as u32);
    nodes.push(NetNode::Custom(Box::new(stage)));
    wires.push([StageNode::FORWARD, StageNode::REVERSE].map(|port| Attachment { node, port }).to_vec());
    node
}

/// Builds the stages of one direction.
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
        // The random stream depends only on this role, so changes elsewhere in the scenario do not affect it.
        let role = format!("{}/{}/stage {}", spec.name, hop.dir.name(), number + 1);
        let stage = config.build(&StageRole { seed, role: &role }).map_err(|fault| BuildError::Link {
            link: format!("{}.{}", spec.name, hop.dir.name()),
            what: format!("stages.{}.{}: {fault}", number + 1, fault.key),
        })?;
        let sees_reverse = stage.sees_reverse();
        placed.push(Placed { node: append(stage, nodes, wires), side: config.side(), sees_reverse });
    }
    Ok(placed)
}

/// Connects the nodes of one direction: its own stages, and the other direction's stages that see both directions.
fn connect(hop: Hop, own: &Way, other: &Way, net: &Topology<'_>, wires: &mut [Vec<Attachment>]) {
    let own_at =
        |side| own.stages.iter().filter(move |stage| stage.side == side).map(|stage| (stage.node, StageNode::FORWARD));
    let other_at = |side| {
        // Reversed: the other direction passes these stages in the opposite order.
        let seeing = other.stages.iter().rev().filter(move |stage| stage.side == side && stage.sees_reverse);
        seeing.map(|stage| (stage.node, StageNode::REVERSE))
    };
    let link = net.link_node(hop);
    let (origin, port) = net.origin(hop);
    // Save the destination before the wire of the link is changed below.
    let destination = wires[link.index()][0];
    let before = other_at(StageSide::Exit).chain(own_at(StageSide::Entry));
    let sensing = other.senses.then(|| (net.link_node(Hop { dir: hop.dir.reverse(), ..hop }), Link::SENSED));
    let behind = sensing.into_iter().chain(other_at(StageSide::Entry)).chain(own_at(StageSide::Exit));
    let way = before.chain([(link, Port(0))]).chain(behind);
    // The end of the path that is connected so far: a node and one of its ports.
    let mut from = (origin, usize::from(port.0));
    for (node, port) in way {
        wires[from.0][from.1] = Attachment { node, port };
        from = (node.index(), usize::from(port.0));
    }
    wires[from.0][from.1] = destination;
}
