//! The way down to a reduced window, one rule a file: at once (RFC 6675), by rate halving, in proportion to what
//! arrives (RFC 6937), or down to a segment and up with each duplicate.

mod budget;
mod immediate;
pub(super) mod progress;
mod prr;
mod rate_halving;
mod steps;
