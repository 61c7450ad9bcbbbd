//! The calls of a transfer and its state after each of them: enough to repeat the transfer, and to explain its
//! reactions.

use crate::congestion::Loss;
use lopsided_core::{Bytes, Duration, Time};

/// A call, and the state after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of the call.
    pub at: Time,
    /// Number of the stream.
    pub stream: usize,
    /// The call.
    pub what: What,
    /// The cause of a loss, if the call revealed one.
    pub loss: Option<Loss>,
    /// The window of the single sender; `None` if the mode has no window.
    pub window: Option<Bytes>,
    /// Bytes requested and not received.
    pub requested: u64,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An idle stream requested data.
    Asked {
        /// Offset of the first byte in the object.
        first: u64,
        /// Number of bytes.
        octets: u64,
    },
    /// Received data was reported.
    Received {
        /// Offset of the first byte in the object.
        first: u64,
        /// Number of bytes.
        octets: u64,
        /// Time between the arrival and the report.
        late: Duration,
    },
    /// A connection reported the state of its TCP.
    Observed {
        /// Segments received out of order since the start of the connection.
        out_of_order: u64,
        /// Segment size.
        mss: Bytes,
    },
    /// The stream's connection was lost.
    Failed,
}

impl What {
    /// Returns the word for the call in tables.
    pub fn name(&self) -> &'static str {
        match self {
            What::Asked { .. } => "asked",
            What::Received { .. } => "received",
            What::Observed { .. } => "observed",
            What::Failed => "failed",
        }
    }
}
