//! The two parts of RED: the average backlog, and the selection of packets by it.

use crate::aqm::updates::Updates;
use lopsided_core::{BitRate, Bytes, Duration, MarkReason, Rng, Time};

/// An average over arrivals that decays while the queue is idle.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    weight: f64,
    /// Time to send a packet of average size; 0 without a rate.
    idle_packet: Duration,
    /// False if the average does not decay while the queue is idle.
    falls: bool,
    /// The current average.
    value: f64,
    /// Time up to which the average accounts for an idle queue. `None` while the queue has packets.
    idle_since: Option<Time>,
    /// True if the packet that ends an idle time is a sample too.
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

    /// Returns the average in Linux's fixed point, where a sample moves it by the difference between the backlog and
    /// its integer part. Its mean is then half a unit above the mean backlog. That is negligible in bytes and large in
    /// packets.
    pub fn in_whole(self) -> Average {
        Average { whole: true, ..self }
    }

    /// Selects whether the packet that ends an idle time is a sample too.
    pub fn counting_first(self, counts_first: bool) -> Average {
        Average { counts_first, ..self }
    }

    /// Selects whether the average decays while the queue is idle.
    pub fn falling(self, falls: bool) -> Average {
        Average { falls, ..self }
    }

    /// Handles an arriving packet that finds this backlog.
    pub fn arrival(&mut self, backlog: u64, now: Time) {
        match self.idle_since {
            Some(since) => {
                self.value *= self.decay(now - since);
                // ns-2 also counts the packet itself as a sample of an empty queue.
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

    /// Returns the average at `now`, if no packet has arrived in between.
    pub fn at(&self, now: Time) -> f64 {
        self.idle_since.map_or(self.value, |since| self.value * self.decay(now.saturating_since(since)))
    }

    /// Returns the average as of the last arrival.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// True if the queue is idle.
    pub fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Handles an enqueued packet: the queue is no longer idle.
    pub fn filled(&mut self) {
        self.idle_since = None;
    }

    /// Handles the departure of the last packet: the queue is idle now, unless the average never decays.
    pub fn emptied(&mut self, now: Time) {
        if self.falls {
            self.idle_since = Some(now);
        }
    }

    /// Returns the factor by which the average decays in an idle time.
    fn decay(&self, idle: Duration) -> f64 {
        // Floyd and Jacobson, section 4: as if the line had sent packets of average size, each finding an empty queue.
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
    /// Neither drop nor mark.
    Pass,
    /// Drop or mark: selected at random.
    Early,
    /// Drop or mark: the average is so high that all packets are selected.
    Hard,
}

impl Verdict {
    /// Returns the reason of a mark that replaces a drop.
    pub fn mark_reason(self) -> MarkReason {
        if self == Verdict::Hard { MarkReason::Forced } else { MarkReason::Early }
    }
}

/// The probability as a function of the average, and the position of the next selected packet.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    min: f64,
    max: f64,
    gentle: bool,
    /// Probability at `max`.
    pub probability: f64,
    /// Packets since the last selected one. `None` while the average is outside the slope.
    count: Option<u32>,
    /// Random number that determines the position of the next selected packet in its interval.
    draw: f64,
}

impl Slope {
    /// Creates a slope. `min` and `max` have the unit of the average.
    pub fn new(min: f64, max: f64, probability: f64, gentle: bool) -> Slope {
        Slope { min, max, gentle, probability, count: None, draw: 0.0 }
    }

    /// Handles a packet that passes without a decision: the interval restarts.
    pub fn leave(&mut self) {
        self.count = None;
    }

    /// Decides on a packet that arrives at this average.
    pub fn judge(&mut self, average: f64, rng: &mut Rng) -> Verdict {
        // Floyd 2000: with the gentle slope the certain region starts at twice `max`.
        let top = if self.gentle { 2.0 * self.max } else { self.max };
        if average < self.min || average >= top {
            self.count = None;
            // Outside the slope there is no interval; the next packet on the slope starts one.
            return if average < self.min { Verdict::Pass } else { Verdict::Hard };
        }
        let Some(count) = self.count else {
            // The first packet above `min` passes and starts an interval.
            self.begin_interval(rng);
            return Verdict::Pass;
        };
        let count = count + 1;
        self.count = Some(count);
        // Section 8 of the paper, method 2: intervals are uniform over 1 to 1/p instead of geometric.
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

    /// Starts the interval to the next selected packet.
    fn begin_interval(&mut self, rng: &mut Rng) {
        self.count = Some(0);
        self.draw = rng.unit();
    }

    /// Returns the probability at this average, which must be on the slope.
    fn probability_at(&self, average: f64) -> f64 {
        let at_max = self.probability;
        if average < self.max {
            at_max * (average - self.min) / (self.max - self.min)
        } else {
            at_max + (1.0 - at_max) * (average - self.max) / self.max
        }
    }
}

/// Adaptive RED (Floyd, Gummadi and Shenker 2001, section 4): adapts the probability at `max`, so that the average
/// stays between 40 % and 60 % of the way from `min` to `max`.
#[derive(Clone, Debug)]
pub(crate) struct Adaptation {
    low: f64,
    high: f64,
    updates: Updates,
}

impl Adaptation {
    /// Time between two adaptations.
    const INTERVAL: Duration = Duration::from_millis(500);
    /// Probability above which it no longer grows.
    const TOP: f64 = 0.5;
    /// Probability below which it no longer decreases.
    const BOTTOM: f64 = 0.01;
    /// Largest increase per adaptation.
    const ALPHA: f64 = 0.01;
    /// Factor of a decrease.
    const BETA: f64 = 0.9;

    /// Creates the adaptation for these thresholds.
    pub fn new(min: f64, max: f64) -> Adaptation {
        let range = max - min;
        Adaptation { low: min + 0.4 * range, high: min + 0.6 * range, updates: Updates::every(Adaptation::INTERVAL) }
    }

    /// Replays the adaptations that are due. No packet has arrived since the last call.
    pub fn catch_up(&mut self, slope: &mut Slope, average: &Average, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let value = average.at(at);
            if value > self.high && slope.probability <= Adaptation::TOP {
                slope.probability += (slope.probability / 4.0).min(Adaptation::ALPHA);
            } else if value < self.low && slope.probability >= Adaptation::BOTTOM {
                slope.probability *= Adaptation::BETA;
            } else if value < self.low || !average.is_idle() {
                // With a constant or decaying average the following adaptations change nothing.
                self.updates.skip_to_last(now);
            }
        }
    }
}

/// Returns the time to send a packet of average size.
pub(crate) fn idle_packet(rate: Option<BitRate>, avpkt: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_to_send(avpkt, 0).0)
}
