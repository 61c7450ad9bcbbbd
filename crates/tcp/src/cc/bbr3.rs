//! BBR version 3 (draft-ietf-ccwg-bbr-06, BBR Congestion Control, July 2026). Section numbers refer to the draft.
//!
//! Version 3 adds upper bounds that losses set: long-term bounds, found by the last probe, and short-term bounds, which
//! apply until the next probe. The states are in `startup` (5.3.1, 5.3.2), `probe_bw` (5.3.3) and `probe_rtt` (5.3.4);
//! `losses` applies losses to the model (5.5.10, 5.5.11).
//!
//! Deviations:
//!
//! - A round with an ECN echo counts as a round with loss (3.5). During a probe, an ECN echo counts as too much loss.
//! - The state for undo is saved once per loss episode, at its first loss.
//! - Samples of ProbeRTT count as app-limited, but the connection itself is not marked as app-limited.
//! - Segments are sent one at a time, but the window includes the allowance for offload.
//! - Startup ends if six ranges of the stream are lost in a round. A range is counted when it is marked as lost.
//!
//! Not implemented: QUIC's choice of offload budgets.

mod losses;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;

use super::path_model::{AckEpoch, MaxOf, Pacer, Rounds};
use super::{Acked, CcState, Controller, Idle, Lost, PathState, Setup, Signal};
use crate::CaState;
use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use model::{
    DeliveryOfRound, FullPipe, MIN_PIPE_WINDOW, ProbeBw, PropagationTime, STARTUP_PACING_GAIN, Sample, ShortTerm,
    State, UNBOUNDED, Undo,
};

/// Number of ProbeBW cycles over which the maximum of the delivery rate is taken: the current and the previous cycle.
const BANDWIDTH_CYCLES: usize = 2;
/// Number of rounds over which the maximum of the ACK aggregation is taken.
const AGGREGATION_ROUNDS: usize = 10;
/// Maximum amount of data that segmentation offload would send at once, in bytes.
const MAX_QUANTUM: u64 = 64 << 10;
/// Maximum window, in bytes.
const LARGEST: u64 = 1 << 30;

#[derive(Debug)]
pub struct Bbr3 {
    state: State,
    mss: u64,
    sack: bool,
    established: bool,
    initial_window: u64,
    cwnd: u64,
    /// The window before a recovery or ProbeRTT, in bytes.
    prior_cwnd: u64,
    ca_state: CaState,
    /// Number of bytes that the connection has delivered.
    delivered: u64,

    rounds: Rounds,
    /// The maximum of the delivery rate over the last cycles, in bytes per second.
    max_bw: MaxOf<BANDWIDTH_CYCLES>,
    cycle: u64,
    /// The bandwidth that the model uses: the maximum, limited by the short-term bound, in bytes per second.
    bw: f64,
    propagation: PropagationTime,
    epoch: AckEpoch,
    extra_acked: MaxOf<AGGREGATION_ROUNDS>,
    idle_restart: bool,

    full_pipe: FullPipe,
    drain_since_round: u64,
    probe: ProbeBw,
    latest: DeliveryOfRound,
    short_term: ShortTerm,
    /// The long-term bound of the bytes in flight: the largest value that was reached without too much loss.
    inflight_longterm: u64,
    undo: Undo,
    pacer: Pacer,
    rng: Rng,
}

impl Bbr3 {
    pub fn new(setup: &Setup) -> Bbr3 {
        Bbr3 {
            state: State::Startup,
            mss: 1,
            sack: false,
            established: false,
            initial_window: setup.initial_window.get().max(1),
            cwnd: setup.initial_window.get().max(1),
            prior_cwnd: 0,
            ca_state: CaState::Open,
            delivered: 0,
            rounds: Rounds::default(),
            max_bw: MaxOf::default(),
            cycle: 0,
            bw: 0.0,
            propagation: PropagationTime::default(),
            epoch: AckEpoch::default(),
            extra_acked: MaxOf::default(),
            idle_restart: false,
            full_pipe: FullPipe::default(),
            drain_since_round: 0,
            probe: ProbeBw::default(),
            latest: DeliveryOfRound::default(),
            short_term: ShortTerm::NONE,
            inflight_longterm: UNBOUNDED,
            undo: Undo::default(),
            pacer: Pacer::default(),
            rng: Rng::for_role(setup.seed, "bbr3/probe"),
        }
    }

