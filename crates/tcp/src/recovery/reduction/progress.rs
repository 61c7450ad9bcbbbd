//! A reduction of the window under way.

/// A reduction under way. The controller has set the target; until it ends this is the window.
#[derive(Debug)]
pub(crate) struct Reduction {
    pub cwnd: u64,
    pub target: u64,
    /// The window when it began (RFC 6937's RecoverFS).
    pub prior_cwnd: u64,
    pub delivered: u64,
    /// ACKs that brought news, for rate halving.
    pub acks: u64,
    pub sent: u64,
    /// It was not needed, and the state holds: the target is the threshold before, and is not the controller's window.
    pub undone: bool,
}
