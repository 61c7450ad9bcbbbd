//! The line after the queue and its counters, shared by both transmit paths of a link.

use crate::Framing;
use crate::shaper::{AnyShaper, Passed, Shaper};
use lopsided_core::{Bytes, Duration, Event, Packet, Time};
use lopsided_queue::{Backlog, QueueStats};

/// The line itself.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) shaper: AnyShaper,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
    /// True if every packet leaves the line later than it enters.
    pub(crate) takes_time: bool,
}

impl Line {
    pub(crate) fn new(shaper: AnyShaper, framing: Framing, delay: Duration) -> Line {
        let sends = matches!(&shaper, AnyShaper::Serializer(line) if line.takes_time());
        Line { takes_time: sends || !delay.is_zero(), shaper, framing, delay }
    }

    /// Sends a packet of this size that arrives at `now`, after all earlier ones. Returns its bytes on the wire, its
    /// departure from the queue, and the time of its last bit.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, size: Bytes) -> (Bytes, Time, Time) {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.send(now, size, &self.framing),
            _ => self.send_shaped(now, size),
        }
    }

    /// Sends a packet of this size at `at` over the idle line, if it arrives before `until`, as [`Serializer::pass`].
    /// Returns its arrival.
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: Time, size: Bytes, until: Time) -> Option<(Time, u32)> {
        let AnyShaper::Serializer(line) = &mut self.shaper else { return None };
        line.pass(at, size, self.delay, until)
    }

    /// When a packet arrives whose last bit has left at `sent`.
    #[inline(always)]
    pub(crate) fn arrival(&self, sent: Time) -> Time {
        Time::from_nanos(sent.as_nanos() + self.delay.as_nanos())
    }

    /// Returns the counts since the last call.
    pub(crate) fn take_passed(&mut self) -> Passed {
        match &mut self.shaper {
            AnyShaper::Serializer(line) => line.take_passed(),
            _ => Passed::default(),
        }
    }

    #[inline(never)]
    fn send_shaped(&mut self, now: Time, size: Bytes) -> (Bytes, Time, Time) {
        let wire = self.framing.wire_size(size);
        let (departs, sent) = self.shaper.schedule(now, wire);
        (wire, departs, sent)
    }
}

/// Counts of the line.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) queue: QueueStats,
    pub(crate) wire_bytes: Bytes,
}

impl Measured {
    /// These never waited.
    pub(crate) fn count_passed(&mut self, passed: Passed) {
        self.queue.passed(passed.packets, passed.largest);
        self.wire_bytes += passed.wire;
    }
}

pub(crate) fn dequeued(packet: &Packet, backlog: Backlog, now: Time, enqueued_at: Time) -> Event<'_> {
    let sojourn = now.saturating_since(enqueued_at);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
