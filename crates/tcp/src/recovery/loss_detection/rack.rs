//! Loss detection by time (RACK, RFC 8985 section 6): a segment is lost when another that was sent later has arrived
//! long enough ago.

use crate::recovery::CaState;
use crate::send::{Sender, TxRecord};
use crate::timers::{Deadline, LossTimer, TIMER_MARGIN};
use lopsided_core::{Duration, Time};

/// The longest reordering window, in quarters of the smallest RTT.
const STEPS_MAX: u64 = 255;
/// Recoveries for which a widened window stays (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u32 = 16;

/// The most recently sent segment that was delivered, and how much reordering to expect.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    newest: Option<(Time, u64)>,
    rtt: Duration,
    pub reordering_seen: bool,
    steps: u64,
    wide_for: u32,
    widened_at: u64,
}

impl Rack {
    /// Step 2: a segment was delivered.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, sent: &TxRecord, min_rtt: Option<Duration>) {
        let rtt = now.saturating_since(sent.sent_at);
        if sent.was_ever_retransmitted() && min_rtt.is_some_and(|min| rtt < min) {
            // Too soon for the retransmission: this is the original's arrival.
            return;
        }
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| newest < (sent.sent_at, sent.end)) {
            self.newest = Some((sent.sent_at, sent.end));
        }
    }

    /// Step 4: a DSACK says that a retransmission was not needed. At most once a round trip.
    pub fn widen_for_reordering(&mut self, nxt: u64, una: u64) {
        if una >= self.widened_at {
            self.steps = (self.steps.max(1) + 1).min(STEPS_MAX);
            self.wide_for = WIDE_FOR;
            self.widened_at = nxt;
        }
    }

    /// A recovery ended without a DSACK: back to the usual window in time.
    pub fn narrow(&mut self) {
        self.wide_for = self.wide_for.saturating_sub(1);
        if self.wide_for == 0 {
            self.steps = 1;
        }
    }

    /// How long a segment sent at `sent_at` may still take, given the reordering window; `None` if it is overdue.
    pub fn time_left(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let allowed = self.rtt + window;
        let waited = now.saturating_since(sent_at);
        (waited < allowed).then(|| allowed - waited)
    }
}

impl Sender {
    /// Steps 4 and 5. True if the reordering timer was set.
    pub(crate) fn detect_loss_by_time(&mut self, now: Time) -> bool {
        let Some((sent_at, end)) = self.rack.newest else { return false };
        let window = self.reordering_window();
        let Sender { scoreboard, rack, .. } = self;
        let wait = scoreboard.mark_lost_by_time(sent_at, end, |sent_at| rack.time_left(now, sent_at, window));
        let Some(wait) = wait else { return false };
        let after = (wait + TIMER_MARGIN).min(self.rtt.rto());
        self.deadline = Deadline { at: self.profile.grain.deadline(now, after), kind: LossTimer::Reorder };
        true
    }

    fn reordering_window(&self) -> Duration {
        if !self.rack.reordering_seen {
            // As quick as three duplicates would be, once there are three or recovery has begun.
            let enough = self.scoreboard.sacked_segments() >= self.profile.dup_threshold;
            if self.ca_state >= CaState::Recovery || enough {
                return Duration::ZERO;
            }
        }
        let quarter = self.rtt.min_rtt().unwrap_or(Duration::ZERO) / 4;
        (quarter * self.rack.steps.max(1)).min(self.rtt.srtt().unwrap_or(Duration::ZERO))
    }
}
