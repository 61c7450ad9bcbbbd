//! The machine's clock, as instants of a run.

use lopsided_core::Time;
use std::time::Instant;

/// Counts from the beginning of a run. Monotonic: a step of the machine's date and time changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
