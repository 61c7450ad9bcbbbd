//! The contract between a queue discipline and the link, or the discipline, in front of which it stands.

use crate::{Classes, FarEnd};
use lopsided_core::{Bytes, Count, Cx, Duration, NewPacket, Packet, Time};
use std::fmt::Debug;

/// A queue discipline: which packet leaves next, and which are dropped or marked.
///
/// # Contract
/// - A packet that was taken in comes out of `dequeue` once, or is lost through `cx.drop` with its reason; never both.
///   [`crate::CheckedQdisc`] holds a discipline to this.
/// - ECN marks are set through `cx.mark`; sizes never change.
/// - The clock is `cx.now()`. A link replays what it owes at the times it happened: the time never goes back, but
///   several calls may come at one instant, and a `dequeue` may be replayed long after its time, though before any
///   later `enqueue`.
/// - There is no timer. A discipline with a periodic update (PIE) replays the missed periods at its next call: nothing
///   that it could see has changed in between.
/// - A discipline that holds packets back says so with `ready_at`, and keeps its word: at that time `dequeue` gives a
///   packet, or drops one, or `ready_at` names a later time.
/// - A discipline that senses is shown the other direction by `observe_reverse`, in order of time with the other calls,
///   and makes packets by `poll_originate`; those are offered to it as all others are.
///
/// # Composition
/// A discipline that has classes holds them in [`Classes`], or gives each a [`crate::Child`], or a [`crate::Class`]
/// that also counts. Any discipline can be the child of another. The one that holds the packet reports it with
/// [`Backlog::add`], those around it do not. One that names its [`Classes`] in `children` and `children_mut` has what
/// is only passed on to them by default.
pub trait Qdisc: Debug + Send {
    /// Offers a packet: it is taken in, or dropped; room for it may be made by dropping others. A discipline that takes
    /// it in says so with [`Backlog::add`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Gives the packet to send now. May drop or mark on the way, and give nothing if that emptied the queue.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket>;

    /// The classes inside, which the methods below ask by default. Nothing else does.
    fn children(&self) -> Option<&Classes> {
        None
    }

    /// As [`Qdisc::children`].
    fn children_mut(&mut self) -> Option<&mut Classes> {
        None
    }

    /// When a packet can leave: `None` if none waits, later than `now` if the discipline itself holds packets back.
    fn ready_at(&self, now: Time) -> Option<Time> {
        match self.children() {
            Some(classes) => classes.ready_at(now),
            None => (self.backlog().packets > 0).then_some(now),
        }
    }

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// The size of the IP packet that `dequeue` would give now, if that is known without taking it.
    ///
    /// A shaper and a deficit round robin must know a size before they let the packet go. Where the answer is `None`
    /// they take the packet and hold it, as Linux's `qdisc_peek_dequeued` does. A discipline in which a later arrival
    /// may still overtake or push out the head (FIFO, priorities) answers, as Linux's `qdisc_peek_head`. Asked only
    /// when a packet is ready.
    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        None
    }

    /// Where the packets turn that the discipline makes to sense its link; `None` if it makes none, and then the two
    /// below are never called. Asked once, as the network is built.
    fn senses(&self) -> Option<FarEnd> {
        self.children().and_then(Classes::senses)
    }

    /// A packet of the other direction passes this end of the link. True if it is one of the discipline's own that came
    /// home: its journey ends here.
    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.children_mut().is_some_and(|classes| classes.observe_reverse(packet, now))
    }

    /// Gives a packet that the discipline wants to be made and offered to it. Asked after each packet was offered,
    /// until there is none.
    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.children_mut().and_then(Classes::poll_originate)
    }

    /// Whether [`Qdisc::remove`] finds what waits. One with classes finds what the classes find.
    fn removes(&self) -> bool {
        self.children().is_some_and(Classes::removes)
    }

    /// Takes a packet out of the middle of the queue, for a filter around the discipline: its room is free, its turn is
    /// over. `None` if it waits no more, or was taken out to be shown. Never a scan of all that waits.
    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.children_mut()?.remove(waiting, cx).map(|(_, packet)| packet)
    }

    /// The number of the place that a packet taken in now would have, where that finds it at once: see
    /// [`Waiting::place`]. Only of a discipline that gives packets in the order in which they came.
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

/// What one class of a discipline has done since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStats {
    /// What waits in the class.
    pub backlog: Backlog,
    /// Packets that left the class and their octets of IP.
    pub sent_packets: u64,
    pub sent_bytes: Bytes,
    /// Packets that the class refused or dropped, and their octets of IP.
    pub dropped_packets: u64,
    pub dropped_bytes: Bytes,
    /// Packets that a filter around the class took out, and their octets of IP.
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
    /// What [`Qdisc::next_place`] said before it was taken in.
    pub place: Option<u64>,
    /// A packet of the same connection and direction: where the discipline puts this one, there the other waits.
    pub like: &'a Packet,
}

/// What waits in a queue: IP packets and their octets.
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
    /// Counts a packet that the queue takes in now, and tells the watchers. `size` is the packet's, which the caller
    /// knows.
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
    /// The octets, with a header of the link for each packet.
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
