//! CUBIC (RFC 9438) as in Linux 6.1: the window is a cubic function of the time since the last reduction.
//!
//! All values are integers: time in ticks and 1/1024 s, factors in 1/1024, windows in segments. The growth is expressed
//! as the number of acknowledged segments per segment of growth, which is at least two (RFC 9438 section 4.4). Fast
//! convergence (section 4.7) and the Reno-friendly region (section 4.3) are on.
//!
//! Deviations from RFC 9438, as in Linux:
//!
//! - While the window is constant, the function is computed at most 32 times per second.
//! - `alpha_cubic` does not become 1 when the friendly window reaches the window before the reduction.
//! - An idle period shifts the epoch (section 5.8 recommends ending the epoch).
//! - Until the first reduction, the window grows by at least one segment per 20 acknowledged segments.
//! - An undo restores the window and the threshold but not the epoch (unlike section 4.9).
//! - A timeout resets the epoch and W_max.
//!
//! With alternative back-off (RFC 8511 section 3.1), which Linux does not implement, an ECN mark reduces the window to
//! 85 %.
//!
//! Not implemented: pacing.

use super::hystart::{HyStart, Limits, Rounds, Train};
use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use lopsided_core::{Duration, Time};

/// A variant of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    name: &'static str,
    /// Window after a congestion signal, in 1/1024 of the window before.
    beta: u64,
    exit: SlowStartExit,
}

/// The event, in addition to a loss, that ends slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum SlowStartExit {
    /// No event: only a loss ends slow start.
    Loss,
    /// HyStart with the limits of Linux or ns-3.
    HyStart(Limits),
    /// HyStart++ (RFC 9406).
    PlusPlus,
}

/// Linux 6.1, with a beta of 717/1024 and HyStart.
pub const LINUX: Constants = Constants { name: "cubic", beta: 717, exit: SlowStartExit::HyStart(Limits::Linux) };
/// RFC 9438 with RFC 9406.
pub const HYSTART_PLUS_PLUS: Constants =
    Constants { name: "cubic-hystart++", beta: 717, exit: SlowStartExit::PlusPlus };
/// Linux's CUBIC with the HyStart of ns-3.
pub const NS3: Constants = Constants { name: "cubic-ns3", exit: SlowStartExit::HyStart(Limits::Ns3), ..LINUX };
/// Slow start that lasts until the first loss.
pub const SLOW_START: Constants = Constants { name: "cubic-slow-start", exit: SlowStartExit::Loss, ..LINUX };
/// CUBIC as in Linux before 2.6.26: beta is 819/1024, without HyStart (Ha, Rhee and Xu, CUBIC: a new TCP-friendly
/// high-speed TCP variant, 2008).
pub const OLDER: Constants = Constants { name: "cubic-0.8", beta: 819, exit: SlowStartExit::Loss };

/// The factor 1 in fixed point; also the number of time units per second in the cubic function.
const SCALE: u64 = 1024;
/// C of RFC 9438: 0.4 segments per second cubed, in units of 1/1024.
const C: u64 = 410;
/// Window after an ECN mark with alternative back-off: 0.85, in units of 1/1024 (RFC 8511 section 3.1).
const BETA_ECN: u64 = 870;
/// Time after which Linux recomputes the function, rounded to whole ticks. Linux also recomputes the function when the
/// window has changed.
const STALE_AFTER: Duration = Duration::from_nanos(1_000_000_000 / 32);
const SECOND: u64 = 1_000_000_000;
/// Time after a reduction in which RTT samples are ignored, because the queue is draining.
const DEAF_AFTER_REDUCTION: Duration = Duration::from_secs(1);
/// Upper limit of `every` before the first reduction.
const EVERY_AT_FIRST: u64 = 20;
/// Number of acknowledged windows per segment of growth on the flat part of the curve.
const EVERY_ON_PLATEAU: u64 = 100;

/// CUBIC's growth and reduction.
#[derive(Debug)]
pub struct Cubic {
    constants: Constants,
    abe: bool,
    /// Tick of the stack's clock in ns; 1 for an exact clock.
    tick: u64,
    /// Acknowledged windows per segment of Reno-friendly growth, in units of 1/8: 8 (1 + beta) / (3 (1 - beta)) (RFC
    /// 9438 equation 4).
    friendly_every: u64,
    /// Minimum RTT since the last timeout; `None` before the first sample.
    min_rtt: Option<Duration>,
    /// Window before the last reduction in segments, lowered by fast convergence; 0 before the first reduction.
    w_max: u64,
    epoch: Option<Epoch>,
    /// Number of acknowledged segments that have not increased the Reno-friendly window yet.
    ack_cnt: u64,
    /// Time at which `every` was last computed, and the window at that time.
    computed: Option<(Time, u64)>,
    /// Number of acknowledged segments after which the window grows by one segment.
    every: u64,
    hystart: HyStart,
}

/// The state of an epoch, which lasts from the start of congestion avoidance to the next reduction.
#[derive(Debug)]
struct Epoch {
    begun: Time,
    /// Time of the inflection point, in 1/1024 s since the epoch began (K).
    k: u64,
    /// The window at the inflection point, in segments.
    origin: u64,
    /// Window that Reno would have at this time, in segments.
    friendly: u64,
}

