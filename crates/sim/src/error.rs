//! Errors of runs.

use lopsided_core::{Conservation, Duration, Time};
use std::fmt;

/// Maximum number of event rows of one run. A table of this size takes several gigabytes of memory.
pub(crate) const MOST_EVENTS: usize = 10_000_000;

/// The reason why a scenario cannot be built. The reader of scenario files already reports most of these errors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// A flow names a host that does not exist.
    NoHost {
        /// Name of the flow.
        flow: String,
    },
    /// There is no path between the ends of a flow.
    NoPath {
        /// Name of the flow.
        flow: String,
        /// Name of the sending host.
        from: String,
        /// Name of the receiving host.
        to: String,
    },
    /// The TCP profile of a flow does not exist.
    UnknownProfile {
        /// Name of the flow.
        flow: String,
        /// The profile.
        profile: String,
    },
    /// The congestion control of a flow is neither built in nor listed in the run options.
    UnknownController {
        /// Name of the flow.
        flow: String,
        /// The congestion control.
        cc: String,
    },
    /// A link, medium or stage cannot be built.
    Link {
        /// Name of the link or medium.
        link: String,
        /// The error.
        what: String,
    },
    /// The application or transport of a flow cannot be built.
    NoApplication {
        /// Name of the flow.
        flow: String,
        /// The error.
        what: String,
    },
    /// A host has too few ports for the flows that end there, or a node has too few ports for its links.
    TooMany {
        /// `flows` or `links`.
        what: &'static str,
        /// Name of the flow or node.
        at: String,
        /// The maximum number.
        limit: usize,
    },
    /// The run is too long for the event queue of a network of this size.
    TooLong {
        /// The longest possible run.
        limit: Duration,
    },
    /// A host cannot be outside of the simulation, or cannot have a passage.
    Outside {
        /// Name of the host.
        host: String,
        /// The reason.
        what: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoHost { flow } => write!(f, "flow {flow:?} names a host that does not exist"),
            BuildError::NoPath { flow, from, to } => write!(f, "flow {flow:?} has no path between {from:?} and {to:?}"),
            BuildError::UnknownProfile { flow, profile } => {
                write!(f, "flow {flow:?}: unknown stack profile {profile:?}")
            }
            BuildError::UnknownController { flow, cc } => {
                write!(f, "flow {flow:?}: the congestion control {cc:?} is neither built in nor passed to the run")
            }
            BuildError::NoApplication { flow, what } => write!(f, "flow {flow:?}: {what}"),
            BuildError::Link { link, what } => write!(f, "link {link:?}: {what}"),
            BuildError::Outside { host, what } => {
                write!(f, "host {host:?} cannot be outside of the simulation: {what}")
            }
            BuildError::TooMany { what, at, limit } => write!(f, "more than {limit} {what} at {at:?}"),
            BuildError::TooLong { limit } => {
                write!(f, "a network of this size can be simulated for at most {} s", limit.as_secs_f64())
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// The reason why a run has no result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario cannot be built.
    Build(BuildError),
    /// The run was cancelled by its [`Monitor`](crate::Monitor).
    Cancelled,
    /// Too many events happened at one instant, for example because packets circulate without delay.
    Stuck {
        /// The instant.
        at: Time,
    },
    /// `record.events` or `record.tcp_events` produced more rows than a table may have.
    TooManyEvents {
        /// Time at which the limit was exceeded.
        at: Time,
    },
    /// Some packets or bytes are unaccounted for, which is a bug in lopsided.
    Unbalanced {
        /// The numbers of packets and bytes that do not balance.
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
                "time does not advance at {at:?}: packets circulate on a path without delay; give one of its links a rate or a delay"
            ),
            RunError::TooManyEvents { at } => write!(
                f,
                "more than {} million events were recorded by {at:?}: shorten the run, or leave out record.events or \
                 record.tcp_events",
                MOST_EVENTS / 1_000_000
            ),
            RunError::Unbalanced { conservation } => {
                write!(f, "packets or bytes are unaccounted for: {conservation}")
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
