//! One direction of a line.

use crate::Framing;
use crate::gate::Gate;
use crate::loss::Loss;
use lopsided_core::{Bytes, Cx, Event, Node, Packet, Port, Span, Time};
use lopsided_queue::{Backlog, Fifo, Qdisc, Queue, QueueSample, QueueStats, Waiting};
use std::collections::VecDeque;

/// One direction of a line, from inlet `Port(0)` to outlet `Port(0)`.
#[derive(Debug)]
pub struct Link {
    carrier: Carrier,
    gate: Gate,
    framing: Framing,
    delay: Span,
    loss: Option<Box<Loss>>,
    /// When the next packet leaves the queue, if nothing happens before; `Time::MAX` if none waits.
    next_departure: Time,
    queue: QueueStats,
    received: Count,
    delivered: Count,
    lost: Count,
    wire_bytes: Bytes,
}

/// Where the packets are.
#[derive(Debug)]
enum Carrier {
    /// A plain FIFO, whose ring also holds the packets on the line: a packet is moved in once and out once.
    Shared(Fifo),
    /// Any other queue, and the packets on the line in the order of their arrival.
    Apart { queue: Queue, line: VecDeque<Flying> },
}

#[derive(Debug)]
struct Flying {
    arrives: Time,
    packet: Packet,
}

/// A number of packets and their octets (of IP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Count {
    pub packets: u64,
    pub bytes: Bytes,
}

impl Count {
    #[inline]
    fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

impl From<Backlog> for Count {
    fn from(backlog: Backlog) -> Count {
        Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
    }
}

/// Where all packets are that a link ever took in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLedger {
    pub received: Count,
    pub delivered: Count,
    /// Refused or dropped by the queue.
    pub dropped: Count,
    /// Lost on the line.
    pub lost: Count,
    pub waiting: Count,
    pub on_the_line: Count,
}

impl LinkLedger {
    /// Whether in = out + dropped + lost + waiting + on the line, in packets and in octets.
    pub fn balances(&self) -> bool {
        let parts = [self.delivered, self.dropped, self.lost, self.waiting, self.on_the_line];
        let packets: u64 = parts.iter().map(|part| part.packets).sum();
        let bytes: Bytes = parts.iter().map(|part| part.bytes).sum();
        self.received == Count { packets, bytes }
    }
}

impl Link {
    pub(crate) fn assemble(queue: Queue, gate: Gate, framing: Framing, delay: Span, loss: Option<Loss>) -> Link {
        let carrier = match queue {
            Queue::Fifo(fifo) => Carrier::Shared(fifo),
            queue => Carrier::Apart { queue, line: VecDeque::new() },
        };
        Link {
            carrier,
            gate,
            framing,
            delay,
            loss: loss.map(Box::new),
            next_departure: Time::MAX,
            queue: QueueStats::default(),
            received: Count::default(),
            delivered: Count::default(),
            lost: Count::default(),
            wire_bytes: Bytes::ZERO,
        }
    }

    /// Accounts for the departures owed up to now, so that what is read next is of now. Changes no result.
    pub fn observe(&mut self, cx: &mut Cx<'_>) {
        self.advance(cx);
    }

    /// The queue now, and the waits of the packets that left it since the sample before.
    pub fn sample(&mut self, cx: &mut Cx<'_>) -> QueueSample {
        self.observe(cx);
        self.queue.sample()
    }

    /// What was measured at the queue; of now only after [`Link::observe`].
    pub fn queue_stats(&self) -> &QueueStats {
        &self.queue
    }

    /// The queue itself, if it is not a plain FIFO.
    pub fn queue(&self) -> Option<&Queue> {
        match &self.carrier {
            Carrier::Shared(_) => None,
            Carrier::Apart { queue, .. } => Some(queue),
        }
    }

    /// Packets that left the queue, lost on the line or not.
    pub fn sent_packets(&self) -> u64 {
        self.queue.sent_packets()
    }

