//! One direction of a line.

use crate::Framing;
use crate::apart::{Apart, Flying};
use crate::conveyor::{Conveyor, Note};
use crate::gate::Gate;
use crate::loss::Loss;
use lopsided_core::{Bytes, Count, Cx, DropReason, Duration, Event, EventMask, Node, Packet, Port, Time};
use lopsided_queue::{Backlog, DropFrom, Qdisc, Queue, QueueSample, QueueStats, QueuedPacket};

/// One direction of a line, from inlet `Port(0)` to outlet `Port(0)`.
#[derive(Debug)]
pub struct Link {
    carrier: Carrier,
    line: Line,
    loss: Option<Box<Loss>>,
    queue: QueueStats,
    received: Count,
    delivered: Count,
    lost: Count,
    wire_bytes: Bytes,
    /// When the line has sent what left the queue last.
    sending_until: Time,
}

/// Where the packets are. Which one it is never shows in a result.
#[derive(Debug)]
enum Carrier {
    /// A drop-tail FIFO in front of a line without loss.
    Conveyor(Conveyor),
    /// Everything else.
    Apart(Apart),
}

/// The line itself.
#[derive(Debug)]
struct Line {
    gate: Gate,
    framing: Framing,
    delay: Duration,
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
    pub(crate) fn assemble(queue: Queue, gate: Gate, framing: Framing, delay: Duration, loss: Option<Loss>) -> Link {
        let carrier = match queue {
            Queue::Fifo(fifo) if fifo.drops_from() == DropFrom::Tail && loss.is_none() => {
                Carrier::Conveyor(Conveyor::new(fifo.room().clone()))
            }
            queue => Carrier::Apart(Apart::new(queue)),
        };
        Link {
            carrier,
            line: Line { gate, framing, delay },
            loss: loss.map(Box::new),
            queue: QueueStats::default(),
            received: Count::default(),
            delivered: Count::default(),
            lost: Count::default(),
            wire_bytes: Bytes::ZERO,
            sending_until: Time::ZERO,
        }
    }

    /// Accounts for the departures owed up to now, so that what is read next is of now. Changes no result.
    pub fn observe(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
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

    /// Octets that left the queue for the line, with framing; of now only after [`Link::observe`].
    pub fn wire_bytes(&self) -> Bytes {
        self.wire_bytes
    }

    /// How long the line was busy up to now: sending, with a serializer; with a token bucket, the credit used in time at its
    /// rate. `None` if the rate has no limit. Of now only after [`Link::observe`].
    pub fn busy(&self, now: Time) -> Option<Duration> {
        let (used, _) = self.line.gate.rate()?.time_to_send(self.wire_bytes, 0);
        let unsent =
            if self.line.gate.is_serializer() { self.sending_until.saturating_since(now) } else { Duration::ZERO };
        Some(used.saturating_sub(unsent))
    }

    /// What became of every packet; of now only after [`Link::observe`].
    pub fn ledger(&self) -> LinkLedger {
        let (waiting, on_the_line) = match &self.carrier {
            Carrier::Conveyor(conveyor) => (Count::of(conveyor.waiting()), Count::of(conveyor.on_the_line())),
            Carrier::Apart(apart) => {
                let flying = apart.line.iter().map(|flying| flying.packet.size());
                (count(apart.queue.backlog()), Count::of(flying))
            }
        };
        LinkLedger {
            received: self.received,
            delivered: self.delivered,
            dropped: Count { packets: self.queue.dropped_packets(), bytes: self.queue.dropped_bytes() },
            lost: self.lost,
            waiting,
            on_the_line,
        }
    }

    /// Lets go what should have left by now.
    #[inline(always)]
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        match &self.carrier {
            Carrier::Conveyor(conveyor) if conveyor.is_due(cx.now()) => self.pass_border(cx),
            Carrier::Conveyor(_) => {}
            Carrier::Apart(_) => self.depart_due(cx),
        }
    }
}

/// The way of a packet over a conveyor.
impl Link {
    #[inline]
    fn convey(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        let Carrier::Conveyor(conveyor) = &mut self.carrier else { unreachable!("asked of a conveyor only") };
        let now = cx.now();
        if !conveyor.admits(size) {
            return self.refuse(packet, size, cx);
        }
        let wire = self.line.framing.wire_size(size);
        let (departs, sent) = self.line.gate.promise(now, wire);
        let arrives = sent + self.line.delay;
        self.queue.entered(now, size);
        let Backlog { packets, bytes } = self.queue.backlog();
        conveyor.push(packet, |packet| {
            cx.trace(EventMask::QUEUES, || Event::Enqueued { packet, backlog_packets: packets, backlog_bytes: bytes });
            Note { entered: now, departs, arrives, size: size.get() as u32, wire: wire.get() as u32 }
        });
        if departs <= now {
            self.catch_up(cx);
        }
    }

