//! Next-hop tables. For a packet that arrives at a router over a leader, they return the link that the packet enters
//! next.
//!
//! The table of one router combines its routes, the wires of its ports, and the rows of links in `network/rows.rs`. It
//! also decrements the packet's TTL.
//!
//! Invariants:
//!
//! - A look-up returns a link only if this link follows the last link of the packet. Otherwise the look-up returns
//!   `None`, and the packet arrives at the router by an event.
//! - A link with several leaders may be the only leader of a follower behind a second router. The look-up then also
//!   returns the next hop behind the second router (a [`HopIndex`]), and lowers the TTL by 2.
//! - Tables are built once and never change, so all threads share them.

use crate::routing::Routes;
use lopsided_core::{NodeId, Packet, Port};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The next hop behind a link that the packet will enter: an index into [`NextHops::near`]. The index has 16 bits,
/// because each packet at a merge point stores one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HopIndex(u16);

impl HopIndex {
    /// The next hop is not known yet. It is looked up when the packet enters the link.
    pub const UNKNOWN: HopIndex = HopIndex(u16::MAX);
}

/// The next hop of a packet that arrives over a leader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Follower {
    /// A link whose only leader is the previous link of the packet.
    Of(NodeId),
    /// A link with several leaders: the index of its merge point, and the next hop behind the link.
    OfSeveral(usize, HopIndex),
}

/// The next-hop table of one router: the next link for each destination address.
#[derive(Debug)]
pub(crate) struct NextHops {
    /// First of the consecutive IPv4 addresses that `near` covers.
    first: u32,
    /// The next hops of the IPv4 addresses from `first` on, by offset.
    near: Vec<NextHop>,
    /// The next hops of all other addresses that have a route.
    far: BTreeMap<IpAddr, NextHop>,
    /// The next hop of addresses without their own route.
    default: NextHop,
}

/// A next hop: the link from a router towards a destination, and the data that a packet needs to enter this link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextHop {
    link: NodeId,
    /// The only leader of the link; [`NO_NODE`] if the link has no leader or several leaders.
    leader: NodeId,
    /// Index of the merge point in front of the link; [`NONE`] if the link has at most one leader.
    merge_point: u32,
    /// The next hop behind the link. [`HopIndex::UNKNOWN`] unless the link has several leaders and one follower.
    next_hop: HopIndex,
    /// Number of routers by which the TTL is lowered: 2 if `next_hop` is known, otherwise 1.
    routers: u8,
}

const NO_NODE: NodeId = NodeId(u32::MAX);
const NONE: u32 = u32::MAX;

impl NextHop {
    /// The entry for a next node that is not a follower, or for a missing route.
    pub const NOWHERE: NextHop =
        NextHop { link: NO_NODE, leader: NO_NODE, merge_point: NONE, next_hop: HopIndex::UNKNOWN, routers: 1 };

    /// Creates a next hop over `link`. [`NextHops::set_next_hops`] sets the next hop behind this link later.
    pub fn new(link: NodeId, leader: Option<NodeId>, merge_point: Option<u32>) -> NextHop {
        NextHop {
            link,
            leader: leader.unwrap_or(NO_NODE),
            merge_point: merge_point.unwrap_or(NONE),
            next_hop: HopIndex::UNKNOWN,
            routers: 1,
        }
    }
}

impl NextHops {
    /// Creates the next-hop table of a router with these routes. `hop` returns the next hop behind a port.
    pub fn new(routes: &Routes, hop: impl Fn(Port) -> NextHop) -> NextHops {
        // An address without a route has no follower, so the packet arrives at the router by an event, and the router
        // drops it.
        let hop = |port: Option<Port>| port.map_or(NextHop::NOWHERE, &hop);
        let (first, near) = routes.near();
        let far = routes.far().map(|(address, port)| (address, hop(Some(port)))).collect();
        NextHops { first, near: near.map(hop).collect(), far, default: hop(routes.default_port()) }
    }

    /// Computes the next hop behind each link with several leaders, for each address in `near`. `leads_by` returns the
    /// index of a link's table in `all`.
    pub fn next_hops_behind(&self, all: &[NextHops], leads_by: impl Fn(NodeId) -> u32) -> Vec<HopIndex> {
        let next_hop = |(place, hop): (usize, &NextHop)| match all.get(leads_by(hop.link) as usize) {
            Some(behind) if hop.merge_point != NONE => behind.next_hop(self.first.wrapping_add(place as u32), hop.link),
            _ => HopIndex::UNKNOWN,
        };
        self.near.iter().enumerate().map(next_hop).collect()
    }

