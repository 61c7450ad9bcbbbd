//! BDP: a queue for each flow, limited to the flow's own bandwidth-delay product, without parameters (Havey 2015,
//! chapter 6).
//!
//! `RTT_Measured` is a flow's whole round trip, from TCP timestamps (the module `passive_rtt`). `RTT_Bloat` is the
//! round trip of the link with all its queues, from sensing packets (the module `sensing`).
//!
//! - Packets of the flow are marked or dropped while `RTT_Bloat > max(RTT_Measured / 10, 25 ms)` (eq 6.3).
//! - The first packet is marked or dropped at once. The interval between marks or drops is `RTT_Measured * RTT_Measured
//!   / RTT_Bloat` (eqs 6.4 and 6.5).
//!
//! **Interpretations.** Eq 6.3 is printed with `min`, but the text implies `max`. The key `bound` selects one of them.
//! The key `base_delay` selects whether `RTT_Bloat` includes the link's own delay. "IP flow ID" means protocol and
//! ports. The queues are served by deficit round robin with a quantum of one full Ethernet frame. For flows without
//! timestamps, `RTT_Measured` is the round trip of the link. Packets are dropped when they leave their queue.

use crate::aqm::passive_rtt::PassiveRtt;
use crate::bounds;
use crate::fair::flow_hash::{FlowHash, queue_of};
use crate::tools::ring::PacketRing;
use crate::tools::sensing::{self, Estimate, Sensor, SinceSensed};
use crate::{
    Backlog, BaseDelay, Discipline, FarEnd, Qdisc, Queue, QueuePlace, QueuedPacket, Sensing, Smoothing, Waiting,
    is_sensing,
};
use lopsided_core::{Cx, DropReason, Duration, MarkReason, NewPacket, Packet, Rng, Time};
use lopsided_spec::{Choice, Fault, Key, Part, ValueType, key};
use std::collections::VecDeque;

/// Settings of BDP.
#[derive(Clone, Debug, PartialEq)]
pub struct BdpConfig {
    /// Maximum number of packets in all queues together.
    pub limit: u32,
    /// Number of queues. Flows are assigned to queues by a hash.
    pub flows: u32,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The far end, which sends sensing packets back.
    pub far_end: FarEnd,
    /// Selects whether the delay samples include the base delay, which is the delay of the link without queues.
    pub base_delay: BaseDelay,
    /// Selects the larger or the smaller bound of eq 6.3.
    pub bound: BdpBound,
    /// The formula that smooths delay samples.
    pub smoothing: Smoothing,
}

impl Default for BdpConfig {
    /// The limits are the defaults of FQ-CoDel, because the dissertation states no limits.
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

/// Selects which of the two bounds of eq 6.3 applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BdpBound {
    /// The larger bound, as in the text.
    Max,
    /// The smaller bound, as in the printed equation.
    Min,
}

impl Choice for BdpBound {
    const WORDS: &'static [(&'static str, BdpBound)] = &[("max", BdpBound::Max), ("min", BdpBound::Min)];
}

impl BdpBound {
    /// Returns the longest acceptable round trip of the link, for a flow whose whole round trip takes `measured`.
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
    const TEXT: &'static str = "BDP (Havey 2015): a queue for each flow, whose length is computed from the round-trip times of the flow and of the link.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<BdpConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Maximum number of packets in all queues together.")
            .typed(ValueType::Packets),
        key("flows", |part: &mut Self| &mut part.flows, "Number of queues. A hash assigns each flow to a queue."),
        key("ecn", |part: &mut Self| &mut part.ecn, crate::aqm::codel::ECN),
        key("far_end", |part: &mut Self| &mut part.far_end, sensing::FAR_END),
        key("base_delay", |part: &mut Self| &mut part.base_delay, sensing::BASE_DELAY),
        key(
            "bound",
            |part: &mut Self| &mut part.bound,
            "Acceptable round-trip delay of the link for a flow: the larger (max) or the smaller (min) of 25 ms and 10 % of the flow's round-trip time. Equation 6.3 of the dissertation uses the smaller value.",
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

/// Quantum of the deficit round robin: the bytes of a full Ethernet frame.
const QUANTUM: i64 = 1514;

/// The BDP discipline: one queue for each flow, and the sensor that measures the link.
#[derive(Debug)]
pub struct Bdp {
    config: BdpConfig,
    hash: FlowHash,
    flows: Vec<Flow>,
    /// The non-empty queues, in the order in which they are served.
    turn: VecDeque<u32>,
    total: Backlog,
    sensor: Sensor,
}

/// The queue and the measurements of one flow.
#[derive(Debug, Default)]
struct Flow {
    /// Hash of the flow that used this queue last.
    hash: u64,
    ring: PacketRing,
    /// Deficit: bytes that the queue may still send in this round.
    deficit: i64,
    /// True if the queue is in `turn`.
    listed: bool,
    since_sensed: SinceSensed,
    /// The whole round trip (`RTT_Measured`).
    measured: PassiveRtt,
    /// The round trip of the link (`RTT_Bloat`).
    bloat: Estimate,
    /// Time of the next mark or drop. `None` while no packets are dropped.
    next_drop: Option<Time>,
}

impl Flow {
    /// Returns true if the departing packet must be marked or dropped, and sets the time of the next mark or drop.
    fn is_due(&mut self, bound: BdpBound, now: Time) -> bool {
        let bloat = self.bloat.get(now).unwrap_or_default();
        // Without timestamps the whole round trip is unknown. It cannot be shorter than the round trip of the link.
        let measured = self.measured.get(now).unwrap_or_default().max(bloat);
        // Havey 2015, equation 6.3: no packet is dropped while the link's RTT is within the bound.
        if bloat <= bound.of(measured) {
            self.next_drop = None;
            return false;
        }
        if self.next_drop.is_some_and(|next| now < next) {
            return false;
        }
        // Havey 2015, equations 6.4 and 6.5: interval until the next drop.
        let square = u128::from(measured.as_nanos()) * u128::from(measured.as_nanos());
        let spacing = square / u128::from(bloat.as_nanos().max(1));
        self.next_drop = Some(now + Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX / 4)));
        true
    }
}

