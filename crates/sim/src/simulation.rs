//! A network that is ready to run, and the node numbers that are needed to interpret its results.

use crate::catalogue::Name;
use crate::event_log::Places;
use crate::host::Host;
use crate::labels::{NodeLabel, node_labels};
use crate::options::Passage;
use lopsided_core::{NodeId, Time};
use lopsided_net::Network;
use lopsided_scenario::Scenario;

/// A network, with the node numbers of its links and the locations of its flows.
#[derive(Debug)]
pub(crate) struct Simulation {
    pub network: Network<Host>,
    /// The flows, by number.
    pub flows: Vec<FlowSite>,
    /// Number of link directions: two per link.
    pub links: usize,
    /// Node number of the first link direction.
    pub first_link: usize,
    /// Names of all nodes; empty until [`Simulation::name_nodes`].
    pub places: Places,
    /// Names of the nodes that the scenario does not name.
    pub unnamed: Vec<NodeLabel>,
    /// The edges of each passage, in the order of the options.
    pub passages: Vec<Passage>,
    /// The edge of each outside host, in the order of the options.
    pub edges: Vec<NodeId>,
}

impl Simulation {
    /// Names all nodes, before the first row of a table. A run of many flows does not need the names until its end.
    pub fn name_nodes(&mut self, scenario: &Scenario) {
        if self.places.len() == 0 {
            let mut labels = node_labels(scenario);
            labels.append(&mut self.unnamed);
            self.places = Places::new(&labels);
        }
    }

    /// Returns the node of a link direction. Directions 0 and 1 are down and up of the first link, and so on.
    pub fn link_node(&self, link: usize) -> NodeId {
        NodeId((self.first_link + link) as u32)
    }

    /// Returns the name of a host, by its number in the scenario.
    pub fn host_name(&self, host: usize) -> Name {
        self.places.of(NodeId(host as u32)).0
    }
}

/// The two applications of a flow, and the flow's times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowSite {
    /// The application at the data sender; `None` if the host is outside of the simulation, see [`crate::Outside`].
    pub source: Option<AppSite>,
    /// The application at the data receiver; `None` if the host is outside of the simulation.
    pub sink: Option<AppSite>,
    /// Start of the flow, including jitter.
    pub start: Time,
    /// Time at which the application stops.
    pub stop: Time,
    /// True if the applications exchange datagrams instead of using connections.
    pub datagrams: bool,
}

/// Location of an application: its host, and its index at that host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppSite {
    pub host: NodeId,
    pub app: usize,
}
