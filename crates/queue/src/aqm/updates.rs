//! The periodic updates of a discipline without a timer. Missed updates are replayed at the next call.

use lopsided_core::{Duration, Time};

/// The times of the updates.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    every: Duration,
    /// Time up to which updates have been made.
    made: Time,
}

impl Updates {
    /// At most this many missed updates are replayed per call. After a longer pause the oldest are skipped.
    const MOST: u64 = 1 << 16;

    /// Creates updates at this interval, starting at time zero.
    pub fn every(every: Duration) -> Updates {
        Updates { every, made: Time::ZERO }
    }

    /// Returns the time of the next update that is due, and counts it as made.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if now.saturating_since(self.made) < self.every {
            return None;
        }
        let missed = self.missed(now);
        // The memory of a controller is short, so the oldest updates after a long pause do not matter.
        if missed > Updates::MOST {
            self.made += self.every * (missed - Updates::MOST);
        }
        self.made += self.every;
        Some(self.made)
    }

    /// Counts all due updates except the last as made. Call if they would change nothing.
    pub fn skip_to_last(&mut self, now: Time) {
        // The last update stays due, so that the state has the time of the newest one.
        self.made += self.every * self.missed(now).saturating_sub(1);
    }

    /// Returns the number of updates that are due.
    fn missed(&self, now: Time) -> u64 {
        now.saturating_since(self.made).as_nanos() / self.every.as_nanos()
    }
}
