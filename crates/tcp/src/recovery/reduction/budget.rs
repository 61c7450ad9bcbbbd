//! FreeBSD's window in a recovery.
//!
//! With SACK the window counts the bytes sent since the recovery began, retransmitted or new. It begins with one
//! segment. A duplicate ACK adds a segment while fewer bytes than the threshold are in the network, and up to the
//! threshold. A partial acknowledgement sets the window to the unacknowledged bytes sent in this recovery plus one
//! segment, or plus two if it acknowledged two. So one hole at the front is repaired per round trip. The partial
//! acknowledgement is answered with a segment, which is empty if no data may be sent. Without SACK the window is the
//! threshold plus a segment for each duplicate that did not release one before, minus the bytes that a partial
//! acknowledgement covers (RFC 6582 section 3.2).
//!
//! Not modelled: partial retransmissions. If the peer's window allows only a part of a segment, a partial
//! acknowledgement is answered with an empty segment.

use crate::profile::CwndReduction;
use crate::recovery::Recovery;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// The unacknowledged bytes that a FreeBSD recovery's window counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Budget {
    /// Retransmitted bytes.
    pub again: u64,
    /// New bytes sent since the recovery began.
    pub new: u64,
}

/// The largest window after the recovery: one segment more than the outstanding data, even if there is none.
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding + mss
}

/// True if the window counts the bytes sent in a recovery: FreeBSD with SACK.
fn has_budget(flight: &Flight) -> bool {
    flight.profile.cwnd_reduction == CwndReduction::PerDuplicate && flight.sack()
}

impl Budget {
    /// Retransmitted and new bytes together.
    pub fn in_flight(self) -> u64 {
        self.again + self.new
    }
}

impl Recovery {
    /// The bytes sent in a FreeBSD recovery; `None` outside of one.
    #[inline]
    pub(in crate::recovery) fn budget(&self, flight: &Flight) -> Option<Budget> {
        let counts = self.reduction.is_some() && has_budget(flight);
        (counts && self.ca_state == CaState::Recovery)
            .then(|| Budget { again: flight.scoreboard.retrans_bytes(), new: flight.nxt() - self.point })
    }

    /// Restarts the count: retransmissions before the recovery do not count.
    pub(in crate::recovery) fn begin_budget(&self, flight: &mut Flight) {
        if self.reduction.is_some() && has_budget(flight) {
            flight.scoreboard.settle_retransmissions();
        }
    }

    /// The first window of a FreeBSD recovery with the threshold `target`, in bytes.
    pub(super) fn first_window_per_duplicate(&self, flight: &Flight, target: u64) -> u64 {
        if flight.sack() {
            return flight.mss();
        }
        let told = flight.profile.dup_threshold.saturating_sub(self.limited_transmit.sent());
        target + u64::from(told) * flight.mss()
    }

    /// Updates the window for an ACK in a FreeBSD recovery.
    pub(in crate::recovery) fn update_window_per_duplicate(&mut self, flight: &Flight, outcome: &AckOutcome) {
        if !flight.sack() {
            self.inflate(flight, outcome);
        } else if let Some(budget) = self.budget(flight) {
            self.update_budget(flight, outcome, budget);
        }
    }

    /// Without SACK: enlarges the window by a segment per duplicate, and deflates it after a partial acknowledgement.
    fn inflate(&mut self, flight: &Flight, outcome: &AckOutcome) {
        let Some(reduction) = &mut self.reduction else { return };
        if flight.profile.cwnd_reduction != CwndReduction::PerDuplicate {
            return;
        }
        if outcome.una_advanced {
            reduction.cwnd = reduction.cwnd.saturating_sub(outcome.cumulative) + flight.mss();
        } else if outcome.duplicate {
            reduction.cwnd += flight.mss();
        }
    }

    /// With SACK: sets the window after an ACK.
    fn update_budget(&mut self, flight: &Flight, outcome: &AckOutcome, budget: Budget) {
        let mss = flight.mss();
        let highest = flight.scoreboard.highest_sacked().unwrap_or(flight.una());
        let Some(reduction) = &mut self.reduction else { return };
        if outcome.una_advanced {
            self.answer_due = true;
            let segments = if outcome.cumulative >= 2 * mss { 2 } else { 1 };
            reduction.cwnd = (budget.in_flight() + segments * mss).min(reduction.target);
        } else if outcome.duplicate && flight.nxt() - highest + budget.again < reduction.target {
            reduction.cwnd = (reduction.cwnd + mss).min(reduction.target);
        }
    }
}
