//! CAKE: Common Applications Kept Enhanced (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018;
//! tc-cake(8)).
//!
//! CAKE consists of
//!
//! - a shaper that counts the bytes of a packet on the wire, including framing and cells,
//! - tins, which are classes of service selected by DSCP, each with a share of the rate,
//! - a queue for each flow of a tin in an 8-way set-associative hash table; the queues are served by deficit round
//!   robin with a quantum that the flows of a host share,
//! - COBALT in each queue, which always marks ECN-capable packets.
//!
//! If there is no room, the packet at the head of the longest queue is dropped.
//!
//! **Choice of a tin.** With a `bandwidth`, tins below their threshold rate have priority. If all tins are above their
//! threshold rate, the tin whose next packet is due first is served. Without a `bandwidth`, the tins share the link by
//! deficit round robin.
//!
//! If the documentation and the code of Linux differ, this module follows the code (`docs/fidelity/queues.md`).
//!
//! **Deviations.** `memlimit` counts the bytes of IP packets instead of the kernel's buffers. A host is kept while it
//! has a flow in the table; Linux keeps a host only while it has a busy flow.
//!
//! Not modelled: the ACK filter, `ingress` mode, `autorate-ingress`, NAT look-ups, `wash`, `split-gso`, and firewall
//! marks.

mod config;
mod flow;
mod hosts;
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

/// CAKE: shaper, tins and flow queues.
#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    keys: FlowKeys,
    rng: Rng,
    tins: Vec<Tin>,
    /// Without a shaper: index of the tin that is being served.
    current: usize,
    shaper: Option<Shaper>,
    /// Total backlog of all tins.
    total: Backlog,
    /// Limit of all queues in bytes of IP packets.
    room: u64,
}

/// The shaper, which determines the time of the next departure.
#[derive(Debug)]
struct Shaper {
    rate: BitRate,
    /// Fraction of a nanosecond that is carried over to the next packet, in units of 1 / rate nanoseconds.
    carry: u64,
    next: Time,
}

impl Cake {
    /// Creates empty queues. `rng` perturbs the hash, rounds the quanta and decides BLUE's drops.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &CakeConfig, mut rng: Rng) -> Result<Cake, Fault> {
        config.check_all()?;
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

    /// Returns the index of the tin to serve. At least one tin must have flows.
    fn choose(&mut self, now: Time) -> usize {
        if self.shaper.is_none() {
            return self.choose_by_deficit();
        }
        let mut best: Option<(i64, usize)> = None;
        for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.has_flows()) {
            let early = tin.next.as_nanos() as i64 - now.as_nanos() as i64;
            // As in Linux's cake_dequeue, choose the last of the tins that are due. If no tin is due, choose the tin
            // that is due first.
            if early <= 0 || best.is_none_or(|(least, _)| early <= least) {
                best = Some((early, at));
            }
        }
        best.map_or(0, |(_, at)| at)
    }

    /// Returns the index of the tin to serve if there is no shaper, by deficit round robin.
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

    /// Drops the head of the longest queue of all tins.
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
        // A tin or a shaper that was idle starts at the current time, so that idle time earns no credit.
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
        // As in Linux, enqueue the packet before the longest queue is determined, because the packet's own queue may be
        // the longest.
        while self.total.bytes.get() > self.room {
            self.make_room(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let (now, mut first) = (cx.now(), true);
        // A turn returns no packet if its flow is empty. Repeat until a packet leaves, CAKE is empty, or the shaper
        // must wait.
        while self.ready_at(now)? <= now {
            let at = self.choose(now);
            let before = self.tins[at].backlog();
            let given = self.tins[at].dequeue(&mut first, &mut self.rng, cx);
            self.total = self.total - before + self.tins[at].backlog();
            let Some(given) = given else { continue };
            let wire = self.config.framing.wire_size(given.packet.size());
            self.tins[at].charge(wire, now);
            if let Some(shaper) = &mut self.shaper {
                // The shaper's clock advances by the packet's transmission time, including framing.
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

    fn removes(&mut self) -> bool {
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
