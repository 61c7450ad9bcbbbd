//! The state of each connection, found in constant time.

use super::departures::Departures;
use super::few::Few;
use super::waiting_ack::WaitingAck;
use crate::QueuedPacket;
use lopsided_core::Packet;
use lopsided_core::packet::{Addresses, TcpHeader};

/// The sender of the ACKs, and their receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    addresses: Addresses,
    ports: u32,
}

impl Connection {
    /// The connection of a TCP segment with this header.
    #[inline]
    pub fn of(packet: &Packet, header: &TcpHeader) -> Connection {
        let ports = u32::from(header.src_port) << 16 | u32::from(header.dst_port);
        Connection { addresses: packet.ip().addresses, ports }
    }

    /// A 64-bit hash for a quick look-up.
    #[inline]
    fn hash(&self) -> u64 {
        let ports = u64::from(self.ports);
        match self.addresses {
            Addresses::V4 { src, dst } => mix(ports, u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits())),
            Addresses::V6 { src, dst } => [src.to_bits(), dst.to_bits()]
                .into_iter()
                .fold(ports, |sum, address| mix(mix(sum, address as u64), (address >> 64) as u64)),
        }
    }
}

/// Both halves of a product: each bit of the words reaches each of the result's.
#[inline]
fn mix(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xbf58_476d_1ce4_e5b9);
    (product >> 64) as u64 ^ product as u64
}

/// The state that the table stores per connection.
pub(super) trait Known: Default {
    type Ack;

    /// Its ACKs that wait, oldest first. Without any it may be forgotten if there is no room.
    fn acks(&mut self) -> &mut Few<WaitingAck<Self::Ack>>;
}

/// A hash table with open addressing. Its order never matters: it is only traversed to make room.
#[derive(Debug)]
pub(super) struct Connections<T> {
    /// A power of two, at most 1/4 used: the number of the connection plus one, or 0 if the slot is free.
    slots: Vec<u32>,
    known: Vec<Entry<T>>,
    departures: Departures,
}

#[derive(Debug)]
struct Entry<T> {
    addresses: Addresses,
    ports: u32,
    known: T,
}

impl<T> Entry<T> {
    #[inline]
    fn is_of(&self, connection: Connection) -> bool {
        self.ports == connection.ports && self.addresses == connection.addresses
    }

    fn connection(&self) -> Connection {
        Connection { addresses: self.addresses, ports: self.ports }
    }
}

/// Slots at the beginning.
const FEWEST: usize = 64;

impl<T> Default for Connections<T> {
    fn default() -> Connections<T> {
        Connections { slots: vec![0; FEWEST], known: Vec::new(), departures: Departures::none() }
    }
}

impl<T: Known> Connections<T> {
    /// The state of a connection, which is created if `begins`.
    #[inline(always)]
    pub fn get(&mut self, connection: Connection, begins: bool) -> Option<&mut T> {
        let number = match self.find(connection) {
            Ok(number) => number,
            Err(_) if !begins => return None,
            Err(slot) => self.begin(connection, slot),
        };
        let known = &mut self.known[number].known;
        self.departures.strike(known.acks());
        Some(known)
    }

    /// A packet left the queue. Its connection's state is updated now; or `later`, with the connection's next packet,
    /// if the queue preserves order and nothing counts the queue meanwhile.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, later: bool) {
        if later { self.departures.note(given) } else { self.strike_at_once(given) }
    }

    #[inline(never)]
    fn strike_at_once(&mut self, given: &QueuedPacket) {
        let Some(header) = given.packet.tcp() else { return };
        // A connection's packets leave in order: all earlier ones have left too.
        if let Some(known) = self.get(Connection::of(&given.packet, header), false) {
            known.acks().drop_through(|entry| entry.id == given.packet.id());
        }
    }

    /// A connection begins, whose slot this would be.
    #[cold]
    fn begin(&mut self, connection: Connection, mut slot: usize) -> usize {
        if 4 * (self.known.len() + 1) > self.slots.len() {
            self.make_room();
            slot = self.find(connection).expect_err("it is not there yet");
        }
        self.known.push(Entry { addresses: connection.addresses, ports: connection.ports, known: T::default() });
        self.slots[slot] = self.known.len() as u32;
        self.known.len() - 1
    }

    /// Removes the state of a connection.
    #[cold]
    pub fn forget(&mut self, connection: Connection) {
        if let Ok(number) = self.find(connection) {
            self.known[number].known = T::default();
        }
    }

    /// The slot of a connection, or the slot that it would take.
    #[inline(always)]
    fn find(&self, connection: Connection) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (connection.hash() >> 32) as usize & mask;
        loop {
            let Some(number) = (self.slots[slot] as usize).checked_sub(1) else { return Err(slot) };
            if self.known[number].is_of(connection) {
                return Ok(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Removes idle connections, and grows the table if less than 7/8 would be free.
    #[cold]
    fn make_room(&mut self) {
        let departures = self.departures;
        self.known.retain_mut(|entry| {
            departures.strike(entry.known.acks());
            !entry.known.acks().is_empty()
        });
        let slots = FEWEST.max((8 * self.known.len()).next_power_of_two());
        self.slots.clear();
        self.slots.resize(slots, 0);
        for number in 0..self.known.len() {
            let slot = self.find(self.known[number].connection()).expect_err("each is known once");
            self.slots[slot] = number as u32 + 1;
        }
    }
}