    /// Octets that left the queue for the line, with framing.
    pub fn wire_bytes(&self) -> Bytes {
        self.wire_bytes
    }

    /// How long the line was busy up to now: sending, with a serializer; with a token bucket, the credit used in time at its
    /// rate. `None` if the rate has no limit. Of now only after [`Link::observe`].
    pub fn busy(&self, now: Time) -> Option<Span> {
        let (used, _) = self.gate.rate()?.time_to_send(self.wire_bytes, 0);
        Some(used.saturating_sub(self.gate.busy_until().saturating_since(now)))
    }

    /// What became of every packet; of now only after [`Link::observe`].
    pub fn ledger(&self) -> LinkLedger {
        let (waiting, on_the_line) = match &self.carrier {
            Carrier::Shared(fifo) => (fifo.backlog(), fifo.on_the_line().into()),
            Carrier::Apart { queue, line } => {
                let mut flying = Count::default();
                line.iter().for_each(|flight| flying.add(flight.packet.size()));
                (queue.backlog(), flying)
            }
        };
        LinkLedger {
            received: self.received,
            delivered: self.delivered,
            dropped: Count { packets: self.queue.dropped_packets(), bytes: self.queue.dropped_bytes() },
            lost: self.lost,
            waiting: waiting.into(),
            on_the_line,
        }
    }

    /// Lets go what should have left by now.
    #[inline]
    fn advance(&mut self, cx: &mut Cx<'_>) {
        if self.next_departure <= cx.now() {
            self.catch_up(cx);
        }
    }

    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        while self.next_departure <= cx.now() {
            let at = self.next_departure;
            self.depart(&mut cx.at(at));
        }
    }

    /// The head of the queue leaves it now.
    #[inline]
    fn depart(&mut self, cx: &mut Cx<'_>) {
        match &mut self.carrier {
            Carrier::Shared(_) => self.depart_shared(cx),
            Carrier::Apart { .. } => self.depart_apart(cx),
        }
    }

    fn depart_shared(&mut self, cx: &mut Cx<'_>) {
        let Carrier::Shared(fifo) = &mut self.carrier else { unreachable!("asked of a shared ring") };
        let now = cx.now();
        let head = fifo.head().expect("a departure is due, so a packet waits");
        let wire = self.framing.wire_size(head.size);
        let sent = self.gate.send(now, wire);
        self.wire_bytes += wire;
        self.queue.left(now, head.since, head.size);
        let backlog = self.queue.backlog();
        cx.record_queue(|| dequeued(fifo.head_packet().expect("it is still there"), backlog, now, head.since));
        match self.loss.as_mut().and_then(|loss| loss.befalls(now)) {
            None => fifo.depart(head, sent + self.delay),
            Some(why) => {
                self.lost.add(head.size);
                let waiting = fifo.dequeue(cx).expect("it is still there");
                cx.discard(waiting.packet, why);
            }
        }
        self.next_departure = match fifo.head() {
            Some(next) => self.gate.ready(self.framing.wire_size(next.size)).max(now),
            None => Time::MAX,
        };
    }

    fn depart_apart(&mut self, cx: &mut Cx<'_>) {
        let Carrier::Apart { queue, line } = &mut self.carrier else { unreachable!("asked of a queue apart") };
        let now = cx.now();
        let given = queue.dequeue(cx);
        if let Some(Waiting { packet, since }) = given {
            let size = packet.size();
            let wire = self.framing.wire_size(size);
            let sent = self.gate.send(now, wire);
            self.wire_bytes += wire;
            self.queue.left(now, since, size);
            self.queue.settle(now, queue.backlog());
            cx.record_queue(|| dequeued(&packet, queue.backlog(), now, since));
            match self.loss.as_mut().and_then(|loss| loss.befalls(now)) {
                None => line.push_back(Flying { arrives: sent + self.delay, packet }),
                Some(why) => {
                    self.lost.add(size);
                    cx.discard(packet, why);
                }
            }
        } else {
            self.queue.settle(now, queue.backlog());
            let stuck = queue.ready_at(now) == Some(now);
            assert!(!stuck, "the discipline says that it is ready and gives no packet: {queue:?}");
        }
        self.schedule(now);
    }

    /// Works out when the next packet of a queue apart leaves, not before `now`.
    fn schedule(&mut self, now: Time) {
        let Carrier::Apart { queue, .. } = &self.carrier else { unreachable!("asked of a queue apart") };
        self.next_departure = match queue.head_size() {
            None => Time::MAX,
            Some(size) => {
                let free = self.gate.ready(self.framing.wire_size(size)).max(now);
                queue.ready_at(free).map_or(Time::MAX, |ready| ready.max(free))
            }
        };
    }

    fn accept_shared(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        let Carrier::Shared(fifo) = &mut self.carrier else { unreachable!("asked of a shared ring") };
        let now = cx.now();
        match fifo.head() {
            None => self.gate.rest_until(now),
            Some(head) if fifo.drops_from_front() => self.gate.wait_until(now, self.framing.wire_size(head.size)),
            Some(_) => {}
        }
        fifo.offer(packet, size, cx);
        self.queue.offered(now, size, fifo.backlog());
        let may_be_new = fifo.drops_from_front() || fifo.backlog().packets == 1;
        if may_be_new && let Some(head) = fifo.head() {
            self.next_departure = self.gate.ready(self.framing.wire_size(head.size)).max(now);
            self.advance(cx);
        }
    }

    fn accept_apart(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        let Carrier::Apart { queue, .. } = &mut self.carrier else { unreachable!("asked of a queue apart") };
        let now = cx.now();
        match queue.head_size() {
            None => self.gate.rest_until(now),
            Some(head) => self.gate.wait_until(now, self.framing.wire_size(head)),
        }
        queue.enqueue(packet, cx);
        self.queue.offered(now, size, queue.backlog());
        self.schedule(now);
        self.advance(cx);
    }
}

