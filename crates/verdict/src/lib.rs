//! The verdict on a run: a few sentences made from its own numbers. The command line, reports, notebooks and the page
//! print the same sentences because all of them call this crate.
//!
//! [`verdict`] describes one run: how far the round trips rose above those of empty queues and where packets waited, who
//! lost goodput when another flow joined, how long transfers took, what calls lost, and one thing to try.
//! [`difference`] compares two runs of nearly the same scenario. [`units`] writes quantities for people.
//!
//! Left out: causes inside TCP, which `lopsided explain` reports.

mod account;
mod difference;
mod sentences;
pub mod units;

pub use account::{Account, FlowFacts, LinkFacts, mean_goodput};
pub use difference::difference;
pub use sentences::verdict;
