//! RED: drop or mark early, at random, by the average queue (Floyd and Jacobson, Random Early Detection Gateways for
//! Congestion Avoidance, 1993), with ECN (RFC 3168 section 7) and the gentle slope (Floyd, Recommendation on using the
//! "gentle_" variant of RED, 2000).
//!
//! **The average** is an exponentially weighted one over arrivals: each arriving packet, taken in or not, moves it towards the backlog that
//! it finds by `weight`. An empty queue has no arrivals, so for an idle time the average falls as if packets of the
//! mean size had come and found nothing: by `(1 - weight)^m`, where m is how many of them the line would have sent
//! meanwhile (section 4). Idle begins when the queue becomes empty. Thresholds in packets average packets, thresholds
//! in octets average octets; the probability does not grow with a packet's size (the paper's byte mode leaves that
//! open).
//!
//! **The choice** is the paper's section 8: a number drawn at random sets how many packets go by until the next mark, which spreads marks
//! evenly: uniform over 1 to 1/p rather than geometric.
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
//! **Linux's `sch_red`** (tc-red(8)) is the plain variant in octets, its weight a power of two, without `harddrop` unless asked for: settings
//! here under the same names give the same. It counts in fixed point, and below a shaper it never notices that it is
//! idle, as `tbf` looks before it takes.
//!
//! **As a gateway for ACK congestion control** (Balakrishnan, Padmanabhan and Katz 1999, section 6.1): `marks` has it mark ACKs, which never
//! say that they are capable, and `victim` has a full queue drop any packet that waits. There the packet to mark is picked at
//! random too; here it is the arriving one, as in the authors' code.
//!
//! Left out: adaptive RED (the `adaptive` of tc).

mod config;

pub use config::{Marks, RedConfig, Victim};

use crate::{Backlog, Fifo, FifoConfig, PacketKind, Qdisc, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Part};

/// Random early detection.
#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    /// How long a packet of the mean size takes on the line. Zero: no time.
    idle_packet: Duration,
    fifo: Fifo,
    rng: Rng,
    average: f64,
    /// The queue is empty, and its average accounts for the time until then.
    idle_since: Option<Time>,
    /// Packets since the last one was picked; `None` while the average is outside the slope.
    count: Option<u32>,
    /// Where in its interval the next one is picked.
    draw: f64,
}

/// What is to become of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// Picked at random.
    Early,
    /// All are, at this average.
    Hard,
}

impl Red {
    /// `rng` is this queue's own stream.
    pub fn new(config: &RedConfig, rng: Rng) -> Result<Red, Fault> {
        config.check()?;
        Ok(Red {
            config: *config,
            idle_packet: config.idle_packet(),
            fifo: Fifo::new(&FifoConfig::new(config.limit))?,
            rng,
            average: 0.0,
            idle_since: Some(Time::ZERO),
            count: None,
            draw: 0.0,
        })
    }

    fn update_average(&mut self, now: Time) {
        let weight = self.config.weight;
        match self.idle_since {
            Some(since) => {
                self.average *= self.decay(now - since);
                self.idle_since = Some(now);
            }
            None => self.average += weight * (self.config.min.measure(self.fifo.backlog()) as f64 - self.average),
        }
    }

    /// What is left of the average after an idle time.
    fn decay(&self, idle: Duration) -> f64 {
        if self.idle_packet.is_zero() {
            return 0.0;
        }
        let packets = idle.as_nanos() as f64 / self.idle_packet.as_nanos() as f64;
        libm::pow(1.0 - self.config.weight, packets)
    }

    fn judge(&mut self) -> Verdict {
        let RedConfig { min, max, gentle, .. } = self.config;
        let (min, max) = (min.count() as f64, max.count() as f64);
        let top = if gentle { 2.0 * max } else { max };
        if self.average < min || self.average >= top {
            self.count = None;
            return if self.average < min { Verdict::Pass } else { Verdict::Hard };
        }
        let Some(count) = self.count else {
            // The first one above the threshold passes: it begins an interval.
            self.begin_interval();
            return Verdict::Pass;
        };
        let count = count + 1;
        self.count = Some(count);
        if self.probability(min, max) * f64::from(count) < self.draw {
            return Verdict::Pass;
        }
        self.begin_interval();
        Verdict::Early
    }

    fn begin_interval(&mut self) {
        self.count = Some(0);
        self.draw = self.rng.unit();
    }

    /// Of a packet to be picked, at this average on the slope.
    fn probability(&self, min: f64, max: f64) -> f64 {
        let at_max = self.config.probability;
        if self.average < max {
            at_max * (self.average - min) / (max - min)
        } else {
            at_max + (1.0 - at_max) * (self.average - max) / max
        }
    }

    /// A packet is gone: if it was the last, idle time begins.
    fn note_idle(&mut self, now: Time) {
        if self.fifo.backlog() == Backlog::default() {
            self.idle_since = Some(now);
        }
    }

    fn is_markable(&self, packet: &Packet) -> bool {
        packet.is_ecn_capable()
            || match self.config.marks {
                Marks::Capable => false,
                Marks::CapableAndAcks => PacketKind::of(packet) == PacketKind::Ack,
                Marks::All => true,
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

    fn may_mark(&self, verdict: Verdict) -> bool {
        self.config.ecn && !(verdict == Verdict::Hard && self.config.harddrop)
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        self.update_average(cx.now());
        let verdict = self.judge();
        if verdict != Verdict::Pass && !(self.may_mark(verdict) && self.is_markable(&packet)) {
            cx.drop(packet, DropReason::Early);
            return;
        }
        if self.config.victim == Victim::Random {
            self.make_room(packet.size(), cx);
        }
        if self.fifo.room().fits(packet.size()) {
            self.idle_since = None;
            if verdict != Verdict::Pass {
                let why = if verdict == Verdict::Hard { MarkReason::Forced } else { MarkReason::Early };
                cx.mark_regardless(&mut packet, why);
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
        out("average", self.average);
    }
}
