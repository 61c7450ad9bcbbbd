//! The transmit path for any queue discipline. A packet's departure time is computed when it reaches the head of the
//! queue.

use crate::header_compression::HeaderCompression;
use crate::jitter::Jitter;
use crate::line::{Line, Measured, dequeued};
use crate::loss::Loss;
use crate::shaper::Shaper;
use lopsided_core::{Bytes, Count, Cx, DropReason, Duration, EventMask, Packet, Time};
use lopsided_queue::{Child, FarEnd, Qdisc, Queue, QueuedPacket};
use std::collections::VecDeque;

/// The transmit path for any queue discipline.
#[derive(Debug)]
pub(crate) struct QueuedPath {
    queue: Child<Queue>,
    /// The node that returns the discipline's sensing packets (delay probes); `None` if the discipline sends none.
    far_end: Option<FarEnd>,
    /// Wire size of the packet at the head; `None` if the queue is empty or the size is not needed.
    head: Option<Bytes>,
    /// Time of the next check for a departure, unless a packet enters earlier; `Time::MAX` if the queue is empty.
    next_look: Time,
    /// The packets on the line, in order of arrival.
    in_flight: VecDeque<InFlight>,
    loss: Option<Loss>,
    jitter: Option<Jitter>,
    compression: Option<HeaderCompression>,
    received: Count,
    delivered: Count,
    /// Packets that the line lost, or that the far end could not decompress.
    lost: Count,
}

/// A packet on the line.
#[derive(Debug)]
struct InFlight {
    arrives: Time,
    packet: Packet,
}

impl QueuedPath {
    pub(crate) fn new(
        mut queue: Queue,
        loss: Option<Loss>,
        jitter: Option<Jitter>,
        compression: Option<HeaderCompression>,
    ) -> QueuedPath {
        let far_end = queue.sensing().map(|sensing| sensing.far_end());
        let (head, in_flight) = (None, VecDeque::new());
        let (queue, next_look) = (Child::new(queue), Time::MAX);
        let (received, delivered, lost) = (Count::ZERO, Count::ZERO, Count::ZERO);
        QueuedPath { queue, far_end, head, next_look, in_flight, loss, jitter, compression, received, delivered, lost }
    }

    /// Returns the discipline.
    pub(crate) fn qdisc(&self) -> &Queue {
        self.queue.qdisc()
    }

    /// Returns the node that returns the discipline's sensing packets; `None` if the discipline sends none.
    pub(crate) fn far_end(&self) -> Option<FarEnd> {
        self.far_end
    }

    /// Returns both ends of header compression; `None` if headers are not compressed.
    pub(crate) fn compression(&self) -> Option<&HeaderCompression> {
        self.compression.as_ref()
    }

    /// Offers a packet to the queue.
    #[inline(never)]
    pub(crate) fn handle_packet(&mut self, packet: Packet, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.received.record(size);
        // Process the departures that are due first, including those at the time of this arrival.
        self.catch_up(line, measured, cx);
        self.advance_shaper(line, cx.now());
        self.queue.enqueue(packet, cx);
        measured.queue.offered(cx.now(), size, self.queue.backlog());
        if self.far_end.is_some() {
            self.originate(measured, cx);
        }
        self.look(line, measured, cx);
        self.catch_up(line, measured, cx);
    }

    /// Creates the sensing packets that the discipline requests, and enqueues them in the discipline.
    fn originate(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        while let Some(new) = self.queue.sensing().and_then(|sensing| sensing.poll_originate()) {
            let size = new.size();
            self.received.record(size);
            let packet = cx.originate(new);
            self.queue.enqueue(packet, cx);
            measured.queue.offered(cx.now(), size, self.queue.backlog());
        }
    }

