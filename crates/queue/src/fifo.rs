//! First in, first out, in a bounded buffer: drop-tail or drop-from-front (Lakshman, Neidhardt, Ott 1996).

use crate::{Backlog, BufferLimit, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Time};
use lopsided_spec::{Choice, Fault, Key, Part, key};
use std::collections::VecDeque;

/// A first-in-first-out queue as plain data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FifoConfig {
    pub limit: Limit,
    pub drop: DropFrom,
    /// Octets that the buffer counts with each packet beside the IP packet; zero unless told otherwise.
    pub header: Bytes,
}

impl FifoConfig {
    /// Drop-tail, and IP octets only.
    pub const fn new(limit: Limit) -> FifoConfig {
        FifoConfig { limit, drop: DropFrom::Tail, header: Bytes::ZERO }
    }
}

impl Part for FifoConfig {
    const NAME: &'static str = "fifo";
    const TEXT: &'static str = "First in, first out.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FifoConfig>] = &[
        key("limit", |fifo| &mut fifo.limit, "What the queue may hold."),
        key(
            "drop",
            |fifo| &mut fifo.drop,
            "What goes when the queue is full: the arriving packet (tail) or the oldest (front).",
        ),
    ];
}

impl Discipline for FifoConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Fifo::new(self).map(Queue::Fifo)
    }
}

/// Which packet gives way when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DropFrom {
    /// The arriving one.
    #[default]
    Tail,
    /// The oldest, until the arriving one fits: the sender learns of the loss a queueing delay earlier.
    Front,
}

impl Choice for DropFrom {
    const WORDS: &'static [(&'static str, DropFrom)] = &[("tail", DropFrom::Tail), ("front", DropFrom::Front)];
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
    pub fn new(config: &FifoConfig) -> Result<Fifo, Fault> {
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

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        self.ring.front().map(|slot| slot.size)
    }
}
