//! Weighted fair queueing by flow: the packet with the earliest finish time is sent next (Demers, Keshav and Shenker,
//! Analysis and Simulation of a Fair Queueing Algorithm, 1989; virtual time as in Golestani 1994; Cisco IOS's
//! `fair-queue`).
//!
//! A hash assigns flows to queues. The finish time of a packet is its start time plus its size divided by its weight.
//! The start time is the finish time of the flow's previous packet or of the packet that was served last, whichever is
//! later. The weight is the IP precedence plus 1 (RFC 791; the upper 3 bits of the DSCP).
//!
//! All flows share one buffer, as in IOS. If the buffer contains `limit` packets, arriving packets are dropped. If a
//! flow has `threshold` packets, each further packet of the flow causes a drop. The queued packet with the latest
//! finish time is dropped if it belongs to another flow and finishes after the arriving packet. Otherwise the arriving
//! packet is dropped.
//!
//! Not modelled: the reservation of queues by RSVP.

use crate::bounds;
use crate::fair::flow_hash::{FlowHash, queue_of};
use crate::{Backlog, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Rng};
use lopsided_spec::{Fault, Key, Part, ValueType, key};
use std::collections::{BTreeSet, VecDeque};

/// Settings of weighted fair queueing.
#[derive(Clone, Debug, PartialEq)]
pub struct WfqConfig {
    /// Maximum number of packets in all queues.
    pub limit: u32,
    /// If a flow has this number of queued packets, each further packet of the flow causes a drop.
    pub threshold: u32,
    /// Number of queues. A hash assigns flows to queues.
    pub flows: u32,
}

impl Default for WfqConfig {
    /// IOS's defaults for a fast line.
    fn default() -> WfqConfig {
        WfqConfig { limit: 1000, threshold: 64, flows: 256 }
    }
}

impl Part for WfqConfig {
    const NAME: &'static str = "wfq";
    const TEXT: &'static str = "Weighted fair queueing by flow and IP precedence, as in Cisco's routers.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<WfqConfig>] = &[
        key("limit", |wfq: &mut Self| &mut wfq.limit, "Maximum number of packets in all queues together.")
            .typed(ValueType::Packets),
        key(
            "threshold",
            |wfq: &mut Self| &mut wfq.threshold,
            "Congestive discard threshold: if a flow has this many packets, the packet with the latest finish \
             time is dropped.",
        )
        .typed(ValueType::Packets),
        key("flows", |wfq: &mut Self| &mut wfq.flows, "Number of queues. A hash assigns each flow to a queue."),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (name, count) in [("limit", self.limit), ("threshold", self.threshold)] {
            bounds::limit(name, u64::from(count))?;
        }
        bounds::flows(self.flows)
    }
}

impl Discipline for WfqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Wfq::new(self, place.rng())?)))
    }
}

/// Virtual time of one byte at precedence 0: divisible by each weight from 1 to 8.
const OCTET: u64 = 840;

/// Weighted fair queueing: the queues of all flows.
#[derive(Debug)]
pub struct Wfq {
    config: WfqConfig,
    hash: FlowHash,
    flows: Vec<Flow>,
    /// Finish time of each flow's oldest packet, and the flow's number.
    heads: BTreeSet<(u64, u32)>,
    /// Finish time of each flow's newest packet, and the flow's number.
    tails: BTreeSet<(u64, u32)>,
    /// Virtual time: the finish time of the packet that was served last.
    clock: u64,
    backlog: Backlog,
}

/// The queue of one flow.
#[derive(Debug, Default)]
struct Flow {
    /// The queued packets with their finish times.
    packets: VecDeque<(u64, QueuedPacket)>,
    /// Finish time of the flow's newest packet, even if this packet has been sent.
    last_finish: u64,
}

impl Wfq {
    /// Creates empty queues. `rng` perturbs the flow hash.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &WfqConfig, mut rng: Rng) -> Result<Wfq, Fault> {
        config.check_all()?;
        Ok(Wfq {
            config: config.clone(),
            hash: FlowHash::new(&mut rng),
            flows: std::iter::repeat_with(Flow::default).take(config.flows as usize).collect(),
            heads: BTreeSet::new(),
            tails: BTreeSet::new(),
            clock: 0,
            backlog: Backlog::default(),
        })
    }

    /// Drops the queued packet with the latest finish time, unless this time is before `finish` or the packet belongs
    /// to `flow`. Returns true if a packet was dropped.
    fn drop_later_than(&mut self, finish: u64, flow: u32, cx: &mut Cx<'_>) -> bool {
        let Some(&(latest, other)) = self.tails.last() else { return false };
        // The arriving packet finishes last, or the queued packet that finishes last belongs to the same flow. In both
        // cases the caller drops the arriving packet.
        if latest <= finish || other == flow {
            return false;
        }
        let packets = &mut self.flows[other as usize].packets;
        let (_, victim) = packets.pop_back().expect("a flow with a tail has packets");
        self.tails.pop_last();
        match packets.back() {
            Some((finish, _)) => self.tails.insert((*finish, other)),
            None => self.heads.remove(&(latest, other)),
        };
        // The next packet of the flow can start when the dropped packet would have started.
        self.flows[other as usize].last_finish = packets_end(&self.flows[other as usize], self.clock);
        self.backlog.remove(victim.packet.size());
        cx.drop(victim.packet, DropReason::QueueFull);
        true
    }
}

/// Returns the earliest start time of a flow's next packet.
fn packets_end(flow: &Flow, clock: u64) -> u64 {
    flow.packets.back().map_or(clock, |(finish, _)| *finish)
}

impl Qdisc for Wfq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.backlog.packets >= self.config.limit {
            return cx.drop(packet, DropReason::QueueFull);
        }
        let at = queue_of(self.hash.flow(&packet), self.flows.len());
        // RFC 791: the precedence is the upper 3 bits of the DSCP.
        let weight = u64::from(packet.dscp() >> 3) + 1;
        let finish = self.flows[at].last_finish.max(self.clock) + packet.size().get() * OCTET / weight;
        let is_long = self.flows[at].packets.len() >= self.config.threshold as usize;
        // IOS's congestive discard threshold: if the flow's queue is long, an arrival causes a drop of the packet with
        // the latest finish time.
        if is_long && !self.drop_later_than(finish, at as u32, cx) {
            return cx.drop(packet, DropReason::QueueFull);
        }
        let flow = &mut self.flows[at];
        match flow.packets.back() {
            Some((last, _)) => _ = self.tails.remove(&(*last, at as u32)),
            None => _ = self.heads.insert((finish, at as u32)),
        }
        self.tails.insert((finish, at as u32));
        flow.last_finish = finish;
        self.backlog.add(&packet, packet.size(), cx);
        flow.packets.push_back((finish, QueuedPacket { packet, enqueued_at: cx.now() }));
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let (finish, at) = self.heads.pop_first()?;
        let packets = &mut self.flows[at as usize].packets;
        let (_, given) = packets.pop_front()?;
        match packets.front() {
            Some((next, _)) => _ = self.heads.insert((*next, at)),
            None => _ = self.tails.remove(&(finish, at)),
        }
        // Golestani 1994: the virtual time is the finish time of the packet in service.
        self.clock = finish;
        self.backlog.remove(given.packet.size());
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        let (_, at) = self.heads.first()?;
        self.flows[*at as usize].packets.front().map(|(_, head)| head.packet.size())
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("active_flows", self.heads.len() as f64);
    }
}
