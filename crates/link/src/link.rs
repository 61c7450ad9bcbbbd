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

/// One direction of a line, from inlet `Port(0)` to outlet `Port(0)`. If its discipline sends sensing packets (delay
/// probes), packets of the other direction pass through the port [`Link::SENSED`].
///
/// # Examples
///
/// ```
/// use lopsided_core::{Accounting, BitRate, Cx, Duration, FlowId, IpHeader, NewPacket, Node, NodeId, Payload, Port};
/// use lopsided_core::{Time, Transport, packet::UdpHeader};
/// use lopsided_link::LinkConfig;
/// use lopsided_queue::QueueConfig;
/// use std::net::Ipv4Addr;
///
/// let config = LinkConfig::new(Some(BitRate::from_bps(1_000_000)), Duration::from_millis(20), QueueConfig::default());
/// let mut link = config.build(1, "link/up").unwrap();
/// let mut accounting = Accounting::new(1);
/// let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut accounting);
/// let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let udp = Transport::Udp(UdpHeader { src_port: 1, dst_port: 53 });
/// let packet = cx.originate(NewPacket::new(FlowId(1), ip, udp, Payload::virtual_len(1472)));
/// link.handle_packet(Port(0), packet, &mut cx);
/// // The transmission of 1,500 bytes at 1 Mbit/s takes 12 ms, and the propagation takes 20 ms.
/// assert_eq!(link.poll_timeout(), Some(Time::from_nanos(32_000_000)));
/// ```
#[derive(Debug)]
pub struct Link {
    path: TransmitPath,
    line: Line,
    measured: Measured,
}

/// The transmit path, which stores the packets. Both paths produce the same results.
#[derive(Debug)]
enum TransmitPath {
    /// A drop-tail FIFO in front of a line without jitter and header compression.
    DropTail(DropTailPath),
    /// Any other link.
    Queued(Box<QueuedPath>),
}

/// The number of packets that a link has received, delivered, dropped and lost, and that it still contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets that entered the link, and packets that its queue discipline created.
    pub received: Count,
    /// Packets that arrived at the other end.
    pub delivered: Count,
    /// Packets that the queue rejected on arrival or dropped later.
    pub dropped: Count,
    /// Packets lost on the line, or dropped at the far end because their header could not be decompressed.
    pub lost: Count,
    /// Packets in the queue.
    pub waiting: Count,
    /// Packets on the line.
    pub in_flight: Count,
}

impl Link {
    /// The port for packets of the other direction: see [`Link::pass_reverse`].
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
        // With jitter, packets may arrive out of order. With header compression, the fate of a packet depends on other
        // packets. Both need the general transmit path.
        let plain = jitter.is_none() && compression.is_none();
        let path = match queue {
            Queue::Fifo(fifo) if fifo.drops_from() == DropFrom::Tail && plain => {
                TransmitPath::DropTail(DropTailPath::new(fifo.room().clone(), loss))
            }
            queue => TransmitPath::Queued(Box::new(QueuedPath::new(queue, loss, jitter, compression))),
        };
        Link { path, line: Line::new(shaper, framing, delay), measured: Measured::default() }
    }

    /// Computes all departures that are due, and returns a view for measurements. Does not affect the results of a run.
    pub fn sync(&mut self, cx: &mut Cx<'_>) -> LinkView<'_> {
        // Before `unseen_until`, the statistics contain departures that were counted in advance.
        debug_assert!(cx.now() >= cx.unseen_until(), "the statistics are read too early");
        match &mut self.path {
            TransmitPath::DropTail(path) => {
                // The serializer counts the packets of the fast path itself, so add its counters.
                self.measured.count_passed(self.line.take_passed());
                path.count_until(cx.now(), &mut self.measured, cx);
            }
            TransmitPath::Queued(path) => path.catch_up(&mut self.line, &mut self.measured, cx),
        }
        LinkView { link: self }
    }

    /// True if the fate of a packet can be computed when the packet enters. Required for [`Link::pass_through`], and
    /// for future times in [`Link::handle_packet_at`].
    pub fn predicts_arrivals(&self) -> bool {
        matches!(self.path, TransmitPath::DropTail(_)) && self.line.takes_time()
    }

    /// Accepts a packet that enters at `at`, and returns the packet at once with its arrival time. Returns `None` if
    /// the packet is dropped or lost. Packets must be passed in the order in which they enter.
    ///
    /// [`Link::predicts_arrivals`] must be true, and no observer may watch queues or drops.
    #[inline(always)]
    pub fn pass_through(&mut self, packet: Packet, size: Bytes, at: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet)> {
        let TransmitPath::DropTail(path) = &mut self.path else { unreachable!("`predicts_arrivals` is false") };
        match path.take_in(size, at, &mut self.line, &mut self.measured, cx) {
            Ok(out) => Some((out, packet)),
            Err(ending) => {
                path.end(packet, at, ending, &mut self.measured, cx);
                None
            }
        }
    }

    /// Returns a packet to the link: the last packet that [`Link::pass_through`] returned. The packet arrives at `at`,
    /// before all other packets on this link.
    pub fn take_back(&mut self, packet: Packet, at: Time) {
        let TransmitPath::DropTail(path) = &mut self.path else { unreachable!("`predicts_arrivals` is false") };
        path.take_back(packet, at);
    }

    /// Like [`Node::handle_packet`], for a packet that enters at `at`. Unless [`Link::predicts_arrivals`] is true, `at`
    /// must be the current time. Returns true if [`Node::poll_timeout`] may have changed.
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

    /// Processes all departures that are due. Returns an arrived packet, if there is one, and the time of the next
    /// arrival.
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

    /// True if a packet arrives by `now`. The next call of [`Link::next_arrived`] then returns this packet.
    #[inline(always)]
    pub fn has_arrived(&self, now: Time) -> bool {
        match &self.path {
            TransmitPath::DropTail(path) => path.next_arrival().is_some_and(|at| at <= now),
            TransmitPath::Queued(path) => path.has_arrived(now),
        }
    }

    /// Returns the propagation delay of the link.
    pub fn delay(&self) -> Duration {
        self.line.delay
    }

    /// Returns a lower bound for the arrival times of all packets that enter this drop-tail link after `at`.
    pub fn no_arrival_until(&self, at: Time) -> Time {
        self.line.arrival(at.max(self.line.busy_until()))
    }

    /// Returns the place at which the discipline's sensing packets (delay probes) are sent back. `None` if the
    /// discipline sends no sensing packets.
    pub fn senses(&self) -> Option<FarEnd> {
        match &self.path {
            TransmitPath::DropTail(_) => None,
            TransmitPath::Queued(path) => path.far_end(),
        }
    }

    /// Passes a packet of the other direction to this direction's discipline ([`Link::SENSED`]). Returns `None` if the
    /// packet was the discipline's own sensing packet.
    pub fn pass_reverse(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        self.catch_up(cx);
        // The queue of the drop-tail path is a FIFO, which sends no sensing packets.
        let TransmitPath::Queued(path) = &mut self.path else { return Some(packet) };
        if !path.observe_reverse(&packet, cx.now()) {
            return Some(packet);
        }
        // The sensing packet has returned to its sender, so it counts as delivered.
        let delivered = cx.deliver(packet);
        cx.recycle(delivered);
        None
    }

    /// Processes all departures that are due.
    #[inline(always)]
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        match &mut self.path {
            TransmitPath::DropTail(path) => path.catch_up(&mut self.measured, cx),
            TransmitPath::Queued(path) => path.catch_up(&mut self.line, &mut self.measured, cx),
        }
    }
}

