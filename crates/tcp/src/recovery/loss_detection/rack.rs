//! Loss detection by time (RACK, RFC 8985 section 6).

use crate::send::TxRecord;
use lopsided_core::{Duration, Time};

/// Maximum reordering window, in units of 1/4 of the minimum RTT.
const STEPS_MAX: u64 = 255;
/// Number of recoveries for which a widened window stays in force (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u32 = 16;

/// The state of RACK: the newest delivered segment, and the expected reordering.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    newest: Option<Newest>,
    /// RTT of the newest delivered segment (RACK.rtt).
    rtt: Duration,
    /// Number of ACKs that reported segments as delivered out of order.
    reordered: u32,
    /// Reordering window in units of 1/4 of the minimum RTT; 0 counts as 1.
    steps: u64,
    /// Number of further recoveries for which the widened window stays in force.
    wide_for: u32,
    /// Highest offset that had been sent when the window was last widened.
    widened_at: u64,
}

/// A delivered segment. Delivered segments are ordered by send time, then by offset (RACK.xmit_ts and RACK.end_seq).
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
            // The ACK arrived less than the minimum RTT after the retransmission, so it acknowledges the original
            // transmission.
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

    /// Records that a recovery ended without a DSACK. After 16 such recoveries, the reordering window returns to 1/4 of
    /// the minimum RTT.
    pub fn narrow(&mut self) {
        self.wide_for = self.wide_for.saturating_sub(1);
        if self.wide_for == 0 {
            self.steps = 1;
        }
    }

    /// Records an ACK that reports segments as delivered out of order.
    pub fn note_reordering(&mut self) {
        self.reordered += 1;
    }

    /// The delivered segment with the latest send time; `None` before the first delivery.
    pub fn newest(&self) -> Option<Newest> {
        self.newest
    }

    /// True if a segment was ever delivered out of order.
    pub fn reordering_seen(&self) -> bool {
        self.reordered > 0
    }

    /// Number of ACKs that reported segments as delivered out of order.
    pub fn reordered(&self) -> u32 {
        self.reordered
    }

    /// The reordering window, in units of 1/4 of the minimum RTT.
    pub fn window_quarters(&self) -> u64 {
        self.steps.max(1)
    }

    /// True if the segment was sent within the last RTT.
    pub fn is_recent(&self, now: Time, sent_at: Time) -> bool {
        self.time_left(now, sent_at, Duration::ZERO).is_some()
    }

    /// Returns the time until a segment sent at `sent_at` counts as lost; `None` if this time has passed.
    pub fn time_left(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let allowed = self.rtt + window;
        let waited = now.saturating_since(sent_at);
        (waited < allowed).then(|| allowed - waited)
    }
}
