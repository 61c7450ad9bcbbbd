//! The physical line: sends one bit after another at an exact rate.

use crate::Framing;
use lopsided_core::{BitRate, Bytes, Count, Duration, Time};

/// A line that sends one packet at a time.
///
/// The line carries fractions of a nanosecond over to the next packet. The transmission of a back-to-back sequence
/// therefore takes exactly the number of bits divided by the rate.
#[derive(Debug)]
pub struct Serializer {
    free_at: Time,
    /// Fraction of a nanosecond after `free_at`, in units of 1 / rate nanoseconds.
    carry: u64,
    send_time: SendTime,
    /// Number of packets that have [passed](Serializer::pass) since the last [`Serializer::take_passed`], for each of
    /// the two cached sizes.
    passed: [u32; 2],
    /// Packets that passed while other sizes were cached. `None` if no cached size was replaced since the last
    /// [`Serializer::take_passed`].
    passed_before: Option<Box<Passed>>,
}

/// Packets that found the line idle and are counted only by the serializer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Number of packets, and their total size as IP packets.
    pub packets: Count,
    /// Total size of the packets on the wire.
    pub wire: Bytes,
    /// Size of the largest IP packet.
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
    /// Creates an idle line.
    pub fn new(rate: BitRate) -> Serializer {
        let send_time = SendTime::new(rate);
        Serializer { free_at: Time::ZERO, carry: 0, send_time, passed: [0; 2], passed_before: None }
    }

    /// Returns the rate.
    pub fn rate(&self) -> BitRate {
        BitRate::from_bps(self.send_time.rate)
    }

    /// True if the smallest packet, an IP header of 20 bytes, takes at least 1 ns.
    #[inline]
    pub(crate) fn takes_time(&self) -> bool {
        self.send_time.rate <= 160_000_000_000
    }

    /// Returns the time at which the line becomes free, rounded down to whole nanoseconds.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// Starts to send at `start`, when the line must be free. Returns the time at which the last bit is sent.
    #[inline]
    pub fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        let (nanos, rest) = self.send_time.of(wire);
        self.occupy(start, nanos, rest)
    }

    /// Sends a packet that enters at `now`. Returns the size on the wire, the start of the transmission, and the time
    /// at which the last bit is sent.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, size: Bytes, framing: &Framing) -> (Bytes, Time, Time) {
        // The line sends packets in the order of the calls, one at a time.
        let start = self.free_at.max(now);
        let number = place_of(size);
        if u64::from(self.send_time.recent[number].size) != size.get() {
            self.remember(size, framing);
        }
        let Remembered { wire, nanos, rest, .. } = self.send_time.recent[number];
        (Bytes::new(u64::from(wire)), start, self.occupy(start, nanos, rest))
    }

    /// Sends a packet that enters at `now` if the line is idle, the packet's size is cached, and the packet arrives
    /// before `until`. Returns the arrival time, which is `delay` after the last bit, and the number of passed packets
    /// of this size. Only [`Serializer::take_passed`] reports the packet.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, size: Bytes, delay: Duration, until: Time) -> Option<(Time, u32)> {
        // If `free_at` equals `now`, the packet directly follows the previous packet and must use its carry.
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

    /// Returns the packets that passed since the last call, and resets their counters.
    pub(crate) fn take_passed(&mut self) -> Passed {
        let mut all = self.passed_before.take().map_or(Passed::default(), |passed| *passed);
        for (known, times) in self.send_time.recent.iter().zip(std::mem::take(&mut self.passed)) {
            all.add(times, Bytes::new(u64::from(known.size)), Bytes::new(u64::from(known.wire)));
        }
        all
    }

    /// Replaces a cached size, after saving the count of packets of the old size.
    #[cold]
    #[inline(never)]
    fn remember(&mut self, size: Bytes, framing: &Framing) {
        // The counters belong to the old size, so convert them to bytes before the size changes.
        if self.passed != [0; 2] {
            self.passed_before = Some(Box::new(self.take_passed()));
        }
        self.send_time.remember(size, framing);
    }

    /// Occupies the line from `start` on, for `nanos` plus `rest` / rate nanoseconds.
    #[inline(always)]
    fn occupy(&mut self, start: Time, nanos: u64, rest: u64) -> Time {
        debug_assert!(start >= self.free_at);
        // After idle time the packet starts on a whole nanosecond.
        let carry = if start == self.free_at { self.carry } else { 0 };
        let rate = self.send_time.rate;
        let rest = rest + carry;
        let whole = u64::from(rest >= rate);
        // Both fractions are below 1 ns, so at most 1 ns is added.
        self.carry = rest - rate * whole;
        self.free_at = Time::from_nanos(start.as_nanos() + nanos + whole);
        self.free_at
    }
}

