//! Building blocks of disciplines, and tools that measure them.

pub(crate) mod bounds;
mod buffer;
mod checked;
mod histogram;
pub(crate) mod ring;
pub(crate) mod sensing;
mod stats;

pub use buffer::Buffer;
pub use checked::CheckedQdisc;
pub use histogram::Histogram;
pub use sensing::{BaseDelay, FarEnd, SENSING_PROTOCOL, Smoothing, is_sensing, turn};
pub use stats::{QueueSample, QueueStats};