    /// Accounts for what was promised to have left the queue by now.
    #[inline(never)]
    fn pass_border(&mut self, cx: &mut Cx<'_>) {
        let Carrier::Conveyor(conveyor) = &mut self.carrier else { unreachable!("asked of a conveyor only") };
        while let Some(note) = conveyor.depart(cx.now()) {
            self.queue.left(note.departs, note.entered, note.size());
            self.wire_bytes += note.wire();
            self.sending_until = note.arrives - self.line.delay;
            let (backlog, conveyor) = (self.queue.backlog(), &*conveyor);
            cx.at(note.departs).trace(EventMask::QUEUES, || {
                let packet = conveyor.last_departed().expect("it has not arrived before it departed");
                dequeued(packet, backlog, note.departs, note.entered)
            });
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        self.queue.offered(cx.now(), size, self.queue.backlog());
        cx.drop(packet, DropReason::QueueFull);
    }
}

/// The way of a packet through a queue of any kind.
impl Link {
    #[inline(never)]
    fn enqueue(&mut self, packet: Packet, size: Bytes, cx: &mut Cx<'_>) {
        let Carrier::Apart(apart) = &mut self.carrier else { unreachable!("asked of a queue apart only") };
        let now = cx.now();
        match apart.queue.head_size() {
            None => self.line.gate.rest_until(now),
            Some(head) => self.line.gate.wait_until(now, self.line.framing.wire_size(head)),
        }
        apart.queue.enqueue(packet, cx);
        self.queue.offered(now, size, apart.queue.backlog());
        apart.next_departure = self.line.next_departure(&apart.queue, now);
        self.catch_up(cx);
    }

    #[inline(never)]
    fn depart_due(&mut self, cx: &mut Cx<'_>) {
        while let Carrier::Apart(Apart { next_departure, .. }) = self.carrier {
            if next_departure > cx.now() {
                return;
            }
            self.depart(&mut cx.at(next_departure));
        }
    }

    #[inline(never)]
    fn take_arrived(&mut self, now: Time) -> Option<(Port, Packet)> {
        let Carrier::Apart(apart) = &mut self.carrier else { unreachable!("asked of a queue apart only") };
        let packet = apart.take_arrived(now)?;
        self.delivered.record(packet.size());
        Some((Port(0), packet))
    }

    /// A departure is due now.
    fn depart(&mut self, cx: &mut Cx<'_>) {
        let Carrier::Apart(apart) = &mut self.carrier else { unreachable!("asked of a queue apart only") };
        let now = cx.now();
        let given = apart.queue.dequeue(cx);
        let backlog = apart.queue.backlog();
        if let Some(QueuedPacket { packet, enqueued_at }) = given {
            let size = packet.size();
            let wire = self.line.framing.wire_size(size);
            let sent = self.line.gate.send(now, wire);
            self.queue.left(now, enqueued_at, size);
            self.wire_bytes += wire;
            self.sending_until = sent;
            cx.trace(EventMask::QUEUES, || dequeued(&packet, backlog, now, enqueued_at));
            match self.loss.as_mut().and_then(|loss| loss.befalls(now)) {
                None => apart.line.push_back(Flying { arrives: sent + self.line.delay, packet }),
                Some(why) => {
                    self.lost.record(size);
                    cx.drop(packet, why);
                }
            }
        } else {
            let stuck = apart.queue.ready_at(now) == Some(now);
            assert!(!stuck, "the discipline says that it is ready and gives no packet: {:?}", apart.queue);
        }
        self.queue.settle(now, backlog);
        apart.next_departure = self.line.next_departure(&apart.queue, now);
    }
}

impl Line {
    /// When the next packet of this queue leaves it, not before `now`; `Time::MAX` if none waits.
    fn next_departure(&mut self, queue: &Queue, now: Time) -> Time {
        let Some(head) = queue.head_size() else { return Time::MAX };
        let free = self.gate.ready(self.framing.wire_size(head)).max(now);
        queue.ready_at(free).map_or(Time::MAX, |ready| ready.max(free))
    }
}

impl Node for Link {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.catch_up(cx);
        let size = packet.size();
        self.received.record(size);
        match &self.carrier {
            Carrier::Conveyor(_) => self.convey(packet, size, cx),
            Carrier::Apart(_) => self.enqueue(packet, size, cx),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
    }

    #[inline]
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        match &mut self.carrier {
            Carrier::Conveyor(conveyor) => {
                let (packet, size) = conveyor.take_arrived(cx.now())?;
                self.delivered.record(size);
                Some((Port(0), packet))
            }
            Carrier::Apart(_) => self.take_arrived(cx.now()),
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        match &self.carrier {
            Carrier::Conveyor(conveyor) => conveyor.next_arrival(),
            Carrier::Apart(apart) => match apart.line.front() {
                Some(flying) => Some(flying.arrives),
                None if apart.next_departure == Time::MAX => None,
                // That a packet leaves the queue need not be an event of its own: it cannot arrive before this.
                None => Some(apart.next_departure + self.line.delay),
            },
        }
    }

    fn held(&self) -> Count {
        let ledger = self.ledger();
        ledger.waiting + ledger.on_the_line
    }
}

fn count(backlog: Backlog) -> Count {
    Count { packets: u64::from(backlog.packets), bytes: backlog.bytes }
}

fn dequeued(packet: &Packet, backlog: Backlog, now: Time, enqueued_at: Time) -> Event<'_> {
    let sojourn = now.saturating_since(enqueued_at);
    Event::Dequeued { packet, backlog_packets: backlog.packets, backlog_bytes: backlog.bytes, sojourn }
}
