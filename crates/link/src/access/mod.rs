//! Access methods decide when a line without a constant rate may send. Each kind is a [`crate::Shaper`], which a scenario
//! selects with the key `access` of a direction.
//!
//! Stations that compete for one medium need a [`crate::Medium`] instead.

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
