//! FQ: a queue for each flow, served in turn, with an optional rate limit per flow (Dumazet 2013; Linux's `sch_fq`,
//! tc-fq(8)).
//!
//! New flows are served before old flows. A flow sends while it has credit. When its credit is used up, it gains
//! `quantum` bytes and moves to the end of the old flows. The first credit of a flow is `initial_quantum`, enough for
//! an initial window. After an idle time of `refill_delay`, a flow has a full quantum again.
//!
//! **Pacing.** With `maxrate`, a flow whose credit is used up must wait. The wait is the transmission time of a
//! quantum, or of the flow's last packet if the packet is larger. If `maxrate` is at most `low_rate_threshold`, the
//! flow waits after each packet. If a packet leaves late, the next wait is shorter by the delay, but by at most 50 %.
//!
//! A hash assigns flows to `orphan_mask + 1` queues, as Linux does with packets of other hosts.
//!
//! Not modelled: departure times of local sockets (senders pace themselves), the queue of priority 7, and the removal
//! of flows that are idle for 3 s.

use crate::fair::flow_hash::{FlowHash, queue_of};
use crate::tools::bounds::{self, MOST_QUEUES};
use crate::tools::ring::PacketRing;
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, MarkReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};
use std::collections::{BTreeMap, VecDeque};

/// Settings of an FQ queue, named as in tc-fq(8).
#[derive(Clone, Debug, PartialEq)]
pub struct FqConfig {
    /// Maximum number of packets in all flows.
    pub limit: u32,
    /// Maximum number of packets in one flow.
    pub flow_limit: u32,
    /// Number of bytes that a flow may send per turn.
    pub quantum: Bytes,
    /// Number of bytes that a flow may send in its first turn.
    pub initial_quantum: Bytes,
    /// Rate at which each flow is paced. `None`: no pacing.
    pub maxrate: Option<BitRate>,
    /// If `maxrate` is at most this rate, every packet is paced individually.
    pub low_rate_threshold: BitRate,
    /// Idle time after which a flow again has a full quantum of credit.
    pub refill_delay: Duration,
    /// Number of queues minus 1.
    pub orphan_mask: u32,
    /// Packets with a longer sojourn time are marked with CE. `None`: no packet is marked.
    pub ce_threshold: Option<Duration>,
}

impl Default for FqConfig {
    /// Linux's defaults for Ethernet.
    fn default() -> FqConfig {
        FqConfig {
            limit: 10_000,
            flow_limit: 100,
            quantum: Bytes::new(2 * 1514),
            initial_quantum: Bytes::new(10 * 1514),
            maxrate: None,
            low_rate_threshold: BitRate::from_bps(550_000),
            refill_delay: Duration::from_millis(40),
            orphan_mask: 1023,
            ce_threshold: None,
        }
    }
}

impl Part for FqConfig {
    const NAME: &'static str = "fq";
    const TEXT: &'static str = "Linux's fair queue: a queue for each flow, served in turn, with optional pacing.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FqConfig>] = &[
        key("limit", |fq: &mut Self| &mut fq.limit, "Maximum number of packets in all queues together.")
            .typed(ValueType::Packets),
        key("flow_limit", |fq: &mut Self| &mut fq.flow_limit, "Maximum number of packets in the queue of one flow.")
            .typed(ValueType::Packets),
        key("quantum", |fq: &mut Self| &mut fq.quantum, "Number of octets that a flow may send per turn."),
        key(
            "initial_quantum",
            |fq: &mut Self| &mut fq.initial_quantum,
            "Number of octets that a flow may send in its first turn.",
        ),
        key("maxrate", |fq: &mut Self| &mut fq.maxrate, "The rate at which each flow is paced.").none_word("unlimited"),
        key(
            "low_rate_threshold",
            |fq: &mut Self| &mut fq.low_rate_threshold,
            "If maxrate is at most this rate, each packet is paced individually. Above this rate, a whole quantum is sent at a time.",
        ),
        key(
            "refill_delay",
            |fq: &mut Self| &mut fq.refill_delay,
            "A flow that was idle for longer than this gets a new quantum.",
        ),
        key(
            "orphan_mask",
            |fq: &mut Self| &mut fq.orphan_mask,
            "Number of queues minus 1. A hash assigns each flow to a queue.",
        ),
        key(
            "ce_threshold",
            |fq: &mut Self| &mut fq.ce_threshold,
            "Packets that waited longer than this time are marked.",
        )
        .none_word("off"),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, limit) in [("limit", self.limit), ("flow_limit", self.flow_limit)] {
            bounds::limit(name, u64::from(limit))?;
        }
        bounds::quantum(self.quantum)?;
        if self.orphan_mask >= MOST_QUEUES {
            return Err(Fault::new("orphan_mask", format!("there must be at most {MOST_QUEUES} queues")));
        }
        Ok(())
    }
}

impl Discipline for FqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Fq::new(self, place.rng())?)))
    }
}

/// FQ: the queues of all flows.
#[derive(Debug)]
pub struct Fq {
    config: FqConfig,
    hash: FlowHash,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Flows that wait because of their rate. The key consists of the departure time and the value of `throttlings` at
    /// the start of the wait.
    throttled: BTreeMap<(Time, u64), u32>,
    /// Number of times that a flow has been throttled. The number orders flows with the same departure time.
    throttlings: u64,
    backlog: Backlog,
}

