//! RED: random early detection. Drops or marks packets at random, with a probability that depends on the average
//! backlog (Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993), with ECN (RFC 3168,
//! section 7) and the gentle slope (Floyd, Recommendation on using the "gentle_" variant of RED, 2000).
//!
//! **The average** is updated at each arrival: its distance to the backlog shrinks by the factor `1 - weight`. During
//! an idle time the average decays by `(1 - weight)^m`. Here, m is the number of packets of average size that the line
//! could have sent (section 4). The average has the unit of the thresholds. The paper's byte mode is not implemented.
//!
//! **The selection** follows section 8 of the paper: the number of packets until the next drop or mark is uniformly
//! distributed between 1 and 1/p. This distribution spreads drops and marks evenly.
//!
//! | average | plain | gentle |
//! |---|---|---|
//! | below `min` | pass | pass |
//! | `min` to `max` | p grows from 0 to `probability` | the same |
//! | `max` to 2 `max` | all packets | p grows from `probability` to 1 |
//! | above 2 `max` | all packets | all packets |
//!
//! With `ecn`, an ECN-capable packet is marked instead of dropped (RFC 3168, section 5). With `harddrop`, such a packet
//! is dropped while the average is above the upper threshold (section 7).
//!
//! **Linux's `sch_red`** (tc-red(8)) is the plain variant with thresholds in bytes and fixed-point arithmetic. Under a
//! shaper, Linux's RED never detects that its queue is idle, because `tbf` peeks before it dequeues. The average then
//! changes only with arrivals (`idle_decay = false`).
//!
//! **A gateway for ACK congestion control** (Balakrishnan, Padmanabhan and Katz 1999, section 6.1) needs two settings.
//! With `marks`, RED also marks ACKs. With `victim`, a full queue drops a random packet. As in the authors'
//! code, the arriving packet is marked.
//!
//! With `adaptive` the probability at `max` adapts to the average (Floyd, Gummadi and Shenker, Adaptive RED, 2001).
//! [`crate::AredConfig`] also computes the thresholds as in this paper.

mod config;
pub(crate) mod law;

pub use config::{Marks, RedConfig, Victim};

use crate::{Backlog, Buffer, Fifo, FifoConfig, PacketKind, Qdisc, QueuedPacket, Waiting};
use law::{Adaptation, Average, Slope, Verdict};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Part};

/// A FIFO queue that RED controls.
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
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &RedConfig, rng: Rng) -> Result<Red, Fault> {
        config.check_all()?;
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

    /// Updates the average for an arriving packet, and decides on the packet.
    fn judge(&mut self, now: Time) -> Verdict {
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.catch_up(&mut self.slope, &self.average, now);
        }
        // Each arrival is a sample, whether or not the packet is dropped.
        self.average.arrival(self.config.min.measure(self.fifo.backlog()), now);
        // ns-2 drops nothing from a short queue. Otherwise the line could become idle while the average is still high.
        if self.fifo.backlog().packets < self.config.least {
            self.slope.leave();
            return Verdict::Pass;
        }
        self.slope.judge(self.average.value(), &mut self.rng)
    }

    /// Handles a packet that left or was dropped. Starts the idle time if the queue is now empty.
    fn note_idle(&mut self, now: Time) {
        if self.fifo.backlog() == Backlog::default() {
            if let Some(adaptation) = &mut self.adaptation {
                adaptation.catch_up(&mut self.slope, &self.average, now);
            }
            self.average.emptied(now);
        }
    }

    /// True if the packet can be marked instead of dropped.
    fn is_markable(&self, packet: &Packet) -> bool {
        packet.is_ecn_capable()
            || match self.config.marks {
                Marks::Capable => false,
                Marks::CapableAndAcks => PacketKind::of(packet) == PacketKind::Ack,
                Marks::All | Marks::Data => true,
            }
    }

    /// Drops random packets until a packet of `size` bytes fits. Drops nothing if the packet is larger than the buffer.
    fn make_room(&mut self, size: Bytes, cx: &mut Cx<'_>) {
        while !self.fifo.room().fits(size) && self.fifo.room().could_fit(size) {
            let place = self.rng.unit() * f64::from(self.fifo.backlog().packets);
            let victim =
                self.fifo.take_at(place as usize).expect("an empty buffer has room for a packet that could fit");
            cx.drop(victim, DropReason::QueueFull);
        }
    }

    /// Removes and returns a random packet of the queue; `None` if the arriving packet is to be dropped.
    fn pick(&mut self, verdict: Verdict) -> Option<Packet> {
        if self.config.victim == Victim::Tail || verdict != Verdict::Hard {
            return None;
        }
        // The arriving packet is one of the candidates. If it is chosen, the result is `None`.
        let place = self.rng.unit() * f64::from(self.fifo.backlog().packets + 1);
        self.fifo.take_at(place as usize)
    }

    /// True if a packet that was selected with this decision may be marked instead of dropped.
    fn may_mark(&self, verdict: Verdict) -> bool {
        self.config.ecn && !(verdict == Verdict::Hard && self.config.harddrop)
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let judged = self.judge(cx.now());
        // With `Marks::Data`, pure ACKs update the average but are always accepted.
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
                // `marks` may select packets that are not ECN-capable.
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

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        self.fifo.buffer_mut()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        let removed = self.fifo.remove(waiting, cx)?;
        self.note_idle(cx.now());
        Some(removed)
    }

    /// Calls `out` with the average backlog (`average`) and, with `adaptive`, the maximum probability (`probability`).
    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("average", self.average.value());
        if self.adaptation.is_some() {
            out("probability", self.slope.probability);
        }
    }
}
