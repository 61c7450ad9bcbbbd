//! DCTCP: the window shrinks in proportion to the share of marked bytes (RFC 8257).
//!
//! alpha is the smoothed share of marked bytes. It starts at 1 and is updated once per round trip with g = 1/16. A mark
//! reduces the window by alpha / 2, at most once per round trip; a loss halves it. The connection echoes each mark
//! (section 3.2) and always negotiates ECN.
//!
//! Left out: ECN-capable SYNs and retransmissions (section 3.5), and the advice for flows with different RTTs (section
//! 5).

use super::round::Round;
use super::{Acked, EcnUse, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

/// g: the weight of the newest sample in alpha.
const GAIN: f64 = 1.0 / 16.0;

#[derive(Debug)]
pub struct Dctcp {
    /// Smoothed share of marked bytes, from 0 to 1.
    alpha: f64,
    /// Bytes acknowledged in this round.
    acked: u64,
    /// Bytes marked in this round.
    marked: u64,
    round: Round,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp { alpha: 1.0, acked: 0, marked: 0, round: Round::default() }
    }
}

impl WindowAlgorithm for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.round = Round::begin(path);
    }

    /// Updates alpha at the end of a round (section 3.3).
    fn pkts_acked(&mut self, _now: Time, ack: &Acked, path: &PathState, _window: &mut Window) {
        self.acked = self.acked.saturating_add(ack.delivered.get());
        self.marked = self.marked.saturating_add(ack.marked.get());
        if self.round.is_acknowledged(path) && self.acked > 0 {
            // Equation in section 3.3: alpha = alpha * (1 - g) + g * M.
            let share = self.marked as f64 / self.acked as f64;
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
            self.round = Round::begin(path);
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
    }

    fn ssthresh(&mut self, _now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        match signal {
            Signal::EcnEcho => {
                let cwnd = window.segments();
                cwnd - (cwnd as f64 * self.alpha / 2.0) as u64
            }
            Signal::Loss | Signal::Timeout { .. } => window.reno_ssthresh(),
        }
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::DctcpEcho
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, Path, acked, controller, path_state, setup};
    use super::*;
    use crate::cc::{Controller, WindowController};
    use lopsided_core::{Bytes, Duration};

    #[test]
    fn alpha_is_the_smoothed_share_of_marked_octets() {
        let mut dctcp = WindowController::new(&setup(), Dctcp::default());
        let mut expected = 1.0;
        for round in 1..200u64 {
            for segment in 1..=4u64 {
                let plain = acked(1, Duration::from_millis(1));
                let ack = Acked { marked: if segment == 1 { plain.delivered } else { Bytes::ZERO }, ..plain };
                let una = (round * 4 + segment) * MSS;
                dctcp.on_ack(Time::ZERO, &ack, &PathState { una, nxt: una + 3 * MSS, ..path_state() });
            }
            expected += (0.25 - expected) / 16.0;
        }
        assert!((dctcp.algorithm().alpha - 0.25).abs() < 0.02, "{} of {expected}", dctcp.algorithm().alpha);
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_a_half() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(path_state().mss);
        window.set_segments(100);
        let mut dctcp = Dctcp { alpha: 0.1, ..Dctcp::default() };
        assert_eq!(dctcp.ssthresh(Time::ZERO, Signal::EcnEcho, &path_state(), &window), 95);
        assert_eq!(dctcp.ssthresh(Time::ZERO, Signal::Loss, &path_state(), &window), 50);
    }

    /// If the queue starts to mark at a short length, the line stays full and the queue stays short.
    #[test]
    fn a_short_marking_threshold_keeps_the_line_full() {
        let mut path = Path::new(controller("dctcp"), 100.0, Duration::from_millis(5), 1000);
        path.mark_from = Some(20);
        path.run(Duration::from_secs(5));
        let share = path.run(Duration::from_secs(5));
        assert!(share > 0.99, "{share}");
        assert_eq!(path.losses, 0);
        let windows: Vec<u64> = path.trace.iter().rev().take(5000).map(|(_, window)| *window).collect();
        let (least, most) = (windows.iter().min().copied(), windows.iter().max().copied());
        // The BDP is 43 segments, and the marking threshold 20 segments.
        assert!(least > Some(43) && most < Some(80), "{least:?} to {most:?}");
    }
}
