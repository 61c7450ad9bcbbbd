//! The simulator's random numbers, for another world that must make the same draws.

use lopsided_core::Rng;
use pyo3::prelude::*;

/// The first draw of a role's stream, uniform in 0..bound.
#[pyfunction]
pub(crate) fn first_draw(seed: u64, role: &str, bound: u64) -> u64 {
    Rng::for_role(seed, role).below(bound)
}
