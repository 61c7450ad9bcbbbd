//! Loss recovery: the phases of a sender, and what an ACK that is not plain progress does in each.
//!
//! Fast retransmit and recovery (RFC 5681, 6582, 6675), detection by time (RFC 8985, in `loss_detection`), the way down
//! to the new window (RFC 6937 and its elders, in `reduction`), the undo of what was not needed (RFC 3522, 4015, 3708,
//! 5682, in `undo`) and timeouts (RFC 6298, in `rto`).

mod ca_state;
mod loss_detection;
mod reduction;
mod rto;
mod undo;

pub use ca_state::CaState;
pub(crate) use loss_detection::Rack;
pub(crate) use reduction::Reduction;
pub(crate) use undo::UndoState;

use crate::send::{AckOutcome, Sender};
use crate::{LossDetection, Signal};
use lopsided_core::Time;

impl Sender {
    /// An ACK in trouble, or that may begin it. True if a loss timer was set that the ACK must leave alone.
    pub(crate) fn fastretrans_alert(&mut self, now: Time, outcome: &AckOutcome) -> bool {
        if self.ca_state == CaState::Open {
            self.undo.forget_stamp();
        }
        if self.scoreboard.is_reneged() {
            // The receiver threw away what it had reported: believe none of it.
            self.scoreboard.mark_all_lost(true, |_| false);
        }
        if self.leave_if_done(now, outcome) {
            return false;
        }
        match self.ca_state {
            CaState::Recovery => self.on_ack_in_recovery(now, outcome),
            CaState::Loss => self.on_ack_in_loss(now, outcome),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.on_ack_outside_recovery(now, outcome),
        }
    }

    /// Ends a phase whose recovery point is acknowledged. True if the ACK is dealt with.
    fn leave_if_done(&mut self, now: Time, outcome: &AckOutcome) -> bool {
        if self.una < self.recovery_point {
            return false;
        }
        match self.ca_state {
            CaState::Cwr if self.una > self.recovery_point => {
                self.end_reduction(now);
                self.set_ca_state(CaState::Open);
            }
            CaState::Recovery => {
                self.finish_repair(now, outcome);
                // Without SACK, duplicates for the recovery point itself may still come: wait for more (RFC 6582
                // section 3.2).
                if !self.sack && self.una == self.recovery_point && self.outstanding() > 0 {
                    self.set_ca_state(CaState::Disorder);
                    return true;
                }
                self.duplicates = 0;
                self.set_ca_state(CaState::Open);
            }
            _ => {}
        }
        false
    }

    /// All that was out when the repair began is acknowledged: the window comes back if it went down for nothing.
    pub(crate) fn finish_repair(&mut self, now: Time, outcome: &AckOutcome) {
        if self.undo_is_due(outcome.echo) {
            self.undo_reduction(now);
        } else {
            self.rack.narrow();
            self.end_reduction(now);
        }
    }

    fn on_ack_in_recovery(&mut self, now: Time, outcome: &AckOutcome) -> bool {
        if outcome.una_advanced {
            if self.undo.marker.is_some() && self.undo.echo_is_older(outcome.echo) {
                // The hole was filled by the original. While retransmissions are out, keep sending but repair no more.
                if self.scoreboard.retrans_out() > 0 {
                    return false;
                }
                self.undo_reduction(now);
                self.try_keep_open();
            } else if !self.sack {
                // A partial acknowledgement: the next segment is lost too (RFC 6582 section 3.2 step 4).
                self.scoreboard.mark_first_lost();
                // The retransmission is the first segment of what it covers, the duplicates told of the others.
                let others = outcome.cumulative.div_ceil(u64::from(self.mss)) - 1;
                self.duplicates = self.duplicates.saturating_sub(others as u32);
            }
        } else if !self.sack && outcome.duplicate {
            self.duplicates += 1;
        }
        if self.profile.undo.dsack && self.undo.all_retransmissions_were_duplicates() {
            self.undo_reduction(now);
            self.try_keep_open();
        }
        let timer = self.detect_loss(now);
        if self.ca_state != CaState::Recovery && self.scoreboard.lost_segments() > 0 {
            self.enter_recovery(now);
        }
        timer
    }

