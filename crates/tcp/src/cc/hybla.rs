//! Hybla: at any RTT, the window grows as on a path with a short reference RTT (Caini and Firrincieli, TCP Hybla: a TCP
//! enhancement for heterogeneous networks, Int. J. Satellite Communications and Networking 22, 2004, section 3).
//!
//! rho is the minimum smoothed RTT / 25 ms, but at least 1. An ACK adds 2^rho - 1 segments in slow start, and rho^2 /
//! cwnd segments in congestion avoidance. A loss halves the window.
//!
//! As in Linux, each ACK counts once, and outside of the Open state Hybla behaves like Reno.
//!
//! Not implemented: the other parts of the paper (packet spacing, a bandwidth estimate for the initial threshold,
//! mandatory SACK).

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// RTT0, the reference RTT.
const REFERENCE: Duration = Duration::from_millis(25);
/// Units of growth per segment: growth is counted in units of 1/128 segment.
const PART: u64 = 128;
/// Linux's values of 2^(n/8), for n from 0 to 7, in units of 1/128 (`hybla_fraction`).
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Maximum whole part of rho in the growth of slow start.
const RHO_MAX: u64 = 16;

#[derive(Debug)]
pub struct Hybla {
    /// rho in units of 1/8, at least 8.
    rho_eighths: u64,
    /// Minimum smoothed RTT; `None` before the first sample.
    min_srtt: Option<Duration>,
    /// Growth that is not yet a whole segment, in 1/128 segment.
    parts: u64,
}

impl Default for Hybla {
    fn default() -> Hybla {
        Hybla { rho_eighths: 8, min_srtt: None, parts: 0 }
    }
}

impl Hybla {
    /// Updates rho if the smoothed RTT is a new minimum.
    fn follow(&mut self, path: &PathState) {
        if let Some(srtt) = path.srtt {
            if self.min_srtt.is_none_or(|min| srtt < min) {
                self.min_srtt = Some(srtt);
                self.rho_eighths = rho_eighths(srtt);
            }
        }
    }
}

/// Returns rho for a smoothed RTT, in units of 1/8 and at least 8.
fn rho_eighths(srtt: Duration) -> u64 {
    let eighths = u128::from(srtt.as_nanos()) * 8 / u128::from(REFERENCE.as_nanos());
    eighths.clamp(8, 1 << 20) as u64
}

/// Returns the growth per ACK, in 1/128 segment.
fn step(rho_eighths: u64, slow_start: bool, cwnd: u64) -> u64 {
    if slow_start {
        let (whole, fraction) = (rho_eighths / 8, rho_eighths % 8);
        (FRACTIONS[fraction as usize] << whole.min(RHO_MAX)) - PART
    } else {
        2 * rho_eighths * rho_eighths / cwnd
    }
}

