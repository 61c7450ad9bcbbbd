//! CAKE: Common Applications Kept Enhanced (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018; tc-cake(8)).
//!
//! A shaper that counts what a packet takes on the line behind (its framing, cells included); tins for classes of service by DSCP,
//! each with a share of the rate; in each tin a queue for each flow, found in a hash table of eight ways, and served in turn by a
//! deficit that is divided among the flows of a host; COBALT in every queue, which always marks what can be marked. Where there is
//! no room, the longest queue loses its head.
//!
//! **How a tin is chosen.** With a `bandwidth` each tin has a rate of its own as a threshold: below it the tin goes first, above it
//! the one that is least late. Without one the tins share by deficits in the same proportions.
//!
//! **Where documents and Linux differ** this does as Linux: tc-cake(8) gives the voice tin of `diffserv3` a shorter interval, the kernel
//! does not (`docs/fidelity/queues.md`).
//!
//! **Deviations.** `memlimit` counts octets of IP and not the kernel's buffers. Hosts are held as long as they have a flow in the
//! tables, in Linux as long as one of them is busy. The quantum of a flow is divided exactly and rounded at random; a flow that owes more
//! than 16 of its shares sits out most of those rounds (`rests.rs`).
//!
//! Left out: the ACK filter, `ingress` mode and `autorate-ingress`, the failsafe clock that only these need, NAT look-ups, `wash`,
//! `split-gso`, overriding tins and flows by marks.

mod hosts;
mod rests;
mod tin;
mod tins;
mod ways;

pub use hosts::Isolation;
pub use tins::TinMode;

use crate::{Backlog, ClassStats, Discipline, Framing, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use hosts::FlowKeys;
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key};
use tin::Tin;

/// CAKE as plain data, under the names of tc-cake(8).
#[derive(Clone, Debug, PartialEq)]
pub struct CakeConfig {
    /// The shaper's rate; none leaves shaping to the link.
    pub bandwidth: Option<BitRate>,
    pub tins: TinMode,
    pub isolation: Isolation,
    /// The usual round trip, from which COBALT's times follow: the interval, and as target a twentieth.
    pub rtt: Duration,
    /// What a packet takes on the line behind.
    pub framing: Framing,
    pub memlimit: Option<Bytes>,
}

impl Default for CakeConfig {
    /// Linux's defaults.
    fn default() -> CakeConfig {
        CakeConfig {
            bandwidth: None,
            tins: TinMode::Diffserv3,
            isolation: Isolation::TripleIsolate,
            rtt: Duration::from_millis(100),
            framing: Framing::NONE,
            memlimit: None,
        }
    }
}

impl Part for CakeConfig {
    const NAME: &'static str = "cake";
    const TEXT: &'static str =
        "CAKE: a shaper that knows the line's framing, tins by DSCP, fairness of hosts and flows, COBALT.";
    const SHORTHAND: Option<&'static str> = Some("bandwidth");
    const KEYS: &'static [Key<CakeConfig>] = &[
        key("bandwidth", |part: &mut Self| &mut part.bandwidth, "The rate that it shapes to, framing counted.")
            .none_word("unlimited"),
        key("tins", |part: &mut Self| &mut part.tins, "Which classes of service have queues of their own."),
        key(
            "isolation",
            |part: &mut Self| &mut part.isolation,
            "Whom it is fair to: flows, hosts, or the flows of each host.",
        ),
        key("rtt", |part: &mut Self| &mut part.rtt, "The usual round trip: COBALT's interval, its target a twentieth."),
        key("framing", |part: &mut Self| &mut part.framing, "What a packet takes on the line behind."),
        key("memlimit", |part: &mut Self| &mut part.memlimit, "Octets of IP in all queues.")
            .none_word("auto")
            .default_text("four round trips at the bandwidth, 4 MiB to 15.5 MB"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.bandwidth.is_some_and(|rate| rate.as_bps() < LEAST_BANDWIDTH) {
            return Err(Fault::new("bandwidth", "the shaper's rate is at least 64 bit/s"));
        }
        if !(Duration::from_micros(1)..=Duration::from_secs(60)).contains(&self.rtt) {
            return Err(Fault::new("rtt", "a round trip is from 1 us to 60 s"));
        }
        if self.memlimit.is_some_and(|limit| limit < Bytes::new(1)) {
            return Err(Fault::new("memlimit", "the limit is zero: no packet would ever pass"));
        }
        Ok(())
    }
}

impl Discipline for CakeConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Cake::new(self, place.rng())?)))
    }
}

const LEAST_BANDWIDTH: u64 = 64;

/// The least and the most octets that all queues may hold by default: 4 MiB, and 10,240 full frames.
const ROOM: (u64, u64) = (4 << 20, 10_240 * 1514);

