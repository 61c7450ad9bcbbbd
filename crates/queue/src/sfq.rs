//! Stochastic fair queueing: flows are hashed to queues that take turns (McKenney, Stochastic Fairness Queuing, 1990;
//! Linux's `sch_sfq`, tc-sfq(8)).
//!
//! A queue that gets its first packet joins the end of the round with an allotment of one quantum. The queue at the
//! front sends while it has allotment left, then gains a quantum and goes to the end. When there is no room, the newest
//! packet of the longest queue goes, or its oldest with `headdrop`. With `perturb` the hash changes from time to time,
//! and what waits moves to its new queues, so that flows which share a queue do not share it for ever.
//!
//! As in Linux, a packet that finds no free queue is dropped, and of equally long queues the one that reached its
//! length last gives way. Linux before 6.13 counts allotments in units of 8 octets, its later fixes to 6.1 in octets,
//! as here.
//!
//! Left out: Linux's RED inside each queue (`redflowlimit`).

use crate::bounds;
use crate::flow_hash::{FlowHash, queue_of};
use crate::ring::PacketRing;
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};
use std::collections::VecDeque;

/// A stochastic fair queue as plain data, under the names of tc-sfq(8).
#[derive(Clone, Debug, PartialEq)]
pub struct SfqConfig {
    /// Packets in all queues, and in one.
    pub limit: u32,
    pub depth: u32,
    /// Queues that can hold packets at once, and values of the hash that lead to them.
    pub flows: u32,
    pub divisor: u32,
    pub quantum: Bytes,
    pub perturb: Option<Duration>,
    pub headdrop: bool,
}

impl Default for SfqConfig {
    /// Linux's defaults on Ethernet.
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
    const TEXT: &'static str = "Stochastic fair queueing: hashed queues take turns, the longest gives way.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<SfqConfig>] = &[
        key("limit", |sfq: &mut Self| &mut sfq.limit, "Packets in all queues.").typed(ValueType::Packets),
        key("depth", |sfq: &mut Self| &mut sfq.depth, "Packets in one queue.").typed(ValueType::Packets),
        key("flows", |sfq: &mut Self| &mut sfq.flows, "Queues that can hold packets at once."),
        key("divisor", |sfq: &mut Self| &mut sfq.divisor, "Values of the hash."),
        key("quantum", |sfq: &mut Self| &mut sfq.quantum, "What a queue may send in its turn."),
        key("perturb", |sfq: &mut Self| &mut sfq.perturb, "How often the hash changes.").none_word("never"),
        key(
            "headdrop",
            |sfq: &mut Self| &mut sfq.headdrop,
            "The oldest packet of the longest queue gives way, not the newest.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, count) in [("limit", self.limit), ("depth", self.depth)] {
            bounds::limit(name, u64::from(count))?;
        }
        for (name, count) in [("flows", self.flows), ("divisor", self.divisor)] {
            if !(1..=MOST).contains(&count) {
                return Err(Fault::new(name, format!("this is from 1 to {MOST}")));
            }
        }
        bounds::quantum(self.quantum)?;
        if self.perturb.is_some_and(|period| period < Duration::from_millis(1)) {
            return Err(Fault::new("perturb", "the hash changes at most once in a millisecond"));
        }
        Ok(())
    }
}

impl Discipline for SfqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Sfq::new(self, place.rng())?)))
    }
}

/// Largest number of queues and hash values, which bounds the memory of flows (Linux's `SFQ_MAX_FLOWS` and the bound of
/// its divisor).
const MOST: u32 = 65_408;

/// A stochastic fair queue.
#[derive(Debug)]
pub struct Sfq {
    config: SfqConfig,
    rng: Rng,
    hash: FlowHash,
    /// When the hash changes next.
    perturb_at: Time,
    /// The queue of each value of the hash, while it has packets.
    by_hash: Vec<Option<u32>>,
    queues: Vec<Slot>,
    free: Vec<u32>,
    /// The queues with packets, the next to be served first.
    round: VecDeque<u32>,
    /// The queues of each length; the last to reach it at the end.
    by_length: Vec<Vec<u32>>,
    backlog: Backlog,
}

#[derive(Debug, Default)]
struct Slot {
    ring: PacketRing,
    hash: usize,
    allotment: i64,
}

impl Slot {
    fn len(&self) -> usize {
        self.ring.backlog().packets as usize
    }
}

impl Sfq {
    /// `rng` is this queue's own stream: it perturbs the hash.
    pub fn new(config: &SfqConfig, mut rng: Rng) -> Result<Sfq, Fault> {
        config.check()?;
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

    /// A queue is now of this length, and was of the other.
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
        while self.by_length.last().is_some_and(Vec::is_empty) {
            self.by_length.pop();
        }
    }

    /// The queue of a hash, or a free one; `None` if all are used.
    fn queue_for(&mut self, hash: usize) -> Option<u32> {
        if let Some(queue) = self.by_hash[hash] {
            return Some(queue);
        }
        let queue = self.free.pop()?;
        self.queues[queue as usize].hash = hash;
        self.by_hash[hash] = Some(queue);
        Some(queue)
    }

    /// Puts a packet at the end of its queue, which joins the round if it was empty.
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

    /// Takes a queue's oldest or newest packet; the queue leaves the round when that was its last.
    fn take(&mut self, queue: u32, newest: bool) -> QueuedPacket {
        let slot = &mut self.queues[queue as usize];
        let before = slot.len();
        let taken = if newest { slot.ring.pop_newest() } else { slot.ring.pop() };
        let taken = taken.expect("only queues with packets are asked");
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

    /// Makes room: drops from the longest queue, or from the next to be served if all hold one packet.
    #[cold]
    fn drop_from_longest(&mut self, cx: &mut Cx<'_>) {
        let longest = match self.by_length.len() - 1 {
            1 => self.round.front(),
            length => self.by_length[length].last(),
        };
        let queue = *longest.expect("there are packets, and so a longest queue");
        let victim = self.take(queue, !self.config.headdrop);
        cx.drop(victim.packet, DropReason::QueueFull);
    }

    /// Changes the hash as often as is due by now; queued packets move to their new queues.
    fn perturb(&mut self, cx: &mut Cx<'_>) {
        let Some(period) = self.config.perturb else { return };
        if self.perturb_at > cx.now() {
            return;
        }
        let missed = cx.now().saturating_since(self.perturb_at).as_nanos() / period.as_nanos();
        self.perturb_at += period * (missed + 1);
        self.hash = FlowHash::new(&mut self.rng);
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
        let Some(queue) = self.queue_for(hash) else { return cx.drop(packet, DropReason::QueueFull) };
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
