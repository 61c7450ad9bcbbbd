//! FreeBSD's window in a recovery.
//!
//! With SACK it counts what was sent since the recovery began, retransmitted or new, and begins with one segment. A
//! duplicate adds a segment while less than the threshold is in the network, up to the threshold. A partial
//! acknowledgement leaves one segment beyond what was sent and is unacknowledged, or two if it acknowledged two: holes
//! at the front are repaired one per round trip. It is answered with a segment, an empty one if no data may be sent.
//! Without SACK the window is the threshold plus a segment for each duplicate that released none before, minus what a
//! partial acknowledgement covers (RFC 6582 section 3.2).
//!
//! Not modelled: partial retransmissions. If the peer's window allows only a part of a segment, a partial
//! acknowledgement is answered with an empty segment.

use crate::profile::CwndReduction;
use crate::recovery::Recovery;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// The unacknowledged bytes that a recovery's window counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::recovery) struct Budget {
    /// Retransmitted bytes.
    pub again: u64,
    /// New bytes since the recovery began.
    pub new: u64,
}

/// The largest window after the recovery: one segment beyond the outstanding data, even if there is none.
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding + mss
}

fn has_budget(flight: &Flight) -> bool {
    flight.profile.cwnd_reduction == CwndReduction::PerDuplicate && flight.sack()
}

impl Budget {
    pub fn in_flight(self) -> u64 {
        self.again + self.new
    }
}

impl Recovery {
    /// The bytes sent in a recovery that counts this way; `None` outside.
    #[inline]
    pub(in crate::recovery) fn budget(&self, flight: &Flight) -> Option<Budget> {
        let counts = self.reduction.is_some() && has_budget(flight);
        (counts && self.ca_state == CaState::Recovery)
            .then(|| Budget { again: flight.scoreboard.retrans_bytes(), new: flight.nxt() - self.point })
    }

    /// Restarts the count: earlier retransmissions do not count.
    pub(in crate::recovery) fn begin_budget(&self, flight: &mut Flight) {
        if self.reduction.is_some() && has_budget(flight) {
            flight.scoreboard.settle_retransmissions();
        }
    }

    /// The first window of a recovery, with the threshold `target`.
    pub(super) fn first_window_per_duplicate(&self, flight: &Flight, target: u64) -> u64 {
        if flight.sack() {
            return flight.mss();
        }
        let told = flight.profile.dup_threshold.saturating_sub(self.limited_transmit.sent());
        target + u64::from(told) * flight.mss()
    }

    /// Updates the window for an ACK in such a recovery.
    pub(in crate::recovery) fn update_window_per_duplicate(&mut self, flight: &Flight, outcome: &AckOutcome) {
        if !flight.sack() {
            self.inflate(flight, outcome);
        } else if let Some(budget) = self.budget(flight) {
            self.update_budget(flight, outcome, budget);
        }
    }

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
