//! A network that handles all events in one order of time, without rows, regions and threads.

use super::{HOSTS, Host, View};
use lopsided_core::{Accounting, Count, Cx, Node, NodeId, Packet, Time};
use lopsided_link::Link;
use lopsided_net::{Attachment, NetNode};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub struct Model {
    /// Must be the first field, because fields are dropped in order: packets in `nodes` may be freed only after the
    /// accounting.
    accounting: Accounting,
    nodes: Vec<NetNode<Host>>,
    wires: Vec<Vec<Attachment>>,
    now: Time,
    /// The event times of all nodes. An entry is skipped if it differs from the node's current time.
    heap: BinaryHeap<Reverse<(Time, usize)>>,
}

fn any(node: &mut NetNode<Host>) -> Option<&mut dyn Node> {
    match node {
        NetNode::Link(link) => Some(&mut **link),
        NetNode::Host(host) => Some(&mut **host),
        _ => None,
    }
}

impl Model {
    pub fn new(nodes: Vec<NetNode<Host>>, wires: Vec<Vec<Attachment>>) -> Model {
        let accounting = Accounting::new(nodes.len());
        let mut model = Model { nodes, wires, accounting, now: Time::ZERO, heap: BinaryHeap::new() };
        (0..model.nodes.len()).for_each(|node| model.note(node));
        model
    }

    fn due(&mut self, node: usize) -> Option<Time> {
        any(&mut self.nodes[node])?.poll_timeout()
    }

    fn note(&mut self, node: usize) {
        let due = self.due(node);
        self.heap.extend(due.map(|at| Reverse((at, node))));
    }

    /// Handles all events up to and including `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some(&Reverse((at, node))) = self.heap.peek().filter(|Reverse((at, _))| *at <= until) {
            self.heap.pop();
            if self.due(node) == Some(at) {
                self.now = self.now.max(at);
                self.act(node);
            }
            // Sampling a link can change the link's event time.
            self.note(node);
        }
        self.now = until;
    }

    /// Handles one event of a node. A host sends all its packets. Hosts that receive a packet send before the first
    /// host continues.
    fn act(&mut self, node: usize) {
        let mut to_poll = vec![node];
        let is_link = matches!(self.nodes[node], NetNode::Link(_));
        let mut cx = Cx::new(self.now, NodeId(node as u32), &mut self.accounting);
        any(&mut self.nodes[node]).expect("it has a time").handle_timeout(&mut cx);
        while let Some(&node) = to_poll.last() {
            let mut cx = Cx::new(self.now, NodeId(node as u32), &mut self.accounting);
            let sent = any(&mut self.nodes[node]).and_then(|node| node.poll_transmit(&mut cx));
            if sent.is_none() || (is_link && to_poll.len() == 1) {
                to_poll.pop();
            }
            if let Some((port, packet)) = sent {
                to_poll.extend(self.carry(self.wires[node][usize::from(port.0)], packet));
            }
            self.note(node);
        }
    }

    /// Carries a packet to the next link or host. Returns the host if the packet reaches one.
    fn carry(&mut self, mut wire: Attachment, mut packet: Packet) -> Option<usize> {
        loop {
            let mut cx = Cx::new(self.now, wire.node, &mut self.accounting);
            match &mut self.nodes[wire.node.index()] {
                NetNode::Router(router) => match router.forward(&mut packet) {
                    Ok(port) => wire = self.wires[wire.node.index()][usize::from(port.0)],
                    Err(why) => {
                        cx.drop(packet, why);
                        return None;
                    }
                },
                node => {
                    any(node).expect("a host or a link").handle_packet(wire.port, packet, &mut cx);
                    let index = wire.node.index();
                    self.note(index);
                    return matches!(self.nodes[index], NetNode::Host(_)).then_some(index);
                }
            }
        }
    }
}

impl View for Model {
    fn with_link(&mut self, node: NodeId, look: fn(&mut Link, &mut Cx<'_>) -> String) -> String {
        let NetNode::Link(link) = &mut self.nodes[node.index()] else { panic!("{node:?} is not a link") };
        look(link, &mut Cx::new(self.now, node, &mut self.accounting))
    }

    fn rest(&self) -> (&Accounting, Count, [&Host; HOSTS]) {
        let held = |node: &NetNode<Host>| if let NetNode::Link(link) = node { link.held() } else { Count::ZERO };
        let host = |node: usize| if let NetNode::Host(host) = &self.nodes[node] { &**host } else { panic!("no host") };
        (&self.accounting, self.nodes.iter().map(held).sum(), [0, 1, 2].map(host))
    }
}
