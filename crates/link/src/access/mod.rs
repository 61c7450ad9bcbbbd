//! Access methods for lines that cannot be modelled by a constant rate: each one decides when the line may send. The
//! built-in kinds are a trace of opportunities, a changing rate, requests and grants, and aggregates. Each kind is a
//! [`Shaper`], which a scenario selects with the key `access` of a direction.
//!
//! Not modelled here: competing stations. A shared medium is a [`crate::Medium`].

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
