//! RED: drop or mark early, at random, by the average queue (Floyd and Jacobson, Random Early Detection Gateways for
//! Congestion Avoidance, 1993), with ECN (RFC 3168 section 7) and the gentle slope (Floyd, Recommendation on using the
//! "gentle_" variant of RED, 2000).
//!
//! **The average** is an exponentially weighted one over arrivals: each arriving packet, taken in or not, moves it
//! towards the backlog that it finds by `weight`. An empty queue has no arrivals, so for an idle time the average falls
//! as if packets of the mean size had come and found nothing: by `(1 - weight)^m`, where m is how many of them the line
//! would have sent meanwhile (section 4). Idle begins when the queue becomes empty. Thresholds in packets average
//! packets, thresholds in octets average octets; the probability does not grow with a packet's size (the paper's byte
//! mode leaves that open).
//!
//! **The choice** is the paper's section 8: a number drawn at random sets how many packets go by until the next mark,
//! which spreads marks evenly: uniform over 1 to 1/p rather than geometric.
//!
//! | average | plain | gentle |
//! |---|---|---|
//! | below `min` | pass | pass |
//! | up to `max` | p rises from 0 to `probability` | the same |
//! | up to 2 `max` | every packet | p rises from `probability` to 1 |
//! | above | every packet | every packet |
//!
//! With `ecn` a packet that says it is capable, ECT(0) or ECT(1) alike (RFC 3168 section 5), is marked in place of
//! dropped. Above the upper threshold RFC 3168 section 7 asks for drops; `harddrop` does that, without it capable
//! packets are marked there too.
//!
//! **Linux's `sch_red`** (tc-red(8)) is the plain variant in octets, its weight a power of two, without `harddrop`
//! unless asked for: settings here under the same names give the same. It counts in fixed point. Below a shaper it
//! never notices that it is idle: `tbf` looks before it takes, and idle time begins when a packet is wanted and there
//! is none. Its average then moves with arrivals alone (`idle_decay`), and once above `max` it drops what cannot be
//! marked for hundreds of packets more, however long they take: SYNs and retransmissions.
//!
//! **As a gateway for ACK congestion control** (Balakrishnan, Padmanabhan and Katz 1999, section 6.1): `marks` has it
//! mark ACKs, which never say that they are capable, and `victim` has a full queue drop any packet that waits. There
//! the packet to mark is picked at random too; here it is the arriving one, as in the authors' code.
//!
//! With `adaptive` the probability at `max` follows the average (Floyd, Gummadi and Shenker, Adaptive RED, 2001): see
//! also [`crate::AredConfig`], which derives all thresholds as that paper does.

mod config;
pub(crate) mod law;

pub use config::{Marks, RedConfig, Victim};

use crate::{Backlog, Fifo, FifoConfig, PacketKind, Qdisc, QueuedPacket, Waiting};
use law::{Adaptation, Average, Slope, Verdict};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Part};

/// Random early detection.
#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    fifo: Fifo,
    rng: Rng,
    average: Average,
    slope: Slope,
    adaptation: Option<Adaptation>,
}

impl Red {
    /// `rng` is this queue's own stream.
    pub fn new(config: &RedConfig, rng: Rng) -> Result<Red, Fault> {
        config.check()?;
        let (min, max) = (config.min.count() as f64, config.max.count() as f64);
        Ok(Red {
            config: *config,
            fifo: Fifo::new(&FifoConfig::new(config.limit))?,
            rng,
            average: Average::new(config.weight, law::idle_packet(config.bandwidth, config.avpkt))
                .counting_first(config.count_first)
                .falling(config.idle_decay),
            slope: Slope::new(min, max, config.probability, config.gentle),
            adaptation: config.adaptive.then(|| Adaptation::new(min, max)),
        })
    }

    fn judge(&mut self, now: Time) -> Verdict {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.catch_up(&mut self.slope, &self.average, now);
        }
        self.average.arrival(self.config.min.measure(self.fifo.backlog()), now);
        if self.fifo.backlog().packets < self.config.least {
            self.slope.leave();
            return Verdict::Pass;
        }
        self.slope.judge(self.average.value(), &mut self.rng)
    }

    /// A packet is gone: if it was the last, idle time begins.
    fn note_idle(&mut self, now: Time) {
        if self.fifo.backlog() == Backlog::default() {
            if let Some(adaptation) = &mut self.adaptation {
                adaptation.catch_up(&mut self.slope, &self.average, now);
            }
            self.average.emptied(now);
        }
    }

    fn is_markable(&self, packet: &Packet) -> bool {
        packet.is_ecn_capable()
            || match self.config.marks {
                Marks::Capable => false,
                Marks::CapableAndAcks => PacketKind::of(packet) == PacketKind::Ack,
                Marks::All | Marks::Data => true,
            }
    }

    /// Drops waiting packets at random until one of `size` fits, if that can be.
    fn make_room(&mut self, size: Bytes, cx: &mut Cx<'_>) {
        while !self.fifo.room().fits(size) && self.fifo.room().could_fit(size) {
            let place = self.rng.unit() * f64::from(self.fifo.backlog().packets);
            let victim =
                self.fifo.take_at(place as usize).expect("a packet that could fit does not, so one is in its way");
            cx.drop(victim, DropReason::QueueFull);
        }
    }

    /// A queued packet to drop instead of the arriving one: with a random victim, above the upper threshold.
    fn pick(&mut self, verdict: Verdict) -> Option<Packet> {
        if self.config.victim == Victim::Tail || verdict != Verdict::Hard {
            return None;
        }
        // The arriving one may be picked as well.
        let place = self.rng.unit() * f64::from(self.fifo.backlog().packets + 1);
        self.fifo.take_at(place as usize)
    }

    fn may_mark(&self, verdict: Verdict) -> bool {
        self.config.ecn && !(verdict == Verdict::Hard && self.config.harddrop)
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let judged = self.judge(cx.now());
        let exempt = self.config.marks == Marks::Data && PacketKind::of(&packet) == PacketKind::Ack;
        let verdict = if exempt { Verdict::Pass } else { judged };
        let marks = self.may_mark(verdict) && self.is_markable(&packet);
        if verdict != Verdict::Pass && !marks {
            match self.pick(verdict) {
                Some(victim) => cx.drop(victim, DropReason::Early),
                None => return cx.drop(packet, DropReason::Early),
            }
        }
        if self.config.victim == Victim::Random {
            self.make_room(packet.size(), cx);
        }
        if self.fifo.room().fits(packet.size()) {
            self.average.filled();
            if verdict != Verdict::Pass && marks {
                cx.mark_regardless(&mut packet, verdict.mark_reason());
            }
        }
        self.fifo.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let given = self.fifo.dequeue(cx)?;
        self.note_idle(cx.now());
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn peek(&mut self, cx: &mut Cx<'_>) -> Option<Bytes> {
        self.fifo.peek(cx)
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let removed = self.fifo.remove(waiting, cx)?;
        self.note_idle(cx.now());
        Some(removed)
    }

    /// `average` is the average backlog in the unit of the thresholds.
    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("average", self.average.value());
        if self.adaptation.is_some() {
            out("probability", self.slope.probability);
        }
    }
}
