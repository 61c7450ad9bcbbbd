//! The congestion states of a sender: fast retransmit and recovery (RFC 5681, 6582, 6675).

use super::Recovery;
use super::duplicates::notices_reordering;
use super::loss_detection::mark_lost;
use super::undo_state::echo_is_older;
use crate::cc::Signal;
use crate::profile::FastRecovery;
use crate::send::{AckOutcome, Flight, TxRecord};
use lopsided_core::Time;
use lopsided_core::tcp_event::{CaReason, CaState, LossRule, TcpEvent, TcpEventMask, UndoRule};

impl Recovery {
    /// Processes an ACK that may start a recovery or arrives during a recovery (Linux's tcp_fastretrans_alert). Returns
    /// true if a loss timer was armed. The caller must not change this timer.
    pub fn fastretrans_alert(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> bool {
        // In the Open state no retransmission is outstanding, so there is no timestamp with which an echo could be
        // compared.
        if self.ca_state == CaState::Open {
            self.undo.forget_stamp();
        }
        if flight.scoreboard.is_reneged() {
            // RFC 2018 section 8: the receiver has discarded SACKed data, so ignore all SACK state.
            mark_lost(flight, LossRule::Reneged, |flight| flight.scoreboard.mark_all_lost(true, |_| false));
        }
        if self.leave_if_done(now, flight, outcome) {
            return false;
        }
        match self.ca_state {
            CaState::Recovery => self.on_ack_in_recovery(now, flight, outcome),
            CaState::Loss => self.on_ack_in_loss(now, flight, outcome),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.on_ack_outside_recovery(now, flight, outcome),
        }
    }

    /// Ends the congestion state if its recovery point is acknowledged. Returns true if the ACK needs no further
    /// processing.
    pub(super) fn leave_if_done(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> bool {
        if flight.una() < self.point {
            return false;
        }
        match self.ca_state {
            // tcp_fastretrans_alert: the CWR state ends only when data beyond its recovery point is acknowledged,
            // because the CWR flag has then reached the receiver.
            CaState::Cwr if flight.una() > self.point => {
                self.end_reduction(now, flight);
                self.set_ca_state(flight, CaState::Open, CaReason::Completed);
            }
            CaState::Recovery => {
                let waits = !flight.sack() && flight.una() == self.point;
                if self.holds_state(flight) {
                    self.dupacks = 0;
                    if let Some(by) = self.undo_evidence(flight, outcome.echo) {
                        self.undo_within_reduction(now, flight, by);
                    }
                    self.forget_stale_stamp(flight);
                    return true;
                }
                let why = self.finish_repair(now, flight, outcome);
                let newreno = flight.profile.fast_recovery == FastRecovery::NewReno && !flight.counts_duplicates();
                if waits && newreno && flight.outstanding() > 0 {
                    // RFC 6582 section 3.2: duplicate ACKs for the recovery point itself may still arrive. In the
                    // Disorder state, the next recovery starts only after three of these duplicate ACKs.
                    self.set_ca_state(flight, CaState::Disorder, why);
                    return true;
                }
                self.dupacks = 0;
                self.set_ca_state(flight, CaState::Open, why);
            }
            _ => {}
        }
        false
    }

    /// True if the congestion state continues although its recovery point is acknowledged, as in Linux without SACK
    /// (RFC 6582 section 4.1).
    pub(super) fn holds_state(&self, flight: &Flight) -> bool {
        !flight.sack() && flight.una() == self.point && notices_reordering(flight)
    }

    /// True if a duplicate ACK counts as the delivery of a segment, without SACK. Linux's tcp_fastretrans_alert returns
    /// before tcp_add_reno_sack while the state continues after the recovery. PRR therefore permits no new data.
    pub fn duplicates_deliver(&self, flight: &Flight) -> bool {
        match self.ca_state {
            CaState::Recovery => !self.holds_state(flight),
            CaState::Loss => false,
            CaState::Open | CaState::Disorder | CaState::Cwr => true,
        }
    }

    /// Handles a retransmitted SYN like a timeout, as Linux does. Without SACK, the Loss state continues after the
    /// handshake.
    pub fn after_lost_syn(&mut self, flight: &mut Flight) {
        self.cwr_due = notices_reordering(flight);
        if self.holds_state(flight) {
            self.set_ca_state(flight, CaState::Loss, CaReason::Timeout);
        }
    }

    /// Ends a recovery whose data is acknowledged completely, and undoes the reduction if it was spurious. Returns the
    /// reason for the change of state.
    pub(super) fn finish_repair(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> CaReason {
        match self.undo_evidence(flight, outcome.echo) {
            Some(by) => {
                self.undo_reduction(now, flight, by);
                CaReason::Undone
            }
            None => {
                self.rack.narrow();
                self.end_reduction(now, flight);
                CaReason::Completed
            }
        }
    }

    /// Handles an ACK in the Recovery state.
    pub(super) fn on_ack_in_recovery(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> bool {
        if outcome.una_advanced {
            if self.undo.can_undo() && echo_is_older(outcome.echo, self.undo.first_stamp()) {
                // tcp_try_undo_partial: the original transmission filled the hole, so it was reordered. While
                // retransmissions are outstanding, send new data but mark no further segments as lost.
                self.note_late_original(flight, flight.una() - outcome.cumulative);
                if flight.scoreboard.retrans_out() > 0 {
                    return false;
                }
                self.undo_reduction(now, flight, UndoRule::Eifel);
                self.try_keep_open(flight);
            // RFC 5681: without NewReno, the first ACK of new data ends the recovery.
            } else if !flight.sack() && flight.profile.fast_recovery != FastRecovery::NewReno {
                let why = self.finish_repair(now, flight, outcome);
                self.dupacks = 0;
                self.set_ca_state(flight, CaState::Open, why);
            } else if !flight.sack() {
                // RFC 6582 section 3.2 step 3: after a partial acknowledgement, the next segment also counts as lost.
                mark_lost(flight, LossRule::PartialAck, |flight| flight.scoreboard.mark_first_lost());
            }
        } else if !flight.sack() && outcome.duplicate {
            self.count_duplicate(flight);
        }
        if flight.profile.undo.dsack && self.undo.all_retransmissions_were_duplicates() {
            self.undo_reduction(now, flight, UndoRule::Dsack);
            self.try_keep_open(flight);
        }
        self.update_window_per_duplicate(flight, outcome);
        let timer = self.detect_loss(now, flight);
        if self.ca_state != CaState::Recovery && flight.scoreboard.lost_segments() > 0 {
            self.enter_recovery(now, flight);
        }
        timer
    }

    /// Handles an ACK in the Loss state, after a timeout.
    pub(super) fn on_ack_in_loss(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> bool {
        self.progress_after_timeout(now, flight, outcome);
        if self.ca_state == CaState::Loss && flight.counts_duplicates() {
            self.count_duplicates_after_timeout(now, flight, outcome);
            return false;
        }
        let retransmitted = flight.scoreboard.retrans_out();
        let timer = self.detect_loss(now, flight);
        // FLAG_LOST_RETRANS: a retransmission was lost too, so a recovery starts and reduces the window again.
        if self.ca_state == CaState::Loss && flight.scoreboard.retrans_out() < retransmitted {
            self.enter_recovery(now, flight);
        } else if self.ca_state == CaState::Open {
            self.dupacks = 0;
            if flight.scoreboard.lost_segments() > 0 {
                self.enter_recovery(now, flight);
            } else {
                self.forget_stale_stamp(flight);
            }
        }
        timer
    }

    /// Handles an ACK in the states Open, Disorder and CWR.
    pub(super) fn on_ack_outside_recovery(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) -> bool {
        if !flight.sack() {
            if outcome.una_advanced {
                self.dupacks = 0;
            } else if outcome.duplicate {
                self.count_duplicate(flight);
            }
        } else if outcome.duplicate && !outcome.una_advanced {
            self.count_duplicate(flight);
        }
        if self.ca_state <= CaState::Disorder
            && flight.profile.undo.dsack
            && outcome.dsack
            && self.undo.all_retransmissions_were_duplicates()
        {
            self.undo_reduction(now, flight, UndoRule::Dsack);
        }
        // An ACK filter marked the ACK: retransmit at once (balakrishnan1999 section 6.3).
        if outcome.asks_retransmit && flight.outstanding() > 0 {
            mark_lost(flight, LossRule::MarkedAck, |flight| flight.scoreboard.mark_first_lost());
        }
        let timer = self.detect_loss(now, flight);
        if flight.scoreboard.lost_segments() > 0 {
            self.enter_recovery(now, flight);
            return timer;
        }
        self.forget_stale_stamp(flight);
        // RFC 3168 section 6.1.2: at most one reduction per round trip.
        if outcome.ecn_echo && self.ca_state < CaState::Cwr {
            flight.counters.ecn_reductions += 1;
            self.enter_cwr(now, flight, Signal::EcnEcho, CaReason::EcnEcho);
        } else if self.ca_state <= CaState::Disorder {
            self.try_keep_open(flight);
        }
        timer
    }

    /// Deletes the first retransmission's timestamp once no retransmission is outstanding (Linux's tcp_try_to_open and
    /// tcp_is_non_sack_preventing_reopen).
    pub(super) fn forget_stale_stamp(&mut self, flight: &Flight) {
        let board = &flight.scoreboard;
        let head_went_again = board.first().is_some_and(TxRecord::was_ever_retransmitted);
        if board.retrans_out() == 0 && !head_went_again {
            self.undo.forget_stamp();
        }
    }

    /// FreeBSD: retransmissions after a timeout may also be lost, so three duplicate ACKs start a normal recovery.
    fn count_duplicates_after_timeout(&mut self, now: Time, flight: &mut Flight, outcome: &AckOutcome) {
        if !outcome.duplicate {
            return;
        }
        self.count_duplicate(flight);
        if self.dupacks < flight.profile.dup_threshold {
            return;
        }
        if !flight.sack() {
            // RFC 6582 section 4.1: ignore duplicate ACKs that are caused by data that was outstanding at the timeout.
            self.dupacks = 0;
        } else if flight.scoreboard.highest_sacked().is_some() {
            mark_lost(flight, LossRule::FreeBsdSack, |flight| flight.scoreboard.mark_holes_lost_again());
            self.enter_recovery(now, flight);
        }
    }

    // State transitions.

    /// Starts a fast recovery. Also reduces the window, unless the window was already reduced (CWR and Recovery
    /// states).
    pub(super) fn enter_recovery(&mut self, now: Time, flight: &mut Flight) {
        flight.counters.fast_retransmits += 1;
        self.undo.begin(flight.una(), flight.scoreboard.retrans_out());
        if self.ca_state < CaState::Cwr || self.ca_state == CaState::Loss {
            self.begin_reduction(now, flight, Signal::Loss, CaReason::LossDetected);
        }
        self.point = flight.nxt();
        self.repaired_to = Some(self.point);
        self.set_ca_state(flight, CaState::Recovery, CaReason::LossDetected);
    }

    /// Starts a window reduction without a retransmission.
    pub(super) fn enter_cwr(&mut self, now: Time, flight: &mut Flight, signal: Signal, why: CaReason) {
        self.undo.forget();
        self.begin_reduction(now, flight, signal, why);
        self.point = flight.nxt();
        self.set_ca_state(flight, CaState::Cwr, why);
    }

    /// Handles a full interface queue: reduces the window once for the outstanding data (Linux's tcp_enter_cwr).
    pub fn on_local_congestion(&mut self, now: Time, flight: &mut Flight) {
        if self.ca_state < CaState::Cwr {
            flight.counters.local_congestion += 1;
            self.enter_cwr(now, flight, Signal::Loss, CaReason::LocalCongestion);
        }
    }

    /// Sets the state to Open, or to Disorder if a segment is SACKed, lost or retransmitted (Linux's
    /// tcp_try_keep_open).
    pub(super) fn try_keep_open(&mut self, flight: &mut Flight) {
        let board = &flight.scoreboard;
        // Disorder: a segment is SACKed, marked lost or retransmitted, or, without SACK, duplicate ACKs were counted.
        let troubled = board.sacked_segments() + board.lost_segments() + board.retrans_out() > 0
            || (!flight.sack() && self.dupacks > 0);
        let (to, why) = if troubled {
            (CaState::Disorder, CaReason::Reordering)
        } else {
            (CaState::Open, CaReason::NothingMissing)
        };
        if to != self.ca_state {
            self.set_ca_state(flight, to, why);
            self.point = flight.nxt();
        }
    }

    /// Changes the state and records the change.
    #[inline]
    pub(super) fn set_ca_state(&mut self, flight: &mut Flight, to: CaState, why: CaReason) {
        flight.end_burst();
        let from = std::mem::replace(&mut self.ca_state, to);
        if from != to {
            flight.trace.emit(TcpEventMask::CONGESTION, || TcpEvent::CaState { from, to, why });
        }
    }
}
