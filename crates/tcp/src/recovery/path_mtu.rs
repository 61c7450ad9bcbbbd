//! Recovery after the path MTU decreased. Segments that are too long for the path are lost. They are retransmitted in
//! pieces, at once and without a window reduction (RFC 1191 section 6.4).
//!
//! As in Linux, the number of segments in the window does not change, and the repair in the Loss state is never undone.
//! In FreeBSD, the number of bytes in the window does not change.

use super::Recovery;
use super::loss_detection::mark_lost;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaReason, CaState, LossRule};
use lopsided_core::{Bytes, Time};

impl Recovery {
    /// Changes the segment size. The window keeps its size in segments, so its size in bytes changes.
    pub fn on_segment_size(&mut self, now: Time, flight: &mut Flight, mss: u32) {
        let from = flight.mss();
        let scale = |octets: u64| octets / from * u64::from(mss);
        let cwnd = scale(self.cwnd(flight));
        let mut ssthresh = flight.controller.ssthresh().map(|ssthresh| scale(ssthresh.get()));
        // tcp_current_ssthresh: outside of recovery the threshold is at least 3/4 of the window.
        if self.ca_state <= CaState::Disorder {
            let segments = cwnd / u64::from(mss);
            ssthresh = ssthresh.map(|ssthresh| ssthresh.max((segments / 2 + segments / 4) * u64::from(mss)));
        }
        flight.set_mss(mss);
        self.reduction = None;
        let size = Bytes::new(u64::from(mss));
        flight.controller.on_segment_size(now, size, Bytes::new(cwnd), ssthresh.map(Bytes::new));
    }

    /// Marks outstanding segments longer than `full` bytes as lost and splits them.
    pub fn repair_too_long(&mut self, now: Time, flight: &mut Flight, full: u64) {
        mark_lost(flight, LossRule::TooLong, |flight| flight.scoreboard.mark_too_long_lost(full));
        flight.scoreboard.cut_to(full);
        if flight.scoreboard.lost_segments() == 0 {
            return;
        }
        self.notify_losses(now, flight);
        if self.ca_state != CaState::Loss {
            self.point = flight.nxt();
            self.repaired_to = Some(self.point);
            self.undo.forget();
            self.frto = false;
            self.set_ca_state(flight, CaState::Loss, CaReason::PathMtu);
        }
    }
}
