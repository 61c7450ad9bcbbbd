//! How far a path reorders, in segments. SACK shows it (Linux's tcp_check_sack_reordering). Without SACK duplicate ACKs
//! are counted: each reports that one segment has left the network, but not which (RFC 6582; Linux attributes more
//! duplicates than there can be to reordering).

use super::Recovery;
use crate::profile::LossDetection;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// The largest reordering degree (Linux's tcp_max_reordering).
const REORDERING_MAX: u32 = 300;

impl Recovery {
    /// Counts a duplicate ACK.
    pub(super) fn count_duplicate(&mut self, flight: &Flight) {
        self.dupacks += 1;
        if flight.counts_duplicates() && flight.profile.limited_transmit {
            self.limited_transmit.on_duplicate(self.dupacks);
        }
        if !flight.sack() {
            self.bound_duplicates(flight, 0);
        }
    }

    /// Adjusts the duplicates after an ACK without SACK that covered `segments`: one filled the hole, the duplicates
    /// had reported the others. FreeBSD restarts its count.
    pub fn on_covered(&mut self, flight: &Flight, segments: u32) {
        if flight.counts_duplicates() {
            self.dupacks = 0;
        } else if self.dupacks > 0 {
            self.dupacks = self.dupacks.saturating_sub(segments - 1);
            self.bound_duplicates(flight, segments);
        }
    }

    /// There cannot be more duplicates than outstanding segments besides the holes. More duplicates mean reordering:
    /// from now on the threshold is the number of outstanding segments.
    fn bound_duplicates(&mut self, flight: &Flight, covered: u32) {
        if !notices_reordering(flight) {
            return;
        }
        let out = flight.scoreboard.segments();
        let most = out - flight.scoreboard.lost_segments().max(1).min(out);
        if self.dupacks > most {
            self.dupacks = most;
            self.reordering = (out + covered).min(REORDERING_MAX);
        }
    }

    /// After a timeout, reordering is trusted only while the timeout can be undone.
    pub fn believes_order(&self) -> bool {
        self.ca_state != CaState::Loss || self.undo.can_undo()
    }

    /// With SACK: learns the reordering degree from a segment delivered out of order.
    #[inline]
    pub fn note_reordering(&mut self, flight: &Flight, outcome: &mut AckOutcome) {
        if let Some(from) = outcome.reordered_from.take() {
            self.extend_reordering(flight, from);
        }
    }

    /// An original that was retransmitted filled the hole at `from` (Linux's tcp_try_undo_partial).
    pub(super) fn note_late_original(&mut self, flight: &Flight, from: u64) {
        if notices_reordering(flight) {
            self.extend_reordering(flight, from);
        }
    }

    #[cold]
    fn extend_reordering(&mut self, flight: &Flight, from: u64) {
        let highest = flight.scoreboard.highest_sacked().unwrap_or(flight.una());
        if from < highest {
            self.rack.note_reordering();
            let extent = (highest - from).div_ceil(flight.mss()) as u32;
            if notices_reordering(flight) && extent > self.duplicate_threshold(flight) {
                self.reordering = extent.min(REORDERING_MAX);
            }
        }
    }

    /// True if the path reorders more than usual: SACK then counts as progress (Linux's tcp_may_raise_cwnd).
    #[inline]
    pub fn expects_reordering(&self, flight: &Flight) -> bool {
        self.reordering > flight.profile.dup_threshold
    }

    /// Number of duplicate ACKs that mean a loss.
    pub fn duplicate_threshold(&self, flight: &Flight) -> u32 {
        self.reordering.max(flight.profile.dup_threshold)
    }

    /// After a timeout the count of duplicates is void. If enough of them led to no recovery, so is the raised
    /// threshold.
    pub(super) fn forget_duplicates(&mut self, flight: &Flight) {
        let told = if flight.sack() { flight.scoreboard.sacked_segments() } else { self.dupacks };
        if self.ca_state <= CaState::Disorder && told >= flight.profile.dup_threshold {
            self.reordering = 0;
        }
        self.dupacks = 0;
    }
}

/// True for Linux's stacks, which also stay in a recovery until data beyond its point is acknowledged.
pub(super) fn notices_reordering(flight: &Flight) -> bool {
    matches!(flight.profile.loss_detection, LossDetection::Rack | LossDetection::Fack)
}
