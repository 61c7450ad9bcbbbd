//! CUBIC (RFC 9438) as Linux 6.1 behaves: the window is a cubic function of the time since the last reduction.
//!
//! Everything is computed in integers: time in ticks of the stack's clock and 1024ths of a second, factors in 1024ths,
//! windows in whole segments. The target of an RTT ahead becomes a number of segments to be acknowledged
//! for the next segment of window, at least two (RFC 9438 section 4.4 limits the target to 1.5 windows). Fast
//! convergence (section 4.7) and the Reno-friendly region (section 4.3) are on.
//!
//! Deviations from RFC 9438 that Linux has and this file keeps: the function is computed at most 32 times a second
//! while the window stands still; `alpha_cubic` does not become 1 once the friendly window reaches the window before
//! the reduction; an idle time moves the epoch rather than ending it (section 5.8 asks for that); until the first
//! reduction congestion avoidance grows by at least a segment for each 20; an undo restores the window and the
//! threshold but not the epoch (section 4.9 would); a timeout forgets the epoch and W_max. Deviation from Linux: a
//! formula for the first estimate of a cube root where Linux has a table.
//!
//! With alternative back-off (RFC 8511 section 3.1) an ECN mark leaves 0.85 of the window; Linux has none.
//!
//! Left out: pacing.

use super::hystart::{HyStart, Rounds, Train};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// A variant of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    name: &'static str,
    /// Share of the window after a signal, in 1/1024.
    beta: u64,
    exit: SlowStartExit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SlowStartExit {
    Loss,
    HyStart,
    PlusPlus,
}

/// Linux 6.1: beta is 717/1024.
pub const LINUX: Constants = Constants { name: "cubic", beta: 717, exit: SlowStartExit::HyStart };
/// RFC 9438 with RFC 9406.
pub const HYSTART_PLUS_PLUS: Constants =
    Constants { name: "cubic-hystart++", beta: 717, exit: SlowStartExit::PlusPlus };
/// Slow start until the first loss.
pub const SLOW_START: Constants = Constants { name: "cubic-slow-start", exit: SlowStartExit::Loss, ..LINUX };
/// Ha, Rhee and Xu, CUBIC: a new TCP-friendly high-speed TCP variant (2008), and Linux until 2.6.25: beta is 819/1024,
/// no HyStart.
pub const OLDER: Constants = Constants { name: "cubic-0.8", beta: 819, exit: SlowStartExit::Loss };

/// The unit of factors, and of time within the function.
const SCALE: u64 = 1024;
/// C of RFC 9438, 0.4 segments for a cubic second, in 1024ths.
const C: u64 = 410;
/// RFC 8511 section 3.1: 0.85.
const BETA_ECN: u64 = 870;
/// Linux recomputes the function after this time, in whole ticks, or when the window has changed.
const STALE_AFTER: Duration = Duration::from_nanos(1_000_000_000 / 32);
const SECOND: u64 = 1_000_000_000;
/// Ignore RTT samples for 1 s after a reduction, while the queue drains.
const DEAF_AFTER_REDUCTION: Duration = Duration::from_secs(1);
/// Before the first reduction: one segment for at most this many acknowledged.
const EVERY_AT_FIRST: u64 = 20;
/// Acknowledged segments per segment of growth where the function is flat.
const EVERY_ON_PLATEAU: u64 = 100;

#[derive(Debug)]
pub struct Cubic {
    constants: Constants,
    abe: bool,
    /// A tick of the stack's clock; zero for an exact one.
    tick: u64,
    /// Eighths of a window to be acknowledged for one segment of the friendly window: 8 (1 + beta) / (3 (1 - beta))
    /// (RFC 9438 equation 4).
    friendly_every: u64,
    /// The smallest RTT ever.
    min_rtt: Option<Duration>,
    /// The window before the last reduction, lowered by fast convergence; 0 before the first.
    w_max: u64,
    epoch: Option<Epoch>,
    /// Acknowledged segments that have not yet grown the friendly window.
    ack_cnt: u64,
    /// Time and window for which `every` was computed.
    computed: Option<(Time, u64)>,
    every: u64,
    hystart: HyStart,
}

