//! DOCSIS-PIE: PIE as specified for cable modems (RFC 8034).
//!
//! Differences from PIE:
//!
//! - The queueing delay is predicted from the backlog and the rate shaper of the service flow (section 4.3), not
//!   measured.
//! - The drop probability of a packet is proportional to its size (section 4.6).
//! - Drops are spread evenly (section 4.5). No packet is dropped while the sum of the probabilities is below 0.85. A
//!   packet is always dropped if the sum is at least 8.5.
//! - A probability of 10 % or more grows by at most 2 % per update. The maximum probability is 0.85 times 1024/64.
//! - After 1 s with short delays, no packet is dropped until 1/3 of the buffer is full (section 4.4).
//!
//! **Deviations.** The keys `msr` (maximum sustained rate), `peak_rate` and `burst` must describe the link's token
//! bucket. There is no timer: the next call computes the missed updates, at most 65,536 of them.

use crate::aqm::updates::Updates;
use crate::{Backlog, Buffer, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Duration, Packet, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Settings of DOCSIS-PIE, named as in the RFC.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisPieConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// `LATENCY_TARGET`: target of the queueing delay.
    pub latency_target: Duration,
    /// `MSR`: maximum sustained rate of the service flow. `None`: unknown, which is an error when the queue is built.
    pub msr: Option<BitRate>,
    /// `PEAK_RATE`: maximum rate at which packets are sent while the sustained rate's bucket has tokens. `None`: the
    /// sustained rate.
    pub peak_rate: Option<BitRate>,
    /// Depth of the sustained rate's token bucket in bytes.
    pub burst: Bytes,
}

impl Default for DocsisPieConfig {
    /// The values of DOCSIS 3.1: a target of 10 ms and a bucket of 3,044 bytes.
    fn default() -> DocsisPieConfig {
        DocsisPieConfig {
            limit: Limit::Packets(1000),
            latency_target: Duration::from_millis(10),
            msr: None,
            peak_rate: None,
            burst: Bytes::new(3044),
        }
    }
}

impl Part for DocsisPieConfig {
    const NAME: &'static str = "docsis-pie";
    const TEXT: &'static str =
        "DOCSIS-PIE (RFC 8034): PIE as in cable modems, with a queueing delay that the modem predicts.";
    const KEYS: &'static [Key<DocsisPieConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Limit of the queue."),
        key("latency_target", |part: &mut Self| &mut part.latency_target, "Target of the queueing delay."),
        key("msr", |part: &mut Self| &mut part.msr, "The maximum sustained rate of the service flow.")
            .none_word("unlimited")
            .default_text("the line's"),
        key(
            "peak_rate",
            |part: &mut Self| &mut part.peak_rate,
            "The rate at which packets leave while the token bucket is not empty.",
        )
        .none_word("unlimited")
        .default_text("the sustained rate"),
        key("burst", |part: &mut Self| &mut part.burst, "Depth of the token bucket for the maximum sustained rate."),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if !given.has("msr") {
            self.msr = given.line_rate;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.latency_target.is_zero() {
            return Err(Fault::new("latency_target", "a target of zero would drop every packet"));
        }
        self.sustained().map(|_| ())
    }
}

impl Discipline for DocsisPieConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(DocsisPie::new(self, place.rng())?)))
    }
}

impl DocsisPieConfig {
    /// Returns the sustained rate in bytes per second, or an error if the rate is unknown.
    fn sustained(&self) -> Result<f64, Fault> {
        let known = self.msr.filter(|rate| rate.as_bps() > 0);
        let unknown = || Fault::new("msr", "the rate that predicts the delay is unknown");
        known.map(|rate| rate.as_bps() as f64 / 8.0).ok_or_else(unknown)
    }
}

// RFC 8034, appendix A.
const INTERVAL: Duration = Duration::from_millis(16);
const MAX_BURST: Duration = Duration::from_millis(142);
const BURST_RESET_TIMEOUT: Duration = Duration::from_secs(1);
const MEAN_PKTSIZE: u64 = 1024;
const MIN_PKTSIZE: u64 = 64;
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;
const LATENCY_LOW: Duration = Duration::from_millis(5);
const LATENCY_HIGH: Duration = Duration::from_millis(200);
const A: f64 = 0.25;
const B: f64 = 2.5;

