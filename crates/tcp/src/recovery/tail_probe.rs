//! A tail loss probe on its way.

/// A probe that was sent and not yet answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// The end of the data that was out with it (TLP.end_seq).
    pub end: u64,
    /// It was a retransmission (TLP.is_retrans).
    pub retransmitted: bool,
}
