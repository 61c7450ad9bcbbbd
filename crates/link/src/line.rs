//! The line behind the queue, and the counters that both transmit paths of a link share.

use crate::Framing;
use crate::shaper::{AnyShaper, Passed, Shaper};
use lopsided_core::{Bytes, Duration, Event, Packet, Time};
use lopsided_queue::{Backlog, QueueStats};

/// The shaper, the framing and the propagation delay of a link.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) shaper: AnyShaper,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
    /// True if every packet needs at least 1 ns to cross the line.
    pub(crate) takes_time: bool,
}

impl Line {
    pub(crate) fn new(shaper: AnyShaper, framing: Framing, delay: Duration) -> Line {
        // Other shapers may send a packet in no time.
        let sends = matches!(&shaper, AnyShaper::Serializer(line) if line.takes_time());
        Line { takes_time: sends || !delay.is_zero(), shaper, framing, delay }
    }

    /// Sends a packet of this size that enters at `now`, after all earlier ones. Returns its bytes on the wire, its
    /// departure from the queue, and the time of its last bit.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, size: Bytes) -> (Bytes, Time, Time) {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.send(now, size, &self.framing),
            _ => self.send_shaped(now, size),
        }
    }

    /// Sends a packet of this size at `at` if the line is idle and the packet arrives before `until`: see
    /// [`Serializer::pass`]. Returns its arrival, and the number of packets of this size that have passed.
    ///
    /// [`Serializer::pass`]: crate::Serializer::pass
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: Time, size: Bytes, until: Time) -> Option<(Time, u32)> {
        let AnyShaper::Serializer(line) = &mut self.shaper else { return None };
        line.pass(at, size, self.delay, until)
    }

    /// A time at which the line still sends packets that entered already; [`Time::ZERO`] if none is known. Packets that
    /// enter later are sent after it.
    pub(crate) fn busy_until(&self) -> Time {
        match &self.shaper {
            // Less 1 ns, because a packet may take no time at a very high rate.
            AnyShaper::Serializer(line) => Time::from_nanos(line.free_at().as_nanos().saturating_sub(1)),
            _ => Time::ZERO,
        }
    }

    /// Returns the arrival of a packet whose last bit is sent at `sent`.
    #[inline(always)]
    pub(crate) fn arrival(&self, sent: Time) -> Time {
        Time::from_nanos(sent.as_nanos() + self.delay.as_nanos())
    }

    /// Returns the counts of passed packets since the last call.
    pub(crate) fn take_passed(&mut self) -> Passed {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.take_passed(),
            _ => Passed::default(),
        }
    }

    /// Sends a packet through a token bucket or another shaper.
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
    /// Bytes that left the queue for the line, with framing.
    pub(crate) wire_bytes: Bytes,
}

impl Measured {
    /// Counts packets that found the line idle and never waited.
    pub(crate) fn count_passed(&mut self, passed: Passed) {
        self.queue.passed(passed.packets, passed.largest);
        self.wire_bytes += passed.wire;
    }
}

/// Returns the event of a packet that leaves the queue.
pub(crate) fn dequeued(packet: &Packet, backlog: Backlog, now: Time, enqueued_at: Time) -> Event<'_> {
    let sojourn = now.saturating_since(enqueued_at);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
