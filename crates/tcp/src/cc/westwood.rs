//! Westwood+: after a loss the window becomes the measured bandwidth times the smallest RTT (Grieco and Mascolo,
//! Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control, CCR 34(2), 2004,
//! section 2).
//!
//! A bandwidth sample is taken once per RTT, but at most every 50 ms, and smoothed twice with a weight of 1/8. After a
//! fast recovery, the window and the threshold are set to bandwidth times RTTmin. After a timeout, only the threshold
//! is set to this value.
//!
//! As in Linux:
//!
//! - Values are in ticks of the stack's clock and whole bytes per tick. RTTs are rounded up, so RTTmin may be a tick
//!   too long.
//! - An ACK without new data counts as one segment, which is subtracted from a later ACK.
//! - The first ACK counts for no bytes.
//! - The estimate is updated before an ACK is counted, so the ACK that ends a repair counts in the next sample.

use super::{Acked, PathState, Setup, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// Minimum duration of a bandwidth sample.
const SAMPLE_MIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Westwood {
    tick: Duration,
    /// Bandwidth after the first filter, in bytes per tick (in bytes per second with an exact clock).
    once: f64,
    /// Bandwidth after the second filter, in the same unit as `once`.
    twice: f64,
    /// Start of the current sample.
    begun: Time,
    /// Number of bytes acknowledged in the current sample.
    count: u64,
    /// Number of bytes that duplicate ACKs have counted. These bytes are subtracted when a cumulative ACK covers them.
    accounted: u64,
    /// True once an ACK has arrived.
    heard: bool,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// True if the next RTT sample replaces the minimum, because the path may have changed.
    forget_min: bool,
}

impl Westwood {
    pub fn new(setup: &Setup) -> Westwood {
        Westwood {
            tick: setup.tick,
            once: 0.0,
            twice: 0.0,
            begun: Time::ZERO,
            count: 0,
            accounted: 0,
            heard: false,
            rtt: None,
            min_rtt: None,
            forget_min: false,
        }
    }

    /// Ends the sample if it is long enough (Linux's westwood_update_window).
    fn end_sample(&mut self, now: Time) {
        let span = self.floor(now).saturating_since(self.floor(self.begun));
        let Some(rtt) = self.rtt else { return };
        if span <= rtt.max(self.floor(Time::ZERO + SAMPLE_MIN) - Time::ZERO) {
            return;
        }
        let sample = self.whole(self.count as f64 / self.units(span));
        // westwood_filter: the first sample initialises both filters, which otherwise would start far too low.
        if self.once == 0.0 && self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = self.whole((7.0 * self.once + sample) / 8.0);
            self.twice = self.whole((7.0 * self.twice + self.once) / 8.0);
        }
        self.count = 0;
        self.begun = now;
    }

    /// Rounds a time down to a tick.
    fn floor(&self, now: Time) -> Time {
        let tick = self.tick.as_nanos().max(1);
        Time::from_nanos(now.as_nanos() / tick * tick)
    }

    /// Converts a duration to ticks (to seconds with an exact clock).
    fn units(&self, span: Duration) -> f64 {
        match self.tick.as_nanos() {
            0 => span.as_secs_f64(),
            tick => span.as_nanos() as f64 / tick as f64,
        }
    }

    /// Rounds a value down to whole bytes per tick.
    fn whole(&self, value: f64) -> f64 {
        if self.tick.is_zero() { value } else { libm::floor(value) }
    }

    /// Returns the number of bytes that an ACK counts for (Linux's westwood_acked_count).
    fn acked_octets(&mut self, ack: &Acked, mss: u64) -> u64 {
        let covered = if self.heard { ack.cumulative.get() } else { 0 };
        self.heard = true;
        if ack.predicted {
            return covered;
        }
        if covered == 0 {
            self.accounted += mss;
            return mss;
        }
        if covered <= mss {
            return covered;
        }
        // Duplicate ACKs have already counted all of these segments, except one.
        if self.accounted >= covered {
            self.accounted -= covered;
            return mss;
        }
        covered - std::mem::take(&mut self.accounted)
    }

    /// Returns bandwidth times RTTmin, in segments.
    fn window(&self, mss: u64) -> u64 {
        let min_rtt = self.units(self.min_rtt.unwrap_or(Duration::ZERO));
        (self.twice * min_rtt / mss as f64) as u64
    }
}

