//! One direction of a line.

use crate::Framing;
use crate::drop_tail_path::DropTailPath;
use crate::header_compression::HeaderCompression;
use crate::jitter::Jitter;
use crate::line::{Line, Measured};
use crate::loss::Loss;
use crate::queued_path::QueuedPath;
use crate::shaper::AnyShaper;
use lopsided_core::{Bytes, Count, Cx, Duration, Node, Packet, Port, Time};
use lopsided_queue::{ClassStats, DropFrom, FarEnd, Qdisc, Queue, QueueSample, QueueStats};

/// One direction of a line, from inlet `Port(0)` to outlet `Port(0)`. If its discipline senses, the other direction
/// passes its queue by [`Link::SENSED`].
#[derive(Debug)]
pub struct Link {
    path: TransmitPath,
    line: Line,
    measured: Measured,
}

/// Where the packets are. The choice of path does not affect results.
#[derive(Debug)]
enum TransmitPath {
    /// A drop-tail FIFO in front of a line without jitter and header compression.
    DropTail(DropTailPath),
    /// Everything else.
    Queued(Box<QueuedPath>),
}

/// The fate of all packets that a link ever took in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCounters {
    pub received: Count,
    pub delivered: Count,
    /// Refused or dropped by the queue.
    pub dropped: Count,
    /// Lost on the line, or not rebuilt from a compressed header.
    pub lost: Count,
    pub waiting: Count,
    pub in_flight: Count,
}

impl Link {
    /// Inlet and outlet of the other direction at this end of the line, for [`Link::pass_reverse`].
    pub const SENSED: Port = Port(1);

    pub(crate) fn assemble(
        queue: Queue,
        shaper: AnyShaper,
        framing: Framing,
        delay: Duration,
        loss: Option<Loss>,
        jitter: Option<Jitter>,
        compression: Option<HeaderCompression>,
    ) -> Link {
        let plain = jitter.is_none() && compression.is_none();
        let path = match queue {
            Queue::Fifo(fifo) if fifo.drops_from() == DropFrom::Tail && plain => {
                TransmitPath::DropTail(DropTailPath::new(fifo.room().clone(), loss))
            }
            queue => TransmitPath::Queued(Box::new(QueuedPath::new(queue, loss, jitter, compression))),
        };
        Link { path, line: Line::new(shaper, framing, delay), measured: Measured::default() }
    }

    /// The link as it is now: accounts for all that is owed up to now, which changes no result.
    pub fn sync(&mut self, cx: &mut Cx<'_>) -> LinkView<'_> {
        debug_assert!(cx.now() >= cx.unseen_until(), "nobody was to look yet");
        match &mut self.path {
            TransmitPath::DropTail(path) => {
                self.measured.count_passed(self.line.take_passed());
                path.count_until(cx.now(), &mut self.measured, cx);
            }
            TransmitPath::Queued(path) => path.catch_up(&mut self.line, &mut self.measured, cx),
        }
        LinkView { link: self }
    }

    /// True if a packet's fate is known when it enters and crossing takes time: then [`Link::foretold`] and
    /// [`Link::handle_packet_at`] accept packets that enter at a future time.
    pub fn foretells(&self) -> bool {
        matches!(self.path, TransmitPath::DropTail(_)) && self.line.takes_time
    }

    /// The link as a [foretelling](Link::foretells) one, which the caller knows it is; `None` for a queue other than a
    /// drop-tail FIFO.
    #[inline(always)]
    pub fn foretold(&mut self) -> Option<ForetoldLink<'_>> {
        match &mut self.path {
            TransmitPath::DropTail(path) => {
                debug_assert!(self.line.takes_time, "it foretells");
                Some(ForetoldLink { path, line: &mut self.line, measured: &mut self.measured })
            }
            TransmitPath::Queued(_) => None,
        }
    }

