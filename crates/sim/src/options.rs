//! Options of a run that are not part of the scenario.

use lopsided_app::RunApplications;
use lopsided_core::{Dir, Node, NodeId, Observer, Time};
use lopsided_tcp::RunControllers;
use std::fmt;
use std::net::IpAddr;

/// Options of a run that are not part of the scenario.
///
/// # Examples
///
/// ```
/// use lopsided_sim::RunOptions;
///
/// let options = RunOptions { cores: 2, ..RunOptions::default() };
/// assert_eq!(options.cores_from_events, 4_000.0);
/// ```
pub struct RunOptions {
    /// Observers of packet events. [`crate::node_labels`] has the names of the nodes.
    pub observers: Vec<Box<dyn Observer>>,
    /// The time in which observers receive events between hosts, which makes a run slower. It is widened to whole
    /// sampling intervals of the scenario. Before it observers receive only the events of hosts, after it none. `None`
    /// is the whole run.
    pub watched: Option<(Time, Time)>,
    /// True to check every operation of every queue, which is slow. By default true in builds with debug assertions.
    pub audit_queues: bool,
    /// Middleboxes. Their node numbers follow the last node of the scenario, in this order.
    pub middleboxes: Vec<MiddleboxPlacement>,
    /// Congestion controls in addition to the built-in ones. [`lopsided_scenario::Scenario::parse_with`] must get their
    /// names.
    pub controllers: RunControllers,
    /// Applications in addition to the built-in ones.
    pub applications: RunApplications,
    /// Hosts outside of the simulation. If a flow begins or ends there, only its other end is simulated.
    pub outside: Vec<Outside>,
    /// Hosts whose packets leave the network between the host and its link, and come back: see [`Passage`].
    pub passages: Vec<usize>,
    /// Maximum number of threads for this run. Fewer are used if more would not be faster. The result is the same.
    pub cores: usize,
    /// Minimum number of events in a window of lookahead to use several threads. Default 4,000, about 1 ms of work.
    pub cores_from_events: f64,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            observers: Vec::new(),
            watched: None,
            audit_queues: cfg!(debug_assertions),
            middleboxes: Vec::new(),
            controllers: RunControllers::default(),
            applications: RunApplications::default(),
            outside: Vec::new(),
            passages: Vec::new(),
            cores: 1,
            cores_from_events: 4_000.0,
        }
    }
}

/// A host outside of the simulation. The network has an edge at its place, where packets enter and leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Index of the host in the scenario.
    pub host: usize,
    /// Addresses of the host in addition to its address in the scenario.
    pub addresses: Vec<IpAddr>,
    /// True if packets to unknown addresses go to this host, as to the Internet.
    pub takes_the_rest: bool,
    /// True if a simulated host with the scenario's flows stays at this place, next to the edge. A router in front of
    /// both delivers packets for the address in the scenario to the simulated host.
    pub keeps_flows: bool,
}

/// A host whose packets the caller carries between the host and its only link. An edge node replaces each end of that
/// connection. Packets from the host leave at the edge `near`, and the caller injects them at `far`. Packets to the
/// host leave at `far`, and the caller injects them at `near`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Index of the host in the scenario.
    pub host: usize,
    /// The edge node attached to the host.
    pub near: NodeId,
    /// The edge node attached to the host's link.
    pub far: NodeId,
}

/// A middlebox behind one direction of a link. Packets from the link enter its port 0, and packets that it sends
/// through port 0 continue to the next node.
#[derive(Debug)]
pub struct MiddleboxPlacement {
    /// Its name in the tables.
    pub name: String,
    /// Index of the link in the scenario.
    pub link: usize,
    /// The direction of the link.
    pub dir: Dir,
    /// The node.
    pub node: Box<dyn Node>,
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunOptions {
            observers,
            watched,
            audit_queues,
            middleboxes,
            controllers,
            applications,
            outside,
            passages,
            cores,
            cores_from_events,
        } = self;
        let mut shown = f.debug_struct("RunOptions");
        shown
            .field("observers", &observers.len())
            .field("watched", watched)
            .field("audit_queues", audit_queues)
            .field("middleboxes", middleboxes)
            .field("controllers", controllers)
            .field("applications", applications)
            .field("outside", outside)
            .field("passages", passages)
            .field("cores", cores)
            .field("cores_from_events", cores_from_events)
            .finish()
    }
}
