//! Whether the congestion window is what holds a sender back (RFC 7661, as Linux has it).

/// What was used of the window in the last round trip.
#[derive(Debug, Default)]
pub(crate) struct WindowUse {
    cwnd_limited: bool,
    most_out: u64,
    round_end: u64,
}

impl WindowUse {
    /// A burst has ended, with `out` octets out between `una` and `nxt`; the window may be what ended it.
    pub fn note(&mut self, blocked_by_cwnd: bool, una: u64, nxt: u64) {
        let out = nxt - una;
        if una >= self.round_end || blocked_by_cwnd || (!self.cwnd_limited && out > self.most_out) {
            self.cwnd_limited = blocked_by_cwnd;
            self.most_out = out;
            self.round_end = nxt;
        }
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
