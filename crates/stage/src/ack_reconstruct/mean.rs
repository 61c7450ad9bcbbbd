//! The mean time between ACKs, used by both kinds of spacing.

use lopsided_core::{Duration, Time};

/// Exponentially weighted mean time between ACKs, in nanoseconds. `None` before the first sample.
#[derive(Debug)]
pub(super) struct Mean(Option<f64>);

impl Mean {
    /// Creates a mean that starts at `given`, or at the first sample if `given` is `None`.
    pub fn new(given: Option<Duration>) -> Mean {
        Mean(given.map(|mean| mean.as_nanos() as f64))
    }

    /// Adds the time from `from` to `to` as a sample with the weight `gain`. Returns the new mean.
    pub fn sample(&mut self, gain: f64, from: Time, to: Time) -> f64 {
        let sample = (to - from).as_nanos() as f64;
        let mean = self.0.map_or(sample, |mean| mean + gain * (sample - mean));
        self.0 = Some(mean);
        mean
    }
}
