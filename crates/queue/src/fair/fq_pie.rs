//! FQ-PIE: a queue for each flow, served in turn. PIE controls each queue (tc-fq_pie(8); Ramakrishnan et al., "FQ-PIE
//! Queue Discipline in the Linux Kernel", LCN 2019).
//!
//! A hash assigns flows to `flows` queues, which are served as in FQ-CoDel. An arriving packet is dropped or marked
//! with the probability of its flow's queue. If `limit` packets are queued, an arriving packet is dropped.
//!
//! There is no timer: missed updates of a flow are computed at the flow's next arrival or departure.
//!
//! Not modelled: Linux's memory limit, which counts the kernel's buffers instead of packets.

use crate::aqm::pie::{self, Pie, PieConfig};
use crate::bounds;
use crate::fair::flow_hash::{FlowHash, queue_of};
use crate::fair::flow_rounds::FlowRounds;
use crate::tools::ring::PacketRing;
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, MarkReason, Packet, Rng};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// Settings of an FQ-PIE queue, named as in tc-fq_pie(8).
#[derive(Clone, Debug, PartialEq)]
pub struct FqPieConfig {
    /// Maximum number of packets in all queues together.
    pub limit: u32,
    /// Number of queues. A hash assigns flows to queues.
    pub flows: u32,
    /// Number of bytes that a queue may send per turn, including link headers.
    pub quantum: Bytes,
    /// Parameters of PIE.
    pub pie: PieConfig,
    /// Size of the link header that is counted with each IP packet, in bytes; 14 on Ethernet.
    pub header: Bytes,
}

impl Default for FqPieConfig {
    /// Linux's defaults for an Ethernet device.
    fn default() -> FqPieConfig {
        FqPieConfig {
            limit: 10_240,
            flows: 1024,
            quantum: Bytes::new(1514),
            pie: PieConfig::default(),
            header: Bytes::ZERO,
        }
    }
}

impl Part for FqPieConfig {
    const NAME: &'static str = "fq_pie";
    const TEXT: &'static str = "FQ-PIE: a queue for each flow, served in turn, each under PIE.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FqPieConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Maximum number of packets in all queues together.")
            .typed(ValueType::Packets),
        key("flows", |part: &mut Self| &mut part.flows, "Number of queues. A hash assigns each flow to a queue."),
        key(
            "quantum",
            |part: &mut Self| &mut part.quantum,
            "Number of octets that a queue may send per turn, including the header octets.",
        ),
        key("target", |part: &mut Self| &mut part.pie.target, pie::TARGET),
        key("tupdate", |part: &mut Self| &mut part.pie.tupdate, pie::TUPDATE),
        key("alpha", |part: &mut Self| &mut part.pie.alpha, pie::ALPHA).typed(ValueType::Number),
        key("beta", |part: &mut Self| &mut part.pie.beta, pie::BETA).typed(ValueType::Number),
        key("max_burst", |part: &mut Self| &mut part.pie.max_burst, pie::MAX_BURST),
        key("ecn", |part: &mut Self| &mut part.pie.ecn, pie::ECN),
        key("mark_threshold", |part: &mut Self| &mut part.pie.mark_threshold, pie::MARK_THRESHOLD),
        key("bytemode", |part: &mut Self| &mut part.pie.bytemode, pie::BYTEMODE),
        key("dq_rate_estimator", |part: &mut Self| &mut part.pie.dq_rate_estimator, pie::DQ_RATE_ESTIMATOR),
        key("derandomise", |part: &mut Self| &mut part.pie.derandomise, pie::DERANDOMISE),
        key("header", |part: &mut Self| &mut part.header, crate::aqm::codel::HEADER),
    ];

    fn check(&self) -> Result<(), Fault> {
        bounds::limit("limit", u64::from(self.limit))?;
        bounds::flows(self.flows)?;
        bounds::quantum(self.quantum)?;
        self.pie.check()
    }
}

