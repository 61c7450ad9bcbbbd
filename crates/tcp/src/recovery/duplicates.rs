//! Measures the reordering degree of a path, in segments.
//!
//! With SACK, the degree is measured directly (Linux's tcp_check_sack_reordering). Without SACK, more duplicate ACKs
//! than outstanding segments indicate reordering (tcp_check_reno_reordering).

use super::Recovery;
use crate::profile::LossDetection;
use crate::send::{AckOutcome, Flight};
use lopsided_core::tcp_event::CaState;

/// Maximum reordering degree, in segments (Linux's tcp_max_reordering).
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

    /// Adjusts the count of duplicate ACKs after an ACK without SACK that covered `segments` segments (Linux's
    /// tcp_remove_reno_sacks). FreeBSD restarts its count.
    pub fn on_covered(&mut self, flight: &Flight, segments: u32) {
        if flight.counts_duplicates() {
            self.dupacks = 0;
        } else if self.dupacks > 0 {
            self.dupacks = self.dupacks.saturating_sub(segments - 1);
            self.bound_duplicates(flight, segments);
        }
    }

    /// Limits the count of duplicate ACKs to the number of outstanding segments (Linux's tcp_limit_reno_sacked).
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

    /// True if reordering may be measured. After a timeout, reordering is measured only while the timeout can still be
    /// undone.
    pub fn measures_reordering(&self) -> bool {
        self.ca_state != CaState::Loss || self.undo.can_undo()
    }

    /// Measures the reordering degree from a segment that was delivered out of order. Used only with SACK.
    #[inline]
    pub fn note_reordering(&mut self, flight: &Flight, outcome: &mut AckOutcome) {
        if let Some(from) = outcome.reordered_from.take() {
            self.extend_reordering(flight, from);
        }
    }

    /// Measures reordering after the original transmission has filled the hole at `from` (Linux's
    /// tcp_try_undo_partial).
    pub(super) fn note_late_original(&mut self, flight: &Flight, from: u64) {
        if notices_reordering(flight) {
            self.extend_reordering(flight, from);
        }
    }

    /// Raises the reordering degree to the distance from `from` to the highest SACKed byte.
    #[cold]
    fn extend_reordering(&mut self, flight: &Flight, from: u64) {
        let highest = flight.scoreboard.highest_sacked().unwrap_or(flight.una());
        if from < highest {
            // RFC 8985 section 6.2 step 3: after the first reordering, RACK uses its reordering window.
            self.rack.note_reordering();
            let extent = (highest - from).div_ceil(flight.mss()) as u32;
            if notices_reordering(flight) && extent > self.duplicate_threshold(flight) {
                self.reordering = extent.min(REORDERING_MAX);
            }
        }
    }

    /// True if the measured reordering degree exceeds the profile's threshold. A SACK then counts as progress (Linux's
    /// tcp_may_raise_cwnd).
    #[inline]
    pub fn expects_reordering(&self, flight: &Flight) -> bool {
        self.reordering > flight.profile.dup_threshold
    }

    /// Number of duplicate ACKs after which a segment counts as lost.
    pub fn duplicate_threshold(&self, flight: &Flight) -> u32 {
        self.reordering.max(flight.profile.dup_threshold)
    }

    /// Resets the count of duplicate ACKs after a timeout. Also resets the reordering degree if at least
    /// `dup_threshold` segments were SACKed before the timeout (Linux's tcp_enter_loss). Without SACK, Linux keeps the
    /// degree: tcp_timeout_mark_lost sets the count of duplicate ACKs to 0 before the check.
    pub(super) fn forget_duplicates(&mut self, flight: &Flight) {
        let sacked = if flight.sack() { flight.scoreboard.sacked_segments() } else { 0 };
        if self.ca_state <= CaState::Disorder && sacked >= flight.profile.dup_threshold {
            self.reordering = 0;
        }
        self.dupacks = 0;
    }
}

/// True if the stack measures reordering, as Linux does.
pub(super) fn notices_reordering(flight: &Flight) -> bool {
    matches!(flight.profile.loss_detection, LossDetection::Rack | LossDetection::Fack)
}
