//! First in, first out, in a bounded buffer: drop-tail or drop-from-front (Lakshman, Neidhardt, Ott 1996).
//!
//! A plain FIFO is the queue of most links and of most simulated packets, so it must move a packet as seldom as possible. Its
//! ring can keep a packet that has left the queue and is on the line: [`Fifo::depart`] only moves a border in the ring, and
//! [`Fifo::take_arrived`] takes the packet out at the far end. As a [`Qdisc`] it is an ordinary queue.

use crate::{Backlog, FifoConfig, Qdisc, QueueError, Room, Waiting};
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
    /// The packets on the line, then those that wait.
    ring: VecDeque<Slot>,
    /// How many slots at the front have left the queue.
    gone: usize,
    room: Room,
    drop: DropFrom,
    backlog: Backlog,
}

#[derive(Debug)]
struct Slot {
    /// `None` where the packet was lost behind others that are on the line; never at the very front.
    packet: Option<Packet>,
    /// While it waits: since when. On the line: when it arrives.
    time: Time,
    size: u32,
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
            ring: VecDeque::new(),
            gone: 0,
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
        self.ring.push_back(Slot { packet: Some(packet), time: cx.now(), size: size.get() as u32 });
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
        self.ring.get(self.gone).map(|slot| Head { size: Bytes::new(u64::from(slot.size)), since: slot.time })
    }

    /// The packet that leaves next, itself.
    pub fn head_packet(&self) -> Option<&Packet> {
        self.ring.get(self.gone).and_then(|slot| slot.packet.as_ref())
    }

    /// The head leaves the queue for the line, where it arrives at the given time, and stays in the ring until then. Times of
    /// arrival must not decrease.
    ///
    /// # Panics
    /// If no packet waits.
    #[inline]
    pub fn depart(&mut self, arrives: Time) {
        let slot = &mut self.ring[self.gone];
        slot.time = arrives;
        let size = Bytes::new(u64::from(slot.size));
        self.gone += 1;
        self.backlog.remove(size);
        self.room.give_back(size);
    }

    /// Takes the head out of the queue and of the ring.
    fn take_head(&mut self) -> Option<Waiting> {
        let slot = self.ring.get_mut(self.gone)?;
        let size = Bytes::new(u64::from(slot.size));
        let since = slot.time;
        let packet = slot.packet.take().expect("a waiting slot holds a packet");
        if self.gone == 0 {
            self.ring.pop_front();
        } else {
            // Packets on the line stand before it: its empty slot goes when they do.
            self.gone += 1;
        }
        self.backlog.remove(size);
        self.room.give_back(size);
        Some(Waiting { packet, since })
    }

    /// When the first packet on the line arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        if self.gone == 0 { None } else { self.ring.front().map(|slot| slot.time) }
    }

    /// Takes the first packet on the line if it has arrived.
    #[inline]
    pub fn take_arrived(&mut self, now: Time) -> Option<Packet> {
        if self.gone == 0 || self.ring.front()?.time > now {
            return None;
        }
        self.gone -= 1;
        let packet = self.ring.pop_front()?.packet;
        while self.gone > 0 && self.ring.front().is_some_and(|slot| slot.packet.is_none()) {
            self.ring.pop_front();
            self.gone -= 1;
        }
        packet
    }

    /// The packets on the line, and their octets.
    pub fn on_the_line(&self) -> Backlog {
        let flying = self.ring.iter().take(self.gone).filter(|slot| slot.packet.is_some());
        flying.fold(Backlog::default(), |sum, slot| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + Bytes::new(u64::from(slot.size)),
        })
    }
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
