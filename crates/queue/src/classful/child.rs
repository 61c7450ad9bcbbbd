//! A discipline inside another discipline.

use crate::{Backlog, ClassStats, Qdisc, QueuedPacket, Sensing, Waiting};
use lopsided_core::{Bytes, Cx, Packet, Time};

/// A child discipline, with room for one packet that was dequeued early because its size was needed (Linux's
/// `gso_skb`).
///
/// The held packet is still part of the backlog, but the child discipline can neither drop nor overtake it. No packet
/// is held if the child discipline implements [`Qdisc::peek`].
#[derive(Debug)]
pub struct Child<Q = Box<dyn Qdisc>> {
    qdisc: Q,
    /// The packet that was dequeued early because its size was needed.
    held: Option<QueuedPacket>,
}

impl<Q: Qdisc> Child<Q> {
    /// Wraps a discipline.
    pub fn new(qdisc: Q) -> Child<Q> {
        Child { qdisc, held: None }
    }

    /// Returns the child discipline. Its queue does not contain the held packet.
    pub fn qdisc(&self) -> &Q {
        &self.qdisc
    }

    /// Returns the held packet as a backlog of one packet; an empty backlog if no packet is held.
    fn held(&self) -> Backlog {
        match &self.held {
            None => Backlog::default(),
            Some(held) => Backlog { packets: 1, bytes: held.packet.size() },
        }
    }
}

impl<Q: Qdisc> Qdisc for Child<Q> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.held.is_none() {
            return self.qdisc.enqueue(packet, cx);
        }
        // The backlog that observers see must include the held packet.
        let held = self.held();
        cx.within_class(held.packets, held.bytes, |cx| self.qdisc.enqueue(packet, cx));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.held.take().or_else(|| self.qdisc.dequeue(cx))
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        if self.held.is_some() { Some(now) } else { self.qdisc.ready_at(now) }
    }

    fn backlog(&self) -> Backlog {
        self.qdisc.backlog() + self.held()
    }

    /// Returns the size of the packet that `dequeue` would return now; `None` if no packet is left. May drop packets.
    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        if self.held.is_none() {
            let known = self.qdisc.peek(cx);
            if known.is_some() {
                return known;
            }
            self.held = self.qdisc.dequeue(cx);
        }
        self.held.as_ref().map(|held| held.packet.size())
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.qdisc.sensing()
    }

    fn removes(&mut self) -> bool {
        self.qdisc.removes()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.qdisc.remove(waiting, cx)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.qdisc.classes(out);
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.gauges(out);
    }
}
