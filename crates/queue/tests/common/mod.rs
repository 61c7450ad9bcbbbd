//! Packets, and an ear for their losses.
#![allow(dead_code, reason = "each test file uses a part")]

use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Books, Cx, DropReason, Ecn, Event, FlowId, HostAddr, Interest, NodeId, Packet, Payload, Sink, Time, Transport,
};
use std::sync::{Arc, Mutex};

/// A UDP packet of `size` octets in all, from 28.
pub fn packet(id: u64, size: u32) -> Packet {
    Packet {
        id,
        sent_at: Time::ZERO,
        flow: FlowId(0),
        src: HostAddr(1),
        dst: HostAddr(2),
        ecn: Ecn::Capable0,
        dscp: 0,
        ttl: 64,
        transport: Transport::Udp(UdpHeader { src_port: 1, dst_port: 2 }),
        payload: Payload::synthetic(size - 28),
    }
}

pub fn cx(now: Time, books: &mut Books) -> Cx<'_> {
    Cx::new(now, NodeId(0), books)
}

/// Hears of packets entering a queue and of losses, in order.
#[derive(Clone, Default)]
pub struct Drops {
    drops: Arc<Mutex<Vec<(u64, DropReason)>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Drops {
    /// Books with an ear.
    pub fn watched() -> (Drops, Books) {
        let drops = Drops::default();
        let mut books = Books::new(1);
        books.watch(Box::new(drops.clone()));
        (drops, books)
    }

    pub fn seen(&self) -> Vec<(u64, DropReason)> {
        self.drops.lock().unwrap().clone()
    }

    pub fn entered(&self) -> Vec<u64> {
        self.entered.lock().unwrap().clone()
    }
}

impl Sink for Drops {
    fn interest(&self) -> Interest {
        Interest { hosts: false, queues: true, drops: true }
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        match event {
            Event::Dropped { packet, why } => self.drops.lock().unwrap().push((packet.id, *why)),
            Event::Enqueued { packet, .. } => self.entered.lock().unwrap().push(packet.id),
            _ => {}
        }
    }
}
