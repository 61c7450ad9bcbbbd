//! Creates packets for tests, and records which packets a queue enqueued and dropped.

use lopsided_core::packet::{Flags, SackBlock, TcpHeader, TcpOptions, Timestamps, UdpHeader};
use lopsided_core::{
    Accounting, Cx, DropReason, Ecn, Event, EventMask, FlowId, IpHeader, NewPacket, NodeId, Observer, Packet, Payload,
    Seq, Time, Transport,
};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

/// Creates a UDP packet of `size` bytes including headers, at least 28 bytes.
pub fn packet(id: u64, size: u32) -> Packet {
    packet_with(Ecn::Ect0, id, size)
}

pub fn packet_with(ecn: Ecn, id: u64, size: u32) -> Packet {
    packet_of_class(0, ecn, id, size)
}

pub fn packet_of_class(dscp: u8, ecn: Ecn, id: u64, size: u32) -> Packet {
    let ip = IpHeader { ecn, dscp, ..IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)) };
    let transport = Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 });
    Packet::unbooked(id, Time::ZERO, NewPacket::new(FlowId(0), ip, transport, Payload::virtual_len(size - 28)))
}

/// A TCP segment with the ACK flag, of the connection from port `flow`.
#[derive(Clone, Debug)]
pub struct Segment {
    pub flow: u16,
    pub ack: u32,
    pub window: u16,
    pub flags: Flags,
    pub sack: Vec<(u32, u32)>,
    pub timestamps: Option<(u32, u32)>,
    pub payload: u32,
}

impl Segment {
    pub fn ack(flow: u16, ack: u32) -> Segment {
        let (sack, timestamps) = (Vec::new(), None);
        Segment { flow, ack, window: 1000, flags: Flags::ACK, sack, timestamps, payload: 0 }
    }

    pub fn to_new(&self) -> NewPacket {
        let timestamps = self.timestamps.map(|(value, echo)| Timestamps { value, echo });
        let mut options = TcpOptions::default().with_timestamps(timestamps);
        for (start, end) in &self.sack {
            options.push_sack(SackBlock { start: Seq::new(*start), end: Seq::new(*end) });
        }
        let header = TcpHeader {
            src_port: self.flow,
            dst_port: 80,
            seq: Seq::new(0),
            ack: Seq::new(self.ack),
            flags: self.flags,
            window: self.window,
            options,
        };
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let flow = FlowId(u32::from(self.flow));
        NewPacket::new(flow, ip, Transport::Tcp(header), Payload::virtual_len(self.payload))
    }

    pub fn packet(&self, id: u64) -> Packet {
        Packet::unbooked(id, Time::ZERO, self.to_new())
    }
}

pub fn cx(now: Time, accounting: &mut Accounting) -> Cx<'_> {
    Cx::new(now, NodeId(0), accounting)
}

/// An observer that records the enqueued packets and the dropped packets, each in order.
#[derive(Clone, Default)]
pub struct Drops {
    drops: Arc<Mutex<Vec<(u64, DropReason)>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Drops {
    /// Returns a new observer, and an accounting that reports its events to this observer.
    pub fn watched() -> (Drops, Accounting) {
        let drops = Drops::default();
        let mut accounting = Accounting::new(1);
        accounting.subscribe(Box::new(drops.clone()));
        (drops, accounting)
    }

    pub fn seen(&self) -> Vec<(u64, DropReason)> {
        self.drops.lock().unwrap().clone()
    }

    pub fn entered(&self) -> Vec<u64> {
        self.entered.lock().unwrap().clone()
    }
}

impl Observer for Drops {
    fn mask(&self) -> EventMask {
        EventMask::QUEUES | EventMask::DROPS
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        match event {
            Event::Dropped { packet, why } => self.drops.lock().unwrap().push((packet.id(), *why)),
            Event::Enqueued { packet, .. } => self.entered.lock().unwrap().push(packet.id()),
            _ => {}
        }
    }
}
