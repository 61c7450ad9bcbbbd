//! What may come from outside, made of any octets: each target turns them into input and checks what must hold whatever
//! it is.
//!
//! A fuzzer that sees which code was reached (`fuzz_targets/`) and the tests (`tests/targets.rs`) run the same
//! functions.

pub mod ack_way;
pub mod capture;
pub mod connection;
pub mod line;
pub mod quic;
pub mod scenario;

use arbitrary::{Arbitrary, Unstructured};

/// Octets, read as one value after another until none are left.
struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    fn new(octets: &'a [u8]) -> Input<'a> {
        Input(Unstructured::new(octets))
    }

    fn next<T: Arbitrary<'a>>(&mut self) -> Option<T> {
        if self.0.is_empty() { None } else { self.0.arbitrary().ok() }
    }

    fn all<T: Arbitrary<'a>>(mut self) -> impl Iterator<Item = T> {
        std::iter::from_fn(move || self.next())
    }
}
