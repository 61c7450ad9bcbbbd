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
        let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let ports = u64::from(self.ports.0) << 16 | u64::from(self.ports.1);
        match self.addresses {
            Addresses::V4 { src, dst } => mix(ports, u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits())),
            Addresses::V6 { src, dst } => [src.to_bits(), dst.to_bits()]
                .into_iter()
                .fold(ports, |sum, address| mix(mix(sum, address as u64), (address >> 64) as u64)),
        }
    }
}

/// What a table keeps of a connection.
pub(super) trait Known: Default {
    /// It may be forgotten if there is no room.
    fn is_idle(&self) -> bool;
}

/// A hash table with open addressing. Its order is of no consequence: nothing ever goes through it but to make room.
#[derive(Debug)]
pub(super) struct Connections<T> {
    /// A power of two, at most half of them taken.
    slots: Vec<Option<(Connection, T)>>,
    taken: usize,
}

/// Slots at the beginning.
const FEWEST: usize = 64;

impl<T> Default for Connections<T> {
    fn default() -> Connections<T> {
        Connections { slots: std::iter::repeat_with(|| None).take(FEWEST).collect(), taken: 0 }
    }
}

impl<T: Known> Connections<T> {
    /// What is known of a connection, which may be new if `begins`.
    #[inline]
    pub fn get(&mut self, connection: Connection, begins: bool) -> Option<&mut T> {
        let mut at = self.find(&connection);
        if self.slots[at].is_none() {
            if !begins {
                return None;
            }
            if 2 * (self.taken + 1) > self.slots.len() {
                self.make_room();
                at = self.find(&connection);
            }
            self.taken += 1;
            self.slots[at] = Some((connection, T::default()));
        }
        self.slots[at].as_mut().map(|(_, known)| known)
    }

    /// Forgets what is known of a connection.
    pub fn forget(&mut self, connection: Connection) {
        if let Some(known) = self.get(connection, false) {
            *known = T::default();
        }
    }

    /// The slot of a connection, or the one that it would take.
    #[inline]
    fn find(&self, connection: &Connection) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (connection.hash() >> 32) as usize & mask;
        while self.slots[at].as_ref().is_some_and(|(held, _)| held != connection) {
            at = (at + 1) & mask;
        }
        at
    }

    /// Forgets what is idle, and takes more slots if that leaves less than three quarters free.
    #[cold]
    fn make_room(&mut self) {
        let kept: Vec<_> = self.slots.drain(..).flatten().filter(|(_, known)| !known.is_idle()).collect();
        self.taken = kept.len();
        let slots = FEWEST.max((4 * kept.len()).next_power_of_two());
        self.slots.resize_with(slots, || None);
        for (connection, known) in kept {
            let at = self.find(&connection);
            self.slots[at] = Some((connection, known));
        }
    }
}
