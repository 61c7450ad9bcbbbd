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
use crate::fair::flow_queues::{FLOWS, FlowQueues, LIMIT, QUANTUM, Shape};
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
    const TEXT: &'static str = "FQ-PIE: one queue for each flow, served in turn. PIE controls each queue.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FqPieConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, LIMIT).typed(ValueType::Packets),
        key("flows", |part: &mut Self| &mut part.flows, FLOWS),
        key("quantum", |part: &mut Self| &mut part.quantum, QUANTUM),
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
        self.shape().check()?;
        self.pie.check()
    }
}

impl FqPieConfig {
    fn shape(&self) -> Shape {
        Shape { limit: self.limit, flows: self.flows, quantum: self.quantum, header: self.header }
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
    queues: FlowQueues<Pie>,
    rng: Rng,
}

impl FqPie {
    /// Creates empty queues. `rng` perturbs the hash and decides which packets PIE drops or marks.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &FqPieConfig, mut rng: Rng) -> Result<FqPie, Fault> {
        config.check_all()?;
        let queues = FlowQueues::new(config.shape(), &mut rng, || Pie::new(&config.pie));
        Ok(FqPie { config: config.clone(), queues, rng })
    }
}

impl Qdisc for FqPie {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let at = self.queues.queue_of(&packet);
        let full = self.queues.backlog().packets >= self.config.limit;
        let (flow, _) = self.queues.flow(at);
        // If FQ-PIE is full, it drops the arriving packet. FQ-CoDel drops packets of the longest queue instead.
        if full {
            flow.law.dropped();
            return cx.drop(packet, DropReason::QueueFull);
        }
        let held = flow.ring.backlog();
        // The updates were due before this packet arrived, so they use the backlog without this packet.
        flow.law.catch_up(&self.config.pie, cx.now(), held);
        if flow.law.picks(&self.config.pie, packet.size(), held, &mut self.rng) {
            // RFC 8033, section 5.1: above the threshold even ECN-capable packets are dropped.
            let marks = self.config.pie.ecn && flow.law.probability() <= self.config.pie.mark_threshold;
            if !(marks && cx.mark(&mut packet, MarkReason::Early)) {
                return cx.drop(packet, DropReason::Early);
            }
        }
        self.queues.push(at, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let at = self.queues.turn()?;
            let (flow, total) = self.queues.flow(at);
            let held = flow.ring.backlog();
            let Some(given) = flow.ring.pop() else {
                self.queues.emptied(at);
                continue;
            };
            let (size, now) = (given.packet.size(), cx.now());
            flow.law.catch_up(&self.config.pie, now, held);
            flow.law.left(&self.config.pie, now, size, now - given.enqueued_at, flow.ring.backlog().bytes);
            total.remove(size);
            self.queues.pay(at, size);
            return Some(given);
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn removes(&mut self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queues.remove(waiting)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        self.queues.gauges(out);
        let highest = self.queues.flows().iter().map(|flow| flow.law.probability()).fold(0.0, f64::max);
        out("highest_drop_probability", highest);
    }
}