    /// As [`Node::handle_packet`] for a packet of this size that enters at `at`, which must be now for a link that does
    /// not [foretell](Link::foretells). False if [`Node::poll_timeout`] is unchanged.
    #[inline(always)]
    pub fn handle_packet_at(&mut self, packet: Packet, size: Bytes, at: Time, cx: &mut Cx<'_>) -> bool {
        match &mut self.path {
            TransmitPath::DropTail(path) => {
                path.handle_packet(packet, size, at, &mut self.line, &mut self.measured, cx)
            }
            TransmitPath::Queued(path) => {
                path.handle_packet(packet, &mut self.line, &mut self.measured, cx);
                true
            }
        }
    }

    /// Makes all due departures, and returns an arrived packet and the time of the next arrival:
    /// [`Node::handle_timeout`], [`Node::poll_transmit`] and [`Node::poll_timeout`] in one call.
    #[inline(always)]
    pub fn next_arrived(&mut self, cx: &mut Cx<'_>) -> (Option<Packet>, Option<Time>) {
        match &mut self.path {
            TransmitPath::DropTail(path) => {
                path.catch_up(&mut self.measured, cx);
                (path.take_arrived(cx.now()), path.next_arrival())
            }
            TransmitPath::Queued(path) => {
                path.catch_up(&mut self.line, &mut self.measured, cx);
                (path.take_arrived(cx), path.next_arrival(self.line.delay))
            }
        }
    }

    /// From the end of a packet's sending to its arrival.
    pub fn delay(&self) -> Duration {
        self.line.delay
    }

    /// Where the discipline's sensing packets turn; `None` if it sends none.
    pub fn senses(&self) -> Option<FarEnd> {
        match &self.path {
            TransmitPath::DropTail(_) => None,
            TransmitPath::Queued(path) => path.qdisc().senses(),
        }
    }

    /// Passes a packet of the other direction by this direction's queue ([`Link::SENSED`]). `None` if it is the
    /// discipline's own returning packet.
    pub fn pass_reverse(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        self.catch_up(cx);
        let TransmitPath::Queued(path) = &mut self.path else { return Some(packet) };
        if !path.observe_reverse(&packet, cx.now()) {
            return Some(packet);
        }
        let delivered = cx.deliver(packet);
        cx.recycle(delivered);
        None
    }

    /// Makes all due departures.
    #[inline(always)]
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        match &mut self.path {
            TransmitPath::DropTail(path) => path.catch_up(&mut self.measured, cx),
            TransmitPath::Queued(path) => path.catch_up(&mut self.line, &mut self.measured, cx),
        }
    }
}

/// A link that knows a packet's fate when it enters.
#[derive(Debug)]
pub struct ForetoldLink<'a> {
    path: &'a mut DropTailPath,
    line: &'a mut Line,
    measured: &'a mut Measured,
}

impl ForetoldLink<'_> {
    /// A packet of this size enters at `at`, not before any earlier one, and continues at once elsewhere, with the time
    /// of its arrival. `None` if the queue has no room then, or the line loses it. Not allowed while queues or drops
    /// are observed.
    #[inline(always)]
    pub fn pass_through(&mut self, packet: Packet, size: Bytes, at: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet)> {
        match self.path.take_in(size, at, self.line, self.measured, cx) {
            Ok(out) => Some((out, packet)),
            Err(ending) => {
                self.path.end(packet, at, ending, self.measured, cx);
                None
            }
        }
    }

    /// Hands over the packets that would arrive by an event of this link, with their times.
    pub fn take_arriving(&mut self) -> impl Iterator<Item = (Time, Packet)> + use<> {
        self.path.take_arriving()
    }

    /// Takes back the packets from [`ForetoldLink::take_arriving`], or those that passed since, in order of time.
    pub fn put_arriving(&mut self, arriving: impl Iterator<Item = (Time, Packet)>) {
        self.path.put_arriving(arriving);
    }
}

/// A link at one instant, for measurements.
#[derive(Debug)]
pub struct LinkView<'a> {
    link: &'a mut Link,
}

