//! Hashes that assign flows to queues.

use lopsided_core::{Packet, Rng, Transport};
use std::net::IpAddr;

/// Hashes flows by addresses, protocol and ports, with a random perturbation.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    perturbation: u64,
}

impl FlowHash {
    /// Creates a hash with its own random perturbation, so that an attacker cannot choose flows that collide.
    pub fn new(rng: &mut Rng) -> FlowHash {
        FlowHash { perturbation: rng.next_u64() }
    }

    /// Returns the hash of the packet's flow: addresses, protocol and ports.
    #[inline]
    pub fn flow(&self, packet: &Packet) -> u64 {
        let (protocol, ports) = protocol_and_ports(packet);
        self.between(packet.src(), packet.dst(), protocol, ports)
    }

    /// Returns the hash of the flow in the opposite direction: source and destination are swapped.
    pub fn opposite_flow(&self, packet: &Packet) -> u64 {
        let (protocol, (src, dst)) = protocol_and_ports(packet);
        self.between(packet.dst(), packet.src(), protocol, (dst, src))
    }

    #[inline]
    fn between(&self, src: IpAddr, dst: IpAddr, protocol: u8, ports: (u16, u16)) -> u64 {
        // One 64-bit word with the protocol and both ports.
        let ports = u64::from(ports.0) << 16 | u64::from(ports.1) | u64::from(protocol) << 32;
        self.mix(self.mix(self.address(src) ^ self.address(dst).rotate_left(1)) ^ ports)
    }

    /// Returns the hash of a host.
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

    /// Mixes the perturbation into a word with the finalizer of SplitMix64.
    #[inline]
    fn mix(&self, word: u64) -> u64 {
        let mut z = word.wrapping_add(self.perturbation);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns the protocol and the ports of a packet. The ports are 0 if the transport has no ports.
#[inline]
fn protocol_and_ports(packet: &Packet) -> (u8, (u16, u16)) {
    match packet.transport() {
        Transport::Tcp(header) => (6, (header.src_port, header.dst_port)),
        Transport::Udp(header) => (17, (header.src_port, header.dst_port)),
        Transport::Other { protocol } => (*protocol, (0, 0)),
    }
}

/// Maps a hash uniformly to one of `queues` queues, without a division.
pub(crate) fn queue_of(hash: u64, queues: usize) -> usize {
    ((u128::from(hash) * queues as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QUEUES, Qdisc, Queue, QueueConfig, QueuePlace};
    use lopsided_core::packet::UdpHeader;
    use lopsided_core::{Accounting, BitRate, Cx, Duration, Ecn, FlowId, IpHeader, NewPacket, NodeId, Payload, Time};
    use lopsided_spec::{Given, Scalar, Value};
    use std::net::Ipv4Addr;

    const LINE: BitRate = BitRate::from_bps(10_000_000);
    const PLACE: QueuePlace<'_> = QueuePlace { seed: 1, role: "test" };
    const ATTACKERS: usize = 40;

    /// Returns a discipline with its default settings.
    fn default_of(kind: &str) -> Queue {
        let member = (QUEUES.members)().into_iter().find(|member| member.info.name == kind).expect("a known kind");
        let mut part = member.part;
        let given = Given { keys: &[], preset: None, line_rate: Some(LINE), line_peeks: false, folder: "" };
        part.complete(&given).unwrap();
        QueueConfig::from_value(Value::Part(part)).unwrap().build(PLACE.seed, PLACE.role).unwrap()
    }

    /// Creates a packet of a flow. No two flows have a host in common.
    fn packet(flow: u32, id: u64) -> Packet {
        let ip = IpHeader::v4(Ipv4Addr::from_bits(flow), Ipv4Addr::from_bits(2)).with_ecn(Ecn::NotEct);
        let transport = Transport::Udp(UdpHeader { src_port: flow as u16, dst_port: 2 });
        Packet::unbooked(id, Time::ZERO, NewPacket::new(FlowId(flow), ip, transport, Payload::virtual_len(972)))
    }

    /// An attacker fills one queue at twice the line's rate. Another flow sends at `percent` of the line's rate.
    /// Returns the throughput of this flow, in percent of its sending rate.
    fn outside(kind: &str, places: usize, percent: u64) -> u64 {
        let hash = FlowHash::new(&mut PLACE.rng());
        let place = |flow: u32| queue_of(hash.flow(&packet(flow, 0)), places);
        let chosen: Vec<u32> = (1..).filter(|flow| place(*flow) == 0).take(ATTACKERS).collect();
        let other = (1..).find(|flow| place(*flow) != 0).expect("most flows are in another queue");
        let (mut queue, mut accounting) = (default_of(kind), Accounting::new(1));
        let (mut sent, mut passed) = (0, 0);
        for tick in 0..20_000_u64 {
            // A packet takes 0.8 ms on the line, which is 2 ticks of the loop.
            let now = Time::ZERO + Duration::from_micros(400) * tick;
            let mut cx = Cx::new(now, NodeId(0), &mut accounting);
            queue.enqueue(packet(chosen[tick as usize % ATTACKERS], tick), &mut cx);
            if tick * percent / 200 > sent {
                sent += 1;
                queue.enqueue(packet(other, 100_000 + tick), &mut cx);
            }
            if tick % 2 == 0 && queue.ready_at(now) == Some(now) {
                passed += u64::from(queue.dequeue(&mut cx).is_some_and(|given| given.packet.flow() == FlowId(other)));
            }
        }
        passed * 100 / sent
    }

    #[test]
    fn colliding_flows_of_an_attacker_starve_no_flow_in_another_queue() {
        // If each of the attacker's 40 flows had its own queue, the other flow would get 1/41 of the line.
        for (kind, places) in
            [("fq_codel", 1024), ("fq_pie", 1024), ("sfq", 1024), ("fq", 1024), ("wfq", 256), ("bdp", 1024)]
        {
            let got = outside(kind, places, 40);
            assert!(got >= 95, "{kind}: {got} % of a flow at 40 % of the line's rate was delivered");
        }
        // In CAKE the hash selects a set of 8 queues, and the attacker's flows fill one set.
        let got = outside("cake", 128, 10);
        assert!(got >= 95, "cake: {got} % of a flow at 10 % of the line's rate was delivered");
    }
}
