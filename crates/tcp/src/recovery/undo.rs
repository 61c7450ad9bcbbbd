//! Undoes spurious reductions. A reduction is detected as spurious by Eifel's timestamps (RFC 3522, 4015), a DSACK (RFC
//! 3708), F-RTO (RFC 5682), or 4.4BSD's early-ACK rule.

use super::Recovery;
use super::duplicates::notices_reordering;
use super::reduction::progress::Reduction;
use super::undo_state::echo_is_older;
use crate::profile::CwndReduction;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::{CaReason, CaState, TcpEvent, TcpEventMask, UndoRule};
use lopsided_core::{Bytes, Duration, Time};

impl Recovery {
    /// Returns the evidence that the reduction was spurious; `None` if there is no such evidence.
    pub(super) fn undo_evidence(&self, flight: &Flight, echo: Option<u32>) -> Option<UndoRule> {
        let rules = flight.profile.undo;
        if !self.undo.can_undo() {
            None
        } else if rules.dsack && self.undo.all_retransmissions_were_duplicates() {
            Some(UndoRule::Dsack)
        } else if rules.timestamps && echo_is_older(echo, self.undo.first_stamp()) {
            Some(UndoRule::Eifel)
        } else {
            None
        }
    }

    /// Restores the window and removes the loss marks.
    pub(super) fn undo_reduction(&mut self, now: Time, flight: &mut Flight, by: UndoRule) {
        // tcp_reno_undo_cwnd: the window in force is kept if it is larger than the window before the reduction.
        self.adopt_window_in_force(now, flight);
        flight.controller.on_undo(now);
        self.reduction = None;
        flight.scoreboard.unmark_lost();
        self.undo.forget();
        self.cwr_due = false;
        flight.counters.undos += 1;
        let cwnd = Bytes::new(self.cwnd(flight));
        flight.trace.emit(TcpEventMask::WINDOW, || TcpEvent::Undone { by, cwnd });
    }

    /// Passes the window that Linux's reduction has set to the controller.
    pub(super) fn adopt_window_in_force(&self, now: Time, flight: &mut Flight) {
        let sets_window = matches!(flight.profile.cwnd_reduction, CwndReduction::Prr | CwndReduction::RateHalving);
        if let Some(reduction) = self.reduction.as_ref().filter(|_| sets_window) {
            flight.controller.adopt(now, Bytes::new(reduction.cwnd), flight.controller.ssthresh());
        }
    }

    /// Restores the window and the threshold, but stays in the congestion state.
    pub(super) fn undo_within_reduction(&mut self, now: Time, flight: &mut Flight, by: UndoRule) {
        self.adopt_window_in_force(now, flight);
        let reduction = self.reduction.take();
        self.undo_reduction(now, flight, by);
        if flight.profile.cwnd_reduction == CwndReduction::Prr {
            let target = flight.controller.ssthresh().map_or(u64::MAX, Bytes::get);
            self.reduction = reduction.map(|reduction| Box::new(Reduction { target, undone: true, ..*reduction }));
        }
    }

    /// Processes an ACK after a timeout: detects a spurious timeout, or the end of the repair.
    pub(super) fn progress_after_timeout(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) {
        let recovered = flight.una() >= self.point;
        if outcome.una_advanced {
            // 4.4BSD: an ACK that arrives so soon after the timeout must be caused by the original segment.
            let early = self.undo.take_early_until().is_some_and(|until| now < until);
            let evidence = if early { Some(UndoRule::EarlyAck) } else { self.undo_evidence(flight, outcome.echo) };
            if let Some(by) = evidence {
                self.undo_timeout(now, flight, by);
                return;
            }
        }
        if self.frto {
            if outcome.original_delivered {
                // RFC 5682 section 3.1 step 3b: data that was never retransmitted has been delivered, so the timeout
                // was spurious.
                self.undo_timeout(now, flight, UndoRule::FRto);
                return;
            }
            // RFC 5682 section 3.1 step 3: new data was sent after the timeout, so this is the second ACK since then.
            if flight.nxt() > self.point {
                if outcome.sacked || outcome.duplicate {
                    // RFC 5682 section 3.1 step 3a: the loss was real.
                    self.frto = false;
                }
            } else if outcome.una_advanced && !recovered {
                self.point = flight.nxt();
                // RFC 5682 section 3.1 step 2b: send new data first, provided that it fits the peer's window.
                if outcome.new_data_fits {
                    self.defer_retransmits = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            if self.holds_state(flight) {
                if let Some(by) = self.undo_evidence(flight, outcome.echo) {
                    self.undo_reduction(now, flight, by);
                }
                self.forget_stale_stamp(flight);
                return;
            }
            let why = self.finish_repair(now, flight, outcome);
            self.forget_duplicates_after_loss(flight);
            self.set_ca_state(flight, CaState::Open, why);
        } else if !flight.sack() && outcome.una_advanced {
            self.dupacks = 0;
        } else if !flight.sack() && !flight.counts_duplicates() && outcome.duplicate && flight.nxt() > self.point {
            // New data that F-RTO sent has been delivered, so the duplicate ACK counts.
            self.count_duplicate(flight);
        }
    }

    /// Resets the count of duplicate ACKs at the end of the Loss state. Without SACK, Linux first detects losses
    /// (tcp_fastretrans_alert), and [`Recovery::on_ack_in_loss`] resets the count.
    fn forget_duplicates_after_loss(&mut self, flight: &Flight) {
        if flight.sack() || !notices_reordering(flight) {
            self.dupacks = 0;
        }
    }

    /// Undoes a timeout and returns to the state before the timeout.
    fn undo_timeout(&mut self, now: Time, flight: &mut Flight, by: UndoRule) {
        let interrupted = self.undo.take_interrupted();
        self.undo_reduction(now, flight, by);
        self.forget_duplicates_after_loss(flight);
        // The timeout was spurious: cancel the backoff, so that later timeouts are not delayed.
        flight.rtt.forget_backoff();
        let original = by == UndoRule::FRto && !self.holds_state(flight);
        if !original && !flight.sack() && notices_reordering(flight) {
            // Stay in the Loss state, because other retransmissions will still cause duplicate ACKs, which do not
            // indicate a loss.
            return;
        }
        self.frto = false;
        // 4.4BSD resumes the recovery that the timeout interrupted.
        match interrupted {
            Some(interrupted) if interrupted.point > flight.una() => {
                self.point = interrupted.point;
                self.reduction = interrupted.reduction;
                self.begin_budget(flight);
                self.set_ca_state(flight, CaState::Recovery, CaReason::Undone);
            }
            _ => self.set_ca_state(flight, CaState::Open, CaReason::Undone),
        }
    }
}

/// Returns half of the smoothed RTT. In 4.4BSD, an ACK that arrives within this time after a timeout must acknowledge
/// the original segment.
pub(super) fn early_ack_window(flight: &Flight) -> Duration {
    flight.rtt.srtt().unwrap_or(Duration::ZERO) / 2
}
