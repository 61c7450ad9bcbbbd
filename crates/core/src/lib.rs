//! The types that all crates of lopsided share: time, units, packets, the interface of nodes, random streams and the
//! accounting.
//!
//! The crate has no clock, no I/O and no global state: each call of a state machine receives the time and a [`Cx`].

#![deny(missing_docs)]

mod accounting;
mod checksum;
mod event;
mod node;
mod node_id;
pub mod packet;
mod rng;
mod seq;
pub mod tcp_event;
mod time;
mod units;
pub mod wire;

pub use accounting::{Accounting, Conservation, Count, Digest, NodeCounters};
pub use event::{DropReason, Event, EventMask, MarkReason, Observer, TcpEndpoint};
pub use node::{Cx, Node, Port};
pub use node_id::NodeId;
pub use packet::{Ecn, FlowId, IpHeader, NewPacket, Packet, Payload, Transport};
pub use rng::Rng;
pub use seq::Seq;
pub use time::{Duration, Time};
pub use units::{BitRate, Bytes};

/// Direction of an access line: towards the client (`Down`) or away from it (`Up`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dir {
    /// Towards the client, usually the faster direction.
    Down,
    /// Away from the client.
    Up,
}

impl Dir {
    /// Both directions, `Down` first.
    pub const BOTH: [Dir; 2] = [Dir::Down, Dir::Up];

    /// Returns the direction's name in scenarios and tables: `down` or `up`.
    pub fn name(self) -> &'static str {
        match self {
            Dir::Down => "down",
            Dir::Up => "up",
        }
    }

    /// Returns the other direction.
    pub fn reverse(self) -> Dir {
        match self {
            Dir::Down => Dir::Up,
            Dir::Up => Dir::Down,
        }
    }
}

/// The code in README.md, which the documentation tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
