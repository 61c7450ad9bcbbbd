//! Which of many queues a flow's packets go to: a hash of what names the flow.

use lopsided_core::{Packet, Rng, Transport};
use std::net::IpAddr;

/// Spreads flows over a number of queues, by their addresses, protocol and ports, with a perturbation of the queue's
/// own.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    perturbation: u64,
}

impl FlowHash {
    /// A hash that differs from that of every other queue and seed, so that nobody outside can choose flows that
    /// collide.
    pub fn new(rng: &mut Rng) -> FlowHash {
        FlowHash { perturbation: rng.next_u64() }
    }

    /// Of the flow: addresses, protocol and ports.
    #[inline]
    pub fn flow(&self, packet: &Packet) -> u64 {
        let (protocol, ports) = protocol_and_ports(packet);
        self.between(packet.src(), packet.dst(), protocol, ports)
    }

    /// Of the flow whose packets of the other direction are such: its own are where this packet's ends are swapped.
    pub fn opposite_flow(&self, packet: &Packet) -> u64 {
        let (protocol, (src, dst)) = protocol_and_ports(packet);
        self.between(packet.dst(), packet.src(), protocol, (dst, src))
    }

    #[inline]
    fn between(&self, src: IpAddr, dst: IpAddr, protocol: u8, ports: (u16, u16)) -> u64 {
        let ports = u64::from(ports.0) << 16 | u64::from(ports.1) | u64::from(protocol) << 32;
        self.mix(self.mix(self.address(src) ^ self.address(dst).rotate_left(1)) ^ ports)
    }

    /// Of one host.
    #[inline]
    pub fn address(&self, address: IpAddr) -> u64 {
        match address {
            IpAddr::V4(v4) => self.mix(u64::from(u32::from(v4))),
            IpAddr::V6(v6) => {
                let octets = u128::from(v6);
                self.mix(self.mix((octets >> 64) as u64) ^ octets as u64)
            }
        }
    }

    /// The finaliser of SplitMix64, with the perturbation added.
    #[inline]
    fn mix(&self, word: u64) -> u64 {
        let mut z = word.wrapping_add(self.perturbation);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[inline]
fn protocol_and_ports(packet: &Packet) -> (u8, (u16, u16)) {
    match packet.transport() {
        Transport::Tcp(header) => (6, (header.src_port, header.dst_port)),
        Transport::Udp(header) => (17, (header.src_port, header.dst_port)),
        Transport::Other { protocol } => (*protocol, (0, 0)),
    }
}

/// One of `queues` for a hash.
pub(crate) fn queue_of(hash: u64, queues: usize) -> usize {
    ((u128::from(hash) * queues as u128) >> 64) as usize
}
