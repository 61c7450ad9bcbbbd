//! What a transfer was told and what came of it, step by step: enough to do it again, and to see what it was that it
//! answered to.

use crate::congestion::Loss;
use lopsided_core::{Bytes, Duration, Time};

/// One call, and the state after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of the step.
    pub at: Time,
    /// Number of the stream.
    pub stream: usize,
    /// The event.
    pub what: What,
    /// What the step made of a loss that it saw.
    pub loss: Option<Loss>,
    /// The window of the one sender; `None` where nothing limits what is asked for.
    pub window: Option<Bytes>,
    /// Asked for and not received.
    pub requested: u64,
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An idle stream was given so many octets to ask for, from the `first` on.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Asked { first: u64, octets: u64 },
    /// Octets of the object were told of, so long after they had come.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Received { first: u64, octets: u64, late: Duration },
    /// The connection told of this many segments out of order since it began, and of its segment size.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Observed { out_of_order: u64, mss: Bytes },
    /// The stream's connection was gone.
    Failed,
}

impl What {
    /// The word for it in tables.
    pub fn name(&self) -> &'static str {
        match self {
            What::Asked { .. } => "asked",
            What::Received { .. } => "received",
            What::Observed { .. } => "observed",
            What::Failed => "failed",
        }
    }
}
