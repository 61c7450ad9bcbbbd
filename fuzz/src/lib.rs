//! Fuzz targets for input from outside. Each target converts arbitrary bytes into input, and checks invariants that
//! must hold for any input.
//!
//! A coverage-guided fuzzer (`fuzz_targets/`) and the tests (`tests/targets.rs`) run the same functions.

pub mod ack_way;
pub mod capture;
pub mod connection;
pub mod line;
pub mod quic;
pub mod scenario;

use arbitrary::{Arbitrary, Unstructured};

/// Bytes from which values are read until none are left.
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
