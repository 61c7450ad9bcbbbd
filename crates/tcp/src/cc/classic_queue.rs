//! Detection of a classic ECN queue for TCP Prague (Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic
//! ECN AQM", arXiv 1911.00710; RFC 9331, section 4.3).
//!
//! The queue of a classic AQM is longer and varies more than the queue of an L4S AQM. A score therefore rises with the
//! RTT's deviation and the queueing delay:
//!
//! ```text
//! score += 1/2 log2(deviation / 750 us) + 1/2 log2(max(queueing delay / 2 ms, 1))      once per virtual round trip
//! ```
//!
//! The score is limited to the range from 0 to 17. From 9 on, a mark reduces the window as at a classic queue.
//!
//! Not implemented, as in Linux's module: the correction for application-limited flows.

use lopsided_core::Duration;

/// Score above which a queue counts as partly classic.
const STICKY: f64 = 8.0;
/// Maximum score: 8 above the lowest score of a classic queue.
const LARGEST: f64 = STICKY + 1.0 + 8.0;
/// Minimum alpha at a classic queue. A mark then reduces the window by at least half of this fraction.
const CLASSIC_ALPHA: f64 = 0.625;
/// Before the first reduction, a new sample has the weight 2^-18 in the averages.
const FIRST_SHIFT: u32 = 18;

/// Reference values, as binary logarithms of microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct References {
    /// Reference value of the RTT's deviation.
    deviation: f64,
    /// Reference value of the queueing delay.
    depth: f64,
}

impl References {
    /// 750 us and 2 ms, as in the paper.
    pub const PAPER: References = References { deviation: 9.551, depth: 10.966 };
    /// The values of L4STeam's Linux 5.15. Their logarithms are too small by a factor of 16 (L4STeam/linux, issue 38).
    pub const LINUX_5_15: References =
        References { deviation: References::PAPER.deviation / 16.0, depth: References::PAPER.depth / 16.0 };
}

/// The averages and the score of a flow.
#[derive(Debug)]
pub(super) struct ClassicQueue {
    references: References,
    /// Averages of the RTT and of its deviation, in microseconds; `None` before the first sample.
    average: Option<(f64, f64)>,
    /// Minimum RTT, in microseconds.
    least: f64,
    /// A new RTT sample has the weight 2^-`shift` in the average.
    shift: u32,
    score: f64,
}

impl ClassicQueue {
    pub fn new(references: References) -> ClassicQueue {
        ClassicQueue { references, average: None, least: f64::INFINITY, shift: FIRST_SHIFT, score: 0.0 }
    }

    /// Adds an RTT sample to the averages.
    pub fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos() as f64 / 1e3;
        self.least = self.least.min(rtt);
        let Some((mean, deviation)) = &mut self.average else {
            self.average = Some((rtt, 1.0));
            return;
        };
        let error = rtt - *mean;
        let weight = 1.0 / f64::from(1u32 << self.shift);
        *mean += error * weight;
        *deviation += (error.abs() - *deviation) * weight / 2.0;
    }

    /// Sets the weight of the averages for a window of `segments` segments.
    pub fn on_reduction(&mut self, segments: u32) {
        let log = segments.max(1).ilog2();
        self.shift = (log + log / 2 + 1).min(FIRST_SHIFT);
    }

    /// Updates the score. Call it once per virtual round trip after the first mark.
    pub fn on_round(&mut self) {
        let Some((mean, deviation)) = self.average else { return };
        let depth = mean - self.least;
        let of_depth = if depth > 0.0 { (log2(depth) - self.references.depth).max(0.0) } else { 0.0 };
        let score = self.score + (log2(deviation) - self.references.deviation + of_depth) / 2.0;
        self.score = score.clamp(0.0, LARGEST);
    }

    /// Returns the minimum of alpha for a reduction; 0 at an L4S queue.
    pub fn least_alpha(&self) -> f64 {
        CLASSIC_ALPHA * (self.score - STICKY).clamp(0.0, 1.0)
    }
}

