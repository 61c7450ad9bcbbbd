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
    /// Observers of packet events. [`crate::node_labels`] returns the names of the nodes.
    pub observers: Vec<Box<dyn Observer>>,
    /// Period in which observers receive events. `None` for the whole run.
    pub watched: Option<Watched>,
    /// True to check the result of every queue operation, which is slow. The default is true in builds with debug
    /// assertions.
    pub audit_queues: bool,
    /// Middleboxes to insert. Their node numbers follow the numbers of the scenario's nodes, in this order.
    pub middleboxes: Vec<MiddleboxPlacement>,
    /// Congestion controls in addition to the built-in ones. Pass their names to
    /// [`lopsided_scenario::Scenario::parse_with`] when you parse the scenario.
    pub controllers: RunControllers,
    /// Applications in addition to the built-in ones.
    pub applications: RunApplications,
    /// Hosts outside of the simulation. If a flow begins or ends at such a host, only its other end is simulated.
    pub outside: Vec<Outside>,
    /// Hosts whose packets the caller forwards between the host and its link; see [`Passage`].
    pub passages: Vec<usize>,
    /// Maximum number of threads for this run. The number of threads does not affect the result.
    pub cores: usize,
    /// Minimum number of events in a time window for which the parallel engine uses several threads. The default is
    /// about 1 ms of work.
    pub cores_from_events: f64,
}

/// A period of a run in which observers receive events. The period is extended to whole sampling intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Start of the period.
    pub from: Time,
    /// End of the period. Later events are not observed.
    pub to: Time,
    /// True if observers also receive the events at hosts before the period, for example to count each flow's bytes.
    pub hosts_before: bool,
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

/// A host outside of the simulation. In the network, an edge node replaces the host. Packets enter and leave at this
/// edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Index of the host in the scenario.
    pub host: usize,
    /// Addresses of the host in addition to its address in the scenario.
    pub addresses: Vec<IpAddr>,
    /// True if packets to unknown addresses are sent to this host, as over a default route.
    pub takes_the_rest: bool,
    /// True to keep the simulated host next to the edge. A router sends packets for the scenario's address to the
    /// simulated host.
    pub keeps_flows: bool,
}

/// A host whose packets the caller forwards between the host and its only link.
///
/// - Packets from the host leave at the edge `near`; the caller injects them at `far`.
/// - Packets to the host leave at `far`; the caller injects them at `near`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Index of the host in the scenario.
    pub host: usize,
    /// The edge node attached to the host.
    pub near: NodeId,
    /// The edge node attached to the host's link.
    pub far: NodeId,
}

/// A middlebox after one direction of a link. Packets from the link enter at port 0. Packets that the middlebox sends
/// through port 0 continue on their path.
#[derive(Debug)]
pub struct MiddleboxPlacement {
    /// Name of the middlebox in tables.
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
        // List all fields without `..`, so that the compiler reports a new field that is missing here.
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