    /// Returns the rate sample of an ACK (section 4.1.2.3). In ProbeRTT, the sample counts as app-limited.
    fn sample(&self, ack: &Acked, path: &PathState) -> Sample {
        let rate = &ack.rate;
        let exists = rate.delivered > Bytes::ZERO;
        // tcp_rate_gen: a rate is not valid if the interval is shorter than the minimum RTT.
        let reliable = exists && !rate.interval.is_zero() && path.min_rtt.is_none_or(|min| rate.interval >= min);
        let prior_delivered = exists.then_some(rate.prior_delivered.get());
        Sample {
            newly_acked: ack.delivered.get(),
            newly_lost: rate.lost.get(),
            delivered: rate.delivered.get(),
            rate: if reliable { rate.delivered.get() as f64 / rate.interval.as_secs_f64() } else { 0.0 },
            prior_delivered,
            rtt: ack.newest_rtt,
            tx_in_flight: rate.tx_in_flight.get(),
            lost: rate.lost_since_sent.get(),
            app_limited: rate.app_limited
                || prior_delivered.is_some_and(|sent| self.propagation.held_back.covers(sent)),
            cwnd_full: ack.cwnd_full,
        }
    }

    // The model (section 5.5).

    /// Updates rounds and bandwidth (sections 5.5.3 to 5.5.6).
    fn update_max_bw(&mut self, ack: &Acked, path: &PathState, sample: &Sample) {
        self.rounds.update(ack, path);
        if self.rounds.start {
            self.probe.rounds_since_up += 1;
        }
        if sample.rate > 0.0 && (sample.rate >= self.max_bw.max() || !sample.app_limited) {
            self.max_bw.add(self.cycle, sample.rate);
        }
    }

    /// Updates the maximum of the ACK aggregation (section 5.5.9).
    fn update_aggregation(&mut self, now: Time, sample: &Sample) {
        let expected = |time: Duration| (self.bw * time.as_secs_f64()) as u64;
        let extra = self.epoch.extra(now, sample.newly_acked, expected, u64::MAX).min(self.cwnd) as f64;
        let round = self.rounds.count;
        if self.full_pipe.reached || !self.rounds.start {
            self.extra_acked.add(round, extra);
        } else {
            // In Startup the maximum covers only the previous round.
            self.extra_acked.reset(round, extra);
        }
    }

    /// Returns the bandwidth-delay product, in bytes. Before the first RTT sample, returns the initial window.
    fn bdp(&self, bw: f64) -> f64 {
        self.propagation.min_rtt.map_or(self.initial_window as f64, |min| bw * min.as_secs_f64())
    }

    /// Returns `gain` times the bandwidth-delay product, in bytes. Before the first RTT sample, returns the initial
    /// window.
    fn bdp_multiple(&self, gain: f64) -> u64 {
        match self.propagation.min_rtt {
            None => self.initial_window,
            Some(_) => (gain * self.bdp(self.bw)).min(LARGEST as f64) as u64,
        }
    }

    /// Adds the allowance for offload and delayed ACKs, in bytes (section 5.6.4.2).
    fn with_budget(&self, inflight: u64) -> u64 {
        let least = (3 * self.quantum()).max(MIN_PIPE_WINDOW * self.mss);
        inflight.max(least) + if self.state == State::ProbeBwUp { 2 * self.mss } else { 0 }
    }

    /// Returns the target for the bytes in flight at the bandwidth `bw`, including the allowance for offload and
    /// delayed ACKs.
    fn inflight_at(&self, bw: f64) -> u64 {
        self.with_budget(self.bdp(bw).min(LARGEST as f64) as u64)
    }

    /// Returns the number of bytes that segmentation offload would send at once (section 5.6.3): 1 ms of data at the
    /// pacing rate.
    fn quantum(&self) -> u64 {
        ((self.pacer.rate * 1e-3) as u64).min(MAX_QUANTUM).max(2 * self.mss)
    }

    /// Returns the maximum window in the current state, before the bounds are applied (section 5.6.4.2).
    fn max_inflight(&self) -> u64 {
        let gained = self.bdp_multiple(self.state.cwnd_gain());
        self.with_budget(gained.saturating_add(self.extra_acked.max() as u64))
    }

    /// Returns the target for the bytes in flight: one BDP, or the window if the window is smaller.
    fn target_inflight(&self) -> u64 {
        (self.bdp(self.bw) as u64).min(self.cwnd)
    }

    // Pacing rate and window (section 5.6).

    fn set_pacing_rate(&mut self, gain: f64) {
        self.pacer.set(self.bw, gain, self.full_pipe.reached);
    }

