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
}
