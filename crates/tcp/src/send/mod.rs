//! The parts of the sender: the data to send, the outstanding data, the measurements, and the limits on sending.
//!
//! `recovery` builds on these parts, and [`Sender`](crate::sender::Sender) on both.

mod ack_outcome;
mod buffer;
mod buffer_limit;
mod busy_time;
mod flight;
mod holding_back;
mod old_segments;
mod pacing;
mod peer_window;
mod push_marks;
pub(crate) mod rate_sample;
mod rtt;
mod scoreboard;
mod timestamp_clock;
mod window_use;

pub(crate) use ack_outcome::{AckInfo, AckOutcome};
pub(crate) use buffer::{SendBuffer, copied};
pub(crate) use buffer_limit::{Growth, SendBufferLimit, SendBufferState};
pub(crate) use busy_time::{BusyTime, Occupation, Spent};
pub(crate) use flight::Flight;
pub(crate) use holding_back::HoldingBack;
pub(crate) use old_segments::OldSegments;
pub(crate) use pacing::Pacing;
pub(crate) use peer_window::PeerWindow;
pub(crate) use push_marks::{PushMarks, WriteState};
pub(crate) use rate_sample::NewestDelivered;
pub(crate) use scoreboard::TxRecord;
pub(crate) use timestamp_clock::TimestampClock;
pub(crate) use window_use::WindowUse;
