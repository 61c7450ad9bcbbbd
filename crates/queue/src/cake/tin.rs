//! One tin: its flows, their turns, and its guaranteed rate.
//!
//! A flow with its first packet is sparse and precedes the busy flows until it has used its quantum. Then it is busy
//! and counts for its hosts. An empty flow is kept while COBALT's state decays.

use super::config::CakeConfig;
use super::hosts::{Hosts, Keys};
use super::rests::Rests;
use super::tins::TinPlan;
use super::ways::{PLACES, Ways};
use crate::cobalt::{Cobalt, CobaltConfig, Verdict};
use crate::ring::PacketRing;
use crate::{Backlog, ClassStats, Framing, QueuedPacket, Waiting};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use std::collections::VecDeque;

/// An Ethernet frame with 1,500 bytes of IP.
const MTU: u64 = 1514;
const LEAST_QUANTUM: u64 = 300;
const TIN_QUANTUM: f64 = 1024.0;

/// A flow that owes more rounds than this rests.
const PATIENCE: i64 = 16;
/// If a host has more busy flows than this, a flow that owes a round rests.
const MANY: u32 = 16;

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Standing {
    /// Nowhere.
    #[default]
    None,
    /// Among the new flows.
    Sparse,
    /// Empty as a sparse flow: passes once through the busy flows.
    Waiting,
    Bulk,
    /// Empty; COBALT's state fades.
    Decaying,
}

/// The lists that a flow can be at the head of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    New,
    Old,
    Decaying,
}

