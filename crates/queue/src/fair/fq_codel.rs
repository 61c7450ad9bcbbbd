//! FQ-CoDel: a queue for each flow, served by deficit round robin. CoDel controls each queue (RFC 8290;
//! tc-fq_codel(8)).
//!
//! A hash assigns flows to `flows` queues. New queues are served before old queues. A queue becomes old when it has
//! sent `quantum` bytes. If there is no room, half of the longest queue is dropped from its head, but at most
//! `drop_batch` packets.
//!
//! As in Linux, CoDel does not drop while at most `mtu` bytes wait in **all** queues.
//!
//! Not modelled: Linux's memory limit, which counts the kernel's buffers instead of packets.

use crate::aqm::codel::{self, Codel, CodelConfig, CodelSource};
use crate::fair::flow_queues::{FLOWS, FlowQueues, LIMIT, QUANTUM, Shape};
use crate::tools::ring::PacketRing;
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Rng};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// Settings of an FQ-CoDel queue, named as in tc-fq_codel(8).
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodelConfig {
    /// Maximum number of packets in all queues together.
    pub limit: u32,
    /// Number of queues. A hash assigns flows to queues.
    pub flows: u32,
    /// Number of bytes that a queue may send per turn, including link headers.
    pub quantum: Bytes,
    /// Maximum number of packets that are dropped from the longest queue at once.
    pub drop_batch: u32,
    /// Parameters of CoDel.
    pub codel: CodelConfig,
    /// Size of the link header that is counted with each IP packet, in bytes; 14 on Ethernet.
    pub header: Bytes,
}

impl Default for FqCodelConfig {
    /// Linux's defaults for an Ethernet device.
    fn default() -> FqCodelConfig {
        FqCodelConfig {
            limit: 10_240,
            flows: 1024,
            quantum: Bytes::new(1514),
            drop_batch: 64,
            codel: CodelConfig { ecn: true, ..CodelConfig::default() },
            header: Bytes::ZERO,
        }
    }
}

impl Part for FqCodelConfig {
    const NAME: &'static str = "fq_codel";
    const TEXT: &'static str = "FQ-CoDel (RFC 8290): a queue for each flow, served in turn, each under CoDel.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<FqCodelConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, LIMIT).typed(ValueType::Packets),
        key("flows", |part: &mut Self| &mut part.flows, FLOWS),
        key("quantum", |part: &mut Self| &mut part.quantum, QUANTUM),
        key(
            "drop_batch",
            |part: &mut Self| &mut part.drop_batch,
            "If the limit is exceeded, at most this number of packets is dropped at once, from the queue with the most bytes.",
        ),
        key("target", |part: &mut Self| &mut part.codel.target, codel::TARGET),
        key("interval", |part: &mut Self| &mut part.codel.interval, codel::INTERVAL),
        key("ecn", |part: &mut Self| &mut part.codel.ecn, codel::ECN),
        key("ce_threshold", |part: &mut Self| &mut part.codel.ce_threshold, codel::CE_THRESHOLD).none_word("off"),
        key("mtu", |part: &mut Self| &mut part.codel.mtu, codel::MTU),
        key("header", |part: &mut Self| &mut part.header, codel::HEADER),
    ];

    fn check(&self) -> Result<(), Fault> {
        self.shape().check()?;
        self.codel.check()
    }
}

impl FqCodelConfig {
    fn shape(&self) -> Shape {
        Shape { limit: self.limit, flows: self.flows, quantum: self.quantum, header: self.header }
    }
}

impl Discipline for FqCodelConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(FqCodel::new(self, place.rng())?)))
    }
}

/// FQ-CoDel: the queues of all flows.
#[derive(Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    queues: FlowQueues<Codel>,
}

/// The view of one flow's queue that CoDel uses to dequeue.
struct Source<'a> {
    ring: &'a mut PacketRing,
    total: &'a mut Backlog,
    header: Bytes,
}

impl CodelSource for Source<'_> {
    fn pop(&mut self) -> Option<QueuedPacket> {
        let taken = self.ring.pop()?;
        self.total.remove(taken.packet.size());
        Some(taken)
    }

    fn waiting(&self) -> Bytes {
        self.total.with_headers(self.header)
    }
}

impl FqCodel {
    /// Creates empty queues. `rng` perturbs the flow hash.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &FqCodelConfig, mut rng: Rng) -> Result<FqCodel, Fault> {
        config.check_all()?;
        let queues = FlowQueues::new(config.shape(), &mut rng, Codel::default);
        Ok(FqCodel { config: config.clone(), queues })
    }

    /// Makes room: drops packets from the head of the queue that contains the most bytes.
    #[cold]
    fn drop_from_fattest(&mut self, cx: &mut Cx<'_>) {
        let Some((fattest, held)) = self.queues.fattest() else { return };
        // As in Linux's fq_codel_drop, packets are dropped in batches, because each search for the longest queue is
        // slow.
        let half = held.get() / 2;
        let (flow, total) = self.queues.flow(fattest);
        let mut dropped = (0, 0);
        while let Some(victim) = flow.ring.pop() {
            let size = victim.packet.size();
            total.remove(size);
            cx.drop(victim.packet, DropReason::QueueFull);
            dropped = (dropped.0 + 1, dropped.1 + (size + self.config.header).get());
            if dropped.0 >= self.config.drop_batch.max(1) || dropped.1 >= half {
                break;
            }
        }
        // As in Linux's fq_codel_drop, the overflow drops increase CoDel's count, so that the flow's control law drops
        // more often.
        flow.law.add_drops(dropped.0);
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let at = self.queues.queue_of(&packet);
        self.queues.push(at, packet, cx);
        // RFC 8290, section 4.1: enqueue the packet first. Then drop packets of the longest queue, which is not
        // necessarily the queue of this packet.
        if self.queues.backlog().packets > self.config.limit {
            self.drop_from_fattest(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let at = self.queues.turn()?;
            let (flow, total) = self.queues.flow(at);
            let mut source = Source { ring: &mut flow.ring, total, header: self.config.header };
            if let Some(given) = flow.law.dequeue(&self.config.codel, &mut source, cx) {
                self.queues.pay(at, given.packet.size());
                return Some(given);
            }
            self.queues.emptied(at);
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
    }
}
