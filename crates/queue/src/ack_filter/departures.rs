//! The departures from the queue.
//!
//! In a queue that preserves order no look-up is needed when a packet leaves: all packets before the last one have
//! left, which the next packet of the connection notices.

use super::few::Few;
use super::waiting_ack::WaitingAck;
use crate::QueuedPacket;
use lopsided_core::Time;

/// The last packet that left an order-preserving queue, and when it had arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departures {
    came: Time,
    id: u64,
}

impl Departures {
    pub fn none() -> Departures {
        Departures { came: Time::ZERO, id: u64::MAX }
    }

    #[inline]
    pub fn note(&mut self, given: &QueuedPacket) {
        *self = Departures { came: given.enqueued_at, id: given.packet.id() };
    }

    /// Removes departed ACKs from a connection's list. One that arrived at the same time as the last departure may
    /// stay.
    #[inline]
    pub fn strike<A>(self, acks: &mut Few<WaitingAck<A>>) {
        while acks.first().is_some_and(|entry| entry.enqueued_at < self.came || entry.id == self.id) {
            acks.drop_first();
        }
    }
}
