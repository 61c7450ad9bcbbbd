//! FACK: a hole is lost if enough segments follow it below the highest SACK (Mathis and Mahdavi, SIGCOMM 1996).

use super::mark::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, LossRule};

/// Marks segments as lost, up to the recovery point `point` during recovery.
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
