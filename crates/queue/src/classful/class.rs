//! A class of a classful discipline: a named child and its counters.

use crate::{Backlog, Child, ClassStats, Qdisc, QueuedPacket, Sensing, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Time};

/// A named child, with counters of its packets.
#[derive(Debug)]
pub struct Class {
    name: String,
    child: Child,
    stats: ClassStats,
}

impl Class {
    /// Creates an empty class.
    pub fn new(name: impl Into<String>, child: Box<dyn Qdisc>) -> Class {
        Class { name: name.into(), child: Child::new(child), stats: ClassStats::default() }
    }

    /// Enqueues a packet. `beside` is the total backlog of the other classes.
    pub fn enqueue(&mut self, packet: Packet, beside: Backlog, cx: &mut Cx<'_>) {
        let marked = cx.counters().marked_total().packets;
        self.stats.backlog.packets += 1;
        self.stats.backlog.bytes += packet.size();
        cx.within_class(beside.packets, beside.bytes, |cx| self.child.enqueue(packet, cx));
        self.settle(marked, cx);
    }

    /// Removes and returns the next packet: see [`Qdisc::dequeue`].
    pub fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let marked = cx.counters().marked_total().packets;
        let given = self.child.dequeue(cx);
        if let Some(given) = &given {
            // Count the departure here. After that, `settle` can attribute any other decrease of the backlog to drops.
            let (size, sojourn) = (given.packet.size(), cx.now() - given.enqueued_at);
            self.stats.backlog.remove(size);
            self.stats.sent_packets += 1;
            self.stats.sent_bytes += size;
            self.stats.sojourn_sum += sojourn;
            self.stats.sojourn_max = self.stats.sojourn_max.max(sojourn);
        }
        self.settle(marked, cx);
        given
    }

    /// Drops the packet that `dequeue` would return now, for the reason `why`.
    pub fn drop_head(&mut self, why: DropReason, cx: &mut Cx<'_>) {
        let marked = cx.counters().marked_total().packets;
        if let Some(head) = self.child.dequeue(cx) {
            cx.drop(head.packet, why);
        }
        self.settle(marked, cx);
    }

    /// Returns the size of the packet that `dequeue` would return now; `None` if no packet is left.
    pub fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        let marked = cx.counters().marked_total().packets;
        let size = self.child.peek(cx);
        self.settle(marked, cx);
        size
    }

    /// See [`Qdisc::removes`].
    pub fn removes(&mut self) -> bool {
        self.child.removes()
    }

    /// Removes a packet from the middle: see [`Qdisc::remove`]. The class counts the packet as filtered.
    pub fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.child.remove(waiting, cx)?;
        self.stats.backlog.remove(packet.size());
        self.stats.filtered_packets += 1;
        self.stats.filtered_bytes += packet.size();
        Some(packet)
    }

    /// See [`Qdisc::ready_at`].
    pub fn ready_at(&self, now: Time) -> Option<Time> {
        self.child.ready_at(now)
    }

    /// See [`Qdisc::sensing`].
    pub fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.child.sensing()
    }

    /// Returns the backlog of the class.
    pub fn backlog(&self) -> Backlog {
        self.stats.backlog
    }

    /// Calls `out` for this class and each inner class. The names of inner classes are prefixed with this class's name.
    pub fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        out(&self.name, self.stats);
        self.child.classes(&mut |inner, stats| out(&format!("{}/{inner}", self.name), stats));
    }

    /// Calls `out` for each gauge of the child. The name of a gauge is prefixed with this class's name.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.child.gauges(&mut |inner, value| out(&format!("{}/{inner}", self.name), value));
    }

    /// Counts the packets that the child dropped or marked since the last call.
    fn settle(&mut self, marked_before: u64, cx: &Cx<'_>) {
        // The child does not report drops to this class, so compute them from the decrease of the backlog.
        let dropped = self.stats.backlog - self.child.backlog();
        self.stats.backlog = self.child.backlog();
        self.stats.dropped_packets += u64::from(dropped.packets);
        self.stats.dropped_bytes += dropped.bytes;
        // Only this child ran between the two readings of the counter, so it has set all marks in between.
        self.stats.marked_packets += cx.counters().marked_total().packets - marked_before;
    }
}
