//! ProbeRTT (section 5.3.4): the RTT without a queue, looked for every five seconds if no quiet moment showed it.

use super::probe_bw::AckPhase;
use super::{Bbr3, MIN_PIPE_WINDOW, Sample, ShortTerm, State};
use crate::cc::path_model::HeldBack;
use lopsided_core::{Duration, Time};

/// Of the bandwidth-delay product that stays in flight.
pub(super) const CWND_GAIN: f64 = 0.5;
const DURATION: Duration = Duration::from_millis(200);
const INTERVAL: Duration = Duration::from_secs(5);
/// For so long a smallest RTT is believed.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// The propagation time, and when to look for it.
#[derive(Debug, Default)]
pub(super) struct PropagationTime {
    pub min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// The smallest since the last probe for it.
    recent: Option<Duration>,
    recent_at: Time,
    expired: bool,
    /// The probe under way: when it may end, once little enough is in flight, and whether a round passed since.
    until: Option<Time>,
    round_done: bool,
    pub held_back: HeldBack,
}

impl PropagationTime {
    pub fn begin(&mut self, now: Time, srtt: Option<Duration>) {
        self.min_rtt = srtt;
        self.min_rtt_at = now;
        self.recent = srtt;
        self.recent_at = now;
    }

    /// Section 5.3.4.3.
    pub fn update(&mut self, now: Time, rtt: Option<Duration>) {
        self.expired = now > self.recent_at + INTERVAL;
        if let Some(rtt) = rtt {
            if self.expired || self.recent.is_none_or(|recent| rtt < recent) {
                self.recent = Some(rtt.max(Duration::from_micros(1)));
                self.recent_at = now;
            }
        }
        let old = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(recent) = self.recent {
            if old || self.min_rtt.is_none_or(|min| recent < min) {
                self.min_rtt = Some(recent);
                self.min_rtt_at = self.recent_at;
            }
        }
    }
}

impl Bbr3 {
    pub(super) fn check_probe_rtt(&mut self, now: Time, sample: &Sample, in_flight: u64) {
        if self.state != State::ProbeRtt && self.propagation.expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_window();
            self.propagation.until = None;
            self.propagation.held_back = HeldBack::default();
            self.probe.acks = AckPhase::ProbeStopping;
            self.rounds.restart(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(now, in_flight);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, now: Time, in_flight: u64) {
        self.propagation.held_back.extend(self.delivered, in_flight);
        match self.propagation.until {
            None if in_flight <= self.probe_rtt_window() => {
                self.propagation.until = Some(now + DURATION);
                self.propagation.round_done = false;
                self.rounds.restart(self.delivered);
            }
            None => {}
            Some(_) => {
                self.propagation.round_done |= self.rounds.start;
                if self.propagation.round_done {
                    self.leave_probe_rtt_if_done(now);
                }
            }
        }
    }

    pub(super) fn leave_probe_rtt_if_done(&mut self, now: Time) {
        if self.propagation.until.is_none_or(|until| now <= until) {
            return;
        }
        self.propagation.recent_at = now;
        self.restore_window();
        self.short_term = ShortTerm::NONE;
        if self.full_pipe.reached {
            // The queue is empty already: only the clock of the cycle is set.
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp_multiple(CWND_GAIN).max(MIN_PIPE_WINDOW * self.mss)
    }
}
