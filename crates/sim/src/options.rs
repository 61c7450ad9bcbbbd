//! How to run, beside what the scenario says.

use lopsided_app::RunApplications;
use lopsided_core::{Dir, Node, NodeId, Observer};
use lopsided_tcp::RunControllers;
use std::fmt;
use std::net::IpAddr;

/// How to run, beside what the scenario says.
pub struct RunOptions {
    /// Watchers of the packets; [`crate::node_labels`] tells them which node is which.
    pub observers: Vec<Box<dyn Observer>>,
    /// Check every operation of every queue (slow). By default so in builds with debug assertions.
    pub audit_queues: bool,
    /// Nodes put into the way; each has the number after the last, in this order.
    pub middleboxes: Vec<MiddleboxPlacement>,
    /// Congestion controls beside the built-in ones; [`Scenario::parse_with`] takes their names.
    pub controllers: RunControllers,
    /// Applications beside the built-in ones.
    pub applications: RunApplications,
    /// Hosts whose part somebody else plays; of a flow that begins or ends there only the other end is placed.
    pub outside: Vec<Outside>,
    /// Hosts between whom and their links packets leave the network and come back: see [`Passage`].
    pub passages: Vec<usize>,
    /// At most so many threads for this one run, where that pays. The result is the same.
    pub cores: usize,
    /// It pays where so many events or more happen in the delay of the line that is cut. By default 4,000: two cores
    /// were measured to be even with one at 3,000 (0.35 us each), and 1.4 times as fast at 35,000.
    pub cores_from_events: f64,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            observers: Vec::new(),
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

/// A host whose part somebody else plays: in its place the network has an edge, where packets of others enter and
/// leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// A place in the scenario's hosts.
    pub host: usize,
    /// Its addresses beside the one that it has in the scenario.
    pub addresses: Vec<IpAddr>,
    /// Whether packets for addresses that nobody has go to it, as to the internet.
    pub takes_the_rest: bool,
}

/// A host whose packets somebody else carries between it and its one link: what it sends comes out at the edge `near`
/// and is to enter again at `far`; what comes for it goes the other way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// A place in the scenario's hosts.
    pub host: usize,
    pub near: NodeId,
    pub far: NodeId,
}

/// A middlebox in its place: what leaves this direction of the link enters it by port 0, and what leaves it by port 0
/// goes on.
#[derive(Debug)]
pub struct MiddleboxPlacement {
    /// Its name in the table of nodes.
    pub name: String,
    /// A place in the scenario's links.
    pub link: usize,
    pub dir: Dir,
    pub node: Box<dyn Node>,
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunOptions {
            observers,
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
