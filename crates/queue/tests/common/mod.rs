//! Packets, and an ear for their losses.
#![allow(dead_code, reason = "each test file uses a part")]

use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, Cx, DropReason, Ecn, Event, EventMask, FlowId, IpHeader, NewPacket, NodeId, Observer, Packet, Payload,
    Time, Transport,
};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

/// A UDP packet of `size` octets in all, from 28.
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

pub fn cx(now: Time, accounting: &mut Accounting) -> Cx<'_> {
    Cx::new(now, NodeId(0), accounting)
}

/// Hears of packets entering a queue and of losses, in order.
#[derive(Clone, Default)]
pub struct Drops {
    drops: Arc<Mutex<Vec<(u64, DropReason)>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Drops {
    /// Accounting with an ear.
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
