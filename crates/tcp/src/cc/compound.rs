//! Compound TCP: a delay-based window that is added to Reno's window (Tan, Song, Zhang and Sridharan, A Compound TCP
//! Approach for High-Speed and Long Distance Networks, INFOCOM 2006, sections III and IV). Compound TCP was the default
//! of Windows from 2007 to 2017.
//!
//! The window win is cwnd + dwnd. In congestion avoidance, cwnd grows by 1 / win per ACK. Once per round trip, dwnd
//! grows by alpha win^k - 1 if Vegas's estimate of the queue is below gamma; otherwise dwnd shrinks by zeta times the
//! queue. A loss multiplies win by 1 - beta. The constants are alpha = 1/8, beta = 1/2, k = 3/4, gamma = 30 and zeta =
//! 1.
//!
//! A window below 38 segments follows Reno. Microsoft's unpublished additions are not modelled.
//!
//! Not implemented: the adaptation of gamma to small buffers (Tan, Song and Zhang, TUBE, 2007).

use super::delay::share;
use super::round::Round;
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const GAMMA: u64 = 30;
const LOW_WINDOW: u64 = 38;

#[derive(Debug, Default)]
pub struct Compound {
    /// The delay-based part of the window, in segments. The rest of the window is the loss-based part.
    dwnd: u64,
    base: Option<Duration>,
    /// Sum of the RTT samples of this round, in ns.
    sum: u64,
    /// Number of RTT samples in this round.
    count: u64,
    round: Round,
}

impl Compound {
    /// Updates dwnd at the end of a round.
    fn end_round(&mut self, window: &mut Window) {
        let (Some(base), Some(mean)) = (self.base, self.sum.checked_div(self.count)) else { return };
        let win = window.segments();
        if win < LOW_WINDOW {
            return;
        }
        let (base, rtt) = (base.as_nanos().max(1), mean.max(1));
        let queued = share(win, rtt.saturating_sub(base), rtt);
        let loss_based = win.saturating_sub(self.dwnd);
        self.dwnd = dwnd(self.dwnd, win, queued);
        window.set_segments((loss_based + self.dwnd).max(2));
    }
}

/// Returns dwnd after a round trip without loss (equation 5).
fn dwnd(dwnd: u64, win: u64, queued: u64) -> u64 {
    if queued < GAMMA {
        // Compute win^(3/4) with two square roots.
        let root = libm::sqrt(win as f64);
        let gain = ALPHA * root * libm::sqrt(root) - 1.0;
        dwnd + libm::round(gain.max(0.0)) as u64
    } else {
        dwnd.saturating_sub(queued)
    }
}

impl WindowAlgorithm for Compound {
    fn name(&self) -> &'static str {
        "compound"
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        if let (Some(rtt), CaState::Open) = (ack.newest_rtt, ack.ca_state) {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum = self.sum.saturating_add(rtt.as_nanos());
            self.count += 1;
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        let slow_start = window.in_slow_start();
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
        if self.round.is_passed(path) {
            if !slow_start && ack.ca_state == CaState::Open {
                self.end_round(window);
            }
            self.round = Round::begin(path);
            self.sum = 0;
            self.count = 0;
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let win = window.segments();
        let loss_based = win.saturating_sub(self.dwnd) / 2;
        // A loss halves Reno's part and multiplies the sum of both parts by 1 - beta.
        let kept = (win as f64 * (1.0 - BETA)) as u64;
        self.dwnd = kept.saturating_sub(loss_based);
        loss_based + self.dwnd
    }

    fn on_timeout(&mut self, _now: Time, _path: &PathState, _window: &mut Window) {
        self.dwnd = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation 5 with the constants of section IV.
    #[test]
    fn the_delay_window_follows_equation_5() {
        assert_eq!(dwnd(0, 10_000, 0), 124, "10 000^(3/4) / 8 - 1");
        assert_eq!(dwnd(0, 256, 29), 7, "256^(3/4) / 8 - 1");
        assert_eq!(dwnd(100, 256, 30), 70);
        assert_eq!(dwnd(10, 256, 30), 0);
    }

    fn window(segments: u64) -> Window {
        let mut window = Window::new(lopsided_core::Bytes::new(segments), crate::ByteCounting::Delivered);
        window.set_mss(lopsided_core::Bytes::new(1));
        window.end_slow_start();
        window
    }

    /// Section IV: the window is the sum of both parts. Small windows follow Reno.
    #[test]
    fn the_delay_window_is_added_once_per_round_from_38_segments_on() {
        let after = |segments, dwnd, rtt_ms: u64| {
            let base = Duration::from_millis(100);
            let mut compound = Compound {
                dwnd,
                base: Some(base),
                sum: 2 * Duration::from_millis(rtt_ms).as_nanos(),
                count: 2,
                ..Compound::default()
            };
            let mut window = window(segments);
            compound.end_round(&mut window);
            (compound.dwnd, window.segments())
        };
        assert_eq!(after(37, 0, 100), (0, 37));
        assert_eq!(after(38, 0, 100), (1, 39));
        assert_eq!(after(256, 10, 100), (17, 263));
        // A fifth of the window is in the queue: 51 segments.
        assert_eq!(after(256, 60, 125), (9, 205));
    }

    #[test]
    fn rounds_end_without_growth_in_slow_start_and_outside_of_the_open_state() {
        let after = |slow_start: bool, ca_state, una| {
            let mut compound =
                Compound { base: Some(Duration::from_millis(100)), sum: 100_000_000, count: 1, ..Compound::default() };
            let mut window = window(256);
            if slow_start {
                window.set_ssthresh(1000);
            }
            let path = PathState { una, nxt: una + 10, ..crate::cc::harness::path_state() };
            let ack = Acked {
                ca_state,
                delivered: lopsided_core::Bytes::ZERO,
                ..crate::cc::harness::acked(1, Duration::from_millis(100))
            };
            compound.cong_avoid(Time::ZERO, &ack, &path, &mut window);
            (compound.dwnd, compound.count)
        };
        assert_eq!(after(false, CaState::Open, 1), (7, 0));
        assert_eq!(after(true, CaState::Open, 1), (0, 0));
        assert_eq!(after(false, CaState::Disorder, 1), (0, 0));
        assert_eq!(after(false, CaState::Open, 0), (0, 1), "the round is not over");
    }

    #[test]
    fn a_loss_halves_the_window_and_renos_part() {
        let mut compound = Compound { dwnd: 40, ..Compound::default() };
        let path = crate::cc::harness::path_state();
        assert_eq!(compound.ssthresh(Time::ZERO, Signal::Loss, &path, &window(100)), 50);
        assert_eq!(compound.dwnd, 20);
        compound.on_timeout(Time::ZERO, &path, &mut window(100));
        assert_eq!(compound.dwnd, 0);
        let (rtt, mut open) = (Duration::from_millis(80), window(100));
        let ack = |ca_state| Acked { ca_state, ..crate::cc::harness::acked(1, rtt) };
        compound.pkts_acked(Time::ZERO, &ack(CaState::Recovery), &path, &mut open);
        assert_eq!(compound.count, 0);
        compound.pkts_acked(Time::ZERO, &ack(CaState::Open), &path, &mut open);
        assert_eq!((compound.count, compound.sum, compound.base), (1, rtt.as_nanos(), Some(rtt)));
    }
}
