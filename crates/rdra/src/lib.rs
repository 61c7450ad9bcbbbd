//! Receiver Driven Rate Adaptation: one object over several connections, at the share of one.
//!
//! Havey, *Throughput and Delay on the Packet Switched Internet* (UC Santa Barbara, 2015), chapter 2. The receiver asks
//! for byte ranges of an object over n connections. It sees losses as holes in what arrives, works out the window that
//! one TCP sender would have, and asks for no more than that at a time: robust against loss as n connections are, and
//! no greedier than one.
//!
//! [`Transfer`] is the whole system without a clock or I/O: its input is what was received and seen, its output the next
//! requests. The simulator's application and the real client drive the same code. Three parts can be replaced:
//!
//! - [`Detection`]: which holes count as congestion.
//! - [`WindowRule`]: a congestion control of `lopsided-tcp` (loss-based, or Vegas), or the paper's equations.
//! - Stream control ([`Mode`]): the paper's equation 2.4, plain parallel TCP, or a single connection.
//!
//! The paper leaves four things open, and this crate decides them. The window starts like a TCP sender's, with ten
//! segments over all streams and slow start (the IW/n for each stream of section 2.5). The window counts octets. All
//! holes within a round trip are one event. The window does not grow while the servers send less than a quarter of it.
//!
//! The crate senses the round trip from requests alone, and it never adapts the number of streams.

#![warn(missing_docs)]

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
