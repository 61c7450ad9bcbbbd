//! Loss recovery: the phases of a sender, and what an ACK that is not plain progress does in each.
//!
//! Fast retransmit and recovery (RFC 5681, 6582, 6675), detection by time (RFC 8985, in `rack`), the way down to the new window (RFC 6937
//! and its elders, in `descent`), the undo of what was not needed (RFC 3522, 4015, 3708, 5682, in `undo`) and timeouts (RFC 6298, in `timeout`).

mod descent;
mod rack;
mod timeout;
mod undo;

pub(crate) use descent::Reduction;
pub(crate) use rack::Rack;
pub(crate) use undo::UndoState;

use crate::sender::{News, Sender};
use crate::{LossDetection, Signal};
use lopsided_core::Time;

/// The phase of a sender, in Linux's names and order (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Open,
    /// Duplicate or selective ACKs came, too few to mean a loss.
    Disorder,
    /// The window comes down without a loss to repair (ECN, a repaired tail loss).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until what was out then is acknowledged.
    Loss,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Disorder => "disorder",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

impl Sender {
    /// An ACK in trouble, or that may begin it. True if a loss timer was set that the ACK must leave alone.
    pub(crate) fn on_dubious_ack(&mut self, now: Time, news: &News) -> bool {
        if self.phase == Phase::Open {
            self.undo.forget_stamp();
        }
        if self.board.is_reneged() {
            // The receiver threw away what it had reported: believe none of it.
            self.board.mark_all_lost(true, |_| false);
        }
        if self.leave_if_done(now, news) {
            return false;
        }
        match self.phase {
            Phase::Recovery => self.on_ack_in_recovery(now, news),
            Phase::Loss => self.on_ack_in_loss(now, news),
            Phase::Open | Phase::Disorder | Phase::Cwr => self.on_ack_outside_recovery(now, news),
        }
    }

    /// Ends a phase whose recovery point is acknowledged. True if the ACK is dealt with.
    fn leave_if_done(&mut self, now: Time, news: &News) -> bool {
        if self.una < self.recovery_point {
            return false;
        }
        match self.phase {
            Phase::Cwr if self.una > self.recovery_point => {
                self.end_reduction(now);
                self.enter(Phase::Open);
            }
            Phase::Recovery => {
                self.finish_repair(now, news);
                // Without SACK, duplicates for the recovery point itself may still come: wait for more (RFC 6582 section 3.2).
                if !self.sack && self.una == self.recovery_point && self.outstanding() > 0 {
                    self.enter(Phase::Disorder);
                    return true;
                }
                self.duplicates = 0;
                self.enter(Phase::Open);
            }
            _ => {}
        }
        false
    }

    /// All that was out when the repair began is acknowledged: the window comes back if it went down for nothing.
    pub(crate) fn finish_repair(&mut self, now: Time, news: &News) {
        if self.undo_is_due(news.echo) {
            self.undo_reduction(now);
        } else {
            self.rack.narrow();
            self.end_reduction(now);
        }
    }

    fn on_ack_in_recovery(&mut self, now: Time, news: &News) -> bool {
        if news.una_advanced {
            if self.undo.marker.is_some() && self.undo.echo_is_older(news.echo) {
                // The hole was filled by the original. While retransmissions are out, keep sending but repair no more.
                if self.board.retrans_segments() > 0 {
                    return false;
                }
                self.undo_reduction(now);
                self.settle();
            } else if !self.sack {
                // A partial acknowledgement: the next segment is lost too (RFC 6582 section 3.2 step 4).
                self.board.mark_first_lost();
                // The retransmission is the first segment of what it covers, the duplicates told of the others.
                let others = news.cumulative.div_ceil(u64::from(self.mss)) - 1;
                self.duplicates = self.duplicates.saturating_sub(others as u32);
            }
        } else if !self.sack && news.duplicate {
            self.duplicates += 1;
        }
        if self.profile.undo.dsack && self.undo.all_retransmissions_were_duplicates() {
            self.undo_reduction(now);
            self.settle();
        }
        let timer = self.detect_loss(now);
        if self.phase != Phase::Recovery && self.board.lost_segments() > 0 {
            self.enter_recovery(now);
        }
        timer
    }

