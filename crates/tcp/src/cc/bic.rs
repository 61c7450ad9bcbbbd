//! BIC: a binary search for the window at which the last loss occurred (Xu, Harfoush and Rhee, Binary Increase
//! Congestion Control for Fast Long-Distance Networks, INFOCOM 2004), with Linux's constants.
//!
//! Below the window of the last loss, the window grows by 1/4 of the distance per RTT, at most by 16 segments. Above
//! the window of the last loss, the window grows slowly at first and then faster. Windows up to 14 segments grow as in
//! Reno.
//!
//! Deviations from the paper, as in Linux: a step is 1/4 of the distance instead of 1/2. Near the maximum, the window
//! grows by one segment per five round trips. With delayed ACKs, BIC grows twice as fast as intended: the growth takes
//! the segments per ACK into account twice.

use super::{Acked, PathState, Setup, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// Window after a loss, in 1/1024 of the window before.
const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// Windows up to this size, in segments, grow as in Reno.
const LOW_WINDOW: u64 = 14;
/// Maximum growth per RTT, in segments (Smax).
const INCREMENT_MAX: u64 = 16;
/// A step is the distance to the maximum divided by this number.
const SEARCH: u64 = 4;
/// Number of round trips per segment of growth near the maximum, multiplied by `SEARCH`.
const SMOOTH: u64 = 20;
/// Upper limit of `every` before the first loss.
const EVERY_AT_FIRST: u64 = 20;
/// Time after which the growth is recomputed. The growth is also recomputed when the window has changed.
const STALE_AFTER: Duration = Duration::from_nanos(1_000_000_000 / 32);

#[derive(Debug)]
pub struct Bic {
    /// Window at the last loss in segments, lowered by fast convergence; 0 before the first loss.
    last_max: u64,
    /// Time at which `every` was last computed, and the window at that time.
    computed: Option<(Time, u64)>,
    /// Number of acknowledged segments after which the window grows by one segment.
    every: u64,
    /// Smoothed number of segments per ACK, in units of 1/16.
    per_ack: u64,
    tick: Duration,
}

impl Bic {
    pub fn new(setup: &Setup) -> Bic {
        Bic { last_max: 0, computed: None, every: 1, per_ack: 2 * 16, tick: setup.tick }
    }

    /// Computes `every` (Linux's bictcp_update).
    fn update(&mut self, now: Time, cwnd: u64) {
        let tick = self.tick.as_nanos().max(1);
        let ticks = |span: u64| span / tick;
        let is_fresh = |at: Time| ticks(now.as_nanos()) - ticks(at.as_nanos()) <= ticks(STALE_AFTER.as_nanos());
        if self.computed.is_some_and(|(at, window)| window == cwnd && is_fresh(at)) {
            return;
        }
        self.computed = Some((now, cwnd));
        if cwnd <= LOW_WINDOW {
            self.every = cwnd;
            return;
        }
        self.every = self.search(cwnd);
        if self.last_max == 0 {
            self.every = self.every.min(EVERY_AT_FIRST);
        }
        // Linux's compensation for delayed ACKs.
        self.every = (self.every * 16 / self.per_ack.max(1)).max(1);
    }

    /// Returns the number of acknowledged segments after which the window grows by one segment.
    fn search(&self, cwnd: u64) -> u64 {
        let slow = cwnd * SMOOTH / SEARCH;
        if cwnd < self.last_max {
            let step = (self.last_max - cwnd) / SEARCH;
            return match step {
                0..=1 => slow,
                _ => cwnd / step.min(INCREMENT_MAX),
            };
        }
        // Beyond the maximum the growth per RTT is slow at first, then proportional to the distance, at most Smax.
        let beyond = cwnd - self.last_max;
        if beyond < SEARCH {
            slow
        } else if beyond < INCREMENT_MAX * (SEARCH - 1) {
            cwnd * (SEARCH - 1) / beyond
        } else {
            cwnd / INCREMENT_MAX
        }
    }
}

impl WindowAlgorithm for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    /// Measures the number of segments per ACK. The last ACK of a recovery does not count.
    fn on_arrival(&mut self, _now: Time, ack: &Acked, _path: &PathState, _window: &Window) {
        if ack.ca_state == CaState::Open {
            self.per_ack = (self.per_ack - self.per_ack / 16).saturating_add(u64::from(ack.segments)).min(16 * 1024);
        }
    }

    fn cong_avoid(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let octets = window.slow_start(window.acked_bytes_for_growth(ack));
        if octets > 0 {
            self.update(now, window.segments());
            window.add_one_per(self.every, octets);
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let cwnd = window.segments();
        // Fast convergence as in CUBIC.
        self.last_max = if cwnd < self.last_max { cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { cwnd };
        if cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd * BETA / BETA_SCALE }
    }

    fn on_timeout(&mut self, _now: Time, _path: &PathState, _window: &mut Window) {
        (self.last_max, self.computed, self.every, self.per_ack) = (0, None, 1, 2 * 16);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{acked, path_state, setup};
    use super::*;

    /// Section III of the paper with Linux's constants. The window at the last loss is 1000 segments.
    #[test]
    fn the_window_grows_faster_the_further_it_is_from_the_maximum() {
        let bic = Bic { last_max: 1000, ..Bic::new(&setup()) };
        let per_rtt = |cwnd: u64| cwnd as f64 / bic.search(cwnd) as f64;
        assert_eq!(per_rtt(800), 16.0, "at most Smax");
        assert!((per_rtt(960) - 10.0).abs() < 0.1, "1/4 of the remaining 40 segments");
        assert_eq!(per_rtt(998), 0.2, "a fifth of a segment at the maximum");
        assert_eq!(per_rtt(1000), 0.2);
        assert!((per_rtt(1012) - 4.0).abs() < 0.1, "1/3 of the distance beyond the maximum");
        assert!((per_rtt(1064) - 16.0).abs() < 0.2);
    }

    #[test]
    fn fast_convergence_and_small_windows() {
        let mut bic = Bic::new(&setup());
        let mut window = Window::new(lopsided_core::Bytes::new(100), crate::ByteCounting::Delivered);
        let path = path_state();
        assert_eq!(bic.ssthresh(Time::ZERO, Signal::Loss, &path, &window), 79, "819/1024 of 100");
        assert_eq!(bic.last_max, 100);
        window.set_segments(79);
        bic.ssthresh(Time::ZERO, Signal::Loss, &path, &window);
        assert_eq!(bic.last_max, 71, "(1 + beta) / 2 of 79");
        window.set_segments(14);
        assert_eq!(bic.ssthresh(Time::ZERO, Signal::Loss, &path, &window), 7, "Reno's half");
    }

    /// Linux measures the segments per ACK only in the Open state, because recovery has no delayed ACKs.
    #[test]
    fn only_acks_in_the_open_state_update_the_segments_per_ack() {
        let mut bic = Bic::new(&setup());
        let window = Window::new(lopsided_core::Bytes::new(100), crate::ByteCounting::Delivered);
        let ack = acked(30, Duration::from_millis(100));
        for ca_state in [CaState::Disorder, CaState::Recovery, CaState::Loss] {
            bic.on_arrival(Time::ZERO, &Acked { ca_state, ..ack }, &path_state(), &window);
        }
        assert_eq!(bic.per_ack, 32);
        bic.on_arrival(Time::ZERO, &ack, &path_state(), &window);
        assert_eq!(bic.per_ack, 30 + 30);
    }

    /// Linux's bictcp_update: the step is computed again if the window has changed, or after HZ / 32.
    #[test]
    fn the_growth_is_recomputed_after_a_thirty_second_of_a_second() {
        let every = |ms, cwnd| {
            let mut bic = Bic { last_max: 1000, computed: Some((Time::ZERO, 100)), every: 55, ..Bic::new(&setup()) };
            bic.update(Time::ZERO + Duration::from_millis(ms), cwnd);
            bic.every
        };
        // With ticks of 4 ms, HZ / 32 is seven ticks. The step of 16 segments per window is every 100 / 16 segments,
        // which two segments per ACK halve.
        assert_eq!([every(0, 100), every(31, 100), every(32, 100)], [55, 55, 3]);
        assert_eq!(every(0, 200), 200 / 16 / 2);
        assert_eq!(every(0, 14), 14, "Reno's growth");
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_a_twentieth() {
        let every = |last_max, cwnd| {
            let mut bic = Bic { last_max, per_ack: 16, ..Bic::new(&setup()) };
            bic.update(Time::ZERO, cwnd);
            bic.every
        };
        assert_eq!([every(0, 640), every(1, 640)], [20, 40]);
        assert_eq!(every(640, 640), 640 * 5, "a fifth of a segment per window at the maximum");
        assert_eq!(every(0, 15), 3);
    }

    #[test]
    fn the_steps_change_at_the_papers_limits() {
        let bic = Bic { last_max: 1000, ..Bic::new(&setup()) };
        // Distances of 7, 8, 63, 64 and 68 segments below, and of 3, 4, 47 and 48 segments above the maximum.
        assert_eq!([993, 992, 937, 936, 932].map(|cwnd| bic.search(cwnd)), [4965, 496, 62, 58, 58]);
        assert_eq!([1003, 1004, 1047, 1048].map(|cwnd| bic.search(cwnd)), [5015, 753, 66, 65]);
    }

    #[test]
    fn a_timeout_forgets_the_maximum_and_slow_start_is_not_limited() {
        let mut bic =
            Bic { last_max: 1000, computed: Some((Time::ZERO, 9)), every: 9, per_ack: 99, ..Bic::new(&setup()) };
        let mut window = Window::new(lopsided_core::Bytes::new(100), crate::ByteCounting::Delivered);
        bic.on_timeout(Time::ZERO, &path_state(), &mut window);
        assert_eq!((bic.last_max, bic.computed, bic.every, bic.per_ack), (0, None, 1, 32));
        window.set_segments(10);
        bic.cong_avoid(
            Time::ZERO,
            &Acked { delivered: lopsided_core::Bytes::new(7), ..acked(1, Duration::ZERO) },
            &path_state(),
            &mut window,
        );
        assert_eq!((window.segments(), bic.computed), (17, None));
    }

    /// Linux's delayed_ack: a moving average over 16 ACKs, at most 1024 segments.
    #[test]
    fn the_segments_per_ack_are_averaged_and_bounded() {
        let after = |per_ack, segments, ca_state| {
            let mut bic = Bic { per_ack, ..Bic::new(&setup()) };
            let ack = Acked { segments, ca_state, ..acked(1, Duration::ZERO) };
            let window = Window::new(lopsided_core::Bytes::new(100), crate::ByteCounting::Delivered);
            bic.on_arrival(Time::ZERO, &ack, &path_state(), &window);
            bic.per_ack
        };
        assert_eq!(after(160, 26, CaState::Open), 160 - 10 + 26);
        assert_eq!(after(160, 26, CaState::Recovery), 160);
        assert_eq!(after(160, u32::MAX, CaState::Open), 16 * 1024);
    }

    #[test]
    fn the_age_of_the_growth_is_counted_in_whole_ticks() {
        let every = |micros| {
            let mut bic = Bic { last_max: 1000, computed: Some((Time::ZERO, 100)), every: 55, ..Bic::new(&setup()) };
            bic.update(Time::ZERO + Duration::from_micros(micros), 100);
            bic.every
        };
        assert_eq!([every(31_999), every(32_000)], [55, 3]);
    }
}
