//! The ways on from one router to links that follow others: what its routes, its wires and the rows of links say, in
//! one look-up.

use crate::routing::Routes;
use lopsided_core::{NodeId, Packet, Port};
use std::collections::BTreeMap;
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
    /// Of the IPv4 addresses from `first` on, one after another.
    first: u32,
    near: Vec<Hop>,
    far: BTreeMap<IpAddr, Hop>,
    default: Hop,
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
    /// As a router's routes say, with the link at each of its ports.
    pub fn new(routes: &Routes, hop: impl Fn(Port) -> Hop) -> Onward {
        let hop = |port: Option<Port>| port.map_or(Hop::NOWHERE, &hop);
        let (first, near) = routes.near();
        let far = routes.far().map(|(address, port)| (address, hop(Some(port)))).collect();
        Onward { first, near: near.map(hop).collect(), far, default: hop(routes.default_port()) }
    }

    /// The follower of the link `from` that the packet goes to next, one hop poorer. Where there is none, or the router
    /// would lose the packet, it stays as it is.
    #[inline(always)]
    pub fn follower(&self, from: NodeId, packet: &mut Packet) -> Option<Follower> {
        let near = match packet.dst() {
            IpAddr::V4(dst) => self.near.get(dst.to_bits().wrapping_sub(self.first) as usize),
            IpAddr::V6(_) => None,
        };
        let hop = match near {
            Some(near) => near,
            None => self.far.get(&packet.dst()).unwrap_or(&self.default),
        };
        let follower = hop.behind(from)?;
        packet.lower_ttl().then_some(follower)
    }
}
