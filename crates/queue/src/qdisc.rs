//! The contract between a queue discipline and its user, which is a link or another discipline.

use crate::{Backlog, Buffer, Classes, FarEnd, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, Duration, NewPacket, Packet, Time};
use std::fmt::Debug;

/// A queue discipline: decides which packet leaves next, and which packets are dropped or marked.
///
/// # Contract
/// - Each enqueued packet is either returned by `dequeue` or dropped through `cx.drop` with a reason, exactly once.
///   [`crate::CheckedQdisc`] checks this rule.
/// - ECN marks are set through `cx.mark`. Packet sizes never change.
/// - The clock is `cx.now()`. Time never goes back, but several calls may have the same time. A link may call `dequeue`
///   later than the packet departs, but always before the next `enqueue`. In such a call, `cx.now()` is the departure
///   time.
/// - There is no timer. A discipline with a periodic update, such as PIE, computes the missed updates at its next call.
///   The inputs of an update do not change between two calls.
/// - A discipline that delays packets returns the time of its next departure from `ready_at`. At that time, `dequeue`
///   returns a packet or drops one, or `ready_at` returns a later time.
/// - A discipline that sends sensing packets returns its [`Sensing`] from `sensing`.
///
/// # Composition
/// A discipline with one queue may store its packets in a [`Buffer`]. A classful discipline stores its classes in
/// [`Classes`]. It may also store each class in a [`crate::Child`], or in a [`crate::Class`], which counts packets. Only
/// the discipline that stores a packet calls [`Backlog::add`] for the packet. The default methods forward to the
/// [`Buffer`] that `buffer_mut` returns, or to the [`Classes`] that `children` and `children_mut` return.
///
/// # Examples
///
/// A queue of one packet, in which a new packet replaces the old one:
///
/// ```
/// use lopsided_core::{Cx, DropReason, Packet};
/// use lopsided_queue::{Backlog, CheckedQdisc, Qdisc, QueuedPacket};
///
/// #[derive(Debug, Default)]
/// struct Newest {
///     packet: Option<QueuedPacket>,
///     backlog: Backlog,
/// }
///
/// impl Qdisc for Newest {
///     fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
///         if let Some(old) = self.dequeue(cx) {
///             cx.drop(old.packet, DropReason::HeadDrop);
///         }
///         self.backlog.add(&packet, packet.size(), cx);
///         self.packet = Some(QueuedPacket { packet, enqueued_at: cx.now() });
///     }
///
///     fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
///         let given = self.packet.take()?;
///         self.backlog.remove(given.packet.size());
///         Some(given)
///     }
///
///     fn backlog(&self) -> Backlog {
///         self.backlog
///     }
/// }
///
/// // In tests, `CheckedQdisc` checks the contract after every call.
/// let queue = CheckedQdisc::new(Newest::default());
/// assert_eq!(queue.backlog().packets, 0);
/// ```
pub trait Qdisc: Debug + Send {
    /// Offers a packet, which is enqueued or dropped. An enqueued packet is reported with [`Backlog::add`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Removes and returns the packet to send now. May drop or mark packets. Returns `None` if no packet is ready.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket>;

    /// Returns the classes of the discipline, for the default methods below.
    fn children(&self) -> Option<&Classes> {
        None
    }

    /// Like [`Qdisc::children`], but mutable.
    fn children_mut(&mut self) -> Option<&mut Classes> {
        None
    }

