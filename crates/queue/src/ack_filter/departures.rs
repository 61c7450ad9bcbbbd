//! Tracks departures from a queue that preserves the order of arrival. Only the last departure is stored, because every
//! packet that was enqueued earlier has also left. A connection's list of queued ACKs is updated when the connection's
//! next packet arrives.

use super::few::Few;
use super::waiting_ack::WaitingAck;
use crate::QueuedPacket;
use lopsided_core::Time;

/// The last packet that left the queue, and the time at which it was enqueued.
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

    /// Deletes the ACKs that have left the queue from a connection's list. ACKs that were enqueued at the same time as
    /// the last departed packet stay in the list, except for that packet itself.
    #[inline]
    pub fn strike<A>(self, acks: &mut Few<WaitingAck<A>>) {
        // An ACK that was enqueued at the same time as the last departed packet may still be in the queue. Only ACKs
        // that were enqueued earlier have certainly left.
        while acks.first().is_some_and(|entry| entry.enqueued_at < self.came || entry.id == self.id) {
            acks.drop_first();
        }
    }
}
