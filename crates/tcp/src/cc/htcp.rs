//! H-TCP: the increase grows with the time since the last congestion, the decrease follows the depth of the queue
//! (Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; draft-leith-tcp-htcp-06).
//!
//! alpha = 1 + 10 (d - 1 s) + ((d - 1 s) / 2)^2 segments an RTT from one second after the last congestion, scaled to an
//! RTT of 100 ms within a factor of 0.1 to 2 and by 2 (1 - beta); beta = RTTmin / RTTmax within 0.5 and 0.8, but a half
//! when the throughput changed by more than a fifth since the last congestion. Both options of the draft are on, as in
//! Linux.
//!
//! As in Linux, times are the stack's ticks (at 4 ms a short RTT is coarse), and the increase is of whole segments and,
//! before beta's factor, at least one: a path shorter than 100 ms is not slower than Reno, as the draft's scaling would
//! have it.
//!
//! Left out: the draft's undo of alpha's clock after a spurious congestion restores RTTmax and the throughput too.

use super::{Acked, PathState, Setup, Signal, Window, WindowAlgorithm};
use crate::CaState;
use lopsided_core::{Duration, Time};

/// Delta_L: this long after a congestion the window grows as Reno's.
const LOW_SPEED: f64 = 1.0;
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 102.0 / 128.0;
/// The RTT in seconds at which growth is unscaled, and the bounds of the divisor.
const REFERENCE_RTT: f64 = 0.1;
const SCALE: (f64, f64) = (0.5, 10.0);
/// Throughputs within a fifth of each other are the same.
const SAME: (f64, f64) = (0.8, 1.2);
/// Below this RTT the queue's depth is not believed.
const LEAST_RTT: Duration = Duration::from_millis(10);
/// RTTmax is raised by at most this much a sample.
const RTT_STEP: Duration = Duration::from_millis(20);
/// What is left of RTTmax - RTTmin after a congestion: an old path is forgotten slowly.
const RTT_MEMORY: (u64, u64) = (95, 100);

#[derive(Debug)]
pub struct Htcp {
    tick: Duration,
    alpha: f64,
    beta: f64,
    last_congestion: Time,
    /// What the last congestion replaced, for undo.
    before: Option<(Time, Duration, f64)>,
    min_rtt: Option<Duration>,
    max_rtt: Duration,
    /// The largest throughput since the last congestion, at it, and smoothed; segments a second.
    best: f64,
    old_best: f64,
    throughput: f64,
    /// Segments acknowledged since `since`.
    count: u64,
    since: Time,
    /// The decrease may adapt: a congestion at a steady throughput has been seen.
    adaptive: bool,
    /// Segments acknowledged towards the next increase.
    cwnd_cnt: f64,
}

impl Htcp {
    pub fn new(setup: &Setup) -> Htcp {
        Htcp {
            tick: setup.tick.max(Duration::from_nanos(1)),
            alpha: 1.0,
            beta: BETA_MIN,
            last_congestion: Time::ZERO,
            before: None,
            min_rtt: None,
            max_rtt: Duration::ZERO,
            best: 0.0,
            old_best: 0.0,
            throughput: 0.0,
            count: 0,
            since: Time::ZERO,
            adaptive: false,
            cwnd_cnt: 0.0,
        }
    }