impl Node for Link {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.advance(cx);
        let size = packet.size();
        self.received.add(size);
        match &self.carrier {
            Carrier::Shared(_) => self.accept_shared(packet, size, cx),
            Carrier::Apart { .. } => self.accept_apart(packet, size, cx),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.advance(cx);
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let (packet, size) = match &mut self.carrier {
            Carrier::Shared(fifo) => fifo.take_arrived(cx.now())?,
            Carrier::Apart { line, .. } => {
                if line.front()?.arrives > cx.now() {
                    return None;
                }
                let packet = line.pop_front()?.packet;
                let size = packet.size();
                (packet, size)
            }
        };
        self.delivered.add(size);
        Some((Port(0), packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        let arrival = match &self.carrier {
            Carrier::Shared(fifo) => fifo.next_arrival(),
            Carrier::Apart { line, .. } => line.front().map(|flight| flight.arrives),
        };
        arrival.or_else(|| self.first_possible_arrival())
    }
}

impl Link {
    /// With nothing on the line, when the next packet arrives at the earliest: that it leaves the queue before need not be an
    /// event of its own.
    fn first_possible_arrival(&self) -> Option<Time> {
        if self.next_departure == Time::MAX {
            return None;
        }
        let sent = match &self.carrier {
            Carrier::Shared(fifo) => {
                let head = fifo.head().expect("a departure is due, so a packet waits");
                self.gate.end_if_sent(self.next_departure, self.framing.wire_size(head.size))
            }
            // Another packet than the head may come, or none.
            Carrier::Apart { .. } => self.next_departure,
        };
        Some(sent + self.delay)
    }
}

fn dequeued(packet: &Packet, backlog: Backlog, now: Time, since: Time) -> Event<'_> {
    let sojourn = now.saturating_since(since);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
