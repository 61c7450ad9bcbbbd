//! Loss detection by time (RACK, RFC 8985 section 6): a segment is lost when another that was sent later has arrived
//! long enough ago.

use crate::send::TxRecord;
use lopsided_core::{Duration, Time};

/// The longest reordering window, in quarters of the smallest RTT.
const STEPS_MAX: u64 = 255;
/// Recoveries for which a widened window stays (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u32 = 16;

/// The most recently sent segment that was delivered, and how much reordering to expect.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    newest: Option<Newest>,
    rtt: Duration,
    /// ACKs that told of segments delivered behind others that were sent later.
    reordered: u32,
    steps: u64,
    wide_for: u32,
    widened_at: u64,
}

/// The segment sent last of those delivered, by its time and then its place (RACK.xmit_ts and RACK.end_seq).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Newest {
    pub sent_at: Time,
    pub end: u64,
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
        let candidate = Newest { sent_at: sent.sent_at, end: sent.end() };
        if self.newest.is_none_or(|newest| newest < candidate) {
            self.newest = Some(candidate);
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

    /// An ACK told of segments that were delivered out of order.
    pub fn note_reordering(&mut self) {
        self.reordered += 1;
    }

    /// The segment sent last of those delivered.
    pub fn newest(&self) -> Option<Newest> {
        self.newest
    }

    /// Whether segments were ever delivered out of order.
    pub fn reordering_seen(&self) -> bool {
        self.reordered > 0
    }

    /// ACKs that told of it.
    pub fn reordered(&self) -> u32 {
        self.reordered
    }

    /// The reordering window in quarters of the smallest RTT.
    pub fn window_quarters(&self) -> u64 {
        self.steps.max(1)
    }

    /// Sent within the last RTT.
    pub fn is_recent(&self, now: Time, sent_at: Time) -> bool {
        self.time_left(now, sent_at, Duration::ZERO).is_some()
    }

    /// How long a segment sent at `sent_at` may still take, given the reordering window; `None` if it is overdue.
    pub fn time_left(&self, now: Time, sent_at: Time, window: Duration) -> Option<Duration> {
        let allowed = self.rtt + window;
        let waited = now.saturating_since(sent_at);
        (waited < allowed).then(|| allowed - waited)
    }
}