#[derive(Debug, Default)]
struct Flow {
    ring: PacketRing,
    cobalt: Cobalt,
    standing: Standing,
    deficit: i64,
    /// True if the flow is in `Tin::rests`; and the service of its hosts when it began to rest.
    rests: bool,
    paid: (f64, f64),
    source: Option<usize>,
    destination: Option<usize>,
    /// How often the flow was put on the decaying list: an entry there is valid if it has this number.
    decays: u32,
}

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    pub name: &'static str,
    pub quantum: i64,
    pub deficit: i64,
    /// When the tin's next packet is due by its threshold.
    pub next: Time,
    rate: Option<BitRate>,
    flow_quantum: u64,
    framing: Framing,
    cobalt: CobaltConfig,
    ways: Ways,
    flows: Vec<Flow>,
    sources: Hosts,
    destinations: Hosts,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Number of `old` flows that have not had their turn in this round.
    left_in_round: usize,
    rests: Rests,
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
            left_in_round: 0,
            rests: Rests::default(),
            decaying: VecDeque::new(),
            sparse: 0,
            bulk: 0,
            stats: ClassStats::default(),
        }
    }

    /// True if a flow, even an empty one, is in the rounds: only its turn reveals that it is empty.
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

    /// Enqueues a packet; `total` is the backlog of all tins.
    pub fn enqueue(&mut self, packet: Packet, keys: Keys, total: Backlog, rng: &mut Rng, cx: &mut Cx<'_>) {
        let flows = &self.flows;
        let is_free = |place: usize| matches!(flows[place].standing, Standing::None);
        let (at, is_another) = self.ways.place(keys.flow, is_free);
        if is_another {
            self.settle_hosts(at, keys, rng);
        }
        let flow = &mut self.flows[at];
        let size = packet.size();
        let beside = total - flow.ring.backlog();
        cx.within_class(beside.packets, beside.bytes, |cx| flow.ring.push(packet, cx));
        self.stats.backlog.packets += 1;
        self.stats.backlog.bytes += size;
        match flow.standing {
            Standing::None | Standing::Decaying => {
                flow.standing = Standing::Sparse;
                self.sparse += 1;
                self.new.push_back(at);
                self.flows[at].deficit = self.share_of(self.load(at), rng);
            }
            Standing::Waiting => {
                self.sparse -= 1;
                self.make_busy(at, rng);
            }
            Standing::Sparse | Standing::Bulk => {}
        }
    }

    /// Returns the next packet. It may drop and mark packets, and returns `None` if a flow turns out to be empty. At
    /// the `first` attempt a decaying flow has a turn before the others.
    pub fn dequeue(&mut self, first: &mut bool, rng: &mut Rng, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let (at, list) = self.head(std::mem::take(first), rng)?;
            if self.flows[at].deficit > 0 || list == List::Decaying {
                let given = self.take(at, rng, cx);
                if given.is_none() {
                    self.take_head(list);
                    self.found_empty(at, cx.now(), rng);
                }
                return given;
            }
            self.take_head(list);
            self.turn_over(at, rng);
            // A flow that has just become busy counts for its hosts before its share is computed, as in Linux.
            let load = self.load(at);
            let share = self.share_of(load, rng);
            let flow = &mut self.flows[at];
            flow.deficit += share;
            let patience = if load > MANY { 1 } else { PATIENCE };
            if -flow.deficit * i64::from(load) > patience * self.flow_quantum as i64 {
                self.rest(at, load);
            } else {
                self.old.push_back(at);
            }
        }
    }

    /// Charges the tin for a packet's bytes on the line.
    pub fn charge(&mut self, wire: Bytes, now: Time) {
        self.deficit -= wire.get() as i64;
        if let Some(rate) = self.rate {
            let takes = rate.time_to_send(wire, 0).0;
            self.next = if self.next < now { self.next + takes } else { self.next.max(now + takes) };
        }
    }

    /// Removes a packet from its flow's queue, at any place.
    pub fn remove(&mut self, keys: Keys, waiting: &Waiting<'_>) -> Option<Packet> {
        let packet = Ways::set(keys.flow).find_map(|place| self.flows[place].ring.remove(waiting))?;
        self.stats.backlog.remove(packet.size());
        Some(packet)
    }

    /// Bytes and index of the longest queue.
    pub fn longest(&self) -> Option<(u64, usize)> {
        let octets = |at: &usize| self.flows[*at].ring.backlog().bytes.get();
        let waiting = self.new.iter().chain(&self.old).copied().chain(self.rests.flows());
        let at = waiting.max_by_key(octets)?;
        let held = octets(&at);
        (held > 0).then_some((held, at))
    }

    /// Takes the head of a queue that is too long.
    pub fn drop_head(&mut self, at: usize, now: Time) -> Option<QueuedPacket> {
        let flow = &mut self.flows[at];
        let victim = flow.ring.pop()?;
        flow.cobalt.overflowed(&self.cobalt, now);
        self.count_drop(victim.packet.size());
        Some(victim)
    }

    /// The packet of this flow that may go now; `None` if the flow is empty.
    fn take(&mut self, at: usize, rng: &mut Rng, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let flow = &mut self.flows[at];
            let mut given = flow.ring.pop()?;
            let size = given.packet.size();
            let marked = cx.counters().marked_total().packets;
            let verdict = flow.cobalt.judge(&self.cobalt, &mut given, 1, rng, cx);
            self.stats.marked_packets += cx.counters().marked_total().packets - marked;
            // The last packet of a queue is never dropped.
            if verdict == Verdict::Drop && flow.ring.backlog().packets > 0 {
                self.count_drop(size);
                cx.drop(given.packet, DropReason::Early);
                continue;
            }
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

    /// The flow whose turn it is: new flows, then busy ones, then decaying ones.
    fn head(&mut self, decaying_first: bool, rng: &mut Rng) -> Option<(usize, List)> {
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
        if self.left_in_round == 0 {
            self.begin_round(rng);
        }
        self.old.front().map(|at| (*at, List::Old)).or(decaying)
    }

    fn decays(&self, at: usize, number: u32) -> bool {
        self.flows[at].standing == Standing::Decaying && self.flows[at].decays == number
    }

    fn take_head(&mut self, list: List) {
        match list {
            List::New => _ = self.new.pop_front(),
            List::Old => {
                self.old.pop_front();
                self.left_in_round -= 1;
            }
            List::Decaying => _ = self.decaying.pop_front(),
        }
    }

    /// All busy flows had their turn: flows that have rested enough join them again.
    fn begin_round(&mut self, rng: &mut Rng) {
        self.rests.begin_round(self.old.is_empty());
        while let Some(at) = self.rests.rise() {
            self.rise(at, rng);
        }
        self.left_in_round = self.old.len();
    }

    /// Lets a flow rest that owes so much that its next turns would be empty. Unless its hosts get busier, the skipped
    /// rounds bring more than it owes.
    fn rest(&mut self, at: usize, load: u32) {
        let owes = -self.flows[at].deficit as u64;
        let rounds = owes * u64::from(load) / self.flow_quantum + 1;
        self.set_resting(at, true);
        self.rests.add(at, rounds.min(Rests::MOST));
    }

    /// Ends a flow's rest: it receives what the skipped rounds brought, limited by each host's part.
    fn rise(&mut self, at: usize, rng: &mut Rng) {
        self.pay(at, rng);
        self.set_resting(at, false);
        self.old.push_back(at);
    }

    fn pay(&mut self, at: usize, rng: &mut Rng) {
        let (source, destination) = self.shared(at);
        let flow = &mut self.flows[at];
        let quanta = (source - flow.paid.0).min(destination - flow.paid.1);
        flow.deficit += (quanta * self.flow_quantum as f64 + rng.unit()) as i64;
    }

    /// Service of the flow's hosts per busy flow in all previous rounds; without hosts one quantum per round.
    fn shared(&self, at: usize) -> (f64, f64) {
        let (flow, round) = (&self.flows[at], self.rests.round());
        let of = |hosts: &Hosts, host: Option<usize>| host.map_or(round as f64, |host| hosts.shared(host, round));
        (of(&self.sources, flow.source), of(&self.destinations, flow.destination))
    }

    fn set_resting(&mut self, at: usize, rests: bool) {
        if rests {
            self.flows[at].paid = self.shared(at);
        }
        let flow = &mut self.flows[at];
        flow.rests = rests;
        if let Some(host) = flow.source {
            self.sources.set_resting(host, rests);
        }
        if let Some(host) = flow.destination {
            self.destinations.set_resting(host, rests);
        }
    }

    /// All rise: the share of some has grown.
    fn rouse(&mut self, rng: &mut Rng) {
        let mut early = 0;
        while let Some(at) = self.rests.rouse(&mut early) {
            self.rise(at, rng);
        }
    }

    /// The flow has used its turn: it moves to the end of the busy flows, or rests.
    fn turn_over(&mut self, at: usize, rng: &mut Rng) {
        if self.flows[at].standing == Standing::Sparse {
            if self.flows[at].ring.backlog().packets > 0 {
                self.sparse -= 1;
                self.make_busy(at, rng);
            } else {
                self.flows[at].standing = Standing::Waiting;
            }
        }
    }

    /// The flow is empty: it leaves, or stays while its state fades.
    fn found_empty(&mut self, at: usize, now: Time, rng: &mut Rng) {
        match self.flows[at].standing {
            Standing::Bulk => {
                self.bulk -= 1;
                self.tell_hosts(at, false, rng);
            }
            Standing::Sparse | Standing::Waiting => self.sparse -= 1,
            Standing::Decaying | Standing::None => {}
        }
        let flow = &mut self.flows[at];
        if flow.cobalt.found_empty(&self.cobalt, now) {
            flow.standing = Standing::Decaying;
            flow.decays += 1;
            self.decaying.push_back((at, flow.decays));
            return;
        }
        flow.standing = Standing::None;
        self.release_hosts(at);
    }

    fn make_busy(&mut self, at: usize, rng: &mut Rng) {
        self.flows[at].standing = Standing::Bulk;
        self.bulk += 1;
        self.tell_hosts(at, true, rng);
    }

    /// A flow's share in its turn: the quantum divided by the busy flows of its busiest host, rounded randomly.
    fn share_of(&self, load: u32, rng: &mut Rng) -> i64 {
        if load == 1 {
            return self.flow_quantum as i64;
        }
        (self.flow_quantum as f64 / f64::from(load) + rng.unit()) as i64
    }

    /// The busy flows of the flow's busiest host.
    fn load(&self, at: usize) -> u32 {
        let flow = &self.flows[at];
        let source = flow.source.map_or(0, |host| self.sources.load(host));
        let destination = flow.destination.map_or(0, |host| self.destinations.load(host));
        source.max(destination).max(1)
    }

    /// Reuses a flow's place for another key: the hosts are those of the new flow.
    fn settle_hosts(&mut self, at: usize, keys: Keys, rng: &mut Rng) {
        let is_busy = self.flows[at].standing == Standing::Bulk;
        let rests = self.flows[at].rests;
        let mut shares_grew = false;
        if rests {
            self.pay(at, rng);
            self.set_resting(at, false);
        }
        if is_busy {
            shares_grew |= self.set_busy(at, false);
        }
        self.release_hosts(at);
        let flow = &mut self.flows[at];
        flow.source = keys.source.map(|hash| self.sources.hold(hash));
        flow.destination = keys.destination.map(|hash| self.destinations.hold(hash));
        if is_busy {
            shares_grew |= self.set_busy(at, true);
        }
        if rests {
            self.set_resting(at, true);
        }
        // Only now, because the flow may be one of those that return.
        if shares_grew {
            self.rouse(rng);
        }
    }

    fn release_hosts(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        if let Some(host) = flow.source.take() {
            self.sources.release(host);
        }
        if let Some(host) = flow.destination.take() {
            self.destinations.release(host);
        }
    }

    fn tell_hosts(&mut self, at: usize, busy: bool, rng: &mut Rng) {
        if self.set_busy(at, busy) {
            self.rouse(rng);
        }
    }

    /// True if the share of a flow of its hosts has grown considerably.
    #[must_use]
    fn set_busy(&mut self, at: usize, busy: bool) -> bool {
        let flow = &self.flows[at];
        let round = self.rests.round();
        let mut shares_grew = false;
        if let Some(host) = flow.source {
            shares_grew |= self.sources.set_busy(host, busy, round);
        }
        if let Some(host) = flow.destination {
            shares_grew |= self.destinations.set_busy(host, busy, round);
        }
        shares_grew
    }
}

/// COBALT's times at a rate: a target of at least one and a half full packets, and an interval longer by as much.
fn cobalt_for(rate: Option<BitRate>, rtt: Duration) -> CobaltConfig {
    let wanted = Duration::from_nanos(rtt.as_nanos() / 20);
    let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.time_to_send(Bytes::new(MTU), 0).0);
    let target = wanted.max(mtu_time * 3 / 2);
    let interval = rtt + target - wanted;
    CobaltConfig { target, interval: interval.max(target * 2), ecn: true, mtu_time, ..CobaltConfig::default() }
}
