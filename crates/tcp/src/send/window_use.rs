//! Whether the congestion window limits the sender (RFC 7661 as in Linux), and how much of an unused window was used
//! (RFC 2861).

use lopsided_core::{Duration, Time};

/// How much of the window was used in the last round trip.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    cwnd_limited: bool,
    most_out: u64,
    round_end: u64,
    /// The most bytes outstanding since the window was last full or was reduced to its use.
    most_used: u64,
    used_since: Time,
    /// New data was sent since the end of the last burst.
    sent: bool,
}

impl WindowUse {
    /// Records new data.
    #[inline]
    pub fn on_sent(&mut self) {
        self.sent = true;
    }

    /// Records the end of a burst, with `una` to `nxt` outstanding; `blocked_by_cwnd`: the window may have ended it;
    /// `left`: more data waits. False if the burst says nothing: nothing was sent, and not for lack of window.
    pub fn note(&mut self, blocked_by_cwnd: bool, left: bool, una: u64, nxt: u64) -> bool {
        let sent = std::mem::take(&mut self.sent);
        if !(sent || blocked_by_cwnd && left) {
            return false;
        }
        let out = nxt - una;
        if una >= self.round_end || blocked_by_cwnd || (!self.cwnd_limited && out > self.most_out) {
            self.cwnd_limited = blocked_by_cwnd;
            self.most_out = out;
            self.round_end = nxt;
        }
        true
    }

    /// RFC 2861: the most that was used of a window that was not full for an RTO.
    pub fn unused_for(&mut self, now: Time, out: u64, rto: Duration) -> Option<u64> {
        self.most_used = self.most_used.max(out);
        (now.saturating_since(self.used_since) >= rto).then_some(self.most_used)
    }

    /// Restarts the RTO that must pass before the window shrinks.
    pub fn wait(&mut self, now: Time) {
        self.used_since = now;
    }

    /// Restarts the record of what is used.
    pub fn forget_used(&mut self, now: Time) {
        self.most_used = 0;
        self.used_since = now;
    }

    /// True if the window was used up at some time in the last round trip.
    pub fn was_cwnd_limited(&self) -> bool {
        self.cwnd_limited
    }

    /// The most bytes outstanding in the last round trip.
    pub fn most_out(&self) -> u64 {
        self.most_out
    }
}
