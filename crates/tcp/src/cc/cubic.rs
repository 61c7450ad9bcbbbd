//! CUBIC (RFC 9438) as Linux 6.1 behaves: the window is a cubic function of the time since the last reduction.
//!
//! Everything is computed in whole segments: the target of an RTT ahead becomes a number of segments to be acknowledged
//! for the next segment of window, at least two (RFC 9438 section 4.4 limits the target to 1.5 windows). Fast
//! convergence (section 4.7) and the Reno-friendly region (section 4.3) are on.
//!
//! Deviations from RFC 9438 that Linux has and this file keeps: the function is computed at most 32 times a second
//! while the window stands still; `alpha_cubic` does not become 1 once the friendly window reaches the window before
//! the reduction; an idle time moves the epoch rather than ending it (section 5.8 asks for that); until the first
//! reduction congestion avoidance grows by at least a segment for each 20; an undo restores the window and the
//! threshold but not the epoch (section 4.9 would); a timeout forgets the epoch and W_max. Deviations from Linux: an
//! exact cube root and time where Linux has tables and ticks.
//!
//! With alternative back-off (RFC 8511 section 3.1) an ECN mark leaves 0.85 of the window; Linux has none.
//!
//! Left out: pacing.

use super::hystart::{HyStart, Rounds, Train};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// Which CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    name: &'static str,
    /// What is left of the window after a signal.
    beta: f64,
    /// Segments per cubic second.
    c: f64,
    exit: SlowStartExit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SlowStartExit {
    Loss,
    HyStart,
    PlusPlus,
}

/// Linux 6.1: beta is 717/1024.
pub const LINUX: Constants = Constants { name: "cubic", beta: 717.0 / 1024.0, c: 0.4, exit: SlowStartExit::HyStart };
/// RFC 9438 with RFC 9406.
pub const HYSTART_PLUS_PLUS: Constants =
    Constants { name: "cubic-hystart++", beta: 0.7, c: 0.4, exit: SlowStartExit::PlusPlus };
/// Slow start until the first loss.
pub const SLOW_START: Constants = Constants { name: "cubic-slow-start", exit: SlowStartExit::Loss, ..LINUX };
/// Ha, Rhee and Xu, CUBIC: a new TCP-friendly high-speed TCP variant (2008), and Linux until 2.6.25: beta is 819/1024,
/// no HyStart.
pub const OLDER: Constants = Constants { name: "cubic-0.8", beta: 819.0 / 1024.0, c: 0.4, exit: SlowStartExit::Loss };

/// RFC 8511 section 3.1.
const BETA_ECN: f64 = 0.85;
/// Linux computes the function anew after this, or when the window has changed.
const STALE_AFTER: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// RTTs are not believed this soon after a reduction, when the queue drains.
const DEAF_AFTER_REDUCTION: Duration = Duration::from_secs(1);
/// Before the first reduction: at least a segment for each so many.
const EVERY_AT_FIRST: u64 = 20;
/// Segments for a segment where the function does not rise: nearly never.
const EVERY_ON_PLATEAU: u64 = 100;

#[derive(Debug)]
pub struct Cubic {
    constants: Constants,
    abe: bool,
    /// Segments of friendly window: (1 + beta) / (3 (1 - beta)) windows acknowledged give one (RFC 9438 equation 4).
    friendly_every: f64,
    /// The smallest RTT ever.
    min_rtt: Option<Duration>,
    /// The window before the last reduction, or what fast convergence made of it; zero for none.
    w_max: u64,
    epoch: Option<Epoch>,
    /// When and for which window `every` was computed.
    computed: Option<(Time, u64)>,
    every: u64,
    hystart: HyStart,
}

/// The time since congestion avoidance last began.
#[derive(Debug)]
struct Epoch {
    begun: Time,
    /// The inflection point: its time in seconds from the beginning, and its window.
    k: f64,
    origin: u64,
    /// Segments acknowledged that the friendly window has not yet turned into growth, and that window.
    ack_cnt: u64,
    friendly: u64,
}

impl Cubic {
    pub fn new(constants: Constants) -> Cubic {
        let beta = constants.beta;
        let hystart = match constants.exit {
            SlowStartExit::Loss => HyStart::Off,
            SlowStartExit::HyStart => HyStart::Linux(Train::default()),
            SlowStartExit::PlusPlus => HyStart::PlusPlus(Rounds::default()),
        };
        Cubic {
            constants,
            abe: false,
            friendly_every: (1.0 + beta) / (3.0 * (1.0 - beta)),
            min_rtt: None,
            w_max: 0,
            epoch: None,
            computed: None,
            every: 1,
            hystart,
        }
    }

