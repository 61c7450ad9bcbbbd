//! The calls of a transfer's methods, each with the state after the call. A transfer can be replayed from these
//! records.

use crate::congestion::Loss;
use lopsided_core::{Bytes, Duration, Time};

/// A call of a transfer's method, and the state after the call.
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
    /// Number of bytes that were requested but not received.
    pub requested: u64,
}

/// A call of a transfer's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A range was requested on an idle stream.
    Asked {
        /// Offset of the first byte in the object.
        first: u64,
        /// Number of bytes.
        octets: u64,
    },
    /// The arrival of data was reported.
    Received {
        /// Offset of the first byte in the object.
        first: u64,
        /// Number of bytes.
        octets: u64,
        /// Time between the arrival of the data and the report.
        late: Duration,
    },
    /// The state of a connection's TCP was reported.
    Observed {
        /// Segments received out of order since the start of the connection.
        out_of_order: u64,
        /// Segment size.
        mss: Bytes,
    },
    /// The failure of the stream's connection was reported.
    Failed,
}

impl What {
    /// Returns the name of the call, as used in tables.
    pub fn name(&self) -> &'static str {
        match self {
            What::Asked { .. } => "asked",
            What::Received { .. } => "received",
            What::Observed { .. } => "observed",
            What::Failed => "failed",
        }
    }
}
