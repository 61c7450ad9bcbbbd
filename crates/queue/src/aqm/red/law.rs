//! The two parts of RED: the average backlog, and the random selection of packets to drop or mark.

use crate::aqm::updates::Updates;
use lopsided_core::{BitRate, Bytes, Duration, MarkReason, Rng, Time};

/// A weighted average of the backlog, sampled at each arrival. It decays while the queue is idle.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    weight: f64,
    /// Transmission time of a packet of average size; zero if the rate is infinite.
    idle_packet: Duration,
    /// True if the average decays while the queue is idle.
    falls: bool,
    /// The current average.
    value: f64,
    /// Start of the idle time for which the average has not decayed yet. `None` while the queue has packets.
    idle_since: Option<Time>,
    /// True if the packet that ends an idle time counts as a sample.
    counts_first: bool,
    /// True if only the integer part of the average is subtracted from a sample.
    whole: bool,
}

impl Average {
    /// Creates the average of an empty queue.
    pub fn new(weight: f64, idle_packet: Duration) -> Average {
        Average {
            weight,
            idle_packet,
            falls: true,
            value: 0.0,
            idle_since: Some(Time::ZERO),
            counts_first: false,
            whole: false,
        }
    }

    /// Selects Linux's fixed-point arithmetic, whose rounding raises the average by half a unit.
    pub fn in_whole(self) -> Average {
        Average { whole: true, ..self }
    }

    /// Sets whether the packet that ends an idle time is a sample of the backlog.
    pub fn counting_first(self, counts_first: bool) -> Average {
        Average { counts_first, ..self }
    }

    /// Sets whether the average decays while the queue is idle.
    pub fn falling(self, falls: bool) -> Average {
        Average { falls, ..self }
    }

    /// Handles the arrival of a packet at a queue with this backlog.
    pub fn arrival(&mut self, backlog: u64, now: Time) {
        match self.idle_since {
            Some(since) => {
                self.value *= self.decay(now - since);
                // In ns-2 the arriving packet is also a sample, with a backlog of 0.
                if self.counts_first {
                    self.value *= 1.0 - self.weight;
                }
                self.idle_since = Some(now);
            }
            None => {
                let before = if self.whole { libm::floor(self.value) } else { self.value };
                self.value += self.weight * (backlog as f64 - before);
            }
        }
    }

    /// Returns the average at `now`, if no packet has arrived since the last call of `arrival`.
    pub fn at(&self, now: Time) -> f64 {
        self.idle_since.map_or(self.value, |since| self.value * self.decay(now.saturating_since(since)))
    }

    /// Returns the average after the last arrival.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// True if the queue is idle.
    pub fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Handles an enqueued packet, which ends the idle time.
    pub fn filled(&mut self) {
        self.idle_since = None;
    }

    /// Handles the departure of the last packet, which starts the idle time unless the average never decays.
    pub fn emptied(&mut self, now: Time) {
        if self.falls {
            self.idle_since = Some(now);
        }
    }

    /// Returns the factor by which the average decays during an idle time of this length.
    fn decay(&self, idle: Duration) -> f64 {
        // Floyd and Jacobson, section 4: the average decays as if packets of average size had arrived at the rate of
        // the line, each at an empty queue.
        if self.idle_packet.is_zero() {
            return 0.0;
        }
        let packets = idle.as_nanos() as f64 / self.idle_packet.as_nanos() as f64;
        libm::pow(1.0 - self.weight, packets)
    }
}

/// The decision on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Accept the packet unchanged.
    Pass,
    /// Drop or mark the packet, which was selected at random.
    Early,
    /// Drop or mark the packet. The average is so high that all packets are selected.
    Hard,
}

impl Verdict {
    /// Returns the reason to report if the packet is marked instead of dropped.
    pub fn mark_reason(self) -> MarkReason {
        if self == Verdict::Hard { MarkReason::Forced } else { MarkReason::Early }
    }
}

/// Selects packets at random: computes the drop probability from the average, and counts the packets until the next
/// selection. The slope is the range of the average in which the probability rises: from `min` to `max`, or to twice
/// `max` if the slope is gentle.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    min: f64,
    max: f64,
    gentle: bool,
    /// Drop or mark probability at an average of `max`.
    pub probability: f64,
    /// Number of packets since the last selected packet. `None` while the average is below or above the slope.
    count: Option<u32>,
    /// Random number in [0, 1) that determines the number of packets until the next selected packet.
    draw: f64,
}

