//! What a scenario says of a queue, and what is wrong with it.

use crate::{DropFrom, Fifo, Limit, Queue};
use lopsided_core::Bytes;
use std::fmt;

/// A queue as plain data.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    Fifo(FifoConfig),
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

    /// The empty queue.
    pub fn build(&self) -> Result<Queue, QueueError> {
        match self {
            QueueConfig::Fifo(config) => Fifo::new(config).map(Queue::Fifo),
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
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QueueError::NoRoom => "the limit is zero: no packet would ever pass; give it room for at least one",
            QueueError::BinWithoutRoom => "a bin of zero bytes holds nothing; give bins a size",
        })
    }
}

impl std::error::Error for QueueError {}
