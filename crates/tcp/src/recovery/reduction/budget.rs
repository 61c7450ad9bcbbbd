//! The window during a recovery in FreeBSD.
//!
//! With SACK, the window limits the bytes sent since the recovery began. The window starts with one segment, and each
//! duplicate ACK adds one segment, up to the slow-start threshold. A partial acknowledgement sets the window to the
//! unacknowledged bytes of this recovery plus one or two segments. Thus each round trip repairs one hole.
//!
//! Without SACK, RFC 6582 section 3.2 applies.
//!
//! Not modelled: retransmissions of a part of a segment.

use crate::profile::CwndReduction;
use crate::recovery::Recovery;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// The unacknowledged bytes that count against the window of a FreeBSD recovery.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Budget {
    /// Retransmitted bytes.
    pub again: u64,
    /// New bytes sent since the recovery began.
    pub new: u64,
}

/// Returns the maximum window after the recovery, in bytes: one segment more than the outstanding data.
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding + mss
}

/// True if the window limits the bytes sent in a recovery, as in FreeBSD with SACK.
fn has_budget(flight: &Flight) -> bool {
    flight.profile.cwnd_reduction == CwndReduction::PerDuplicate && flight.sack()
}

impl Budget {
    /// Sum of the retransmitted and the new bytes.
    pub fn in_flight(self) -> u64 {
        self.again + self.new
    }
}

impl Recovery {
    /// Returns the unacknowledged bytes that were sent in this FreeBSD recovery; `None` if no such recovery is under
    /// way.
    #[inline]
    pub(in crate::recovery) fn budget(&self, flight: &Flight) -> Option<Budget> {
        let counts = self.reduction.is_some() && has_budget(flight);
        (counts && self.ca_state == CaState::Recovery)
            .then(|| Budget { again: flight.scoreboard.retrans_bytes(), new: flight.nxt() - self.point })
    }

    /// Resets the byte counts, so that retransmissions from before the recovery do not count.
    pub(in crate::recovery) fn begin_budget(&self, flight: &mut Flight) {
        if self.reduction.is_some() && has_budget(flight) {
            flight.scoreboard.settle_retransmissions();
        }
    }

    /// Returns the first window of a FreeBSD recovery with the threshold `target`, in bytes.
    pub(super) fn first_window_per_duplicate(&self, flight: &Flight, target: u64) -> u64 {
        if flight.sack() {
            return flight.mss();
        }
        let remaining = flight.profile.dup_threshold.saturating_sub(self.limited_transmit.sent());
        target + u64::from(remaining) * flight.mss()
    }

    /// Updates the window for an ACK during a FreeBSD-style recovery.
    pub(in crate::recovery) fn update_window_per_duplicate(&mut self, flight: &Flight, outcome: &AckOutcome) {
        if !flight.sack() {
            self.inflate(flight, outcome);
        } else if let Some(budget) = self.budget(flight) {
            self.update_budget(flight, outcome, budget);
        }
    }

    /// Updates the window without SACK: adds one segment per duplicate ACK, and deflates the window after a partial
    /// acknowledgement.
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

    /// Updates the window with SACK, as described at the top of this file.
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
