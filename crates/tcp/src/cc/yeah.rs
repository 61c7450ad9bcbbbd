//! YeAH: grows like Scalable while the queue is short and like Reno otherwise, with early decongestion (Baiocchi,
//! Castellani and Vacirca, YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007, sections 2 and 3).
//!
//! The mode is slow if more than 80 segments are queued or the queueing delay exceeds 1/8 of the base RTT. Otherwise
//! the mode is fast, and the window grows as in Scalable. Early decongestion removes a queue of more than 80 segments
//! if the window exceeds Reno's window. A loss reduces the window by the queue length, limited to 1/8 to 1/2 of the
//! window. After 16 round trips in slow mode, a loss halves the window.
//!
//! The constants are Linux's.

use super::delay::{RoundRtt, Rtts, share};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// Maximum number of queued segments (Qmax).
const QUEUE_MAX: u64 = 80;
/// In fast mode the queueing delay is at most the base RTT divided by this number.
const DELAY_SHARE: u64 = 8;
/// Decongestion reduces the window by at most 1/`DECONGEST_SHARE` of its size (epsilon).
const DECONGEST_SHARE: u64 = 2;
/// A loss in fast mode reduces the window by at least 1/`LOSS_SHARE` of its size (delta).
const LOSS_SHARE: u64 = 8;
/// Number of round trips in slow mode after which YeAH assumes a competing Reno flow (rho).
const RENO_AFTER: u32 = 16;
/// Number of round trips in fast mode after which YeAH assumes that no Reno flow competes (zeta).
const FAST_AFTER: u32 = 50;
/// In fast mode, number of acknowledged segments after which the window grows by one segment, as in Scalable.
const SCALABLE_PER_SEGMENT: u64 = 100;
/// With at most this number of RTT samples in a round trip, the queue length is not estimated.
const TOO_FEW_SAMPLES: u32 = 2;

#[derive(Debug)]
pub struct Yeah {
    rtt: RoundRtt,
    /// Number of segments queued in the last round.
    queued: u64,
    /// Window that a Reno flow would have at this time, in segments.
    reno: u64,
    /// Number of consecutive round trips in slow mode.
    slow_rounds: u32,
    /// Number of round trips in fast mode since the last loss.
    fast_rounds: u32,
}

impl Default for Yeah {
    fn default() -> Yeah {
        Yeah { rtt: RoundRtt::default(), queued: 0, reno: 2, slow_rounds: 0, fast_rounds: 0 }
    }
}