impl CakeConfig {
    fn room(&self) -> u64 {
        let round_trips = |rate: BitRate| (rate.as_bps() as f64 / 8.0 * self.rtt.as_secs_f64() * 4.0) as u64;
        let automatic = self.bandwidth.map_or(ROOM.1, |rate| round_trips(rate).clamp(ROOM.0, ROOM.1));
        self.memlimit.map_or(automatic, Bytes::get)
    }
}

/// CAKE.
#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    keys: FlowKeys,
    rng: Rng,
    tins: Vec<Tin>,
    /// Whose turn it is without a shaper.
    current: usize,
    shaper: Option<Shaper>,
    total: Backlog,
    room: u64,
}

/// When the next packet may go.
#[derive(Debug)]
struct Shaper {
    rate: BitRate,
    carry: u64,
    next: Time,
}

impl Cake {
    /// `rng` is this queue's own stream: it perturbs the hash, rounds quanta and draws for BLUE.
    pub fn new(config: &CakeConfig, mut rng: Rng) -> Result<Cake, Fault> {
        config.check()?;
        Ok(Cake {
            keys: FlowKeys::new(config.isolation, &mut rng),
            rng,
            tins: config.tins.plans().map(|plan| Tin::new(&plan, config)).collect(),
            current: 0,
            shaper: config.bandwidth.map(|rate| Shaper { rate, carry: 0, next: Time::ZERO }),
            total: Backlog::default(),
            room: config.room(),
            config: config.clone(),
        })
    }

    /// The tin to serve, one with flows in its rounds.
    fn choose(&mut self, now: Time) -> usize {
        if self.shaper.is_none() {
            return self.choose_by_deficit();
        }
        let mut best: Option<(i64, usize)> = None;
        for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.has_flows()) {
            let early = tin.next.as_nanos() as i64 - now.as_nanos() as i64;
            if early <= 0 || best.is_none_or(|(least, _)| early <= least) {
                best = Some((early, at));
            }
        }
        best.map_or(0, |(_, at)| at)
    }

    fn choose_by_deficit(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.has_flows() {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// The longest queue of all loses its head.
    #[cold]
    fn make_room(&mut self, cx: &mut Cx<'_>) {
        let longest = self.tins.iter().enumerate().filter_map(|(at, tin)| Some((tin.longest()?, at)));
        let Some(((_, flow), at)) = longest.max_by_key(|((octets, _), _)| *octets) else { return };
        if let Some(victim) = self.tins[at].drop_head(flow, cx.now()) {
            self.total.remove(victim.packet.size());
            cx.drop(victim.packet, DropReason::QueueFull);
        }
    }
}

impl Qdisc for Cake {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let at = self.config.tins.tin_of(packet.dscp());
        let keys = self.keys.of(&packet);
        let size = packet.size();
        let now = cx.now();
        // A shaper at rest saves nothing up.
        if !self.tins[at].holds_packets() {
            self.tins[at].next = self.tins[at].next.max(now);
        }
        if self.total.packets == 0 {
            if let Some(shaper) = &mut self.shaper {
                shaper.next = shaper.next.max(now);
            }
        }
        self.tins[at].enqueue(packet, keys, self.total, &mut self.rng, cx);
        self.total.packets += 1;
        self.total.bytes += size;
        while self.total.bytes.get() > self.room {
            self.make_room(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let (now, mut first) = (cx.now(), true);
        while self.ready_at(now)? <= now {
            let at = self.choose(now);
            let before = self.tins[at].backlog();
            let given = self.tins[at].dequeue(&mut first, &mut self.rng, cx);
            self.total = self.total - before + self.tins[at].backlog();
            let Some(given) = given else { continue };
            let wire = self.config.framing.wire_size(given.packet.size());
            self.tins[at].charge(wire, now);
            if let Some(shaper) = &mut self.shaper {
                let (takes, carry) = shaper.rate.time_to_send(wire, shaper.carry);
                shaper.carry = carry;
                shaper.next += takes;
            }
            return Some(given);
        }
        None
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        let held_until = self.shaper.as_ref().map_or(now, |shaper| shaper.next.max(now));
        (self.total.packets > 0).then_some(held_until)
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let keys = self.keys.of(waiting.like);
        let packet = self.tins[self.config.tins.tin_of(waiting.like.dscp())].remove(keys, waiting)?;
        self.total.remove(packet.size());
        Some(packet)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        for tin in &self.tins {
            out(tin.name, tin.stats());
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        for tin in &self.tins {
            out(&format!("{}/bulk_flows", tin.name), f64::from(tin.bulk_flows()));
            out(&format!("{}/sparse_flows", tin.name), f64::from(tin.sparse_flows()));
        }
    }
}
