//! A flow of a tin, and its position in the order of service.

use crate::aqm::cobalt::Cobalt;
use crate::tools::ring::PacketRing;

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum FlowState {
    /// The entry is unused.
    #[default]
    None,
    /// The flow is in the list of new flows.
    Sparse,
    /// A sparse flow that became empty. It is kept in the list of busy flows for one turn.
    Waiting,
    /// The flow is in the list of busy flows.
    Bulk,
    /// The flow is empty, and is kept until COBALT's state has decayed.
    Decaying,
}

/// One of a tin's lists of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

/// One flow.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub ring: PacketRing,
    pub cobalt: Cobalt,
    pub state: FlowState,
    /// Number of bytes that the flow may still send. Negative after a packet that was larger than the deficit.
    pub deficit: i64,
    pub source: Option<usize>,
    pub destination: Option<usize>,
    /// Number of times that the flow started to decay. List entries with smaller numbers are outdated.
    pub decays: u32,
}
