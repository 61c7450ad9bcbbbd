//! Packets from outside enter at one edge, cross a link and a router, and leave at the other edge.

use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port, Time,
    Transport, wire,
};
use lopsided_link::{LinkConfig, ShaperConfig};
use lopsided_net::{Attachment, NetNode, Network, Router, Routes};
use lopsided_queue::{CodelQueueConfig, QueueConfig};
use std::net::Ipv4Addr;

/// The host type of networks without hosts.
#[derive(Debug)]
enum NoHost {}

impl Node for NoHost {
    fn handle_packet(&mut self, _port: Port, _packet: Packet, _cx: &mut Cx<'_>) {
        match *self {}
    }

    fn handle_timeout(&mut self, _cx: &mut Cx<'_>) {
        match *self {}
    }

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        match *self {}
    }

    fn poll_timeout(&self) -> Option<Time> {
        match *self {}
    }
}

const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const IN: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const LINK: NodeId = NodeId(2);
const OUT: NodeId = NodeId(3);

/// Returns a network of an edge, a router, a link of 8 Mbit/s and 10 ms, and another edge.
fn line() -> Network<NoHost> {
    let mut routes = Routes::default();
    routes.set(FAR.into(), Port(0));
    let rate = Some(BitRate::from_bps(8_000_000));
    let config = LinkConfig::new(rate, Duration::from_millis(10), QueueConfig::packets(100));
    let link = config.build(1, "line").expect("a plain link");
    let nodes = vec![
        NetNode::Edge,
        NetNode::Router(Box::new(Router::new(routes))),
        NetNode::Link(Box::new(link)),
        NetNode::Edge,
    ];
    let to = |node| vec![Attachment { node, port: Port(0) }];
    Network::new(nodes, &[to(ROUTER), to(LINK), to(OUT), to(LINK)], Accounting::new(4))
}

/// Returns a datagram of 1,000 bytes, including 28 bytes of headers.
fn datagram(dst: Ipv4Addr) -> Vec<u8> {
    let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    let ip = IpHeader::v4(Ipv4Addr::new(198, 51, 100, 1), dst);
    let new = NewPacket::new(FlowId(0), ip, transport, Payload::real((0..972u32).map(|n| n as u8).collect()));
    wire::encode(&Packet::unbooked(77, Time::ZERO, new))
}

#[test]
fn a_foreign_packet_leaves_when_the_line_delivers_it_and_only_its_ttl_changes() {
    let mut network = line();
    let at = |us: u64| Time::from_nanos(us * 1000);
    let sent = datagram(FAR);
    for us in [0, 100, 5000] {
        network.advance(at(us));
        network.inject(at(us), IN, wire::read_foreign(FlowId(0), &sent).expect("a whole packet"));
    }
    // Serialization takes 1 ms per packet, and the second packet waits for the first.
    for expected in [11_000, 12_000, 16_000] {
        let next = network.next_time().expect("packets are in flight");
        assert_eq!(next, at(expected));
        network.advance(next);
        let (edge, packet) = network.poll_egress().expect("a packet arrives at this time");
        assert_eq!(edge, OUT);
        // A router decrements the TTL and patches the checksum. All other bytes stay the same.
        let octets = wire::encode(&packet);
        let read = wire::parse(&octets).expect("its checksums are right");
        assert_eq!((read.ttl(), &octets[28..]), (63, &sent[28..]));
        network.recycle(packet);
        assert!(network.poll_egress().is_none());
    }
    let sum = network.accounting().conservation(network.held());
    assert!(sum.holds(), "{sum}");
    assert_eq!((sum.delivered.packets, sum.delivered.bytes), (3, Bytes::new(3000)));
}

#[test]
fn packets_without_a_route_are_dropped_and_packets_in_flight_are_counted_as_held() {
    let mut network = line();
    for dst in [Ipv4Addr::new(192, 0, 2, 1), FAR] {
        network.inject(Time::ZERO, IN, wire::read_foreign(FlowId(0), &datagram(dst)).expect("a whole packet"));
    }
    let sum = network.accounting().conservation(network.held());
    assert!(sum.holds(), "{sum}");
    assert_eq!((sum.dropped.packets, sum.held.packets), (1, 1));
}

#[test]
#[should_panic(expected = "is not the current time")]
fn a_packet_cannot_be_injected_at_an_earlier_time() {
    let mut network = line();
    network.advance(Time::from_nanos(5));
    network.inject(Time::ZERO, IN, wire::read_foreign(FlowId(0), &datagram(FAR)).expect("a whole packet"));
}

/// A host that records for each packet whether another packet arrives at the same time.
#[derive(Debug, Default)]
struct Recorder {
    followed: Vec<bool>,
    another_arrives: bool,
}

impl Node for Recorder {
    fn expect_another(&mut self) {
        self.another_arrives = true;
    }

    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.followed.push(std::mem::take(&mut self.another_arrives));
        let delivered = cx.deliver(packet);
        cx.recycle(delivered);
    }

    fn handle_timeout(&mut self, _cx: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        None
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}

/// A bucket of 3,000 bytes lets the first three packets of 1,000 bytes pass at once. The fourth waits for 1 ms.
#[test]
fn a_host_knows_whether_another_packet_arrives_at_the_same_time() {
    for queue in [QueueConfig::packets(100), QueueConfig::new(CodelQueueConfig::default())] {
        let shaper = ShaperConfig { burst: Bytes::new(3000), interval: None, line_rate: None };
        let rate = Some(BitRate::from_bps(8_000_000));
        let config = LinkConfig::new(rate, Duration::from_millis(10), queue);
        let link = LinkConfig { shaper: Some(shaper), ..config }.build(1, "line").expect("a shaped link");
        let host = NodeId(2);
        let nodes = vec![NetNode::Edge, NetNode::Link(Box::new(link)), NetNode::Host(Box::new(Recorder::default()))];
        let to = |node| vec![Attachment { node, port: Port(0) }];
        let mut network = Network::new(nodes, &[to(NodeId(1)), to(host), Vec::new()], Accounting::new(4));
        for _ in 0..4 {
            network.inject(Time::ZERO, IN, wire::read_foreign(FlowId(0), &datagram(FAR)).expect("a whole packet"));
        }
        network.advance(Time::from_nanos(100_000_000));
        assert_eq!(network.host(host).followed, [true, true, false, false]);
    }
}
