//! An outstanding tail loss probe.

/// A probe that was sent and is not yet answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// End of the data outstanding with it (TLP.end_seq).
    pub end: u64,
    /// The probe was a retransmission (TLP.is_retrans).
    pub retransmitted: bool,
}
