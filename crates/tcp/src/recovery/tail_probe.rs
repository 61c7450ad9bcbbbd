//! An outstanding tail loss probe.

/// A probe that was sent and not yet answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// End of all outstanding data when the probe was sent (TLP.end_seq).
    pub end: u64,
    /// True if the probe was a retransmission (TLP.is_retrans).
    pub retransmitted: bool,
}
