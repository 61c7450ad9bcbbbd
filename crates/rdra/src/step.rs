//! A transfer's calls and the state after each of them: enough to repeat the transfer, and to see what it reacted to.

use crate::congestion::Loss;
use lopsided_core::{Bytes, Duration, Time};

/// A call, and the state after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of the step.
    pub at: Time,
    /// Number of the stream.
    pub stream: usize,
    /// The event.
    pub what: What,
    /// The cause that a loss was attributed to, if the step saw one.
    pub loss: Option<Loss>,
    /// The window of the one sender; `None` if the mode has no window.
    pub window: Option<Bytes>,
    /// Octets requested and not received.
    pub requested: u64,
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An idle stream requests `octets` octets from `first` on.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Asked { first: u64, octets: u64 },
    /// `octets` octets from `first` on were reported, `late` after they arrived.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Received { first: u64, octets: u64, late: Duration },
    /// The connection reported its segments out of order since it began, and its segment size.
    #[expect(missing_docs, reason = "the variant's comment names its fields")]
    Observed { out_of_order: u64, mss: Bytes },
    /// The stream's connection was gone.
    Failed,
}

impl What {
    /// The word for the call in tables.
    pub fn name(&self) -> &'static str {
        match self {
            What::Asked { .. } => "asked",
            What::Received { .. } => "received",
            What::Observed { .. } => "observed",
            What::Failed => "failed",
        }
    }
}
