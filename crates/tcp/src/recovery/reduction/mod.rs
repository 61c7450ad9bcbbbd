//! The ways in which the window shrinks, one per file: at once (RFC 6675), by rate halving, in proportion to deliveries
//! (RFC 6937), or to one segment plus one for each duplicate (FreeBSD).

mod budget;
mod immediate;
pub(super) mod progress;
mod prr;
mod rate_halving;
mod steps;
