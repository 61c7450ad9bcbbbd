//! RFC 6675: a hole is lost if enough segments above it are SACKed, or after enough duplicate ACKs.

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// Marks holes as lost. After enough duplicate ACKs, also marks the first segment as lost.
pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32) {
    let threshold = flight.profile.dup_threshold;
    mark_lost(flight, LossRule::Rfc6675, |flight| {
        flight.scoreboard.mark_lost_by_count(threshold);
        if ca_state <= CaState::Disorder && dupacks >= threshold && flight.scoreboard.sacked_segments() > 0 {
            flight.scoreboard.mark_first_lost();
        }
    });
}
