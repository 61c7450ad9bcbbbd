//! TCP sequence numbers. Sequence numbers wrap around, so two numbers can be compared only if they are less than 2^31
//! apart (RFC 9293, section 3.4).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number. It does not implement `Ord`, because the order of two numbers is defined only if they are less
/// than 2^31 apart.
///
/// # Examples
///
/// ```
/// use lopsided_core::Seq;
///
/// let last = Seq::new(u32::MAX);
/// assert!(last.before(last + 1));
/// assert_eq!((last + 10).since(last), 10);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(u32);

impl Seq {
    /// Creates a sequence number from its 32-bit value.
    pub const fn new(number: u32) -> Seq {
        Seq(number)
    }

    /// Returns the 32-bit value.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// True if this number precedes `other` (modulo 2^32).
    pub const fn before(self, other: Seq) -> bool {
        // The sign of the 32-bit difference, as in Linux's `before()`.
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// True if this number follows `other`.
    pub const fn after(self, other: Seq) -> bool {
        other.before(self)
    }

    /// True if this number precedes or equals `other`.
    pub const fn at_or_before(self, other: Seq) -> bool {
        !other.before(self)
    }

    /// Returns the later of the two numbers.
    pub const fn later_of(self, other: Seq) -> Seq {
        if self.before(other) { other } else { self }
    }

    /// Returns the earlier of the two numbers.
    pub const fn earlier_of(self, other: Seq) -> Seq {
        if self.before(other) { self } else { other }
    }

    /// Returns the number of bytes from `earlier` to this number. `earlier` must not be after this number.
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
