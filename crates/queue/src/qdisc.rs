//! The contract between a queue discipline and the link, or the discipline, that takes packets from it.

use crate::{Classes, FarEnd};
use lopsided_core::{Bytes, Count, Cx, Duration, NewPacket, Packet, Time};
use std::fmt::Debug;

/// A queue discipline: which packet leaves next, and which are dropped or marked.
///
/// # Contract
/// - An enqueued packet is returned by `dequeue` once, or dropped through `cx.drop` with its reason; never both.
///   [`crate::CheckedQdisc`] checks this.
/// - ECN marks are set through `cx.mark`; sizes never change.
/// - The clock is `cx.now()`. A link replays its departures at the times they happened: the time never goes back, but
///   several calls may occur at one instant, and a `dequeue` may be replayed long after its time, though before any
///   later `enqueue`.
/// - There is no timer. A discipline with a periodic update (PIE) replays the missed periods at its next call: nothing
///   that it could see has changed in between.
/// - A discipline that holds packets back reports the time in `ready_at`: at that time `dequeue` returns a packet, or
///   drops one, or `ready_at` returns a later time.
/// - A discipline that senses observes the other direction by `observe_reverse`, in order of time with the other calls,
///   and creates packets by `poll_originate`; those are offered to it like all others.
///
/// # Composition
/// A discipline with classes holds them in [`Classes`], or has a [`crate::Child`], or a [`crate::Class`] that also
/// counts, for each. Any discipline can be the child of another. The discipline that stores the packet reports it with
/// [`Backlog::add`]; the disciplines around it do not. If a discipline returns its [`Classes`] from `children` and
/// `children_mut`, the default methods forward to them.
pub trait Qdisc: Debug + Send {
    /// Offers a packet: it is taken in, or dropped; room for it may be made by dropping others. A discipline that takes
    /// it in says so with [`Backlog::add`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Returns the packet to send now. May drop or mark packets, and returns `None` if that emptied the queue.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket>;

    /// The classes inside. The default methods below use them.
    fn children(&self) -> Option<&Classes> {
        None
    }

    /// As [`Qdisc::children`].
    fn children_mut(&mut self) -> Option<&mut Classes> {
        None
    }

    /// When a packet can leave: `None` if the queue is empty; later than `now` if the discipline holds packets back.
    fn ready_at(&self, now: Time) -> Option<Time> {
        match self.children() {
            Some(classes) => classes.ready_at(now),
            None => (self.backlog().packets > 0).then_some(now),
        }
    }

    /// The queued packets and bytes.
    fn backlog(&self) -> Backlog;

    /// The size of the IP packet that `dequeue` would return now, if it is known without taking the packet.
    ///
    /// A shaper and a deficit round robin need the size before they release the packet. If the result is `None`, they
    /// take the packet and hold it, as Linux's `qdisc_peek_dequeued`. A discipline in which a later arrival may
    /// overtake or push out the head (FIFO, priorities) returns the size, as Linux's `qdisc_peek_head`. Called only if
    /// a packet is ready.
    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        None
    }

    /// Where the discipline's sensing packets turn; `None` if it sends none, and then the next two methods are never
    /// called. Called once, when the network is built.
    fn senses(&self) -> Option<FarEnd> {
        self.children().and_then(Classes::senses)
    }

    /// Observes a packet of the other direction at this end of the link. True if it is one of the discipline's own
    /// sensing packets: its journey ends here.
    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.children_mut().is_some_and(|classes| classes.observe_reverse(packet, now))
    }

    /// Returns a packet to be created and offered to the discipline. Called after each offered packet, until it returns
    /// `None`.
    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.children_mut().and_then(Classes::poll_originate)
    }

    /// True if [`Qdisc::remove`] finds queued packets. A discipline with classes finds what its classes find.
    fn removes(&self) -> bool {
        self.children().is_some_and(Classes::removes)
    }

    /// Removes a packet from the middle of the queue, for a filter around the discipline: frees its room and its turn.
    /// `None` if the packet is no longer queued, or was taken out by a peek. Must not scan the queue.
    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.children_mut()?.remove(waiting, cx).map(|(_, packet)| packet)
    }

    /// The place number that a packet enqueued now would get, if `remove` finds it by number: see [`Waiting::place`].
    /// Only for disciplines that preserve the order of arrival.
    fn next_place(&self) -> Option<u64> {
        None
    }

    /// Calls `out` for each class inside, in a fixed order, with its name: bands, tins, flows.
    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.children().into_iter().for_each(|classes| classes.classes(out));
    }

    /// Calls `out` with the name and value of each internal quantity that is worth a curve: a drop probability, an
    /// average.
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

    fn senses(&self) -> Option<FarEnd> {
        (**self).senses()
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        (**self).observe_reverse(packet, now)
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        (**self).poll_originate()
    }

    fn removes(&self) -> bool {
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

/// Counters of one class since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// The backlog of the class.
    pub backlog: Backlog,
    /// Packets that left the class, and their IP bytes.
    pub sent_packets: u64,
    pub sent_bytes: Bytes,
    /// Packets that the class dropped, and their IP bytes.
    pub dropped_packets: u64,
    pub dropped_bytes: Bytes,
    /// Packets that a filter around the class removed, and their IP bytes.
    pub filtered_packets: u64,
    pub filtered_bytes: Bytes,
    /// Packets that the class marked (RFC 3168).
    pub marked_packets: u64,
    /// The sum and the longest of the waits of the packets that left.
    pub sojourn_sum: Duration,
    pub sojourn_max: Duration,
}

/// A packet that waits or waited, and since when.
#[derive(Debug)]
pub struct QueuedPacket {
    pub packet: Packet,
    /// When the queue took it in.
    pub enqueued_at: Time,
}

/// Names a packet that waits, for [`Qdisc::remove`].
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// Its number.
    pub id: u64,
    /// When it was taken in.
    pub enqueued_at: Time,
    /// The result of [`Qdisc::next_place`] before it was enqueued.
    pub place: Option<u64>,
    /// A packet of the same connection and direction: the discipline keeps both in the same place.
    pub like: &'a Packet,
}

/// The backlog of a queue: IP packets and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    pub packets: u32,
    pub bytes: Bytes,
}

impl From<Backlog> for Count {
    fn from(backlog: Backlog) -> Count {
        Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
    }
}

impl Backlog {
    /// Adds an enqueued packet and notifies observers. `size` is the packet's size, which the caller knows.
    #[inline]
    pub fn add(&mut self, packet: &Packet, size: Bytes, cx: &mut Cx<'_>) {
        self.packets += 1;
        self.bytes += size;
        cx.trace_enqueued(packet, self.packets, self.bytes);
    }

    /// Counts a packet that leaves, for whatever reason.
    #[inline]
    pub fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

impl Backlog {
    /// The bytes, with a link header for each packet.
    pub fn with_headers(self, header: Bytes) -> Bytes {
        Bytes::new(self.bytes.get() + u64::from(self.packets) * header.get())
    }
}

impl std::ops::Add for Backlog {
    type Output = Backlog;
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Backlog {
    type Output = Backlog;
    fn sub(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}