impl Bdp {
    /// Creates empty queues. `rng` perturbs the flow hash.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &BdpConfig, mut rng: Rng) -> Result<Bdp, Fault> {
        config.check_all()?;
        Ok(Bdp {
            config: config.clone(),
            hash: FlowHash::new(&mut rng),
            flows: std::iter::repeat_with(Flow::default).take(config.flows as usize).collect(),
            turn: VecDeque::new(),
            total: Backlog::default(),
            sensor: Sensor::new(config.base_delay),
        })
    }

    /// Drops the oldest packet of the longest queue to make room.
    #[cold]
    fn drop_from_longest(&mut self, cx: &mut Cx<'_>) {
        let length = |at: u32| self.flows[at as usize].ring.backlog().bytes;
        let Some(longest) = self.turn.iter().copied().max_by_key(|at| (length(*at), u32::MAX - at)) else { return };
        if let Some(victim) = self.flows[longest as usize].ring.pop() {
            self.total.remove(victim.packet.size());
            cx.drop(victim.packet, DropReason::QueueFull);
        }
    }

    /// Appends a packet to a queue. If the total then exceeds the limit, drops a packet of the longest queue.
    fn push(&mut self, at: usize, packet: Packet, cx: &mut Cx<'_>) {
        let flow = &mut self.flows[at];
        // Observers must receive the total backlog of all queues, not the backlog of this queue.
        let beside = self.total - flow.ring.backlog();
        cx.within_class(beside.packets, beside.bytes, |cx| flow.ring.push(packet, cx));
        self.total = beside + flow.ring.backlog();
        if !flow.listed {
            (flow.listed, flow.deficit) = (true, QUANTUM);
            self.turn.push_back(at as u32);
        }
        // As in FQ-CoDel, enqueue the packet before the longest queue is determined, because the packet's own queue may
        // be the longest.
        if self.total.packets > self.config.limit {
            self.drop_from_longest(cx);
        }
    }
}

impl Qdisc for Bdp {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let now = cx.now();
        // A sensing packet must wait in the queue of the flow that it measures.
        if let Some(owner) = self.sensor.owner(&packet) {
            return self.push(owner as usize, packet, cx);
        }
        let hash = self.hash.flow(&packet);
        let at = queue_of(hash, self.flows.len());
        let flow = &mut self.flows[at];
        // If another flow used this queue before and the queue is empty, the measurements start again for the new flow.
        // If the queue still has packets, both flows share the measurements of the earlier flow.
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
            // Never drop a sensing packet, because the queue needs its delay sample.
            let due = !is_sensing(&given.packet) && flow.is_due(self.config.bound, cx.now());
            if due && !(self.config.ecn && cx.mark(&mut given.packet, MarkReason::Early)) {
                cx.drop(given.packet, DropReason::Early);
                continue;
            }
            // Only packets that are sent reduce the deficit.
            flow.deficit -= size.get() as i64;
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

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        Some(self)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("active_flows", self.turn.len() as f64);
        out("dropping_flows", self.flows.iter().filter(|flow| flow.next_drop.is_some()).count() as f64);
        self.sensor.gauges(out);
    }
}

impl Sensing for Bdp {
    fn far_end(&mut self) -> FarEnd {
        self.config.far_end
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        if let Some((owner, sample)) = self.sensor.come_home(packet, now) {
            self.flows[owner as usize].bloat.update(sample, self.config.smoothing, now);
            return true;
        }
        // A reverse packet has the addresses and ports of its flow, swapped.
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
}
