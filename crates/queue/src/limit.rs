//! The capacity of a buffer: the three architectures of merritt2010 section 2.3.1.

use crate::Backlog;
use crate::bounds;
use lopsided_core::Bytes;
use lopsided_spec::{Amount, Fault, Scalar, Value, ValueType};

/// The size of a buffer, in the unit of its memory allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Slots that hold one packet of any size: an ACK takes as much room as a full segment. Most routers, and Linux's
    /// pfifo.
    Packets(u32),
    /// Bytes without waste, as in Linux's bfifo.
    Bytes(Bytes),
    /// Bins of a fixed size: a packet takes as many as it needs, and the rest of its last bin is wasted.
    Bins { count: u32, size: Bytes },
}

/// The usual size of a queue.
impl Default for Limit {
    fn default() -> Limit {
        Limit::Packets(50)
    }
}

impl Scalar for Limit {
    const TYPE: ValueType = ValueType::Limit;

    fn to_value(&self) -> Value {
        Value::Amount(match *self {
            Limit::Packets(packets) => Amount::Packets(packets),
            Limit::Bytes(bytes) => Amount::Bytes(bytes),
            Limit::Bins { count, size } => Amount::Bins { count, size },
        })
    }

    fn from_value(value: Value) -> Result<Limit, String> {
        match value {
            Value::Amount(Amount::Packets(packets)) => Ok(Limit::Packets(packets)),
            Value::Amount(Amount::Bytes(bytes)) => Ok(Limit::Bytes(bytes)),
            Value::Amount(Amount::Bins { count, size }) => Ok(Limit::Bins { count, size }),
            _ => Err("a limit is in packets, octets or bins".to_owned()),
        }
    }
}

/// A threshold within a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    Packets(u32),
    /// IP bytes.
    Bytes(Bytes),
}

impl Threshold {
    /// The number, in packets or bytes.
    pub fn count(self) -> u64 {
        match self {
            Threshold::Packets(packets) => u64::from(packets),
            Threshold::Bytes(bytes) => bytes.get(),
        }
    }

    /// A backlog in this threshold's unit.
    pub fn measure(self, backlog: Backlog) -> u64 {
        match self {
            Threshold::Packets(_) => u64::from(backlog.packets),
            Threshold::Bytes(_) => backlog.bytes.get(),
        }
    }

    pub fn is_same_unit(self, other: Threshold) -> bool {
        matches!(
            (self, other),
            (Threshold::Packets(_), Threshold::Packets(_)) | (Threshold::Bytes(_), Threshold::Bytes(_))
        )
    }
}

impl Scalar for Threshold {
    const TYPE: ValueType = ValueType::Depth;

    fn to_value(&self) -> Value {
        Value::Amount(match *self {
            Threshold::Packets(packets) => Amount::Packets(packets),
            Threshold::Bytes(bytes) => Amount::Bytes(bytes),
        })
    }

    fn from_value(value: Value) -> Result<Threshold, String> {
        match value {
            Value::Amount(Amount::Packets(packets)) => Ok(Threshold::Packets(packets)),
            Value::Amount(Amount::Bytes(bytes)) => Ok(Threshold::Bytes(bytes)),
            _ => Err("a depth is in packets or octets".to_owned()),
        }
    }
}

/// The capacity of one buffer, and how much of it is used.
#[derive(Clone, Debug)]
pub struct BufferLimit {
    unit: Unit,
    capacity: u64,
    used: u64,
    header: u64,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Packet,
    Octet,
    Bin { octets: u64 },
}

impl BufferLimit {
    /// Creates an empty buffer. `header` is what the buffer stores for each packet in addition to the IP packet: a
    /// Linux bfifo on an Ethernet device counts 14 bytes. It matters for bytes and bins.
    pub fn new(limit: Limit, header: Bytes) -> Result<BufferLimit, Fault> {
        let (unit, capacity) = match limit {
            Limit::Packets(packets) => (Unit::Packet, u64::from(packets)),
            Limit::Bytes(bytes) => (Unit::Octet, bytes.get()),
            Limit::Bins { size: Bytes::ZERO, .. } => {
                return Err(Fault::new("limit", "a bin of zero bytes holds nothing").help("give bins a size"));
            }
            Limit::Bins { count, size } => (Unit::Bin { octets: size.get() }, u64::from(count)),
        };
        bounds::limit("limit", capacity)?;
        Ok(BufferLimit { unit, capacity, used: 0, header: header.get() })
    }

    /// The cost of a packet in this buffer's unit.
    #[inline]
    fn cost(&self, size: Bytes) -> u64 {
        match self.unit {
            Unit::Packet => 1,
            Unit::Octet => size.get() + self.header,
            Unit::Bin { octets } => (size.get() + self.header).div_ceil(octets),
        }
    }

    /// Number of packets that fit; `None` if that depends on their sizes.
    pub fn packets(&self) -> Option<u64> {
        matches!(self.unit, Unit::Packet).then_some(self.capacity)
    }

    /// True if a packet of this size fits now.
    #[inline]
    pub fn fits(&self, size: Bytes) -> bool {
        self.cost(size) <= self.capacity - self.used
    }

    /// True if a packet of this size fits the empty buffer.
    pub fn could_fit(&self, size: Bytes) -> bool {
        self.cost(size) <= self.capacity
    }

    /// Takes the room for a packet that fits.
    #[inline]
    pub fn charge(&mut self, size: Bytes) {
        debug_assert!(self.fits(size));
        self.used += self.cost(size);
    }

    /// Releases the room of a packet that leaves.
    #[inline]
    pub fn release(&mut self, size: Bytes) {
        self.used -= self.cost(size);
    }

    /// Slots, bytes or bins in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Slots, bytes or bins in total.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}
