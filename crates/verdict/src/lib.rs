//! The verdict on a run: a few sentences based on its measurements, for the command line, reports, notebooks and the
//! page.
//!
//! [`verdict`] describes one run: the rise of RTTs, the queue that caused it, flows that lost goodput to other flows,
//! durations, losses of calls, and one remedy. [`difference`] compares two runs. [`units`] formats quantities.
//!
//! Left out: causes inside TCP, which `lopsided explain` reports.
//!
//! # Examples
//!
//! ```
//! assert_eq!(lopsided_verdict::units::rate(2_071_234.0), "2.07 Mbit/s");
//! ```

#![deny(missing_docs)]

mod account;
mod difference;
mod sentences;
pub mod units;

pub use account::{Account, FlowFacts, LinkFacts, mean_goodput};
pub use difference::difference;
pub use sentences::verdict;
