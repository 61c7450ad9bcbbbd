//! Packets in the order of their arrival, and how much waits: what most disciplines are built of.

use crate::{Backlog, QueuedPacket};
use lopsided_core::{Cx, Packet};
use std::collections::VecDeque;

/// A first-in-first-out list without a limit of its own.
#[derive(Debug, Default)]
pub(crate) struct PacketRing {
    packets: VecDeque<QueuedPacket>,
    backlog: Backlog,
}

impl PacketRing {
    /// Takes the packet in at the tail.
    pub fn push(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.backlog.add(&packet, size, cx);
        self.packets.push_back(QueuedPacket { packet, enqueued_at: cx.now() });
    }

    /// The oldest packet.
    pub fn pop(&mut self) -> Option<QueuedPacket> {
        let taken = self.packets.pop_front()?;
        self.backlog.remove(taken.packet.size());
        Some(taken)
    }

    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}
