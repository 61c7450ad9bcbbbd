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
    /// Octets sent again before it began that are still out.
    pub again_before: u64,
}

impl Reduction {
    /// Stays at `cwnd` until it ends.
    pub fn held(cwnd: u64) -> Reduction {
        Reduction { cwnd, target: cwnd, prior_cwnd: cwnd, delivered: 0, acks: 0, sent: cwnd, again_before: 0 }
    }
}