/// The controller of one service flow.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisPieLaw {
    /// Drop probability of a packet of mean size. It may exceed 1.
    probability: f64,
    /// Sum of the drop probabilities of the packets since the last drop.
    accumulated: f64,
    /// Predicted queueing delay at the last update.
    delay: Duration,
    old_delay: Duration,
    /// Remaining burst allowance, during which no packet is dropped.
    burst_left: Duration,
    state: AqmState,
}

/// The AQM state (`aqm_state_` in appendix A).
#[derive(Clone, Copy, Debug, PartialEq)]
enum AqmState {
    /// No packet is dropped until 1/3 of the buffer is full.
    Inactive,
    /// The next drop starts a burst allowance. The value is the time for which delays have been short.
    Quiescent(Duration),
    /// Packets are dropped.
    Active,
}

impl Default for DocsisPieLaw {
    /// The state of a queue without load, whose delays have been short for a long time.
    fn default() -> DocsisPieLaw {
        DocsisPieLaw {
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_left: Duration::ZERO,
            state: AqmState::Inactive,
        }
    }
}

impl DocsisPieLaw {
    /// Returns the drop probability of a packet of mean size.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Returns true if an arriving packet is to be dropped. `waiting` is the number of queued bytes. `third` is true if
    /// at least 1/3 of the buffer is full.
    pub fn drops(&mut self, target: Duration, size: Bytes, waiting: Bytes, third: bool, rng: &mut Rng) -> bool {
        if !self.burst_left.is_zero() {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        if self.state == AqmState::Inactive {
            if !third {
                return false;
            }
            self.state = AqmState::Quiescent(Duration::ZERO);
        }
        let own = (self.probability * size.get() as f64 / MEAN_PKTSIZE as f64).min(PROB_LOW);
        self.accumulated += own;
        // Appendix A: drop nothing while at most 2 packets of mean size are queued, or while delays are short.
        let few = waiting.get() <= 2 * MEAN_PKTSIZE;
        if (self.delay < target / 2 && self.probability < 0.2) || few || self.accumulated < PROB_LOW {
            return false;
        }
        // Section 4.5: the drop is random while the sum is between `PROB_LOW` and `PROB_HIGH`, and certain from
        // `PROB_HIGH` on.
        if self.accumulated < PROB_HIGH && rng.unit() > own {
            return false;
        }
        self.accumulated = 0.0;
        // Section 4.4: the first drop after a time with short delays starts a burst allowance.
        if matches!(self.state, AqmState::Quiescent(_)) {
            self.state = AqmState::Active;
            self.burst_left = MAX_BURST;
        }
        true
    }

    /// Handles a packet that was dropped because there was no room.
    fn overflowed(&mut self) {
        self.accumulated = 0.0;
    }

    /// Updates the probability at the end of an interval. `delay` is the predicted delay at that time.
    pub fn update(&mut self, target: Duration, delay: Duration) {
        self.old_delay = self.delay;
        self.delay = delay;
        if self.burst_left.is_zero() {
            self.step(target);
        } else {
            self.probability = 0.0;
            self.burst_left = self.burst_left.saturating_sub(INTERVAL);
        }
        let delays_are_short = self.delay < target / 2 && self.old_delay < target / 2;
        // Appendix A: the queue is quiet if delays are short, the drop probability is 0 and no burst allowance is left.
        let is_quiet = delays_are_short && self.probability == 0.0 && self.burst_left.is_zero();
        self.state = match self.state {
            AqmState::Active if is_quiet => AqmState::Quiescent(Duration::ZERO),
            AqmState::Quiescent(_) if !is_quiet => AqmState::Quiescent(Duration::ZERO),
            AqmState::Quiescent(since) if since + INTERVAL > BURST_RESET_TIMEOUT => AqmState::Inactive,
            AqmState::Quiescent(since) => AqmState::Quiescent(since + INTERVAL),
            state => state,
        };
    }

    /// Computes the new drop probability (RFC 8034, appendix A, `calculate_drop_prob`).
    fn step(&mut self, target: Duration) {
        let (now, old) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let mut step = (A * (now - target.as_secs_f64()) + B * (now - old)) * scale(self.probability);
        // Section 4.2: limit the growth of a high probability, so that the probability does not oscillate.
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.delay < LATENCY_LOW && self.old_delay < LATENCY_LOW {
            // Without a backlog the probability decays.
            self.probability *= 0.98;
        } else if self.delay > LATENCY_HIGH {
            self.probability += 0.02;
        }
        self.probability = self.probability.clamp(0.0, PROB_LOW * (MEAN_PKTSIZE / MIN_PKTSIZE) as f64);
    }
}

/// Returns the factor by which a change of the probability is scaled. Below 10 %, PIE's factor applies.
fn scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.1 => crate::aqm::pie::scale(p),
        p if p < 1.0 => 2.0,
        p if p < 10.0 => 8.0,
        _ => 32.0,
    }
}

