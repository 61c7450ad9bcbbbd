//! How many segments a path brings out of order. With SACK that is seen (Linux's tcp_check_sack_reordering). Without it
//! duplicate ACKs are counted: each says that one segment has left the network, and nothing says which (RFC 6582, and
//! Linux, which takes more of them than there can be for reordering).

use super::Recovery;
use crate::profile::LossDetection;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// No more duplicates are waited for (Linux's tcp_max_reordering).
const REORDERING_MAX: u32 = 300;

impl Recovery {
    /// A duplicate ACK.
    pub(super) fn count_duplicate(&mut self, flight: &Flight) {
        self.dupacks += 1;
        if flight.counts_duplicates() && flight.profile.limited_transmit {
            self.limited_transmit.on_duplicate(self.dupacks);
        }
        if !flight.sack() {
            self.bound_duplicates(flight, 0);
        }
    }

    /// An ACK without SACK covered so many segments: one filled the hole, the duplicates told of the others. FreeBSD
    /// counts anew.
    pub fn on_covered(&mut self, flight: &Flight, segments: u32) {
        if flight.counts_duplicates() {
            self.dupacks = 0;
        } else if self.dupacks > 0 {
            self.dupacks = self.dupacks.saturating_sub(segments - 1);
            self.bound_duplicates(flight, segments);
        }
    }

    /// There cannot be more duplicates than segments out beside the holes: those beyond are of reordering, and from now
    /// on as many as were out are waited for.
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

    /// After a timeout what arrives in another order is believed only while the timeout can be undone.
    pub fn believes_order(&self) -> bool {
        self.ca_state != CaState::Loss || self.undo.can_undo()
    }

    /// With SACK: what came behind others tells how far a segment may fall back.
    #[inline]
    pub fn note_reordering(&mut self, flight: &Flight, outcome: &mut AckOutcome) {
        if let Some(from) = outcome.reordered_from.take() {
            self.extend_reordering(flight, from);
        }
    }

    /// An original that went again filled the hole at `from` (Linux's tcp_try_undo_partial).
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

    /// The path is known to reorder more than is usual: what SACK reports counts as progress (Linux's
    /// tcp_may_raise_cwnd).
    #[inline]
    pub fn expects_reordering(&self, flight: &Flight) -> bool {
        self.reordering > flight.profile.dup_threshold
    }

    /// Duplicate ACKs that mean a loss.
    pub fn duplicate_threshold(&self, flight: &Flight) -> u32 {
        self.reordering.max(flight.profile.dup_threshold)
    }

    /// A timeout: what duplicates told is void, and where enough of them did not lead to a repair, so is the patience.
    pub(super) fn forget_duplicates(&mut self, flight: &Flight) {
        let told = if flight.sack() { flight.scoreboard.sacked_segments() } else { self.dupacks };
        if self.ca_state <= CaState::Disorder && told >= flight.profile.dup_threshold {
            self.reordering = 0;
        }
        self.dupacks = 0;
    }
}

/// Linux's stacks, which also stay in a recovery until something beyond its point is acknowledged.
pub(super) fn notices_reordering(flight: &Flight) -> bool {
    matches!(flight.profile.loss_detection, LossDetection::Rack | LossDetection::Fack)
}
