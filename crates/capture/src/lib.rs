//! Reads captures of anyone and says why their TCP connections were as fast or slow as they were.
//!
//! [`frames`] streams a file or a pipe; [`Analysis`] builds connections from it. For each direction of data a connection
//! has counts, round trips of both halves of the path, the ACK path, a timeline of what held the sender back, and the
//! bottleneck of both directions. Nothing here comes from a simulation: the crate works on anyone's captures.
//!
//! Left out: other protocols than TCP, IP fragments, and tunnels.

#![warn(missing_docs)]

mod ack_path;
mod analysis;
mod between;
mod bottleneck;
mod clock;
mod connection;
mod control;
mod direction;
mod flight;
mod frames;
mod ids;
mod limit;
mod link;
mod load;
mod points;
mod report;
mod segment;
mod sender;
mod sketch;
mod timeline;
mod waits;

pub use ack_path::AckPath;
pub use analysis::Analysis;
pub use between::{Between, Passage, Way};
pub use bottleneck::{Bottleneck, Discipline, of_acks, of_data};
pub use connection::{Connection, Ending, Vantage};
pub use control::{Control, Guess, Habits};
pub use direction::{Direction, Rtts};
pub use flight::{Again, Covered, Flight, Sent};
pub use frames::{Frame, FramesRead, ReadError, frames};
pub use limit::Limit;
pub use load::{Loads, Towards};
pub use points::{Kind, Point, Points};
pub use report::{Report, Thinning};
pub use segment::{Endpoint, Options, Segment};
pub use sender::SlowStartEnd;
pub use sketch::Sketch;
pub use timeline::{Bin, Spread, Timeline};
