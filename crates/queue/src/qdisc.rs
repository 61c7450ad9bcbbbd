//! The contract between a queue discipline and the link in front of which it stands.

use lopsided_core::{Bytes, Cx, Event, EventMask, Packet, Time};
use std::fmt::Debug;

/// A queue discipline: which packet leaves next, and which are dropped or marked.
///
/// # Contract
/// - A packet that was taken in comes out of `dequeue` once, or is lost through `cx.drop` with its reason; never both.
///   [`crate::CheckedQdisc`] holds a discipline to this.
/// - ECN marks are set in `enqueue` or `dequeue`, through `cx.mark`; sizes never change.
/// - The clock is `cx.now()`. A link replays what it owes at the times it happened: the time never goes back, but several
///   calls may come at one instant, and a `dequeue` may be replayed long after its time, though before any later `enqueue`.
/// - There is no timer. A discipline with a periodic update (PIE) replays the missed periods at its next call: nothing that it
///   could see has changed in between.
pub trait Qdisc: Debug + Send {
    /// Offers a packet: it is taken in, or discarded; room for it may be made by discarding others. A discipline that takes
    /// it in says so with [`Backlog::add`].
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);

    /// Gives the packet to send now. May discard or mark on the way, and give nothing if that emptied the queue.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket>;

    /// When a packet can leave: `None` if none waits, later than `now` if the discipline itself holds packets back.
    fn ready_at(&self, now: Time) -> Option<Time> {
        (self.backlog().packets > 0).then_some(now)
    }

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// The size of the IP packet that would leave next, for a token bucket that must know whether its credit suffices. A
    /// discipline that drops at dequeue may then give another one, whose size is charged instead.
    fn head_size(&self) -> Option<Bytes>;
}

/// A packet that waits or waited, and since when.
#[derive(Debug)]
pub struct QueuedPacket {
    pub packet: Packet,
    /// When the queue took it in.
    pub enqueued_at: Time,
}

/// What waits in a queue: IP packets and their octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    pub packets: u32,
    pub bytes: Bytes,
}

impl Backlog {
    /// Counts a packet that the queue takes in now, and tells the watchers. `size` is the packet's, which the caller knows.
    #[inline]
    pub fn add(&mut self, packet: &Packet, size: Bytes, cx: &mut Cx<'_>) {
        self.packets += 1;
        self.bytes += size;
        let (backlog_packets, backlog_bytes) = (self.packets, self.bytes);
        cx.trace(EventMask::QUEUES, || Event::Enqueued { packet, backlog_packets, backlog_bytes });
    }

    /// Counts a packet that leaves, for whatever reason.
    #[inline]
    pub fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}