    fn on_ack_in_loss(&mut self, now: Time, outcome: &AckOutcome) -> bool {
        self.progress_after_timeout(now, outcome);
        let timer = self.detect_loss(now);
        if self.ca_state == CaState::Open && self.scoreboard.lost_segments() > 0 {
            self.enter_recovery(now);
        }
        timer
    }

    fn on_ack_outside_recovery(&mut self, now: Time, outcome: &AckOutcome) -> bool {
        if !self.sack {
            if outcome.una_advanced {
                self.duplicates = 0;
            } else if outcome.duplicate {
                self.duplicates += 1;
            }
        } else if outcome.duplicate && !outcome.una_advanced {
            self.duplicates += 1;
        }
        if self.ca_state <= CaState::Disorder
            && self.profile.undo.dsack
            && outcome.dsack
            && self.undo.all_retransmissions_were_duplicates()
        {
            self.undo_reduction(now);
        }
        let timer = self.detect_loss(now);
        if self.scoreboard.lost_segments() > 0 {
            self.enter_recovery(now);
            return timer;
        }
        if outcome.ecn_echo && self.ca_state < CaState::Cwr {
            self.counters.ecn_reductions += 1;
            self.enter_cwr(now, Signal::EcnEcho);
        } else if self.ca_state <= CaState::Disorder {
            self.try_keep_open();
        }
        timer
    }

    /// Marks what the profile's rule takes for lost. True if RACK's timer was set.
    pub(crate) fn detect_loss(&mut self, now: Time) -> bool {
        let threshold = self.profile.dup_threshold;
        if !self.sack {
            if self.duplicates >= threshold && self.ca_state <= CaState::Disorder {
                self.scoreboard.mark_first_lost();
            }
            return false;
        }
        match self.profile.loss_detection {
            LossDetection::Rack => self.detect_loss_by_time(now),
            LossDetection::Fack => {
                self.detect_loss_by_distance();
                false
            }
            LossDetection::FreeBsdSack => {
                let begun = self.ca_state >= CaState::Recovery;
                if begun || self.duplicates >= threshold || self.scoreboard.sacked_segments() >= threshold {
                    self.scoreboard.mark_lost_below_highest_sack();
                }
                false
            }
            LossDetection::Rfc6675 => {
                self.scoreboard.mark_lost_by_count(threshold);
                if self.ca_state <= CaState::Disorder
                    && self.duplicates >= threshold
                    && self.scoreboard.sacked_segments() > 0
                {
                    self.scoreboard.mark_first_lost();
                }
                false
            }
        }
    }

    /// In recovery the hole at the front is lost whatever lies above it, and what was sent since is left to the next
    /// recovery. After a timeout everything is marked already.
    fn detect_loss_by_distance(&mut self) {
        match self.ca_state {
            CaState::Loss => {}
            CaState::Recovery => {
                self.scoreboard.mark_lost_retransmissions();
                self.scoreboard.mark_lost_by_distance(self.profile.dup_threshold, 1, self.recovery_point);
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                self.scoreboard.mark_lost_by_distance(self.profile.dup_threshold, 0, self.nxt);
            }
        }
    }

    pub(crate) fn enter_recovery(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        self.undo.begin(self.una, self.scoreboard.retrans_out());
        if self.ca_state < CaState::Cwr {
            self.begin_reduction(now, Signal::Loss);
        }
        self.recovery_point = self.nxt;
        self.set_ca_state(CaState::Recovery);
    }

    pub(crate) fn enter_cwr(&mut self, now: Time, signal: Signal) {
        self.undo.forget();
        self.begin_reduction(now, signal);
        self.recovery_point = self.nxt;
        self.set_ca_state(CaState::Cwr);
    }

    /// Open, or Disorder while something is unaccounted for.
    pub(crate) fn try_keep_open(&mut self) {
        let troubled =
            self.scoreboard.sacked_segments() + self.scoreboard.lost_segments() + self.scoreboard.retrans_out() > 0
                || (!self.sack && self.duplicates > 0);
        let ca_state = if troubled { CaState::Disorder } else { CaState::Open };
        if ca_state != self.ca_state {
            self.set_ca_state(ca_state);
            self.recovery_point = self.nxt;
        }
    }

    pub(crate) fn set_ca_state(&mut self, ca_state: CaState) {
        self.ca_state = ca_state;
    }
}
