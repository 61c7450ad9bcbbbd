//! The content of an acknowledgement, and its effect.

use super::rate_sample::{NewestDelivered, RateStamp};
use super::scoreboard::TxRecord;
use crate::ecn::AceFeedback;
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Duration, Seq};

/// The fields of an arriving segment that the send side reads.
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
    /// The counters of accurate ECN.
    pub counts: Option<AceFeedback<'a>>,
    /// A filter marked the ACK: the segment that it asks for is lost.
    pub asks_retransmit: bool,
    pub has_data: bool,
}

/// The effect of one ACK.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
    pub una_advanced: bool,
    pub sacked: bool,
    pub duplicate: bool,
    /// The ACK ended a reduction: it adds nothing to the window.
    pub ended_reduction: bool,
    /// The window before this ACK, if a reduction is under way.
    pub reduced_to: Option<Bytes>,
    /// The ACK offers another window than the ACK before.
    pub window_changed: bool,
    /// See [`Acked::predicted`](crate::cc::Acked::predicted).
    pub predicted: bool,
    /// [`Controller::on_arrival`](crate::cc::Controller::on_arrival) was called for this ACK.
    pub told: bool,
    /// Number of segments that the ACK covers.
    pub segments: u32,
    /// A segment that was sent only once was delivered.
    pub original_delivered: bool,
    /// Start of the lowest segment that was sent once and delivered out of order.
    pub reordered_from: Option<u64>,
    pub dsack: bool,
    pub asks_retransmit: bool,
    pub ecn_echo: bool,
    /// Bytes newly reported as CE-marked, with accurate feedback.
    pub marked: u64,
    pub delivered: u64,
    pub cumulative: u64,
    /// The peer may have delayed the ACK: see [`Sender::note_delay`](super::sender::Sender::note_delay).
    pub maybe_delayed: bool,
    pub lost_before: u64,
    /// There is new data that fits the peer's window.
    pub new_data_fits: bool,
    /// The timestamp that the peer echoed.
    pub echo: Option<u32>,
    /// One-way delay to the peer from its timestamp and the echo, plus an unknown constant.
    pub forward_ms: Option<u32>,
    /// RTT samples of the first and the last covered segment, and of the first and last SACKed one, if sent once.
    pub first_rtt: Option<Duration>,
    pub newest_rtt: Option<Duration>,
    pub sack_rtt: Option<Duration>,
    pub newest_sack_rtt: Option<Duration>,
    pub newest: Option<NewestDelivered>,
}

impl AckOutcome {
    /// Records a delivered segment: the newest one gives the delivery-rate sample.
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
