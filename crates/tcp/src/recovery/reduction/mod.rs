//! The way down to a reduced window, one rule a file: at once (RFC 6675), by rate halving, or in proportion to what
//! arrives (RFC 6937).

mod immediate;
pub(super) mod progress;
mod prr;
mod rate_halving;
mod steps;
