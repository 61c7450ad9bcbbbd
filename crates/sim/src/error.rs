//! Why there is no result.

use lopsided_core::{Conservation, Duration, Time};
use std::fmt;

/// The most rows of events that one run records: some gigabytes of memory.
pub(crate) const MOST_EVENTS: usize = 10_000_000;

/// Why a scenario cannot be run. The scenario crate refuses most of this when it reads a file; one made in code may
/// hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// A flow names a host that is not there.
    NoHost {
        flow: String,
    },
    NoPath {
        flow: String,
        from: String,
        to: String,
    },
    UnknownProfile {
        flow: String,
        profile: String,
    },
    UnknownController {
        flow: String,
        cc: String,
    },
    Link {
        link: String,
        what: String,
    },
    NoApplication {
        flow: String,
        what: String,
    },
    /// More flows end at one host, or more links at one node, than there are ports.
    TooMany {
        what: &'static str,
        at: String,
        limit: usize,
    },
    TooLong {
        limit: Duration,
    },
    /// A host cannot be played by somebody else.
    Outside {
        host: String,
        what: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoHost { flow } => write!(f, "flow {flow:?} names a host that does not exist"),
            BuildError::NoPath { flow, from, to } => write!(f, "flow {flow:?} has no path between {from:?} and {to:?}"),
            BuildError::UnknownProfile { flow, profile } => {
                write!(f, "flow {flow:?} asks for the unknown stack profile {profile:?}")
            }
            BuildError::UnknownController { flow, cc } => {
                write!(
                    f,
                    "flow {flow:?} asks for the congestion control {cc:?}, which is not built in and was not given"
                )
            }
            BuildError::NoApplication { flow, what } => write!(f, "flow {flow:?}: {what}"),
            BuildError::Link { link, what } => write!(f, "link {link:?}: {what}"),
            BuildError::Outside { host, what } => write!(f, "host {host:?} cannot be left to others: {what}"),
            BuildError::TooMany { what, at, limit } => write!(f, "more than {limit} {what} at {at:?}"),
            BuildError::TooLong { limit } => {
                write!(f, "a network of this size can be simulated for at most {} s", limit.as_secs_f64())
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
pub enum RunError {
    Build(BuildError),
    Cancelled,
    /// Events without end at one instant: a loop of links that take no time.
    Stuck {
        at: Time,
    },
    /// `record.events` or `record.tcp_events` recorded more rows than a table may have.
    TooManyEvents {
        at: Time,
    },
    /// The accounting does not balance: an error in lopsided itself.
    Unbalanced {
        conservation: Conservation,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Build(error) => error.fmt(f),
            RunError::Cancelled => write!(f, "cancelled"),
            RunError::Stuck { at } => write!(
                f,
                "the clock stands still at {at:?}: packets go round a path that takes no time; give a link on it a rate or a delay"
            ),
            RunError::TooManyEvents { at } => write!(
                f,
                "more than {} million events were recorded by {at:?}: shorten the run, or leave out record.events or \
                 record.tcp_events",
                MOST_EVENTS / 1_000_000
            ),
            RunError::Unbalanced { conservation } => {
                write!(f, "packets or octets appeared or vanished: {conservation}")
            }
        }
    }
}

impl std::error::Error for RunError {}

impl From<BuildError> for RunError {
    fn from(error: BuildError) -> RunError {
        RunError::Build(error)
    }
}