    /// Sets the window after an ACK (section 5.6.4.6).
    fn set_window(&mut self, sample: &Sample) {
        let max_inflight = self.max_inflight();
        if self.full_pipe.reached {
            self.cwnd = self.cwnd.saturating_add(sample.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.initial_window {
            self.cwnd = self.cwnd.saturating_add(sample.newly_acked);
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_WINDOW * self.mss);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.bound_window();
        self.cwnd = self.cwnd.clamp(self.mss, LARGEST.max(self.mss));
    }

    /// Limits the window to the long-term and short-term bounds (section 5.6.4.7).
    fn bound_window(&mut self) {
        let long_term = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        let cap = long_term.min(self.short_term.inflight).max(MIN_PIPE_WINDOW * self.mss);
        self.cwnd = self.cwnd.min(cap);
    }

    /// Saves the window at the start of a recovery or of ProbeRTT, to restore it at the end (section 5.6.4.4).
    fn save_window(&mut self) {
        let settled = self.ca_state < CaState::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if settled { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// Restores the saved window if it is larger than the current window.
    fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Tracks the congestion state of the connection, and restores the window at the end of a recovery.
    fn follow_phase(&mut self, ca_state: CaState) {
        let before = std::mem::replace(&mut self.ca_state, ca_state);
        if ca_state < CaState::Recovery {
            self.undo.end_episode();
            if before >= CaState::Recovery {
                self.restore_window();
            }
        }
    }

    /// Copies the values that the model needs from the state of the connection.
    fn see(&mut self, path: &PathState) {
        self.mss = path.mss.get().max(1);
        self.sack = path.sack;
        self.delivered = path.delivered.get();
    }
}

impl Controller for Bbr3 {
    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn on_established(&mut self, now: Time, path: &PathState) {
        self.see(path);
        self.established = true;
        self.propagation.begin(now, path.srtt);
        self.epoch.restart(now);
        self.pacer.guess(self.cwnd, path.srtt, STARTUP_PACING_GAIN);
    }

    /// Restarts after an idle period (section 5.4.1).
    fn on_idle(&mut self, now: Time, idle: Idle, path: &PathState) {
        if !path.app_limited || !matches!(idle, Idle::TransmitStart { .. }) {
            return;
        }
        self.idle_restart = true;
        self.epoch.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.leave_probe_rtt_if_done(now);
        }
    }

    /// Sets the initial window before the handshake ends. An idle period does not change the window (section 5.4.1).
    fn limit_window(&mut self, _now: Time, most: Bytes) {
        if !self.established {
            self.initial_window = most.get().max(1);
            self.cwnd = self.initial_window;
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState) {
        self.see(path);
        self.follow_phase(ack.ca_state);
        if self.pacer.must_guess_again(path.srtt) {
            self.pacer.guess(self.cwnd, path.srtt, STARTUP_PACING_GAIN);
        }
        let sample = self.sample(ack, path);
        let in_flight = path.in_flight.get();
        // Section 5.2.3 prescribes this order: first update the model and the state machine.
        self.latest.update(&sample, self.delivered);
        self.update_max_bw(ack, path, &sample);
        self.adapt_to_round();
        self.update_aggregation(now, &sample);
        self.full_pipe.check(self.rounds.start, &sample);
        self.check_startup_done(&sample);
        self.check_drain_done(now, in_flight);
        self.update_probe_bw(now, &sample, in_flight);
        self.propagation.update(now, sample.rtt);
        self.check_probe_rtt(now, &sample, in_flight);
        self.latest.advance(&sample);
        self.bw = self.max_bw.max().min(self.short_term.bw);
        // Then set the control parameters from the updated model.
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_window(&sample);
    }

    fn needs_losses(&self) -> bool {
        true
    }

    fn on_lost(&mut self, now: Time, lost: &Lost, path: &PathState) {
        self.see(path);
        self.handle_lost_segment(now, lost);
    }

    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState) {
        self.see(path);
        match signal {
            Signal::Loss => self.note_loss(),
            Signal::EcnEcho => self.handle_mark(now, path.in_flight.get()),
            Signal::Timeout { .. } => {
                self.note_loss();
                self.ca_state = CaState::Loss;
                self.cwnd = path.in_flight.get().saturating_add(self.mss).min(LARGEST);
            }
        }
    }

    fn on_undo(&mut self, _now: Time) {
        self.handle_spurious_loss();
    }

    fn state(&self) -> CcState {
        let phase = match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBwDown => "probe bandwidth: down",
            State::ProbeBwCruise => "probe bandwidth: cruise",
            State::ProbeBwRefill => "probe bandwidth: refill",
            State::ProbeBwUp => "probe bandwidth: up",
            State::ProbeRtt => "probe RTT",
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

#[cfg(test)]
mod tests;
