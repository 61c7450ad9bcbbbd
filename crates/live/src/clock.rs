//! The machine's monotonic clock as the time of a run.

use lopsided_core::Time;
use std::time::Instant;

/// A clock that counts from the start of a run. The clock is monotonic: setting the machine's date or time does not
/// affect it.
///
/// # Examples
///
/// ```
/// use lopsided_core::Time;
/// use lopsided_live::Clock;
///
/// let clock = Clock::start();
/// assert!(clock.now() >= Time::ZERO);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts a clock whose time 0 is now.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the machine's clock")]
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// Creates a clock whose time 0 is the given value of CLOCK_MONOTONIC, in nanoseconds. Before that value, the clock
    /// returns 0.
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the machine's clock")]
    pub(crate) fn starting_at(instant_ns: u64) -> Clock {
        use nix::time::{ClockId, clock_gettime};

        let clock = clock_gettime(ClockId::CLOCK_MONOTONIC).map(std::time::Duration::from).unwrap_or_default();
        // On Linux `Instant` also reads CLOCK_MONOTONIC, so a reading of both clocks determines the origin.
        let origin = Instant::now() + std::time::Duration::from_nanos(instant_ns).saturating_sub(clock);
        Clock { origin }
    }

    /// Sleeps until the clock's origin.
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the machine's clock")]
    pub(crate) fn wait_for_start(&self) {
        std::thread::sleep(self.origin.saturating_duration_since(Instant::now()));
    }

    /// Returns the time since the origin; 0 before the origin.
    #[inline]
    pub fn now(&self) -> Time {
        // `elapsed` is 0 before the origin, so the time never becomes negative.
        Time::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