    #[must_use]
    pub fn with_abe(self, abe: bool) -> Cubic {
        Cubic { abe, ..self }
    }

    /// Sets `every` for an ACK of `acked` segments in congestion avoidance.
    fn update(&mut self, now: Time, cwnd: u64, acked: u64) {
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = self.w_max.max(cwnd);
            let k = inflection(origin - cwnd, self.constants.c);
            Epoch { begun: now, k, origin, ack_cnt: 0, friendly: cwnd }
        });
        epoch.ack_cnt = epoch.ack_cnt.saturating_add(acked);
        if self.computed.is_some_and(|(at, window)| window == cwnd && now.saturating_since(at) <= STALE_AFTER) {
            return;
        }
        self.computed = Some((now, cwnd));
        let ahead = now.saturating_since(epoch.begun) + self.min_rtt.unwrap_or(Duration::ZERO);
        let target = curve(ahead.as_secs_f64(), epoch.k, epoch.origin, self.constants.c);
        self.every = if target > cwnd { cwnd / (target - cwnd) } else { EVERY_ON_PLATEAU * cwnd };
        if self.w_max == 0 {
            self.every = self.every.min(EVERY_AT_FIRST);
        }
        let friendly = epoch.advance_friendly((self.friendly_every * cwnd as f64) as u64);
        if friendly > cwnd {
            self.every = self.every.min(cwnd / (friendly - cwnd));
        }
        self.every = self.every.max(2);
    }
}

impl Epoch {
    /// The window that Reno would have by now (RFC 9438 section 4.3), at a segment for each `every`.
    fn advance_friendly(&mut self, every: u64) -> u64 {
        // Strictly more: the last segment's worth stays as credit.
        let whole = self.ack_cnt.saturating_sub(1) / every.max(1);
        self.ack_cnt -= whole * every.max(1);
        self.friendly = self.friendly.saturating_add(whole);
        self.friendly
    }
}

/// K of RFC 9438 equation 2 in seconds, for a window `below` segments under the origin.
fn inflection(below: u64, c: f64) -> f64 {
    libm::cbrt(below as f64 / c)
}

/// W_cubic of RFC 9438 equation 1 in whole segments.
fn curve(t: f64, k: f64, origin: u64, c: f64) -> u64 {
    let offset = t - k;
    let rise = (c * (offset * offset * offset).abs()).min(1e12) as u64;
    if offset < 0.0 { origin.saturating_sub(rise) } else { origin + rise }
}

impl WindowAlgorithm for Cubic {
    fn name(&self) -> &'static str {
        self.constants.name
    }

    /// An idle time is no time of the function's (RFC 9438 section 5.8).
    fn on_transmit_start(&mut self, now: Time, idle: Duration, _path: &PathState) {
        if let Some(epoch) = &mut self.epoch {
            epoch.begun = (epoch.begun + idle).min(now);
        }
    }

    fn pkts_acked(&mut self, now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        let Some(rtt) = ack.newest_rtt else { return };
        if self.epoch.as_ref().is_some_and(|epoch| now.saturating_since(epoch.begun) < DEAF_AFTER_REDUCTION) {
            return;
        }
        let min_rtt = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min_rtt);
        if window.in_slow_start() {
            self.hystart.watch(now, rtt, min_rtt, path, window);
        }
    }

    fn cong_avoid(&mut self, now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        let mut octets = window.acked_bytes_for_growth(ack);
        if window.in_slow_start() {
            octets = window.slow_start(self.hystart.growth(octets, window));
            if octets == 0 {
                return;
            }
        }
        self.update(now, window.segments(), octets / window.mss());
        window.add_one_per(self.every, octets);
    }

    fn ssthresh(&mut self, _now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        let cwnd = window.segments();
        let beta = self.constants.beta;
        self.epoch = None;
        // Fast convergence: a window that did not reach the last maximum leaves room for others (RFC 9438 section 4.7).
        self.w_max = if cwnd < self.w_max { (cwnd as f64 * (1.0 + beta) / 2.0) as u64 } else { cwnd };
        let left = if self.abe && signal == Signal::EcnEcho { BETA_ECN } else { beta };
        (cwnd as f64 * left) as u64
    }

    fn on_timeout(&mut self, now: Time, path: &PathState, _window: &mut Window) {
        self.epoch = None;
        self.w_max = 0;
        self.min_rtt = None;
        self.computed = None;
        self.hystart.restart(now, path);
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
