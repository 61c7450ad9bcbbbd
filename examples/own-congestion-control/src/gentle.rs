//! A `WindowAlgorithm`: defines only how the window grows and by how much congestion reduces it. Lopsided implements
//! everything else.

use lopsided_core::Time;
use lopsided_tcp::cc::{Acked, PathState, Signal, Window, WindowAlgorithm};

/// Reno that reduces its window by 25 % instead of 50 %.
#[derive(Debug)]
pub struct Gentle;

impl WindowAlgorithm for Gentle {
    fn name(&self) -> &str {
        "gentle"
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        window.segments() * 3 / 4
    }
}
