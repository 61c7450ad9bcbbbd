//! A `Law`: how the window grows, and what is left of it after congestion. All else is lopsided's.

use lopsided_core::Time;
use lopsided_tcp::cc::{Acked, Law, PathState, Signal, Window};

/// Reno that gives up a quarter of its window, not half.
#[derive(Debug)]
pub struct Gentle;

impl Law for Gentle {
    fn name(&self) -> &str {
        "gentle"
    }

    fn grow(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        window.reno(window.counted(ack));
    }

    fn threshold(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        window.segments() * 3 / 4
    }
}
