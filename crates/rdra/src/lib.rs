//! Receiver Driven Rate Adaptation: downloads one object over several connections that together take the fair share of
//! one connection.
//!
//! Havey, *Throughput and Delay on the Packet Switched Internet* (UC Santa Barbara, 2015), chapter 2. The receiver
//! requests byte ranges of an object over n connections. It detects losses as holes in the arriving data, computes the
//! window that a single TCP sender would have, and keeps the requested data within this window (except that every request
//! has a minimum size). The transfer is as robust against loss as n connections, but takes no more than the share of
//! one connection.
//!
//! [`Transfer`] is the whole system without a clock or I/O. Its input is the received data and the observed segments,
//! and its output is the next requests. The simulator's application and the real client use the same code. Three parts
//! can be replaced:
//!
//! - [`Detection`]: which holes count as congestion.
//! - [`WindowRule`]: a congestion control of `lopsided-tcp` (loss-based, or Vegas), or the paper's equations.
//! - Stream control ([`Mode`]): the paper's equation 2.4, plain parallel TCP, or a single connection.
//!
//! The paper leaves four points open, which this crate decides. The window starts like a TCP sender's, with 10 segments
//! over all streams and slow start (the IW/n for each stream of section 2.5). The window counts bytes. All holes within
//! a round trip are one congestion event. The window does not grow while the servers send less than 25 % of it.
//!
//! The crate measures the round trip only by its requests, and never changes the number of streams.

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
