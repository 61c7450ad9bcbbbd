//! Fixed routes, and the router, which forwards packets immediately and has no buffer.
//!
//! Left out: prefixes, routing protocols and ICMP.

use lopsided_core::{DropReason, Packet, Port};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// A routing table: maps each destination address to a port. Entries are single addresses, not prefixes.
///
/// # Examples
///
/// ```
/// use lopsided_core::Port;
/// use lopsided_net::Routes;
/// use std::net::Ipv4Addr;
///
/// let mut routes = Routes::beginning_at(Ipv4Addr::new(10, 0, 0, 1));
/// routes.set(Ipv4Addr::new(10, 0, 0, 2).into(), Port(0));
/// routes.set_default(Port(1));
/// assert_eq!(routes.to(Ipv4Addr::new(10, 0, 0, 2).into()), Some(Port(0)));
/// assert_eq!(routes.to(Ipv4Addr::new(192, 0, 2, 1).into()), Some(Port(1)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Routes {
    /// The port of each IPv4 address from `first` on, indexed by offset; [`Routes::NONE`] for an address without a
    /// route.
    near: Vec<u16>,
    first: u32,
    far: BTreeMap<IpAddr, u16>,
    default: Option<u16>,
}

impl Routes {
    const NONE: u16 = u16::MAX;
    /// Number of consecutive addresses that the array covers. All other addresses are in a map.
    const NEAR: u32 = 1 << 16;

    /// Creates an empty table. Routes to the 65,536 IPv4 addresses from `first` on are stored in an array, all other
    /// routes in a map.
    pub fn beginning_at(first: Ipv4Addr) -> Routes {
        Routes { first: first.to_bits(), ..Routes::default() }
    }

    /// Sets the port for an address.
    pub fn set(&mut self, dst: IpAddr, port: Port) {
        match self.offset(dst) {
            Some(offset) if offset < Routes::NEAR as usize => {
                // The array grows on demand, because most routers have routes to a few addresses only.
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

    /// Sets the port for all addresses without their own route.
    pub fn set_default(&mut self, port: Port) {
        self.default = Some(port.0);
    }

    /// Returns the first address of the array, and the port of each address in the array.
    pub(crate) fn near(&self) -> (u32, impl Iterator<Item = Option<Port>> + '_) {
        let address = |offset| IpAddr::V4(Ipv4Addr::from_bits(self.first.wrapping_add(offset)));
        (self.first, (0..self.near.len() as u32).map(move |offset| self.to(address(offset))))
    }

    /// Returns the routes that are in the map.
    pub(crate) fn far(&self) -> impl Iterator<Item = (IpAddr, Port)> + '_ {
        self.far.iter().map(|(address, port)| (*address, Port(*port)))
    }

    /// Returns the port for addresses without their own route.
    pub(crate) fn default_port(&self) -> Option<Port> {
        self.default.map(Port)
    }

    /// Returns the port for an address; `None` if there is no route.
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

/// A node that forwards each packet immediately, by its destination address.
#[derive(Debug)]
pub struct Router {
    routes: Routes,
}

impl Router {
    /// Creates a router with these routes.
    pub fn new(routes: Routes) -> Router {
        Router { routes }
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Returns the port through which the packet would leave; `None` if the router would drop the packet.
    #[inline]
    pub fn route(&self, packet: &Packet) -> Option<Port> {
        if packet.ttl() > 1 { self.routes.to(packet.dst()) } else { None }
    }

    /// Decrements the packet's TTL and returns the port through which the packet leaves.
    ///
    /// # Errors
    /// Returns the reason to drop the packet if its TTL expires or there is no route.
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
    fn dense_sparse_and_default_routes_are_found() {
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
