//! Measurements of a flow during a run. The memory that they need does not depend on the duration of the run.

use lopsided_core::{Duration, Time};
use lopsided_queue::Histogram;
use lopsided_tcp::RttStats;

/// Number, sums and extremes of values in milliseconds. The mean and the standard deviation are computed from them.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    pub sum: f64,
    /// Sum of the squares.
    pub sum_of_squares: f64,
    /// The smallest value; infinity if there are no values.
    pub min: f64,
    /// The largest value; negative infinity if there are no values.
    pub max: f64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { count: 0, sum: 0.0, sum_of_squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of another set to this set.
    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the mean; NaN if there are no values.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// Returns the standard deviation of the values, divided by N instead of N - 1; NaN if there are no values.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        // Because of rounding, the computed variance can be slightly negative.
        (self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Returns the smallest value; NaN if there are no values.
    pub fn least(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.min }
    }

    /// Returns the largest value; NaN if there are no values.
    pub fn greatest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.max }
    }
}

/// Round-trip times or one-way delays, for the current sampling interval and for the whole run.
#[derive(Debug, Default)]
pub struct DelayStats {
    spread: Histogram,
    /// `None` until the first value, because in most flows one of the two ends counts no value.
    moments: Option<Box<DelayMoments>>,
}

#[derive(Debug, Default)]
struct DelayMoments {
    interval: Moments,
    before: Moments,
}

impl DelayStats {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, span: Duration) {
        self.interval().add(span.as_millis_f64());
        self.spread.add(span);
    }

    /// Adds values to the histogram only. [`DelayStats::absorb`] adds them to the moments later.
    #[inline]
    pub fn count(&mut self, span: Duration, times: u32) {
        (0..times).for_each(|_| self.spread.add(span));
    }

    /// Adds a connection's collected statistics to the statistics of the current interval.
    pub fn absorb(&mut self, stats: &RttStats) {
        if let (Some(min), Some(max)) = (stats.min, stats.max) {
            self.interval().merge(&Moments {
                count: stats.count,
                sum: stats.sum_ns as f64 / 1e6,
                sum_of_squares: stats.sum_of_squares_ms2,
                min: min.as_millis_f64(),
                max: max.as_millis_f64(),
            });
        }
    }

    fn interval(&mut self) -> &mut Moments {
        &mut self.moments.get_or_insert_default().interval
    }

    /// Returns the moments of the current interval, and starts the next interval.
    pub fn take_interval(&mut self) -> Moments {
        let Some(moments) = self.moments.as_deref_mut() else { return Moments::default() };
        // The moments of the current interval and of earlier intervals are stored separately, so that `add` updates
        // only one set.
        moments.before.merge(&moments.interval);
        std::mem::take(&mut moments.interval)
    }

    /// Returns the moments over the whole run.
    pub fn all(&self) -> Moments {
        let mut all = Moments::default();
        if let Some(DelayMoments { interval, before }) = self.moments.as_deref() {
            all.merge(before);
            all.merge(interval);
        }
        all
    }

    /// Returns a quantile in milliseconds; NaN if there are no values.
    pub fn quantile(&self, share: f64) -> f64 {
        self.spread.quantile(share).map_or(f64::NAN, Duration::as_millis_f64)
    }
}

/// Time-weighted mean, and maximum, of a quantity that changes in steps. The quantity may be undefined at times.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeWeightedGauge {
    value: u64,
    /// Time of the last change; `None` while the quantity is undefined.
    since: Option<Time>,
    /// Integral of the quantity over time, in its unit times nanoseconds.
    area: u128,
    /// Total time in which the quantity was defined.
    span: Duration,
    /// The largest value.
    pub max: u64,
}

impl TimeWeightedGauge {
    /// Changes the value at the time `now`.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        // Update the integral only at changes of the value.
        if value != self.value || self.since.is_none() {
            self.pause(now);
            self.since = Some(now);
            self.value = value;
            self.max = self.max.max(value);
        }
    }

    /// Makes the quantity undefined until the next `set`.
    pub fn pause(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            let span = now.saturating_since(since);
            // Use 128 bits, because a window in bytes times nanoseconds exceeds 64 bits within seconds.
            self.area += u128::from(self.value) * u128::from(span.as_nanos());
            self.span += span;
        }
    }

    /// Returns the mean over the time, up to `now`, in which the quantity was defined; NaN if it was never defined.
    pub fn mean(mut self, now: Time) -> f64 {
        self.pause(now);
        self.area as f64 / self.span.as_nanos() as f64
    }
}
/// Statistics of the transfers of one flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransferStats {
    /// Start of the current transfer; `None` between transfers.
    pub running_since: Option<Time>,
    /// Durations of the completed transfers, in seconds.
    pub done: Moments,
}
