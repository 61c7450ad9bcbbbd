//! The window rule as the paper prints it (equations 2.2 and 2.3): `W(t) = C (t - K)^3 + W_max` in segments, t seconds
//! after the last congestion, `K = cbrt(W_max beta / C)`.
//!
//! The paper prints beta = 0.8, with which a fifth of the window would remain. CUBIC of that time keeps 0.8 of the
//! window, so we read 0.8 as the share that is kept. The paper does not describe the start: here the curve starts as
//! after a loss at the initial window. The equations have no slow start and no lower bound from Reno's window.

use lopsided_core::Time;
use lopsided_tcp::cc::{Acked, PathState, Signal, Window, WindowAlgorithm};

const C: f64 = 0.4;
const KEPT: f64 = 0.8;

/// The paper's equations.
#[derive(Debug, Default)]
pub(crate) struct Equations {
    /// When the curve began, and `W_max`.
    epoch: Option<(Time, f64)>,
}

impl Equations {
    fn window(now: Time, (began, w_max): (Time, f64)) -> f64 {
        let k = libm::cbrt(w_max * (1.0 - KEPT) / C);
        let t = now.saturating_since(began).as_secs_f64();
        C * (t - k) * (t - k) * (t - k) + w_max
    }
}

impl WindowAlgorithm for Equations {
    fn name(&self) -> &'static str {
        "havey2015"
    }

    fn cong_avoid(&mut self, now: Time, _ack: &Acked, _path: &PathState, window: &mut Window) {
        let epoch = *self.epoch.get_or_insert((now, window.segments() as f64));
        window.end_slow_start();
        window.set_octets((Equations::window(now, epoch) * window.mss() as f64) as u64);
    }

    fn ssthresh(&mut self, now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let w_max = window.octets() as f64 / window.mss() as f64;
        self.epoch = Some((now, w_max));
        (w_max * KEPT) as u64
    }

    fn increase_when_app_limited(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::Duration;

    /// W(0) = 0.8 W_max, W(K) = W_max, and the curve is steepest away from K.
    #[test]
    fn the_curve_passes_its_fixed_points() {
        let epoch = (Time::ZERO, 100.0);
        let k = Duration::from_nanos((libm::cbrt(100.0 * 0.2 / 0.4) * 1e9) as u64);
        assert!((Equations::window(Time::ZERO, epoch) - 80.0).abs() < 1e-9);
        assert!((Equations::window(Time::ZERO + k, epoch) - 100.0).abs() < 1e-6);
        let after = Equations::window(Time::ZERO + k + k, epoch);
        assert!((after - 120.0).abs() < 1e-6, "as far above as it began below: {after}");
    }
}