impl WindowAlgorithm for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn on_established(&mut self, now: Time, _path: &PathState, _window: &mut Window) {
        self.begun = now;
    }

    fn on_arrival(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &Window) {
        if let Some(rtt) = ack.newest_rtt {
            self.rtt = Some(rtt.min(Duration::from_secs(3600)).ceil_to(self.tick));
        }
        self.end_sample(now);
        self.count += self.acked_octets(ack, window.mss());
        if let Some(rtt) = self.rtt {
            let known = self.min_rtt.filter(|_| !std::mem::take(&mut self.forget_min));
            self.min_rtt = Some(known.map_or(rtt, |min| min.min(rtt)));
        }
    }

    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        window.reno_cong_avoid(window.acked_bytes_for_growth(ack));
    }

    fn ssthresh(&mut self, _now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        match signal {
            Signal::Timeout { .. } => {
                self.forget_min = true;
                self.window(window.mss())
            }
            Signal::Loss | Signal::EcnEcho => window.reno_ssthresh(),
        }
    }

    fn on_recovered(&mut self, _now: Time, _path: &PathState, window: &mut Window) {
        window.set_ssthresh(self.window(window.mss()));
        window.set_segments(self.window(window.mss()).max(2));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::{MSS, acked, controller, path_state, setup};
    use super::*;
    use crate::cc::{Controller, WindowController};
    use lopsided_core::Bytes;

    /// On a steady path the window is bandwidth times RTTmin, independently of the queue length.
    #[test]
    fn after_a_loss_the_window_is_the_bandwidth_times_the_minimum_rtt() {
        let mut westwood = WindowController::new(&setup(), Westwood::new(&setup()));
        let mut now = Time::from_nanos(1);
        // At one segment per millisecond and an RTTmin of 100 ms, the window is 100 segments. The queue is empty at
        // first and then 60 ms long.
        for step in 0..5000 {
            let rtt = Duration::from_millis(if step < 1000 { 100 } else { 160 });
            westwood.on_ack(now, &acked(1, rtt), &path_state());
            now += Duration::from_millis(1);
        }
        westwood.on_congestion(now, Signal::Loss, &path_state());
        westwood.on_recovered(now, &path_state());
        let window = westwood.cwnd().get() / MSS;
        assert!((98..=100).contains(&window), "{window} segments");
        assert_eq!(westwood.ssthresh(), Some(westwood.cwnd()));
    }

    /// Linux's `westwood_acked_count`: segments that duplicate ACKs have counted are not counted again by the ACK that
    /// covers them.
    #[test]
    fn each_duplicate_ack_counts_one_segment_which_the_covering_ack_subtracts() {
        let mut westwood = Westwood::new(&setup());
        let mut counts = |segments: u64, predicted| {
            let ack = Acked { cumulative: Bytes::new(segments * MSS), predicted, ..acked(1, Duration::ZERO) };
            westwood.acked_octets(&ack, MSS) / MSS
        };
        assert_eq!(counts(2, true), 0, "the first ACK counts for no bytes");
        assert_eq!(counts(2, true), 2);
        assert_eq!([counts(0, false), counts(0, false), counts(0, false)], [1, 1, 1]);
        assert_eq!(counts(1, false), 1, "an ACK of one segment counts in full");
        assert_eq!(counts(2, false), 1, "two of the three duplicates are subtracted");
        assert_eq!(counts(4, false), 3, "the third duplicate is subtracted");
        assert_eq!(counts(4, false), 4);
    }

    /// The ACK that ends a repair does not affect the window at the end of that repair.
    #[test]
    fn the_ack_that_ends_a_recovery_does_not_affect_the_window_after_it() {
        let mut westwood = WindowController::new(&setup(), Westwood::new(&setup()));
        let rtt = Duration::from_millis(100);
        let mut now = Time::from_nanos(1);
        for _ in 0..1000 {
            westwood.on_ack(now, &acked(1, rtt), &path_state());
            now += Duration::from_millis(1);
        }
        westwood.on_congestion(now, Signal::Loss, &path_state());
        let last = Acked { ca_state: crate::CaState::Recovery, predicted: false, ..acked(500, rtt) };
        westwood.on_arrival(now, &last, &path_state());
        westwood.on_recovered(now, &path_state());
        let window = westwood.cwnd().get() / MSS;
        assert!((95..=100).contains(&window), "{window} segments");
        westwood.on_ack(now, &Acked { told: true, ..last }, &path_state());
        now += Duration::from_millis(200);
        westwood.on_arrival(now, &last, &path_state());
        westwood.on_recovered(now, &path_state());
        assert!(westwood.cwnd().get() / MSS > 100, "counted once, in the next sample");
    }

    /// The first sample sets the estimate. Each later sample has a weight of 1/64.
    #[test]
    fn the_bandwidth_is_filtered_in_two_stages() {
        let mut algorithm = Westwood::new(&setup());
        let mut now = Time::from_nanos(0);
        algorithm.rtt = Some(Duration::from_millis(100));
        let mut sample = |algorithm: &mut Westwood, octets| {
            algorithm.end_sample(now);
            algorithm.count = octets;
            now += Duration::from_millis(200);
            algorithm.end_sample(now);
        };
        sample(&mut algorithm, 200_000);
        assert_eq!((algorithm.once, algorithm.twice), (4000.0, 4000.0), "octets a tick of 4 ms");
        sample(&mut algorithm, 0);
        assert_eq!(algorithm.once, 3500.0);
        assert_eq!(algorithm.twice, libm::floor((7.0 * 4000.0 + 3500.0) / 8.0));
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_resets_the_minimum_rtt() {
        let mut westwood = controller("westwood");
        let mut now = Time::from_nanos(1);
        for _ in 0..1000 {
            westwood.on_ack(now, &acked(1, Duration::from_millis(100)), &path_state());
            now += Duration::from_millis(1);
        }
        westwood.on_congestion(now, Signal::Timeout { consecutive: 1 }, &path_state());
        let threshold = westwood.ssthresh().map(|threshold| threshold.get() / MSS);
        assert!(threshold.is_some_and(|threshold| (98..=100).contains(&threshold)), "{threshold:?}");
        assert_eq!(westwood.cwnd().get(), MSS);
    }

    /// Linux's westwood_update_window: a sample lasts longer than one RTT and longer than 50 ms.
    #[test]
    fn a_sample_lasts_longer_than_a_round_trip_and_50_ms() {
        let ended = |rtt_ms, begun_ms, now_ms| {
            let at = |ms| Time::ZERO + Duration::from_millis(ms);
            let mut westwood = Westwood::new(&setup());
            (westwood.rtt, westwood.begun, westwood.count) = (Some(Duration::from_millis(rtt_ms)), at(begun_ms), 800);
            westwood.end_sample(at(now_ms));
            westwood.once
        };
        // 800 bytes in 26 ticks of 4 ms, rounded down.
        assert_eq!([ended(100, 1000, 1100), ended(100, 1000, 1104)], [0.0, 30.0]);
        // 50 ms are 12 ticks.
        assert_eq!([ended(4, 1000, 1048), ended(4, 1000, 1052)], [0.0, 61.0]);
        let mut westwood = Westwood { once: 40.0, rtt: Some(Duration::from_millis(4)), ..Westwood::new(&setup()) };
        westwood.count = 1600;
        westwood.end_sample(Time::ZERO + Duration::from_millis(80));
        // The second filter is still zero, so both filters continue.
        assert_eq!((westwood.once, westwood.twice), (45.0, 5.0));
    }
}
