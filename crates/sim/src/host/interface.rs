//! A host's own interface: what netem and the network card behind it do. Each packet waits for the same time, then for
//! a place in the card's ring; there is room for so many that wait.
//!
//! A packet leaves the interface for the ring, where a capture sees it. The ring itself is the queue of the link
//! behind; the interface only keeps count of what the link has not sent yet, which it can foretell: no one else sends
//! on this link. Leaves out: any other order than first in, first out.

use lopsided_core::{BitRate, Count, Duration, Packet, Port, Time};
use lopsided_link::{Framing, Serializer};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Interface {
    delay: Duration,
    /// Packets that may wait.
    limit: usize,
    /// In order of the times at which they may leave.
    waiting: VecDeque<(Time, Port, Packet)>,
    /// `None`: the ring has room for everything.
    ring: Option<TxRing>,
}

impl Interface {
    pub fn new(delay: Duration, limit: Option<u32>, ring: Option<TxRing>) -> Interface {
        Interface { delay, limit: limit.map_or(usize::MAX, |limit| limit as usize), waiting: VecDeque::new(), ring }
    }

    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.limit
    }

    pub fn take(&mut self, now: Time, port: Port, packet: Packet) {
        self.waiting.push_back((now + self.delay, port, packet));
    }

    /// The next packet, if its time has come and the ring has a place.
    pub fn give(&mut self, now: Time) -> Option<(Port, Packet)> {
        if self.next()? > now {
            return None;
        }
        let (_, port, packet) = self.waiting.pop_front()?;
        if let Some(ring) = &mut self.ring {
            ring.enter(now, &packet);
        }
        Some((port, packet))
    }

    /// What waits for its time, or for a place in the ring.
    pub fn held(&self) -> Count {
        Count::of(self.waiting.iter().map(|(_, _, packet)| packet.size()))
    }

    /// When the next packet leaves.
    pub fn next(&self) -> Option<Time> {
        let (due, ..) = self.waiting.front()?;
        Some(self.ring.as_ref().map_or(*due, |ring| ring.room_at().max(*due)))
    }
}

/// What the card holds: packets that the link behind, a plain serializer, has not sent yet.
#[derive(Debug)]
pub(crate) struct TxRing {
    places: usize,
    framing: Framing,
    /// Foretells the link's own.
    line: Serializer,
    /// When each of the latest packets will have been sent, at most one for each place.
    sent: VecDeque<Time>,
}

impl TxRing {
    pub fn new(places: u32, rate: BitRate, framing: Framing) -> TxRing {
        TxRing { places: places as usize, framing, line: Serializer::new(rate), sent: VecDeque::new() }
    }

    fn room_at(&self) -> Time {
        if self.sent.len() < self.places { Time::ZERO } else { self.sent[0] }
    }

    fn enter(&mut self, now: Time, packet: &Packet) {
        if self.sent.len() == self.places {
            self.sent.pop_front();
        }
        let start = self.line.free_at().max(now);
        self.sent.push_back(self.line.transmit(start, self.framing.wire_size(packet.size())));
    }
}
