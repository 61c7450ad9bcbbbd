//! Reads packet captures and explains the speed of their TCP connections.
//!
//! [`frames`] reads a file or a pipe as a stream. [`Analysis`] groups its TCP segments into connections. [`Report`]
//! contains the results for one direction: the sender's limits over time, round trips, ACKs and bottlenecks.
//!
//! Left out: protocols other than TCP, IP fragments, and tunnels.
//!
//! # Examples
//!
//! ```
//! use lopsided_capture::{Analysis, Report};
//!
//! // A pcapng file that consists of a section header only.
//! let header = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
//! let file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
//! let found = Analysis::read(&file[..], false, |_packets, _so_far| true).unwrap();
//! for connection in &found.connections {
//!     println!("limited by {}", Report::of(connection, 0, &found.loads).limit.name());
//! }
//! assert_eq!(found.segments, 0);
//! ```

#![deny(missing_docs)]

mod ack_path;
mod analysis;
mod between;
mod bottleneck;
mod clock;
mod connection;
mod control;
mod direction;
mod discipline;
mod flight;
mod frames;
mod hashing;
mod ids;
mod limit;
mod link;
mod load;
mod losses;
mod occupancy;
mod points;
mod replay;
mod report;
mod segment;
mod sender;
mod sketch;
mod steps;
mod timeline;
mod waits;

pub use ack_path::AckPath;
pub use analysis::Analysis;
pub use between::{Between, Passage, Way};
pub use bottleneck::{Bottleneck, of_acks, of_data};
pub use connection::{Connection, Ending, Vantage};
pub use control::{Fit, Guess, guess};
pub use direction::{Direction, Rtts};
pub use discipline::Discipline;
pub use flight::{Again, Covered, Flight, Sent};
pub use frames::{Frame, FramesRead, ReadError, frames};
pub use limit::Limit;
pub use load::{Loads, Towards};
pub use losses::Losses;
pub use points::{Kind, Point, Points};
pub use replay::{Compared, replay};
pub use report::{Report, Thinning};
pub use segment::{Endpoint, Options, Segment};
pub use sender::SlowStartEnd;
pub use sketch::Sketch;
pub use steps::{Loss, Step};
pub use timeline::{Bin, Spread, Timeline};
