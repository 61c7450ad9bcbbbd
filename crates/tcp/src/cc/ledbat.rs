//! LEDBAT: yields to other traffic by keeping its own queueing delay at a target (RFC 6817).
//!
//! The window changes by GAIN * off_target * bytes acknowledged * MSS / cwnd (section 2.4.2), with a target of 100 ms
//! and a gain of 1. The delay is one-way, measured by timestamps: the minimum of the last four samples minus the
//! minimum of the last ten minutes. Without timestamps the RTT is used, although section 2.2 advises against it.
//!
//! As in the RFC, there is no slow start, except after a timeout.
//!
//! Not implemented: the correction of clock skew (appendix A.2).

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// Section 4: TARGET in milliseconds.
const TARGET_MS: f64 = 100.0;
const GAIN: f64 = 1.0;
/// INIT_CWND in segments.
const INITIAL_WINDOW: u64 = 2;
/// MIN_CWND in segments.
const LEAST_WINDOW: u64 = 2;
/// ALLOWED_INCREASE in segments.
const ALLOWED_INCREASE: u64 = 1;
/// CURRENT_FILTER, in samples.
const CURRENT: usize = 4;
/// BASE_HISTORY, in minutes.
const HISTORY: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Ledbat {
    /// The first sample. Later samples are stored as signed differences to the first sample, because the clock wraps.
    origin: Option<u32>,
    /// The last samples, in ms.
    current: [i64; CURRENT],
    /// Position of the next sample.
    next: usize,
    /// The minimum delay in each of the last ten minutes, in ms.
    base: [i64; HISTORY],
    /// Start of the current minute.
    minute: Time,
}

impl Default for Ledbat {
    fn default() -> Ledbat {
        Ledbat { origin: None, current: [i64::MAX; CURRENT], next: 0, base: [i64::MAX; HISTORY], minute: Time::ZERO }
    }
}

impl Ledbat {
    /// Adds a delay sample in ms.
    fn sample(&mut self, now: Time, delay: u32) {
        let origin = *self.origin.get_or_insert(delay);
        let delay = i64::from(delay.wrapping_sub(origin) as i32);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT;
        if now.saturating_since(self.minute) >= MINUTE {
            self.minute = now;
            self.base.rotate_right(1);
            self.base[0] = delay;
        } else {
            self.base[0] = self.base[0].min(delay);
        }
    }

    /// Returns the queueing delay in ms; `None` before the first sample.
    fn queueing(&self) -> Option<f64> {
        let smallest = |delays: &[i64]| delays.iter().copied().min().filter(|delay| *delay != i64::MAX);
        Some((smallest(&self.current)? - smallest(&self.base)?) as f64)
    }
}

/// Returns off_target of section 2.4.2: 1 without a queue, 0 at the target delay, and negative above the target delay.
fn off_target(queueing_ms: f64) -> f64 {
    ((TARGET_MS - queueing_ms) / TARGET_MS).max(-1.0)
}

