//! FACK: a hole counts as lost if the highest SACKed segment is at least `dup_threshold` segments beyond the hole
//! (Mathis and Mahdavi, SIGCOMM 1996).

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// Marks holes as lost. During a recovery, only holes below the recovery point `point` are marked.
pub(super) fn detect(flight: &mut Flight, ca_state: CaState, point: u64) {
    let (threshold, nxt) = (flight.profile.dup_threshold, flight.nxt());
    mark_lost(flight, LossRule::Fack, |flight| match ca_state {
        CaState::Loss => {}
        CaState::Recovery => {
            flight.scoreboard.mark_lost_retransmissions();
            flight.scoreboard.mark_lost_by_distance(threshold, 1, point);
        }
        CaState::Open | CaState::Disorder | CaState::Cwr => {
            flight.scoreboard.mark_lost_by_distance(threshold, 0, nxt);
        }
    });
}