/// A FIFO queue that DOCSIS-PIE controls.
#[derive(Debug)]
pub struct DocsisPie {
    config: DocsisPieConfig,
    /// Sustained rate in bytes per second.
    sustained: f64,
    law: DocsisPieLaw,
    updates: Updates,
    /// Bytes in the sustained rate's token bucket at the time `tokens_at`.
    tokens: f64,
    tokens_at: Time,
    buffer: Buffer,
    rng: Rng,
}

impl DocsisPie {
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if the target is zero or the sustained rate is unknown.
    pub fn new(config: &DocsisPieConfig, rng: Rng) -> Result<DocsisPie, Fault> {
        config.check_all()?;
        Ok(DocsisPie {
            sustained: config.sustained()?,
            law: DocsisPieLaw::default(),
            updates: Updates::every(INTERVAL),
            tokens: config.burst.get() as f64,
            tokens_at: Time::ZERO,
            buffer: Buffer::new(config.limit, Bytes::ZERO)?,
            config: config.clone(),
            rng,
        })
    }

    /// Computes all updates that are due. The backlog must be unchanged since the last call.
    fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.updates.due(now) {
            // Compare the tokens as well, because the predicted delay depends on them.
            let before = (self.law.clone(), self.tokens);
            let delay = self.predicted_delay(at);
            self.law.update(self.config.latency_target, delay);
            // The backlog is constant. If one update changes neither state nor tokens, the following updates change
            // nothing, so skip them.
            if (&self.law, self.tokens) == (&before.0, before.1) {
                self.updates.skip_to_last(now);
            }
        }
    }

    /// Returns the predicted queueing delay: at the peak rate while there are tokens, then at the sustained rate.
    fn predicted_delay(&mut self, at: Time) -> Duration {
        self.fill(at);
        let waiting = self.buffer.backlog().bytes.get() as f64;
        let seconds = match self.config.peak_rate {
            None => waiting / self.sustained,
            Some(peak) => {
                let at_peak = waiting.min(self.tokens);
                at_peak * 8.0 / peak.as_bps() as f64 + (waiting - at_peak) / self.sustained
            }
        };
        Duration::from_nanos((seconds * 1e9) as u64)
    }

    /// Adds the tokens that have arrived since the last call.
    fn fill(&mut self, now: Time) {
        let gained = now.saturating_since(self.tokens_at).as_secs_f64() * self.sustained;
        self.tokens = (self.tokens + gained).min(self.config.burst.get() as f64);
        self.tokens_at = now;
    }
}

impl Qdisc for DocsisPie {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.catch_up(cx.now());
        let (size, waiting) = (packet.size(), self.buffer.backlog().bytes);
        if !self.buffer.fits(size) {
            self.law.overflowed();
            return cx.drop(packet, DropReason::QueueFull);
        }
        // If the limit is in bins, the buffer always counts as at least 1/3 full.
        let third = match self.config.limit {
            Limit::Packets(limit) => 3 * u64::from(self.buffer.backlog().packets) >= u64::from(limit),
            Limit::Bytes(limit) => 3 * waiting.get() >= limit.get(),
            _ => true,
        };
        if self.law.drops(self.config.latency_target, size, waiting, third, &mut self.rng) {
            return cx.drop(packet, DropReason::Early);
        }
        self.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.catch_up(cx.now());
        let given = self.buffer.pop()?;
        let size = given.packet.size();
        self.fill(cx.now());
        // A departing packet removes tokens from the sustained rate's bucket.
        self.tokens = (self.tokens - size.get() as f64).max(0.0);
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("drop_probability", self.law.probability());
        out("predicted_delay_ms", self.law.delay.as_millis_f64());
    }
}
