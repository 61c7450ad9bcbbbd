//! A router: forwards by destination over fixed routes, at once and without a buffer of its own (queues belong to links).
//!
//! Leaves out routing protocols and ICMP: a packet without a route, or whose time to live is over, is lost with its reason.

use lopsided_core::{DropReason, Packet, Port};
use std::net::{IpAddr, Ipv4Addr};

/// Hosts have the addresses 10.0.0.1, 10.0.0.2 and so on, in the scenario's order.
const BEFORE_FIRST: u32 = 0x0a00_0000;

/// The address of a host by its place in the scenario.
pub(crate) fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(BEFORE_FIRST + 1 + host as u32)
}

/// Which port leads to which host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes {
    /// By host; [`Routes::NONE`] where there is no way.
    ports: Vec<u16>,
}

impl Routes {
    const NONE: u16 = u16::MAX;

    pub fn set(&mut self, host: usize, port: Port) {
        if host >= self.ports.len() {
            self.ports.resize(host + 1, Routes::NONE);
        }
        self.ports[host] = port.0;
    }

    #[inline]
    pub fn to(&self, dst: IpAddr) -> Option<Port> {
        let IpAddr::V4(dst) = dst else { return None };
        let host = dst.to_bits().wrapping_sub(BEFORE_FIRST + 1);
        self.ports.get(host as usize).filter(|port| **port != Routes::NONE).map(|port| Port(*port))
    }
}

#[derive(Debug)]
pub(crate) struct Router {
    routes: Routes,
}

impl Router {
    pub fn new(routes: Routes) -> Router {
        Router { routes }
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
