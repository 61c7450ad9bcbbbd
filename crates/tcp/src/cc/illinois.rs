//! Illinois: a loss says that the window must fall, the delay by how much and how fast it may rise (Liu, Basar and
//! Srikant, TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed networks, Performance
//! Evaluation 65, 2008, section 2).
//!
//! Once a round trip, from the mean queueing delay d and the largest ever D: the increase is 10 segments up to D/100
//! and falls as kappa1 / (kappa2 + d) to 0.3 at D; the decrease is an eighth up to D/10, a half from 8/10 D on, and
//! linear between. Windows below 15 segments are Reno's. After a queue the largest increase comes back only after five
//! round trips without one (theta).
//!
//! As in Linux: slow start is Reno's, and a timeout resets both parameters to Reno's.

use super::round::Round;
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

const ALPHA_MAX: f64 = 10.0;
const ALPHA_MIN: f64 = 0.3;
const BETA_MIN: f64 = 0.125;
const BETA_MAX: f64 = 0.5;
const SMALL_WINDOW: u64 = 15;
const THETA: u32 = 5;
/// Longer RTTs are no RTTs.
const RTT_MAX: Duration = Duration::from_millis(8_388);

#[derive(Debug)]
pub struct Illinois {
    alpha: f64,
    beta: f64,
    base: Option<Duration>,
    max: Duration,
    /// Of this round.
    sum: u64,
    count: u64,
    round: Round,
    /// There was a queue, and round trips since without one.
    above: bool,
    low: u32,
    /// Segments acknowledged towards the next increase.
    cwnd_cnt: f64,
}

impl Default for Illinois {
    fn default() -> Illinois {
        Illinois {
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base: None,
            max: Duration::ZERO,
            sum: 0,
            count: 0,
            round: Round::default(),
            above: false,
            low: 0,
            cwnd_cnt: 0.0,
        }
    }
}

impl Illinois {
    fn end_round(&mut self, cwnd: u64) {
        if cwnd < SMALL_WINDOW {
            (self.alpha, self.beta) = (1.0, BETA_MAX);
        } else if let (Some(base), Some(mean)) = (self.base, self.sum.checked_div(self.count)) {
            let largest = self.max.saturating_sub(base).as_secs_f64();
            let delay = Duration::from_nanos(mean).saturating_sub(base).as_secs_f64();
            self.update_alpha(delay, largest);
            self.beta = beta(delay, largest);
        }
    }

    fn update_alpha(&mut self, delay: f64, largest: f64) {
        if delay > largest / 100.0 {
            self.above = true;
            self.alpha = alpha(delay, largest);
            return;
        }
        if self.above {
            self.low += 1;
            if self.low < THETA {
                return;
            }
            self.low = 0;
            self.above = false;
        }
        self.alpha = ALPHA_MAX;
    }

    fn begin_round(&mut self, path: &PathState) {
        self.round = Round::begin(path);
        self.sum = 0;
        self.count = 0;
    }
}

/// Equation 3, beyond D/100: from ALPHA_MAX there to ALPHA_MIN at D.
fn alpha(delay: f64, largest: f64) -> f64 {
    let least = largest / 100.0;
    let (range, beyond) = (largest - least, delay - least);
    (range * ALPHA_MAX / (range + beyond * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)).clamp(ALPHA_MIN, ALPHA_MAX)
}

/// Equation 4.
fn beta(delay: f64, largest: f64) -> f64 {
    let (low, high) = (largest / 10.0, largest * 0.8);
    if delay <= low {
        BETA_MIN
    } else if delay >= high {
        BETA_MAX
    } else {
        BETA_MIN + (BETA_MAX - BETA_MIN) * (delay - low) / (high - low)
    }
}

impl WindowAlgorithm for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        if let Some(rtt) = ack.newest_rtt.filter(|rtt| *rtt <= RTT_MAX) {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.max = self.max.max(rtt);
            self.sum = self.sum.saturating_add(rtt.as_nanos());
            self.count += 1;
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        if self.round.is_passed(path) {
            self.end_round(window.segments());
            self.begin_round(path);
        }
        let octets = window.acked_bytes_for_growth(ack);
        if window.in_slow_start() {
            window.slow_start(octets);
            return;
        }
        self.cwnd_cnt += octets as f64 / window.mss() as f64;
        let (gain, cwnd) = (self.cwnd_cnt * self.alpha, window.segments());
        if gain >= cwnd as f64 {
            window.set_segments(cwnd.saturating_add(gain as u64 / cwnd));
            self.cwnd_cnt = 0.0;
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        self.cwnd_cnt = 0.0;
        let cwnd = window.segments();
        cwnd - (cwnd as f64 * self.beta) as u64
    }

    fn on_timeout(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        (self.alpha, self.beta) = (1.0, BETA_MAX);
        (self.low, self.above) = (0, false);
        self.begin_round(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of the curves of figure 1, and a point between.
    #[test]
    fn increase_and_decrease_follow_the_delay() {
        assert_eq!(alpha(0.01, 1.0), ALPHA_MAX);
        assert!((alpha(1.0, 1.0) - ALPHA_MIN).abs() < 1e-9);
        assert!((alpha(0.505, 1.0) - 10.0 / (1.0 + 0.5 * 9.7 / 0.3)).abs() < 1e-9);
        assert_eq!([beta(0.05, 1.0), beta(0.1, 1.0), beta(0.8, 1.0), beta(1.0, 1.0)], [0.125, 0.125, 0.5, 0.5]);
        assert!((beta(0.45, 1.0) - 0.3125).abs() < 1e-9);
    }

    /// Section 2.3: alpha returns to its largest only after theta round trips without a queue.
    #[test]
    fn the_largest_increase_comes_back_after_five_round_trips() {
        let mut illinois = Illinois::default();
        illinois.update_alpha(0.5, 1.0);
        assert!(illinois.alpha < 1.0);
        let back: Vec<bool> = (0..5)
            .map(|_| {
                illinois.update_alpha(0.0, 1.0);
                illinois.alpha == ALPHA_MAX
            })
            .collect();
        assert_eq!(back, [false, false, false, false, true]);
    }

    #[test]
    fn small_windows_are_reno() {
        let mut illinois =
            Illinois { base: Some(Duration::from_millis(1)), sum: 1_000_000, count: 1, ..Illinois::default() };
        illinois.end_round(14);
        assert_eq!((illinois.alpha, illinois.beta), (1.0, 0.5));
        illinois.end_round(15);
        assert_eq!((illinois.alpha, illinois.beta), (10.0, 0.125));
    }
}
