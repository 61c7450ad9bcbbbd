//! ProbeRTT (section 5.3.4): empties the queue every 5 s to measure the RTT. An idle period, which also empties the
//! queue, replaces ProbeRTT.

use super::Bbr3;
use super::model::{AckPhase, MIN_PIPE_WINDOW, PROBE_RTT_CWND_GAIN, Sample, ShortTerm, State};
use crate::cc::path_model::HeldBack;
use lopsided_core::{Duration, Time};

/// Duration of ProbeRTT.
const DURATION: Duration = Duration::from_millis(200);

impl Bbr3 {
    /// Enters ProbeRTT if it is due. In ProbeRTT, checks whether it can end.
    pub(super) fn check_probe_rtt(&mut self, now: Time, sample: &Sample, in_flight: u64) {
        if self.state != State::ProbeRtt && self.propagation.expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_window();
            self.propagation.until = None;
            self.propagation.held_back = HeldBack::default();
            // A bandwidth probe that was under way ends here.
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

    /// Keeps the small window for the duration of ProbeRTT and at least one round.
    fn probe_rtt(&mut self, now: Time, in_flight: u64) {
        self.propagation.held_back.extend(self.delivered, in_flight);
        match self.propagation.until {
            // The duration starts only when the data in flight has drained to the small window.
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

    /// Leaves ProbeRTT when its duration has passed.
    pub(super) fn leave_probe_rtt_if_done(&mut self, now: Time) {
        if self.propagation.until.is_none_or(|until| now <= until) {
            return;
        }
        self.propagation.recent_at = now;
        self.restore_window();
        self.short_term = ShortTerm::NONE;
        if self.full_pipe.reached {
            // The queue is already empty, so Down only starts the time until the next probe.
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// Returns the window of ProbeRTT in bytes.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp_multiple(PROBE_RTT_CWND_GAIN).max(MIN_PIPE_WINDOW * self.mss)
    }
}
