//! What is measured of a flow while it runs, in memory that does not grow with time.

use lopsided_core::{Duration, Time};
use lopsided_queue::Histogram;
use lopsided_tcp::RttStats;

/// Count, mean, spread and extremes of a quantity, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    pub count: u64,
    pub sum: f64,
    pub sum_of_squares: f64,
    pub min: f64,
    pub max: f64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { count: 0, sum: 0.0, sum_of_squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.sum_of_squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// NaN where nothing was counted, as are the others.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The standard deviation of the values themselves (not an estimate for a larger population).
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        (self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt()
    }

    pub fn least(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.min }
    }

    pub fn greatest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.max }
    }
}

/// Round-trip or one-way times: over the sampling interval that is running, and over all.
#[derive(Debug, Default)]
pub struct DelayStats {
    spread: Histogram,
    /// `None` where nothing was counted yet: at one end of most flows, and of a connection's until somebody asks.
    moments: Option<Box<DelayMoments>>,
}

#[derive(Debug, Default)]
struct DelayMoments {
    interval: Moments,
    before: Moments,
}

impl DelayStats {
    #[inline]
    pub fn add(&mut self, span: Duration) {
        self.interval().add(span.as_millis_f64());
        self.spread.add(span);
    }

    /// Counts values in the histogram only; [`DelayStats::absorb`] brings the rest.
    #[inline]
    pub fn count(&mut self, span: Duration, times: u32) {
        (0..times).for_each(|_| self.spread.add(span));
    }

    /// Adds a connection's own statistic to the interval that is running.
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

    /// Ends the interval that is running and begins the next.
    pub fn take_interval(&mut self) -> Moments {
        let Some(moments) = self.moments.as_deref_mut() else { return Moments::default() };
        moments.before.merge(&moments.interval);
        std::mem::take(&mut moments.interval)
    }

    pub fn all(&self) -> Moments {
        let mut all = Moments::default();
        if let Some(DelayMoments { interval, before }) = self.moments.as_deref() {
            all.merge(before);
            all.merge(interval);
        }
        all
    }

    /// The span, in milliseconds, that a share of all values does not exceed; NaN where there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        self.spread.quantile(share).map_or(f64::NAN, Duration::as_millis_f64)
    }
}

/// The mean over time, and the greatest, of a quantity that changes in steps and at times does not exist.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeWeightedGauge {
    value: u64,
    /// Since when it has this value; `None` while it does not exist.
    since: Option<Time>,
    /// Value times nanoseconds, and nanoseconds.
    area: u128,
    span: Duration,
    pub max: u64,
}

impl TimeWeightedGauge {
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        if value != self.value || self.since.is_none() {
            self.pause(now);
            self.since = Some(now);
            self.value = value;
            self.max = self.max.max(value);
        }
    }

    /// Until the next `set` there is no value.
    pub fn pause(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            let span = now.saturating_since(since);
            self.area += u128::from(self.value) * u128::from(span.as_nanos());
            self.span += span;
        }
    }

    /// The mean over the time that it existed up to `now`; NaN if there was none.
    pub fn mean(mut self, now: Time) -> f64 {
        self.pause(now);
        self.area as f64 / self.span.as_nanos() as f64
    }
}
/// The transfers of one flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransferStats {
    pub running_since: Option<Time>,
    /// Completion times.
    pub done: Moments,
}
