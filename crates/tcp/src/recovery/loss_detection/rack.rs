//! Loss detection by time (RACK, RFC 8985 section 6): a segment is lost if a segment sent later was delivered and
//! enough time has passed.

use crate::send::TxRecord;
use lopsided_core::{Duration, Time};

/// The largest reordering window, in 1/4 of the minimum RTT.
const STEPS_MAX: u64 = 255;
/// Number of recoveries that a widened window lasts (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u32 = 16;

/// The delivered segment that was sent last, and the expected reordering.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    newest: Option<Newest>,
    rtt: Duration,
    /// Number of ACKs that reported segments delivered out of order.
    reordered: u32,
    steps: u64,
    wide_for: u32,
    widened_at: u64,
}

/// The delivered segment that was sent last, by time and then by offset (RACK.xmit_ts and RACK.end_seq).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Newest {
    pub sent_at: Time,
    pub end: u64,
}

impl Rack {
    /// Step 2: records a delivered segment.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, sent: &TxRecord, min_rtt: Option<Duration>) {
        let rtt = now.saturating_since(sent.sent_at);
        if sent.was_ever_retransmitted() && min_rtt.is_some_and(|min| rtt < min) {
            // Too soon for the retransmission: the original arrived.
            return;
        }
        self.rtt = rtt;
        let candidate = Newest { sent_at: sent.sent_at, end: sent.end() };
        if self.newest.is_none_or(|newest| newest < candidate) {
            self.newest = Some(candidate);
        }
    }

    /// Step 4: widens the window after a DSACK, at most once per round trip.
    pub fn widen_for_reordering(&mut self, nxt: u64, una: u64) {
        if una >= self.widened_at {
            self.steps = (self.steps.max(1) + 1).min(STEPS_MAX);
            self.wide_for = WIDE_FOR;
            self.widened_at = nxt;
        }
    }

    /// A recovery ended without a DSACK: the window returns to normal after some recoveries.
    pub fn narrow(&mut self) {
        self.wide_for = self.wide_for.saturating_sub(1);
        if self.wide_for == 0 {
            self.steps = 1;
        }
    }

    /// Records an ACK that reports segments delivered out of order.
    pub fn note_reordering(&mut self) {
        self.reordered += 1;
    }

    /// The delivered segment that was sent last.
    pub fn newest(&self) -> Option<Newest> {
        self.newest
    }

    /// True if segments were ever delivered out of order.
    pub fn reordering_seen(&self) -> bool {
        self.reordered > 0
    }

    /// Number of ACKs that reported segments delivered out of order.
    pub fn reordered(&self) -> u32 {
        self.reordered
    }

    /// The reordering window in 1/4 of the minimum RTT.
    pub fn window_quarters(&self) -> u64 {
        self.steps.max(1)
    }

    /// True if the segment was sent within the last RTT.
    pub fn is_recent(&self, now: Time, sent_at: Time) -> bool {
        self.time_left(now, sent_at, Duration::ZERO).is_some()
    }

    /// The time left for a segment sent at `sent_at`, given the reordering window; `None` if it is overdue.
    pub fn time_left(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let allowed = self.rtt + window;
        let waited = now.saturating_since(sent_at);
        (waited < allowed).then(|| allowed - waited)
    }
}
