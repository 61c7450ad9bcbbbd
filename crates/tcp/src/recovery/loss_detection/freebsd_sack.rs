//! FreeBSD's SACK recovery: after `dup_threshold` duplicate ACKs, all holes below the highest SACK count as lost. Data
//! sent after the recovery began is not retransmitted.

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// Marks segments as lost. `point` is the end of the current recovery.
pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32, point: u64) {
    let upto = match ca_state {
        CaState::Recovery => point,
        _ if dupacks >= flight.profile.dup_threshold => flight.nxt(),
        _ => return,
    };
    mark_lost(flight, LossRule::FreeBsdSack, |flight| flight.scoreboard.mark_lost_below_highest_sack(upto));
}
