//! The window rule of Havey 2015 as printed (equations 2.2 and 2.3): `W(t) = C (t - K)^3 + W_max` in segments, where t
//! is the time in seconds since the last congestion and `K = cbrt(W_max beta / C)`.
//!
//! The paper's beta = 0.8 is interpreted as the fraction that is kept, as in CUBIC at that time. The paper does not
//! define the start of the curve. Here the curve starts as if a loss had occurred at the initial window. There is
//! neither slow start nor a lower bound by Reno's window.

use lopsided_core::Time;
use lopsided_tcp::cc::{Acked, PathState, Signal, Window, WindowAlgorithm};

/// The scaling constant of CUBIC, in segments per second cubed.
const C: f64 = 0.4;
/// Fraction of the window that is kept after congestion.
const KEPT: f64 = 0.8;

/// The equations 2.2 and 2.3 of Havey 2015.
#[derive(Debug, Default)]
pub(crate) struct Equations {
    /// Start time of the curve, and `W_max` in segments; `None` before the first ACK.
    epoch: Option<(Time, f64)>,
}

impl Equations {
    /// Returns the window in segments, for a curve that started at the time `began`.
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
        // Before the first congestion the curve starts at the initial window.
        let epoch = *self.epoch.get_or_insert((now, window.segments() as f64));
        // The equations of Havey 2015 have no slow start.
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

    /// W(0) = 0.8 W_max and W(K) = W_max. The curve is point-symmetric about K.
    #[test]
    fn the_curve_passes_its_fixed_points() {
        let epoch = (Time::ZERO, 100.0);
        let k = Duration::from_nanos((libm::cbrt(100.0 * 0.2 / 0.4) * 1e9) as u64);
        assert!((Equations::window(Time::ZERO, epoch) - 80.0).abs() < 1e-9);
        assert!((Equations::window(Time::ZERO + k, epoch) - 100.0).abs() < 1e-6);
        let after = Equations::window(Time::ZERO + k + k, epoch);
        assert!((after - 120.0).abs() < 1e-6, "the curve is point-symmetric about K: {after}");
    }
}