/// A view of a link that is up to date, for measurements.
#[derive(Debug)]
pub struct LinkView<'a> {
    link: &'a mut Link,
}

impl LinkView<'_> {
    /// Returns the state of the queue, and the sojourn times of the packets that departed since the last sample.
    pub fn sample(&mut self) -> QueueSample {
        self.link.measured.queue.sample()
    }

    /// Returns the statistics of the queue.
    pub fn queue_stats(&self) -> &QueueStats {
        &self.link.measured.queue
    }

    /// Returns the bytes on the wire of all packets that left the queue, including framing.
    pub fn wire_bytes(&self) -> Bytes {
        self.link.measured.wire_bytes
    }

    /// Calls `out` with class, name and value of each field of [`ClassStats`], for each class of the discipline.
    pub fn classes(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        let TransmitPath::Queued(path) = &self.link.path else { return };
        path.qdisc().classes(&mut |class, stats| class_parts(class, &stats, out));
    }

    /// Calls `out` with class, name and value of each gauge of the discipline and of header compression.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, &str, f64)) {
        let TransmitPath::Queued(path) = &self.link.path else { return };
        path.qdisc().gauges(&mut |name, value| {
            // A gauge of a class is named `class/gauge`.
            let (class, gauge) = name.rsplit_once('/').unwrap_or(("", name));
            out(class, gauge, value);
        });
        if let Some(compression) = path.compression() {
            compression.gauges(&mut |gauge, value| out("header_compression", gauge, value));
        }
    }

    /// Returns the packet counters since the start of the run.
    pub fn counters(&self) -> LinkCounters {
        let queue = &self.link.measured.queue;
        let dropped = Count { packets: queue.dropped_packets(), bytes: queue.dropped_bytes() };
        match &self.link.path {
            TransmitPath::DropTail(path) => {
                let (waiting, in_flight) = (path.waiting(), path.in_flight());
                // The drop-tail path counts only departures and losses. Entries and arrivals are computed from these
                // counts, because packets are conserved.
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

    /// Returns the number and total size of the packets in the link.
    fn held(&self) -> Count {
        match &self.path {
            TransmitPath::DropTail(path) => path.held(),
            TransmitPath::Queued(path) => path.waiting() + path.in_flight(),
        }
    }
}

/// Calls `out` with each field of a class's statistics.
fn class_parts(class: &str, stats: &ClassStats, out: &mut dyn FnMut(&str, &str, f64)) {
    out(class, "backlog_packets", f64::from(stats.backlog.packets));
    out(class, "backlog_bytes", stats.backlog.bytes.get() as f64);
    out(class, "sent_packets", stats.sent_packets as f64);
    out(class, "sent_bytes", stats.sent_bytes.get() as f64);
    out(class, "dropped_packets", stats.dropped_packets as f64);
    out(class, "dropped_bytes", stats.dropped_bytes.get() as f64);
    // Only a class with an ACK filter has filtered packets.
    if stats.filtered_packets > 0 {
        out(class, "filtered_packets", stats.filtered_packets as f64);
        out(class, "filtered_bytes", stats.filtered_bytes.get() as f64);
    }
    out(class, "marked_packets", stats.marked_packets as f64);
    // Without departures the mean sojourn time is undefined.
    if stats.sent_packets > 0 {
        out(class, "sojourn_mean_ms", stats.sojourn_sum.as_millis_f64() / stats.sent_packets as f64);
        out(class, "sojourn_max_ms", stats.sojourn_max.as_millis_f64());
    }
}
