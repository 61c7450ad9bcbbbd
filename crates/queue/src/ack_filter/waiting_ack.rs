//! A queued ACK, and its removal from the queue.

use crate::{Qdisc, Waiting};
use lopsided_core::{Cx, DropReason, Packet, Time};
use std::num::NonZero;

/// A queued ACK, with the fields that the rule compares.
#[derive(Debug)]
pub(super) struct WaitingAck<A> {
    pub id: u64,
    pub enqueued_at: Time,
    /// The packet's place number plus 1; `None` if the queue does not number its packets.
    place: Option<NonZero<u64>>,
    pub ack: A,
}

impl<A> WaitingAck<A> {
    /// Creates the entry for a packet that is about to be enqueued.
    #[inline]
    pub fn new(packet: &Packet, ack: A, queue: &impl Qdisc, cx: &Cx<'_>) -> WaitingAck<A> {
        WaitingAck {
            id: packet.id(),
            enqueued_at: cx.now(),
            place: queue.next_place().and_then(|place| NonZero::new(place + 1)),
            ack,
        }
    }

    /// Removes the ACK from the queue. Returns false if the ACK has already left the queue. `like` is another packet of
    /// the connection, by which the discipline finds the flow's queue.
    pub fn filter_out(&self, like: &Packet, queue: &mut impl Qdisc, cx: &mut Cx<'_>) -> bool {
        let waiting = Waiting {
            id: self.id,
            enqueued_at: self.enqueued_at,
            place: self.place.map(|place| place.get() - 1),
            like,
        };
        let Some(removed) = queue.remove(&waiting, cx) else { return false };
        cx.drop(removed, DropReason::AckFiltered);
        true
    }
}
