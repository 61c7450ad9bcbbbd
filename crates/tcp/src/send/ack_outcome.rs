//! The input of ACK processing, and its result.

use super::rate_sample::{NewestDelivered, RateStamp};
use crate::ecn::AceFeedback;
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Duration, Seq, Time};

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
    /// The SACK blocks. The first block may be a DSACK.
    pub sack: &'a [SackBlock],
    /// The echoed timestamp (TSecr).
    pub echo: Option<u32>,
    /// One-way delay to the peer in ms, plus an unknown constant: the peer's timestamp minus the echoed timestamp.
    pub forward_ms: Option<u32>,
    /// True if the ACK carries ECE (RFC 3168).
    pub ecn_echo: bool,
    /// The counters of accurate ECN; `None` if not negotiated.
    pub counts: Option<AceFeedback<'a>>,
    /// True if an ACK filter in the network has marked the ACK to report that the next segment was lost.
    pub asks_retransmit: bool,
    /// True if the segment carries data. The ACK then does not count as a duplicate (RFC 5681 section 2).
    pub has_data: bool,
}

/// The effects of one ACK.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
    /// True if the cumulative acknowledgement advanced.
    pub una_advanced: bool,
    /// True if SACK blocks reported segments as received for the first time.
    pub sacked: bool,
    /// True for a duplicate ACK (RFC 5681 section 2).
    pub duplicate: bool,
    /// True if the ACK may have ended a reduction. The window then does not grow with the bytes of this ACK.
    pub ended_reduction: bool,
    /// Congestion window before this ACK, if a reduction was under way; otherwise `None`.
    pub reduced_to: Option<Bytes>,
    /// True if the ACK advertises a different window than the previous ACK.
    pub window_changed: bool,
    /// See [`Acked::predicted`](crate::cc::Acked::predicted).
    pub predicted: bool,
    /// True if [`Controller::on_arrival`](crate::cc::Controller::on_arrival) was called for this ACK.
    pub told: bool,
    /// Number of segments that the cumulative acknowledgement covers.
    pub segments: u32,
    /// True if the ACK delivered a segment that was sent only once.
    pub original_delivered: bool,
    /// Start of the lowest segment that was sent only once and delivered out of order; `None` if there is no such
    /// segment.
    pub reordered_from: Option<u64>,
    /// True if the ACK carries a DSACK block that was accepted.
    pub dsack: bool,
    /// True if an ACK filter in the network has marked the ACK to report that the next segment was lost.
    pub asks_retransmit: bool,
    /// True if the ACK reports a CE mark.
    pub ecn_echo: bool,
    /// Bytes newly reported as CE-marked; 0 without accurate feedback.
    pub marked: u64,
    /// Bytes newly delivered, by acknowledgement or SACK.
    pub delivered: u64,
    /// Bytes newly acknowledged.
    pub cumulative: u64,
    /// True if the peer may have delayed the ACK: see [`Sender::note_delay`](super::sender::Sender::note_delay).
    pub maybe_delayed: bool,
    /// Total number of bytes marked lost before this ACK.
    pub lost_before: u64,
    /// True if unsent data exists and fits the peer's window.
    pub new_data_fits: bool,
    /// The timestamp that the peer echoed.
    pub echo: Option<u32>,
    /// One-way delay to the peer in ms, plus an unknown constant: the peer's timestamp minus the echoed timestamp.
    pub forward_ms: Option<u32>,
    /// RTT of the first segment that the ACK covers; `None` if that segment was retransmitted.
    pub first_rtt: Option<Duration>,
    /// RTT of the last segment that the ACK covers; `None` if that segment was retransmitted.
    pub newest_rtt: Option<Duration>,
    /// RTT of the last segment that the ACK covers; `None` if that segment was retransmitted. Unlike `newest_rtt`, this
    /// value exists if the ACK covers retransmissions of earlier segments. Set only with [`RtoRule::Ticks`].
    pub last_once_rtt: Option<Duration>,
    /// Shortest time since the last transmission of a segment that the ACK covers. Set only with [`RtoRule::Ticks`].
    pub shortest_rtt: Option<Duration>,
    /// RTT of the first newly SACKed segment that was sent only once.
    pub sack_rtt: Option<Duration>,
    /// RTT of the last newly SACKed segment that was sent only once.
    pub newest_sack_rtt: Option<Duration>,
    /// The newest segment that the ACK delivered. The delivery-rate sample is computed from this segment.
    pub newest: Option<NewestDelivered>,
}

impl AckOutcome {
    /// Records a delivered segment. The delivery-rate sample is computed from the newest delivered segment.
    pub fn update_rate_sample(&mut self, sent_at: Time, stamp: RateStamp) {
        if self.newest.is_none_or(|newest| (stamp.delivered.wrapping_sub(newest.stamp.delivered) as i32) >= 0) {
            self.newest = Some(NewestDelivered { stamp, sent_at });
        }
    }
}
