//! BDP: a queue for each flow, kept to the flow's own bandwidth-delay product without parameters (Havey 2015 chapter
//! 6).
//!
//! Two round trips are known of each flow: `RTT_Measured`, the whole one, from the TCP timestamps that pass (the module
//! `passive_rtt`), and `RTT_Bloat`, that of the link with all its queues, from sensing packets in the flow's own queue
//! (the module `sensing`). Then
//!
//! - packets of the flow are marked or dropped while `RTT_Bloat > max(RTT_Measured / 10, 25 ms)` (eq 6.3),
//! - the first at once, and each next one after `RTT_Measured * RTT_Measured / RTT_Bloat` (eqs 6.4 and 6.5): never more
//!   than one a round trip, and the more of them the larger the share of the link in the round trip.
//!
//! **Readings.** Eq 6.3 is printed with `min`; the text calls 25 ms the shortest queue, which is `max` (the key `bound`
//! has both). `RTT_Bloat` as it is measured has the link's own delay in it, which no queue can mend (the key
//! `base_delay`). When the first packet is dropped is not said. "IP flow ID" is taken for protocol and ports. In which
//! order the queues are served is not said: here by deficit round robin, a full Ethernet frame each. Where a round trip
//! is not known from timestamps, it is at least that of the link, and is taken for that. Packets are dropped as they
//! leave their queue.

use crate::bounds;
use crate::flow_hash::{FlowHash, queue_of};
use crate::passive_rtt::PassiveRtt;
use crate::ring::PacketRing;
use crate::sensing::{self, Estimate, Sensor, SinceSensed};
use crate::{
    Backlog, BaseDelay, Discipline, FarEnd, Qdisc, Queue, QueuePlace, QueuedPacket, Smoothing, Waiting, is_sensing,
};
use lopsided_core::{Cx, DropReason, Duration, MarkReason, NewPacket, Packet, Rng, Time};
use lopsided_spec::{Choice, Fault, Key, Part, ValueType, key};
use std::collections::VecDeque;

/// BDP as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct BdpConfig {
    pub limit: u32,
    pub flows: u32,
    pub ecn: bool,
    pub far_end: FarEnd,
    pub base_delay: BaseDelay,
    pub bound: BdpBound,
    pub smoothing: Smoothing,
}

impl Default for BdpConfig {
    /// The dissertation names no bounds; these are FQ-CoDel's.
    fn default() -> BdpConfig {
        BdpConfig {
            limit: 10_240,
            flows: 1024,
            ecn: true,
            far_end: FarEnd::Link,
            base_delay: BaseDelay::Subtract,
            bound: BdpBound::Max,
            smoothing: Smoothing::Rfc6298,
        }
    }
}

/// How the two bounds of eq 6.3 make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BdpBound {
    /// As the text says.
    Max,
    /// As the equation is printed.
    Min,
}

impl Choice for BdpBound {
    const WORDS: &'static [(&'static str, BdpBound)] = &[("max", BdpBound::Max), ("min", BdpBound::Min)];
}

impl BdpBound {
    /// The part of an RTT that the link may take.
    fn of(self, measured: Duration) -> Duration {
        let (share, least) = (measured / 10, Duration::from_millis(25));
        match self {
            BdpBound::Max => share.max(least),
            BdpBound::Min => share.min(least),
        }
    }
}

impl Part for BdpConfig {
    const NAME: &'static str = "bdp";
    const TEXT: &'static str = "BDP (Havey 2015): a queue for each flow, whose length follows from the flow's own round trip and that of the link.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<BdpConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Packets in all queues.").typed(ValueType::Packets),
        key("flows", |part: &mut Self| &mut part.flows, "Queues that flows are hashed to."),
        key("ecn", |part: &mut Self| &mut part.ecn, crate::codel::ECN),
        key("far_end", |part: &mut Self| &mut part.far_end, sensing::FAR_END),
        key("base_delay", |part: &mut Self| &mut part.base_delay, sensing::BASE_DELAY),
        key(
            "bound",
            |part: &mut Self| &mut part.bound,
            "What the link may take of a round trip: of a tenth and 25 ms the longer (max), or, as eq 6.3 is printed, the shorter (min).",
        ),
        key("smoothing", |part: &mut Self| &mut part.smoothing, sensing::SMOOTHING),
    ];

    fn check(&self) -> Result<(), Fault> {
        bounds::limit("limit", u64::from(self.limit))?;
        bounds::flows(self.flows)
    }
}

impl Discipline for BdpConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Bdp::new(self, place.rng())?)))
    }
}

/// Bytes that a queue may send in its turn: a full Ethernet frame.
const QUANTUM: i64 = 1514;

/// Queues under BDP.
#[derive(Debug)]
pub struct Bdp {
    config: BdpConfig,
    hash: FlowHash,
    flows: Vec<Flow>,
    /// Queues with packets, in the order in which they are served.
    turn: VecDeque<u32>,
    total: Backlog,
    sensor: Sensor,
}

