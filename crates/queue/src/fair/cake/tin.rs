//! One tin: its flows, the order in which they are served, and its guaranteed rate.
//!
//! A new flow is sparse: it has priority over busy flows until it has used its quantum. The state of an empty flow is
//! kept until COBALT's state has decayed.

use super::config::CakeConfig;
use super::flow::{Flow, FlowState, List};
use super::hosts::{Hosts, Keys};
use super::tins::TinPlan;
use super::ways::{PLACES, Ways};
use crate::aqm::cobalt::{CobaltConfig, Verdict};
use crate::{Backlog, ClassStats, Framing, QueuedPacket, Waiting};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use std::collections::VecDeque;

/// Size of an Ethernet frame with an IP packet of 1,500 bytes.
const MTU: u64 = 1514;
/// Minimum quantum of a flow in bytes.
const LEAST_QUANTUM: u64 = 300;
/// Without a shaper: quantum in bytes of a tin whose share is 1.
const TIN_QUANTUM: f64 = 1024.0;

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    pub name: &'static str,
    /// Without a shaper: the tin's quantum in bytes.
    pub quantum: i64,
    /// Number of bytes that the tin may still send in its turn.
    pub deficit: i64,
    /// Time at which the tin's next packet is due at the tin's threshold rate.
    pub next: Time,
    rate: Option<BitRate>,
    /// Quantum of a flow in bytes, before the division by its host's busy flows.
    flow_quantum: u64,
    framing: Framing,
    cobalt: CobaltConfig,
    ways: Ways,
    flows: Vec<Flow>,
    sources: Hosts,
    destinations: Hosts,
    /// The sparse flows, in the order of their turns.
    new: VecDeque<usize>,
    /// Busy flows in the order of their turns, and sparse flows that became empty.
    old: VecDeque<usize>,
    /// Empty flows whose state decays. Each entry contains the value of `Flow::decays` when the flow entered the list.
    decaying: VecDeque<(usize, u32)>,
    sparse: u32,
    bulk: u32,
    stats: ClassStats,
}

impl Tin {
    pub fn new(plan: &TinPlan, config: &CakeConfig) -> Tin {
        let rate = config.bandwidth.map(|rate| BitRate::from_bps(((rate.as_bps() as f64 * plan.share) as u64).max(1)));
        Tin {
            name: plan.name,
            quantum: (TIN_QUANTUM * plan.share) as i64,
            deficit: 0,
            next: Time::ZERO,
            // Linux's cake_set_rate: the number of bytes that the rate sends in 1/4096 s, within bounds.
            flow_quantum: rate.map_or(MTU, |rate| ((rate.as_bps() / 8) >> 12).clamp(LEAST_QUANTUM, MTU)),
            cobalt: cobalt_for(rate, config.rtt),
            rate,
            framing: config.framing,
            ways: Ways::new(),
            flows: std::iter::repeat_with(Flow::default).take(PLACES).collect(),
            sources: Hosts::new(),
            destinations: Hosts::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            sparse: 0,
            bulk: 0,
            stats: ClassStats::default(),
        }
    }

    /// True if the tin has sparse or busy flows, some of which may be empty.
    pub fn has_flows(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    pub fn holds_packets(&self) -> bool {
        self.stats.backlog.packets > 0
    }

    pub fn backlog(&self) -> Backlog {
        self.stats.backlog
    }

    pub fn stats(&self) -> ClassStats {
        self.stats
    }

    pub fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    pub fn sparse_flows(&self) -> u32 {
        self.sparse
    }

    /// Enqueues a packet. `total` is the total backlog of all tins.
    pub fn enqueue(&mut self, packet: Packet, keys: Keys, total: Backlog, rng: &mut Rng, cx: &mut Cx<'_>) {
        let flows = &self.flows;
        let is_free = |place: usize| matches!(flows[place].state, FlowState::None);
        let (at, is_another) = self.ways.place(keys.flow, is_free);
        if is_another {
            self.settle_hosts(at, keys);
        }
        let flow = &mut self.flows[at];
        let size = packet.size();
        // Observers must receive the total backlog of all tins, not the backlog of this flow.
        let beside = total - flow.ring.backlog();
        cx.within_class(beside.packets, beside.bytes, |cx| flow.ring.push(packet, cx));
        self.stats.backlog.packets += 1;
        self.stats.backlog.bytes += size;
        match flow.state {
            FlowState::None | FlowState::Decaying => {
                flow.state = FlowState::Sparse;
                self.sparse += 1;
                self.new.push_back(at);
                self.flows[at].deficit = self.share_of(self.load(at), rng);
            }
            FlowState::Waiting => {
                // A packet arrived before the turn that would have removed the flow, so the flow is busy.
                self.sparse -= 1;
                self.make_busy(at);
            }
            FlowState::Sparse | FlowState::Bulk => {}
        }
    }

    /// Dequeues the next packet, and may drop and mark packets. If `first` is true, a decaying flow has the first turn,
    /// and `first` is set to false. Returns `None` if the flow at the head is empty.
    pub fn dequeue(&mut self, first: &mut bool, rng: &mut Rng, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            // As in Linux, one decaying flow has a turn in each dequeue, so that its state is cleared eventually.
            let (at, list) = self.head(std::mem::take(first))?;
            if self.flows[at].deficit > 0 || list == List::Decaying {
                let given = self.take(at, rng, cx);
                if given.is_none() {
                    self.take_head(list);
                    self.found_empty(at, cx.now());
                }
                return given;
            }
            self.take_head(list);
            self.turn_over(at);
            // As in Linux's cake_dequeue, a flow that has just become busy counts as busy for its hosts before its
            // share is computed.
            self.flows[at].deficit += self.share_of(self.load(at), rng);
            self.old.push_back(at);
        }
    }

