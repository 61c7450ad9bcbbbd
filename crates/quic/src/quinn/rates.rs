//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation) for congestion controls such as BBR. Only
//! noq-proto reports the necessary packet numbers.

use lopsided_core::{Bytes, Time};
use lopsided_tcp::cc::{Lost, RateSample};
use lopsided_tcp::{Delivery, NewestDelivered, RateStamp};
use std::collections::BTreeMap;

/// A packet that is neither acknowledged nor lost.
#[derive(Debug)]
struct Sent {
    at: Time,
    /// Number of bytes sent before the packet.
    start: u64,
    bytes: u64,
    stamp: RateStamp,
}

/// The delivery counters of a path, and the packets in flight by number.
#[derive(Debug, Default)]
pub(super) struct Rates {
    delivery: Delivery,
    sent: BTreeMap<u64, Sent>,
    /// The newest packet that the current ACK frame acknowledges.
    newest: Option<NewestDelivered>,
    /// Bytes lost since the last sample.
    lost: u64,
    /// Bytes lost since the start.
    total_lost: u64,
}

impl Rates {
    /// Counts a packet. `start` is the number of bytes sent before the packet. `in_flight` includes the packet.
    pub fn sent(&mut self, now: Time, number: u64, start: u64, bytes: u64, in_flight: u64) {
        let stamp = self.delivery.stamp(now, in_flight == bytes, in_flight, self.total_lost);
        // The handshake's packet number spaces may use the same number (RFC 9000, section 12.3): keep only the newest
        // packet.
        self.sent.insert(number, Sent { at: now, start, bytes, stamp });
    }

    /// Counts an acknowledged packet.
    pub fn acked(&mut self, now: Time, number: u64) {
        let Some(packet) = self.sent.remove(&number) else { return };
        self.delivery.add(now, packet.bytes);
        if self.newest.is_none_or(|newest| newest.sent_at <= packet.at) {
            self.newest = Some(NewestDelivered { stamp: packet.stamp, sent_at: packet.at });
        }
    }

    /// Counts a lost packet, and returns its data in the form that a congestion controller expects.
    pub fn lost(&mut self, number: u64) -> Option<Lost> {
        let Sent { start, bytes, stamp, .. } = self.sent.remove(&number)?;
        (self.lost, self.total_lost) = (self.lost + bytes, self.total_lost + bytes);
        Some(Lost {
            start,
            end: start + bytes,
            tx_in_flight: Bytes::new(u64::from(stamp.in_flight)),
            lost_since_sent: Bytes::new(u64::from((self.total_lost as u32).wrapping_sub(stamp.lost))),
            app_limited: stamp.app_limited,
        })
    }

    /// Returns the sample at the end of an ACK frame. `app_limited` is true if the sender has no more data.
    pub fn sample(&mut self, now: Time, app_limited: bool, in_flight: u64) -> RateSample {
        let lost = std::mem::take(&mut self.lost);
        let sample = self.delivery.sample(now, self.newest.take(), lost, self.total_lost);
        if app_limited {
            self.delivery.set_app_limited(in_flight);
        }
        sample
    }

    /// Returns true if a packet in flight was sent when the sender had no more data.
    pub fn is_app_limited(&self) -> bool {
        self.delivery.is_app_limited()
    }
}
