//! RED's two halves: the average of a queue, and the choice of packets by it.

use crate::updates::Updates;
use lopsided_core::{BitRate, Bytes, Duration, MarkReason, Rng, Time};

/// An average over arrivals that falls while the queue is idle.
#[derive(Clone, Debug)]
pub(crate) struct Average {
    weight: f64,
    /// Transmission time of a packet of the mean size; 0 without a rate.
    idle_packet: Duration,
    /// False: the average does not fall while the queue is empty.
    falls: bool,
    value: f64,
    /// The queue is empty, and its average accounts for the time until then.
    idle_since: Option<Time>,
    /// The packet that ends an idle time is a sample too.
    counts_first: bool,
    /// Only the integer part of the average is subtracted from a sample.
    whole: bool,
}

impl Average {
    /// The average of an empty queue.
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

    /// The same in Linux's fixed point: a sample moves the average by the backlog's excess over its integer part. The
    /// average therefore rests half a unit above the mean backlog, which is negligible in bytes and large in packets.
    pub fn in_whole(self) -> Average {
        Average { whole: true, ..self }
    }

    /// The same; the packet that ends an idle time may be a sample too.
    pub fn counting_first(self, counts_first: bool) -> Average {
        Average { counts_first, ..self }
    }

    /// The average of a queue that never notices that it is empty, unless it `falls`.
    pub fn falling(self, falls: bool) -> Average {
        Average { falls, ..self }
    }

    /// A packet arrives and finds this backlog.
    pub fn arrival(&mut self, backlog: u64, now: Time) {
        match self.idle_since {
            Some(since) => {
                self.value *= self.decay(now - since);
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

    /// The average at `now` if no packet arrived.
    pub fn at(&self, now: Time) -> f64 {
        self.idle_since.map_or(self.value, |since| self.value * self.decay(now.saturating_since(since)))
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    pub fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// A packet was taken in.
    pub fn filled(&mut self) {
        self.idle_since = None;
    }

    /// The last packet has left.
    pub fn emptied(&mut self, now: Time) {
        if self.falls {
            self.idle_since = Some(now);
        }
    }

    /// The factor that remains of the average after an idle time.
    fn decay(&self, idle: Duration) -> f64 {
        if self.idle_packet.is_zero() {
            return 0.0;
        }
        let packets = idle.as_nanos() as f64 / self.idle_packet.as_nanos() as f64;
        libm::pow(1.0 - self.weight, packets)
    }
}

/// The verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// Picked at random.
    Early,
    /// All are, at this average.
    Hard,
}

impl Verdict {
    /// Why a packet is marked instead of dropped.
    pub fn mark_reason(self) -> MarkReason {
        if self == Verdict::Hard { MarkReason::Forced } else { MarkReason::Early }
    }
}

/// The probability by the average, and when the next packet is picked.
#[derive(Clone, Debug)]
pub(crate) struct Slope {
    min: f64,
    max: f64,
    gentle: bool,
    /// The probability at `max`.
    pub probability: f64,
    /// Packets since the last one was picked; `None` while the average is outside the slope.
    count: Option<u32>,
    /// The position in its interval where the next packet is picked.
    draw: f64,
}

impl Slope {
    /// Thresholds in the unit of the average.
    pub fn new(min: f64, max: f64, probability: f64, gentle: bool) -> Slope {
        Slope { min, max, gentle, probability, count: None, draw: 0.0 }
    }

    /// A packet passes without judgement: the next interval restarts.
    pub fn leave(&mut self) {
        self.count = None;
    }

    /// Judges a packet that arrives at this average.
    pub fn judge(&mut self, average: f64, rng: &mut Rng) -> Verdict {
        let top = if self.gentle { 2.0 * self.max } else { self.max };
        if average < self.min || average >= top {
            self.count = None;
            return if average < self.min { Verdict::Pass } else { Verdict::Hard };
        }
        let Some(count) = self.count else {
            // The first one above the threshold passes: it begins an interval.
            self.begin_interval(rng);
            return Verdict::Pass;
        };
        let count = count + 1;
        self.count = Some(count);
        if self.probability_at(average) * f64::from(count) < self.draw {
            return Verdict::Pass;
        }
        self.begin_interval(rng);
        Verdict::Early
    }

    /// True if the average is above the threshold at all.
    pub fn is_above_min(&self, average: f64) -> bool {
        average > self.min
    }

    fn begin_interval(&mut self, rng: &mut Rng) {
        self.count = Some(0);
        self.draw = rng.unit();
    }

    /// Probability of a pick at this average on the slope.
    fn probability_at(&self, average: f64) -> f64 {
        let at_max = self.probability;
        if average < self.max {
            at_max * (average - self.min) / (self.max - self.min)
        } else {
            at_max + (1.0 - at_max) * (average - self.max) / self.max
        }
    }
}

/// Adaptive RED (Floyd, Gummadi and Shenker 2001, section 4): the probability at `max` follows the average, so that the
/// average stays between 40 and 60 % of the way from `min` to `max`.
#[derive(Clone, Debug)]
pub(crate) struct Adaptation {
    low: f64,
    high: f64,
    updates: Updates,
}

impl Adaptation {
    /// How often.
    const INTERVAL: Duration = Duration::from_millis(500);
    /// The largest and the smallest probability that is still changed.
    const TOP: f64 = 0.5;
    const BOTTOM: f64 = 0.01;
    /// The most by which it grows, and the factor by which it falls.
    const ALPHA: f64 = 0.01;
    const BETA: f64 = 0.9;

    pub fn new(min: f64, max: f64) -> Adaptation {
        let range = max - min;
        Adaptation { low: min + 0.4 * range, high: min + 0.6 * range, updates: Updates::every(Adaptation::INTERVAL) }
    }

    /// Applies the intervals that ended by now. No packet arrived in them.
    pub fn catch_up(&mut self, slope: &mut Slope, average: &Average, now: Time) {
        while let Some(at) = self.updates.due(now) {
            let value = average.at(at);
            if value > self.high && slope.probability <= Adaptation::TOP {
                slope.probability += (slope.probability / 4.0).min(Adaptation::ALPHA);
            } else if value < self.low && slope.probability >= Adaptation::BOTTOM {
                slope.probability *= Adaptation::BETA;
            } else if value < self.low || !average.is_idle() {
                // An average that is constant or falling leaves the probability unchanged.
                self.updates.skip_to_last(now);
            }
        }
    }
}

/// Transmission time of a usual packet.
pub(crate) fn idle_packet(rate: Option<BitRate>, avpkt: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_to_send(avpkt, 0).0)
}
