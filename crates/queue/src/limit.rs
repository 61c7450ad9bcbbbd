//! The capacity of a buffer. It supports the three buffer architectures of merritt2010, section 2.3.1.

use crate::Backlog;
use crate::bounds;
use lopsided_core::Bytes;
use lopsided_spec::{Amount, Fault, Scalar, Value, ValueType};

/// The size of a buffer, in the unit in which the buffer allocates memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Number of slots, as in most routers and in Linux's pfifo. A slot holds one packet of any size.
    Packets(u32),
    /// Number of bytes, without rounding of packet sizes, as in Linux's bfifo.
    Bytes(Bytes),
    /// Bins of a fixed size. A packet occupies a whole number of bins.
    Bins {
        /// Number of bins.
        count: u32,
        /// Size of a bin in bytes.
        size: Bytes,
    },
}

/// The default is 50 packets, a common buffer size in routers.
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
            _ => Err("a limit must be in packets, octets or bins".to_owned()),
        }
    }
}

/// A threshold with which the backlog of a queue is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Number of packets.
    Packets(u32),
    /// Total size of the IP packets, in bytes.
    Bytes(Bytes),
}

impl Threshold {
    /// Returns the threshold as a plain number of packets or bytes.
    pub fn count(self) -> u64 {
        match self {
            Threshold::Packets(packets) => u64::from(packets),
            Threshold::Bytes(bytes) => bytes.get(),
        }
    }

    /// Returns the packets or bytes of a backlog, in the unit of this threshold.
    pub fn measure(self, backlog: Backlog) -> u64 {
        match self {
            Threshold::Packets(_) => u64::from(backlog.packets),
            Threshold::Bytes(_) => backlog.bytes.get(),
        }
    }

    /// True if both thresholds are in packets, or both in bytes.
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
            _ => Err("a threshold must be in packets or octets".to_owned()),
        }
    }
}

/// The capacity of a buffer, and the space in use.
///
/// # Examples
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_queue::{BufferLimit, Limit};
///
/// let mut room = BufferLimit::new(Limit::Bins { count: 2, size: Bytes::new(512) }, Bytes::ZERO).unwrap();
/// // A packet of 600 bytes occupies both bins.
/// room.charge(Bytes::new(600));
/// assert!(!room.fits(Bytes::new(40)));
/// room.release(Bytes::new(600));
/// assert_eq!(room.used(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct BufferLimit {
    unit: Unit,
    capacity: u64,
    used: u64,
    header: u64,
}

/// The unit in which a buffer allocates memory.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Packet,
    Octet,
    Bin { octets: u64 },
}

impl BufferLimit {
    /// Creates an empty buffer. If the limit is in bytes or bins, each packet takes `header` bytes in addition to the
    /// size of the IP packet. Linux's bfifo on Ethernet counts 14 bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the limit or the size of a bin is zero.
    pub fn new(limit: Limit, header: Bytes) -> Result<BufferLimit, Fault> {
        let (unit, capacity) = match limit {
            Limit::Packets(packets) => (Unit::Packet, u64::from(packets)),
            Limit::Bytes(bytes) => (Unit::Octet, bytes.get()),
            // A bin of size 0 would cause a division by zero in `cost`.
            Limit::Bins { size: Bytes::ZERO, .. } => {
                return Err(Fault::new("limit", "a bin of zero bytes cannot store a packet")
                    .help("the size of a bin must be at least 1 B"));
            }
            Limit::Bins { count, size } => (Unit::Bin { octets: size.get() }, u64::from(count)),
        };
        bounds::limit("limit", capacity)?;
        Ok(BufferLimit { unit, capacity, used: 0, header: header.get() })
    }

    /// Returns the number of slots, bytes or bins that a packet occupies.
    #[inline]
    fn cost(&self, size: Bytes) -> u64 {
        match self.unit {
            // A slot holds a packet of any size.
            Unit::Packet => 1,
            Unit::Octet => size.get() + self.header,
            // Round up, because no other packet can use the rest of a packet's last bin.
            Unit::Bin { octets } => (size.get() + self.header).div_ceil(octets),
        }
    }

    /// Returns the capacity as a number of packets; `None` if this number depends on the sizes of the packets.
    pub fn packets(&self) -> Option<u64> {
        matches!(self.unit, Unit::Packet).then_some(self.capacity)
    }

    /// True if there is room for a packet of this size.
    #[inline]
    pub fn fits(&self, size: Bytes) -> bool {
        self.cost(size) <= self.capacity - self.used
    }

    /// True if an empty buffer has room for a packet of this size.
    pub fn could_fit(&self, size: Bytes) -> bool {
        self.cost(size) <= self.capacity
    }

    /// Allocates the space of an enqueued packet. The packet must fit.
    #[inline]
    pub fn charge(&mut self, size: Bytes) {
        debug_assert!(self.fits(size));
        self.used += self.cost(size);
    }

    /// Frees the space of a packet that leaves the buffer.
    #[inline]
    pub fn release(&mut self, size: Bytes) {
        self.used -= self.cost(size);
    }

    /// Returns the number of slots, bytes or bins in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns the total number of slots, bytes or bins.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}