/// Approximates the binary logarithm with an error below 0.01. The results of library functions would differ between
/// platforms.
fn log2(value: f64) -> f64 {
    let value = value.max(1.0);
    let exponent = (value as u64).ilog2();
    let rest = value / (1u64 << exponent) as f64 - 1.0;
    f64::from(exponent) + rest * (1.3465 - 0.3465 * rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state after `rounds` round trips of 20 samples, with a delay of `depth` plus or minus `deviation`.
    fn after(references: References, rounds: u32, depth_us: u64, deviation_us: u64) -> ClassicQueue {
        let mut queue = ClassicQueue::new(references);
        queue.on_reduction(20);
        queue.on_rtt(Duration::from_micros(20_000));
        for _ in 0..rounds {
            for sample in 0..20 {
                let swing = if sample % 2 == 0 { deviation_us } else { 0 };
                queue.on_rtt(Duration::from_micros(20_000 + depth_us - deviation_us / 2 + swing));
            }
            queue.on_round();
        }
        queue
    }

    #[test]
    fn a_short_steady_queue_is_not_classified_as_classic() {
        assert_eq!(after(References::PAPER, 500, 1_000, 400).least_alpha(), 0.0);
    }

    #[test]
    fn a_long_varying_queue_is_classified_as_classic_after_200_round_trips() {
        assert_eq!(after(References::PAPER, 3, 15_000, 8_000).least_alpha(), 0.0);
        assert_eq!(after(References::PAPER, 200, 15_000, 8_000).least_alpha(), CLASSIC_ALPHA);
    }

    #[test]
    fn the_references_of_linux_5_15_classify_every_queue_as_classic() {
        assert_eq!(after(References::LINUX_5_15, 200, 1_000, 400).least_alpha(), CLASSIC_ALPHA);
    }

    #[test]
    fn the_classification_ends_when_the_queue_becomes_short() {
        let mut queue = after(References::PAPER, 200, 15_000, 8_000);
        for _ in 0..500 {
            for _ in 0..20 {
                queue.on_rtt(Duration::from_micros(20_500));
            }
            queue.on_round();
        }
        assert_eq!(queue.least_alpha(), 0.0);
    }

    #[test]
    fn the_approximate_logarithm_is_accurate() {
        for value in [1.0, 1.5, 2.0, 3.0, 749.0, 2_000.0, 1e6] {
            assert!((log2(value) - f64::log2(value)).abs() < 0.01, "{value}");
        }
        assert_eq!(log2(0.5), 0.0);
    }

    /// The algorithm of Briscoe and Ahmed 2019: moving averages with weights that follow the window.
    #[test]
    fn the_averages_move_by_the_weight_of_the_window() {
        let mut queue = ClassicQueue::new(References::PAPER);
        queue.on_reduction(16);
        assert_eq!(queue.shift, 4 + 2 + 1);
        queue.on_rtt(Duration::from_micros(1000));
        assert_eq!(queue.average, Some((1000.0, 1.0)));
        queue.on_rtt(Duration::from_micros(2280));
        assert_eq!(queue.average, Some((1010.0, 1.0 + (1280.0 - 1.0) / 256.0)));
        assert_eq!(queue.least, 1000.0);
        let shift = |segments| {
            let mut queue = ClassicQueue::new(References::PAPER);
            queue.on_reduction(segments);
            queue.shift
        };
        assert_eq!([shift(0), shift(1), shift(8), shift(u32::MAX)], [1, 1, 5, FIRST_SHIFT]);
    }

    #[test]
    fn the_score_adds_the_deviation_and_the_depth() {
        let mut queue = ClassicQueue::new(References::PAPER);
        (queue.average, queue.least, queue.score) = (Some((9192.0, 1024.0)), 1000.0, 5.0);
        queue.on_round();
        let expected = 5.0 + (10.0 - 9.551 + 13.0 - 10.966) / 2.0;
        assert!((queue.score - expected).abs() < 0.01, "{} and {expected}", queue.score);
        (queue.average, queue.score) = (Some((1000.0, 1024.0)), 5.0);
        queue.on_round();
        assert!((queue.score - 5.0 - (10.0 - 9.551) / 2.0).abs() < 0.01, "no queue");
        queue.score = 100.0;
        queue.on_round();
        assert_eq!((queue.score, queue.least_alpha()), (LARGEST, CLASSIC_ALPHA));
        queue.score = STICKY + 0.5;
        assert_eq!(queue.least_alpha(), CLASSIC_ALPHA / 2.0);
    }
}
