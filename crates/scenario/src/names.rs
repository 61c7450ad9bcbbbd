//! Names of congestion controls that belong to a single run and are not registered for the whole process.

use lopsided_tcp::CONTROLLERS;

/// Returns the names of the congestion controls of the crate `tcp`, followed by the names of the user's own.
pub(crate) fn with_own<'n>(own: &[&'n str]) -> Vec<&'n str> {
    own.iter().chain(CONTROLLERS).copied().collect()
}
