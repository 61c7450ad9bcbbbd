//! DualPI2: two coupled queues, one of them for traffic that needs low latency (RFC 9332, appendix A).
//!
//! Packets with ECT(1) or CE enter queue L, all other packets enter queue C. A PI controller computes a base
//! probability p' from the longer of the two queueing delays. Queue C drops or marks with probability p'^2. Queue L
//! marks with the larger of two probabilities: `coupling_factor` times p', and a ramp that rises with the delay of L.
//! Queue L is served first, but queue C gets at least the share `c_protection` of the link. Drops and marks are spread
//! evenly (the appendix's `recur`).
//!
//! When the coupled probability has reached 1, both queues drop with probability p'^2 (section 4.2.3).
//!
//! There is no timer: the next call computes the missed updates, at most 65,536 of them.
//!
//! **Deviations.** The scheduler shares the link by weight, which the RFC allows. The RFC's time-shifted FIFO is not
//! implemented. The delay of a queue is the age of its oldest packet.

use crate::aqm::updates::Updates;
use crate::tools::ring::PacketRing;
use crate::{Backlog, BufferLimit, ClassStats, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Duration, Ecn, MarkReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// Settings of DualPI2, named as in the RFC and in Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Capacity of both queues together.
    pub limit: Limit,
    /// The controller's target for the queueing delay of C.
    pub target: Duration,
    /// Interval between two updates of the probability.
    pub tupdate: Duration,
    /// Weight of the difference between delay and target, in 1/s.
    pub alpha: f64,
    /// Weight of the delay's change since the last update, in 1/s.
    pub beta: f64,
    /// Coupling factor `k`: ratio of L's marking probability to the base probability.
    pub coupling_factor: f64,
    /// Delay of L above which packets of L are marked independently of C.
    pub min_th: Duration,
    /// Width of L's ramp. Every packet of L is marked if its delay is at least `min_th + range`.
    pub range: Duration,
    /// Share of the link that C is guaranteed while both queues have packets.
    pub c_protection: f64,
}

impl Default for DualPi2Config {
    /// The defaults of RFC 9332, appendix A, for round trips up to 100 ms: alpha is 0.1 / RTT^2, beta is 0.3 / RTT,
    /// updates every 16 ms. `c_protection` is the default of Linux.
    fn default() -> DualPi2Config {
        DualPi2Config {
            limit: Limit::Packets(10_000),
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling_factor: 2.0,
            min_th: Duration::from_micros(800),
            range: Duration::from_micros(400),
            c_protection: 0.1,
        }
    }
}

impl Part for DualPi2Config {
    const NAME: &'static str = "dualpi2";
    const TEXT: &'static str =
        "DualPI2 (RFC 9332): a low-latency queue for ECT(1) next to the classic queue, with coupled signals.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<DualPi2Config>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Limit of both queues together."),
        key("target", |part: &mut Self| &mut part.target, "Target of the queueing delay."),
        key("tupdate", |part: &mut Self| &mut part.tupdate, "The time between two updates of the base probability."),
        key(
            "alpha",
            |part: &mut Self| &mut part.alpha,
            "Weight of the difference between the delay and the target, in 1/s.",
        )
        .typed(ValueType::Number),
        key("beta", |part: &mut Self| &mut part.beta, "Weight of the change in delay since the last update, in 1/s.")
            .typed(ValueType::Number),
        key(
            "coupling_factor",
            |part: &mut Self| &mut part.coupling_factor,
            "The low-latency queue marks with the base probability times this factor.",
        )
        .typed(ValueType::Number),
        key("min_th", |part: &mut Self| &mut part.min_th, "Delay above which the low-latency queue marks on its own."),
        key(
            "range",
            |part: &mut Self| &mut part.range,
            "The low-latency queue marks every packet if its delay is at least min_th plus this time.",
        ),
        key(
            "c_protection",
            |part: &mut Self| &mut part.c_protection,
            "Share of the link for the classic queue while both queues have packets.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.tupdate < Duration::from_micros(100) {
            return Err(Fault::new("tupdate", "the time between two updates must be at least 100 us"));
        }
        if self.target.is_zero() {
            return Err(Fault::new("target", "a target of zero would drop every packet"));
        }
        if !(0.0..1.0).contains(&self.c_protection) {
            return Err(Fault::new("c_protection", "the share of the classic queue must be from 0 to below 1"));
        }
        if self.coupling_factor < 0.0 || self.alpha < 0.0 || self.beta < 0.0 {
            return Err(Fault::new("coupling_factor", "weights must not be negative"));
        }
        Ok(())
    }
}

