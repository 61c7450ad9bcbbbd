//! Receiver Driven Rate Adaptation: downloads one object over several connections that together take the fair share of
//! one connection.
//!
//! Havey, *Throughput and Delay on the Packet Switched Internet* (UC Santa Barbara, 2015), chapter 2. The receiver
//! requests byte ranges of an object over n connections. It detects losses as holes in the arriving data, and keeps the
//! requested data within the window that a single TCP sender would have.
//!
//! [`Transfer`] is the whole system without a clock or I/O, for the simulator and for real clients. Three parts can be
//! replaced:
//!
//! - [`Detection`]: the rule that decides which holes count as congestion.
//! - [`WindowRule`]: a congestion control of `lopsided-tcp` (loss-based, or Vegas), or the paper's equations.
//! - Stream control ([`Mode`]): the paper's equation 2.4, plain parallel TCP, or a single connection.
//!
//! The paper leaves four points open. This crate decides them as follows. The window starts with 10 segments over all
//! streams, in slow start (section 2.5). The window counts bytes. All holes within a round trip are one congestion
//! event. The window does not grow while less than 25 % of it arrives per round trip.
//!
//! The number of streams never changes.

#![deny(missing_docs)]

mod congestion;
mod equations;
mod fair_share;
mod ranges;
mod settings;
mod step;
mod transfer;

pub use congestion::{Detection, Loss};
pub use fair_share::WindowRule;
pub use ranges::Ranges;
pub use settings::{Mode, Settings};
pub use step::{Step, What};
pub use transfer::{Excess, Transfer};

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
