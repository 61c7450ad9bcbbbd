//! Tests of the router in front of a link with a small MTU. It must drop and count each packet that does not fit, and
//! notify the sender.

use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
use lopsided_core::{Accounting, Bytes, Cx, FlowId, IpHeader, NewPacket, Node, NodeId, Payload, Seq, Time, Transport};
use lopsided_stage::{MtuGate, StageNode};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Length of IPv4 and TCP headers without options, in bytes.
const HEADERS: u32 = 40;

proptest! {
    #[test]
    fn packets_that_fit_pass_and_every_other_packet_is_answered(
        mtu in 576u16..2000,
        payloads in proptest::collection::vec(0u32..3000, 1..20),
    ) {
        let (sender, receiver) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let mut gate = StageNode::new(Box::new(MtuGate::new(mtu, 3)));
        let mut accounting = Accounting::new(1);
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
        for payload in &payloads {
            let (seq, options) = (Seq::new(1), TcpOptions::default());
            let header = TcpHeader { src_port: 1, dst_port: 2, seq, ack: seq, flags: Flags::ACK, window: 100, options };
            let ip = IpHeader::v4(sender, receiver);
            let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(*payload));
            let packet = cx.originate(new);
            gate.handle_packet(StageNode::FORWARD, packet, &mut cx);
        }
        if gate.poll_timeout().is_some() {
            gate.handle_timeout(&mut cx);
        }
        let (mut passed, mut answers) = (0, 0);
        while let Some((port, packet)) = gate.poll_transmit(&mut cx) {
            if port == StageNode::FORWARD {
                passed += 1;
                prop_assert!(packet.size() <= Bytes::new(u64::from(mtu)));
            } else {
                answers += 1;
                prop_assert_eq!(packet.dst(), IpAddr::V4(sender));
            }
            cx.deliver(packet);
        }
        let refused = payloads.iter().filter(|payload| **payload + HEADERS > u32::from(mtu)).count();
        prop_assert_eq!((passed, answers), (payloads.len() - refused, refused));
        let mut counters = BTreeMap::new();
        gate.sample(&mut |_, name, value| {
            counters.insert(name.to_owned(), value);
        });
        let expected = [("arrived_packets", payloads.len()), ("refused_packets", refused), ("sent_packets", passed)];
        for (name, count) in expected {
            prop_assert_eq!(counters[name], count as f64, "{}", name);
        }
        prop_assert!(accounting.conservation(gate.held()).holds());
    }
}

/// RFC 1122, section 3.2.2: no ICMP error is sent in response to an ICMP error.
#[test]
fn an_icmp_packet_that_does_not_fit_is_dropped_without_an_answer() {
    let mut gate = StageNode::new(Box::new(MtuGate::new(1000, 3)));
    let mut accounting = Accounting::new(1);
    for protocol in [1, 58] {
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Other { protocol }, Payload::virtual_len(1400));
        let packet = cx.originate(new);
        gate.handle_packet(StageNode::FORWARD, packet, &mut cx);
        assert!(gate.poll_transmit(&mut cx).is_none());
        assert_eq!(gate.poll_timeout(), None);
    }
    assert_eq!(accounting.node(NodeId(0)).dropped_total().packets, 2);
}
