//! What left the queue.
//!
//! In a queue in order of arrival nothing need be looked up as a packet leaves: what came before the last one that left
//! is gone, which the next packet of its connection finds out.

use super::few::Few;
use super::waiting_ack::WaitingAck;
use crate::QueuedPacket;
use lopsided_core::Time;

/// The last packet that left a queue in order of arrival, and when it had come.
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

    /// Strikes what is gone from a connection's ACKs. One that came with the last that left may stay.
    #[inline]
    pub fn strike<A>(self, acks: &mut Few<WaitingAck<A>>) {
        while acks.first().is_some_and(|entry| entry.enqueued_at < self.came || entry.id == self.id) {
            acks.drop_first();
        }
    }
}
