//! A network ready to run, and where the results find in it what they report on.

use crate::catalogue::Name;
use crate::event_log::Places;
use crate::host::Host;
use crate::options::Passage;
use lopsided_core::{NodeId, Time};
use lopsided_net::Network;

#[derive(Debug)]
pub(crate) struct Simulation {
    pub network: Network<Host>,
    pub flows: Vec<FlowSite>,
    /// Directions of links.
    pub links: usize,
    pub first_link: usize,
    pub places: Places,
    pub passages: Vec<Passage>,
}

impl Simulation {
    /// The node of a link's direction: down and up of the first link, then of the next.
    pub fn link_node(&self, link: usize) -> NodeId {
        NodeId((self.first_link + link) as u32)
    }

    /// By its number in the scenario.
    pub fn host_name(&self, host: usize) -> Name {
        self.places.of(NodeId(host as u32)).0
    }
}

/// Where a flow's two applications are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowSite {
    /// `None` where somebody else plays the host's part, see [`crate::Outside`].
    pub source: Option<AppSite>,
    pub sink: Option<AppSite>,
    /// The start with its jitter.
    pub start: Time,
    pub stop: Time,
    /// The two applications exchange datagrams rather than connections.
    pub datagrams: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AppSite {
    pub host: NodeId,
    pub app: usize,
}
