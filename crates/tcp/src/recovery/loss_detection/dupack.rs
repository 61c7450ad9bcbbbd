//! The duplicate-ACK threshold (RFC 5681 section 3.2), for a peer without SACK.

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32) {
    if dupacks >= flight.profile.dup_threshold && ca_state <= CaState::Disorder {
        mark_lost(flight, LossRule::DuplicateAcks, |flight| flight.scoreboard.mark_first_lost());
    }
}
