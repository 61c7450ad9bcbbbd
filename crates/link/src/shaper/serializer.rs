//! The physical line: one bit after the other, at an exact rate.

use crate::Framing;
use lopsided_core::{BitRate, Bytes, Count, Duration, Time};

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
    /// How many packets of each size that is remembered have [passed](Serializer::pass), and those of other sizes.
    passed: [u32; 2],
    passed_before: Option<Box<Passed>>,
}

/// Packets that found the line idle, none of which are counted anywhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub packets: Count,
    /// Their octets on the wire, and those of the largest packet.
    pub wire: Bytes,
    pub largest: Bytes,
}

impl Passed {
    fn add(&mut self, times: u32, size: Bytes, wire: Bytes) {
        if times == 0 {
            return;
        }
        let times = u64::from(times);
        self.packets += Count { packets: times, bytes: Bytes::new(times * size.get()) };
        self.wire += Bytes::new(times * wire.get());
        self.largest = self.largest.max(size);
    }
}

impl Serializer {
    pub fn new(rate: BitRate) -> Serializer {
        let send_time = SendTime::new(rate);
        Serializer { free_at: Time::ZERO, carry: 0, send_time, passed: [0; 2], passed_before: None }
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
        let number = place_of(size);
        if u64::from(self.send_time.recent[number].size) != size.get() {
            self.remember(size, framing);
        }
        let Remembered { wire, nanos, rest, .. } = self.send_time.recent[number];
        (Bytes::new(u64::from(wire)), start, self.occupy(start, nanos, rest))
    }

    /// Sends a packet that comes at `now` when the line has been idle, where it arrives before `until`, `delay` after its
    /// last bit has left; counts it for [`Serializer::take_passed`]. Gives when it arrives, and how many like it have
    /// passed; `None`, and nothing is changed, where that is not so, or where this is not the size of the last packet.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, size: Bytes, delay: Duration, until: Time) -> Option<(Time, u32)> {
        if self.free_at >= now {
            return None;
        }
        let number = place_of(size);
        let known = &self.send_time.recent[number];
        let sent = now.as_nanos() + known.nanos;
        let arrives = Time::from_nanos(sent + delay.as_nanos());
        if u64::from(known.size) != size.get() || arrives >= until {
            return None;
        }
        self.free_at = Time::from_nanos(sent);
        self.carry = known.rest;
        self.passed[number] += 1;
        Some((arrives, self.passed[number]))
    }

    /// What has passed since it was last asked.
    pub(crate) fn take_passed(&mut self) -> Passed {
        let mut all = self.passed_before.take().map_or(Passed::default(), |passed| *passed);
        for (known, times) in self.send_time.recent.iter().zip(std::mem::take(&mut self.passed)) {
            all.add(times, Bytes::new(u64::from(known.size)), Bytes::new(u64::from(known.wire)));
        }
        all
    }

    /// Another size than the last.
    #[cold]
    #[inline(never)]
    fn remember(&mut self, size: Bytes, framing: &Framing) {
        if self.passed != [0; 2] {
            self.passed_before = Some(Box::new(self.take_passed()));
        }
        self.send_time.remember(size, framing);
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

/// Where the time of packets of this size is remembered.
#[inline(always)]
fn place_of(size: Bytes) -> usize {
    usize::from(size.get() > SMALL)
}

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
        let known = &mut self.recent[place_of(wire)];
        if u64::from(known.wire) != wire.get() {
            *known = Remembered::new(0, wire, self.rate);
        }
        (known.nanos, known.rest)
    }

    /// Remembers what a packet of this size takes.
    fn remember(&mut self, size: Bytes, framing: &Framing) {
        self.recent[place_of(size)] = Remembered::new(size.get() as u32, framing.wire_size(size), self.rate);
    }
}

/// The bits of a packet in units of 10^-9 bit: what a rate of one bit per second brings in a nanosecond.
#[inline]
pub(crate) fn scaled_bits(wire: Bytes) -> u64 {
    wire.bits() * 1_000_000_000
}
