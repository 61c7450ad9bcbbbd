//! The contract of a stage, and the node that connects a stage to a network.

use lopsided_core::{Count, Cx, Node, Packet, Port, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// An element on the path of one direction of a link.
///
/// # Contract
/// - A stage passes every packet to an [`Outlet`], in the same call or a later call, or ends the packet with `cx.drop`
///   or `cx.absorb`. [`Stage::held`] counts the packets in the stage.
/// - A stage changes packets with `cx.rewrite` and creates them with `cx.originate`, so that the accounting balances.
/// - The clock is `cx.now()`. A stage has one timer.
///
/// # Examples
///
/// A stage that drops every second packet:
///
/// ```
/// use lopsided_core::{Cx, DropReason, Packet};
/// use lopsided_stage::{Outlet, Stage, StageNode};
///
/// #[derive(Debug, Default)]
/// struct EverySecond {
///     packets: u64,
/// }
///
/// impl Stage for EverySecond {
///     fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
///         self.packets += 1;
///         if self.packets % 2 == 0 {
///             cx.drop(packet, DropReason::Policed);
///         } else {
///             out.forward(packet);
///         }
///     }
/// }
///
/// let node = StageNode::new(Box::new(EverySecond::default()));
/// assert!(!node.sees_reverse());
/// ```
pub trait Stage: Debug + Send {
    /// Handles a packet of the stage's own direction.
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>);

    /// True if packets of the opposite direction pass through [`Stage::handle_reverse`]. Called once, when the network
    /// is built.
    fn sees_reverse(&self) -> bool {
        false
    }

    /// Handles a packet of the opposite direction. The packet passes through the end of the line at which the stage is
    /// placed.
    fn handle_reverse(&mut self, packet: Packet, out: &mut Outlet, _cx: &mut Cx<'_>) {
        out.reverse(packet);
    }

    /// Returns the time at which `handle_timeout` must be called next; `None` if no call is needed.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles the expiry of the timer. Called at or after the time that `poll_timeout` returned.
    fn handle_timeout(&mut self, _out: &mut Outlet, _cx: &mut Cx<'_>) {}

    /// Returns the number and total size of the packets in the stage.
    fn held(&self) -> Count {
        Count::ZERO
    }

    /// Calls `out` with the name and value of each quantity that the stage reports in the tables of results.
    fn sample(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Collects the packets that leave a stage, in order.
#[derive(Debug, Default)]
pub struct Outlet {
    packets: VecDeque<(Port, Packet)>,
}

impl Outlet {
    /// Forwards a packet in the stage's own direction.
    pub fn forward(&mut self, packet: Packet) {
        self.packets.push_back((StageNode::FORWARD, packet));
    }

    /// Sends a packet in the opposite direction.
    pub fn reverse(&mut self, packet: Packet) {
        self.packets.push_back((StageNode::REVERSE, packet));
    }
}

/// A stage as a node of a network. A forwarded packet leaves through the port through which it arrived.
#[derive(Debug)]
pub struct StageNode {
    stage: Box<dyn Stage>,
    out: Outlet,
    arrived: u64,
    sent: u64,
}

impl StageNode {
    /// Port of the stage's own direction.
    pub const FORWARD: Port = Port(0);
    /// Port of the opposite direction, used if [`Stage::sees_reverse`] returns true.
    pub const REVERSE: Port = Port(1);

    /// Wraps a stage.
    pub fn new(stage: Box<dyn Stage>) -> StageNode {
        StageNode { stage, out: Outlet::default(), arrived: 0, sent: 0 }
    }

    /// True if packets of the opposite direction pass through the stage.
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
        // The network may call this method before the timer expires. A stage need not handle such a call.
        if self.stage.poll_timeout().is_some_and(|due| due <= cx.now()) {
            self.stage.handle_timeout(&mut self.out, cx);
        }
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let given = self.out.packets.pop_front();
        // Count only packets that leave in the stage's own direction, not messages to the sender.
        self.sent += u64::from(given.as_ref().is_some_and(|(port, _)| *port == StageNode::FORWARD));
        given
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.stage.poll_timeout()
    }

    fn held(&self) -> Count {
        self.stage.held() + Count::of(self.out.packets.iter().map(|(_, packet)| packet.size()))
    }

    /// Calls `out` with the numbers of packets that arrived and left, and with the stage's own quantities.
    fn sample(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        out("", "arrived_packets", self.arrived as f64);
        out("", "sent_packets", self.sent as f64);
        self.stage.sample(&mut |quantity, value| out("", quantity, value));
    }
}
