//! Whether the congestion window is what holds a sender back (RFC 7661, as Linux has it), and what was used of one that
//! was not for an RTO (RFC 2861).

use lopsided_core::{Duration, Time};

/// What was used of the window in the last round trip.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    cwnd_limited: bool,
    most_out: u64,
    round_end: u64,
    /// The most octets that were out since the window was last full, or came down to what was used.
    most_used: u64,
    used_since: Time,
    /// New data went out since the end of the last burst.
    sent: bool,
}

impl WindowUse {
    /// New data goes out.
    #[inline]
    pub fn on_sent(&mut self) {
        self.sent = true;
    }

    /// A burst has ended, with what is between `una` and `nxt` out; the window may be what ended it, with more `left` to
    /// send. False if it says nothing: nothing went out, and not for want of window.
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

    /// As [`WindowUse::note`] has it, for what RFC 2861 looks at: what was used of a window that is not full, once it was
    /// not for an RTO.
    pub fn unused_for(&mut self, now: Time, out: u64, rto: Duration) -> Option<u64> {
        self.most_used = self.most_used.max(out);
        (now.saturating_since(self.used_since) >= rto).then_some(self.most_used)
    }

    /// Another RTO is to pass before the window comes down.
    pub fn wait(&mut self, now: Time) {
        self.used_since = now;
    }

    /// What is used is looked at anew from now on.
    pub fn forget_used(&mut self, now: Time) {
        self.most_used = 0;
        self.used_since = now;
    }

    /// The window was used up at some time in the last round trip.
    pub fn was_cwnd_limited(&self) -> bool {
        self.cwnd_limited
    }

    /// The most octets that were out in the last round trip.
    pub fn most_out(&self) -> u64 {
        self.most_out
    }
}
