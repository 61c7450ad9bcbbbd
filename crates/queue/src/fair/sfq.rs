//! Stochastic fair queueing: a hash assigns flows to queues, which are served in turn (McKenney, Stochastic Fairness
//! Queuing, 1990; Linux's `sch_sfq`, tc-sfq(8)).
//!
//! The queue at the front of the round sends until its allotment is used up. The queue then gains a quantum and moves
//! to the end of the round. If there is no room, the newest packet of the longest queue is dropped, or the oldest
//! packet with `headdrop`. With `perturb` the hash changes periodically, so that flows do not share a queue forever.
//!
//! As in Linux, a packet is dropped if it needs a new queue and all queues are in use. Allotments are in bytes, as in
//! Linux 6.13 and its backports to 6.1.
//!
//! Not modelled: Linux's RED inside each queue (`redflowlimit`).

use crate::bounds;
use crate::fair::flow_hash::{FlowHash, queue_of};
use crate::tools::ring::PacketRing;
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};
use std::collections::VecDeque;

/// Settings of a stochastic fair queue, named as in tc-sfq(8).
#[derive(Clone, Debug, PartialEq)]
pub struct SfqConfig {
    /// Maximum number of packets in all queues.
    pub limit: u32,
    /// Maximum number of packets in one queue.
    pub depth: u32,
    /// Maximum number of non-empty queues.
    pub flows: u32,
    /// Number of possible hash values.
    pub divisor: u32,
    /// Number of bytes that a queue may send per turn.
    pub quantum: Bytes,
    /// Interval between two changes of the hash. `None`: the hash never changes.
    pub perturb: Option<Duration>,
    /// True if the oldest packet of the longest queue is dropped instead of the newest.
    pub headdrop: bool,
}

impl Default for SfqConfig {
    /// Linux's defaults for an Ethernet device.
    fn default() -> SfqConfig {
        SfqConfig {
            limit: 127,
            depth: 127,
            flows: 128,
            divisor: 1024,
            quantum: Bytes::new(1514),
            perturb: None,
            headdrop: false,
        }
    }
}

impl Part for SfqConfig {
    const NAME: &'static str = "sfq";
    const TEXT: &'static str =
        "Stochastic fair queueing: flows are hashed to queues, which take turns. The longest queue drops.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<SfqConfig>] = &[
        key("limit", |sfq: &mut Self| &mut sfq.limit, "Maximum number of packets in all queues together.")
            .typed(ValueType::Packets),
        key("depth", |sfq: &mut Self| &mut sfq.depth, "Maximum number of packets in one queue.")
            .typed(ValueType::Packets),
        key("flows", |sfq: &mut Self| &mut sfq.flows, "Number of queues that can hold packets at the same time."),
        key("divisor", |sfq: &mut Self| &mut sfq.divisor, "Number of different hash values."),
        key("quantum", |sfq: &mut Self| &mut sfq.quantum, "Number of octets that a queue may send per turn."),
        key("perturb", |sfq: &mut Self| &mut sfq.perturb, "Time between two changes of the hash function.")
            .none_word("never"),
        key(
            "headdrop",
            |sfq: &mut Self| &mut sfq.headdrop,
            "Drop the oldest packet of the longest queue instead of the newest.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, count) in [("limit", self.limit), ("depth", self.depth)] {
            bounds::limit(name, u64::from(count))?;
        }
        for (name, count) in [("flows", self.flows), ("divisor", self.divisor)] {
            if !(1..=MOST).contains(&count) {
                return Err(Fault::new(name, format!("this must be from 1 to {MOST}")));
            }
        }
        bounds::quantum(self.quantum)?;
        if self.perturb.is_some_and(|period| period < Duration::from_millis(1)) {
            return Err(Fault::new("perturb", "the time between two changes must be at least 1 ms"));
        }
        Ok(())
    }
}

impl Discipline for SfqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Sfq::new(self, place.rng())?)))
    }
}