    /// Stores the result of [`NextHops::next_hops_behind`].
    pub fn set_next_hops(&mut self, indices: Vec<HopIndex>) {
        for (hop, next_hop) in self.near.iter_mut().zip(indices) {
            (hop.next_hop, hop.routers) = (next_hop, 1 + u8::from(next_hop != HopIndex::UNKNOWN));
        }
    }

    /// Returns the next hop from `from` to `address`, if `from` is the only leader of the next link.
    fn next_hop(&self, address: u32, from: NodeId) -> HopIndex {
        let place = address.wrapping_sub(self.first) as usize;
        // The next link is known to accept all packets of `from` only if `from` is its only leader.
        let follows = self.near.get(place).is_some_and(|hop| hop.leader == from);
        if follows && place < usize::from(HopIndex::UNKNOWN.0) { HopIndex(place as u16) } else { HopIndex::UNKNOWN }
    }

    /// Returns the link to which a known next hop refers.
    #[inline(always)]
    pub fn follower_by(&self, next_hop: HopIndex) -> NodeId {
        self.near[usize::from(next_hop.0)].link
    }

    /// Returns the follower that the packet enters after the link `from`, and lowers the packet's TTL. If there is no
    /// follower, returns `None` and changes nothing.
    #[inline(always)]
    pub fn follower(&self, from: NodeId, packet: &mut Packet) -> Option<Follower> {
        // Scenario hosts have consecutive IPv4 addresses, so an array access finds the hop.
        let near = match packet.dst() {
            IpAddr::V4(dst) => self.near.get(dst.to_bits().wrapping_sub(self.first) as usize),
            IpAddr::V6(_) => None,
        };
        let hop = match near {
            Some(near) => near,
            None => self.far.get(&packet.dst()).unwrap_or(&self.default),
        };
        if hop.merge_point != NONE {
            // The TTL may be too low for two routers. `lower_ttl_by` then changes nothing.
            let next_hop = if packet.lower_ttl_by(hop.routers) { hop.next_hop } else { one_router(packet)? };
            Some(Follower::OfSeveral(hop.merge_point as usize, next_hop))
        } else if hop.leader == from && packet.lower_ttl() {
            Some(Follower::Of(hop.link))
        } else {
            None
        }
    }
}

/// Lowers the TTL for one router only, because the second router must drop the packet. The packet arrives at the second
/// router by an event.
#[cold]
fn one_router(packet: &mut Packet) -> Option<HopIndex> {
    packet.lower_ttl().then_some(HopIndex::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::packet::{FlowId, IpHeader, NewPacket, UdpHeader};
    use lopsided_core::{Payload, Time, Transport};
    use std::net::Ipv4Addr;

    const TO: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

    fn packet(ttl: u8) -> Packet {
        let ip = IpHeader { ttl, ..IpHeader::v4(Ipv4Addr::LOCALHOST, TO) };
        let new = NewPacket::new(FlowId(0), ip, Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 }), Payload::EMPTY);
        Packet::unbooked(1, Time::ZERO, new)
    }

    /// Returns two tables. Link 1, which has a merge point, is behind link 0. Link 2 follows link 1.
    fn two_routers() -> [NextHops; 2] {
        let mut routes = Routes::beginning_at(Ipv4Addr::new(10, 0, 0, 1));
        routes.set(TO.into(), Port(0));
        let hops = [NextHop::new(NodeId(1), None, Some(7)), NextHop::new(NodeId(2), Some(NodeId(1)), None)];
        let mut both = hops.map(|hop| NextHops::new(&routes, |_| hop));
        let indices = both[0].next_hops_behind(&both, |link| link.0);
        both[0].set_next_hops(indices);
        both
    }

    #[test]
    fn the_first_router_finds_the_next_hop_after_both_routers() {
        let [first, second] = two_routers();
        let mut packet = packet(3);
        let Some(Follower::OfSeveral(7, next_hop)) = first.follower(NodeId(0), &mut packet) else {
            panic!("the packet has a next hop")
        };
        assert_ne!(next_hop, HopIndex::UNKNOWN);
        assert_eq!((second.follower_by(next_hop), packet.ttl()), (NodeId(2), 1));
    }

    #[test]
    fn a_packet_whose_ttl_expires_at_the_second_router_passes_the_first() {
        let [first, second] = two_routers();
        let mut packet = packet(2);
        let followed = first.follower(NodeId(0), &mut packet);
        assert!(matches!(followed, Some(Follower::OfSeveral(7, HopIndex::UNKNOWN))), "{followed:?}");
        assert!(second.follower(NodeId(1), &mut packet).is_none());
        assert_eq!(packet.ttl(), 1);
        assert!(first.follower(NodeId(0), &mut packet).is_none(), "the first router drops the packet");
    }
}
