//! The ways on from one router to links that follow others: what its routes, its wires and the rows of links say, in
//! one look-up.

use crate::routing::Routes;
use lopsided_core::{NodeId, Packet, Port};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Where a packet goes on from a link that it has not entered yet, in as little room as there is: a place among the near
/// hops behind the router. It is one hop poorer already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way(u16);

impl Way {
    /// To be looked up when it enters.
    pub const UNKNOWN: Way = Way(u16::MAX);
}

/// Where a packet goes on from a link that leads others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Follower {
    Of(NodeId),
    /// The link behind this confluence, and where the packet goes on behind that.
    OfSeveral(usize, Way),
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
    /// The way on behind the link, where it follows several.
    way: Way,
    /// Up to where the packet's way is known.
    routers: u8,
}

const NOBODY: NodeId = NodeId(u32::MAX);
const NONE: u32 = u32::MAX;

impl Hop {
    /// No link, or one that follows none.
    pub const NOWHERE: Hop = Hop { link: NOBODY, leader: NOBODY, confluence: NONE, way: Way::UNKNOWN, routers: 1 };

    pub fn new(link: NodeId, leader: Option<NodeId>, confluence: Option<u32>) -> Hop {
        Hop {
            link,
            leader: leader.unwrap_or(NOBODY),
            confluence: confluence.unwrap_or(NONE),
            way: Way::UNKNOWN,
            routers: 1,
        }
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

    /// The ways on from here behind links that follow several, of which `leads_by` tells by which of `all` they lead
    /// others.
    pub fn ways(&self, all: &[Onward], leads_by: impl Fn(NodeId) -> u32) -> Vec<Way> {
        let way = |(place, hop): (usize, &Hop)| match all.get(leads_by(hop.link) as usize) {
            Some(behind) if hop.confluence != NONE => behind.way(self.first.wrapping_add(place as u32), hop.link),
            _ => Way::UNKNOWN,
        };
        self.near.iter().enumerate().map(way).collect()
    }

    pub fn set_ways(&mut self, ways: Vec<Way>) {
        for (hop, way) in self.near.iter_mut().zip(ways) {
            (hop.way, hop.routers) = (way, 1 + u8::from(way != Way::UNKNOWN));
        }
    }

    /// To this address, from a link to one that follows it alone.
    fn way(&self, address: u32, from: NodeId) -> Way {
        let place = address.wrapping_sub(self.first) as usize;
        let follows = self.near.get(place).is_some_and(|hop| hop.leader == from);
        if follows && place < usize::from(Way::UNKNOWN.0) { Way(place as u16) } else { Way::UNKNOWN }
    }

    /// The link that a way leads to.
    #[inline(always)]
    pub fn follower_by(&self, way: Way) -> NodeId {
        self.near[usize::from(way.0)].link
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
        if hop.confluence != NONE {
            let way = if packet.lower_ttl_by(hop.routers) { hop.way } else { one_router(packet)? };
            Some(Follower::OfSeveral(hop.confluence as usize, way))
        } else if hop.leader == from && packet.lower_ttl() {
            Some(Follower::Of(hop.link))
        } else {
            None
        }
    }
}

/// A packet that the second router would lose has the first one behind it, if that does not.
#[cold]
fn one_router(packet: &mut Packet) -> Option<Way> {
    packet.lower_ttl().then_some(Way::UNKNOWN)
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

    /// Behind link 0, link 1 gathers; behind that, link 2 follows.
    fn two_routers() -> [Onward; 2] {
        let mut routes = Routes::beginning_at(Ipv4Addr::new(10, 0, 0, 1));
        routes.set(TO.into(), Port(0));
        let hops = [Hop::new(NodeId(1), None, Some(7)), Hop::new(NodeId(2), Some(NodeId(1)), None)];
        let mut both = hops.map(|hop| Onward::new(&routes, |_| hop));
        let ways = both[0].ways(&both, |link| link.0);
        both[0].set_ways(ways);
        both
    }

    #[test]
    fn a_way_over_two_routers_is_known_at_the_first() {
        let [first, second] = two_routers();
        let mut packet = packet(3);
        let Some(Follower::OfSeveral(7, way)) = first.follower(NodeId(0), &mut packet) else { panic!("it goes on") };
        assert_ne!(way, Way::UNKNOWN);
        assert_eq!((second.follower_by(way), packet.ttl()), (NodeId(2), 1));
    }

    #[test]
    fn a_packet_that_the_second_router_loses_passes_the_first() {
        let [first, second] = two_routers();
        let mut packet = packet(2);
        let followed = first.follower(NodeId(0), &mut packet);
        assert!(matches!(followed, Some(Follower::OfSeveral(7, Way::UNKNOWN))), "{followed:?}");
        assert!(second.follower(NodeId(1), &mut packet).is_none());
        assert_eq!(packet.ttl(), 1);
        assert!(first.follower(NodeId(0), &mut packet).is_none(), "the first loses it");
    }
}