/// Maximum number of queues and hash values (Linux's `SFQ_MAX_FLOWS`).
const MOST: u32 = 65_408;

/// Stochastic fair queueing: the queues and their order.
#[derive(Debug)]
pub struct Sfq {
    config: SfqConfig,
    rng: Rng,
    hash: FlowHash,
    /// Time of the next change of the hash.
    perturb_at: Time,
    /// For each hash value, the queue of its flows; `None` if these flows have no packets.
    by_hash: Vec<Option<u32>>,
    /// All queues.
    queues: Vec<Slot>,
    /// The queues without packets.
    free: Vec<u32>,
    /// The non-empty queues, in the order in which they are served.
    round: VecDeque<u32>,
    /// For each length in packets, the queues of this length, in the order in which they reached the length.
    by_length: Vec<Vec<u32>>,
    backlog: Backlog,
}

/// One queue.
#[derive(Debug, Default)]
struct Slot {
    ring: PacketRing,
    /// Hash value of the flows in the queue.
    hash: usize,
    /// Number of bytes that the queue may still send in its turn.
    allotment: i64,
}

impl Slot {
    fn len(&self) -> usize {
        self.ring.backlog().packets as usize
    }
}

impl Sfq {
    /// Creates empty queues. `rng` perturbs the flow hash.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &SfqConfig, mut rng: Rng) -> Result<Sfq, Fault> {
        config.check_all()?;
        let hash = FlowHash::new(&mut rng);
        Ok(Sfq {
            config: config.clone(),
            rng,
            hash,
            perturb_at: config.perturb.map_or(Time::MAX, |period| Time::ZERO + period),
            by_hash: vec![None; config.divisor as usize],
            queues: std::iter::repeat_with(Slot::default).take(config.flows as usize).collect(),
            free: (0..config.flows).rev().collect(),
            round: VecDeque::new(),
            by_length: Vec::new(),
            backlog: Backlog::default(),
        })
    }

    /// Moves a queue from one list of `by_length` to another after its length has changed.
    fn moves(&mut self, queue: u32, from: usize, to: usize) {
        if from > 0 {
            let place = self.by_length[from].iter().rposition(|other| *other == queue);
            self.by_length[from].remove(place.expect("each queue with packets is listed under its length"));
        }
        if to > 0 {
            if self.by_length.len() <= to {
                self.by_length.resize(to + 1, Vec::new());
            }
            self.by_length[to].push(queue);
        }
        // Remove empty lists from the end, so that the last list contains the longest queues.
        while self.by_length.last().is_some_and(Vec::is_empty) {
            self.by_length.pop();
        }
    }

    /// Returns the queue of a hash value, and assigns a free queue if necessary. `None` if all queues are in use.
    fn queue_for(&mut self, hash: usize) -> Option<u32> {
        if let Some(queue) = self.by_hash[hash] {
            return Some(queue);
        }
        let queue = self.free.pop()?;
        self.queues[queue as usize].hash = hash;
        self.by_hash[hash] = Some(queue);
        Some(queue)
    }

    /// Appends a packet to a queue. If the queue was empty, it joins the round.
    fn put(&mut self, queue: u32, waiting: QueuedPacket) {
        let slot = &mut self.queues[queue as usize];
        let before = slot.len();
        slot.ring.put(waiting);
        if before == 0 {
            slot.allotment = self.config.quantum.get() as i64;
            self.round.push_back(queue);
        }
        self.moves(queue, before, before + 1);
    }

    /// Removes a queue's oldest or newest packet. If the queue is then empty, it leaves the round.
    fn take(&mut self, queue: u32, newest: bool) -> QueuedPacket {
        let slot = &mut self.queues[queue as usize];
        let before = slot.len();
        let taken = if newest { slot.ring.pop_newest() } else { slot.ring.pop() };
        let taken = taken.expect("the caller passes a queue with packets");
        self.moves(queue, before, before - 1);
        self.backlog.remove(taken.packet.size());
        if before == 1 {
            self.by_hash[self.queues[queue as usize].hash] = None;
            self.free.push(queue);
            let place = self.round.iter().position(|other| *other == queue);
            self.round.remove(place.expect("a queue with packets is in the round"));
        }
        taken
    }

    /// Drops a packet of the longest queue. If no queue has more than one packet, drops the packet of the queue that is
    /// served next.
    #[cold]
    fn drop_from_longest(&mut self, cx: &mut Cx<'_>) {
        // As in Linux's sfq_drop: if no queue has more than one packet, there is no longest queue.
        let longest = match self.by_length.len() - 1 {
            1 => self.round.front(),
            length => self.by_length[length].last(),
        };
        let queue = *longest.expect("a discipline with packets has a longest queue");
        let victim = self.take(queue, !self.config.headdrop);
        cx.drop(victim.packet, DropReason::QueueFull);
    }

    /// Changes the hash if a change is due, and moves queued packets to their new queues.
    fn perturb(&mut self, cx: &mut Cx<'_>) {
        let Some(period) = self.config.perturb else { return };
        if self.perturb_at > cx.now() {
            return;
        }
        // If several changes are overdue, one new hash is enough, because each hash is random.
        let missed = cx.now().saturating_since(self.perturb_at).as_nanos() / period.as_nanos();
        self.perturb_at += period * (missed + 1);
        // The new hash separates flows that shared a queue, and may bring other flows together.
        self.hash = FlowHash::new(&mut self.rng);
        // Empty the queues in the order of service, so that the packets of each flow keep their order.
        let mut waiting = Vec::new();
        for queue in std::mem::take(&mut self.round) {
            let slot = &mut self.queues[queue as usize];
            waiting.extend(std::iter::from_fn(|| slot.ring.pop()));
            self.by_hash[slot.hash] = None;
            self.free.push(queue);
        }
        self.by_length.clear();
        for packet in waiting {
            let hash = queue_of(self.hash.flow(&packet.packet), self.by_hash.len());
            match self.queue_for(hash) {
                Some(queue) if self.queues[queue as usize].len() < self.config.depth as usize => {
                    self.put(queue, packet);
                }
                _ => {
                    self.backlog.remove(packet.packet.size());
                    cx.drop(packet.packet, DropReason::QueueFull);
                }
            }
        }
    }
}

