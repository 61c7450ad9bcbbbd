//! First in, first out, in a bounded buffer: drop-tail or drop-from-front (Lakshman, Neidhardt, Ott 1996).
//!
//! A plain FIFO is the queue of most links and of most simulated packets, so it must move a packet as seldom as possible. Its
//! ring can keep a packet that has left the queue and is on the line: [`Fifo::depart`] only moves a border in the ring, and
//! [`Fifo::take_arrived`] takes the packet out at the far end. As a [`Qdisc`] it is an ordinary queue.

use crate::ring::{Note, Ring};
use crate::{Backlog, FifoConfig, Qdisc, QueueError, Room, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Time};

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
    ring: Ring,
    room: Room,
    drop: DropFrom,
    backlog: Backlog,
}

/// The packet at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub size: Bytes,
    pub since: Time,
}

impl Fifo {
    pub fn new(config: &FifoConfig) -> Result<Fifo, QueueError> {
        Ok(Fifo {
            ring: Ring::new(),
            room: Room::new(config.limit, config.header)?,
            drop: config.drop,
            backlog: Backlog::default(),
        })
    }

    pub fn room(&self) -> &Room {
        &self.room
    }

    pub fn drops_from_front(&self) -> bool {
        self.drop == DropFrom::Front
    }

    /// Takes the packet in if there is room or room can be made, and says whether it did. `size` is the packet's.
    #[inline]
    pub fn offer(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) -> bool {
        if !self.room.fits(size) && !self.make_room(size, cx) {
            cx.discard(packet, DropReason::QueueFull);
            return false;
        }
        self.room.take(size);
        self.backlog.add(&packet, size, cx);
        self.ring.push(packet, Note { time: cx.now(), size: size.get() as u32 });
        true
    }

    /// Drops from the front until a packet of `size` fits; false if the arriving packet itself must go.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut Cx<'_>) -> bool {
        if self.drop == DropFrom::Tail || !self.room.could_fit(size) {
            return false;
        }
        while !self.room.fits(size) {
            let oldest = self.take_head().expect("a packet that could fit does not, so some packet is in its way");
            cx.discard(oldest.packet, DropReason::HeadDrop);
        }
        true
    }

    /// The packet that leaves next.
    #[inline]
    pub fn head(&self) -> Option<Head> {
        self.ring.head().map(|note| Head { size: octets(note.size), since: note.time })
    }

    /// The packet that leaves next, itself.
    pub fn head_packet(&self) -> Option<&Packet> {
        self.ring.head_packet()
    }

    /// The head leaves the queue for the line, where it arrives at the given time, and stays in the ring until then. Times of
    /// arrival must not decrease, and a packet must wait.
    #[inline]
    pub fn depart(&mut self, head: Head, arrives: Time) {
        self.ring.depart(arrives);
        self.leave(head.size);
    }

    /// Takes the head out of the queue and of the ring.
    fn take_head(&mut self) -> Option<Waiting> {
        let head = self.head()?;
        let packet = self.ring.take_head()?;
        self.leave(head.size);
        Some(Waiting { packet, since: head.since })
    }

    #[inline]
    fn leave(&mut self, size: Bytes) {
        self.backlog.remove(size);
        self.room.give_back(size);
    }

    /// When the first packet on the line arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.ring.next_arrival()
    }

    /// Takes the first packet on the line, and its size, if it has arrived.
    #[inline]
    pub fn take_arrived(&mut self, now: Time) -> Option<(Packet, Bytes)> {
        self.ring.take_arrived(now).map(|(packet, size)| (packet, octets(size)))
    }

    /// The packets on the line, and their octets.
    pub fn on_the_line(&self) -> Backlog {
        let count = |sum: Backlog, size| Backlog { packets: sum.packets + 1, bytes: sum.bytes + octets(size) };
        self.ring.line_sizes().fold(Backlog::default(), count)
    }
}

fn octets(size: u32) -> Bytes {
    Bytes::new(u64::from(size))
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.offer(packet, size, cx);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<Waiting> {
        self.take_head()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn head_size(&self) -> Option<Bytes> {
        self.head().map(|head| head.size)
    }
}
