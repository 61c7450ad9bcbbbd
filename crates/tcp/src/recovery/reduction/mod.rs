//! The rules by which the window shrinks: at once (RFC 6675), by rate halving, in proportion to the delivered data (RFC
//! 6937), or as in FreeBSD.

mod budget;
mod immediate;
pub(super) mod progress;
mod prr;
mod rate_halving;
mod steps;
