//! Queued packets and their number: the data that all disciplines share.

use lopsided_core::{Bytes, Count, Cx, Packet, Time};

/// A packet that is or was in a queue.
#[derive(Debug)]
pub struct QueuedPacket {
    /// The packet.
    pub packet: Packet,
    /// Time at which the packet was enqueued.
    pub enqueued_at: Time,
}

/// Identifies a queued packet for [`Qdisc::remove`](crate::Qdisc::remove).
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The packet's [`Packet::id`].
    pub id: u64,
    /// Time at which the packet was enqueued.
    pub enqueued_at: Time,
    /// Result of [`Qdisc::next_place`](crate::Qdisc::next_place) immediately before the packet was enqueued.
    pub place: Option<u64>,
    /// Another packet of the same connection and direction, which a discipline assigns to the same queue.
    pub like: &'a Packet,
}

/// The backlog of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Number of queued packets.
    pub packets: u32,
    /// Total size of the queued packets in bytes, without link headers.
    pub bytes: Bytes,
}

impl From<Backlog> for Count {
    fn from(backlog: Backlog) -> Count {
        Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
    }
}

impl Backlog {
    /// Counts an enqueued packet and notifies observers. `size` must be the size of the packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet, size: Bytes, cx: &mut Cx<'_>) {
        self.packets += 1;
        self.bytes += size;
        // Count the packet first, because the backlog that observers receive includes it.
        cx.trace_enqueued(packet, self.packets, self.bytes);
    }

    /// Subtracts a packet that was dequeued, dropped or removed.
    #[inline]
    pub fn remove(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

impl Backlog {
    /// Returns the bytes of the backlog, with a link header of `header` bytes for each packet.
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
