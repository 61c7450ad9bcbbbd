//! BBR version 1 as in Linux: the pacing rate and the window follow from the path's bottleneck bandwidth and
//! propagation time (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, BBR: Congestion-Based Congestion Control, ACM Queue
//! 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! The implementation includes Linux's later additions: aggregated ACKs, policers (in `policer`), and packet
//! conservation in the first round of a recovery.
//!
//! Deviations from Linux: the random numbers are different, and segments are sent one at a time. The window still
//! includes Linux's allowance for offload.

mod fixed_point;
mod policer;

use super::path_model::{AckEpoch, HeldBack, Pacer, Rounds};
use super::{Acked, CcState, Controller, Idle, PathState, Setup, Signal};
use crate::CaState;
use fixed_point::{RunningMax, Ticks, UNIT, microseconds};
use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use policer::{Judgement, Policer};

/// 2 / ln 2 in units of 1/256, rounded up: this gain doubles the delivery rate in every round.
const HIGH_GAIN: u64 = 739;
/// The inverse of HIGH_GAIN in units of 1/256, rounded down.
const DRAIN_GAIN: u64 = 88;
const CWND_GAIN: u64 = 2 * UNIT;
/// The pacing gains of ProbeBW's phases.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of rounds over which the maximum of the delivery rate is taken.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Time after which a minimum RTT expires.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Duration of ProbeRTT.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Minimum window, in segments.
const LEAST_WINDOW: u64 = 4;
/// Startup may end if the bandwidth grows by less than this factor per round, in units of 1/256.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
/// Number of consecutive rounds without growth by `FULL_GROWTH` after which the pipe counts as full.
const FULL_ROUNDS: u32 = 3;
/// Linux's initial window in segments, which replaces the BDP until an RTT is known.
const INITIAL_SEGMENTS: u64 = 10;
/// Number of rounds in each half of the aggregation window.
const AGGREGATION_ROUNDS: u32 = 5;
/// Maximum allowance for aggregated ACKs: the data that the estimated bandwidth delivers in this time.
const AGGREGATION_MAX: Duration = Duration::from_millis(100);
/// An aggregation epoch restarts after this number of acknowledged segments.
const AGGREGATION_EPOCH: u64 = 1 << 20;
/// Maximum window, in bytes.
const LARGEST: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug)]
pub struct Bbr {
    mode: Mode,
    established: bool,
    ticks: Ticks,
    mss: u64,
    cwnd: u64,
    /// The window before a recovery or ProbeRTT, in bytes.
    prior_cwnd: u64,
    ca_state: CaState,
    /// True in the first round of a recovery: packet conservation.
    conserve: bool,

    rounds: Rounds,
    bandwidth: RunningMax,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    pacer: Pacer,

    full: Option<u64>,
    full_rounds: u32,
    filled: bool,
    cycle: usize,
    cycle_at: Time,
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    held_back: HeldBack,
    restarting: bool,
    aggregation: Aggregation,
    policer: Policer,
    rng: Rng,
}

impl Bbr {
    pub fn new(setup: &Setup) -> Bbr {
        Bbr {
            mode: Mode::Startup,
            established: false,
            ticks: Ticks::new(setup.tick),
            mss: 1,
            cwnd: setup.initial_window.get().max(1),
            prior_cwnd: 0,
            ca_state: CaState::Open,
            conserve: false,
            rounds: Rounds::default(),
            bandwidth: RunningMax::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            pacer: Pacer::default(),
            full: None,
            full_rounds: 0,
            filled: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round: false,
            held_back: HeldBack::default(),
            restarting: false,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            rng: Rng::for_role(setup.seed, "bbr/cycle"),
        }
    }

    // The model of the path.

    /// Returns the model's bandwidth in fixed point: the maximum delivery rate, or a policer's rate.
    fn bandwidth(&self) -> u64 {
        match self.policer.rate() {
            None => self.bandwidth.max(),
            Some(rate) => fixed_point::from_octets_per_second(rate, self.mss),
        }
    }

    /// Updates rounds and bandwidth (bbr_update_bw).
    fn update_bandwidth(&mut self, now: Time, ack: &Acked, path: &PathState) {
        let sample = &ack.rate;
        // An interval shorter than the minimum RTT results from compressed ACKs.
        let compressed = path.min_rtt.is_some_and(|min| microseconds(sample.interval) < microseconds(min));
        if sample.interval.is_zero() || compressed {
            self.rounds.start = false;
            return;
        }
        self.rounds.update(ack, path);
        if sample.delivered == Bytes::ZERO {
            return;
        }
        if self.rounds.start {
            self.conserve = false;
        }
        let limited = self.is_limited(ack);
        self.watch_policer(now, sample.lost > Bytes::ZERO, limited, path);
        let rate = fixed_point::bandwidth(sample.delivered, self.mss, sample.interval);
        if !limited || rate >= self.bandwidth.max() {
            self.bandwidth.add(BANDWIDTH_ROUNDS, self.rounds.count, rate);
        }
    }

