//! The sender: the data to send, the outstanding data, the limits on sending, and the processing of acknowledgements.

mod ack;
mod ack_outcome;
mod ack_ranges;
mod buffer;
mod buffer_limit;
mod busy_time;
mod flight;
mod holding_back;
mod old_segments;
mod pacing;
mod peer_window;
mod plain_ack;
mod push_marks;
pub(crate) mod rate_sample;
mod rtt;
mod scoreboard;
mod sender;
mod timestamp_clock;
mod transmit;
mod window_use;

pub(crate) use ack_outcome::{AckInfo, AckOutcome};
pub(crate) use buffer::copied;
pub(crate) use flight::Flight;
pub(crate) use scoreboard::TxRecord;
pub(crate) use sender::Sender;
pub(crate) use timestamp_clock::TimestampClock;
pub(crate) use transmit::{Piece, PieceKind};
