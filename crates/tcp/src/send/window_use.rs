//! Detects whether the congestion window limits the sender (RFC 7661 as in Linux), and measures an underused window
//! (RFC 2861).

use lopsided_core::{Duration, Time};

/// The use of the congestion window in the last round trip.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    /// True if the congestion window ended a burst in the last round trip (`is_cwnd_limited`).
    cwnd_limited: bool,
    /// Largest number of outstanding bytes in the last round trip (`max_packets_out`).
    most_out: u64,
    /// Offset whose acknowledgement ends the round trip.
    round_end: u64,
    /// Largest number of outstanding bytes since the window was last full or was last reduced for being unused.
    most_used: u64,
    /// Time at which the window was last full or last reduced.
    used_since: Time,
    /// True if new data was sent since the end of the last burst.
    sent: bool,
    /// True if a loss timer began the burst.
    by_timer: bool,
}

impl WindowUse {
    /// Records new data.
    #[inline]
    pub fn on_sent(&mut self) {
        self.sent = true;
    }

    /// Records the start of a burst. `by_timer` is true if a loss timer begins the burst, and false if an ACK or a write
    /// begins it.
    #[inline]
    pub fn begin_burst(&mut self, by_timer: bool) {
        self.by_timer = by_timer;
    }

    /// Records the end of a burst (Linux's tcp_cwnd_validate). `blocked_by_cwnd` is true if the congestion window may
    /// have ended the burst, `left` if unsent data remains.
    ///
    /// Returns false and records nothing if no new data was sent, and if the window had space or a loss timer began the
    /// burst. Linux's loss timers only retransmit (tcp_retransmit_timer, tcp_rack_reo_timeout), and do not try to send
    /// new data (tcp_write_xmit).
    pub fn note(&mut self, blocked_by_cwnd: bool, left: bool, una: u64, nxt: u64) -> bool {
        let sent = std::mem::take(&mut self.sent);
        if !(sent || blocked_by_cwnd && left && !self.by_timer) {
            return false;
        }
        let out = nxt - una;
        // Start a new record at a new round trip or a full window, or if more bytes are outstanding than recorded.
        if una >= self.round_end || blocked_by_cwnd || (!self.cwnd_limited && out > self.most_out) {
            self.cwnd_limited = blocked_by_cwnd;
            self.most_out = out;
            self.round_end = nxt;
        }
        true
    }

    /// Returns the largest number of bytes in use since the window was last full or last reduced (RFC 2861); `None` if
    /// this was less than one RTO ago.
    pub fn unused_for(&mut self, now: Time, out: u64, rto: Duration) -> Option<u64> {
        self.most_used = self.most_used.max(out);
        (now.saturating_since(self.used_since) >= rto).then_some(self.most_used)
    }

    /// Restarts the period of one RTO after which an underused window shrinks.
    pub fn wait(&mut self, now: Time) {
        self.used_since = now;
    }

    /// Resets the record of the used bytes.
    pub fn forget_used(&mut self, now: Time) {
        self.most_used = 0;
        self.used_since = now;
    }

    /// True if the congestion window limited the sender in the last round trip.
    pub fn was_cwnd_limited(&self) -> bool {
        self.cwnd_limited
    }

    /// Largest number of outstanding bytes in the last round trip.
    pub fn most_out(&self) -> u64 {
        self.most_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7661 and Linux's tcp_cwnd_validate: the record lasts for a round trip, and a full window replaces it.
    #[test]
    fn the_record_of_a_round_trip_is_replaced_by_a_fuller_one() {
        let mut used = WindowUse::default();
        let mut note = |sent: bool, full, left, una, nxt| {
            if sent {
                used.on_sent();
            }
            (used.note(full, left, una, nxt), used.was_cwnd_limited(), used.most_out())
        };
        assert_eq!(note(true, false, true, 0, 1000), (true, false, 1000));
        assert_eq!(note(true, false, true, 0, 3000), (true, false, 3000), "more than before");
        assert_eq!(note(true, false, true, 500, 3200), (true, false, 3000), "less than before");
        assert_eq!(note(true, true, true, 600, 2600), (true, true, 2000), "a full window counts");
        assert_eq!(note(true, false, true, 700, 5700), (true, true, 2000), "it counts for the round trip");
        assert_eq!(note(true, false, true, 2600, 5700), (true, false, 3100), "the next round trip");
        // Without new data, only a full window that stops data is recorded.
        assert_eq!(note(false, false, true, 6000, 6100), (false, false, 3100));
        assert_eq!(note(false, true, false, 6000, 6100), (false, false, 3100));
        assert_eq!(note(false, true, true, 6000, 6100), (true, true, 100));
        // After a timeout, the window of one segment is full of a retransmission.
        let mut used = WindowUse::default();
        used.begin_burst(true);
        assert!(!used.note(true, true, 0, 1000) && !used.was_cwnd_limited());
        used.begin_burst(false);
        assert!(used.note(true, true, 0, 1000) && used.was_cwnd_limited());
    }

    /// RFC 2861 section 3.1.
    #[test]
    fn an_unused_window_is_reported_after_one_rto() {
        let (mut used, rto) = (WindowUse::default(), Duration::from_millis(300));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        used.forget_used(at(1000));
        assert_eq!(used.unused_for(at(1100), 5000, rto), None);
        assert_eq!(used.unused_for(at(1299), 3000, rto), None);
        assert_eq!(used.unused_for(at(1300), 3000, rto), Some(5000));
        used.wait(at(1400));
        assert_eq!((used.unused_for(at(1699), 0, rto), used.unused_for(at(1700), 0, rto)), (None, Some(5000)));
        used.forget_used(at(1700));
        assert_eq!(used.unused_for(at(2000), 100, rto), Some(100));
    }
}