/// State since congestion avoidance last began.
#[derive(Debug)]
struct Epoch {
    begun: Time,
    /// The inflection point: its time in 1/1024 s since the epoch began, and its window.
    k: u64,
    origin: u64,
    /// The window that Reno would have.
    friendly: u64,
}

impl Cubic {
    /// Creates the algorithm for a stack whose clock has this tick.
    pub fn new(constants: Constants, tick: Duration) -> Cubic {
        let beta = constants.beta;
        let hystart = match constants.exit {
            SlowStartExit::Loss => HyStart::Off,
            SlowStartExit::HyStart => HyStart::Linux(Train::default()),
            SlowStartExit::PlusPlus => HyStart::PlusPlus(Rounds::default()),
        };
        Cubic {
            constants,
            abe: false,
            tick: tick.as_nanos().max(1),
            friendly_every: 8 * (SCALE + beta) / 3 / (SCALE - beta),
            min_rtt: None,
            w_max: 0,
            epoch: None,
            ack_cnt: 0,
            computed: None,
            every: 1,
            hystart,
        }
    }

    #[must_use]
    pub fn with_abe(self, abe: bool) -> Cubic {
        Cubic { abe, ..self }
    }

    /// The time in ticks of the stack's clock.
    fn ticks(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos() / self.tick * self.tick)
    }

    /// Computes `every` for an ACK of `acked` segments in congestion avoidance.
    fn update(&mut self, now: Time, cwnd: u64, acked: u64) {
        let now = self.ticks(now);
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        let stale_after = Duration::from_nanos(STALE_AFTER.as_nanos() / self.tick * self.tick);
        if self.computed.is_some_and(|(at, window)| window == cwnd && now.saturating_since(at) <= stale_after) {
            return;
        }
        // Within one tick the function is constant, and only the friendly window grows.
        if self.epoch.is_none() || self.computed.is_none_or(|(at, _)| at != now) {
            self.computed = Some((now, cwnd));
            self.follow_curve(now, cwnd, acked);
        }
        self.follow_reno(cwnd);
        self.every = self.every.max(2);
    }

    fn follow_curve(&mut self, now: Time, cwnd: u64, acked: u64) {
        let (w_max, ack_cnt) = (self.w_max, &mut self.ack_cnt);
        let epoch = self.epoch.get_or_insert_with(|| {
            *ack_cnt = acked;
            let origin = w_max.max(cwnd);
            Epoch { begun: now, k: inflection(origin - cwnd), origin, friendly: cwnd }
        });
        let min_rtt = self.min_rtt.unwrap_or(Duration::ZERO).as_nanos().div_ceil(self.tick) * self.tick;
        let ahead = now.saturating_since(epoch.begun).as_nanos() + min_rtt;
        let target = curve((u128::from(ahead) * u128::from(SCALE) / u128::from(SECOND)) as u64, epoch.k, epoch.origin);
        self.every = if target > cwnd { cwnd / (target - cwnd) } else { EVERY_ON_PLATEAU * cwnd };
        if self.w_max == 0 {
            self.every = self.every.min(EVERY_AT_FIRST);
        }
    }

    /// Follows the window that Reno would have by now (RFC 9438 section 4.3).
    fn follow_reno(&mut self, cwnd: u64) {
        let Some(epoch) = &mut self.epoch else { return };
        let every = (cwnd * self.friendly_every / 8).max(1);
        // Strictly greater: one segment stays as credit.
        let whole = self.ack_cnt.saturating_sub(1) / every;
        self.ack_cnt -= whole * every;
        epoch.friendly = epoch.friendly.saturating_add(whole);
        if epoch.friendly > cwnd {
            self.every = self.every.min(cwnd / (epoch.friendly - cwnd));
        }
    }
}

/// K of RFC 9438 equation 2 in 1024ths of a second, for a window `below` segments under the origin.
fn inflection(below: u64) -> u64 {
    estimated_root(below.min(1 << 30) * ((1 << 40) / C))
}

