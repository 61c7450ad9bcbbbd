//! Schedule of an AQM's periodic probability updates. There is no timer: the next call computes the missed updates.

use lopsided_core::{Duration, Time};

/// The interval between updates, and the time of the last update.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    every: Duration,
    /// Time at which the last update was due, whether it was made or skipped.
    made: Time,
}

impl Updates {
    /// Maximum number of missed updates that are computed per call. After a longer pause the oldest updates are
    /// skipped.
    const MOST: u64 = 1 << 16;

    /// Creates a schedule with one update per `every`. The first update is due at the time `every`.
    pub fn every(every: Duration) -> Updates {
        Updates { every, made: Time::ZERO }
    }

    /// Returns the time of the oldest due update, and counts this update as made. `None` if no update is due.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        if now.saturating_since(self.made) < self.every {
            return None;
        }
        let missed = self.missed(now);
        // Old inputs have no effect on a controller after many updates, so the oldest updates can be skipped after a
        // long pause.
        if missed > Updates::MOST {
            self.made += self.every * (missed - Updates::MOST);
        }
        self.made += self.every;
        Some(self.made)
    }

    /// Skips all due updates except the last one. Call this only if the skipped updates would change nothing.
    pub fn skip_to_last(&mut self, now: Time) {
        // Do not skip the last update: it sets the controller's state for the latest update time.
        self.made += self.every * self.missed(now).saturating_sub(1);
    }

    /// Returns the number of updates that are due.
    fn missed(&self, now: Time) -> u64 {
        now.saturating_since(self.made).as_nanos() / self.every.as_nanos()
    }
}
