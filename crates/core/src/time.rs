//! Time in whole nanoseconds. [`Time`] is an instant, [`Duration`] a length of time.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: nanoseconds since the run began. Additions saturate.
///
/// # Examples
///
/// ```
/// use lopsided_core::{Duration, Time};
///
/// let sent = Time::ZERO + Duration::from_millis(20);
/// let arrived = sent + Duration::from_micros(1500);
/// assert_eq!(arrived - sent, Duration::from_micros(1500));
/// assert_eq!(arrived.ceil_to(Duration::from_millis(1)), Time::ZERO + Duration::from_millis(22));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// An instant later than all instants of a run, used for "never".
    pub const MAX: Time = Time(u64::MAX);

    /// Creates the instant that is `nanos` nanoseconds after the start of a run.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time since `earlier`; zero if `earlier` is later than this instant.
    pub const fn saturating_since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Rounds this instant up to a multiple of `grain`. Returns the instant unchanged if `grain` is zero.
    pub const fn ceil_to(self, grain: Duration) -> Time {
        // Rounding up to a multiple of 0 or 1 ns changes nothing. This check also prevents a division by 0.
        if grain.0 <= 1 { self } else { Time(self.0.div_ceil(grain.0) * grain.0) }
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Creates a duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    /// Creates a duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }

    /// Creates a duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    /// Creates a duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration in microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True if the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns this duration minus `other`; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// Returns this duration multiplied by `by`. Saturates at the longest duration.
    pub const fn saturating_mul(self, by: u64) -> Duration {
        Duration(self.0.saturating_mul(by))
    }

    /// Rounds this duration up to a multiple of `grain`. Returns the duration unchanged if `grain` is zero.
    pub const fn ceil_to(self, grain: Duration) -> Duration {
        if grain.0 <= 1 { self } else { Duration(self.0.div_ceil(grain.0) * grain.0) }
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        // Saturate, so that "never" plus any duration stays "never".
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// # Panics
    /// Panics in debug builds if `earlier` is later than this instant, because time never goes back.
    fn sub(self, earlier: Time) -> Duration {
        // A negative duration is a bug in the caller; release builds return zero.
        debug_assert!(self.0 >= earlier.0, "{self:?} is before {earlier:?}");
        self.saturating_since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(self.0 >= other.0, "{self:?} is shorter than {other:?}");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, by: u64) -> Duration {
        self.saturating_mul(by)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, by: u64) -> Duration {
        Duration(self.0 / by)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::MAX {
            // Print the sentinel in words, so that it cannot be mistaken for a real time.
            write!(f, "never")
        } else {
            write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
        }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_millis_f64())
    }
}
