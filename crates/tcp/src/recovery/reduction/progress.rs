//! The state of a reduction.

/// A reduction under way, towards the controller's target. `cwnd` is the window in force.
#[derive(Debug)]
pub(crate) struct Reduction {
    /// The window in force, in bytes.
    pub cwnd: u64,
    /// The window at the end of the reduction, in bytes (RFC 6937's ssthresh).
    pub target: u64,
    /// The window before the reduction, in bytes (RFC 6937's RecoverFS).
    pub prior_cwnd: u64,
    /// Bytes delivered since the reduction began (RFC 6937's prr_delivered).
    pub delivered: u64,
    /// Number of ACKs that delivered data since the reduction began, for rate halving.
    pub acks: u64,
    /// Bytes sent since the reduction began (RFC 6937's prr_out).
    pub sent: u64,
    /// True if the reduction was undone but the state continues. The old threshold is then the target.
    pub undone: bool,
}