#[derive(Debug, Default)]
struct Flow {
    /// Hash of the last flow that used this slot.
    hash: u64,
    ring: PacketRing,
    deficit: i64,
    listed: bool,
    since_sensed: SinceSensed,
    measured: PassiveRtt,
    bloat: Estimate,
    /// While packets are dropped: when the next one is.
    next_drop: Option<Time>,
}

impl Flow {
    /// True if the departing packet must be marked or dropped.
    fn is_due(&mut self, bound: BdpBound, now: Time) -> bool {
        let bloat = self.bloat.get(now).unwrap_or_default();
        let measured = self.measured.get(now).unwrap_or_default().max(bloat);
        if bloat <= bound.of(measured) {
            self.next_drop = None;
            return false;
        }
        if self.next_drop.is_some_and(|next| now < next) {
            return false;
        }
        let square = u128::from(measured.as_nanos()) * u128::from(measured.as_nanos());
        let spacing = square / u128::from(bloat.as_nanos().max(1));
        self.next_drop = Some(now + Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX / 4)));
        true
    }
}

impl Bdp {
    /// `rng` is this queue's own stream: it perturbs the hash.
    pub fn new(config: &BdpConfig, mut rng: Rng) -> Result<Bdp, Fault> {
        config.check()?;
        Ok(Bdp {
            config: config.clone(),
            hash: FlowHash::new(&mut rng),
            flows: std::iter::repeat_with(Flow::default).take(config.flows as usize).collect(),
            turn: VecDeque::new(),
            total: Backlog::default(),
            sensor: Sensor::new(config.base_delay),
        })
    }

    /// Makes room: drops the oldest packet of the longest queue.
    #[cold]
    fn drop_from_longest(&mut self, cx: &mut Cx<'_>) {
        let length = |at: u32| self.flows[at as usize].ring.backlog().bytes;
        let Some(longest) = self.turn.iter().copied().max_by_key(|at| (length(*at), u32::MAX - at)) else { return };
        if let Some(victim) = self.flows[longest as usize].ring.pop() {
            self.total.remove(victim.packet.size());
            cx.drop(victim.packet, DropReason::QueueFull);
        }
    }

    /// Appends the packet to its flow's queue.
    fn push(&mut self, at: usize, packet: Packet, cx: &mut Cx<'_>) {
        let flow = &mut self.flows[at];
        let beside = self.total - flow.ring.backlog();
        cx.within_class(beside.packets, beside.bytes, |cx| flow.ring.push(packet, cx));
        self.total = beside + flow.ring.backlog();
        if !flow.listed {
            (flow.listed, flow.deficit) = (true, QUANTUM);
            self.turn.push_back(at as u32);
        }
        if self.total.packets > self.config.limit {
            self.drop_from_longest(cx);
        }
    }
}

impl Qdisc for Bdp {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let now = cx.now();
        if let Some(owner) = self.sensor.owner(&packet) {
            return self.push(owner as usize, packet, cx);
        }
        let hash = self.hash.flow(&packet);
        let at = queue_of(hash, self.flows.len());
        let flow = &mut self.flows[at];
        if flow.hash != hash && flow.ring.backlog().packets == 0 {
            *flow = Flow { hash, listed: flow.listed, deficit: flow.deficit, ..Flow::default() };
        }
        if flow.hash == hash {
            flow.measured.forward(&packet, self.config.smoothing, now);
        }
        self.sensor.follow(&packet, &mut flow.since_sensed, at as u32, now);
        self.push(at, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let at = *self.turn.front()?;
            let flow = &mut self.flows[at as usize];
            if flow.deficit <= 0 {
                flow.deficit += QUANTUM;
                self.turn.rotate_left(1);
                continue;
            }
            let Some(mut given) = flow.ring.pop() else {
                flow.listed = false;
                self.turn.pop_front();
                continue;
            };
            let size = given.packet.size();
            self.total.remove(size);
            let due = !is_sensing(&given.packet) && flow.is_due(self.config.bound, cx.now());
            if due && !(self.config.ecn && cx.mark(&mut given.packet, MarkReason::Early)) {
                cx.drop(given.packet, DropReason::Early);
                continue;
            }
            flow.deficit -= size.get() as i64;
            return Some(given);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let at = queue_of(self.hash.flow(waiting.like), self.flows.len());
        let packet = self.flows[at].ring.remove(waiting)?;
        self.total.remove(packet.size());
        Some(packet)
    }

    fn senses(&self) -> Option<FarEnd> {
        Some(self.config.far_end)
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        if let Some((owner, sample)) = self.sensor.come_home(packet, now) {
            self.flows[owner as usize].bloat.update(sample, self.config.smoothing, now);
            return true;
        }
        let hash = self.hash.opposite_flow(packet);
        let flow = &mut self.flows[queue_of(hash, self.config.flows as usize)];
        if flow.hash == hash {
            flow.measured.reverse(packet, self.config.smoothing, now);
        }
        false
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.sensor.take_made()
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("active_flows", self.turn.len() as f64);
        out("dropping_flows", self.flows.iter().filter(|flow| flow.next_drop.is_some()).count() as f64);
        self.sensor.gauges(out);
    }
}
