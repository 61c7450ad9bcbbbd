//! FreeBSD's SACK recovery: after the duplicate threshold all holes below the highest SACK are lost. What SACK reports
//! does not begin a recovery, and nothing that was sent since it began is sent again in it.

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// `point`: where a recovery that has begun ends.
pub(super) fn detect(flight: &mut Flight, ca_state: CaState, dupacks: u32, point: u64) {
    let upto = match ca_state {
        CaState::Recovery => point,
        _ if dupacks >= flight.profile.dup_threshold => flight.nxt(),
        _ => return,
    };
    mark_lost(flight, LossRule::FreeBsdSack, |flight| flight.scoreboard.mark_lost_below_highest_sack(upto));
}
