//! How to run, beside what the scenario says.

use lopsided_app::Applications;
use lopsided_core::{Dir, Node, Observer};
use lopsided_tcp::Controllers;
use std::fmt;

/// How to run, beside what the scenario says.
#[derive(Default)]
pub struct RunOptions {
    /// Watchers of the packets; [`crate::node_labels`] tells them which node is which.
    pub observers: Vec<Box<dyn Observer>>,
    /// Check every operation of every queue (slow). Always so in builds with debug assertions.
    pub audit_queues: bool,
    /// Nodes put into the way; each has the number after the last, in this order.
    pub middleboxes: Vec<MiddleboxPlacement>,
    /// Congestion controls beside the built-in ones; [`Scenario::parse_with`] takes their names.
    pub controllers: Controllers,
    /// Applications beside the built-in ones.
    pub applications: Applications,
}

/// A middlebox in its place: what leaves this direction of the link enters it by port 0, and what leaves it by port 0 goes on.
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
        let RunOptions { observers, audit_queues, middleboxes, controllers, applications } = self;
        let mut shown = f.debug_struct("RunOptions");
        shown
            .field("observers", &observers.len())
            .field("audit_queues", audit_queues)
            .field("middleboxes", middleboxes)
            .field("controllers", controllers)
            .field("applications", applications)
            .finish()
    }
}
