//! The periodic updates of a discipline without a timer: missed updates are replayed at its next call.

use lopsided_core::{Duration, Time};

/// When the updates are due.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    every: Duration,
    /// Until when they have been made.
    made: Time,
}

impl Updates {
    /// At most this many missed updates are replayed per call. After a longer pause the oldest are skipped.
    const MOST: u64 = 1 << 16;

    pub fn every(every: Duration) -> Updates {
        Updates { every, made: Time::ZERO }
    }

    /// The time of the next update that is due; it counts as made.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if now.saturating_since(self.made) < self.every {
            return None;
        }
        let missed = self.missed(now);
        if missed > Updates::MOST {
            self.made += self.every * (missed - Updates::MOST);
        }
        self.made += self.every;
        Some(self.made)
    }

    /// The due updates would change nothing: all but the last count as made.
    pub fn skip_to_last(&mut self, now: Time) {
        self.made += self.every * self.missed(now).saturating_sub(1);
    }

    fn missed(&self, now: Time) -> u64 {
        now.saturating_since(self.made).as_nanos() / self.every.as_nanos()
    }
}
