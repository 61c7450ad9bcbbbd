//! An outstanding tail loss probe.

/// A tail loss probe that was sent and has not been answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// End of the outstanding data at the time the probe was sent (TLP.end_seq).
    pub end: u64,
    /// True if the probe was a retransmission (TLP.is_retrans).
    pub retransmitted: bool,
}
