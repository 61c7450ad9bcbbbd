//! Vegas: keeps two to four segments in the queue (Brakmo and Peterson, TCP Vegas: End to End Congestion Avoidance on a
//! Global Internet, JSAC 13(8), 1995, section 3), as in Linux.
//!
//! Once per round trip, Vegas compares the estimated queue length with alpha = 2, beta = 4 and, in slow start, gamma =
//! 1 segments. With fewer than three RTT samples in a round, and outside of the Open state, Vegas behaves like Reno.
//!
//! Deviations from the paper, as in Linux: slow start doubles the window every round trip, RACK replaces the
//! retransmission checks, and the estimate uses the round's minimum RTT.

use super::delay::{RoundRtt, Rtts, share};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// Number of RTT samples that is too small for an estimate, because all samples may come from delayed ACKs.
const TOO_FEW: u32 = 2;

#[derive(Debug, Default)]
pub struct Vegas {
    rtt: RoundRtt,
}

impl Vegas {
    /// Changes the window at the end of a round.
    fn adjust(window: &mut Window, octets: u64, rtts: Rtts) {
        let cwnd = window.segments();
        let queued = share(cwnd, rtts.min - rtts.base, rtts.base);
        if window.in_slow_start() {
            if queued > GAMMA {
                // Set the window to the BDP at the base RTT, plus one segment.
                window.set_segments(cwnd.min(share(cwnd, rtts.base, rtts.min) + 1));
                window.end_slow_start_at_window();
            } else {
                window.slow_start(octets);
            }
        } else if queued > BETA {
            window.set_segments(cwnd - 1);
            window.end_slow_start_at_window();
        } else if queued < ALPHA {
            window.set_segments(cwnd + 1);
        }
        window.set_segments(window.segments().max(2));
        window.freshen_ssthresh();
    }
}

impl WindowAlgorithm for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
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
        let octets = window.acked_bytes_for_growth(ack);
        // tcp_vegas_cong_avoid: without enough RTT samples, Vegas grows like Reno.
        if !self.rtt.open || (self.rtt.is_over(path) && self.rtt.samples <= TOO_FEW) {
            if ack.cwnd_limited {
                window.reno_cong_avoid(octets);
            }
        } else if self.rtt.is_over(path) {
            if let Some(rtts) = self.rtt.rtts() {
                Vegas::adjust(window, octets, rtts);
            }
        } else if window.in_slow_start() {
            window.slow_start(octets);
        }
        if self.rtt.open && self.rtt.is_over(path) {
            self.rtt.begin(path);
        }
    }

    fn on_timeout(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.rtt.follow(CaState::Loss, path);
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        window.reno_ssthresh()
    }

    fn increase_when_app_limited(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, Path, acked, controller, path_state, setup};
    use super::*;

    /// The window grows if fewer than alpha segments are queued, and shrinks if more than beta segments are queued.
    #[test]
    fn the_window_changes_by_one_segment_outside_alpha_and_beta() {
        // With a window of 100 segments and a base RTT of 100 ms, 1 ms of queueing delay is one segment.
        for (queue_ms, expected) in [(0, 101), (1, 101), (2, 100), (3, 100), (4, 100), (5, 99), (30, 99)] {
            let mut window = Window::new(setup().initial_window, setup().counting);
            window.set_mss(lopsided_core::Bytes::new(MSS));
            window.set_segments(100);
            window.end_slow_start();
            let base = 100_000_000;
            Vegas::adjust(&mut window, MSS, Rtts { base, min: base + queue_ms * 1_000_000 });
            assert_eq!(window.segments(), expected, "{queue_ms} ms of queue");
        }
    }

    #[test]
    fn slow_start_ends_at_the_bdp_of_the_base_rtt_plus_one_segment() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(lopsided_core::Bytes::new(MSS));
        window.set_segments(100);
        Vegas::adjust(&mut window, MSS, Rtts { base: 100_000_000, min: 125_000_000 });
        assert_eq!(window.segments(), 81);
        assert!(!window.in_slow_start());
    }

    /// After a timeout the retransmission counts as a start of transmission, so Vegas stays active. In a kernel capture
    /// on 1056/184 kbit/s the window did not grow by Reno's rule.
    #[test]
    fn vegas_stays_active_during_the_recovery_after_a_timeout() {
        let mut path = path_state();
        let mut vegas = Vegas::default();
        vegas.rtt.restart(&path);
        let ack = Acked { ca_state: CaState::Disorder, ..acked(1, Duration::from_millis(100)) };
        let mut window = Window::new(setup().initial_window, setup().counting);
        vegas.pkts_acked(Time::ZERO, &ack, &path, &mut window);
        assert!(!vegas.rtt.open, "Reno outside the open state");
        path.ca_state = CaState::Loss;
        vegas.on_transmit_start(Time::ZERO, Duration::ZERO, &path);
        let ack = Acked { ca_state: CaState::Loss, ..ack };
        vegas.pkts_acked(Time::ZERO, &ack, &path, &mut window);
        assert!(vegas.rtt.open);
    }

    /// Linux calls `set_state` for the loss and again for its undo, so the undo begins another round.
    #[test]
    fn an_undone_timeout_starts_a_new_round() {
        let path = path_state();
        let mut vegas = Vegas::default();
        vegas.rtt.restart(&path);
        let mut window = Window::new(setup().initial_window, setup().counting);
        let ack = Acked { ca_state: CaState::Open, ..acked(1, Duration::from_millis(100)) };
        vegas.pkts_acked(Time::ZERO, &ack, &path, &mut window);
        assert_eq!(vegas.rtt.samples, 1);
        vegas.on_timeout(Time::ZERO, &path, &mut window);
        assert!(!vegas.rtt.open);
        vegas.pkts_acked(Time::ZERO, &ack, &path, &mut window);
        assert!(vegas.rtt.open && vegas.rtt.samples == 0);
    }

    /// Alone on a line, Vegas keeps a queue of two to four segments and loses nothing.
    #[test]
    fn alone_on_a_line_vegas_queues_a_few_segments_without_losses() {
        let mut path = Path::new(controller("vegas"), 20.0, Duration::from_millis(50), 400);
        // Slow start overshoots before the delay rises. Afterwards the window shrinks by one segment per round trip.
        path.run(Duration::from_secs(60));
        assert_eq!(path.losses, 0);
        // 20 Mbit/s times a base RTT of 50 ms is 86.3 segments. One more segment is being serialized.
        let window = path.controller.cwnd().get() / MSS;
        assert!((88..=92).contains(&window), "{window} segments");
        assert!(path.run(Duration::from_secs(20)) > 0.999);
    }
}
