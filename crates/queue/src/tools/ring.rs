//! A FIFO list of packets, and their backlog. Most disciplines use this list.

use crate::{Backlog, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, Packet, Time};
use std::collections::VecDeque;

/// A FIFO list without a limit.
///
/// Removing a packet from the middle, by place number or arrival time, leaves an empty place. Empty places at the two
/// ends are deleted at once. All empty places are deleted when they are more than half of the list. The amortized cost
/// per packet is constant.
#[derive(Debug, Default)]
pub(crate) struct PacketRing {
    places: VecDeque<Place>,
    /// Number of the first place in the list. Places are numbered consecutively.
    first: u64,
    /// Lowest valid place number. A packet with a lower number is found by its arrival time.
    numbered_from: u64,
    /// Number of empty places.
    empty: usize,
    backlog: Backlog,
}

/// A place in the list.
#[derive(Debug)]
struct Place {
    /// The packet; `None` if it was removed from the middle.
    packet: Option<Packet>,
    enqueued_at: Time,
    size: Bytes,
}

impl Place {
    #[inline]
    fn holds(&self, id: u64) -> bool {
        self.packet.as_ref().is_some_and(|packet| packet.id() == id)
    }
}

impl PacketRing {
    /// Appends an arriving packet.
    #[inline]
    pub fn push(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.backlog.add(&packet, size, cx);
        self.places.push_back(Place { packet: Some(packet), enqueued_at: cx.now(), size });
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<QueuedPacket> {
        loop {
            let Place { packet, enqueued_at, size } = self.places.pop_front()?;
            self.first += 1;
            if let Some(packet) = packet {
                self.backlog.remove(size);
                return Some(QueuedPacket { packet, enqueued_at });
            }
            self.empty -= 1;
        }
    }

    /// Returns the size of the oldest packet.
    pub fn head_size(&self) -> Option<Bytes> {
        self.places.iter().find(|place| place.packet.is_some()).map(|place| place.size)
    }

    /// Returns the place number that the next packet will get.
    #[inline]
    pub fn next_place(&self) -> u64 {
        self.first + self.places.len() as u64
    }

    /// Removes a packet from anywhere in the list.
    pub fn remove(&mut self, waiting: &Waiting<'_>) -> Option<Packet> {
        // A place number assigned before the last compaction is invalid, so find the packet by its arrival time.
        let at = match waiting.place {
            Some(number) if number >= self.numbered_from => number.checked_sub(self.first)? as usize,
            _ => self.search(waiting)?,
        };
        let place = self.places.get_mut(at).filter(|place| place.holds(waiting.id))?;
        let packet = place.packet.take();
        self.backlog.remove(place.size);
        self.empty += 1;
        if at == 0 || at + 1 == self.places.len() || self.is_mostly_empty() {
            self.tidy();
        }
        packet
    }

    /// Finds a packet by its arrival time. Returns its index.
    fn search(&self, waiting: &Waiting<'_>) -> Option<usize> {
        // Places are in the order of arrival.
        let first = self.places.partition_point(|place| place.enqueued_at < waiting.enqueued_at);
        let mut came_then = self.places.range(first..).take_while(|place| place.enqueued_at == waiting.enqueued_at);
        came_then.position(|place| place.holds(waiting.id)).map(|at| first + at)
    }

    /// Removes and returns the packet at position `number`, counted from 0. Takes linear time.
    pub fn take_at(&mut self, number: usize) -> Option<Packet> {
        let place = self.places.iter_mut().filter(|place| place.packet.is_some()).nth(number)?;
        let packet = place.packet.take();
        self.backlog.remove(place.size);
        self.empty += 1;
        self.tidy();
        packet
    }

    /// True if more than 8 places, and more than half of all places, are empty.
    #[inline]
    fn is_mostly_empty(&self) -> bool {
        self.empty > 8 && 2 * self.empty > self.places.len()
    }

    /// Removes empty places from both ends. If more than half of all places are empty, removes all empty places.
    fn tidy(&mut self) {
        while self.places.front().is_some_and(|place| place.packet.is_none()) {
            self.places.pop_front();
            self.first += 1;
            self.empty -= 1;
        }
        while self.places.back().is_some_and(|place| place.packet.is_none()) {
            self.places.pop_back();
            self.empty -= 1;
        }
        if self.is_mostly_empty() {
            // Start above the largest old number, so that an old number never identifies another packet.
            self.first = self.next_place();
            self.places.retain(|place| place.packet.is_some());
            self.numbered_from = self.next_place();
            self.empty = 0;
        }
    }

    /// Returns the time at which the oldest packet was enqueued.
    pub fn oldest(&self) -> Option<Time> {
        self.places.iter().find(|place| place.packet.is_some()).map(|place| place.enqueued_at)
    }

    /// Removes and returns the newest packet.
    pub fn pop_newest(&mut self) -> Option<QueuedPacket> {
        let Place { packet, enqueued_at, size } = self.places.pop_back()?;
        self.backlog.remove(size);
        self.tidy();
        // `tidy` removes empty places at the end, so the last place contains a packet.
        packet.map(|packet| QueuedPacket { packet, enqueued_at })
    }

    /// Appends a packet that was enqueued earlier in another queue. Observers are not notified again.
    pub fn put(&mut self, waiting: QueuedPacket) {
        let QueuedPacket { packet, enqueued_at } = waiting;
        let size = packet.size();
        self.backlog.packets += 1;
        self.backlog.bytes += size;
        self.places.push_back(Place { packet: Some(packet), enqueued_at, size });
    }

    /// Returns the number and total size of the queued packets.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}
