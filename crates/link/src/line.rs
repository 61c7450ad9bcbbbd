//! The line behind the queue, and the counters that all transmit paths of a link share.

use crate::Framing;
use crate::shaper::{AnyShaper, Passed, Shaper};
use lopsided_core::{Bytes, Duration, Event, Packet, Time};
use lopsided_queue::{Backlog, QueueStats};

/// The shaper, the framing and the propagation delay of one link.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) shaper: AnyShaper,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
}

impl Line {
    pub(crate) fn new(shaper: AnyShaper, framing: Framing, delay: Duration) -> Line {
        Line { shaper, framing, delay }
    }

    /// True if every packet needs at least 1 ns to cross the line.
    pub(crate) fn takes_time(&self) -> bool {
        // A minimum time is known only for a serializer. Other shapers may send a packet in 0 ns.
        let sends = matches!(&self.shaper, AnyShaper::Serializer(line) if line.takes_time());
        sends || !self.delay.is_zero()
    }

    /// Sends a packet that enters at `now`. Returns the size on the wire, the departure time from the queue, and the
    /// time at which the last bit is sent.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, size: Bytes) -> (Bytes, Time, Time) {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.send(now, size, &self.framing),
            _ => self.send_shaped(now, size),
        }
    }

    /// Sends a packet at `at` if the line is idle and the packet arrives before `until`: see [`Serializer::pass`].
    ///
    /// [`Serializer::pass`]: crate::Serializer::pass
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: Time, size: Bytes, until: Time) -> Option<(Time, u32)> {
        let AnyShaper::Serializer(line) = &mut self.shaper else { return None };
        line.pass(at, size, self.delay, until)
    }

    /// Returns the time until which the line is busy with earlier packets; [`Time::ZERO`] if this time is unknown.
    pub(crate) fn busy_until(&self) -> Time {
        match &self.shaper {
            // Subtract 1 ns, because at a very high rate a packet may take 0 ns. The next packet then starts at
            // `free_at`.
            AnyShaper::Serializer(line) => Time::from_nanos(line.free_at().as_nanos().saturating_sub(1)),
            _ => Time::ZERO,
        }
    }

    /// Returns the arrival time of a packet whose last bit is sent at `sent`.
    #[inline(always)]
    pub(crate) fn arrival(&self, sent: Time) -> Time {
        Time::from_nanos(sent.as_nanos() + self.delay.as_nanos())
    }

    /// Returns the counts of the packets that [`Line::pass`] has sent since the last call, and resets the counters.
    pub(crate) fn take_passed(&mut self) -> Passed {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.take_passed(),
            _ => Passed::default(),
        }
    }

    /// Sends a packet through a token bucket, an access method or another shaper.
    #[inline(never)]
    fn send_shaped(&mut self, now: Time, size: Bytes) -> (Bytes, Time, Time) {
        let wire = self.framing.wire_size(size);
        let (departs, sent) = self.shaper.schedule(now, wire);
        (wire, departs, sent)
    }
}

/// Statistics of the queue and of the line.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) queue: QueueStats,
    /// Bytes on the wire of all packets that left the queue, including framing.
    pub(crate) wire_bytes: Bytes,
}

impl Measured {
    /// Adds packets that found the line idle and never waited in the queue.
    pub(crate) fn count_passed(&mut self, passed: Passed) {
        self.queue.passed(passed.packets, passed.largest);
        self.wire_bytes += passed.wire;
    }
}

/// Returns the event that reports the departure of a packet from the queue to observers.
pub(crate) fn dequeued(packet: &Packet, backlog: Backlog, now: Time, enqueued_at: Time) -> Event<'_> {
    let sojourn = now.saturating_since(enqueued_at);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