impl Discipline for DualPi2Config {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(DualPi2::new(self)?)))
    }
}

/// The controller that both queues share.
#[derive(Clone, Debug, Default)]
pub struct CoupledLaw {
    /// The base probability p'.
    base: f64,
    /// Queueing delay at the last update.
    old_delay: Duration,
}

impl CoupledLaw {
    /// Updates the base probability with the current delay (RFC 9332, figure 6).
    pub fn update(&mut self, config: &DualPi2Config, delay: Duration) {
        let (now, old) = (delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let step = config.alpha * (now - config.target.as_secs_f64()) + config.beta * (now - old);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old_delay = delay;
    }

    /// Returns the base probability p', which determines the probabilities of both queues.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// Returns the drop or mark probability of C: p'^2.
    pub fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// Returns the probability with which L marks packets because of the coupling: k p'.
    pub fn coupled(&self, config: &DualPi2Config) -> f64 {
        config.coupling_factor * self.base
    }
}

/// Spreads drops and marks evenly at a given probability.
#[derive(Clone, Debug, Default)]
struct Recur {
    /// Sum of the probabilities since the last drop or mark, at most 1.
    sum: f64,
}

impl Recur {
    /// Adds a packet's drop or mark probability to the sum. Returns true if the packet is to be dropped or marked.
    fn picks(&mut self, likelihood: f64) -> bool {
        self.sum += likelihood;
        if self.sum <= 1.0 {
            return false;
        }
        self.sum -= 1.0;
        true
    }
}

/// One of the two queues.
#[derive(Debug, Default)]
struct Half {
    ring: PacketRing,
    recur: Recur,
    stats: ClassStats,
}

impl Half {
    /// Returns the age of the oldest packet at the time `at`; zero if the queue is empty.
    fn delay(&self, at: Time) -> Duration {
        self.ring.oldest().map_or(Duration::ZERO, |since| at.saturating_since(since))
    }
}

/// DualPI2: both queues and their controller.
#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    law: CoupledLaw,
    updates: Updates,
    low_latency: Half,
    classic: Half,
    limit: BufferLimit,
    /// Number of bytes that C may send before L. C is served next if this number is positive.
    credit: f64,
}