    fn measure_rtt(&mut self, sample: Duration, ca_state: CaState) {
        let rtt = sample.min(Duration::from_secs(3600)).ceil_to(self.tick);
        let min = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min);
        if ca_state == CaState::Open {
            self.max_rtt = self.max_rtt.max(min);
            if rtt <= self.max_rtt + RTT_STEP {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// Throughput over about a window of segments and no less than an RTT.
    fn measure_throughput(&mut self, now: Time, segments: u64, cwnd: u64) {
        self.count = self.count.saturating_add(segments);
        let passed = now.saturating_since(self.since);
        let Some(min_rtt) = self.min_rtt.filter(|min| !min.is_zero()) else { return };
        if self.count < cwnd.saturating_sub((self.alpha as u64).max(1)) || passed < min_rtt {
            return;
        }
        let now_at = self.count as f64 / passed.as_secs_f64();
        if now.saturating_since(self.last_congestion) <= min_rtt * 3 {
            self.throughput = now_at;
            self.best = now_at;
        } else {
            self.throughput = (3.0 * self.throughput + now_at) / 4.0;
            self.best = self.best.max(self.throughput);
        }
        self.count = 0;
        self.since = now;
    }

    fn update_alpha(&mut self, now: Time) {
        let since = now.saturating_since(self.last_congestion);
        self.alpha = (2.0 * scaled_increase(since.as_secs_f64(), self.min_rtt) * (1.0 - self.beta)).max(1.0 / 128.0);
    }

    fn update_beta(&mut self) {
        let (best, old) = (self.best, self.old_best);
        self.old_best = best;
        if !(SAME.0 * old..=SAME.1 * old).contains(&best) {
            self.beta = BETA_MIN;
            self.adaptive = false;
            return;
        }
        match self.min_rtt {
            Some(min) if self.adaptive && min > LEAST_RTT && !self.max_rtt.is_zero() => {
                self.beta = (min.as_secs_f64() / self.max_rtt.as_secs_f64()).clamp(BETA_MIN, BETA_MAX);
            }
            _ => {
                self.beta = BETA_MIN;
                self.adaptive = true;
            }
        }
    }
}

/// alpha without beta's factor, `since` seconds after the last congestion: whole segments and at least one, as Linux
/// has it.
fn scaled_increase(since: f64, min_rtt: Option<Duration>) -> f64 {
    let beyond = since - LOW_SPEED;
    let factor = if beyond > 0.0 { 1.0 + 10.0 * beyond + (beyond / 2.0) * (beyond / 2.0) } else { 1.0 };
    let scaled = match min_rtt {
        // The divisor is in whole eighths.
        Some(min) if !min.is_zero() => {
            let eighths = libm::floor(8.0 * REFERENCE_RTT / min.as_secs_f64());
            libm::floor(factor) * 8.0 / eighths.clamp(8.0 * SCALE.0, 8.0 * SCALE.1)
        }
        _ => factor,
    };
    libm::floor(scaled).max(1.0)
}

impl WindowAlgorithm for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn on_established(&mut self, now: Time, _path: &PathState, _window: &mut Window) {
        self.last_congestion = now;
        self.since = now;
    }

    fn pkts_acked(&mut self, now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        if let Some(rtt) = ack.newest_rtt {
            self.measure_rtt(rtt, ack.ca_state);
        }
        if ack.ca_state == CaState::Open && self.before.take().is_some() {
            // The clock starts when the repair is complete.
            self.last_congestion = now;
        }
        if matches!(ack.ca_state, CaState::Open | CaState::Disorder) {
            self.measure_throughput(now, ack.delivered.get() / path.mss.get().max(1), window.segments());
        } else {
            self.count = 0;
            self.since = now;
        }
    }

    fn cong_avoid(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let octets = window.acked_bytes_for_growth(ack);
        if window.in_slow_start() {
            window.slow_start(octets);
            return;
        }
        if self.cwnd_cnt * self.alpha >= window.segments() as f64 {
            window.set_segments(window.segments() + 1);
            self.cwnd_cnt = 0.0;
            self.update_alpha(now);
        } else {
            self.cwnd_cnt += octets as f64 / window.mss() as f64;
        }
    }

    fn ssthresh(&mut self, now: Time, _signal: Signal, _path: &PathState, window: &Window) -> u64 {
        self.before = Some((self.last_congestion, self.max_rtt, self.old_best));
        self.update_beta();
        self.update_alpha(now);
        if let Some(min) = self.min_rtt {
            if self.max_rtt > min {
                self.max_rtt = min + (self.max_rtt - min) * RTT_MEMORY.0 / RTT_MEMORY.1;
            }
        }
        self.last_congestion = now;
        self.cwnd_cnt = 0.0;
        (window.segments() as f64 * self.beta) as u64
    }

    fn on_undo(&mut self, _now: Time) {
        if let Some((last_congestion, max_rtt, old_best)) = self.before.take() {
            (self.last_congestion, self.max_rtt, self.old_best) = (last_congestion, max_rtt, old_best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path::setup;
    use super::*;

    /// Section 2 of the draft: alpha for times since the last congestion, at the reference RTT.
    #[test]
    fn alpha_grows_from_the_second_second_on() {
        let at = |since: f64| scaled_increase(since, Some(Duration::from_millis(100)));
        assert_eq!(at(0.5), 1.0);
        assert_eq!(at(1.0), 1.0);
        assert_eq!(at(2.0), 1.0 + 10.0);
        assert_eq!(at(5.0), 1.0 + 40.0 + 4.0);
        assert_eq!(
            scaled_increase(5.0, Some(Duration::from_millis(40))),
            18.0,
            "short paths grow slower an RTT: 45 * 0.4"
        );
        assert_eq!(scaled_increase(0.0, Some(Duration::from_millis(40))), 1.0, "but never slower than Reno");
        assert_eq!(scaled_increase(0.0, Some(Duration::from_millis(400))), 2.0);
    }

    /// Section 3: beta is RTTmin / RTTmax while the throughput is steady.
    #[test]
    fn beta_follows_the_depth_of_the_queue() {
        let mut htcp = Htcp::new(&setup());
        (htcp.min_rtt, htcp.max_rtt) = (Some(Duration::from_millis(100)), Duration::from_millis(160));
        (htcp.best, htcp.old_best) = (1000.0, 1000.0);
        htcp.update_beta();
        assert_eq!(htcp.beta, 0.5, "the first congestion at a steady throughput");
        htcp.update_beta();
        assert_eq!(htcp.beta, 0.625);
        htcp.max_rtt = Duration::from_millis(101);
        htcp.update_beta();
        assert_eq!(htcp.beta, BETA_MAX);
        htcp.best = 1300.0;
        htcp.update_beta();
        assert_eq!(htcp.beta, 0.5, "the throughput changed by more than a fifth");
    }
}
