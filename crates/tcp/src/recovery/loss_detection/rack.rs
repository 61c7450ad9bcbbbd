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
    /// Time at which the window was last widened.
    widened_at: Time,
    /// True if a DSACK arrived that may widen the window (Linux's `dsack_seen`).
    dsack_seen: bool,
    /// True if the current ACK delivered a segment that was sent after the window was last widened; `None` if it
    /// delivered no segment. Used only if `dsack_seen` is true.
    round_over: Option<bool>,
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

    /// Records a DSACK. It widens the window only if reordering was detected before.
    pub fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordered > 0;
    }

    /// Records the send time of a delivered segment.
    #[inline]
    pub fn note_sample(&mut self, sent_at: Time) {
        if self.dsack_seen {
            let over = self.round_over.unwrap_or(false) || sent_at >= self.widened_at;
            self.round_over = Some(over);
        }
    }

    /// Step 4: widens the window after a DSACK, at most once per round trip (tcp_rack_update_reo_wnd). The round trip
    /// ends when a segment is delivered that was sent after the window was widened. Call at the end of each ACK.
    #[inline]
    pub fn update_window(&mut self, now: Time) {
        let Some(over) = self.round_over.take() else { return };
        self.dsack_seen = false;
        if over {
            self.steps = (self.steps.max(1) + 1).min(STEPS_MAX);
            self.wide_for = WIDE_FOR;
            self.widened_at = now;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsack_widens_the_window_after_reordering_and_once_per_round_trip() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut rack = Rack::default();
        let mut quarters_after = |now, dsack, sent: Option<u64>, reordered| {
            if reordered {
                rack.note_reordering();
            }
            if dsack {
                rack.on_dsack();
            }
            if let Some(ms) = sent {
                rack.note_sample(at(ms));
            }
            rack.update_window(at(now));
            rack.window_quarters()
        };
        assert_eq!(quarters_after(100, true, Some(50), false), 1, "no reordering was detected");
        assert_eq!(quarters_after(110, true, Some(50), true), 2);
        assert_eq!(quarters_after(120, true, Some(60), false), 2, "the segment was sent before the window grew");
        assert_eq!(quarters_after(130, true, None, false), 2, "nothing was delivered");
        assert_eq!(quarters_after(160, false, Some(110), false), 3, "the DSACK before this ACK counts");
        assert_eq!(quarters_after(170, false, Some(165), false), 3, "no DSACK");
    }
}