/// A cube root as coarse as Linux's: one step of Newton's method, with 341/1024 for a third, from a first guess by the
/// leading bits, in 64ths. The guess is some hundredths too high, which the step turns into a root that is mostly a
/// little too small. Linux has its guesses in a table; this formula comes to the same root for five of six distances up
/// to 400 segments, and to one off by 1 for the others.
fn estimated_root(cube: u64) -> u64 {
    let bits = u64::BITS - cube.leading_zeros();
    if bits < 7 {
        return cube_root(cube.into());
    }
    // Number of bits of the root beyond those of the guess: four to six leading bits of the cube.
    let beyond = (bits - 1) / 3 - 1;
    let leading = cube >> (3 * beyond);
    let in_64ths = cube_root(256 * u128::from(1093 * leading - 172)) + 4;
    let guess = (in_64ths << beyond) / 64;
    let three_roots = 2 * guess + cube / (guess * (guess - 1));
    three_roots * 341 / 1024
}

/// The largest integer whose cube is at most `cube`.
fn cube_root(cube: u128) -> u64 {
    let mut root = 0u128;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if next * next * next <= cube {
            root = next;
        }
    }
    root as u64
}

/// W_cubic of RFC 9438 equation 1 in whole segments, at 1024ths of a second.
fn curve(t: u64, k: u64, origin: u64) -> u64 {
    let offset = u128::from(t.abs_diff(k).min(1 << 36));
    let rise = ((u128::from(C) * offset * offset * offset) >> 40).min(1_000_000_000_000) as u64;
    if t < k { origin.saturating_sub(rise) } else { origin + rise }
}

impl WindowAlgorithm for Cubic {
    fn name(&self) -> &'static str {
        self.constants.name
    }

    /// An idle time moves the epoch (RFC 9438 section 5.8).
    fn on_transmit_start(&mut self, now: Time, idle: Duration, _path: &PathState) {
        let (begins, sent) = (self.ticks(now), self.ticks(now - idle));
        if let Some(epoch) = &mut self.epoch {
            epoch.begun = (epoch.begun + (begins - sent)).min(begins);
        }
    }

    fn pkts_acked(&mut self, now: Time, ack: &Acked, path: &PathState, window: &mut Window) {
        let Some(rtt) = ack.newest_rtt else { return };
        let ticks = self.ticks(now);
        if self.epoch.as_ref().is_some_and(|epoch| ticks.saturating_since(epoch.begun) < DEAF_AFTER_REDUCTION) {
            return;
        }
        let min_rtt = self.min_rtt.map_or(rtt, |min| min.min(rtt));
        self.min_rtt = Some(min_rtt);
        match ack.reduced_to {
            None if window.in_slow_start() => self.hystart.watch(now, rtt, min_rtt, path, window),
            // During a reduction the window is below the threshold, which Linux takes for slow start.
            Some(cwnd) if window.ssthresh().is_some_and(|ssthresh| cwnd.get() < ssthresh * window.mss()) => {
                let mut reduced = *window;
                reduced.set_octets(cwnd.get());
                self.hystart.watch(now, rtt, min_rtt, path, &mut reduced);
                if reduced.ssthresh() == Some(reduced.segments()) {
                    *window = reduced;
                }
            }
            _ => {}
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
        // Fast convergence: a window that did not reach the last maximum leaves room for other flows (RFC 9438 section
        // 4.7).
        self.w_max = if cwnd < self.w_max { cwnd * (SCALE + beta) / (2 * SCALE) } else { cwnd };
        let left = if self.abe && signal == Signal::EcnEcho { BETA_ECN } else { beta };
        cwnd * left / SCALE
    }

    fn on_timeout(&mut self, now: Time, path: &PathState, _window: &mut Window) {
        self.epoch = None;
        self.w_max = 0;
        self.ack_cnt = 0;
        self.min_rtt = None;
        self.computed = None;
        self.hystart.restart(now, path);
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
