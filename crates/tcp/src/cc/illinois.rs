//! Illinois: a loss reduces the window, and the delay determines the size of the reduction and the speed of the growth
//! (Liu, Basar and Srikant, TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed networks,
//! Performance Evaluation 65, 2008, section 2).
//!
//! d is the round's mean queueing delay, and D the maximum so far. The increase is 10 segments per window for d up to
//! D/100, and falls as kappa1 / (kappa2 + d) to 0.3 segments at D. The decrease is 1/8 for d up to D/10, 1/2 from 8/10
//! D on, and linear in between. Windows below 15 segments behave as in Reno.
//!
//! As in Linux, slow start is Reno's, and a timeout resets both parameters to Reno's values.

use super::round::Round;
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

/// Number of fractional bits in `alpha`, the increase in segments per window.
const ALPHA_SHIFT: u32 = 7;
const ALPHA_ONE: u64 = 1 << ALPHA_SHIFT;
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// Number of fractional bits in `beta`, the decrease as a share of the window.
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u64 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u64 = (1 << BETA_SHIFT) / 2;
/// Window below which Illinois behaves like Reno, in segments.
const SMALL_WINDOW: u64 = 15;
/// Number of round trips without a queue after which the increase returns to its maximum.
const THETA: u32 = 5;
/// Maximum RTT in microseconds; longer RTTs count as this value. The product of this value and ALPHA_MAX fits in 32
/// bits.
const RTT_MAX_US: u64 = u32::MAX as u64 / ALPHA_MAX;

#[derive(Debug)]
pub struct Illinois {
    /// Increase in segments per window, in units of 1/128.
    alpha: u64,
    /// Decrease as a share of the window, in units of 1/64.
    beta: u64,
    /// Minimum RTT so far, in microseconds; `None` before the first sample.
    base_us: Option<u64>,
    /// Maximum RTT so far, in microseconds.
    max_us: u64,
    /// Sum of this round's RTT samples, in microseconds.
    sum_us: u64,
    /// Number of this round's RTT samples.
    count: u64,
    round: Round,
    /// True if a queue was found since the increase was last at its maximum.
    above: bool,
    /// Number of round trips without a queue since a queue was last found.
    low: u32,
    /// Number of segments that the last ACK covers.
    acked: u64,
    /// Number of segments acknowledged since the last increase.
    cwnd_cnt: u64,
}

impl Default for Illinois {
    fn default() -> Illinois {
        Illinois {
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_us: None,
            max_us: 0,
            sum_us: 0,
            count: 0,
            round: Round::default(),
            above: false,
            low: 0,
            acked: 0,
            cwnd_cnt: 0,
        }
    }
}

