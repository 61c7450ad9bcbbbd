//! The path takes smaller segments than were sent: what was too long is known to be lost, and goes out again in pieces
//! (RFC 1191 section 6.4: at once, and without a lower window).
//!
//! As Linux does it: the window keeps its number of segments, the repair is one of the loss state, and nothing of it is
//! ever taken back. Other stacks' profiles do the same; FreeBSD keeps the window in octets.

use super::Recovery;
use super::loss_detection::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaReason, CaState, LossRule};
use lopsided_core::{Bytes, Time};

impl Recovery {
    /// The octets of a full segment change; the window keeps its segments.
    pub fn on_segment_size(&mut self, now: Time, flight: &mut Flight, mss: u32) {
        let from = flight.mss();
        let scale = |octets: u64| octets / from * u64::from(mss);
        let cwnd = scale(self.cwnd(flight));
        let mut ssthresh = flight.controller.ssthresh().map(|ssthresh| scale(ssthresh.get()));
        if self.ca_state <= CaState::Disorder {
            let segments = cwnd / u64::from(mss);
            ssthresh = ssthresh.map(|ssthresh| ssthresh.max((segments / 2 + segments / 4) * u64::from(mss)));
        }
        flight.set_mss(mss);
        self.reduction = None;
        let size = Bytes::new(u64::from(mss));
        flight.controller.on_segment_size(now, size, Bytes::new(cwnd), ssthresh.map(Bytes::new));
    }

    /// What is out and longer than `full` octets did not pass.
    pub fn repair_too_long(&mut self, now: Time, flight: &mut Flight, full: u64) {
        mark_lost(flight, LossRule::TooLong, |flight| flight.scoreboard.mark_too_long_lost(full));
        flight.scoreboard.cut_to(full);
        if flight.scoreboard.lost_segments() == 0 {
            return;
        }
        self.tell_losses(now, flight);
        if self.ca_state != CaState::Loss {
            self.point = flight.nxt();
            self.repaired_to = Some(self.point);
            self.undo.forget();
            self.frto = false;
            self.set_ca_state(flight, CaState::Loss, CaReason::PathMtu);
        }
    }
}
