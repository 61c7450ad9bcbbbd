//! The verdict on a run: a few sentences made from its own numbers. The command line, reports, notebooks and the page
//! print the same sentences because all of them call this crate.
//!
//! [`verdict`] describes one run: the rise of the round trips above those of empty queues, the queue where packets
//! waited, and flows that lost goodput when another flow joined. It also has the times of transfers, the losses of calls,
//! and one thing to try.
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