impl DualPi2 {
    /// Creates two empty queues.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &DualPi2Config) -> Result<DualPi2, Fault> {
        config.check_all()?;
        Ok(DualPi2 {
            limit: BufferLimit::new(config.limit, Bytes::ZERO)?,
            config: config.clone(),
            law: CoupledLaw::default(),
            updates: Updates::every(config.tupdate),
            low_latency: Half::default(),
            classic: Half::default(),
            credit: 0.0,
        })
    }

    /// Computes all updates that are due. No packet may have arrived or left since the last call.
    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            // The controller uses the longer of the two delays.
            let delay = self.classic.delay(at).max(self.low_latency.delay(at));
            self.law.update(&self.config, delay);
            // Delays only grow while no packet leaves. If the probability is 1 and the delay exceeds the target, the
            // following updates leave the probability at 1, so skip them.
            let stays_at_one = self.law.base == 1.0 && delay >= self.config.target;
            let stays_at_zero = self.law.base == 0.0 && self.backlog().packets == 0;
            if stays_at_one || stays_at_zero {
                self.updates.skip_to_last(now);
            }
        }
    }

    /// True if L is served next.
    fn is_low_latency_next(&self) -> bool {
        let (low, classic) = (self.low_latency.ring.backlog().packets, self.classic.ring.backlog().packets);
        low > 0 && (classic == 0 || self.credit <= 0.0)
    }

    /// Updates the credit for a sent packet, so that C gets its share.
    fn charge(&mut self, low_latency: bool, size: Bytes) {
        let (low, classic) = (self.low_latency.ring.backlog().packets, self.classic.ring.backlog().packets);
        let octets = size.get() as f64;
        self.credit += match (low_latency, low, classic) {
            (true, _, 1..) => octets * self.config.c_protection,
            (false, 1.., _) => -octets * (1.0 - self.config.c_protection),
            // If one queue is empty, the link is not shared and the credit is reset.
            _ => -self.credit,
        };
    }

    /// Returns L's own marking probability: a ramp over the sojourn time (RFC 9332, figure 5, `laqm`). Returns 0 if no
    /// other packet waits in L.
    fn ramp(&self, sojourn: Duration) -> f64 {
        if self.low_latency.ring.backlog().packets == 0 || sojourn < self.config.min_th {
            return 0.0;
        }
        let above = (sojourn - self.config.min_th).as_secs_f64();
        let range = self.config.range.as_secs_f64();
        if above >= range { 1.0 } else { above / range }
    }

    /// Dequeues the next packet, and marks or drops it if required. Returns `None` if the packet was dropped.
    fn serve(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let from_low_latency = self.is_low_latency_next();
        let half = if from_low_latency { &mut self.low_latency } else { &mut self.classic };
        let mut given = half.ring.pop()?;
        let size = given.packet.size();
        self.limit.release(size);
        let sojourn = cx.now() - given.enqueued_at;
        let (coupled, classic) = (self.law.coupled(&self.config), self.law.classic());
        let is_overloaded = coupled >= 1.0;
        // L marks packets because of L's own delay even if C is empty.
        let own = self.ramp(sojourn);
        let half = if from_low_latency { &mut self.low_latency } else { &mut self.classic };
        // Section 4.2.3: in overload both queues drop packets, even ECN-capable ones.
        let dropped = if is_overloaded {
            half.recur.picks(classic)
        } else if from_low_latency {
            if half.recur.picks(coupled.max(own)) {
                let why = if own > coupled { MarkReason::Threshold } else { MarkReason::Early };
                half.stats.marked_packets += u64::from(cx.mark(&mut given.packet, why));
            }
            false
        } else if half.recur.picks(classic) {
            let marked = cx.mark(&mut given.packet, MarkReason::Early);
            half.stats.marked_packets += u64::from(marked);
            !marked
        } else {
            false
        };
        if dropped {
            half.stats.dropped_packets += 1;
            half.stats.dropped_bytes += size;
            cx.drop(given.packet, DropReason::Early);
            return None;
        }
        half.stats.sent_packets += 1;
        half.stats.sent_bytes += size;
        half.stats.sojourn_sum += sojourn;
        half.stats.sojourn_max = half.stats.sojourn_max.max(sojourn);
        self.charge(from_low_latency, size);
        Some(given)
    }
}

impl Qdisc for DualPi2 {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.catch_up(cx.now());
        let size = packet.size();
        // RFC 9331: ECT(1) identifies L4S traffic, and a packet with CE may have had ECT(1) before it was marked.
        let is_low_latency = matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        let other = if is_low_latency { &self.classic } else { &self.low_latency }.ring.backlog();
        let half = if is_low_latency { &mut self.low_latency } else { &mut self.classic };
        if !self.limit.fits(size) {
            half.stats.dropped_packets += 1;
            half.stats.dropped_bytes += size;
            return cx.drop(packet, DropReason::QueueFull);
        }
        self.limit.charge(size);
        cx.within_class(other.packets, other.bytes, |cx| half.ring.push(packet, cx));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.catch_up(cx.now());
        while self.backlog().packets > 0 {
            if let Some(given) = self.serve(cx) {
                return Some(given);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.low_latency.ring.backlog() + self.classic.ring.backlog()
    }

    fn removes(&mut self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let taken = self.low_latency.ring.remove(waiting);
        let packet = taken.or_else(|| self.classic.ring.remove(waiting))?;
        self.limit.release(packet.size());
        Some(packet)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        for (name, half) in [("L", &self.low_latency), ("C", &self.classic)] {
            out(name, ClassStats { backlog: half.ring.backlog(), ..half.stats });
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("base_probability", self.law.base());
        out("classic_probability", self.law.classic());
        out("coupled_probability", self.law.coupled(&self.config).min(1.0));
    }
}