    /// True if the application or ProbeRTT limited the delivery rate.
    fn is_limited(&self, ack: &Acked) -> bool {
        ack.rate.app_limited || self.held_back.covers(ack.rate.prior_delivered.get())
    }

    fn watch_policer(&mut self, now: Time, lost: bool, app_limited: bool, path: &PathState) {
        let probing = self.mode == Mode::ProbeBw;
        match self.policer.watch(now, lost, app_limited, self.rounds.start, probing, path) {
            Judgement::None => {}
            Judgement::Over => self.enter_probe_bw(now),
        }
    }

    /// Updates the minimum RTT, and enters ProbeRTT once the minimum RTT has expired (bbr_update_min_rtt).
    fn update_min_rtt(&mut self, now: Time, ack: &Acked, path: &PathState) {
        let now_ticks = self.ticks.at(now);
        let expired = now_ticks.saturating_since(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = ack.newest_rtt {
            let rtt = Duration::from_micros(microseconds(rtt).max(1));
            // A delayed ACK would replace an expired minimum RTT with an RTT that is too long.
            if (expired && !ack.maybe_delayed) || self.min_rtt.is_none_or(|min| rtt < min) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = now_ticks;
            }
        }
        // An idle period has already emptied the queue, so ProbeRTT is not needed.
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.keep_window();
            self.probe_rtt_until = None;
            self.held_back = HeldBack::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(now, path);
        }
        if ack.rate.delivered > Bytes::ZERO {
            self.restarting = false;
        }
    }

    /// Keeps the minimum window for 200 ms and one round, to empty the queue.
    fn probe_rtt(&mut self, now: Time, path: &PathState) {
        self.held_back.extend(path.delivered.get(), path.in_flight.get());
        match self.probe_rtt_until {
            // The 200 ms start only when the data in flight has drained to the small window.
            None if path.in_flight.get() <= LEAST_WINDOW * self.mss => {
                self.probe_rtt_until = Some(self.ticks.at(now) + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.rounds.restart(path.delivered.get());
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.rounds.start;
                if self.probe_rtt_round {
                    self.leave_probe_rtt(now);
                }
            }
        }
    }

    /// Leaves ProbeRTT when its duration has passed.
    fn leave_probe_rtt(&mut self, now: Time) {
        let now_ticks = self.ticks.at(now);
        if self.probe_rtt_until.is_none_or(|until| now_ticks <= until) {
            return;
        }
        self.min_rtt_at = now_ticks;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        // If the pipe has been full, the window grows only to the target.
        if self.filled { self.enter_probe_bw(now) } else { self.mode = Mode::Startup }
    }

    // The phases.

    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        // Start in a random phase, but not in the draining phase, so that several flows do not synchronize.
        self.cycle = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.advance_cycle(now);
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    fn update_cycle(&mut self, now: Time, ack: &Acked) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(now, ack) {
            self.advance_cycle(now);
        }
    }

    /// True if the current phase of ProbeBW has ended (bbr_is_next_cycle_phase).
    fn is_phase_over(&self, now: Time, ack: &Acked) -> bool {
        let since = microseconds(now.saturating_since(self.cycle_at));
        let full_length = self.min_rtt.is_some_and(|min| since > microseconds(min));
        let gain = self.pacing_gain();
        let in_flight = self.in_flight_at_departure(now, ack.prior_in_flight.get(), ack.next_departure);
        // A probing phase ends when packets are lost, or when the data in flight has reached the gain times the BDP.
        if gain > UNIT {
            full_length && (ack.rate.lost > Bytes::ZERO || in_flight >= self.in_flight_for(self.bandwidth.max(), gain))
        } else if gain < UNIT {
            full_length || in_flight <= self.in_flight_for(self.bandwidth.max(), UNIT)
        } else {
            full_length
        }
    }

    /// Declares the pipe full if the bandwidth has stopped growing in Startup (bbr_check_full_bw_reached).
    fn check_full(&mut self, app_limited: bool) {
        if self.filled || !self.rounds.start || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.max();
        if self.full.is_none_or(|full| bandwidth >= (full * FULL_GROWTH) >> 8) {
            self.full = Some(bandwidth);
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
            self.filled = self.full_rounds >= FULL_ROUNDS;
        }
    }

    /// Enters Drain after Startup, and leaves Drain once the queue is empty (bbr_check_drain).
    fn check_drain(&mut self, now: Time, ack: &Acked, path: &PathState) {
        let left = self.in_flight_at_departure(now, path.in_flight.get(), ack.next_departure);
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && left <= self.in_flight_for(self.bandwidth.max(), UNIT) {
            self.enter_probe_bw(now);
        }
    }

    /// Estimates the bytes in flight at the next departure (bbr_packets_in_net_at_edt).
    fn in_flight_at_departure(&self, now: Time, in_flight: u64, departure: Time) -> u64 {
        let taken = fixed_point::delivered_in(self.bandwidth(), departure.saturating_since(now));
        let goes = if self.pacing_gain() > UNIT { self.burst() } else { 0 };
        (in_flight + goes * self.mss).saturating_sub(taken * self.mss)
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw if self.policer.rate().is_some() => UNIT,
            Mode::ProbeBw => CYCLE[self.cycle],
            Mode::ProbeRtt => UNIT,
        }
    }

    fn cwnd_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => CWND_GAIN,
            Mode::ProbeRtt => UNIT,
        }
    }

    // Rate and window.

    /// Returns `gain` times the bandwidth-delay product, in segments, rounded up.
    fn bdp(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_SEGMENTS };
        fixed_point::bdp(bandwidth, min_rtt, gain).min(LARGEST / self.mss)
    }

    /// Returns the target for the bytes in flight at a given gain, including the allowance for offload and delayed
    /// ACKs.
    fn in_flight_for(&self, bandwidth: u64, gain: u64) -> u64 {
        self.with_budget(self.bdp(bandwidth, gain)) * self.mss
    }

    /// Adds the allowance for offload and delayed ACKs, in segments (bbr_quantization_budget).
    fn with_budget(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle == 0 { even + 2 } else { even }
    }

    /// Returns the number of segments that segmentation offload would send at once: 1 ms of data at the pacing rate.
    fn burst(&self) -> u64 {
        let least = if self.pacer.rate < 1.2e6 / 8.0 { 1 } else { 2 };
        ((self.pacer.rate / 1024.0).min(65_535.0) as u64 / self.mss).clamp(least, 127)
    }

    /// Sets the window after an ACK (bbr_set_cwnd).
    fn set_window(&mut self, ack: &Acked, path: &PathState) {
        let acked = ack.delivered.get();
        if !self.follow_recovery(ack, path) {
            // bbr_ack_aggregation_cwnd: the allowance for aggregated ACKs is added only after the pipe has been filled.
            let allowance = if self.filled { self.aggregation.allowance(self.bandwidth()) } else { 0 };
            let segments = self.bdp(self.bandwidth(), self.cwnd_gain()) + allowance;
            // bbr_set_cwnd: once the pipe has been filled, the target limits the window. Before that, the window may
            // exceed the target until a full initial window has been delivered.
            let target = self.with_budget(segments) * self.mss;
            if self.filled {
                self.cwnd = self.cwnd.saturating_add(acked).min(target);
            } else if self.cwnd < target || path.delivered.get() < INITIAL_SEGMENTS * self.mss {
                self.cwnd = self.cwnd.saturating_add(acked);
            }
            self.cwnd = self.cwnd.max(LEAST_WINDOW * self.mss);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_WINDOW * self.mss);
        }
        self.cwnd = self.cwnd.clamp(self.mss, LARGEST.max(self.mss));
    }

    /// Reduces the window by the lost segments. In the first round of a recovery, applies packet conservation and
    /// returns true.
    fn follow_recovery(&mut self, ack: &Acked, path: &PathState) -> bool {
        let acked = ack.delivered.get();
        self.cwnd = self.cwnd.saturating_sub(ack.rate.lost.get()).max(self.mss);
        let before = std::mem::replace(&mut self.ca_state, ack.ca_state);
        if ack.ca_state == CaState::Recovery && before != CaState::Recovery {
            self.conserve = true;
            // bbr_set_cwnd_to_recover_or_restore: conserve packets for one round, which starts now.
            self.rounds.restart(path.delivered.get());
            self.cwnd = path.in_flight.get().saturating_add(acked);
        } else if before >= CaState::Recovery && ack.ca_state < CaState::Recovery {
            // The recovery is over: restore the window that was saved at its start.
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserve = false;
        }
        if self.conserve {
            self.cwnd = self.cwnd.max(path.in_flight.get().saturating_add(acked));
        }
        self.conserve
    }

    /// Sets the rate before the first bandwidth sample: one window per RTT.
    fn guess_rate(&mut self, path: &PathState) {
        let rtt = path.srtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        let guess = fixed_point::bandwidth(Bytes::new(self.cwnd), self.mss, rtt);
        self.pacer.start(fixed_point::pacing_rate(guess, self.mss, HIGH_GAIN) as f64, path.srtt.is_some());
    }

    /// Sets the pacing rate. Until the pipe has been full once, the rate never falls.
    fn set_rate(&mut self, gain: u64) {
        let rate = fixed_point::pacing_rate(self.bandwidth(), self.mss, gain) as f64;
        if self.filled || rate > self.pacer.rate {
            self.pacer.rate = rate;
        }
    }

    /// Saves the window at the start of a recovery or of ProbeRTT.
    fn keep_window(&mut self) {
        let settled = self.ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if settled { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }
}

