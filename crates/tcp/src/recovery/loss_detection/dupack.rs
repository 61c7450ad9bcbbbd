//! Loss detection without SACK: the threshold of duplicate ACKs (RFC 5681 section 3.2).

use super::mark::mark_lost;
use crate::profile::FastRecovery;
use crate::send::Flight;
use lopsided_core::tcp_event::LossRule;

/// Marks the first segment as lost and returns true. Returns false if the duplicate ACKs must be ignored, because no
/// data beyond `repaired_to` is acknowledged (RFC 6582 section 4.1).
pub(super) fn detect(flight: &mut Flight, repaired_to: Option<u64>) -> bool {
    let careful = flight.profile.fast_recovery == FastRecovery::CarefulReno || flight.counts_duplicates();
    let is_lost = !(careful && repaired_to.is_some_and(|to| flight.una() <= to));
    if is_lost {
        mark_lost(flight, LossRule::DuplicateAcks, |flight| flight.scoreboard.mark_first_lost());
    }
    is_lost
}