impl LinkView<'_> {
    /// The queue, and the waits of the packets that left it since the sample before.
    pub fn sample(&mut self) -> QueueSample {
        self.link.measured.queue.sample()
    }

    /// Statistics of the queue.
    pub fn queue_stats(&self) -> &QueueStats {
        &self.link.measured.queue
    }

    /// Bytes that left the queue for the line, with framing.
    pub fn wire_bytes(&self) -> Bytes {
        self.link.measured.wire_bytes
    }

    /// Calls `out` with the class, the quantity and the value of each field of the [`ClassStats`] of the queue
    /// discipline's classes.
    pub fn classes(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        let TransmitPath::Queued(path) = &self.link.path else { return };
        path.qdisc().classes(&mut |class, stats| class_parts(class, &stats, out));
    }

    /// Calls `out` with the class, the quantity and the value of each of the queue discipline's gauges, and of the
    /// counts of header compression.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        let TransmitPath::Queued(path) = &self.link.path else { return };
        path.qdisc().gauges(&mut |name, value| {
            let (class, gauge) = name.rsplit_once('/').unwrap_or(("", name));
            out(class, gauge, value);
        });
        if let Some(compression) = path.compression() {
            compression.gauges(&mut |gauge, value| out("header_compression", gauge, value));
        }
    }

    /// The fate of all packets.
    pub fn counters(&self) -> LinkCounters {
        let queue = &self.link.measured.queue;
        let dropped = Count { packets: queue.dropped_packets(), bytes: queue.dropped_bytes() };
        match &self.link.path {
            TransmitPath::DropTail(path) => {
                let (waiting, in_flight) = (path.waiting(), path.in_flight());
                let sent = Count { packets: queue.sent_packets(), bytes: queue.sent_bytes() };
                let received = sent + dropped + queue.backlog().into();
                let lost = path.lost();
                let gone = in_flight + lost;
                let delivered = Count { packets: sent.packets - gone.packets, bytes: sent.bytes - gone.bytes };
                LinkCounters { received, delivered, dropped, lost, waiting, in_flight }
            }
            TransmitPath::Queued(path) => {
                let (waiting, in_flight) = (path.waiting(), path.in_flight());
                let (received, delivered, lost) = (path.received(), path.delivered(), path.lost());
                LinkCounters { received, delivered, dropped, lost, waiting, in_flight }
            }
        }
    }
}

impl Node for Link {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.handle_packet_at(packet, size, cx.now(), cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let packet = match &mut self.path {
            TransmitPath::DropTail(path) => path.take_arrived(cx.now())?,
            TransmitPath::Queued(path) => path.take_arrived(cx)?,
        };
        Some((Port(0), packet))
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        match &self.path {
            TransmitPath::DropTail(path) => path.next_arrival(),
            TransmitPath::Queued(path) => path.next_arrival(self.line.delay),
        }
    }

    /// The packets in its hands.
    fn held(&self) -> Count {
        match &self.path {
            TransmitPath::DropTail(path) => path.held(),
            TransmitPath::Queued(path) => path.waiting() + path.in_flight(),
        }
    }
}

fn class_parts(class: &str, stats: &ClassStats, out: &mut dyn FnMut(&str, &str, f64)) {
    out(class, "backlog_packets", f64::from(stats.backlog.packets));
    out(class, "backlog_bytes", stats.backlog.bytes.get() as f64);
    out(class, "sent_packets", stats.sent_packets as f64);
    out(class, "sent_bytes", stats.sent_bytes.get() as f64);
    out(class, "dropped_packets", stats.dropped_packets as f64);
    out(class, "dropped_bytes", stats.dropped_bytes.get() as f64);
    if stats.filtered_packets > 0 {
        out(class, "filtered_packets", stats.filtered_packets as f64);
        out(class, "filtered_bytes", stats.filtered_bytes.get() as f64);
    }
    out(class, "marked_packets", stats.marked_packets as f64);
    if stats.sent_packets > 0 {
        out(class, "sojourn_mean_ms", stats.sojourn_sum.as_millis_f64() / stats.sent_packets as f64);
        out(class, "sojourn_max_ms", stats.sojourn_max.as_millis_f64());
    }
}
