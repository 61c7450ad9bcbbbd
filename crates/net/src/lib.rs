//! A network without a clock: nodes, the wires between them, routes, and the order in which nodes are polled.
//!
//! The caller that drives a [`Network`] passes in the time: virtual time, or the time of the machine's clock. Only this
//! crate determines the order of events, so both kinds of time produce the same packets. Packets enter and leave at
//! hosts and [edges](NetNode::Edge).
//!
//! Left out: processing time in hosts and routers, routing protocols, and ICMP.

#![deny(missing_docs)]

mod crews;
mod event_queue;
mod merge_point;
mod network;
mod next_hop;
mod node;
mod regions;
mod routing;
mod run_ahead;

pub use event_queue::EventQueue;
pub use network::{Network, Progress};
pub use node::{Attachment, NetNode};
pub use routing::{Router, Routes};

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
