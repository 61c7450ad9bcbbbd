//! PIE: Proportional Integral controller Enhanced (RFC 8033).
//!
//! Every `tupdate`, PIE computes the drop probability of arriving packets from the queueing delay and the change of
//! this delay. With `ecn`, packets are marked instead of dropped while the probability is at most `mark_threshold`.
//!
//! [`Pie`] is the controller for one queue, which fq_pie uses for each flow. [`PieQueue`] is a FIFO queue with this
//! controller.
//!
//! The delay is the sojourn time of the last packet that left (RFC 8033, section 5.3; `dq_rate_estimator = false`,
//! Linux's default since 5.6), or the backlog divided by a measured departure rate (section 5.2).
//!
//! There is no timer: the next call computes the missed updates, at most 65,536 of them.
//!
//! This module follows Linux 6.1 if the RFC leaves a choice or differs from Linux:
//!
//! - With sojourn times, the check for short delays (section 4.1) uses the delay of the last departed packet instead of
//!   the delay at the last update. The delay is 0 if no packet remained in the queue.
//! - The burst allowance decreases at departures, not at updates.
//! - A delay above 250 ms adds 2 % to each update of the probability.
//! - Without delay the probability decreases by 1/64 per update.
//! - The probability is capped at 256 instead of 1.
//! - A measured departure rate is smoothed with a weight of 1/8.
//! - Every drop, including one that a full queue causes, restarts the even spreading of drops (section 5.4).
//!   `derandomise = false` disables the spreading.

use crate::aqm::updates::Updates;
use crate::{Backlog, Buffer, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Key, Part, ValueType, key};

/// Parameters of PIE, named as in tc-pie(8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Target of the queueing delay (`QDELAY_REF`).
    pub target: Duration,
    /// Interval between two updates of the probability (`T_UPDATE`).
    pub tupdate: Duration,
    /// Weight of the difference between delay and target, in 1/s.
    pub alpha: f64,
    /// Weight of the delay's change since the last update, in 1/s.
    pub beta: f64,
    /// Burst allowance: time after a period with short delays during which no packet is dropped (`MAX_BURST`).
    pub max_burst: Duration,
    /// True if ECN-capable packets are marked instead of dropped while the probability is at most `mark_threshold`.
    pub ecn: bool,
    /// Probability above which even ECN-capable packets are dropped.
    pub mark_threshold: f64,
    /// True if the drop probability of a packet is proportional to its size (`bytemode`).
    pub bytemode: bool,
    /// True if the delay is computed from the departure rate instead of sojourn times.
    pub dq_rate_estimator: bool,
    /// True if drops are spread evenly (RFC 8033, section 5.4).
    pub derandomise: bool,
    /// Size of a full IP packet in bytes. No packet is dropped while the backlog is below two full packets.
    pub mtu: Bytes,
}

impl Default for PieConfig {
    /// The defaults of RFC 8033, section 4, and Linux: target 15 ms, updates every 15 ms, alpha 1/8, beta 5/4, burst
    /// allowance 150 ms.
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

/// Number of bytes over which the departure rate is measured (RFC 8033, section 4, `DQ_THRESHOLD`).
const DQ_THRESHOLD: u64 = 1 << 14;

/// Maximum drop probability. RFC 8033, section 4.2, limits the probability to 1. Linux only prevents an overflow
/// (`pie_calculate_probability`), so the probability grows far above 1 in a long overload.
const MOST_PROBABILITY: f64 = 256.0;
/// Delay above which the probability grows faster, as in Linux.
const LONG_DELAY: Duration = Duration::from_millis(250);

/// The controller for one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    probability: f64,
    /// Queueing delay at the last update.
    delay: Duration,
    /// Queueing delay at the second-to-last update.
    old_delay: Duration,
    /// Remaining burst allowance.
    burst_left: Duration,
    /// Time of the latest departure in this busy period. The burst allowance decreases by the time between departures.
    left_at: Option<Time>,
    updates: Updates,
    /// Sum of the drop probabilities since the last drop.
    accumulated: f64,
    /// Sojourn time of the latest packet that left.
    sojourn: Duration,
    rate: DepartureRate,
}

