//! The state of a reduction.

/// A reduction under way. The controller has set the target; until the reduction ends, `cwnd` is the window.
#[derive(Debug)]
pub(crate) struct Reduction {
    pub cwnd: u64,
    pub target: u64,
    /// The window before the reduction (RFC 6937's RecoverFS).
    pub prior_cwnd: u64,
    pub delivered: u64,
    /// Number of ACKs that delivered something, for rate halving.
    pub acks: u64,
    pub sent: u64,
    /// The reduction was undone but the state stays: the target is the earlier threshold instead of the controller's
    /// window.
    pub undone: bool,
}
