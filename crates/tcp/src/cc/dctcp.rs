//! DCTCP: the window shrinks in proportion to the share of marked bytes (RFC 8257).
//!
//! alpha is the smoothed share of marked bytes. It starts at 1 and is updated once per round trip with g = 1/16. A mark
//! reduces the window by alpha / 2, at most once per round trip; a loss halves the window. The receiver echoes each
//! mark (section 3.2). The connection always negotiates ECN, and sends only ECN-capable segments.
//!
//! The arithmetic is Linux's: alpha has 10 fractional bits, and both the decay and the new share are rounded down.
//!
//! Not implemented: the advice for flows with different RTTs (section 5).

use super::round::Round;
use super::{Acked, EcnUse, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::Time;

/// alpha if all bytes are marked (DCTCP_MAX_ALPHA).
const ONE: u64 = 1 << 10;
/// g, the weight of the newest sample in alpha, is 2^-`GAIN_SHIFT` (`dctcp_shift_g`).
const GAIN_SHIFT: u32 = 4;

#[derive(Debug)]
pub struct Dctcp {
    /// Smoothed share of marked bytes, from 0 to [`ONE`].
    alpha: u64,
    /// Bytes delivered in this round.
    delivered: u64,
    /// Bytes marked in this round.
    marked: u64,
    round: Round,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp { alpha: ONE, delivered: 0, marked: 0, round: Round::default() }
    }
}

impl Dctcp {
    /// Updates alpha at the end of a round (section 3.3, dctcp_update_alpha). The bytes of the ACK that ends the round
    /// count for the next round, because Linux counts them later.
    fn update_alpha(&mut self, path: &PathState) {
        if !self.round.is_acknowledged(path) {
            return;
        }
        let decay = self.alpha >> GAIN_SHIFT;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        let share = (self.marked << 10 >> GAIN_SHIFT) / self.delivered.max(1);
        self.alpha = (self.alpha + share).min(ONE);
        (self.delivered, self.marked) = (0, 0);
        self.round = Round::begin(path);
    }
}

impl WindowAlgorithm for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, _window: &mut Window) {
        self.round = Round::begin(path);
    }

    fn on_arrival(&mut self, _now: Time, _ack: &Acked, path: &PathState, _window: &Window) {
        self.update_alpha(path);
    }

    fn pkts_acked(&mut self, _now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        self.delivered += ack.delivered.get();
        self.marked += ack.marked.get();
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
    }

    fn ssthresh(&mut self, _now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        match signal {
            Signal::EcnEcho => {
                let cwnd = window.segments();
                cwnd - cwnd * self.alpha / (2 * ONE)
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

    /// If 1/4 of the bytes are marked, each round adds 16 to alpha, which is in units of 1/1024. The decay of 1/16 is
    /// rounded down, so alpha stops at 271.
    #[test]
    fn alpha_is_the_smoothed_share_of_marked_bytes_in_units_of_1_1024() {
        let mut dctcp = WindowController::new(&setup(), Dctcp::default());
        for round in 1..200u64 {
            for segment in 1..=4u64 {
                let plain = acked(1, Duration::from_millis(1));
                let ack = Acked { marked: if segment == 1 { plain.delivered } else { Bytes::ZERO }, ..plain };
                let una = (round * 4 + segment) * MSS;
                dctcp.on_ack(Time::ZERO, &ack, &PathState { una, nxt: una + 4 * MSS, ..path_state() });
            }
        }
        assert_eq!(dctcp.algorithm().alpha, 271);
    }

    #[test]
    fn an_alpha_below_1_64_becomes_0_after_a_round_without_marks() {
        let mut dctcp = Dctcp { alpha: 16, ..Dctcp::default() };
        let path = PathState { una: 1, ..path_state() };
        dctcp.update_alpha(&path);
        assert_eq!(dctcp.alpha, 15);
        dctcp.update_alpha(&PathState { una: path.nxt, ..path });
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn a_mark_reduces_the_window_by_half_of_alpha_and_a_loss_by_half() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        window.set_mss(path_state().mss);
        window.set_segments(100);
        let mut dctcp = Dctcp { alpha: 103, ..Dctcp::default() };
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

    #[test]
    fn the_first_round_ends_with_the_data_that_was_outstanding_at_its_start() {
        let mut dctcp = Dctcp::default();
        let mut window = Window::new(setup().initial_window, setup().counting);
        dctcp.on_established(Time::ZERO, &PathState { nxt: 5, ..path_state() }, &mut window);
        let alpha = [4, 5, 6].map(|una| {
            dctcp.update_alpha(&PathState { una, nxt: 100, ..path_state() });
            dctcp.alpha
        });
        assert_eq!(alpha, [ONE, ONE - ONE / 16, ONE - ONE / 16]);
    }
}