/// The departure rate, measured over [`DQ_THRESHOLD`] consecutive bytes (RFC 8033, section 5.2).
#[derive(Clone, Debug, Default)]
struct DepartureRate {
    /// Start time of the current measurement, and the number of bytes sent in it. `None` between measurements.
    burst: Option<(Time, u64)>,
    /// Smoothed departure rate in bytes per second. `None` before the first measurement.
    average: Option<f64>,
}

/// Weight of a new measurement of the departure rate, as in Linux.
const RATE_WEIGHT: f64 = 1.0 / 8.0;

impl DepartureRate {
    /// Handles a departure. If it completes a measurement, returns the duration of the measurement.
    fn left(&mut self, now: Time, size: u64, waiting: u64) -> Option<Duration> {
        if self.burst.is_none() && waiting >= DQ_THRESHOLD {
            self.burst = Some((now, 0));
        }
        // Section 5.2: start a measurement only if the backlog is large enough to keep the line busy until the
        // measurement ends.
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
        // Smooth the measured rates with an exponentially weighted moving average.
        let rate = octets as f64 / took.as_secs_f64();
        self.average = Some(self.average.map_or(rate, |average| average + (rate - average) * RATE_WEIGHT));
        Some(took)
    }
}

impl Pie {
    /// Creates the controller of an empty queue.
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

