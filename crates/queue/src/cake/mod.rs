//! CAKE: Common Applications Kept Enhanced (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018;
//! tc-cake(8)).
//!
//! A shaper that counts what a packet takes on the line behind (its framing, cells included); tins for classes of
//! service by DSCP, each with a share of the rate; in each tin a queue for each flow, found in a hash table of eight
//! ways, and served in turn by a deficit that is divided among the flows of a host; COBALT in every queue, which always
//! marks what can be marked. Where there is no room, the longest queue loses its head.
//!
//! **How a tin is chosen.** With a `bandwidth` each tin has a rate of its own as a threshold: below it the tin goes
//! first, above it the one that is least late. Without one the tins share by deficits in the same proportions.
//!
//! **Where documents and Linux differ** this does as Linux: tc-cake(8) gives the voice tin of `diffserv3` a shorter
//! interval, the kernel does not (`docs/fidelity/queues.md`).
//!
//! **Deviations.** `memlimit` counts octets of IP and not the kernel's buffers. Hosts are held as long as they have a
//! flow in the tables, in Linux as long as one of them is busy. The quantum of a flow is divided exactly and rounded at
//! random; a flow that owes many of its shares sits out most of those rounds (`rests.rs`).
//!
//! Left out: the ACK filter, `ingress` mode and `autorate-ingress`, the failsafe clock that only these need, NAT
//! look-ups, `wash`, `split-gso`, overriding tins and flows by marks.

mod config;
mod hosts;
mod rests;
mod tin;
mod tins;
mod ways;

pub use config::CakeConfig;
pub use hosts::Isolation;
pub use tins::TinMode;

use crate::{Backlog, ClassStats, Discipline, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use hosts::FlowKeys;
use lopsided_core::{BitRate, Cx, DropReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Part};
use tin::Tin;

impl Discipline for CakeConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Cake::new(self, place.rng())?)))
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
        // An idle shaper saves no credit.
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
