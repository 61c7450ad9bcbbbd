//! PIE: Proportional Integral controller Enhanced (RFC 8033).
//!
//! A drop probability is updated every `tupdate` from the queueing delay, how far it is from `target` and how it
//! changed since the last update. An arriving packet is dropped, or marked while the probability is small, with that
//! probability.
//!
//! [`Pie`] is the controller for one queue, which fq_pie uses for each flow; [`PieQueue`] is a FIFO under it.
//!
//! Two ways to know the delay: the sojourn time of the last packet that left (RFC 8033 section 5.3, `dq_rate_estimator`
//! off, Linux's default since 5.6), or the backlog divided by a measured departure rate (section 5.2).
//!
//! There is no timer: an update depends on nothing that changes between two operations, so missed updates are replayed
//! at the next call, each with the state of its own time. After a pause of more than 65,536 updates the oldest are
//! skipped.
//!
//! What the RFC leaves open, or says otherwise, is as in Linux 6.1:
//!
//! - With timestamps the sojourn time of the packet that left last decides whether an arrival may be dropped at all,
//!   not the one of the last update. It counts as 0 when no packet is left behind.
//! - The burst allowance runs out with the time between two departures, not with updates.
//! - A delay above 250 ms adds 2 % to each step of the probability.
//! - Without delay the probability falls by 1/64 at each update.
//! - The probability is bounded at 256, not at 1.
//! - A measured departure rate is smoothed with a weight of 1/8.
//! - Any drop restarts the even spreading of drops (section 5.4), also one by a full queue. `derandomise = false`
//!   disables the spreading.

use crate::ring::PacketRing;
use crate::updates::Updates;
use crate::{Backlog, BufferLimit, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, Waiting};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// PIE's parameters, under the names of tc-pie(8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// The delay that is aimed at (`QDELAY_REF`).
    pub target: Duration,
    /// The time between two updates of the probability (`T_UPDATE`).
    pub tupdate: Duration,
    /// The weight of the distance from the target, in 1/s.
    pub alpha: f64,
    /// The weight of the change since the last update, in 1/s.
    pub beta: f64,
    /// Duration of bursts without drops after a quiet time (`MAX_BURST`).
    pub max_burst: Duration,
    /// Mark packets that can be marked, while the probability is at most `mark_threshold`.
    pub ecn: bool,
    pub mark_threshold: f64,
    /// Divide the probability for smaller packets (`bytemode`).
    pub bytemode: bool,
    /// Measure the departure rate instead of sojourn times.
    pub dq_rate_estimator: bool,
    /// Spread drops evenly (RFC 8033 section 5.4).
    pub derandomise: bool,
    /// Two packets of this size never count as a queue, in bytes of IP.
    pub mtu: Bytes,
}

impl Default for PieConfig {
    /// RFC 8033 section 4 and Linux: a target of 15 ms, an update every 15 ms, alpha 1/8, beta 5/4, bursts of 150 ms.
    fn default() -> PieConfig {
        PieConfig {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            ecn: false,
            mark_threshold: 0.1,
            bytemode: false,
            dq_rate_estimator: false,
            derandomise: true,
            mtu: Bytes::new(1500),
        }
    }
}

/// Bytes over which a departure rate is measured (RFC 8033 section 4, `DQ_THRESHOLD`).
const DQ_THRESHOLD: u64 = 1 << 14;

/// Linux keeps the probability as 56 bits of 64 and only prevents overflow (`pie_calculate_probability`). A long
/// overload therefore raises it beyond 1, and it takes as long to fall again. RFC 8033 section 4.2 bounds it at 1.
const MOST_PROBABILITY: f64 = 256.0;
/// Above it the probability rises faster (Linux).
const LONG_DELAY: Duration = Duration::from_millis(250);

/// The controller of one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    probability: f64,
    /// The queueing delay at the last update, and at the one before.
    delay: Duration,
    old_delay: Duration,
    burst_left: Duration,
    /// From when the burst allowance runs: the last departure of a busy time.
    left_at: Option<Time>,
    updates: Updates,
    /// The sum of the probabilities since the last drop.
    accumulated: f64,
    /// The sojourn time of the last packet that left.
    sojourn: Duration,
    rate: DepartureRate,
}

/// How fast packets leave, measured over bursts of [`DQ_THRESHOLD`] octets (RFC 8033 section 5.2).
#[derive(Clone, Debug, Default)]
struct DepartureRate {
    /// Start of the measured burst, and its bytes so far.
    burst: Option<(Time, u64)>,
    /// Bytes per second; `None` before the first burst.
    average: Option<f64>,
}

/// Weight of a new departure-rate measurement (Linux).
const RATE_WEIGHT: f64 = 1.0 / 8.0;

