//! Fixed routes, and the router that forwards by them: at once, and without a buffer of its own (queues belong to
//! links).
//!
//! Leaves out prefixes, routing protocols and ICMP: a packet without a route, or whose time to live is over, is lost
//! with its reason.

use lopsided_core::{DropReason, Packet, Port};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Which port leads to which address.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    /// Of the IPv4 addresses from `first` on, one after another; [`Routes::NONE`] where there is no way.
    near: Vec<u16>,
    first: u32,
    far: BTreeMap<IpAddr, u16>,
    default: Option<u16>,
}

impl Routes {
    const NONE: u16 = u16::MAX;
    /// So many addresses behind the first are found by their number alone.
    const NEAR: u32 = 1 << 16;

    /// Routes that find the IPv4 addresses from `first` on fastest.
    pub fn beginning_at(first: Ipv4Addr) -> Routes {
        Routes { first: first.to_bits(), ..Routes::default() }
    }

    pub fn set(&mut self, dst: IpAddr, port: Port) {
        match self.offset(dst) {
            Some(offset) if offset < Routes::NEAR as usize => {
                if offset >= self.near.len() {
                    self.near.resize(offset + 1, Routes::NONE);
                }
                self.near[offset] = port.0;
            }
            _ => {
                self.far.insert(dst, port.0);
            }
        }
    }

    /// For every address without a route of its own.
    pub fn set_default(&mut self, port: Port) {
        self.default = Some(port.0);
    }

    /// The first of the addresses that are found by their number alone, and the way to each of them, one after another.
    pub(crate) fn near(&self) -> (u32, impl Iterator<Item = Option<Port>> + '_) {
        let address = |offset| IpAddr::V4(Ipv4Addr::from_bits(self.first.wrapping_add(offset)));
        (self.first, (0..self.near.len() as u32).map(move |offset| self.to(address(offset))))
    }

    /// The ways to the other addresses that have one of their own.
    pub(crate) fn far(&self) -> impl Iterator<Item = (IpAddr, Port)> + '_ {
        self.far.iter().map(|(address, port)| (*address, Port(*port)))
    }

    /// The way to every address without a route of its own.
    pub(crate) fn default_port(&self) -> Option<Port> {
        self.default.map(Port)
    }

    #[inline(always)]
    pub fn to(&self, dst: IpAddr) -> Option<Port> {
        let near = self.offset(dst).and_then(|offset| self.near.get(offset)).filter(|port| **port != Routes::NONE);
        match near {
            Some(port) => Some(Port(*port)),
            None => self.to_far(dst),
        }
    }

    #[cold]
    fn to_far(&self, dst: IpAddr) -> Option<Port> {
        self.far.get(&dst).copied().or(self.default).map(Port)
    }

    #[inline]
    fn offset(&self, dst: IpAddr) -> Option<usize> {
        match dst {
            IpAddr::V4(dst) => Some(dst.to_bits().wrapping_sub(self.first) as usize),
            IpAddr::V6(_) => None,
        }
    }
}

/// A node that sends each packet on by its destination, at once.
#[derive(Debug)]
pub struct Router {
    routes: Routes,
}

impl Router {
    pub fn new(routes: Routes) -> Router {
        Router { routes }
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The port that the packet would leave by; `None` if it would be lost here.
    #[inline]
    pub fn route(&self, packet: &Packet) -> Option<Port> {
        if packet.ttl() > 1 { self.routes.to(packet.dst()) } else { None }
    }

    /// The port that the packet leaves by, one hop poorer.
    #[inline]
    pub fn forward(&self, packet: &mut Packet) -> Result<Port, DropReason> {
        if !packet.lower_ttl() {
            return Err(DropReason::TtlExpired);
        }
        self.routes.to(packet.dst()).ok_or(DropReason::NoRoute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn near_far_and_default_routes() {
        let near = |host: u32| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0001 + host));
        let far: IpAddr = Ipv6Addr::LOCALHOST.into();
        let mut routes = Routes::beginning_at(Ipv4Addr::new(10, 0, 0, 1));
        routes.set(near(3), Port(2));
        routes.set(near(Routes::NEAR + 7), Port(5));
        routes.set(far, Port(4));
        assert_eq!(routes.to(near(3)), Some(Port(2)));
        assert_eq!(routes.to(near(Routes::NEAR + 7)), Some(Port(5)));
        assert_eq!(routes.to(far), Some(Port(4)));
        assert_eq!((routes.to(near(2)), routes.to(near(9))), (None, None));
        routes.set_default(Port(1));
        assert_eq!((routes.to(near(2)), routes.to(near(3))), (Some(Port(1)), Some(Port(2))));
    }
}