    /// Charges the tin for a packet's bytes on the wire.
    pub fn charge(&mut self, wire: Bytes, now: Time) {
        self.deficit -= wire.get() as i64;
        if let Some(rate) = self.rate {
            let takes = rate.time_to_send(wire, 0).0;
            // Linux's cake_advance_shaper: a tin below its threshold rate keeps its credit. A tin above its threshold
            // rate accumulates a debt of at most one packet.
            self.next = if self.next < now { self.next + takes } else { self.next.max(now + takes) };
        }
    }

    /// Removes a packet from the middle of its flow's queue.
    pub fn remove(&mut self, keys: Keys, waiting: &Waiting<'_>) -> Option<Packet> {
        let packet = Ways::set(keys.flow).find_map(|place| self.flows[place].ring.remove(waiting))?;
        self.stats.backlog.remove(packet.size());
        Some(packet)
    }

    /// Returns the size in bytes and the index of the longest queue.
    pub fn longest(&self) -> Option<(u64, usize)> {
        let octets = |at: &usize| self.flows[*at].ring.backlog().bytes.get();
        let at = self.new.iter().chain(&self.old).copied().max_by_key(octets)?;
        let held = octets(&at);
        (held > 0).then_some((held, at))
    }

    /// Removes the head of a queue because there is no room.
    pub fn drop_head(&mut self, at: usize, now: Time) -> Option<QueuedPacket> {
        let flow = &mut self.flows[at];
        let victim = flow.ring.pop()?;
        // As in Linux's cake_drop, the overflow raises BLUE's probability for this flow.
        flow.cobalt.overflowed(&self.cobalt, now);
        self.count_drop(victim.packet.size());
        Some(victim)
    }

