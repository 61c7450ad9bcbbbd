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

    /// Counts from an instant of CLOCK_MONOTONIC, in nanoseconds; until then it says zero.
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub(crate) fn starting_at(instant_ns: u64) -> Clock {
        use nix::time::{ClockId, clock_gettime};

        let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).map(std::time::Duration::from).unwrap_or_default();
        // On Linux this is the clock of `Instant`.
        let origin = Instant::now() + std::time::Duration::from_nanos(instant_ns).saturating_sub(clock);
        Clock { origin }
    }

    /// Sleeps until it begins to count.
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the one place where the machine's clock is read")]
    pub(crate) fn wait_for_start(&self) {
        std::thread::sleep(self.origin.saturating_duration_since(Instant::now()));
    }

    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
