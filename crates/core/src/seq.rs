//! TCP sequence numbers: 32 bits that wrap, compared only within half their range (RFC 9293 section 3.4).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number. It has no `Ord`: which of two is later is only defined for numbers less than 2^31 apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(u32);

impl Seq {
    /// The sequence number with this value.
    pub const fn new(number: u32) -> Seq {
        Seq(number)
    }

    /// The value.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// True if it precedes the other number (modulo 2^32).
    pub const fn before(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// True if it follows the other number.
    pub const fn after(self, other: Seq) -> bool {
        other.before(self)
    }

    /// True if it precedes or equals the other number.
    pub const fn at_or_before(self, other: Seq) -> bool {
        !other.before(self)
    }

    /// The later of the two numbers.
    pub const fn later_of(self, other: Seq) -> Seq {
        if self.before(other) { other } else { self }
    }

    /// The earlier of the two numbers.
    pub const fn earlier_of(self, other: Seq) -> Seq {
        if self.before(other) { self } else { other }
    }

    /// Octets from `earlier` to this number, which must not be before it.
    pub const fn since(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    fn add(self, octets: u32) -> Seq {
        Seq(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub<u32> for Seq {
    type Output = Seq;
    fn sub(self, octets: u32) -> Seq {
        Seq(self.0.wrapping_sub(octets))
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