impl Controller for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn on_established(&mut self, now: Time, path: &PathState) {
        self.mss = path.mss.get().max(1);
        self.established = true;
        self.min_rtt = path.min_rtt;
        self.min_rtt_at = self.ticks.at(now);
        self.cycle_at = now;
        self.aggregation.epoch.restart(now);
        self.guess_rate(path);
    }

    /// Sets the initial window before the handshake ends. An idle period does not change the window.
    /// Sets the initial window before the handshake ends. Later, no call limits the window.
    fn limit_window(&mut self, _now: Time, most: Bytes) {
        if !self.established {
            self.cwnd = most.get().max(1);
        }
    }

    fn on_idle(&mut self, now: Time, idle: Idle, path: &PathState) {
        if !path.app_limited || !matches!(idle, Idle::TransmitStart { .. }) {
            return;
        }
        self.restarting = true;
        self.aggregation.epoch.restart(now);
        match self.mode {
            // After an idle period the queue is empty, so do not send faster than the bandwidth.
            Mode::ProbeBw => self.set_rate(UNIT),
            Mode::ProbeRtt => self.leave_probe_rtt(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.mss = path.mss.get().max(1);
        self.update_bandwidth(now, ack, path);
        self.aggregation.update(now, ack, self.rounds.start, self.bandwidth(), self.cwnd / self.mss, self.mss);
        self.update_cycle(now, ack);
        self.check_full(self.is_limited(ack));
        self.check_drain(now, ack, path);
        self.update_min_rtt(now, ack, path);
        if self.pacer.must_guess_again(path.srtt) {
            self.guess_rate(path);
        }
        self.set_rate(self.pacing_gain());
        self.set_window(ack, path);
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState) {
        self.mss = path.mss.get().max(1);
        self.keep_window();
        if let Signal::Timeout { .. } = signal {
            self.cwnd = path.in_flight.get().saturating_add(self.mss).min(LARGEST);
            self.ca_state = CaState::Loss;
            // The slow restart after a timeout must not count as rounds without growth.
            self.full = None;
            self.rounds.start = true;
            self.watch_policer(now, true, false, path);
        }
    }

    /// Spurious losses must neither end Startup nor indicate a policer. The window is restored at the end of the
    /// recovery.
    fn on_undo(&mut self, _now: Time) {
        self.full = None;
        self.full_rounds = 0;
        self.policer = Policer::default();
    }

    fn state(&self) -> CcState {
        let phase = match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe bandwidth",
            Mode::ProbeRtt => "probe RTT",
        };
        CcState { phase, cwnd: self.cwnd(), ssthresh: self.ssthresh(), pacing_rate: self.pacing_rate() }
    }

    fn adopt(&mut self, _now: Time, cwnd: Bytes, _ssthresh: Option<Bytes>) {
        self.cwnd = cwnd.get().max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(self.pacer.bit_rate())
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}

/// ACK aggregation: the largest number of acknowledged segments in excess of the number that the estimated bandwidth
/// would have delivered (bbr_update_ack_aggregation).
#[derive(Debug, Default)]
struct Aggregation {
    epoch: AckEpoch,
    /// The largest excess in the current and in the previous half of the aggregation window, in segments.
    extra: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Processes an ACK. `bandwidth` is in fixed point, `cwnd` in segments.
    fn update(&mut self, now: Time, ack: &Acked, round_start: bool, bandwidth: u64, cwnd: u64, mss: u64) {
        if ack.delivered == Bytes::ZERO || ack.rate.delivered == Bytes::ZERO || ack.rate.interval.is_zero() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        // Linux rounds the expected number of segments down. ACKs that arrive at exactly the estimated bandwidth can
        // therefore be up to one segment ahead of the expected number.
        let expected = |time: Duration| fixed_point::delivered_in(bandwidth, time);
        let extra = self.epoch.extra(now, ack.delivered.get() / mss, expected, AGGREGATION_EPOCH);
        self.extra[0] = self.extra[0].max(extra.min(cwnd));
    }

    /// Returns the number of segments by which aggregated ACKs raise the window above the bandwidth-delay product.
    fn allowance(&self, bandwidth: u64) -> u64 {
        self.extra[0].max(self.extra[1]).min(fixed_point::delivered_in(bandwidth, AGGREGATION_MAX))
    }
}

#[cfg(test)]
mod tests;
