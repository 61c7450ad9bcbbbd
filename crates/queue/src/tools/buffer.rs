//! A bounded FIFO list of packets. Most disciplines with one queue store their packets in it.

use super::ring::PacketRing;
use crate::{Backlog, BufferLimit, Limit, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, Packet};
use lopsided_spec::Fault;

/// A FIFO list of packets, and the buffer space that they occupy.
#[derive(Debug)]
pub struct Buffer {
    ring: PacketRing,
    limit: BufferLimit,
}

impl Buffer {
    /// Creates an empty buffer: see [`BufferLimit::new`].
    pub(crate) fn new(limit: Limit, header: Bytes) -> Result<Buffer, Fault> {
        Ok(Buffer { ring: PacketRing::default(), limit: BufferLimit::new(limit, header)? })
    }

    /// Returns the capacity of the buffer, and the space in use.
    pub(crate) fn limit(&self) -> &BufferLimit {
        &self.limit
    }

    /// True if there is room for a packet of this size.
    #[inline]
    pub(crate) fn fits(&self, size: Bytes) -> bool {
        self.limit.fits(size)
    }

    /// Appends an arriving packet of `size` bytes, which must fit.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        self.limit.charge(size);
        self.ring.push(packet, cx);
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<QueuedPacket> {
        let oldest = self.ring.pop()?;
        self.limit.release(oldest.packet.size());
        Some(oldest)
    }

    /// Removes and returns the packet at this position, counted from 0 in the order of arrival. Takes linear time.
    pub(crate) fn take_at(&mut self, place: usize) -> Option<Packet> {
        let packet = self.ring.take_at(place);
        self.released(packet)
    }

    /// Removes a packet from anywhere in the list.
    pub(crate) fn remove(&mut self, waiting: &Waiting<'_>) -> Option<Packet> {
        let packet = self.ring.remove(waiting);
        self.released(packet)
    }

    fn released(&mut self, packet: Option<Packet>) -> Option<Packet> {
        packet.inspect(|packet| self.limit.release(packet.size()))
    }

    /// Returns the size of the oldest packet.
    pub(crate) fn head_size(&self) -> Option<Bytes> {
        self.ring.head_size()
    }

    /// Returns the place number that the next packet will get.
    #[inline]
    pub(crate) fn next_place(&self) -> u64 {
        self.ring.next_place()
    }

    /// Returns the number and total size of the queued packets.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }
}
