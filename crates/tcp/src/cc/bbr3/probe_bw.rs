//! ProbeBW (section 5.3.3): Down empties the queue, Cruise keeps the rate, Refill fills the pipe, and Up probes for
//! more bandwidth. The time between two probes is 2 to 3 s, or less if Reno would recover from a loss in less time.

use super::Bbr3;
use super::model::{AckPhase, MIN_PIPE_WINDOW, Sample, ShortTerm, State, UNBOUNDED};
use lopsided_core::{Duration, Time};

/// Share of the long-term bound that Cruise leaves free for other flows.
const HEADROOM: f64 = 0.15;
/// Minimum time between two probes.
const WAIT: Duration = Duration::from_secs(2);
/// Maximum of the random time that is added to [`WAIT`].
const WAIT_SPREAD: Duration = Duration::from_secs(1);
/// Maximum number of rounds between two probes (section 5.3.3.8).
const RENO_ROUNDS: u64 = 63;
/// Number of rounds after which the growth of the bound per round stops doubling.
const SLOPE_ROUNDS: u32 = 30;

impl Bbr3 {
    // The states.

    /// Begins Down, which sends more slowly than the bandwidth until the queue is empty.
    pub(super) fn start_down(&mut self, now: Time) {
        self.latest.reset();
        self.probe.up_acked_per_raise = None;
        self.pick_wait();
        self.probe.since = now;
        self.probe.acks = AckPhase::ProbeStopping;
        self.rounds.restart(self.delivered);
        self.state = State::ProbeBwDown;
    }

    /// Begins Cruise, which sends at the bandwidth.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    /// Begins Refill, which fills the pipe for one round without the short-term bounds.
    pub(super) fn start_refill(&mut self) {
        self.short_term = ShortTerm::NONE;
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.precautionary = false;
        self.probe.acks = AckPhase::Refilling;
        self.rounds.restart(self.delivered);
        self.state = State::ProbeBwRefill;
    }

    /// Begins Up, which sends faster than the bandwidth.
    fn start_up(&mut self, sample: &Sample) {
        self.probe.is_sample = true;
        self.probe.acks = AckPhase::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full_pipe.begin(sample.rate);
        self.state = State::ProbeBwUp;
        self.raise_slope();
    }

    /// Changes to the next state of the cycle if the current state has ended (section 5.3.3.6,
    /// BBRUpdateProbeBWCyclePhase).
    pub(super) fn update_probe_bw(&mut self, now: Time, sample: &Sample, in_flight: u64) {
        if !self.full_pipe.reached || self.adapt_long_term(sample) {
            return;
        }
        match self.state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe(now) => self.start_refill(),
            State::ProbeBwDown if self.is_time_to_cruise(in_flight) => self.start_cruise(),
            State::ProbeBwRefill if self.rounds.start => self.start_up(sample),
            State::ProbeBwUp => self.go_down_if_due(now, sample, in_flight),
            _ => {}
        }
    }

    // The conditions that end a state.

    /// Chooses the time and the number of rounds until the next probe, partly at random (section 5.3.3.8).
    fn pick_wait(&mut self) {
        self.probe.rounds_since_up = self.rng.below(2);
        self.probe.wait = WAIT + Duration::from_nanos(self.rng.below(WAIT_SPREAD.as_nanos()));
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        now > self.probe.since + self.probe.wait || self.probe.rounds_since_up >= reno_rounds
    }

    fn is_time_to_cruise(&self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight_at(self.max_bw.max())
    }

    /// Changes from Up to Down once the probe has found the limit (section 5.3.3.7).
    pub(super) fn go_down_if_due(&mut self, now: Time, sample: &Sample, in_flight: u64) {
        let precautionary = self.probe.too_high && in_flight >= self.inflight_longterm;
        if !precautionary && sample.cwnd_full && self.cwnd >= self.inflight_longterm {
            // The long-term bound, and not the path, limits the rate. A constant rate therefore does not indicate a
            // full pipe.
            self.full_pipe.begin(sample.rate);
        } else if precautionary || self.full_pipe.now {
            self.probe.precautionary |= precautionary;
            self.probe.too_high = false;
            self.start_down(now);
        }
    }

    /// Returns the long-term bound minus the headroom for other flows.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = self.mss.max((HEADROOM * self.inflight_longterm as f64) as u64);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE_WINDOW * self.mss)
    }

    // The long-term bound.

    /// Updates the long-term bound. Returns true if a new probe has begun.
    fn adapt_long_term(&mut self, sample: &Sample) -> bool {
        if self.rounds.start && self.probe.acks == AckPhase::ProbeStarting {
            self.probe.acks = AckPhase::ProbeFeedback;
        } else if self.rounds.start && self.probe.acks == AckPhase::ProbeStopping && self.end_probe(sample) {
            return true;
        }
        if self.inflight_longterm != UNBOUNDED && !self.is_too_much(sample.lost, sample.tx_in_flight) {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::ProbeBwUp {
                self.raise_inflight(sample);
            }
        }
        false
    }

    /// Handles the last ACK for a probe's data. Returns true if another probe follows at once.
    fn end_probe(&mut self, sample: &Sample) -> bool {
        self.probe.is_sample = false;
        self.probe.acks = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !sample.app_limited {
            self.cycle += 1;
        }
        let again = self.probe.precautionary && !self.probe.too_high;
        if again {
            self.start_refill();
        }
        again
    }

    /// Doubles the growth of the bound per round: one segment, two, four (section 5.3.3.5).
    fn raise_slope(&mut self) {
        let growth = 1 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(SLOPE_ROUNDS);
        self.probe.up_acked_per_raise = Some((self.cwnd / growth).max(self.mss));
    }

    /// Raises the long-term bound by the current slope.
    fn raise_inflight(&mut self, sample: &Sample) {
        if !sample.cwnd_full || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probe.up_acked = self.probe.up_acked.saturating_add(sample.newly_acked);
        if let Some(per_raise) = self.probe.up_acked_per_raise {
            let raises = self.probe.up_acked / per_raise;
            self.probe.up_acked -= raises * per_raise;
            self.inflight_longterm = self.inflight_longterm.saturating_add(raises.saturating_mul(self.mss));
        }
        if self.rounds.start {
            self.raise_slope();
        }
    }
}
