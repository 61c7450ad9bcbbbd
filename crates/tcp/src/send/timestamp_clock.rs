//! The clock of the timestamps option, in milliseconds (RFC 7323 section 5.4 allows 1 ms to 1 s).

use lopsided_core::{Duration, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimestampClock {
    offset: u32,
}

impl TimestampClock {
    /// Creates a clock that shows `offset` at time zero.
    pub fn new(offset: u32) -> TimestampClock {
        TimestampClock { offset }
    }

    pub fn value(self, now: Time) -> u32 {
        self.offset.wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// Computes the RTT of a segment from the timestamp that the peer echoes. Returns at least 1 ms; `None` if the
    /// timestamp is in the future or more than 2^24 ms (4.7 hours) in the past.
    pub fn rtt_of_echo(self, now: Time, echo: u32) -> Option<Duration> {
        const HOURS: u32 = 1 << 24;
        let millis = self.value(now).wrapping_sub(echo);
        (millis < HOURS).then(|| Duration::from_millis(u64::from(millis.max(1))))
    }
}
