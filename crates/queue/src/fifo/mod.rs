//! A FIFO in a bounded buffer: drop-tail, or drop-from-front (Lakshman, Neidhardt and Ott 1996).
//!
//! For a drop-tail FIFO in front of a plain line, a link uses a faster implementation with the same results
//! (`crates/link/src/drop_tail_path.rs`).

mod threshold;

pub use threshold::{MarkThreshold, Markable, ThresholdConfig, ThresholdFifo};

use crate::{Backlog, Buffer, BufferLimit, Limit, Qdisc, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Packet};
use lopsided_spec::{Choice, Fault, Key, Part, key};

/// Settings of a FIFO queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FifoConfig {
    /// Capacity of the buffer.
    pub limit: Limit,
    /// The packet that is dropped if there is no room.
    pub drop: DropFrom,
    /// Size in bytes of the link header that counts towards the limit with each IP packet.
    pub header: Bytes,
}

impl FifoConfig {
    /// A drop-tail FIFO that counts IP packets without link headers.
    pub const fn new(limit: Limit) -> FifoConfig {
        FifoConfig { limit, drop: DropFrom::Tail, header: Bytes::ZERO }
    }
}

impl Part for FifoConfig {
    const NAME: &'static str = "fifo";
    const TEXT: &'static str = "First in, first out.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FifoConfig>] = &[
        key("limit", |fifo| &mut fifo.limit, "Limit of the queue."),
        key(
            "drop",
            |fifo| &mut fifo.drop,
            "Packet to drop if the queue is full: the arriving packet (tail) or the oldest (front).",
        ),
    ];
}

/// The packet that is dropped if there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DropFrom {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest packets are dropped until the arriving packet fits. The sender then detects the loss one queueing
    /// delay earlier.
    Front,
}

impl Choice for DropFrom {
    const WORDS: &'static [(&'static str, DropFrom)] = &[("tail", DropFrom::Tail), ("front", DropFrom::Front)];
}

/// A FIFO queue in a bounded buffer.
///
/// # Examples
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_queue::{DropFrom, Fifo, FifoConfig, Limit};
///
/// let config = FifoConfig { drop: DropFrom::Front, ..FifoConfig::new(Limit::Packets(50)) };
/// let fifo = Fifo::new(&config).unwrap();
/// assert_eq!(fifo.drops_from(), DropFrom::Front);
/// assert!(fifo.room().fits(Bytes::new(1500)));
/// ```
#[derive(Debug)]
pub struct Fifo {
    buffer: Buffer,
    drop: DropFrom,
}

impl Fifo {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit is zero.
    pub fn new(config: &FifoConfig) -> Result<Fifo, Fault> {
        Ok(Fifo { buffer: Buffer::new(config.limit, config.header)?, drop: config.drop })
    }

    /// Returns the buffer: its limit, and the space in use.
    pub fn room(&self) -> &BufferLimit {
        self.buffer.limit()
    }

    /// Returns which packets are dropped if there is no room: the arriving packet or the oldest packets.
    pub fn drops_from(&self) -> DropFrom {
        self.drop
    }

    /// Drops packets from the front until a packet of `size` bytes fits. Returns false, and drops nothing, if the queue
    /// is drop-tail or the packet is larger than the whole buffer.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut Cx<'_>) -> bool {
        // A packet that is larger than the whole buffer never fits, so it must not displace other packets.
        if self.drop == DropFrom::Tail || !self.room().could_fit(size) {
            return false;
        }
        while !self.buffer.fits(size) {
            let oldest = self.buffer.pop().expect("an empty buffer has room for a packet that could fit");
            cx.drop(oldest.packet, DropReason::HeadDrop);
        }
        true
    }

    /// Removes and returns the packet at this position, counted from 0 in the order of arrival.
    pub(crate) fn take_at(&mut self, place: usize) -> Option<Packet> {
        self.buffer.take_at(place)
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        // Make room before the packet is enqueued, so that the buffer never exceeds its limit.
        if !self.buffer.fits(size) && !self.make_room(size, cx) {
            cx.drop(packet, DropReason::QueueFull);
            return;
        }
        self.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.buffer.pop()
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        self.buffer.head_size()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn next_place(&self) -> Option<u64> {
        Some(self.buffer.next_place())
    }
}