/// Computes the transmission time of a packet: whole nanoseconds, and a remainder in 1 / rate nanoseconds.
///
/// Caches the results for one large and one small size, to avoid the division.
#[derive(Debug)]
pub(crate) struct SendTime {
    /// The rate in bit/s.
    pub(crate) rate: u64,
    recent: [Remembered; 2],
}

/// The transmission time of packets of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    /// Size of the IP packet; 0 if only the size on the wire is known.
    size: u32,
    wire: u32,
    nanos: u64,
    rest: u64,
}

/// Upper limit of the class of small packets, in bytes.
const SMALL: u64 = 256;

/// Returns the class of a size: 0 or 1.
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

    /// Returns the transmission time of this many bytes on the wire.
    #[inline]
    pub(crate) fn of(&mut self, wire: Bytes) -> (u64, u64) {
        let known = &mut self.recent[place_of(wire)];
        if u64::from(known.wire) != wire.get() {
            *known = Remembered::new(0, wire, self.rate);
        }
        (known.nanos, known.rest)
    }

    /// Caches the transmission time of packets of this size.
    fn remember(&mut self, size: Bytes, framing: &Framing) {
        self.recent[place_of(size)] = Remembered::new(size.get() as u32, framing.wire_size(size), self.rate);
    }
}

/// Returns the size of a packet in units of 10^-9 bit.
#[inline]
pub(crate) fn scaled_bits(wire: Bytes) -> u64 {
    wire.bits() * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line on which each byte takes 1 us, and which has sent one small and one large packet by 1,540 us.
    fn warm() -> Serializer {
        let mut line = Serializer::new(BitRate::from_bps(8_000_000));
        for size in [40, 1500] {
            line.send(Time::ZERO, Bytes::new(size), &Framing::NONE);
        }
        line
    }

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn a_packet_of_a_known_size_passes_an_idle_line() {
        let delay = Duration::from_micros(100);
        let mut line = warm();
        let mut pass = |at, size| line.pass(us(at), Bytes::new(size), delay, us(10_000));
        assert_eq!(pass(1540, 40), None, "the line is busy until now");
        assert_eq!(pass(1541, 41), None, "the size is not known");
        assert_eq!(pass(1541, 40), Some((us(1681), 1)));
        assert_eq!(pass(2000, 1500), Some((us(3600), 1)));
        assert_eq!(pass(3501, 40), Some((us(3641), 2)));
        assert_eq!(pass(9900, 40), None, "checked before the packet arrives");
        assert_eq!(pass(9860, 40), None, "checked when the packet arrives");
        let passed = Passed {
            packets: Count { packets: 3, bytes: Bytes::new(1580) },
            wire: Bytes::new(1580),
            largest: Bytes::new(1500),
        };
        assert_eq!((line.take_passed(), line.take_passed()), (passed, Passed::default()));
    }

    #[test]
    fn packets_of_a_size_that_is_replaced_stay_counted() {
        let mut line = warm();
        line.pass(us(2000), Bytes::new(40), Duration::ZERO, Time::MAX).expect("the line is idle");
        line.send(us(3000), Bytes::new(52), &Framing::NONE);
        line.pass(us(4000), Bytes::new(52), Duration::ZERO, Time::MAX).expect("the line is idle");
        let passed = line.take_passed();
        assert_eq!((passed.packets, passed.largest), (Count { packets: 2, bytes: Bytes::new(92) }, Bytes::new(52)));
    }
}