impl DepartureRate {
    /// The time of a burst that ends with this departure.
    fn left(&mut self, now: Time, size: u64, waiting: u64) -> Option<Duration> {
        if self.burst.is_none() && waiting >= DQ_THRESHOLD {
            self.burst = Some((now, 0));
        }
        let (began, octets) = self.burst.as_mut()?;
        *octets += size;
        if *octets < DQ_THRESHOLD {
            return None;
        }
        let (took, octets) = (now - *began, *octets);
        self.burst = (waiting >= DQ_THRESHOLD).then_some((now, 0));
        if took.is_zero() {
            return None;
        }
        let rate = octets as f64 / took.as_secs_f64();
        self.average = Some(self.average.map_or(rate, |average| average + (rate - average) * RATE_WEIGHT));
        Some(took)
    }
}

impl Pie {
    pub fn new(config: &PieConfig) -> Pie {
        Pie {
            probability: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_left: config.max_burst,
            left_at: None,
            updates: Updates::every(config.tupdate),
            accumulated: 0.0,
            sojourn: Duration::ZERO,
            rate: DepartureRate::default(),
        }
    }

    /// The drop probability after the last update.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// True if an arriving packet of this size is picked (RFC 8033 sections 4.1 and 5.4). `backlog` excludes the
    /// packet.
    pub fn picks(&mut self, config: &PieConfig, size: Bytes, backlog: Backlog, rng: &mut Rng) -> bool {
        if !self.burst_left.is_zero() {
            return false;
        }
        let delay = if config.dq_rate_estimator { self.delay } else { self.sojourn };
        if delay < config.target / 2 && self.probability < 0.2 {
            return false;
        }
        if backlog.bytes.get() < 2 * config.mtu.get() {
            return false;
        }
        let mut probability = self.probability;
        if config.bytemode && size <= config.mtu {
            probability *= size.get() as f64 / config.mtu.get() as f64;
        }
        if config.derandomise {
            self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated < 8.5 && rng.unit() >= probability {
                return false;
            }
            self.accumulated = 0.0;
            return true;
        }
        rng.unit() < probability
    }

    /// Records a drop of any cause: the even spreading of drops restarts.
    pub fn dropped(&mut self) {
        self.accumulated = 0.0;
    }

    /// Records a departure after `sojourn`, with `waiting` bytes left in the queue.
    pub fn left(&mut self, config: &PieConfig, now: Time, size: Bytes, sojourn: Duration, waiting: Bytes) {
        let passed = if config.dq_rate_estimator {
            self.rate.left(now, size.get(), waiting.get())
        } else {
            self.sojourn = if waiting == Bytes::ZERO { Duration::ZERO } else { sojourn };
            self.left_at.replace(now).map(|before| now - before)
        };
        self.burst_left = self.burst_left.saturating_sub(passed.unwrap_or(Duration::ZERO));
    }

    /// Makes the updates due by `now`. No packet arrived or left since the last call, so `backlog` applies to all of
    /// them.
    pub fn catch_up(&mut self, config: &PieConfig, now: Time, backlog: Backlog) {
        while self.updates.due(now).is_some() {
            let before = self.state();
            self.update(config, backlog);
            // If one step changes nothing, the following steps change nothing either: a long time without packets is
            // cheap.
            if self.state() == before {
                self.updates.skip_to_last(now);
            }
        }
    }

    /// All that an update reads and changes.
    fn state(&self) -> (f64, Duration, Duration, Duration, f64) {
        (self.probability, self.delay, self.old_delay, self.burst_left, self.accumulated)
    }

    /// One update (RFC 8033 sections 4.2, 4.4 and 5.5).
    fn update(&mut self, config: &PieConfig, backlog: Backlog) {
        self.old_delay = self.delay;
        self.delay = self.current_delay(config, backlog);
        let (delay, old, target) =
            (self.delay.as_secs_f64(), self.old_delay.as_secs_f64(), config.target.as_secs_f64());
        let mut change = config.alpha * (delay - target) + config.beta * (delay - old);
        change *= scale(self.probability);
        // Section 5.5: no step above 2 % while the probability is at least 10 %.
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay > LONG_DELAY {
            change += 0.02;
        }
        self.probability = (self.probability + change).clamp(0.0, MOST_PROBABILITY);
        // No delay now nor before: it fades.
        if self.delay.is_zero() && self.old_delay.is_zero() && backlog.packets == 0 {
            self.probability -= self.probability / 64.0;
        }
        let quiet = self.delay < config.target / 2 && self.old_delay < config.target / 2;
        let measured = !config.dq_rate_estimator || self.rate.average.is_some();
        if self.probability == 0.0 && quiet && measured {
            self.burst_left = config.max_burst;
            self.left_at = None;
            self.accumulated = 0.0;
            self.rate = DepartureRate::default();
        }
    }

    fn current_delay(&self, config: &PieConfig, backlog: Backlog) -> Duration {
        if !config.dq_rate_estimator {
            return if backlog.packets == 0 { Duration::ZERO } else { self.sojourn };
        }
        match self.rate.average {
            Some(rate) if rate > 0.0 => Duration::from_nanos((backlog.bytes.get() as f64 / rate * 1e9) as u64),
            _ => Duration::ZERO,
        }
    }
}

/// Factor of a step at this probability (RFC 8033 section 4.2).
pub(crate) fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

