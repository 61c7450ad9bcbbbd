//! What both transmit paths of a link share: the line behind the queue, and what is counted on the way.

use crate::Framing;
use crate::shaper::AnyShaper;
use lopsided_core::{Bytes, Duration, Event, Packet, Time};
use lopsided_queue::{Backlog, QueueStats};

/// The line itself.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) shaper: AnyShaper,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
    /// Whether every packet leaves it later than it enters.
    pub(crate) takes_time: bool,
}

impl Line {
    pub(crate) fn new(shaper: AnyShaper, framing: Framing, delay: Duration) -> Line {
        let sends = matches!(&shaper, AnyShaper::Serializer(line) if line.takes_time());
        Line { takes_time: sends || !delay.is_zero(), shaper, framing, delay }
    }
}

/// What is counted on the way.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) queue: QueueStats,
    pub(crate) wire_bytes: Bytes,
}

pub(crate) fn dequeued(packet: &Packet, backlog: Backlog, now: Time, enqueued_at: Time) -> Event<'_> {
    let sojourn = now.saturating_since(enqueued_at);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
