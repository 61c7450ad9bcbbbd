//! A network without a clock: nodes, the wires between them, routes, and the order in which nodes are polled.
//!
//! Whoever drives a [`Network`] brings the time: the simulator in virtual time, a live world from the machine's clock.
//! Both get the same packets at the same instants, for the order is here and nowhere else. Packets enter and leave by
//! the hosts of the network or by its [edges](NetNode::Edge), where a driver injects those of others and takes what
//! came through.
//!
//! Leaves out: processing time in hosts and routers (they are infinitely fast), routing protocols, and ICMP.

mod confluence;
mod division;
mod event_queue;
mod inlets;
mod network;
mod onward;
mod parts;
mod routing;

pub use division::{Division, LinePair};
pub use event_queue::EventQueue;
pub use network::{Attachment, NetNode, Network, Progress};
pub use parts::{Parts, Together};
pub use routing::{Router, Routes};

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
