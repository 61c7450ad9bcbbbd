//! Scalable TCP: the window grows by a fixed fraction per RTT and shrinks by a fixed fraction per loss (Kelly, Scalable
//! TCP: Improving Performance in Highspeed Wide Area Networks, CCR 33(2), 2003, section 3).
//!
//! Each acknowledged segment adds 1/100 segment, and a loss reduces the window by 1/8. As in Linux, a window below 100
//! segments grows as in Reno, but a loss reduces it by 1/8 too.

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

/// Number of acknowledged segments per segment of growth.
const EVERY: u64 = 100;
/// A loss reduces the window by 1/`LOSS_SHARE`.
const LOSS_SHARE: u64 = 8;

#[derive(Debug, Default)]
pub struct Scalable;

impl WindowAlgorithm for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let octets = window.slow_start(window.acked_bytes_for_growth(ack));
        if octets > 0 {
            // Below 100 segments, the window grows by one segment per window, as in Reno.
            window.add_one_per(window.segments().min(EVERY), octets);
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let cwnd = window.segments();
        cwnd - cwnd / LOSS_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, path_state, setup};
    use super::*;
    use crate::cc::{Controller, WindowController};
    use lopsided_core::Duration;

    #[test]
    fn the_window_grows_by_1_percent_per_rtt_and_shrinks_by_one_eighth() {
        let mut scalable = WindowController::new(&setup(), Scalable);
        let ack = |segments| acked(segments, Duration::from_millis(100));
        scalable.on_ack(Time::ZERO, &ack(990), &path_state());
        scalable.on_congestion(Time::ZERO, Signal::Loss, &path_state());
        assert_eq!(scalable.cwnd().get() / MSS, 875);
        (0..875).for_each(|_| scalable.on_ack(Time::ZERO, &ack(1), &path_state()));
        assert_eq!(scalable.cwnd().get() / MSS, 883, "8.75 segments for a window");
    }
}
