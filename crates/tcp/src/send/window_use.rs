//! Detects whether the congestion window limits the sender (RFC 7661 as in Linux), and how much of an unused window was
//! used (RFC 2861).

use lopsided_core::{Duration, Time};

/// The use of the congestion window in the last round trip.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    /// True if the congestion window ended a burst in the last round trip (`is_cwnd_limited`).
    cwnd_limited: bool,
    /// The most bytes outstanding in the last round trip (`max_packets_out`).
    most_out: u64,
    /// Offset whose acknowledgement ends the round trip.
    round_end: u64,
    /// The most bytes outstanding since the window was last full, or was last reduced for lack of use.
    most_used: u64,
    /// Time at which the window was last full or reduced.
    used_since: Time,
    /// True if new data was sent since the end of the last burst.
    sent: bool,
}

impl WindowUse {
    /// Records new data.
    #[inline]
    pub fn on_sent(&mut self) {
        self.sent = true;
    }

    /// Records the end of a burst (Linux's tcp_cwnd_validate). The bytes from `una` to `nxt` are outstanding.
    /// `blocked_by_cwnd` is true if the congestion window may have ended the burst, `left` if more data waits.
    ///
    /// Returns false, and records nothing, if the burst sent no new data although the congestion window was open.
    pub fn note(&mut self, blocked_by_cwnd: bool, left: bool, una: u64, nxt: u64) -> bool {
        let sent = std::mem::take(&mut self.sent);
        if !(sent || blocked_by_cwnd && left) {
            return false;
        }
        let out = nxt - una;
        // A new round trip, a full window, or a higher use replaces the record.
        if una >= self.round_end || blocked_by_cwnd || (!self.cwnd_limited && out > self.most_out) {
            self.cwnd_limited = blocked_by_cwnd;
            self.most_out = out;
            self.round_end = nxt;
        }
        true
    }

    /// RFC 2861: the most bytes that were used of a window that was not full for an RTO; `None` if the RTO has not
    /// passed.
    pub fn unused_for(&mut self, now: Time, out: u64, rto: Duration) -> Option<u64> {
        self.most_used = self.most_used.max(out);
        (now.saturating_since(self.used_since) >= rto).then_some(self.most_used)
    }

    /// Restarts the RTO after which the window shrinks.
    pub fn wait(&mut self, now: Time) {
        self.used_since = now;
    }

    /// Restarts the record of the used bytes.
    pub fn forget_used(&mut self, now: Time) {
        self.most_used = 0;
        self.used_since = now;
    }

    /// True if the congestion window limited the sender in the last round trip.
    pub fn was_cwnd_limited(&self) -> bool {
        self.cwnd_limited
    }

    /// The most bytes outstanding in the last round trip.
    pub fn most_out(&self) -> u64 {
        self.most_out
    }
}
