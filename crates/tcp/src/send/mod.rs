//! The send side: the stream, what of it is in the network, how much more may be, and what acknowledgements tell.

mod ack;
mod buffer;
mod buffer_limit;
mod rtt;
mod scoreboard;
mod sender;

pub(crate) use ack::{AckInfo, AckOutcome};
pub(crate) use scoreboard::TxRecord;
pub(crate) use sender::Sender;
