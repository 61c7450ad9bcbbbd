//! Startup and Drain (sections 5.3.1 and 5.3.2): Startup doubles the rate in each round until the pipe is full, and
//! Drain empties the resulting queue.

use super::Bbr3;
use super::model::{Sample, State};
use crate::CaState;
use lopsided_core::Time;

/// Number of lost ranges in one round of Startup that indicates a full queue (BBRStartupFullLossCnt).
const FULL_LOSSES: u32 = 6;
/// Maximum number of rounds in Drain.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// Ends Startup if the pipe is full or the loss is too high.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        if self.state == State::Startup && !self.full_pipe.reached && self.is_losing_too_much(sample) {
            self.undo.return_to = Some(State::Startup);
            self.full_pipe.reached = true;
            self.full_pipe.now = true;
            self.inflight_longterm = (self.bdp(self.bw) as u64).max(self.latest.inflight);
        }
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_since_round = self.rounds.count;
        }
        if self.latest.round_start {
            self.latest.lost_ranges = 0;
        }
    }

    /// True if the loss in Startup is too high (section 5.3.1.3).
    fn is_losing_too_much(&self, sample: &Sample) -> bool {
        let enough = if self.sack {
            self.latest.round_start && self.latest.lost_ranges >= FULL_LOSSES
        } else {
            sample.newly_lost > 0
        };
        self.ca_state == CaState::Recovery && enough && self.is_too_much(sample.lost, sample.tx_in_flight)
    }

    /// Ends Drain once the queue is empty, or after the maximum number of rounds.
    pub(super) fn check_drain_done(&mut self, now: Time, in_flight: u64) {
        let drained =
            in_flight <= self.inflight_at(self.bw) || self.rounds.count > self.drain_since_round + DRAIN_ROUNDS;
        if self.state == State::Drain && drained {
            self.start_down(now);
        }
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }
}
