//! A host's network interface, like netem on Linux with the network card behind it. Each packet waits for a fixed
//! delay, and then for a place in the card's transmit ring. The number of waiting packets is limited.
//!
//! When a packet leaves the interface for the ring, captures record it. The ring itself is the queue of the link behind
//! the interface. The interface only computes how many packets the link has not sent yet, which is possible because no
//! other node sends on this link. Left out: any order other than first in, first out.

use lopsided_core::{BitRate, Count, Duration, Packet, Port, Time};
use lopsided_link::{Framing, Serializer};
use std::collections::VecDeque;

/// A host's network interface.
#[derive(Debug)]
pub(crate) struct Interface {
    /// How long each packet waits.
    delay: Duration,
    /// Maximum number of waiting packets.
    limit: usize,
    /// Waiting packets, with the earliest time at which they may leave, in order.
    waiting: VecDeque<(Time, Port, Packet)>,
    /// The transmit ring; `None` if it is unlimited.
    ring: Option<TxRing>,
}

impl Interface {
    pub fn new(delay: Duration, limit: Option<u32>, ring: Option<TxRing>) -> Interface {
        Interface { delay, limit: limit.map_or(usize::MAX, |limit| limit as usize), waiting: VecDeque::new(), ring }
    }

    /// True if another packet may wait.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.limit
    }

    /// Adds a packet.
    pub fn take(&mut self, now: Time, port: Port, packet: Packet) {
        self.waiting.push_back((now + self.delay, port, packet));
    }

    /// Removes and returns the next packet, if its delay has passed and the ring has a free place.
    pub fn give(&mut self, now: Time) -> Option<(Port, Packet)> {
        if self.next()? > now {
            return None;
        }
        let (_, port, packet) = self.waiting.pop_front()?;
        // The packet enters the ring now; computing its departure needs no event.
        if let Some(ring) = &mut self.ring {
            ring.enter(now, &packet);
        }
        Some((port, packet))
    }

    /// Number and size of the waiting packets.
    pub fn held(&self) -> Count {
        Count::of(self.waiting.iter().map(|(_, _, packet)| packet.size()))
    }

    /// When the next packet leaves.
    pub fn next(&self) -> Option<Time> {
        let (due, ..) = self.waiting.front()?;
        Some(self.ring.as_ref().map_or(*due, |ring| ring.room_at().max(*due)))
    }
}

/// The card's transmit ring: the packets that the link behind it has not sent yet. The link must send at a plain rate.
#[derive(Debug)]
pub(crate) struct TxRing {
    /// Number of packets that fit.
    places: usize,
    /// Framing of the link.
    framing: Framing,
    /// A copy of the link's serializer, which computes when each packet is sent.
    line: Serializer,
    /// When the latest packets will have been sent; at most one entry per place.
    sent: VecDeque<Time>,
}

impl TxRing {
    pub fn new(places: u32, rate: BitRate, framing: Framing) -> TxRing {
        TxRing { places: places as usize, framing, line: Serializer::new(rate), sent: VecDeque::new() }
    }

    /// The earliest time at which a place is free.
    fn room_at(&self) -> Time {
        if self.sent.len() < self.places { Time::ZERO } else { self.sent[0] }
    }

    /// Adds a packet.
    fn enter(&mut self, now: Time, packet: &Packet) {
        // The oldest packet has left, because a place was free.
        if self.sent.len() == self.places {
            self.sent.pop_front();
        }
        // The line serves packets in order.
        let start = self.line.free_at().max(now);
        self.sent.push_back(self.line.transmit(start, self.framing.wire_size(packet.size())));
    }
}
