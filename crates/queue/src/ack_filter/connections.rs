//! A hash table with the state of each connection.

use super::departures::Departures;
use super::few::Few;
use super::waiting_ack::WaitingAck;
use crate::QueuedPacket;
use lopsided_core::Packet;
use lopsided_core::packet::{Addresses, TcpHeader};

/// The connection and direction of an ACK: addresses and ports of its sender and receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    addresses: Addresses,
    ports: u32,
}

impl Connection {
    /// Returns the connection of a TCP segment with this header.
    #[inline]
    pub fn of(packet: &Packet, header: &TcpHeader) -> Connection {
        let ports = u32::from(header.src_port) << 16 | u32::from(header.dst_port);
        Connection { addresses: packet.ip().addresses, ports }
    }

    /// Returns a 64-bit hash of the connection.
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

/// Mixes two words, so that each input bit affects all bits of the result.
#[inline]
fn mix(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xbf58_476d_1ce4_e5b9);
    (product >> 64) as u64 ^ product as u64
}

/// The state that the table stores for a connection.
pub(super) trait Known: Default {
    /// The fields of an ACK that the table stores.
    type Ack;

    /// Returns the connection's queued ACKs, oldest first. A connection without queued ACKs may be evicted.
    fn acks(&mut self) -> &mut Few<WaitingAck<Self::Ack>>;
}

/// A hash table with open addressing. The order of the entries never affects a result.
#[derive(Debug)]
pub(super) struct Connections<T> {
    /// The slots. A slot contains an index into `known` plus 1, or 0 if it is free. The number of slots is a power of
    /// 2, and at most 25 % of the slots are in use.
    slots: Vec<u32>,
    /// The connections and their states.
    known: Vec<Entry<T>>,
    /// The departures that have not been applied to `known` yet.
    departures: Departures,
}

/// A connection and its state.
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

/// Minimum number of slots.
const FEWEST: usize = 64;

impl<T> Default for Connections<T> {
    fn default() -> Connections<T> {
        Connections { slots: vec![0; FEWEST], known: Vec::new(), departures: Departures::none() }
    }
}

impl<T: Known> Connections<T> {
    /// Returns the state of a connection. If `begins` is true, a missing connection is added.
    #[inline(always)]
    pub fn get(&mut self, connection: Connection, begins: bool) -> Option<&mut T> {
        let number = match self.find(connection) {
            Ok(number) => number,
            Err(_) if !begins => return None,
            Err(slot) => self.begin(connection, slot),
        };
        let known = &mut self.known[number].known;
        // Remove the ACKs that have left since the connection's previous packet, before the caller reads the list.
        self.departures.strike(known.acks());
        Some(known)
    }

    /// Handles a packet that left the queue. If `later` is true, the packet's connection is updated when its next
    /// packet arrives. This requires a queue that preserves the order of arrival.
    #[inline]
    pub fn on_departure(&mut self, given: &QueuedPacket, later: bool) {
        if later { self.departures.note(given) } else { self.strike_at_once(given) }
    }

    /// Removes the packet that left, and all packets before it, from the list of its connection.
    #[inline(never)]
    fn strike_at_once(&mut self, given: &QueuedPacket) {
        let Some(header) = given.packet.tcp() else { return };
        // The packets of a connection leave in order, so all earlier packets of the connection have also left.
        if let Some(known) = self.get(Connection::of(&given.packet, header), false) {
            known.acks().drop_through(|entry| entry.id == given.packet.id());
        }
    }

    /// Adds a connection. `slot` is the free slot that [`Connections::find`] returned.
    #[cold]
    fn begin(&mut self, connection: Connection, mut slot: usize) -> usize {
        // Growing the table moves all connections, so look up the slot again.
        if 4 * (self.known.len() + 1) > self.slots.len() {
            self.make_room();
            slot = self.find(connection).expect_err("the connection is new");
        }
        self.known.push(Entry { addresses: connection.addresses, ports: connection.ports, known: T::default() });
        self.slots[slot] = self.known.len() as u32;
        self.known.len() - 1
    }

    /// Resets the state of a connection.
    #[cold]
    pub fn forget(&mut self, connection: Connection) {
        if let Ok(number) = self.find(connection) {
            self.known[number].known = T::default();
        }
    }

    /// Returns the index of a connection, or `Err` with the free slot for it.
    #[inline(always)]
    fn find(&self, connection: Connection) -> Result<usize, usize> {
        // The number of slots is a power of two.
        let mask = self.slots.len() - 1;
        let mut slot = (connection.hash() >> 32) as usize & mask;
        loop {
            let Some(number) = (self.slots[slot] as usize).checked_sub(1) else { return Err(slot) };
            if self.known[number].is_of(connection) {
                return Ok(number);
            }
            // Linear probing. Probe sequences are short, because at most 25 % of the slots are in use.
            slot = (slot + 1) & mask;
        }
    }

    /// Evicts connections without queued ACKs. Grows the table if more than 12.5 % of the slots are still in use.
    #[cold]
    fn make_room(&mut self) {
        // Apply departures first, because a connection may still list ACKs that have left.
        let departures = self.departures;
        self.known.retain_mut(|entry| {
            departures.strike(entry.known.acks());
            !entry.known.acks().is_empty()
        });
        let slots = FEWEST.max((8 * self.known.len()).next_power_of_two());
        self.slots.clear();
        self.slots.resize(slots, 0);
        for number in 0..self.known.len() {
            let slot = self.find(self.known[number].connection()).expect_err("no connection is stored twice");
            self.slots[slot] = number as u32 + 1;
        }
    }
}
