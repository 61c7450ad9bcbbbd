//! The names that a scenario may use for what is given to a run.

use lopsided_tcp::CONTROLLERS;

/// The congestion controls with those of the user's own.
pub(crate) fn with_own<'n>(own: &[&'n str]) -> Vec<&'n str> {
    own.iter().chain(CONTROLLERS).copied().collect()
}