/// The queue of one flow.
#[derive(Debug)]
struct Flow {
    ring: PacketRing,
    /// Number of bytes that the flow may still send in its turn.
    credit: i64,
    /// Earliest departure time of the flow's next packet if the flow is paced.
    next: Time,
    place: Place,
}

/// The list that contains a flow.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The flow is in no list. It has been idle since this time.
    Detached(Time),
    /// The flow is in the list of new, old or throttled flows.
    Listed,
}

impl Fq {
    /// Creates empty queues. `rng` perturbs the flow hash.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &FqConfig, mut rng: Rng) -> Result<Fq, Fault> {
        config.check_all()?;
        let flow = || Flow {
            ring: PacketRing::default(),
            credit: config.initial_quantum.get() as i64,
            next: Time::ZERO,
            place: Place::Detached(Time::ZERO),
        };
        Ok(Fq {
            config: config.clone(),
            hash: FlowHash::new(&mut rng),
            // fq_classify: packets without a socket are hashed into orphan_mask + 1 flows.
            flows: std::iter::repeat_with(flow).take(config.orphan_mask as usize + 1).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BTreeMap::new(),
            throttlings: 0,
            backlog: Backlog::default(),
        })
    }

    /// Moves throttled flows that may send again to the end of the old flows.
    fn release(&mut self, now: Time) {
        while let Some(first) = self.throttled.first_entry() {
            if first.key().0 > now {
                break;
            }
            self.old.push_back(first.remove());
        }
    }

    /// Sets the next departure time of a paced flow that has used up its credit.
    fn pace(&mut self, at: usize, size: u64, now: Time) {
        let (flow, config) = (&mut self.flows[at], &self.config);
        let Some(rate) = config.maxrate else { return };
        let mut counted = size;
        // At a low rate, the wait after a quantum would be too long, so each packet is paced individually.
        if rate <= config.low_rate_threshold {
            flow.credit = 0;
        } else {
            counted = size.max(config.quantum.get());
            if flow.credit > 0 {
                return;
            }
        }
        // As in Linux's fq_dequeue, a wait is at most 1 s.
        let mut wait = rate.time_to_send(Bytes::new(counted), 0).0.as_nanos().min(1_000_000_000);
        // Linux's fq_dequeue: if the packet left late, shorten the next wait accordingly, by at most 50 %.
        if flow.next > Time::ZERO {
            wait -= (wait / 2).min(now.saturating_since(flow.next).as_nanos());
        }
        flow.next = now + Duration::from_nanos(wait);
    }
}

impl Qdisc for Fq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.backlog.packets >= self.config.limit {
            return cx.drop(packet, DropReason::QueueFull);
        }
        let at = queue_of(self.hash.flow(&packet), self.flows.len());
        let flow = &mut self.flows[at];
        // `flow_limit` prevents a single flow from filling the whole queue.
        if flow.ring.backlog().packets >= self.config.flow_limit {
            return cx.drop(packet, DropReason::QueueFull);
        }
        let beside = self.backlog - flow.ring.backlog();
        cx.within_class(beside.packets, beside.bytes, |cx| flow.ring.push(packet, cx));
        self.backlog = beside + flow.ring.backlog();
        // The flow was idle, so it joins the new flows.
        if let Place::Detached(since) = flow.place {
            if cx.now().saturating_since(since) > self.config.refill_delay {
                // The refill must not lower the credit, because the flow may still have a part of its initial quantum.
                flow.credit = flow.credit.max(self.config.quantum.get() as i64);
            }
            flow.place = Place::Listed;
            self.new.push_back(at as u32);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        // As in Linux's fq_dequeue, a dequeue from an empty discipline does not change the lists of flows.
        if self.backlog.packets == 0 {
            return None;
        }
        let now = cx.now();
        self.release(now);
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let at = *list.front()?;
            let flow = &mut self.flows[at as usize];
            if flow.credit <= 0 {
                flow.credit += self.config.quantum.get() as i64;
                list.pop_front();
                self.old.push_back(at);
                continue;
            }
            if flow.ring.backlog().packets == 0 {
                list.pop_front();
                // An empty new flow first moves to the old flows, so that it cannot stay new forever.
                if from_new && !self.old.is_empty() {
                    self.old.push_back(at);
                } else {
                    flow.place = Place::Detached(now);
                }
                continue;
            }
            if flow.next > now {
                list.pop_front();
                self.throttled.insert((flow.next, self.throttlings), at);
                self.throttlings += 1;
                continue;
            }
            let mut given = flow.ring.pop()?;
            let size = given.packet.size();
            self.backlog.remove(size);
            // Do not count the time for which pacing delayed the packet, because this time is not queueing delay.
            let due = given.enqueued_at.max(flow.next);
            if self.config.ce_threshold.is_some_and(|threshold| now.saturating_since(due) > threshold) {
                cx.mark(&mut given.packet, MarkReason::Threshold);
            }
            flow.credit -= size.get() as i64;
            self.pace(at as usize, size.get(), now);
            return Some(given);
        }
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        if self.backlog.packets == 0 {
            return None;
        }
        let throttled = self.throttled.first_key_value().map(|((time, _), _)| *time);
        if self.new.is_empty() && self.old.is_empty() { throttled.map(|time| time.max(now)) } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn removes(&mut self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let at = queue_of(self.hash.flow(waiting.like), self.flows.len());
        let packet = self.flows[at].ring.remove(waiting)?;
        self.backlog.remove(packet.size());
        Some(packet)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("new_flows", self.new.len() as f64);
        out("throttled_flows", self.throttled.len() as f64);
    }
}
