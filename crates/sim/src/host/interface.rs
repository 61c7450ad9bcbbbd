//! A host's network interface: a fixed delay (like netem), followed by the card's transmit ring. The number of waiting
//! packets is limited.
//!
//! The ring stores no packets. It only counts the packets that the link behind it has not sent yet. Captures record a
//! packet when it enters the ring.

use lopsided_core::{BitRate, Count, Duration, Packet, Port, Time};
use lopsided_link::{Framing, Serializer};
use std::collections::VecDeque;

/// A host's network interface.
#[derive(Debug)]
pub(crate) struct Interface {
    /// The delay of each packet.
    delay: Duration,
    /// Maximum number of waiting packets.
    limit: usize,
    /// Waiting packets in order, each with the earliest time at which it may leave.
    waiting: VecDeque<(Time, Port, Packet)>,
    /// The transmit ring; `None` if it is unlimited.
    ring: Option<TxRing>,
}

impl Interface {
    pub fn new(delay: Duration, limit: Option<u32>, ring: Option<TxRing>) -> Interface {
        Interface { delay, limit: limit.map_or(usize::MAX, |limit| limit as usize), waiting: VecDeque::new(), ring }
    }

    /// Returns true if the interface accepts another packet.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.limit
    }

    /// Adds a packet.
    pub fn take(&mut self, now: Time, port: Port, packet: Packet) {
        self.waiting.push_back((now + self.delay, port, packet));
    }

    /// Removes and returns the next packet if its delay has passed and the ring has a free place.
    pub fn give(&mut self, now: Time) -> Option<(Port, Packet)> {
        if self.next()? > now {
            return None;
        }
        let (_, port, packet) = self.waiting.pop_front()?;
        // The packet enters the ring now. The ring computes the packet's departure from the link, so no event is
        // needed.
        if let Some(ring) = &mut self.ring {
            ring.enter(now, &packet);
        }
        Some((port, packet))
    }

    /// Returns the number and total size of the waiting packets.
    pub fn held(&self) -> Count {
        Count::of(self.waiting.iter().map(|(_, _, packet)| packet.size()))
    }

    /// Returns the time at which the next packet leaves; `None` if no packet waits.
    pub fn next(&self) -> Option<Time> {
        let (due, ..) = self.waiting.front()?;
        Some(self.ring.as_ref().map_or(*due, |ring| ring.room_at().max(*due)))
    }
}

/// A network card's transmit ring.
#[derive(Debug)]
pub(crate) struct TxRing {
    /// Capacity of the ring, in packets.
    places: usize,
    /// Framing of the link.
    framing: Framing,
    /// A copy of the link's serializer, which computes when each packet is sent.
    line: Serializer,
    /// Times at which the link has sent the most recent packets, oldest first; at most `places` entries.
    sent: VecDeque<Time>,
}

impl TxRing {
    pub fn new(places: u32, rate: BitRate, framing: Framing) -> TxRing {
        TxRing { places: places as usize, framing, line: Serializer::new(rate), sent: VecDeque::new() }
    }

    /// Returns the earliest time at which the ring has a free place.
    fn room_at(&self) -> Time {
        if self.sent.len() < self.places { Time::ZERO } else { self.sent[0] }
    }

    /// Adds a packet.
    fn enter(&mut self, now: Time, packet: &Packet) {
        // A packet enters the ring only if a place is free, so the oldest of `places` times is in the past.
        if self.sent.len() == self.places {
            self.sent.pop_front();
        }
        // The line serves packets in order.
        let start = self.line.free_at().max(now);
        self.sent.push_back(self.line.transmit(start, self.framing.wire_size(packet.size())));
    }
}
