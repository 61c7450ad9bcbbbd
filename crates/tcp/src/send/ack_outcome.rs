//! The input of ACK processing, and its result.

use super::rate_sample::{NewestDelivered, RateStamp};
use super::scoreboard::TxRecord;
use crate::ecn::AceFeedback;
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Duration, Seq};

/// The fields of an arriving segment that the send side reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckInfo<'a> {
    /// Sequence number of the segment.
    pub seq: Seq,
    /// Acknowledgement number of the segment.
    pub ack_number: Seq,
    /// The acknowledgement as a stream offset, between `una` and `nxt`.
    pub ack: u64,
    /// The peer's window in bytes, after scaling.
    pub window: u64,
    /// SACK blocks, the first possibly a DSACK.
    pub sack: &'a [SackBlock],
    /// The echoed timestamp (TSecr).
    pub echo: Option<u32>,
    /// One-way delay to the peer in ms, from its timestamp and the echo, plus an unknown constant.
    pub forward_ms: Option<u32>,
    /// True if the ACK has ECE (RFC 3168).
    pub ecn_echo: bool,
    /// The counters of accurate ECN, if negotiated.
    pub counts: Option<AceFeedback<'a>>,
    /// True if an ACK filter marked the ACK because the segment that it expects is lost.
    pub asks_retransmit: bool,
    /// True if the segment has data. Its ACK is then not a duplicate (RFC 5681 section 2).
    pub has_data: bool,
}

/// The effects of one ACK.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
    /// True if the cumulative acknowledgement advanced.
    pub una_advanced: bool,
    /// True if SACK reported new segments.
    pub sacked: bool,
    /// True for a duplicate ACK (RFC 5681 section 2).
    pub duplicate: bool,
    /// True if the ACK may have ended a reduction, so that it adds nothing to the window.
    pub ended_reduction: bool,
    /// The window before this ACK during a reduction.
    pub reduced_to: Option<Bytes>,
    /// True if the ACK offers a different window than the previous ACK.
    pub window_changed: bool,
    /// See [`Acked::predicted`](crate::cc::Acked::predicted).
    pub predicted: bool,
    /// True if [`Controller::on_arrival`](crate::cc::Controller::on_arrival) was called for this ACK.
    pub told: bool,
    /// Number of segments that the cumulative acknowledgement covers.
    pub segments: u32,
    /// True if the ACK delivered a segment that was sent only once.
    pub original_delivered: bool,
    /// Start of the lowest segment that was sent once and is delivered out of order.
    pub reordered_from: Option<u64>,
    /// True if the ACK has a DSACK that was accepted.
    pub dsack: bool,
    /// True if an ACK filter marked the ACK because the segment that it expects is lost.
    pub asks_retransmit: bool,
    /// True if the ACK reports a mark.
    pub ecn_echo: bool,
    /// Bytes newly reported as CE-marked, with accurate feedback.
    pub marked: u64,
    /// Bytes newly delivered, by acknowledgement or SACK.
    pub delivered: u64,
    /// Bytes newly acknowledged.
    pub cumulative: u64,
    /// True if the peer may have delayed the ACK: see [`Sender::note_delay`](super::sender::Sender::note_delay).
    pub maybe_delayed: bool,
    /// Bytes ever marked lost before this ACK.
    pub lost_before: u64,
    /// True if unsent data fits the peer's window.
    pub new_data_fits: bool,
    /// The timestamp that the peer echoed.
    pub echo: Option<u32>,
    /// One-way delay to the peer in ms, from its timestamp and the echo, plus an unknown constant.
    pub forward_ms: Option<u32>,
    /// RTT sample of the first acknowledged segment, if it was sent once.
    pub first_rtt: Option<Duration>,
    /// RTT sample of the last delivered segment, if it was sent once.
    pub newest_rtt: Option<Duration>,
    /// RTT sample of the first SACKed segment, if it was sent once.
    pub sack_rtt: Option<Duration>,
    /// RTT sample of the last SACKed segment, if it was sent once.
    pub newest_sack_rtt: Option<Duration>,
    /// The newest segment that the ACK delivered, for the delivery rate.
    pub newest: Option<NewestDelivered>,
}

impl AckOutcome {
    /// Records a delivered segment. The newest one gives the delivery-rate sample.
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
