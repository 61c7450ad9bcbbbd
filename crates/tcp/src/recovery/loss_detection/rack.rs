//! Loss detection by time (RACK, RFC 8985 section 6): a segment is lost if a segment sent later was delivered and
//! enough time has passed.

use crate::send::TxRecord;
use lopsided_core::{Duration, Time};

/// The largest reordering window, in quarters of the minimum RTT.
const STEPS_MAX: u64 = 255;
/// Number of recoveries that a widened window lasts (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u32 = 16;

/// The state of RACK: the delivered segment that was sent last, and the expected reordering.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    newest: Option<Newest>,
    /// RTT of the newest delivered segment (RACK.rtt).
    rtt: Duration,
    /// Number of ACKs that reported segments delivered out of order.
    reordered: u32,
    /// Reordering window in quarters of the minimum RTT; 0 counts as 1.
    steps: u64,
    /// Number of recoveries that the widened window still lasts.
    wide_for: u32,
    /// Highest offset sent when the window was last widened.
    widened_at: u64,
}

/// A delivered segment, ordered by the time of sending and then by offset (RACK.xmit_ts and RACK.end_seq).
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
            // The ACK came too soon for the retransmission, so the original arrived.
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

    /// Records the end of a recovery without a DSACK. After 16 such recoveries the window returns to normal.
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

    /// The reordering window in quarters of the minimum RTT.
    pub fn window_quarters(&self) -> u64 {
        self.steps.max(1)
    }

    /// True if the segment was sent within the last RTT.
    pub fn is_recent(&self, now: Time, sent_at: Time) -> bool {
        self.time_left(now, sent_at, Duration::ZERO).is_some()
    }

    /// The time that a segment sent at `sent_at` may still take with this reordering window; `None` if it is overdue.
    pub fn time_left(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let allowed = self.rtt + window;
        let waited = now.saturating_since(sent_at);
        (waited < allowed).then(|| allowed - waited)
    }
}
