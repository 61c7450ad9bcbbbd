//! What a scenario says of a queue, and what is wrong with it.

use crate::{DropFrom, Fifo, Limit, Queue, Red, RedConfig, ThresholdConfig, ThresholdFifo};
use lopsided_core::{Bytes, Rng};
use std::fmt;

/// A queue as plain data.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    Fifo(FifoConfig),
    Red(RedConfig),
    Threshold(ThresholdConfig),
}

/// A first-in-first-out queue as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct FifoConfig {
    pub limit: Limit,
    pub drop: DropFrom,
    /// Octets that the buffer counts with each packet beside the IP packet; zero unless told otherwise.
    pub header: Bytes,
}

impl FifoConfig {
    /// Drop-tail, and IP octets only.
    pub const fn new(limit: Limit) -> FifoConfig {
        FifoConfig { limit, drop: DropFrom::Tail, header: Bytes::ZERO }
    }
}

impl QueueConfig {
    /// A drop-tail FIFO of that many packets.
    pub const fn packets(limit: u32) -> QueueConfig {
        QueueConfig::Fifo(FifoConfig::new(Limit::Packets(limit)))
    }

    /// The empty queue. Its random draws are keyed by the run's seed and its place, such as `"link/up"`.
    pub fn build(&self, seed: u64, place: &str) -> Result<Queue, QueueError> {
        match self {
            QueueConfig::Fifo(config) => Fifo::new(config).map(Queue::Fifo),
            QueueConfig::Red(config) => {
                Red::new(config, Rng::for_role(seed, &format!("{place}/queue"))).map(Queue::Red)
            }
            QueueConfig::Threshold(config) => ThresholdFifo::new(config).map(Queue::Threshold),
        }
    }
}

/// Why a queue cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// The limit is zero: nothing would ever pass.
    NoRoom,
    /// Bins of zero octets.
    BinWithoutRoom,
    /// Thresholds of which one counts packets and one octets.
    MixedUnits,
    /// The lower threshold is above the upper.
    ThresholdsCrossed,
    /// An average's weight outside (0, 1].
    Weight,
    Probability,
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::NoRoom => "the limit is zero: no packet would ever pass; give it room for at least one",
            QueueError::BinWithoutRoom => "a bin of zero bytes holds nothing; give bins a size",
            QueueError::MixedUnits => {
                "min and max must both count packets, or both octets: one average is held against them"
            }
            QueueError::ThresholdsCrossed => "min is above max",
            QueueError::Weight => "a weight must be above 0 and at most 1",
            QueueError::Probability => "a probability must be from 0 to 1",
        })
    }
}

impl std::error::Error for QueueError {}
