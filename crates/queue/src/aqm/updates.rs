//! Schedule of an AQM's periodic probability updates. There is no timer: missed updates are replayed at the next call.

use lopsided_core::{Duration, Time};

/// The interval of the updates, and the time of the last one.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    every: Duration,
    /// Time of the last update that was made or skipped.
    made: Time,
}

impl Updates {
    /// Maximum number of missed updates that are replayed per call. After a longer pause the oldest are skipped.
    const MOST: u64 = 1 << 16;

    /// A schedule with an update every `every`, starting at time zero.
    pub fn every(every: Duration) -> Updates {
        Updates { every, made: Time::ZERO }
    }

    /// Returns the time of the next update that is due, and counts this update as made. `None` if no update is due.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if now.saturating_since(self.made) < self.every {
            return None;
        }
        let missed = self.missed(now);
        // A controller soon forgets old inputs, so skipping the oldest updates after a long pause does not matter.
        if missed > Updates::MOST {
            self.made += self.every * (missed - Updates::MOST);
        }
        self.made += self.every;
        Some(self.made)
    }

    /// Skips all due updates except the last. Call this if they would change nothing.
    pub fn skip_to_last(&mut self, now: Time) {
        // The last update must still be made, so that the controller's state belongs to the latest update time.
        self.made += self.every * self.missed(now).saturating_sub(1);
    }

    /// Returns the number of updates that are due.
    fn missed(&self, now: Time) -> u64 {
        now.saturating_since(self.made).as_nanos() / self.every.as_nanos()
    }
}