impl Slope {
    /// Creates a slope. `min` and `max` have the unit of the average.
    pub fn new(min: f64, max: f64, probability: f64, gentle: bool) -> Slope {
        Slope { min, max, gentle, probability, count: None, draw: 0.0 }
    }

    /// Handles a packet that arrives while the average is below or above the slope. Ends the current interval.
    pub fn leave(&mut self) {
        self.count = None;
    }

    /// Decides on a packet that arrives while the average is `average`.
    pub fn judge(&mut self, average: f64, rng: &mut Rng) -> Verdict {
        // Floyd 2000: with the gentle slope, all packets are selected only above twice `max`.
        let top = if self.gentle { 2.0 * self.max } else { self.max };
        if average < self.min || average >= top {
            self.count = None;
            // Below the slope all packets pass, and above the slope all packets are selected. The random interval ends.
            // The next packet that arrives on the slope starts a new interval.
            return if average < self.min { Verdict::Pass } else { Verdict::Hard };
        }
        let Some(count) = self.count else {
            // The first packet that arrives on the slope is accepted and starts an interval.
            self.begin_interval(rng);
            return Verdict::Pass;
        };
        let count = count + 1;
        self.count = Some(count);
        // Section 8 of the paper, method 2: the interval between selected packets is uniform over 1 to 1/p, not
        // geometric.
        if self.probability_at(average) * f64::from(count) < self.draw {
            return Verdict::Pass;
        }
        self.begin_interval(rng);
        Verdict::Early
    }

    /// True if the average is above `min`.
    pub fn is_above_min(&self, average: f64) -> bool {
        average > self.min
    }

    /// Starts a new interval, which ends with the next selected packet.
    fn begin_interval(&mut self, rng: &mut Rng) {
        self.count = Some(0);
        self.draw = rng.unit();
    }

    /// Returns the drop probability at this average, which must be on the slope.
    fn probability_at(&self, average: f64) -> f64 {
        let at_max = self.probability;
        if average < self.max {
            at_max * (average - self.min) / (self.max - self.min)
        } else {
            at_max + (1.0 - at_max) * (average - self.max) / self.max
        }
    }
}

/// Adaptive RED (Floyd, Gummadi and Shenker 2001, section 4): adapts the probability at `max` so that the average stays
/// between 40 % and 60 % of the range from `min` to `max`.
#[derive(Clone, Debug)]
pub(crate) struct Adaptation {
    low: f64,
    high: f64,
    updates: Updates,
}

impl Adaptation {
    /// Time between two adaptations.
    const INTERVAL: Duration = Duration::from_millis(500);
    /// The probability increases only while it is at most this value.
    const TOP: f64 = 0.5;
    /// The probability decreases only while it is at least this value.
    const BOTTOM: f64 = 0.01;
    /// Maximum increase of the probability per adaptation.
    const ALPHA: f64 = 0.01;
    /// Factor by which the probability shrinks per adaptation.
    const BETA: f64 = 0.9;

    /// Creates the adaptation for the thresholds `min` and `max`.
    pub fn new(min: f64, max: f64) -> Adaptation {
        let range = max - min;
        Adaptation { low: min + 0.4 * range, high: min + 0.6 * range, updates: Updates::every(Adaptation::INTERVAL) }
    }

    /// Applies all adaptations that are due. Call this for each arriving packet, before the packet updates the average.
    pub fn catch_up(&mut self, slope: &mut Slope, average: &Average, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let value = average.at(at);
            if value > self.high && slope.probability <= Adaptation::TOP {
                slope.probability += (slope.probability / 4.0).min(Adaptation::ALPHA);
            } else if value < self.low && slope.probability >= Adaptation::BOTTOM {
                slope.probability *= Adaptation::BETA;
            } else if value < self.low || !average.is_idle() {
                // No packet has arrived since the last call, so the average is constant or decays. The following
                // adaptations would change nothing.
                self.updates.skip_to_last(now);
            }
        }
    }
}

/// Returns the transmission time of a packet of average size; zero if the rate is infinite.
pub(crate) fn idle_packet(rate: Option<BitRate>, avpkt: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_to_send(avpkt, 0).0)
}