impl Yeah {
    /// Selects the mode at the end of a round, and reduces the window if the queue is long.
    fn end_round(&mut self, window: &mut Window, rtts: Rtts) {
        let cwnd = window.segments();
        let delay = rtts.min - rtts.base;
        let queued = share(cwnd, delay, rtts.min);
        if queued > QUEUE_MAX || delay > rtts.base / DELAY_SHARE {
            if queued > QUEUE_MAX && cwnd > self.reno {
                window.set_segments((cwnd - queued.min(cwnd / DECONGEST_SHARE)).max(self.reno));
                window.end_slow_start();
            }
            self.reno = if self.reno <= 2 { (window.segments() / 2).max(2) } else { self.reno + 1 };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds += 1;
            // No competing Reno flow is left.
            if self.fast_rounds > FAST_AFTER {
                self.reno = 2;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.queued = queued;
    }
}

impl WindowAlgorithm for Yeah {
    fn name(&self) -> &'static str {
        "yeah"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.rtt.restart(path);
    }

    fn on_transmit_start(&mut self, _now: Time, _idle: Duration, path: &PathState) {
        self.rtt.restart(path);
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, path: &PathState, _window: &mut Window) {
        self.rtt.sample(ack);
        self.rtt.follow(ack.ca_state, path);
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        let left = window.slow_start(window.acked_bytes_for_growth(ack));
        if left > 0 {
            let cwnd = window.segments();
            window.add_one_per(if self.slow_rounds == 0 { cwnd.min(SCALABLE_PER_SEGMENT) } else { cwnd }, left);
        }
        if self.rtt.is_over(path) {
            if let Some(rtts) = self.rtt.rtts().filter(|_| self.rtt.samples > TOO_FEW_SAMPLES) {
                self.end_round(window, rtts);
            }
            self.rtt.begin(path);
        }
    }

    fn on_timeout(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.rtt.follow(CaState::Loss, path);
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let cwnd = window.segments();
        let half = (cwnd / 2).max(2);
        let loss = if self.slow_rounds < RENO_AFTER { self.queued.min(half).max(cwnd / LOSS_SHARE) } else { half };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        cwnd.saturating_sub(loss)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, path_state, setup};
    use super::*;

    fn window(segments: u64) -> Window {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(lopsided_core::Bytes::new(MSS));
        window.set_segments(segments);
        window.end_slow_start();
        window
    }

    #[test]
    fn decongestion_removes_the_queue_but_keeps_at_least_renos_window() {
        let (mut yeah, mut window) = (Yeah::default(), window(1000));
        // With a base RTT of 100 ms and an RTT of 111 ms, 99 of the 1000 segments are queued.
        yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 111_000_000 });
        assert_eq!((window.segments(), yeah.queued), (901, 99));
        assert_eq!(yeah.slow_rounds, 1);
        yeah.reno = 880;
        yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 150_000_000 });
        assert_eq!(window.segments(), 880);
        assert_eq!(yeah.reno, 881, "Reno gains a segment a round trip");
    }

    #[test]
    fn a_loss_reduces_the_window_by_the_queue_but_by_an_eighth_to_a_half() {
        let cost = |queued, slow_rounds| {
            let mut yeah = Yeah { queued, slow_rounds, ..Yeah::default() };
            1000 - yeah.ssthresh(Time::ZERO, Signal::Loss, &path_state(), &window(1000))
        };
        assert_eq!([cost(0, 0), cost(200, 0), cost(900, 0), cost(0, 16)], [125, 200, 500, 500]);
    }

    #[test]
    fn fast_mode_returns_when_the_queue_is_short() {
        let (mut yeah, mut window) = (Yeah::default(), window(100));
        yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 120_000_000 });
        assert_eq!(yeah.slow_rounds, 1, "a fifth of the base RTT in the queue");
        assert_eq!(window.segments(), 100, "but not many segments");
        yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 105_000_000 });
        assert_eq!(yeah.slow_rounds, 0);
    }

    #[test]
    fn a_long_time_in_fast_mode_forgets_the_competing_reno_flow() {
        let (mut yeah, mut window) = (Yeah { reno: 50, ..Yeah::default() }, window(100));
        for _ in 0..50 {
            yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 105_000_000 });
        }
        assert_eq!((yeah.reno, yeah.fast_rounds), (50, 50));
        yeah.end_round(&mut window, Rtts { base: 100_000_000, min: 105_000_000 });
        assert_eq!((yeah.reno, yeah.fast_rounds), (2, 0));
    }

    #[test]
    fn the_queue_is_long_above_80_segments_or_an_eighth_of_the_base_rtt() {
        let slow = |segments, rtt| {
            let (mut yeah, mut window) = (Yeah::default(), window(segments));
            yeah.end_round(&mut window, Rtts { base: 100_000_000, min: rtt });
            (yeah.slow_rounds, window.segments())
        };
        assert_eq!([slow(100, 112_500_000), slow(100, 112_500_001)], [(0, 100), (1, 100)]);
        // 8/108 of 1080 segments are 80 queued segments.
        assert_eq!([slow(1080, 108_000_000), slow(1094, 108_000_000)], [(0, 1080), (1, 1013)]);
        // Decongestion removes at most half of the window.
        assert_eq!(slow(1000, 400_000_000), (1, 500));
    }

    #[test]
    fn growth_is_scalable_in_fast_mode_and_renos_in_slow_mode() {
        let grown = |slow_rounds, segments, octets: u64| {
            let mut yeah = Yeah { slow_rounds, ..Yeah::default() };
            let mut window = window(segments);
            let ack = crate::cc::Acked {
                delivered: lopsided_core::Bytes::new(octets),
                ..super::super::tests::path::acked(1, Duration::ZERO)
            };
            yeah.cong_avoid(Time::ZERO, &ack, &path_state(), &mut window);
            window.segments()
        };
        assert_eq!([grown(0, 300, 99 * MSS), grown(0, 300, 100 * MSS)], [300, 301]);
        assert_eq!([grown(1, 300, 299 * MSS), grown(1, 300, 300 * MSS)], [300, 301]);
        assert_eq!(grown(0, 50, 50 * MSS), 51);
    }

    #[test]
    fn a_loss_halves_renos_window_too() {
        let mut yeah = Yeah { reno: 60, fast_rounds: 9, ..Yeah::default() };
        yeah.ssthresh(Time::ZERO, Signal::Loss, &path_state(), &window(100));
        assert_eq!((yeah.reno, yeah.fast_rounds), (30, 0));
        yeah.reno = 3;
        yeah.ssthresh(Time::ZERO, Signal::Loss, &path_state(), &window(100));
        assert_eq!(yeah.reno, 2);
    }

    #[test]
    fn an_idle_period_discards_the_samples() {
        let mut yeah = Yeah::default();
        yeah.rtt.restart(&path_state());
        let ack = super::super::tests::path::acked(1, Duration::from_millis(100));
        yeah.pkts_acked(Time::ZERO, &ack, &path_state(), &mut window(100));
        assert_eq!(yeah.rtt.samples, 1);
        yeah.on_transmit_start(Time::ZERO, Duration::from_secs(1), &path_state());
        assert_eq!((yeah.rtt.samples, yeah.rtt.rtts()), (0, None));
    }
}