    /// Dequeues the flow's next packet, or returns `None` if the flow is empty.
    fn take(&mut self, at: usize, rng: &mut Rng, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let flow = &mut self.flows[at];
            let mut given = flow.ring.pop()?;
            let size = given.packet.size();
            let marked = cx.counters().marked_total().packets;
            let verdict = flow.cobalt.judge(&self.cobalt, &mut given, 1, rng, cx);
            self.stats.marked_packets += cx.counters().marked_total().packets - marked;
            // Never drop the last packet of a queue.
            if verdict == Verdict::Drop && flow.ring.backlog().packets > 0 {
                self.count_drop(size);
                // Continue with the next packet of the same flow.
                cx.drop(given.packet, DropReason::Early);
                continue;
            }
            // Flows share the bytes on the line, so the deficit includes framing.
            flow.deficit -= self.framing.wire_size(size).get() as i64;
            let sojourn = cx.now() - given.enqueued_at;
            self.stats.backlog.remove(size);
            self.stats.sent_packets += 1;
            self.stats.sent_bytes += size;
            self.stats.sojourn_sum += sojourn;
            self.stats.sojourn_max = self.stats.sojourn_max.max(sojourn);
            return Some(given);
        }
    }

    fn count_drop(&mut self, size: Bytes) {
        self.stats.backlog.remove(size);
        self.stats.dropped_packets += 1;
        self.stats.dropped_bytes += size;
    }

    /// Returns the flow at the head, and its list. The order is: sparse flows, busy flows, decaying flows.
    fn head(&mut self, decaying_first: bool) -> Option<(usize, List)> {
        // Remove outdated entries of flows that have become active again.
        while self.decaying.front().is_some_and(|(at, number)| !self.decays(*at, *number)) {
            self.decaying.pop_front();
        }
        let decaying = self.decaying.front().map(|(at, _)| (*at, List::Decaying));
        if decaying_first && decaying.is_some() {
            return decaying;
        }
        if let Some(at) = self.new.front() {
            return Some((*at, List::New));
        }
        self.old.front().map(|at| (*at, List::Old)).or(decaying)
    }

    /// True if this entry of the decaying list is valid.
    fn decays(&self, at: usize, number: u32) -> bool {
        self.flows[at].state == FlowState::Decaying && self.flows[at].decays == number
    }

    /// Removes the head of a list.
    fn take_head(&mut self, list: List) {
        match list {
            List::New => _ = self.new.pop_front(),
            List::Old => _ = self.old.pop_front(),
            List::Decaying => _ = self.decaying.pop_front(),
        }
    }

    /// Handles a flow that has used its quantum. A sparse flow becomes busy.
    fn turn_over(&mut self, at: usize) {
        if self.flows[at].state == FlowState::Sparse {
            if self.flows[at].ring.backlog().packets > 0 {
                self.sparse -= 1;
                self.make_busy(at);
            } else {
                self.flows[at].state = FlowState::Waiting;
            }
        }
    }

    /// Handles a flow that is found empty in its turn: it is removed, or kept while COBALT's state decays.
    fn found_empty(&mut self, at: usize, now: Time) {
        match self.flows[at].state {
            FlowState::Bulk => {
                self.bulk -= 1;
                self.set_busy(at, false);
            }
            FlowState::Sparse | FlowState::Waiting => self.sparse -= 1,
            FlowState::Decaying | FlowState::None => {}
        }
        let flow = &mut self.flows[at];
        if flow.cobalt.found_empty(&self.cobalt, now) {
            flow.state = FlowState::Decaying;
            flow.decays += 1;
            self.decaying.push_back((at, flow.decays));
            return;
        }
        flow.state = FlowState::None;
        self.release_hosts(at);
    }

    /// Makes a flow busy, and adds it to the busy flows of its hosts.
    fn make_busy(&mut self, at: usize) {
        self.flows[at].state = FlowState::Bulk;
        self.bulk += 1;
        self.set_busy(at, true);
    }

    /// Returns a flow's share of the quantum, rounded up or down at random. As in Linux, `1 / load` is a whole number of
    /// 65,536ths, rounded down. A share of a whole number of bytes is therefore sometimes 1 byte less, even without
    /// other flows.
    fn share_of(&self, load: u32, rng: &mut Rng) -> i64 {
        let part = u64::from(u32::from(u16::MAX) / load);
        ((self.flow_quantum * part + rng.below(1 << 16)) >> 16) as i64
    }

    /// Returns the number of busy flows of the source or destination host, whichever is larger.
    fn load(&self, at: usize) -> u32 {
        let flow = &self.flows[at];
        let source = flow.source.map_or(0, |host| self.sources.load(host));
        let destination = flow.destination.map_or(0, |host| self.destinations.load(host));
        source.max(destination).max(1)
    }

    /// Updates the hosts of an entry of the flow table, because the entry is assigned to another flow.
    fn settle_hosts(&mut self, at: usize, keys: Keys) {
        let is_busy = self.flows[at].state == FlowState::Bulk;
        if is_busy {
            self.set_busy(at, false);
        }
        self.release_hosts(at);
        let flow = &mut self.flows[at];
        flow.source = keys.source.map(|hash| self.sources.hold(hash));
        flow.destination = keys.destination.map(|hash| self.destinations.hold(hash));
        if is_busy {
            self.set_busy(at, true);
        }
    }

    /// Decrements the flow counters of a flow's source and destination host.
    fn release_hosts(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        if let Some(host) = flow.source.take() {
            self.sources.release(host);
        }
        if let Some(host) = flow.destination.take() {
            self.destinations.release(host);
        }
    }

    /// Adds a flow to the busy flows of its source and destination host, or removes it from them.
    fn set_busy(&mut self, at: usize, busy: bool) {
        let flow = &self.flows[at];
        if let Some(host) = flow.source {
            self.sources.set_busy(host, busy);
        }
        if let Some(host) = flow.destination {
            self.destinations.set_busy(host, busy);
        }
    }
}

/// Returns COBALT's settings for a tin with this rate (Linux's `cake_set_rate`). The target is at least the
/// transmission time of 1.5 full packets.
fn cobalt_for(rate: Option<BitRate>, rtt: Duration) -> CobaltConfig {
    let wanted = Duration::from_nanos(rtt.as_nanos() / 20);
    let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.time_to_send(Bytes::new(MTU), 0).0);
    let target = wanted.max(mtu_time * 3 / 2);
    let interval = rtt + target - wanted;
    CobaltConfig { target, interval: interval.max(target * 2), ecn: true, mtu_time, ..CobaltConfig::default() }
}

#[cfg(test)]
mod tests {
    use super::super::tins::TinMode;
    use super::*;

    /// Linux's `quantum_div` contains 65535 / load, and 16 random bits are added before the division by 65,536. The
    /// expected means are 1514 * 65535 / 65536 and 1514 * 21845 / 65536.
    #[test]
    fn a_share_is_rounded_at_random_even_without_other_flows() {
        let config = CakeConfig { tins: TinMode::Besteffort, ..CakeConfig::default() };
        let tin = Tin::new(&config.tins.plans().next().expect("one tin"), &config);
        let mut rng = Rng::for_role(1, "test");
        for (load, whole, mean) in [(1, 1513, 1513.977), (3, 504, 504.659)] {
            let shares: Vec<i64> = (0..100_000).map(|_| tin.share_of(load, &mut rng)).collect();
            assert!(shares.iter().all(|share| [whole, whole + 1].contains(share)));
            let found = shares.iter().sum::<i64>() as f64 / 1e5;
            // Four standard errors: 4 * 0.5 / sqrt(100,000).
            assert!((found - mean).abs() < 0.0064, "{found} instead of {mean}");
        }
    }
}
