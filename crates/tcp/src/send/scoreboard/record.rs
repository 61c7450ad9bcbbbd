//! The record of a transmitted segment: its offsets, its send time and its state.

use crate::send::rate_sample::RateStamp;
use lopsided_core::Time;

/// One transmitted segment, `[start, end)` in stream offsets.
///
/// Records are small, because a simulation of a large network stores a million records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TxRecord {
    /// The start offset, shifted left by 8 bits ([`ONE_OCTET`]), with the state flags in the low bits.
    start_and_state: u64,
    /// Time of the latest transmission.
    pub sent_at: Time,
    /// Bytes delivered before the segment was last sent, modulo 2^32.
    delivered: u32,
    /// Number of bytes.
    len: u16,
    /// Bytes that the segment uses in the congestion window in addition to its length (see [`super::resegment`]).
    pub(super) pad: u16,
}

/// Unit of the offset in `start_and_state`. The lowest 8 bits are the state.
const ONE_OCTET: u64 = 1 << 8;
/// The segment is SACKed.
pub(super) const SACKED: u8 = 1;
/// The segment is marked lost.
pub(super) const LOST: u8 = 2;
/// A retransmission of the segment is outstanding.
pub(super) const RETRANS: u8 = 4;
/// The segment was sent more than once.
pub(super) const EVER_RETRANS: u8 = 8;
/// The application had no more data when the segment was last sent.
pub(super) const APP_LIMITED: u8 = 16;
/// An undo has removed the loss mark while a retransmission was outstanding.
pub(super) const UNDONE: u8 = 32;
/// A retransmission is outstanding, but RACK does not check it.
pub(super) const UNTIMED: u8 = 64;
/// The state bits that change after the first transmission.
pub(super) const FATE: u8 = SACKED | LOST | RETRANS | EVER_RETRANS;

impl TxRecord {
    /// Creates the record of a new segment.
    ///
    /// # Panics
    ///
    /// Panics if the segment is longer than the largest IP packet.
    #[inline]
    pub(super) fn new(start: u64, end: u64, pad: u16, now: Time, stamp: &RateStamp) -> TxRecord {
        let len = u16::try_from(end - start).expect("a segment fits an IP packet");
        let mut sent = TxRecord { start_and_state: start * ONE_OCTET, sent_at: now, delivered: 0, len, pad };
        sent.set_stamp(stamp);
        sent
    }

    /// Records a transmission of the segment. [`RatePart`] contains the rest of the segment's delivery-rate stamp.
    #[inline]
    pub(super) fn set_stamp(&mut self, stamp: &RateStamp) {
        self.delivered = stamp.delivered;
        let app_limited = if stamp.app_limited { APP_LIMITED } else { 0 };
        self.set_state((self.state() & FATE) | app_limited);
    }

    #[inline]
    pub fn start(&self) -> u64 {
        self.start_and_state / ONE_OCTET
    }

    #[inline]
    pub fn end(&self) -> u64 {
        self.start() + u64::from(self.len)
    }

    #[inline]
    pub fn len(&self) -> u64 {
        u64::from(self.len)
    }

    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.state() & APP_LIMITED != 0
    }

    #[inline]
    pub(super) fn state(&self) -> u8 {
        self.start_and_state as u8
    }

    #[inline]
    pub(super) fn set_state(&mut self, state: u8) {
        self.start_and_state = (self.start_and_state & !(ONE_OCTET - 1)) | u64::from(state);
    }

    /// Removes the bytes before `start`.
    pub(super) fn cut_before(&mut self, start: u64) {
        self.len = (self.end() - start) as u16;
        self.start_and_state = (start * ONE_OCTET) | u64::from(self.state());
    }

    /// Returns a record for the part `[start, end)` of the segment.
    pub(super) fn piece(&self, start: u64, end: u64, pad: u16) -> TxRecord {
        let mut piece = TxRecord { pad, ..*self };
        piece.cut_before(start);
        piece.len = (end - start) as u16;
        piece
    }

    /// Number of bytes of the congestion window that the segment uses: its length plus its padding.
    pub fn weight(&self) -> u64 {
        self.len() + u64::from(self.pad)
    }

    pub fn is_sacked(&self) -> bool {
        self.state() & SACKED != 0
    }

    pub fn is_lost(&self) -> bool {
        self.state() & LOST != 0
    }

    /// True if the segment is marked lost and was not retransmitted since.
    pub(super) fn is_retransmit_pending(&self) -> bool {
        self.state() & (LOST | RETRANS) == LOST
    }

    pub fn is_retransmitted(&self) -> bool {
        self.state() & RETRANS != 0
    }

    /// True if a retransmission is outstanding, and its send time is in the list `retransmitted`.
    pub(super) fn is_timed(&self) -> bool {
        self.state() & (RETRANS | UNTIMED) == RETRANS
    }

    pub fn was_ever_retransmitted(&self) -> bool {
        self.state() & EVER_RETRANS != 0
    }
}

/// The part of a segment's [`RateStamp`] that only the delivery rate needs. Most controllers do not use the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RatePart {
    pub(super) delivered_at: Time,
    pub(super) first_sent_at: Time,
    pub(super) in_flight: u32,
    pub(super) lost: u32,
}

impl RatePart {
    pub(super) fn of(stamp: &RateStamp) -> RatePart {
        let RateStamp { delivered_at, first_sent_at, in_flight, lost, .. } = *stamp;
        RatePart { delivered_at, first_sent_at, in_flight, lost }
    }

    /// The stamp of the segment with this record.
    #[inline(always)]
    pub(super) fn stamp(self, sent: &TxRecord) -> RateStamp {
        let RatePart { delivered_at, first_sent_at, in_flight, lost } = self;
        let app_limited = sent.is_app_limited();
        RateStamp { delivered: sent.delivered, delivered_at, first_sent_at, in_flight, lost, app_limited }
    }
}