    /// Passes a packet of the other direction to the discipline. Returns true if the packet was the discipline's own
    /// sensing packet.
    pub(crate) fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.queue.sensing().is_some_and(|sensing| sensing.observe_reverse(packet, now))
    }

    /// Processes all departures that are due, each at its own time.
    #[inline]
    pub(crate) fn catch_up(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        // The discipline must see the time of each departure, not the current time.
        while self.next_look <= cx.now() {
            let mut cx = cx.at(self.next_look);
            if self.may_depart(line, measured, &mut cx) {
                self.depart(line, measured, &mut cx);
                self.look(line, measured, &mut cx);
            }
        }
    }

    /// True if a packet can leave now.
    #[inline]
    fn may_depart(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) -> bool {
        if !line.shaper.needs_size() {
            return true;
        }
        self.advance_shaper(line, cx.now());
        self.look(line, measured, cx);
        self.next_look == cx.now()
    }

    /// Processes one departure. The discipline may return no packet because it drops all packets that are ready.
    fn depart(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let now = cx.now();
        let given = self.queue.dequeue(cx);
        let backlog = self.queue.backlog();
        let Some(QueuedPacket { packet, enqueued_at }) = given else {
            // If the discipline were still ready now, `catch_up` would loop at this instant forever.
            assert_ne!(self.queue.ready_at(now), Some(now), "ready, but returns no packet: {:?}", self.queue);
            return measured.queue.settle(now, backlog);
        };
        let size = packet.size();
        // Headers are compressed after the queue. The statistics of the queue therefore count uncompressed packets, and
        // the statistics of the line count compressed packets.
        let carried = self.compression.as_mut().map_or(size, |compression| compression.send(&packet, now));
        let wire = line.framing.wire_size(carried);
        let sent = line.shaper.transmit(now, wire);
        measured.queue.left(now, enqueued_at, size);
        measured.wire_bytes += wire;
        cx.trace(EventMask::QUEUES, || dequeued(&packet, backlog, now, enqueued_at));
        match self.loss.as_mut().and_then(|loss| loss.drop_reason(now)) {
            None => self.send(sent + line.delay, packet),
            Some(why) => {
                self.lost.record(size);
                // The far end's link layer reports the damaged frame to the decompressor, which must process all frames
                // in order.
                self.compression.iter_mut().for_each(HeaderCompression::lose);
                cx.drop(packet, why);
            }
        }
        measured.queue.settle(now, backlog);
    }

    /// Puts a packet on the line, behind all packets that arrive at the same time or earlier.
    fn send(&mut self, arrives: Time, packet: Packet) {
        let Some(jitter) = &mut self.jitter else { return self.in_flight.push_back(InFlight { arrives, packet }) };
        let arrives = jitter.delay(arrives);
        // With jitter, a later packet may arrive earlier, so insert the packet in the order of arrival times.
        let behind = self.in_flight.partition_point(|flying| flying.arrives <= arrives);
        self.in_flight.insert(behind, InFlight { arrives, packet });
    }

    /// Sets the time of the next check for a departure, and the size of the head if needed.
    fn look(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.head = None;
        if !line.shaper.needs_size() {
            // The packet stays in the discipline until the line is free, so that the discipline can still drop it or
            // send another packet first.
            let free = line.shaper.ready_at(Bytes::ZERO).max(now);
            self.next_look = self.queue.ready_at(free).map_or(Time::MAX, |ready| ready.max(free));
            return;
        }
        self.next_look = match self.queue.ready_at(now) {
            None => {
                // After each packet, Linux's tbf dequeues once more, even if the queue is empty. Only such calls remove
                // empty flows from the lists of fq_codel and fq_pie. The next packet of a removed flow begins a new
                // turn. A serializer corresponds to Linux's htb, which never dequeues from an empty queue.
                let found = self.queue.dequeue(cx);
                assert!(found.is_none(), "an empty queue returns a packet: {:?}", self.queue);
                Time::MAX
            }
            Some(ready) if ready > now => ready,
            Some(_) => self.look_at_head(line, measured, cx),
        };
    }

    /// Returns the time at which the head packet may leave. Only the shaper can delay it.
    fn look_at_head(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) -> Time {
        let now = cx.now();
        let head = self.queue.peek(cx);
        // A peek may drop packets (CoDel), so update the statistics.
        measured.queue.settle(now, self.queue.backlog());
        let Some(size) = head else {
            assert_ne!(self.queue.ready_at(now), Some(now), "ready, but `peek` returns no size: {:?}", self.queue);
            return self.queue.ready_at(now).unwrap_or(Time::MAX);
        };
        let wire = line.framing.wire_size(size);
        self.head = Some(wire);
        line.shaper.ready_at(wire).max(now)
    }

    /// Advances the shaper to `now`, with or without a packet at the head.
    #[inline]
    fn advance_shaper(&self, line: &mut Line, now: Time) {
        match self.head {
            None => line.shaper.advance_idle(now),
            Some(wire) => line.shaper.advance_backlogged(now, wire),
        }
    }

    /// Removes and returns the first packet that has arrived and whose header the far end could decompress.
    #[inline(never)]
    pub(crate) fn take_arrived(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        while self.in_flight.front()?.arrives <= cx.now() {
            let packet = self.in_flight.pop_front()?.packet;
            let size = packet.size();
            if self.compression.as_mut().is_none_or(|compression| compression.receive(&packet, cx.now())) {
                self.delivered.record(size);
                return Some(packet);
            }
            self.lost.record(size);
            cx.drop(packet, DropReason::ContextLost);
        }
        None
    }

    /// Returns the time of the next arrival, or an earlier time at which the link must check again.
    #[inline]
    pub(crate) fn next_arrival(&self, delay: Duration) -> Option<Time> {
        match self.in_flight.front() {
            // With reordering, a packet that is still in the queue may overtake the first packet on the line.
            Some(first) if self.jitter.as_ref().is_some_and(Jitter::reorders) && self.next_look != Time::MAX => {
                Some(first.arrives.min(self.next_look + delay))
            }
            Some(first) => Some(first.arrives),
            None if self.next_look == Time::MAX => None,
            // The line is empty and a departure has no event of its own. No packet arrives before the next departure
            // plus the delay, so the link checks again at that time.
            None => Some(self.next_look + delay),
        }
    }

    /// True if a packet arrives by `now`. With header compression this is not known before the arrival.
    pub(crate) fn has_arrived(&self, now: Time) -> bool {
        self.compression.is_none() && self.in_flight.front().is_some_and(|first| first.arrives <= now)
    }

    /// Returns the number and total size of the received packets, including packets that the discipline created.
    pub(crate) fn received(&self) -> Count {
        self.received
    }

    /// Returns the number and total size of the packets that arrived at the far end.
    pub(crate) fn delivered(&self) -> Count {
        self.delivered
    }

    /// Returns the number and total size of the packets that the line lost or the far end could not decompress.
    pub(crate) fn lost(&self) -> Count {
        self.lost
    }

    /// Returns the number and total size of the packets in the queue.
    pub(crate) fn waiting(&self) -> Count {
        self.queue.backlog().into()
    }

    /// Returns the number and total size of the packets on the line.
    pub(crate) fn in_flight(&self) -> Count {
        Count::of(self.in_flight.iter().map(|flying| flying.packet.size()))
    }
}