impl WindowAlgorithm for Ledbat {
    fn name(&self) -> &'static str {
        "ledbat"
    }

    fn on_established(&mut self, now: Time, _path: &PathState, window: &mut Window) {
        self.minute = now;
        window.set_segments(INITIAL_WINDOW);
    }

    fn pkts_acked(&mut self, now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        if let Some(delay) = ack.forward_ms.or(ack.newest_rtt.map(|rtt| (rtt.as_micros() / 1000) as u32)) {
            self.sample(now, delay);
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let mut octets = window.acked_bytes_for_growth(ack);
        if window.ssthresh().is_some() && window.in_slow_start() {
            octets = window.slow_start(octets);
        }
        let Some(queueing) = self.queueing() else { return };
        let (cwnd, mss) = (window.octets(), window.mss());
        let change = GAIN * off_target(queueing) * octets as f64 * mss as f64 / cwnd as f64;
        let wanted = (cwnd as f64 + change).max((LEAST_WINDOW * mss) as f64) as u64;
        // Section 2.4.2: a window that is not fully used must not grow.
        let allowed = ack.prior_in_flight.get().saturating_add(ALLOWED_INCREASE * mss);
        window.set_octets(wanted.min(allowed.max(cwnd)));
    }

    fn ssthresh(&mut self, _now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        window.reno_ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, path_state, setup};
    use super::*;
    use crate::cc::{Controller, WindowController};

    #[test]
    fn the_offset_is_one_without_a_queue_and_zero_at_the_target() {
        assert_eq!([0.0, 50.0, 100.0, 150.0, 500.0].map(off_target), [1.0, 0.5, 0.0, -0.5, -1.0]);
    }

    /// Section 2.4.2: the ACKs of one window change the window by GAIN * off_target segments, by at most one segment.
    #[test]
    fn the_window_changes_by_the_offset_from_the_target_once_per_rtt() {
        for (queue_ms, expected) in [(0, 101.0), (50, 100.5), (100, 100.0), (200, 99.0)] {
            let mut ledbat = WindowController::new(&setup(), Ledbat::default());
            ledbat.on_established(Time::ZERO, &path_state());
            let mut ack = acked(1, Duration::from_millis(20));
            ack.prior_in_flight = lopsided_core::Bytes::new(1000 * MSS);
            while ledbat.cwnd().get() < 100 * MSS {
                ledbat.on_ack(Time::ZERO, &ack, &path_state());
            }
            // Fill the filter with samples of the new delay. During this time the window does not grow, because it
            // does not limit the sender.
            ack.forward_ms = Some(20 + queue_ms);
            let unlimited = Acked { cwnd_limited: false, ..ack };
            (0..4).for_each(|_| ledbat.on_ack(Time::ZERO, &unlimited, &path_state()));
            (0..100).for_each(|_| ledbat.on_ack(Time::ZERO, &ack, &path_state()));
            let window = ledbat.cwnd().get() as f64 / MSS as f64;
            assert!((window - expected).abs() < 0.05, "{window} segments with {queue_ms} ms of queue");
        }
    }

    /// The base delay expires after ten minutes, and the clock may wrap.
    #[test]
    fn the_base_delay_covers_the_last_ten_minutes() {
        let mut ledbat = Ledbat::default();
        let mut now = Time::ZERO;
        ledbat.sample(now, u32::MAX - 5);
        for _ in 0..9 {
            now += MINUTE;
            (0..CURRENT).for_each(|_| ledbat.sample(now, 24));
        }
        assert_eq!(ledbat.queueing(), Some(30.0));
        now += MINUTE;
        ledbat.sample(now, 24);
        assert_eq!(ledbat.queueing(), Some(0.0));
    }

    /// Section 2.4.2: the window is at most the data that was in flight plus one segment.
    #[test]
    fn a_window_that_is_not_used_grows_by_at_most_one_segment_beyond_the_flight() {
        let grown = |in_flight: u64| {
            let mut window = Window::new(setup().initial_window, setup().counting);
            window.set_mss(lopsided_core::Bytes::new(MSS));
            window.set_segments(10);
            let mut ledbat = Ledbat::default();
            ledbat.sample(Time::ZERO, 20);
            let ack =
                Acked { prior_in_flight: lopsided_core::Bytes::new(in_flight), ..acked(10, Duration::from_millis(20)) };
            ledbat.cong_avoid(Time::ZERO, &ack, &path_state(), &mut window);
            window.octets()
        };
        assert_eq!([grown(10 * MSS), grown(10 * MSS - 100), grown(5 * MSS)], [11 * MSS, 11 * MSS - 100, 10 * MSS]);
    }

    #[test]
    fn without_timestamps_the_rtt_in_ms_replaces_the_forward_delay() {
        let mut window = Window::new(setup().initial_window, setup().counting);
        let mut queueing = |forward_ms: [Option<u32>; 2]| {
            let mut ledbat = Ledbat::default();
            for (forward_ms, rtt_us) in forward_ms.into_iter().zip([20_700, 35_200]) {
                let ack = Acked { forward_ms, ..acked(1, Duration::from_micros(rtt_us)) };
                (0..CURRENT).for_each(|_| ledbat.pkts_acked(Time::ZERO, &ack, &path_state(), &mut window));
            }
            ledbat.queueing()
        };
        assert_eq!(Ledbat::default().queueing(), None);
        assert_eq!(queueing([None, None]), Some(15.0), "35 - 20 ms");
        assert_eq!(queueing([Some(7), Some(9)]), Some(2.0));
    }
}
