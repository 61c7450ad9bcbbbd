//! What an acknowledgement says, and what it brought.

use super::rate_sample::{NewestDelivered, RateStamp};
use super::scoreboard::TxRecord;
use crate::ecn::AceFeedback;
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Duration, Seq};

/// The parts of an arriving segment that the send side reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckInfo<'a> {
    pub seq: Seq,
    pub ack_number: Seq,
    /// The acknowledgement as a stream offset, between `una` and `nxt`.
    pub ack: u64,
    pub window: u64,
    pub sack: &'a [SackBlock],
    pub echo: Option<u32>,
    pub forward_ms: Option<u32>,
    pub ecn_echo: bool,
    /// What accurate ECN counts.
    pub counts: Option<AceFeedback<'a>>,
    /// A filter marked it: what it asks for is lost.
    pub asks_retransmit: bool,
    pub has_data: bool,
}

/// What one ACK brought.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
    pub una_advanced: bool,
    pub sacked: bool,
    pub duplicate: bool,
    /// A recovery was under way when it came, whose last ACK adds nothing to the window.
    pub ended_reduction: bool,
    /// The window on its way down, as it came.
    pub reduced_to: Option<Bytes>,
    /// It offered another window than the one before.
    pub window_changed: bool,
    /// It says no more than that: see [`Acked::predicted`](crate::cc::Acked::predicted).
    pub predicted: bool,
    /// The controller has heard of it as it came.
    pub told: bool,
    /// Segments that it covers.
    pub segments: u32,
    /// Something sent only once was delivered.
    pub original_delivered: bool,
    /// Where the lowest segment begins that was delivered behind others, having been sent once.
    pub reordered_from: Option<u64>,
    pub dsack: bool,
    pub asks_retransmit: bool,
    pub ecn_echo: bool,
    /// Octets newly reported as marked, with accurate feedback.
    pub marked: u64,
    pub delivered: u64,
    pub cumulative: u64,
    /// The peer may have waited with it: see [`Sender::note_delay`](super::sender::Sender::note_delay).
    pub maybe_delayed: bool,
    pub lost_before: u64,
    /// There is new data that the peer's window takes.
    pub new_data_fits: bool,
    /// The timestamp that the peer echoed.
    pub echo: Option<u32>,
    /// The way to the peer by its timestamp and the echo, plus an unknown constant.
    pub forward_ms: Option<u32>,
    /// The times of the first and the last segment that it covers, and of those that it SACKs, where they went once.
    pub first_rtt: Option<Duration>,
    pub newest_rtt: Option<Duration>,
    pub sack_rtt: Option<Duration>,
    pub newest_sack_rtt: Option<Duration>,
    pub newest: Option<NewestDelivered>,
}

impl AckOutcome {
    /// The record was delivered: the newest one gives the delivery rate.
    pub fn update_rate_sample(&mut self, sent: &TxRecord) {
        if self.newest.is_none_or(|newest| (sent.delivered.wrapping_sub(newest.stamp.delivered) as i32) >= 0) {
            self.newest = Some(NewestDelivered::of(sent));
        }
    }
}

impl NewestDelivered {
    #[inline(always)]
    pub fn of(sent: &TxRecord) -> NewestDelivered {
        let stamp = RateStamp {
            delivered: sent.delivered,
            delivered_at: sent.delivered_at,
            first_sent_at: sent.first_sent_at,
            in_flight: sent.in_flight,
            lost: sent.lost,
            app_limited: sent.is_app_limited(),
        };
        NewestDelivered { stamp, sent_at: sent.sent_at }
    }
}
