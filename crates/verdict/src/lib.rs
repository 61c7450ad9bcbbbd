//! The verdict on a run: a few sentences made from its measurements. The command line, reports, notebooks and the page
//! all call this crate and so print the same sentences.
//!
//! [`verdict`] describes one run: the rise of RTTs above their minimum, the queue in which packets waited, and flows
//! that lost goodput when another flow joined. It also reports durations of transfers, losses of calls, and one remedy
//! to try. [`difference`] compares two runs of nearly the same scenario. [`units`] formats quantities for people.
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
