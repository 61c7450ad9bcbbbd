//! Westwood+: after a loss the window becomes what the path was seen to deliver (Grieco and Mascolo, Performance
//! evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control, CCR 34(2), 2004, section 2).
//!
//! Once an RTT, but no oftener than every 50 ms, the octets acknowledged give a bandwidth sample, smoothed twice with
//! 7/8 (Linux's form of the low-pass filter). After fast recovery window and threshold are bandwidth times RTTmin;
//! after a timeout the threshold is. Growth is Reno's.
//!
//! RTTs are in the stack's ticks, rounded up, as in Linux, so RTTmin may be a tick too large. Deviations from Linux:
//! SACKed octets count as they are reported, where it estimates one segment for a duplicate ACK; during fast recovery
//! the way down leads to a half of the window, as in Linux, and the bandwidth's window holds from its end.

use super::{Acked, PathState, Setup, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// The shortest bandwidth sample.
const SAMPLE_MIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Westwood {
    tick: Duration,
    /// Bandwidth in octets a second: once smoothed, and twice.
    once: f64,
    twice: f64,
    begun: Time,
    /// Octets delivered since then.
    count: u64,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// The path may have changed: take the next RTT for the smallest.
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
            rtt: None,
            min_rtt: None,
            forget_min: false,
        }
    }

    fn end_sample(&mut self, now: Time) {
        let span = self.floor(now).saturating_since(self.floor(self.begun));
        let Some(rtt) = self.rtt else { return };
        if span <= rtt.max(SAMPLE_MIN) {
            return;
        }
        let sample = self.count as f64 / span.as_secs_f64();
        if self.once == 0.0 && self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = (7.0 * self.once + sample) / 8.0;
            self.twice = (7.0 * self.twice + self.once) / 8.0;
        }
        self.count = 0;
        self.begun = now;
    }

    /// What a clock of ticks shows.
    fn floor(&self, now: Time) -> Time {
        let tick = self.tick.as_nanos().max(1);
        Time::from_nanos(now.as_nanos() / tick * tick)
    }

    /// Bandwidth times RTTmin in segments.
    fn window(&self, mss: u64) -> u64 {
        let min_rtt = self.min_rtt.unwrap_or(Duration::ZERO).as_secs_f64();
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

    fn pkts_acked(&mut self, now: Time, ack: &Acked, _path: &PathState, _window: &mut Window) {
        self.end_sample(now);
        self.count = self.count.saturating_add(ack.delivered.get());
        if let Some(rtt) = self.rtt {
            self.min_rtt = if std::mem::take(&mut self.forget_min) {
                Some(rtt)
            } else {
                self.min_rtt.min(Some(rtt)).or(Some(rtt))
            };
        }
        if let Some(rtt) = ack.newest_rtt {
            self.rtt = Some(rtt.min(Duration::from_secs(3600)).ceil_to(self.tick));
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

    /// A steady path: bandwidth times RTTmin, whatever the queue.
    #[test]
    fn after_a_loss_the_window_is_the_bandwidth_times_the_smallest_rtt() {
        let mut westwood = WindowController::new(&setup(), Westwood::new(&setup()));
        let mut now = Time::from_nanos(1);
        // A segment a millisecond: 100 segments in an RTTmin of 100 ms. First an empty queue, then one of 60 ms.
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

    /// The filter: after a change, one sample moves the estimate by an eighth of an eighth, the first sample all the
    /// way.
    #[test]
    fn the_filter_smooths_twice() {
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
        assert_eq!((algorithm.once, algorithm.twice), (1e6, 1e6));
        sample(&mut algorithm, 0);
        assert_eq!(algorithm.once, 875_000.0);
        assert_eq!(algorithm.twice, (7e6 + 875_000.0) / 8.0);
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_forgets_the_smallest_rtt() {
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
}
