//! HighSpeed TCP: additive increase and multiplicative decrease that depend on the window (RFC 3649).
//!
//! Up to a window of 38 segments, HighSpeed TCP behaves like Reno. A larger window grows by a(w) segments per RTT, and
//! a loss reduces the window by the fraction b(w). Both functions follow from the response function p = 0.078 / w^1.2
//! (section 5) and the table of appendix B.
//!
//! Deviations, as in Linux: the window grows once per ACK, so delayed ACKs halve the growth. A loss in the first slow
//! start halves the window. b(w) is rounded down to 1/256, not to two decimals as in the RFC's table.
//!
//! Not implemented: limited slow start (RFC 3742), which section 10 recommends and Linux does not implement.

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

/// Appendix B: each number is the largest window, in segments, that grows by 1, 2, 3 ... segments per RTT.
const WINDOWS: [u64; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
    5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
    17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
    37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
    79517, 84035, 89053, 94717,
];
/// Section 5: between these two windows, in segments, the decrease falls from 1/2 to 1/10.
const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

#[derive(Debug, Default)]
pub struct HighSpeed {
    /// Row of the table for the current window. The increase in segments is this number plus one.
    row: usize,
    /// Progress towards the next increase: the window grows by one segment once this number reaches the window in
    /// segments.
    cwnd_cnt: u64,
}

impl HighSpeed {
    /// Returns a(w) in segments per RTT. The search starts at the row of the last ACK.
    fn increase(&mut self, cwnd: u64) -> u64 {
        while self.row + 1 < WINDOWS.len() && cwnd > WINDOWS[self.row] {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= WINDOWS[self.row - 1] {
            self.row -= 1;
        }
        self.row as u64 + 1
    }

    /// Returns the window in segments after a loss.
    fn after_loss(&self, cwnd: u64) -> u64 {
        cwnd - cwnd * decrease(self.row) / 256
    }
}

/// Returns b(w) of section 5 for a table row, in units of 1/256.
fn decrease(row: usize) -> u64 {
    (decrease_of(WINDOWS[row] as f64) * 256.0) as u64
}

/// Returns b(w) of section 5 for any window.
fn decrease_of(window: f64) -> f64 {
    let way = (libm::log(window) - libm::log(LOW_WINDOW)) / (libm::log(HIGH_WINDOW) - libm::log(LOW_WINDOW));
    (0.5 + (HIGH_DECREASE - 0.5) * way).clamp(0.0, 0.5)
}

impl WindowAlgorithm for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(window.acked_bytes_for_growth(ack));
            return;
        }
        let cwnd = window.segments();
        self.cwnd_cnt += self.increase(cwnd);
        // Each ACK adds a(w), so a window of ACKs increases the window by a(w) segments.
        if self.cwnd_cnt >= cwnd {
            self.cwnd_cnt -= cwnd;
            window.set_segments(cwnd + 1);
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        self.cwnd_cnt = 0;
        self.after_loss(window.segments())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), with the response function p(w) of section 5.
    fn increase_of(window: f64) -> f64 {
        let (p, b) = (0.078 / libm::pow(window, 1.2), decrease_of(window));
        window * window * p * 2.0 * b / (2.0 - b)
    }

    /// Rows of the table in appendix B: w, a(w), b(w).
    #[test]
    fn increases_and_decreases_match_the_table_of_appendix_b() {
        let rows = [
            (38, 1, 0.50),
            (118, 2, 0.44),
            (221, 3, 0.41),
            (347, 4, 0.38),
            (495, 5, 0.37),
            (663, 6, 0.35),
            (851, 7, 0.34),
            (1058, 8, 0.33),
            (1284, 9, 0.32),
            (1529, 10, 0.31),
            (1793, 11, 0.30),
            (2076, 12, 0.29),
            (2378, 13, 0.28),
            (10_661, 30, 0.21),
            (84_035, 71, 0.10),
            (94_717, 73, 0.10),
        ];
        let mut algorithm = HighSpeed::default();
        for (window, increase, expected) in rows {
            assert_eq!(algorithm.increase(window), increase, "at {window}");
            let given = decrease(algorithm.row) as f64 / 256.0;
            assert!((given - expected).abs() < 0.011, "{given} at {window}, where the table has {expected}");
        }
    }

    #[test]
    fn a_loss_takes_256ths_of_the_window() {
        let mut algorithm = HighSpeed::default();
        let mut left_of = |cwnd: u64| {
            algorithm.increase(cwnd);
            algorithm.after_loss(cwnd)
        };
        // b(221) is 104.6/256. With 0.41, which the table has, 118 segments would be left of 200.
        assert_eq!([38, 100, 200, 300].map(&mut left_of), [19, 57, 119, 186]);
    }

    /// At each window of the table, the a(w) of the response function is close to the table's increase.
    #[test]
    fn the_table_follows_from_the_response_function() {
        for (row, window) in WINDOWS.iter().enumerate().skip(1) {
            let exact = increase_of(*window as f64);
            let increase = row as f64 + 1.0;
            assert!((exact - increase).abs() < 0.05 * increase + 0.1, "a({window}) is {exact}, row {increase}");
        }
    }

    #[test]
    fn the_row_for_a_window_is_found_from_any_other_row() {
        let mut algorithm = HighSpeed::default();
        for (window, increase) in [(100_000, 73), (1, 1), (119, 3), (118, 2), (38, 1), (39, 2), (1 << 40, 73)] {
            assert_eq!(algorithm.increase(window), increase, "at {window}");
        }
    }
}