impl WindowAlgorithm for Hybla {
    fn name(&self) -> &'static str {
        "hybla"
    }

    fn on_established(&mut self, _now: Time, path: &PathState, window: &mut Window) {
        self.follow(path);
        if path.srtt.is_some() {
            window.set_segments(self.rho_eighths / 8);
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        self.follow(path);
        if !ack.cwnd_limited {
            return;
        }
        if ack.ca_state != CaState::Open {
            window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
            return;
        }
        let (slow_start, cwnd) = (window.in_slow_start(), window.segments());
        let step = step(self.rho_eighths, slow_start, cwnd);
        // Linux counts the ACKs that add less than a segment, in the counter of Reno's growth (`snd_cwnd_cnt`). The first
        // ACK outside of the Open state therefore often adds a segment.
        if step < PART {
            window.count_segment();
        }
        self.parts += step % PART;
        let carried = self.parts / PART;
        self.parts %= PART;
        let whole = step / PART + carried;
        if carried > 0 {
            window.reset_cwnd_cnt();
        }
        if whole > 0 {
            let grown = cwnd + whole;
            window
                .set_segments(window.ssthresh().filter(|_| slow_start).map_or(grown, |threshold| grown.min(threshold)));
        } else if step == 0 && window.count_to_window(0) {
            window.set_segments(cwnd + 1);
        }
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        window.reno_ssthresh()
    }

    /// Linux also updates rho while the window does not limit the sender.
    fn increase_when_app_limited(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, path_state};
    use super::*;
    use crate::ByteCounting;
    use lopsided_core::Bytes;

    /// Section 3: at the reference RTT, Hybla behaves like Reno. At four times the reference RTT, the window grows by
    /// 16 times as many bytes per ACK as with Reno.
    #[test]
    fn the_increase_per_time_equals_that_of_the_reference_path() {
        assert_eq!(rho_eighths(Duration::from_millis(10)), 8);
        assert_eq!(rho_eighths(Duration::from_millis(100)), 32);
        assert_eq!(step(8, true, 10), 128, "one segment an ACK");
        assert_eq!(step(8, false, 32), 128 / 32);
        assert_eq!(step(32, true, 10), 15 * 128, "2^4 - 1");
        assert_eq!(step(32, false, 32), 16 * 128 / 32);
    }

    /// hybla_cong_avoid computes 2^rho from a table. With rho of 8 5/8, an ACK adds 2^8 * 197/128 - 1 segments, a whole
    /// number.
    #[test]
    fn slow_start_grows_by_linuxs_table() {
        assert_eq!(step(69, true, 10), 256 * 197 - 128);
        assert_eq!(step(69, true, 10) % PART, 0);
        assert_eq!(step(1 << 20, true, 10), (128 << 16) - 128, "rho is at most 16");
    }

    /// Linux updates rho before it checks whether the window limits the sender.
    #[test]
    fn an_unused_window_does_not_grow_but_a_shorter_rtt_counts() {
        let (mut hybla, mut window) = (Hybla::default(), window(32, 2));
        let path = |srtt_ms| PathState { srtt: Some(Duration::from_millis(srtt_ms)), ..path_state() };
        let ack = |cwnd_limited| Acked { cwnd_limited, ..acked(1, Duration::from_millis(50)) };
        hybla.cong_avoid(Time::ZERO, &ack(false), &path(50), &mut window);
        assert_eq!((window.segments(), hybla.rho_eighths), (32, 16));
        hybla.cong_avoid(Time::ZERO, &ack(true), &path(100), &mut window);
        assert_eq!((hybla.rho_eighths, hybla.parts), (16, 16), "rho of the shortest RTT");
    }

    /// Returns the window after each of `acks` ACKs of one segment.
    fn windows(mut window: Window, srtt_ms: u64, ca_state: CaState, acks: usize) -> Vec<u64> {
        let path = PathState { srtt: Some(Duration::from_millis(srtt_ms)), ..path_state() };
        let mut hybla = Hybla::default();
        let ack = Acked { ca_state, ..acked(1, Duration::from_millis(srtt_ms)) };
        (0..acks)
            .map(|_| {
                hybla.cong_avoid(Time::ZERO, &ack, &path, &mut window);
                window.segments()
            })
            .collect()
    }

    fn window(segments: u64, ssthresh: u64) -> Window {
        let mut window = Window::new(Bytes::new(segments * MSS), ByteCounting::Delivered);
        window.set_mss(Bytes::new(MSS));
        window.set_ssthresh(ssthresh);
        window
    }

    #[test]
    fn growth_is_counted_in_parts_of_a_segment() {
        // At the reference RTT, each of 32 ACKs adds 4/128 segment.
        let grown = windows(window(32, 2), 25, CaState::Open, 33);
        assert_eq!((grown[30], grown[31], grown[32]), (32, 33, 33));
        // With a window of 100 segments, an ACK adds 1/128 segment.
        let grown = windows(window(100, 2), 25, CaState::Open, 128);
        assert_eq!((grown[126], grown[127]), (100, 101));
        // An ACK adds less than 1/128 segment, so a window of ACKs adds one segment.
        let grown = windows(window(200, 2), 25, CaState::Open, 402);
        assert_eq!((grown[198], grown[199], grown[399], grown[400]), (200, 201, 201, 202));
        // At four times the reference RTT, an ACK of a window of eight segments adds two segments.
        assert_eq!(windows(window(8, 2), 100, CaState::Open, 2), [10, 11]);
    }

    /// tcp_reno_cong_avoid and hybla_cong_avoid share `snd_cwnd_cnt`. With a window of 45 segments, an ACK adds 2/128
    /// segment, so 50 ACKs add no segment but count as more than one window.
    #[test]
    fn acks_of_the_open_state_count_for_renos_growth() {
        let path = PathState { srtt: Some(Duration::from_millis(25)), ..path_state() };
        let (mut hybla, mut window) = (Hybla::default(), window(45, 2));
        let mut after = |ca_state, acks| {
            let ack = Acked { ca_state, ..acked(1, Duration::from_millis(25)) };
            (0..acks).for_each(|_| hybla.cong_avoid(Time::ZERO, &ack, &path, &mut window));
            window.segments()
        };
        assert_eq!([after(CaState::Open, 50), after(CaState::Disorder, 1)], [45, 46]);
    }

    #[test]
    fn slow_start_grows_exponentially_in_rho_up_to_the_threshold() {
        assert_eq!(windows(window(10, 1000), 100, CaState::Open, 2), [25, 40]);
        assert_eq!(windows(window(10, 20), 100, CaState::Open, 1), [20]);
        assert_eq!(windows(window(10, 1000), 25, CaState::Open, 2), [11, 12]);
        assert_eq!(windows(window(10, 1000), 100, CaState::Disorder, 2), [11, 12], "as in Reno");
    }

    #[test]
    fn the_shortest_smoothed_rtt_determines_rho() {
        let mut hybla = Hybla::default();
        let mut rho_at = |ms| {
            hybla.follow(&PathState { srtt: Some(Duration::from_millis(ms)), ..path_state() });
            hybla.rho_eighths
        };
        assert_eq!([rho_at(100), rho_at(200), rho_at(50), rho_at(60)], [32, 32, 16, 16]);
        let mut window = window(10, 1000);
        let path = PathState { srtt: Some(Duration::from_millis(150)), ..path_state() };
        Hybla::default().on_established(Time::ZERO, &path, &mut window);
        assert_eq!(window.segments(), 6);
    }
}