impl Illinois {
    /// Updates both parameters at the end of a round (Linux's update_params).
    fn end_round(&mut self, cwnd: u64, path: &PathState) {
        if cwnd < SMALL_WINDOW {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let (Some(base), Some(mean)) = (self.base_us, self.sum_us.checked_div(self.count)) {
            let (largest, delay) = (self.max_us - base, mean - base);
            self.update_alpha(delay, largest);
            self.beta = beta(delay, largest);
        }
        self.begin_round(path);
    }

    /// Updates the increase. `delay` is the mean queueing delay of the round and `largest` the maximum so far, in
    /// microseconds.
    fn update_alpha(&mut self, delay: u64, largest: u64) {
        if delay > largest / 100 {
            self.above = true;
            self.alpha = alpha(delay, largest);
            return;
        }
        // After a round trip with a queue, the increase stays reduced until theta round trips without a queue have
        // followed.
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

    /// Begins a round.
    fn begin_round(&mut self, path: &PathState) {
        self.round = Round::begin(path);
        self.sum_us = 0;
        self.count = 0;
    }
}

/// Returns the increase for queueing delays longer than D/100 (equation 3): ALPHA_MAX at D/100, ALPHA_MIN at D.
fn alpha(delay: u64, largest: u64) -> u64 {
    let least = largest / 100;
    let (range, beyond) = (largest - least, delay - least);
    range * ALPHA_MAX / (range + beyond * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
}

/// Returns the decrease (equation 4).
fn beta(delay: u64, largest: u64) -> u64 {
    let (low, high) = (largest / 10, 8 * largest / 10);
    if delay <= low {
        BETA_MIN
    } else if delay >= high || high <= low {
        BETA_MAX
    } else {
        // Linear from BETA_MIN at `low` to BETA_MAX at `high`.
        (BETA_MIN * high + (BETA_MAX - BETA_MIN) * delay - BETA_MAX * low) / (high - low)
    }
}

impl WindowAlgorithm for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.begin_round(path);
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        self.acked = u64::from(ack.segments);
        if let Some(rtt) = ack.newest_rtt {
            let rtt = (rtt.as_nanos() / 1000).min(RTT_MAX_US);
            self.base_us = Some(self.base_us.map_or(rtt, |base| base.min(rtt)));
            self.max_us = self.max_us.max(rtt);
            self.sum_us += rtt;
            self.count += 1;
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        if self.round.is_passed(path) {
            self.end_round(window.segments(), path);
        }
        // Only the growth depends on whether the window was fully used; the rounds end in either case.
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(window.acked_bytes_for_growth(ack));
            return;
        }
        self.cwnd_cnt += std::mem::replace(&mut self.acked, 1);
        let (gain, cwnd) = ((self.cwnd_cnt * self.alpha) >> ALPHA_SHIFT, window.segments());
        if gain >= cwnd {
            window.set_segments(cwnd.saturating_add(gain / cwnd));
            self.cwnd_cnt = 0;
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        self.cwnd_cnt = 0;
        let cwnd = window.segments();
        cwnd - ((cwnd * self.beta) >> BETA_SHIFT)
    }

    fn on_timeout(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        (self.low, self.above) = (0, false);
        self.begin_round(path);
    }

    fn increase_when_app_limited(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, path_state, setup};
    use super::*;
    use lopsided_core::Duration;

    const SECOND: u64 = 1_000_000;

    /// Compares with the end points of the curves in figure 1 and one point in between. The increase is in units of
    /// 1/128, the decrease in units of 1/64.
    #[test]
    fn increase_and_decrease_follow_the_delay() {
        assert_eq!(alpha(SECOND / 100, SECOND), ALPHA_MAX);
        // Halfway between the end points, the increase is 10 / (1 + 0.5 x 9.7 / 0.3) segments, with quotients rounded
        // down.
        assert_eq!((alpha(505_000, SECOND), alpha(SECOND, SECOND)), (73, ALPHA_MIN));
        assert_eq!([50_000, 100_000, 450_000, 800_000, SECOND].map(|delay| beta(delay, SECOND)), [8, 8, 20, 32, 32]);
    }

    /// Section 2.3: alpha returns to its maximum only after theta round trips without a queue.
    #[test]
    fn the_largest_increase_is_restored_after_five_round_trips() {
        let mut illinois = Illinois::default();
        illinois.update_alpha(SECOND / 2, SECOND);
        assert!(illinois.alpha < ALPHA_ONE);
        let back: Vec<bool> = (0..5)
            .map(|_| {
                illinois.update_alpha(0, SECOND);
                illinois.alpha == ALPHA_MAX
            })
            .collect();
        assert_eq!(back, [false, false, false, false, true]);
    }

    #[test]
    fn small_windows_follow_reno() {
        let mut illinois =
            Illinois { base_us: Some(1000), max_us: 1000, sum_us: 1000, count: 1, ..Illinois::default() };
        illinois.end_round(14, &path_state());
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_ONE, BETA_MAX));
        illinois = Illinois { sum_us: 1000, count: 1, ..illinois };
        illinois.end_round(15, &path_state());
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_MAX, BETA_MIN));
    }

    /// Linux's `ca->acked = sample->pkts_acked`: segments that were SACKed earlier count again when the cumulative ACK
    /// covers them.
    #[test]
    fn an_ack_counts_all_segments_that_it_covers() {
        let mut illinois = Illinois::default();
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(lopsided_core::Bytes::new(MSS));
        window.set_segments(100);
        window.end_slow_start();
        let ack = Acked { segments: 10, ..acked(1, Duration::from_millis(100)) };
        illinois.pkts_acked(Time::ZERO, &ack, &path_state(), &mut window);
        illinois.cong_avoid(Time::ZERO, &ack, &path_state(), &mut window);
        // The increase is 10 segments per window: 10 x 10 / 100.
        assert_eq!(window.segments(), 101);
    }

    /// An RTT longer than 2^32 / 1280 microseconds (3.36 s) counts as that value.
    #[test]
    fn long_rtts_are_limited_to_3_36_s() {
        let (mut illinois, mut window) = (Illinois::default(), Window::new(setup().initial_window, setup().counting));
        illinois.pkts_acked(Time::ZERO, &acked(1, Duration::from_secs(9)), &path_state(), &mut window);
        assert_eq!((illinois.max_us, illinois.count), (3_355_443, 1));
    }

    #[test]
    fn delays_below_a_hundredth_of_the_largest_count_as_no_queue() {
        let alpha_after = |delay| {
            let mut illinois = Illinois { alpha: 5, ..Illinois::default() };
            illinois.update_alpha(delay, SECOND);
            (illinois.alpha, illinois.above)
        };
        assert_eq!(alpha_after(SECOND / 100), (ALPHA_MAX, false));
        let (alpha, above) = alpha_after(SECOND / 100 + SECOND / 1000);
        assert!(alpha < ALPHA_MAX && above);
    }

    #[test]
    fn a_round_ends_also_if_the_window_does_not_limit_the_sender() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(lopsided_core::Bytes::new(MSS));
        window.set_segments(100);
        window.end_slow_start();
        let mut illinois = Illinois::default();
        assert!(illinois.increase_when_app_limited());
        illinois.on_established(Time::ZERO, &path_state(), &mut window);
        let ack = Acked { cwnd_limited: false, ..acked(1, Duration::from_millis(100)) };
        illinois.pkts_acked(Time::ZERO, &ack, &path_state(), &mut window);
        let later = PathState { una: 10 * MSS, nxt: 20 * MSS, ..path_state() };
        illinois.cong_avoid(Time::ZERO, &ack, &later, &mut window);
        assert_eq!((illinois.count, illinois.beta, window.segments()), (0, BETA_MIN, 100));
        assert_eq!(illinois.ssthresh(Time::ZERO, Signal::Loss, &later, &window), 100 - 12);
    }

    #[test]
    fn a_timeout_returns_to_renos_parameters() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        let mut illinois = Illinois { low: 3, above: true, sum_us: 7, count: 2, beta: 9, ..Illinois::default() };
        illinois.on_timeout(Time::ZERO, &path_state(), &mut window);
        assert_eq!((illinois.alpha, illinois.beta, illinois.low, illinois.above), (ALPHA_ONE, BETA_MAX, 0, false));
        assert_eq!((illinois.sum_us, illinois.count), (0, 0));
    }
}
