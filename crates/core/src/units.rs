//! Types for amounts and rates of data, so that bytes and bits cannot be confused.

use crate::Duration;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate in bits per second.
///
/// # Examples
///
/// At 12 Mbit/s a packet of 1,500 bytes takes 1 ms:
///
/// ```
/// use lopsided_core::{BitRate, Bytes, Duration};
///
/// let (time, carry) = BitRate::from_bps(12_000_000).time_to_send(Bytes::new(1500), 0);
/// assert_eq!((time, carry), (Duration::from_millis(1), 0));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest number of bytes.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Creates a number of bytes.
    pub const fn new(octets: u64) -> Bytes {
        Bytes(octets)
    }

    /// The number of bytes as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bits: 8 times the number of bytes.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }

    /// Returns this number minus `other`; zero if `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl BitRate {
    /// Creates a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> BitRate {
        BitRate(bps)
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time to send `size` in whole nanoseconds, and a remainder in 1 / rate nanoseconds. Pass the
    /// remainder as `carry` of the next packet, so that rounding errors do not add up.
    pub fn time_to_send(self, size: Bytes, carry: u64) -> (Duration, u64) {
        // bits * 10^9 / rate is the time in nanoseconds. The carry has the unit of the numerator.
        let work = u128::from(size.bits()) * 1_000_000_000 + u128::from(carry);
        // For packets of usual size the numerator fits in 64 bits, and a 64-bit division is several times faster.
        match u64::try_from(work) {
            Ok(work) => (Duration::from_nanos(work / self.0), work % self.0),
            Err(_) => {
                let rate = u128::from(self.0);
                (Duration::from_nanos((work / rate) as u64), (work % rate) as u64)
            }
        }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}