impl Qdisc for Sfq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.perturb(cx);
        let hash = queue_of(self.hash.flow(&packet), self.by_hash.len());
        // As in Linux's sfq_enqueue, a packet that needs a new queue is dropped if all queues are in use.
        let Some(queue) = self.queue_for(hash) else { return cx.drop(packet, DropReason::QueueFull) };
        // The depth limits a single flow even if the whole queue has room.
        if self.queues[queue as usize].len() >= self.config.depth as usize {
            if !self.config.headdrop {
                return cx.drop(packet, DropReason::QueueFull);
            }
            let slot = &mut self.queues[queue as usize];
            let oldest = slot.ring.pop().expect("a queue at its depth has packets");
            self.backlog.remove(oldest.packet.size());
            cx.drop(oldest.packet, DropReason::HeadDrop);
            self.backlog.add(&packet, packet.size(), cx);
            slot.ring.put(QueuedPacket { packet, enqueued_at: cx.now() });
            return;
        }
        self.backlog.add(&packet, packet.size(), cx);
        self.put(queue, QueuedPacket { packet, enqueued_at: cx.now() });
        if self.backlog.packets > self.config.limit {
            self.drop_from_longest(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.perturb(cx);
        loop {
            let queue = *self.round.front()?;
            let slot = &mut self.queues[queue as usize];
            // As in Linux, the last packet of a turn may exceed the allotment.
            if slot.allotment <= 0 {
                slot.allotment += self.config.quantum.get() as i64;
                self.round.rotate_left(1);
                continue;
            }
            let given = self.take(queue, false);
            self.queues[queue as usize].allotment -= given.packet.size().get() as i64;
            return Some(given);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("active_flows", self.round.len() as f64);
    }
}
