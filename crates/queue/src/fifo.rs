//! First in, first out, in a bounded buffer: drop-tail or drop-from-front (Lakshman, Neidhardt, Ott 1996).

use crate::{Backlog, BufferLimit, FifoConfig, Qdisc, QueueError, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Time};
use std::collections::VecDeque;

/// Which packet gives way when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DropFrom {
    /// The arriving one.
    #[default]
    Tail,
    /// The oldest, until the arriving one fits: the sender learns of the loss a queueing delay earlier.
    Front,
}

/// A first-in-first-out queue.
#[derive(Debug)]
pub struct Fifo {
    ring: VecDeque<Slot>,
    room: BufferLimit,
    drop: DropFrom,
    backlog: Backlog,
}

#[derive(Debug)]
struct Slot {
    packet: Packet,
    enqueued_at: Time,
    size: Bytes,
}

impl Fifo {
    pub fn new(config: &FifoConfig) -> Result<Fifo, QueueError> {
        Ok(Fifo {
            ring: VecDeque::new(),
            room: BufferLimit::new(config.limit, config.header)?,
            drop: config.drop,
            backlog: Backlog::default(),
        })
    }

    pub fn room(&self) -> &BufferLimit {
        &self.room
    }

    pub fn drops_from(&self) -> DropFrom {
        self.drop
    }

    /// Drops from the front until a packet of `size` fits; false if the arriving packet itself must go.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut Cx<'_>) -> bool {
        if self.drop == DropFrom::Tail || !self.room.could_fit(size) {
            return false;
        }
        while !self.room.fits(size) {
            let oldest = self.take_head().expect("a packet that could fit does not, so some packet is in its way");
            cx.drop(oldest.packet, DropReason::HeadDrop);
        }
        true
    }

    fn take_head(&mut self) -> Option<QueuedPacket> {
        let Slot { packet, enqueued_at, size } = self.ring.pop_front()?;
        self.backlog.remove(size);
        self.room.release(size);
        Some(QueuedPacket { packet, enqueued_at })
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        if !self.room.fits(size) && !self.make_room(size, cx) {
            cx.drop(packet, DropReason::QueueFull);
            return;
        }
        self.room.charge(size);
        self.backlog.add(&packet, size, cx);
        self.ring.push_back(Slot { packet, enqueued_at: cx.now(), size });
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.take_head()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn head_size(&self) -> Option<Bytes> {
        self.ring.front().map(|slot| slot.size)
    }
}
