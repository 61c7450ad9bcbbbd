//! The receiver: the received data, the advertised window, and the acknowledgements.

pub mod ack_policy;
mod ack_scheduler;
mod answer_window;
mod buffer;
mod filling;
mod memory;
mod offered_window;
mod pages;
mod placeholders;
mod reassembly;
mod receiver;
mod records;
mod room;
mod rounds;
mod runs;
mod sack_report;
mod segment_size;

pub(crate) use ack_scheduler::{AckContext, AckScheduler};
pub(crate) use buffer::window_scale;
pub(crate) use filling::SegmentSizes;
pub(crate) use receiver::Receiver;