    fn on_ack_in_loss(&mut self, now: Time, news: &News) -> bool {
        self.progress_after_timeout(now, news);
        let timer = self.detect_loss(now);
        if self.phase == Phase::Open && self.board.lost_segments() > 0 {
            self.enter_recovery(now);
        }
        timer
    }

    fn on_ack_outside_recovery(&mut self, now: Time, news: &News) -> bool {
        if !self.sack {
            if news.una_advanced {
                self.duplicates = 0;
            } else if news.duplicate {
                self.duplicates += 1;
            }
        } else if news.duplicate && !news.una_advanced {
            self.duplicates += 1;
        }
        if self.phase <= Phase::Disorder
            && self.profile.undo.dsack
            && news.dsack
            && self.undo.all_retransmissions_were_duplicates()
        {
            self.undo_reduction(now);
        }
        let timer = self.detect_loss(now);
        if self.board.lost_segments() > 0 {
            self.enter_recovery(now);
            return timer;
        }
        if news.ecn_echo && self.phase < Phase::Cwr {
            self.counters.ecn_reductions += 1;
            self.enter_cwr(now, Signal::EcnEcho);
        } else if self.phase <= Phase::Disorder {
            self.settle();
        }
        timer
    }

    /// Marks what the profile's rule takes for lost. True if RACK's timer was set.
    pub(crate) fn detect_loss(&mut self, now: Time) -> bool {
        let threshold = self.profile.dup_threshold;
        if !self.sack {
            if self.duplicates >= threshold && self.phase <= Phase::Disorder {
                self.board.mark_first_lost();
            }
            return false;
        }
        match self.profile.loss_detection {
            LossDetection::Rack => self.detect_loss_by_time(now),
            LossDetection::Fack => {
                self.detect_loss_by_distance();
                false
            }
            LossDetection::HighestSack => {
                let begun = self.phase >= Phase::Recovery;
                if begun || self.duplicates >= threshold || self.board.sacked_segments() >= threshold {
                    self.board.mark_lost_below_highest_sack();
                }
                false
            }
            LossDetection::Counting => {
                self.board.mark_lost_by_count(threshold);
                if self.phase <= Phase::Disorder && self.duplicates >= threshold && self.board.sacked_segments() > 0 {
                    self.board.mark_first_lost();
                }
                false
            }
        }
    }

    /// In recovery the hole at the front is lost whatever lies above it, and what was sent since is left to the next recovery. After a
    /// timeout everything is marked already.
    fn detect_loss_by_distance(&mut self) {
        match self.phase {
            Phase::Loss => {}
            Phase::Recovery => {
                self.board.mark_lost_retransmissions();
                self.board.mark_lost_by_distance(self.profile.dup_threshold, 1, self.recovery_point);
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                self.board.mark_lost_by_distance(self.profile.dup_threshold, 0, self.nxt);
            }
        }
    }

    pub(crate) fn enter_recovery(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        self.undo.begin(self.una, self.board.retrans_segments());
        if self.phase < Phase::Cwr {
            self.begin_reduction(now, Signal::Loss);
        }
        self.recovery_point = self.nxt;
        self.enter(Phase::Recovery);
    }

    pub(crate) fn enter_cwr(&mut self, now: Time, signal: Signal) {
        self.undo.forget();
        self.begin_reduction(now, signal);
        self.recovery_point = self.nxt;
        self.enter(Phase::Cwr);
    }

    /// Open, or Disorder while something is unaccounted for.
    pub(crate) fn settle(&mut self) {
        let troubled = self.board.sacked_segments() + self.board.lost_segments() + self.board.retrans_segments() > 0
            || (!self.sack && self.duplicates > 0);
        let phase = if troubled { Phase::Disorder } else { Phase::Open };
        if phase != self.phase {
            self.enter(phase);
            self.recovery_point = self.nxt;
        }
    }

    pub(crate) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }
}
