//! Receiver Driven Rate Adaptation: one object over several connections, at the share of one.
//!
//! Havey, *Throughput and Delay on the Packet Switched Internet* (UC Santa Barbara, 2015), chapter 2. The receiver asks
//! for byte ranges of an object over n connections. It sees losses as holes in what arrives, works out the window that
//! one TCP sender would have, and asks for no more than that at a time: robust against loss as n connections are, and
//! no greedier than one.
//!
//! [`Transfer`] is the whole of it, without a clock or I/O: told what was received and seen, it says what to ask for
//! next. The simulator's application and the real client drive the same code. Its three parts can be replaced:
//!
//! - [`Detection`]: which holes count as congestion.
//! - [`WindowRule`]: any loss-based congestion control of `lopsided-tcp`, or the paper's equations.
//! - Stream control ([`Mode`]): the paper's equation 2.4, plain parallel TCP, or a single connection.
//!
//! What the paper leaves open is decided here: the window begins as a TCP sender's does, with ten segments and slow
//! start (the paper: future work); it counts octets; all holes within a round trip are one event; it does not grow
//! where the servers send less than a quarter of it.
//!
//! Leaves out: sensing the round trip otherwise than from requests, and a number of streams that adapts.

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
