//! The physical line: one bit after the other, at an exact rate.

use crate::Framing;
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
        let (nanos, rest) = self.send_time.of(wire);
        self.occupy(start, nanos, rest)
    }

    /// Sends a packet of this size, that comes at `now`, as soon as the line is free. Gives its octets on the wire, when
    /// it begins, and when the last bit has left.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, size: Bytes, framing: &Framing) -> (Bytes, Time, Time) {
        let start = self.free_at.max(now);
        let Remembered { wire, nanos, rest, .. } = *self.send_time.of_packet(size, framing);
        (Bytes::new(u64::from(wire)), start, self.occupy(start, nanos, rest))
    }

    /// From `start` on, which is not before the line is free.
    #[inline(always)]
    fn occupy(&mut self, start: Time, nanos: u64, rest: u64) -> Time {
        debug_assert!(start >= self.free_at);
        let carry = if start == self.free_at { self.carry } else { 0 };
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
    /// Of the packet; 0 where only its octets on the wire were asked for.
    size: u32,
    wire: u32,
    nanos: u64,
    rest: u64,
}

/// The largest packet, in octets, that counts as a small one.
const SMALL: u64 = 256;

impl Remembered {
    #[cold]
    #[inline(never)]
    fn new(size: u32, wire: Bytes, rate: u64) -> Remembered {
        let work = scaled_bits(wire);
        Remembered { size, wire: wire.get() as u32, nanos: work / rate, rest: work % rate }
    }
}

impl SendTime {
    pub(crate) fn new(rate: BitRate) -> SendTime {
        SendTime { rate: rate.as_bps(), recent: [Remembered::default(); 2] }
    }

    #[inline]
    pub(crate) fn of(&mut self, wire: Bytes) -> (u64, u64) {
        let known = &mut self.recent[usize::from(wire.get() > SMALL)];
        if u64::from(known.wire) != wire.get() {
            *known = Remembered::new(0, wire, self.rate);
        }
        (known.nanos, known.rest)
    }

    /// Of a packet of this size.
    #[inline(always)]
    fn of_packet(&mut self, size: Bytes, framing: &Framing) -> &Remembered {
        let known = &mut self.recent[usize::from(size.get() > SMALL)];
        if u64::from(known.size) != size.get() {
            *known = Remembered::new(size.get() as u32, framing.wire_size(size), self.rate);
        }
        known
    }
}

/// The bits of a packet in units of 10^-9 bit: what a rate of one bit per second brings in a nanosecond.
#[inline]
pub(crate) fn scaled_bits(wire: Bytes) -> u64 {
    wire.bits() * 1_000_000_000
}