    /// Returns the drop probability that the latest update computed.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// True if an arriving packet must be dropped or marked (RFC 8033, sections 4.1 and 5.4). `backlog` excludes the
    /// packet.
    pub fn picks(&mut self, config: &PieConfig, size: Bytes, backlog: Backlog, rng: &mut Rng) -> bool {
        if !self.burst_left.is_zero() {
            return false;
        }
        let delay = if config.dq_rate_estimator { self.delay } else { self.sojourn };
        // Section 4.1: drop nothing while the delay is short and the probability is small.
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
            // Section 5.4: drop no packet if the sum is below 0.85, and every packet if the sum is at least 8.5.
            // Between these values, drop at random.
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

    /// Handles a drop for any reason. Restarts the even spreading of drops.
    pub fn dropped(&mut self) {
        self.accumulated = 0.0;
    }

    /// Handles the departure of a packet after `sojourn`. `waiting` is the number of bytes that remain in the queue.
    pub fn left(&mut self, config: &PieConfig, now: Time, size: Bytes, sojourn: Duration, waiting: Bytes) {
        let passed = if config.dq_rate_estimator {
            self.rate.left(now, size.get(), waiting.get())
        } else {
            // Linux resets the delay when the queue becomes empty, so that an idle queue has no delay.
            self.sojourn = if waiting == Bytes::ZERO { Duration::ZERO } else { sojourn };
            self.left_at.replace(now).map(|before| now - before)
        };
        self.burst_left = self.burst_left.saturating_sub(passed.unwrap_or(Duration::ZERO));
    }

    /// Computes all updates that are due at `now`. The backlog must be unchanged since the last call.
    pub fn catch_up(&mut self, config: &PieConfig, now: Time, backlog: Backlog) {
        while self.updates.due(now).is_some() {
            let before = self.state();
            self.update(config, backlog);
            // If one update changes nothing, the following updates change nothing either, so skip them. A long idle
            // time thus costs little.
            if self.state() == before {
                self.updates.skip_to_last(now);
            }
        }
    }

    /// Returns all values that an update reads and may change.
    fn state(&self) -> (f64, Duration, Duration, Duration, f64) {
        (self.probability, self.delay, self.old_delay, self.burst_left, self.accumulated)
    }

    /// Computes one update (RFC 8033, sections 4.2, 4.4 and 5.5).
    fn update(&mut self, config: &PieConfig, backlog: Backlog) {
        self.old_delay = self.delay;
        self.delay = self.current_delay(config, backlog);
        let (delay, old, target) =
            (self.delay.as_secs_f64(), self.old_delay.as_secs_f64(), config.target.as_secs_f64());
        let mut change = config.alpha * (delay - target) + config.beta * (delay - old);
        change *= scale(self.probability);
        // Section 5.5: if the probability is at least 10 %, this change is limited to 2 %.
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay > LONG_DELAY {
            change += 0.02;
        }
        self.probability = (self.probability + change).clamp(0.0, MOST_PROBABILITY);
        // The probability decays if there was no delay at this update and at the previous one.
        if self.delay.is_zero() && self.old_delay.is_zero() && backlog.packets == 0 {
            self.probability -= self.probability / 64.0;
        }
        // Section 4.4: after a time with short delays, the full burst allowance is available again.
        let quiet = self.delay < config.target / 2 && self.old_delay < config.target / 2;
        // Before the first measurement of the departure rate, the delay is unknown and does not count as short.
        let measured = !config.dq_rate_estimator || self.rate.average.is_some();
        if self.probability == 0.0 && quiet && measured {
            self.burst_left = config.max_burst;
            self.left_at = None;
            self.accumulated = 0.0;
            self.rate = DepartureRate::default();
        }
    }

    /// Returns the current queueing delay, measured by the configured method.
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

/// Returns the factor by which a change of the probability is scaled (RFC 8033, section 4.2).
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

/// Settings of a PIE queue, named as in tc-pie(8).
#[derive(Clone, Debug, PartialEq)]
pub struct PieQueueConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Parameters of the controller.
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
        key("limit", |part: &mut Self| &mut part.limit, "Limit of the queue."),
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

// Descriptions of PIE's keys, shared by all disciplines that contain PIE.
pub(crate) const TARGET: &str = "Target of the queueing delay.";
pub(crate) const TUPDATE: &str = "The time between two updates of the drop probability.";
pub(crate) const ALPHA: &str = "Weight of the difference between the delay and the target, in 1/s.";
pub(crate) const BETA: &str = "Weight of the change in delay since the last update, in 1/s.";
pub(crate) const MAX_BURST: &str =
    "Length of the burst that is allowed after an idle period: during this time, no packet is dropped or marked.";
pub(crate) const ECN: &str =
    "Mark ECN-capable packets instead of dropping them while the drop probability is at most `mark_threshold`.";
pub(crate) const MARK_THRESHOLD: &str =
    "Drop probability above which ECN-capable packets are dropped instead of marked.";
pub(crate) const BYTEMODE: &str = "Mark or drop small packets less often, in proportion to their size.";
pub(crate) const DQ_RATE_ESTIMATOR: &str =
    "Compute the delay as backlog divided by a measured departure rate, instead of from sojourn times.";
pub(crate) const DERANDOMISE: &str = "Spread drops evenly (RFC 8033 section 5.4), as Linux does.";

impl PieConfig {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.tupdate < Duration::from_micros(100) {
            return Err(Fault::new("tupdate", "the time between two updates must be at least 100 us"));
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

/// A FIFO queue that PIE controls.
#[derive(Debug)]
pub struct PieQueue {
    config: PieConfig,
    pie: Pie,
    buffer: Buffer,
    rng: Rng,
}

impl PieQueue {
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &PieQueueConfig, rng: Rng) -> Result<PieQueue, Fault> {
        config.check_all()?;
        let buffer = Buffer::new(config.limit, Bytes::ZERO)?;
        Ok(PieQueue { config: config.pie, pie: Pie::new(&config.pie), buffer, rng })
    }
}

impl Qdisc for PieQueue {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        let (size, backlog) = (packet.size(), self.buffer.backlog());
        self.pie.catch_up(&self.config, cx.now(), backlog);
        if !self.buffer.fits(size) {
            self.pie.dropped();
            return cx.drop(packet, DropReason::QueueFull);
        }
        if self.pie.picks(&self.config, size, backlog, &mut self.rng) {
            // RFC 8033, section 5.1: above the threshold even ECN-capable packets are dropped.
            let marks = self.config.ecn && self.pie.probability() <= self.config.mark_threshold;
            if !(marks && cx.mark(&mut packet, MarkReason::Early)) {
                return cx.drop(packet, DropReason::Early);
            }
        }
        self.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.pie.catch_up(&self.config, cx.now(), self.buffer.backlog());
        let given = self.buffer.pop()?;
        let size = given.packet.size();
        let (now, waiting) = (cx.now(), self.buffer.backlog().bytes);
        self.pie.left(&self.config, now, size, now - given.enqueued_at, waiting);
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("drop_probability", self.pie.probability());
    }
}
