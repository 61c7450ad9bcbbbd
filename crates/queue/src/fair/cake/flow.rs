//! A flow of a tin, and its place in the order of service.

use crate::aqm::cobalt::Cobalt;
use crate::tools::ring::PacketRing;

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum FlowState {
    /// The place is unused.
    #[default]
    None,
    /// In the list of new flows.
    Sparse,
    /// A sparse flow that became empty. It passes once through the busy flows.
    Waiting,
    /// Busy: in the list of busy flows, or skipping rounds.
    Bulk,
    /// Empty, while COBALT's state decays.
    Decaying,
}

/// The list whose head is served.
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
    /// Bytes that the flow may still send; negative after a packet that was larger than the rest.
    pub deficit: i64,
    /// True if the flow skips rounds.
    pub skips: bool,
    /// Service of the flow's source and destination when it started to skip rounds, in quanta.
    pub served: (f64, f64),
    pub source: Option<usize>,
    pub destination: Option<usize>,
    /// Number of times that the flow was put on the decaying list. An older entry there is invalid.
    pub decays: u32,
}
