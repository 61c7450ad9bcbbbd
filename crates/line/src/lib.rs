//! An access line as an object, for the test suites of transport protocols.
//!
//! A [`Line`] accepts datagrams at one side and returns them at the other side. It may delay, reorder, drop or mark
//! them. A line runs in virtual time. The same configuration, seed and calls produce the same deliveries on every
//! machine.
//!
//! All presets, queue disciplines, shapers, loss models and stages are available through the keys of a scenario.
//!
//! # Examples
//!
//! ```
//! use lopsided_core::{Dir, Duration, Time};
//! use lopsided_line::{Line, LineConfig, Side};
//!
//! let config = LineConfig::new("50 Mbit/s", "5 Mbit/s", "40 ms").queue(Dir::Up, "fq_codel").seed(1);
//! let mut line = Line::new(config)?;
//! line.send(Time::ZERO, Side::Client, b"ping");
//! let mut now = Time::ZERO;
//! let ping = loop {
//!     match line.poll(now) {
//!         Some(delivery) => break delivery,
//!         None => now = line.next_wakeup().expect("the datagram is in flight"),
//!     }
//! };
//! assert_eq!((ping.side, ping.datagram.as_slice()), (Side::Server, b"ping".as_slice()));
//! // 20 ms of propagation, and 32 bytes at 5 Mbit/s.
//! assert_eq!(ping.at - Time::ZERO, Duration::from_nanos(20_051_200));
//! # Ok::<(), lopsided_line::LineError>(())
//! ```
//!
//! `examples/quinn.rs` drives quinn-proto over a line, and `examples/smoltcp.rs` drives smoltcp. A line has no sockets,
//! no threads and no real time. For real time, use `lopsided emulate`.

#![deny(missing_docs)]

mod config;
mod line;

pub use config::{LineConfig, LineError};
pub use line::{Delivery, Line, Side};
pub use lopsided_core::wire::Malformed;
pub use lopsided_core::{Dir, Duration, Ecn, Time};

/// Compiles and runs the code in README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
