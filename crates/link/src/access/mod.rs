//! How a line gives leave to send, where that is more than a rate: a trace of opportunities, a rate that changes,
//! requests and grants, aggregates. Each kind is a [`Shaper`] of its own; a scenario names it as `access` of a
//! direction.
//!
//! Leaves out: stations that compete with each other. A medium that several share is a [`crate::Medium`].

mod aggregation;
mod changing;
mod config;
mod grants;
mod kinds;
mod trace;

pub use aggregation::{Aggregation, AggregationConfig};
pub use changing::{ChangingRate, RateStep, RatesConfig, ReallocationConfig};
pub use config::{AccessConfig, AccessKind};
pub use grants::{Grants, GrantsConfig};
pub use kinds::ACCESS;
pub use trace::{Opportunities, TraceConfig, parse_trace};