/// A PIE queue as plain data, under the names of tc-pie(8).
#[derive(Clone, Debug, PartialEq)]
pub struct PieQueueConfig {
    pub limit: Limit,
    pub pie: PieConfig,
}

impl Default for PieQueueConfig {
    fn default() -> PieQueueConfig {
        PieQueueConfig { limit: Limit::Packets(1000), pie: PieConfig::default() }
    }
}

impl Part for PieQueueConfig {
    const NAME: &'static str = "pie";
    const TEXT: &'static str =
        "PIE (RFC 8033): drops or marks arriving packets with a probability that follows the queueing delay.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<PieQueueConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "What the queue may hold."),
        key("target", |part: &mut Self| &mut part.pie.target, TARGET),
        key("tupdate", |part: &mut Self| &mut part.pie.tupdate, TUPDATE),
        key("alpha", |part: &mut Self| &mut part.pie.alpha, ALPHA).typed(ValueType::Number),
        key("beta", |part: &mut Self| &mut part.pie.beta, BETA).typed(ValueType::Number),
        key("max_burst", |part: &mut Self| &mut part.pie.max_burst, MAX_BURST),
        key("ecn", |part: &mut Self| &mut part.pie.ecn, ECN),
        key("mark_threshold", |part: &mut Self| &mut part.pie.mark_threshold, MARK_THRESHOLD),
        key("bytemode", |part: &mut Self| &mut part.pie.bytemode, BYTEMODE),
        key("dq_rate_estimator", |part: &mut Self| &mut part.pie.dq_rate_estimator, DQ_RATE_ESTIMATOR),
        key("derandomise", |part: &mut Self| &mut part.pie.derandomise, DERANDOMISE),
    ];

    fn check(&self) -> Result<(), Fault> {
        self.pie.check()
    }
}

// Texts of PIE's keys, shared by all disciplines that contain PIE.
pub(crate) const TARGET: &str = "The queueing delay that is aimed at.";
pub(crate) const TUPDATE: &str = "The time between two updates of the drop probability.";
pub(crate) const ALPHA: &str = "The weight of the distance from the target, in 1/s.";
pub(crate) const BETA: &str = "The weight of the change of the delay, in 1/s.";
pub(crate) const MAX_BURST: &str = "How long a burst after a quiet time passes untouched.";
pub(crate) const ECN: &str = "Mark packets that can be marked, while the probability is at most `mark_threshold`.";
pub(crate) const MARK_THRESHOLD: &str = "The probability above which packets are dropped even if they can be marked.";
pub(crate) const BYTEMODE: &str = "Pick small packets less often, in proportion to their size.";
pub(crate) const DQ_RATE_ESTIMATOR: &str =
    "Take backlog over a measured departure rate for the delay, not sojourn times.";
pub(crate) const DERANDOMISE: &str = "Spread drops evenly (RFC 8033 section 5.4), as Linux does.";

impl PieConfig {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.tupdate < Duration::from_micros(100) {
            return Err(Fault::new("tupdate", "the probability is updated at most every 100 us"));
        }
        if self.target.is_zero() {
            return Err(Fault::new("target", "a target of zero would drop every packet"));
        }
        Ok(())
    }
}

impl Discipline for PieQueueConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(PieQueue::new(self, place.rng())?)))
    }
}

/// A FIFO under PIE.
#[derive(Debug)]
pub struct PieQueue {
    config: PieConfig,
    pie: Pie,
    ring: PacketRing,
    limit: BufferLimit,
    rng: Rng,
}

impl PieQueue {
    /// `rng` is this queue's own stream.
    pub fn new(config: &PieQueueConfig, rng: Rng) -> Result<PieQueue, Fault> {
        config.check()?;
        let limit = BufferLimit::new(config.limit, Bytes::ZERO)?;
        Ok(PieQueue { config: config.pie, pie: Pie::new(&config.pie), ring: PacketRing::default(), limit, rng })
    }
}

impl Qdisc for PieQueue {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let (size, backlog) = (packet.size(), self.ring.backlog());
        self.pie.catch_up(&self.config, cx.now(), backlog);
        if !self.limit.fits(size) {
            self.pie.dropped();
            return cx.drop(packet, DropReason::QueueFull);
        }
        if self.pie.picks(&self.config, size, backlog, &mut self.rng) {
            let marks = self.config.ecn && self.pie.probability() <= self.config.mark_threshold;
            if !(marks && cx.mark(&mut packet, MarkReason::Early)) {
                return cx.drop(packet, DropReason::Early);
            }
        }
        self.limit.charge(size);
        self.ring.push(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.pie.catch_up(&self.config, cx.now(), self.ring.backlog());
        let given = self.ring.pop()?;
        let size = given.packet.size();
        self.limit.release(size);
        let (now, waiting) = (cx.now(), self.ring.backlog().bytes);
        self.pie.left(&self.config, now, size, now - given.enqueued_at, waiting);
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.ring.remove(waiting)?;
        self.limit.release(packet.size());
        Some(packet)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("drop_probability", self.pie.probability());
    }
}
