//! What is known of each connection, found in constant time.

use lopsided_core::Packet;
use lopsided_core::packet::Addresses;

/// The sender of the ACKs, and their receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    addresses: Addresses,
    ports: (u16, u16),
}

impl Connection {
    /// Of a TCP segment.
    #[inline]
    pub fn of(packet: &Packet) -> Option<Connection> {
        let header = packet.tcp()?;
        Some(Connection { addresses: packet.ip().addresses, ports: (header.src_port, header.dst_port) })
    }

    /// Spreads connections over 64 bits, for a quick look-up.
    #[inline]
    pub fn hash(&self) -> u64 {
        let ports = u64::from(self.ports.0) << 16 | u64::from(self.ports.1);
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

/// What a table keeps of a connection.
pub(super) trait Known: Default {
    /// It may be forgotten if there is no room.
    fn is_idle(&self) -> bool;
}

/// A hash table with open addressing. Its order is of no consequence: nothing ever goes through it but to make room.
#[derive(Debug)]
pub(super) struct Connections<T> {
    /// A power of two, at most half of them taken: the hash of the connection there, and where it is known. Zero: nowhere.
    slots: Vec<(u64, u32)>,
    known: Vec<(Connection, T)>,
}

/// Slots at the beginning.
const FEWEST: usize = 64;

impl<T> Default for Connections<T> {
    fn default() -> Connections<T> {
        Connections { slots: vec![(0, 0); FEWEST], known: Vec::new() }
    }
}

impl<T: Known> Connections<T> {
    /// What is known of a connection, which may be new if `begins`.
    #[inline]
    pub fn get(&mut self, connection: Connection, begins: bool) -> Option<&mut T> {
        let hash = connection.hash();
        let number = match self.find(hash, &connection) {
            Ok(number) => number,
            Err(_) if !begins => return None,
            Err(slot) => self.begin(hash, connection, slot),
        };
        Some(&mut self.known[number].1)
    }

    /// A connection begins, whose slot this would be.
    #[cold]
    fn begin(&mut self, hash: u64, connection: Connection, mut slot: usize) -> usize {
        if 2 * (self.known.len() + 1) > self.slots.len() {
            self.make_room();
            slot = self.find(hash, &connection).expect_err("it is not there yet");
        }
        self.known.push((connection, T::default()));
        self.slots[slot] = (hash, self.known.len() as u32);
        self.known.len() - 1
    }

    /// Forgets what is known of a connection.
    pub fn forget(&mut self, connection: Connection) {
        if let Some(known) = self.get(connection, false) {
            *known = T::default();
        }
    }

    /// Where a connection is known, or the slot that it would take.
    #[inline]
    fn find(&self, hash: u64, connection: &Connection) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let (held, number) = self.slots[slot];
            let Some(known) = (number as usize).checked_sub(1) else { return Err(slot) };
            if held == hash && self.known[known].0 == *connection {
                return Ok(known);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Forgets what is idle, and takes more slots if that leaves less than three quarters free.
    #[cold]
    fn make_room(&mut self) {
        self.known.retain(|(_, known)| !known.is_idle());
        let slots = FEWEST.max((4 * self.known.len()).next_power_of_two());
        self.slots.clear();
        self.slots.resize(slots, (0, 0));
        for number in 1..=self.known.len() {
            let connection = self.known[number - 1].0;
            let hash = connection.hash();
            let slot = self.find(hash, &connection).expect_err("each is known once");
            self.slots[slot] = (hash, number as u32);
        }
    }
}