impl Cubic {
    /// Creates a variant of CUBIC for a stack whose clock has the tick length `tick`.
    pub fn new(constants: Constants, tick: Duration) -> Cubic {
        let beta = constants.beta;
        let hystart = match constants.exit {
            SlowStartExit::Loss => HyStart::Off,
            SlowStartExit::HyStart(limits) => HyStart::Train(Train::new(limits)),
            SlowStartExit::PlusPlus => HyStart::PlusPlus(Rounds::default()),
        };
        Cubic {
            constants,
            abe: false,
            tick: tick.as_nanos().max(1),
            // beta_scale in tcp_cubic.c: Reno would grow by one segment after beta_scale * cwnd / 8 ACKs.
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

    /// Sets whether an ECN mark reduces the window by less than a loss (RFC 8511).
    #[must_use]
    pub fn with_abe(self, abe: bool) -> Cubic {
        Cubic { abe, ..self }
    }

    /// Rounds a time down to a tick of the stack's clock.
    fn ticks(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos() / self.tick * self.tick)
    }

    /// Computes `every` for an ACK of `acked` segments in congestion avoidance (Linux's bictcp_update).
    fn update(&mut self, now: Time, cwnd: u64, acked: u64) {
        let now = self.ticks(now);
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        let stale_after = Duration::from_nanos(STALE_AFTER.as_nanos() / self.tick * self.tick);
        if self.computed.is_some_and(|(at, window)| window == cwnd && now.saturating_since(at) <= stale_after) {
            return;
        }
        // Within one tick the cubic function is constant, so only the friendly window grows.
        if self.epoch.is_none() || self.computed.is_none_or(|(at, _)| at != now) {
            self.computed = Some((now, cwnd));
            self.follow_curve(now, cwnd, acked);
        }
        self.follow_reno(cwnd);
        // RFC 9438 section 4.4: the window grows to at most 1.5 times its size per round trip.
        self.every = self.every.max(2);
    }

    /// Computes `every` from the cubic function one RTT ahead (RFC 9438 section 4.2).
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
        // Before the first loss the function is flat and would grow too slowly, so limit `every`.
        if self.w_max == 0 {
            self.every = self.every.min(EVERY_AT_FIRST);
        }
    }

    /// Updates Reno's window (RFC 9438 section 4.3), and lowers `every` if Reno's window is larger than `cwnd`.
    fn follow_reno(&mut self, cwnd: u64) {
        let Some(epoch) = &mut self.epoch else { return };
        let every = (cwnd * self.friendly_every / 8).max(1);
        // Linux compares with `>`, so one acknowledged segment always remains uncounted.
        let whole = self.ack_cnt.saturating_sub(1) / every;
        self.ack_cnt -= whole * every;
        epoch.friendly = epoch.friendly.saturating_add(whole);
        if epoch.friendly > cwnd {
            self.every = self.every.min(cwnd / (epoch.friendly - cwnd));
        }
    }
}

/// Returns K of RFC 9438 equation 2 in 1/1024 s, for a window that is `below` segments smaller than the origin.
fn inflection(below: u64) -> u64 {
    estimated_root(below.min(1 << 30) * ((1 << 40) / C))
}

/// Computes a cube root with Linux's precision (cubic_root): a first guess, then one step of Newton's method.
fn estimated_root(cube: u64) -> u64 {
    let bits = u64::BITS - cube.leading_zeros();
    if bits < 7 {
        return cube_root(cube.into());
    }
    // Number of bits by which the root is longer than the guess. The guess uses the four to six leading bits of the
    // cube.
    let beyond = (bits - 1) / 3 - 1;
    let guess = (root_in_64ths(cube >> (3 * beyond)) << beyond) / 64;
    let three_roots = 2 * guess + cube / (guess * (guess - 1));
    three_roots * 341 / 1024
}

/// Returns Linux's first guess of the cube root of a number from 8 to 63, in units of 1/64.
fn root_in_64ths(leading: u64) -> u64 {
    // Linux's first guesses were adjusted by hand: they follow a formula except at these numbers. The exceptions
    // matter, because one unit moves K by up to 4/1024 s, and the window would then grow one ACK earlier or later than
    // in Linux.
    let (above, below) = match leading {
        15 => (2, 0),
        25 | 27 | 30 | 60 => (1, 0),
        16 | 20 | 24 | 32..=35 | 45 | 46 | 49 => (0, 1),
        _ => (0, 0),
    };
    cube_root(256 * u128::from(1093 * leading - 172)) + 4 + above - below
}

/// Returns the largest integer whose cube is at most `cube`.
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

/// Returns W_cubic of RFC 9438 equation 1 in whole segments, at the time `t` in 1/1024 s.
fn curve(t: u64, k: u64, origin: u64) -> u64 {
    let offset = u128::from(t.abs_diff(k).min(1 << 36));
    let rise = ((u128::from(C) * offset * offset * offset) >> 40).min(1_000_000_000_000) as u64;
    if t < k { origin.saturating_sub(rise) } else { origin + rise }
}

impl WindowAlgorithm for Cubic {
    fn name(&self) -> &'static str {
        self.constants.name
    }

    /// Shifts the epoch by the idle time (RFC 9438 section 5.8).
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
            // During a reduction the window is below the threshold. Linux treats this state as slow start.
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
        // RFC 9438 section 4.7, fast convergence: a flow whose window has not reached the last maximum gives up
        // bandwidth to other flows.
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
