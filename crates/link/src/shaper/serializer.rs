//! The physical line: one bit after the other, at an exact rate.

use lopsided_core::{BitRate, Bytes, Time};

/// A line that sends one packet at a time.
///
/// Fractions of a nanosecond are carried from packet to packet: a run of packets back to back takes exactly its bits
/// divided by the rate, however long it is.
#[derive(Debug)]
pub struct Serializer {
    free_at: Time,
    /// How much later than `free_at` the line is really free, in units of 1 / rate nanoseconds.
    carry: u64,
    send_time: SendTime,
}

impl Serializer {
    pub fn new(rate: BitRate) -> Serializer {
        Serializer { free_at: Time::ZERO, carry: 0, send_time: SendTime::new(rate) }
    }

    pub fn rate(&self) -> BitRate {
        BitRate::from_bps(self.send_time.rate)
    }

    /// Whether even the smallest packet, an IP header, takes a nanosecond to send.
    #[inline]
    pub(crate) fn takes_time(&self) -> bool {
        self.send_time.rate <= 160_000_000_000
    }

    /// When the packet before has left.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Begins to send at `start`, which is not before the line is free, and says when the last bit has left.
    #[inline]
    pub fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        debug_assert!(start >= self.free_at);
        let carry = if start == self.free_at { self.carry } else { 0 };
        let (nanos, rest) = self.send_time.of(wire);
        let rate = self.send_time.rate;
        let rest = rest + carry;
        let whole = u64::from(rest >= rate);
        self.carry = rest - rate * whole;
        self.free_at = Time::from_nanos(start.as_nanos() + nanos + whole);
        self.free_at
    }
}

/// Bits to send, as nanoseconds at a rate: whole ones and a rest in units of 1 / rate nanoseconds.
///
/// A link carries few sizes, most of all one large and one small: the last of each is remembered, which spares the
/// division.
#[derive(Debug)]
pub(crate) struct SendTime {
    pub(crate) rate: u64,
    recent: [Remembered; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    wire: u64,
    nanos: u64,
    rest: u64,
}

impl SendTime {
    pub(crate) fn new(rate: BitRate) -> SendTime {
        SendTime { rate: rate.as_bps(), recent: [Remembered::default(); 2] }
    }

    #[inline]
    pub(crate) fn of(&mut self, wire: Bytes) -> (u64, u64) {
        let known = &mut self.recent[usize::from(wire.get() > 256)];
        if known.wire != wire.get() {
            let work = scaled_bits(wire);
            *known = Remembered { wire: wire.get(), nanos: work / self.rate, rest: work % self.rate };
        }
        (known.nanos, known.rest)
    }
}

/// The bits of a packet in units of 10^-9 bit: what a rate of one bit per second brings in a nanosecond.
#[inline]
pub(crate) fn scaled_bits(wire: Bytes) -> u64 {
    wire.bits() * 1_000_000_000
}
