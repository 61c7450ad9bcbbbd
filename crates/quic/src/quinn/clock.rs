//! Conversion between the simulator's time and quinn's instants.

use lopsided_core::{Duration, Time};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Locks a mutex. Ignores poisoning, because a panic ends the run anyway.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts the simulator's time to quinn's instants. Only differences between instants are meaningful.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Default for Clock {
    /// Returns a clock whose base is the same for the whole process. The base is read once.
    #[expect(clippy::disallowed_methods, reason = "only this call creates an Instant; the code uses only differences")]
    fn default() -> Clock {
        static BASE: OnceLock<Instant> = OnceLock::new();
        Clock { base: *BASE.get_or_init(Instant::now) }
    }
}

impl Clock {
    /// Returns a clock whose base is later by `offset`.
    #[must_use]
    pub fn shifted(self, offset: Duration) -> Clock {
        Clock { base: self.base + to_std(offset) }
    }

    pub(super) fn instant(self, at: Time) -> Instant {
        self.base + std::time::Duration::from_nanos(at.as_nanos())
    }

    pub(super) fn time(self, at: Instant) -> Time {
        Time::from_nanos(at.saturating_duration_since(self.base).as_nanos() as u64)
    }
}

pub(super) fn to_std(span: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_nanos())
}

pub(super) fn from_std(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
