//! Duplicate ACKs without SACK: each says that one segment has left the network, and nothing says which (RFC 6582, and
//! Linux, which takes more of them than there can be for reordering).

use super::Recovery;
use crate::profile::LossDetection;
use crate::send::Flight;
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

    /// An ACK without SACK covered so many segments: one filled the hole, the duplicates told of the others.
    pub fn on_covered(&mut self, flight: &Flight, segments: u32) {
        if self.dupacks > 0 {
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

    /// Duplicate ACKs that mean a loss.
    pub fn duplicate_threshold(&self, flight: &Flight) -> u32 {
        self.reordering.max(flight.profile.dup_threshold)
    }

    /// A timeout: what duplicates told is void, and where enough of them did not lead to a repair, so is the patience.
    pub(super) fn forget_duplicates(&mut self, flight: &Flight) {
        if self.ca_state <= CaState::Disorder && self.dupacks >= flight.profile.dup_threshold {
            self.reordering = 0;
        }
        self.dupacks = 0;
    }
}

/// Linux's stacks, which also stay in a recovery until something beyond its point is acknowledged.
pub(super) fn notices_reordering(flight: &Flight) -> bool {
    matches!(flight.profile.loss_detection, LossDetection::Rack | LossDetection::Fack)
}