impl Discipline for FqPieConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(FqPie::new(self, place.rng())?)))
    }
}

/// FQ-PIE: the queues of all flows.
#[derive(Debug)]
pub struct FqPie {
    config: FqPieConfig,
    hash: FlowHash,
    rng: Rng,
    flows: Vec<Flow>,
    rounds: FlowRounds,
    total: Backlog,
}

/// The queue of one flow.
#[derive(Debug)]
struct Flow {
    ring: PacketRing,
    pie: Pie,
    /// Deficit: number of bytes that the queue may still send in its turn.
    deficit: i64,
    /// True if the queue is in `rounds`.
    listed: bool,
}

impl FqPie {
    /// Creates empty queues. `rng` perturbs the hash and decides which packets PIE drops or marks.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &FqPieConfig, mut rng: Rng) -> Result<FqPie, Fault> {
        config.check()?;
        let flow = || Flow { ring: PacketRing::default(), pie: Pie::new(&config.pie), deficit: 0, listed: false };
        Ok(FqPie {
            config: config.clone(),
            hash: FlowHash::new(&mut rng),
            rng,
            flows: std::iter::repeat_with(flow).take(config.flows as usize).collect(),
            rounds: FlowRounds::default(),
            total: Backlog::default(),
        })
    }
}

impl Qdisc for FqPie {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let at = queue_of(self.hash.flow(&packet), self.flows.len());
        let flow = &mut self.flows[at];
        // If FQ-PIE is full, it drops the arriving packet. FQ-CoDel drops packets of the longest queue instead.
        if self.total.packets >= self.config.limit {
            flow.pie.dropped();
            return cx.drop(packet, DropReason::QueueFull);
        }
        let held = flow.ring.backlog();
        // The updates were due before this packet arrived, so they use the backlog without this packet.
        flow.pie.catch_up(&self.config.pie, cx.now(), held);
        if flow.pie.picks(&self.config.pie, packet.size(), held, &mut self.rng) {
            // RFC 8033, section 5.1: above the threshold even ECN-capable packets are dropped.
            let marks = self.config.pie.ecn && flow.pie.probability() <= self.config.pie.mark_threshold;
            if !(marks && cx.mark(&mut packet, MarkReason::Early)) {
                return cx.drop(packet, DropReason::Early);
            }
        }
        let before = self.total - held;
        cx.within_class(before.packets, before.bytes, |cx| flow.ring.push(packet, cx));
        self.total = before + flow.ring.backlog();
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.config.quantum.get() as i64;
            self.rounds.begin(at as u32);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let at = self.rounds.head()?;
            let flow = &mut self.flows[at as usize];
            if flow.deficit <= 0 {
                // As in Linux's fq_pie_qdisc_dequeue, a flow that has used its deficit gains a quantum and waits for
                // its next turn.
                flow.deficit += self.config.quantum.get() as i64;
                self.rounds.spent();
                continue;
            }
            let held = flow.ring.backlog();
            let Some(given) = flow.ring.pop() else {
                flow.listed = !self.rounds.emptied();
                continue;
            };
            let (size, now) = (given.packet.size(), cx.now());
            flow.pie.catch_up(&self.config.pie, now, held);
            flow.pie.left(&self.config.pie, now, size, now - given.enqueued_at, flow.ring.backlog().bytes);
            self.total.remove(size);
            flow.deficit -= (size + self.config.header).get() as i64;
            return Some(given);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn removes(&mut self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let at = queue_of(self.hash.flow(waiting.like), self.flows.len());
        let packet = self.flows[at].ring.remove(waiting)?;
        self.total.remove(packet.size());
        Some(packet)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("new_flows", self.rounds.new_flows() as f64);
        out("active_flows", self.rounds.active() as f64);
        let highest = self.flows.iter().map(|flow| flow.pie.probability()).fold(0.0, f64::max);
        out("highest_drop_probability", highest);
    }
}
