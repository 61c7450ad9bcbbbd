//! The duplicate-ACK threshold (RFC 5681 section 3.2), for a peer without SACK.

use super::mark::mark_lost;
use crate::profile::FastRecovery;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// `repaired_to`: what had been sent when the last fast retransmit or timeout came.
pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32, threshold: u32, repaired_to: Option<u64>) {
    let careful = flight.profile.fast_recovery == FastRecovery::CarefulReno;
    let barred = careful && repaired_to.is_some_and(|to| flight.una() <= to);
    if dupacks >= threshold && ca_state <= CaState::Disorder && !barred {
        mark_lost(flight, LossRule::DuplicateAcks, |flight| flight.scoreboard.mark_first_lost());
    }
}
