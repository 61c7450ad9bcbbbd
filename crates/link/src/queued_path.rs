//! The transmit path for any queue discipline. The next departure is known only when it happens.

use crate::header_compression::HeaderCompression;
use crate::jitter::Jitter;
use crate::line::{Line, Measured, dequeued};
use crate::loss::Loss;
use crate::shaper::Shaper;
use lopsided_core::{Bytes, Count, Cx, DropReason, Duration, EventMask, Packet, Time};
use lopsided_queue::{Child, Qdisc, Queue, QueuedPacket};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct QueuedPath {
    queue: Child<Queue>,
    /// True if the discipline creates sensing packets.
    senses: bool,
    /// Wire size of the packet at the head, if the shaper needs it.
    head: Option<Bytes>,
    /// Time of the next check for a departure, if nothing happens before; `Time::MAX` if the queue is empty.
    next_look: Time,
    /// The packets on the line, in the order of their arrival.
    in_flight: VecDeque<InFlight>,
    loss: Option<Loss>,
    jitter: Option<Jitter>,
    compression: Option<HeaderCompression>,
    received: Count,
    delivered: Count,
    /// Packets lost on the line, or whose header could not be rebuilt.
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
        queue: Queue,
        loss: Option<Loss>,
        jitter: Option<Jitter>,
        compression: Option<HeaderCompression>,
    ) -> QueuedPath {
        let senses = queue.senses().is_some();
        let (head, in_flight) = (None, VecDeque::new());
        let (queue, next_look) = (Child::new(queue), Time::MAX);
        let (received, delivered, lost) = (Count::ZERO, Count::ZERO, Count::ZERO);
        QueuedPath { queue, senses, head, next_look, in_flight, loss, jitter, compression, received, delivered, lost }
    }

    /// Returns the discipline.
    pub(crate) fn qdisc(&self) -> &Queue {
        self.queue.qdisc()
    }

    /// Returns both ends of header compression, if it is on.
    pub(crate) fn compression(&self) -> Option<&HeaderCompression> {
        self.compression.as_ref()
    }

    /// Accepts a packet at the queue.
    #[inline(never)]
    pub(crate) fn handle_packet(&mut self, packet: Packet, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let size = packet.size();
        self.received.record(size);
        // Departures that are due come before this arrival, also at the same time.
        self.catch_up(line, measured, cx);
        self.advance_shaper(line, cx.now());
        self.queue.enqueue(packet, cx);
        measured.queue.offered(cx.now(), size, self.queue.backlog());
        if self.senses {
            self.originate(measured, cx);
        }
        self.look(line, measured, cx);
        self.catch_up(line, measured, cx);
    }

    /// Creates the sensing packets that the discipline requests, and offers them to it.
    fn originate(&mut self, measured: &mut Measured, cx: &mut Cx<'_>) {
        while let Some(new) = self.queue.poll_originate() {
            let size = new.size();
            self.received.record(size);
            let packet = cx.originate(new);
            self.queue.enqueue(packet, cx);
            measured.queue.offered(cx.now(), size, self.queue.backlog());
        }
    }

    /// Lets the discipline observe a packet of the other direction. True if the packet is the discipline's own.
    pub(crate) fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        self.queue.observe_reverse(packet, now)
    }

    /// Makes all due departures, each at its own time.
    #[inline]
    pub(crate) fn catch_up(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        // Each departure happens at its own time, so that the discipline's clock is right.
        while self.next_look <= cx.now() {
            let mut cx = cx.at(self.next_look);
            if self.may_depart(line, measured, &mut cx) {
                self.depart(line, measured, &mut cx);
                self.look(line, measured, &mut cx);
            }
        }
    }

    /// True if a packet leaves now. If the shaper needs a packet's size, the head is looked up again, because another
    /// packet may have reached the head since, or the discipline may have released its first packet only now.
    #[inline]
    fn may_depart(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) -> bool {
        if !line.shaper.needs_size() {
            return true;
        }
        self.advance_shaper(line, cx.now());
        self.look(line, measured, cx);
        self.next_look == cx.now()
    }

    /// Makes one departure. The discipline may instead drop everything that it has ready.
    fn depart(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let now = cx.now();
        let given = self.queue.dequeue(cx);
        let backlog = self.queue.backlog();
        let Some(QueuedPacket { packet, enqueued_at }) = given else {
            // Otherwise `catch_up` would loop at the same instant forever.
            assert_ne!(self.queue.ready_at(now), Some(now), "ready, but gives no packet: {:?}", self.queue);
            return measured.queue.settle(now, backlog);
        };
        let size = packet.size();
        // Headers are compressed after the queue, so queue statistics count full packets and the line the compressed
        // ones.
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
                // The far end's link layer reports the damaged frame, so its place in the sequence must be kept.
                self.compression.iter_mut().for_each(HeaderCompression::lose);
                cx.drop(packet, why);
            }
        }
        measured.queue.settle(now, backlog);
    }

    /// Puts the packet on the line, after all packets that arrive at the same time or earlier.
    fn send(&mut self, arrives: Time, packet: Packet) {
        let Some(jitter) = &mut self.jitter else { return self.in_flight.push_back(InFlight { arrives, packet }) };
        let arrives = jitter.delay(arrives);
        // With jitter a later packet may arrive earlier, so the list is kept sorted by arrival.
        let behind = self.in_flight.partition_point(|flying| flying.arrives <= arrives);
        self.in_flight.insert(behind, InFlight { arrives, packet });
    }

    /// Computes when to check for the next departure, as far as that is known now.
    fn look(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.head = None;
        if !line.shaper.needs_size() {
            // Without a size the packet stays in the discipline until the line is free, so that it can still be dropped
            // or overtaken.
            let free = line.shaper.ready_at(Bytes::ZERO).max(now);
            self.next_look = self.queue.ready_at(free).map_or(Time::MAX, |ready| ready.max(free));
            return;
        }
        self.next_look = match self.queue.ready_at(now) {
            None => Time::MAX,
            Some(ready) if ready > now => ready,
            Some(_) => self.look_at_head(line, measured, cx),
        };
    }

    /// Returns when the packet at the head may leave. The discipline has released it, so only the shaper holds it back.
    fn look_at_head(&mut self, line: &mut Line, measured: &mut Measured, cx: &mut Cx<'_>) -> Time {
        let now = cx.now();
        let head = self.queue.peek(cx);
        // A peek may drop packets (CoDel), which must be counted.
        measured.queue.settle(now, self.queue.backlog());
        let Some(size) = head else {
            assert_ne!(self.queue.ready_at(now), Some(now), "ready, but shows no packet: {:?}", self.queue);
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

    /// Removes and returns the first packet that has arrived, if its header can be rebuilt.
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

    /// Returns the time of the next arrival, or the earliest time at which a packet could arrive.
    #[inline]
    pub(crate) fn next_arrival(&self, delay: Duration) -> Option<Time> {
        match self.in_flight.front() {
            // With reordering, a packet that has not left the queue yet may overtake.
            Some(first) if self.jitter.as_ref().is_some_and(Jitter::reorders) && self.next_look != Time::MAX => {
                Some(first.arrives.min(self.next_look + delay))
            }
            Some(first) => Some(first.arrives),
            None if self.next_look == Time::MAX => None,
            // A departure is no event of its own. No packet can arrive before the next departure plus the delay, so
            // that is early enough to look again.
            None => Some(self.next_look + delay),
        }
    }

    /// Returns the packets received, the discipline's own included.
    pub(crate) fn received(&self) -> Count {
        self.received
    }

    /// Returns the packets that arrived at the far end.
    pub(crate) fn delivered(&self) -> Count {
        self.delivered
    }

    /// Returns the packets lost on the line, or whose header could not be rebuilt.
    pub(crate) fn lost(&self) -> Count {
        self.lost
    }

    /// Returns the packets in the queue.
    pub(crate) fn waiting(&self) -> Count {
        self.queue.backlog().into()
    }

    /// Returns the packets on the line.
    pub(crate) fn in_flight(&self) -> Count {
        Count::of(self.in_flight.iter().map(|flying| flying.packet.size()))
    }
}
