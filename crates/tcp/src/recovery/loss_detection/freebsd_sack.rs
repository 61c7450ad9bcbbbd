//! FreeBSD's SACK recovery: after the duplicate threshold all holes below the highest SACK are lost.

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32) {
    let threshold = flight.profile.dup_threshold;
    let begun = ca_state >= CaState::Recovery;
    if begun || dupacks >= threshold || flight.scoreboard.sacked_segments() >= threshold {
        mark_lost(flight, LossRule::FreeBsdSack, |flight| flight.scoreboard.mark_lost_below_highest_sack());
    }
}
