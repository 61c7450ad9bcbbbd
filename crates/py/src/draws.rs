//! Gives Python access to the simulator's random numbers, for emulations that must draw the same values.

use lopsided_core::Rng;
use pyo3::prelude::*;

/// Returns the first random number, uniform in 0..bound, of the random stream named `role`.
#[pyfunction]
pub(crate) fn first_draw(seed: u64, role: &str, bound: u64) -> u64 {
    Rng::for_role(seed, role).below(bound)
}