    /// Returns the buffer of a discipline that stores all its packets in one buffer, for the default methods below.
    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        None
    }

    /// Returns the time at which the next packet can leave: `now` or later. `None` if the queue is empty.
    fn ready_at(&self, now: Time) -> Option<Time> {
        match self.children() {
            // A classful discipline is ready when one of its classes is ready.
            Some(classes) => classes.ready_at(now),
            // A work-conserving discipline is ready whenever it has packets.
            None => (self.backlog().packets > 0).then_some(now),
        }
    }

    /// Returns the number and total size of the queued packets.
    fn backlog(&self) -> Backlog;

    /// Returns the size of the IP packet that `dequeue` would return now; `None` if only `dequeue` can determine it.
    /// Called only if a packet is ready.
    ///
    /// Shapers and deficit round robin need the size. If it is unknown, they dequeue the packet early and hold it, like
    /// Linux's `qdisc_peek_dequeued`. If a later arrival may displace the head packet, implement this method, like
    /// Linux's `qdisc_peek_head`.
    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        None
    }

    /// Returns the part of the discipline that sends sensing packets (delay probes); `None` if it sends none. The answer
    /// is the same for the whole life of the discipline.
    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        self.children_mut()?.sensing()
    }

    /// True if the discipline implements [`Qdisc::remove`]. A classful discipline returns true if all its classes
    /// implement the method.
    fn removes(&mut self) -> bool {
        self.buffer_mut().is_some() || self.children_mut().is_some_and(Classes::removes)
    }

    /// Removes a packet from the middle of the queue. Returns `None` if the packet is no longer queued or was dequeued
    /// early. Must not search the whole queue.
    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        match self.buffer_mut() {
            Some(buffer) => buffer.remove(waiting),
            None => self.children_mut()?.remove(waiting, cx).map(|(_, packet)| packet),
        }
    }

    /// Returns the place number that the next enqueued packet will get (see [`Waiting::place`]). `None` if `remove`
    /// does not find packets by number. Only disciplines that preserve the order of arrival number their packets.
    fn next_place(&self) -> Option<u64> {
        None
    }

    /// Calls `out` with the name and the counters of each inner class (band, tin, flow), in a fixed order.
    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.children().into_iter().for_each(|classes| classes.classes(out));
    }

    /// Calls `out` with the name and the value of each gauge, such as a drop probability or an average.
    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.children().into_iter().for_each(|classes| classes.gauges(out));
    }
}

impl<Q: Qdisc + ?Sized> Qdisc for Box<Q> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        (**self).enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        (**self).dequeue(cx)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        (**self).ready_at(now)
    }

    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        (**self).peek(cx)
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        (**self).sensing()
    }

    fn removes(&mut self) -> bool {
        (**self).removes()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        (**self).remove(waiting, cx)
    }

    fn next_place(&self) -> Option<u64> {
        (**self).next_place()
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        (**self).classes(out);
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        (**self).gauges(out);
    }
}

/// A discipline that sends sensing packets (delay probes), which the far end sends back.
pub trait Sensing {
    /// Returns the far end, which sends the sensing packets back.
    fn far_end(&mut self) -> FarEnd;

    /// Handles a packet from the opposite direction. Returns true if the packet is a sensing packet of this discipline
    /// that the far end has sent back. The caller then deletes the packet.
    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool;

    /// Returns a sensing packet that the caller must create and enqueue like all other packets. Called after each
    /// [`Qdisc::enqueue`] until the result is `None`.
    fn poll_originate(&mut self) -> Option<NewPacket>;
}

/// Counters of one class since the start of the run. Sizes are IP packet sizes, without link headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// Backlog of the class.
    pub backlog: Backlog,
    /// Packets that left the class.
    pub sent_packets: u64,
    /// Bytes that left the class.
    pub sent_bytes: Bytes,
    /// Packets that the class dropped.
    pub dropped_packets: u64,
    /// Bytes that the class dropped.
    pub dropped_bytes: Bytes,
    /// Packets that a filter around the class removed.
    pub filtered_packets: u64,
    /// Bytes that a filter around the class removed.
    pub filtered_bytes: Bytes,
    /// Packets that the class marked (RFC 3168).
    pub marked_packets: u64,
    /// Sum of the sojourn times of the packets that left.
    pub sojourn_sum: Duration,
    /// Longest sojourn time of the packets that left.
    pub sojourn_max: Duration,
}
