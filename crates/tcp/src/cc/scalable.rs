//! Scalable TCP: a fixed part of the window is gained every RTT and a fixed part lost (Kelly, Scalable TCP: Improving
//! Performance in Highspeed Wide Area Networks, CCR 33(2), 2003, section 3).
//!
//! A hundredth of a segment for each segment acknowledged, an eighth of the window for a loss. Below 100 segments a
//! window gains a segment an RTT as Reno's does: Linux's form of the paper's switch to the traditional algorithm below
//! a low window, which there also halves on a loss.

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

const EVERY: u64 = 100;
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
    fn gains_a_hundredth_and_loses_an_eighth() {
        let mut scalable = WindowController::new(&setup(), Scalable);
        let ack = |segments| acked(segments, Duration::from_millis(100));
        scalable.on_ack(Time::ZERO, &ack(990), &path_state());
        scalable.on_congestion(Time::ZERO, Signal::Loss, &path_state());
        assert_eq!(scalable.cwnd().get() / MSS, 875);
        (0..875).for_each(|_| scalable.on_ack(Time::ZERO, &ack(1), &path_state()));
        assert_eq!(scalable.cwnd().get() / MSS, 883, "8.75 segments for a window");
    }
}
