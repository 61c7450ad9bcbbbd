//! Names of objects that belong to a single run, not to the process.

use lopsided_tcp::CONTROLLERS;

/// The congestion controls of the crate `tcp`, with those of the user.
pub(crate) fn with_own<'n>(own: &[&'n str]) -> Vec<&'n str> {
    own.iter().chain(CONTROLLERS).copied().collect()
}
