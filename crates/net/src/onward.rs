//! The ways on from one router to links that follow others: what its routes, its wires and the rows of links say, in
//! one look-up.

use lopsided_core::{NodeId, Packet};
use std::net::IpAddr;

/// Where a packet goes on from a link that leads others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Follower {
    Of(NodeId),
    /// The link behind this confluence.
    OfSeveral(usize),
}

/// Behind one router: the link that each address is reached by.
#[derive(Debug)]
pub(crate) struct Onward {
    pub router: NodeId,
    /// Of the IPv4 addresses from `first` on, one after another.
    first: u32,
    near: Vec<Hop>,
}

/// A link behind the router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    link: NodeId,
    /// The link that it follows, where that is one alone; [`NOBODY`] if there is none.
    leader: NodeId,
    /// The confluence before it, where it follows several; [`NONE`] if it does not.
    confluence: u32,
}

const NOBODY: NodeId = NodeId(u32::MAX);
const NONE: u32 = u32::MAX;

impl Hop {
    /// No link, or one that follows none.
    pub const NOWHERE: Hop = Hop { link: NOBODY, leader: NOBODY, confluence: NONE };

    pub fn new(link: NodeId, leader: Option<NodeId>, confluence: Option<u32>) -> Hop {
        Hop { link, leader: leader.unwrap_or(NOBODY), confluence: confluence.unwrap_or(NONE) }
    }

    /// For a packet that comes from that link.
    #[inline(always)]
    pub fn behind(self, from: NodeId) -> Option<Follower> {
        if self.confluence != NONE {
            return Some(Follower::OfSeveral(self.confluence as usize));
        }
        (self.leader == from).then_some(Follower::Of(self.link))
    }
}

impl Onward {
    /// What `near` says of the addresses from `first` on.
    pub fn new(router: NodeId, first: u32, near: Vec<Hop>) -> Onward {
        Onward { router, first, near }
    }

    /// The link that leads to the packet's destination; `None` if the routes must be asked.
    #[inline(always)]
    pub fn hop(&self, packet: &Packet) -> Option<Hop> {
        let IpAddr::V4(dst) = packet.dst() else { return None };
        self.near.get(dst.to_bits().wrapping_sub(self.first) as usize).copied()
    }
}
