//! The contract of a stage, and the node that puts one into a network.

use lopsided_core::{Count, Cx, Node, Packet, Port, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// An element on the path of a link direction.
///
/// # Contract
/// - Every packet that enters goes to an [`Outlet`], in the same or a later call, or ends by `cx.drop` or `cx.absorb`.
///   [`Stage::held`] counts the packets in the stage.
/// - A stage changes packets by `cx.rewrite` and creates them by `cx.originate`, so that the accounting balances.
/// - The only clock is `cx.now()`, and a stage has one timer.
pub trait Stage: Debug + Send {
    /// A packet of the stage's own direction arrived.
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>);

    /// Whether packets of the other direction pass through [`Stage::handle_reverse`]. The network calls this once, when
    /// it is built.
    fn sees_reverse(&self) -> bool {
        false
    }

    /// A packet of the other direction arrived at the same end of the line.
    fn handle_reverse(&mut self, packet: Packet, out: &mut Outlet, _cx: &mut Cx<'_>) {
        out.reverse(packet);
    }

    /// Time of the next call of `handle_timeout`; `None` if there is none.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time of `poll_timeout` has come. A call before it does nothing.
    fn handle_timeout(&mut self, _out: &mut Outlet, _cx: &mut Cx<'_>) {}

    /// The number of packets in the stage.
    fn held(&self) -> Count {
        Count::ZERO
    }

    /// Calls `out` with the name and value of each of the stage's quantities, for the results' tables.
    fn sample(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Collects the packets that leave a stage, in order.
#[derive(Debug, Default)]
pub struct Outlet {
    packets: VecDeque<(Port, Packet)>,
}

impl Outlet {
    /// Sends the packet on in the stage's own direction.
    pub fn forward(&mut self, packet: Packet) {
        self.packets.push_back((StageNode::FORWARD, packet));
    }

    /// Sends the packet in the other direction.
    pub fn reverse(&mut self, packet: Packet) {
        self.packets.push_back((StageNode::REVERSE, packet));
    }
}

/// A stage as a node of a network. A packet that enters by a port leaves by the same port.
#[derive(Debug)]
pub struct StageNode {
    stage: Box<dyn Stage>,
    out: Outlet,
    arrived: u64,
    sent: u64,
}

impl StageNode {
    /// The stage's own direction.
    pub const FORWARD: Port = Port(0);
    /// The other direction, if the stage sees it.
    pub const REVERSE: Port = Port(1);

    /// Wraps a stage.
    pub fn new(stage: Box<dyn Stage>) -> StageNode {
        StageNode { stage, out: Outlet::default(), arrived: 0, sent: 0 }
    }

    /// True if the stage observes the other direction.
    pub fn sees_reverse(&self) -> bool {
        self.stage.sees_reverse()
    }
}

impl Node for StageNode {
    fn handle_packet(&mut self, port: Port, packet: Packet, cx: &mut Cx<'_>) {
        if port == StageNode::FORWARD {
            self.arrived += 1;
            self.stage.handle_packet(packet, &mut self.out, cx);
        } else {
            self.stage.handle_reverse(packet, &mut self.out, cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.stage.poll_timeout().is_some_and(|due| due <= cx.now()) {
            self.stage.handle_timeout(&mut self.out, cx);
        }
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let given = self.out.packets.pop_front();
        self.sent += u64::from(given.as_ref().is_some_and(|(port, _)| *port == StageNode::FORWARD));
        given
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.stage.poll_timeout()
    }

    fn held(&self) -> Count {
        self.stage.held() + Count::of(self.out.packets.iter().map(|(_, packet)| packet.size()))
    }

    /// `arrived_packets` and `sent_packets` count packets of the stage's own direction since the start.
    fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        out("", "arrived_packets", self.arrived as f64);
        out("", "sent_packets", self.sent as f64);
        self.stage.sample(&mut |quantity, value| out("", quantity, value));
    }
}
