//! The congestion state of a sender.

/// The phase of a sender, in Linux's names and order (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    Open,
    /// Duplicate or selective ACKs came, too few to mean a loss.
    Disorder,
    /// The window comes down without a loss to repair (ECN, a repaired tail loss).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until what was out then is acknowledged.
    Loss,
}

impl CaState {
    pub fn name(self) -> &'static str {
        match self {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
}
