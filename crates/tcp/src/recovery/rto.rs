//! The retransmission timeout (RFC 6298) and the reordering timer (RFC 8985 section 6.3).

use super::Recovery;
use super::loss_detection::{mark_lost, spares_recent};
use super::undo::early_ack_window;
use super::undo_state::Interrupted;
use crate::cc::Signal;
use crate::profile::FastRecovery;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaReason, CaState, LossRule, Reduction as Reason, TcpEvent, TcpEventMask};
use lopsided_core::{Bytes, Time};

/// Number of consecutive timeouts after which a connection fails (R2 of RFC 9293 section 3.8.3; Linux's tcp_retries2).
pub(crate) const TIMEOUTS_MAX: u32 = 15;

/// Error: the peer answered none of [`TIMEOUTS_MAX`] consecutive retransmissions, or did not answer within the user
/// timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer;

impl Recovery {
    /// Handles the expiry of the retransmission timer. Returns an error if the connection must be ended.
    pub fn on_rto(&mut self, now: Time, flight: &mut Flight) -> Result<(), NoAnswer> {
        if flight.scoreboard.is_empty() {
            return Ok(());
        }
        self.timeouts_in_a_row += 1;
        // RFC 9293 section 3.8.3: the limit R2 has been exceeded.
        if self.timeouts_in_a_row > TIMEOUTS_MAX || flight.ran_out(now) {
            return Err(NoAnswer);
        }
        flight.begin_waiting(now);
        flight.counters.timeouts += 1;
        let repeated = self.timeouts_in_a_row > 1;
        let early_ack = flight.profile.undo.early_ack;
        // tcp_enter_loss: Linux reduces the window only once for the same outstanding data. 4.4BSD, its descendants and
        // ns-2 reduce it at every timeout.
        let fresh = self.ca_state <= CaState::Disorder
            || flight.profile.fast_recovery != FastRecovery::NewReno
            || flight.una() >= self.point
            || early_ack
            || (!repeated && self.ca_state == CaState::Loss);
        if fresh {
            self.undo.begin(flight.una(), flight.scoreboard.retrans_out());
        }
        let before = self.cwnd(flight);
        self.mark_lost_on_timeout(now, flight);
        if fresh {
            // tcp_enter_loss computes the threshold from the window in force, not from the target of the reduction.
            self.adopt_window_in_force(now, flight);
        }
        // The timeout ends the reduction that is under way. 4.4BSD's undo may restore this reduction.
        let reduction = self.reduction.take();
        self.cwr_due = true;
        self.notify_losses(now, flight);
        self.heed_peer_window(now, flight);
        let path = self.path(flight);
        // If all outstanding data was sent after the last reduction, this timeout counts as the first timeout of a
        // series.
        let consecutive = if fresh { 1 } else { self.timeouts_in_a_row.max(2) };
        flight.controller.on_congestion(now, Signal::Timeout { consecutive }, &path);
        // tcp_enter_loss: if the first timeout interrupts a recovery, F-RTO is not used.
        self.frto = flight.profile.undo.frto && (self.ca_state < CaState::Recovery || repeated);
        if early_ack {
            let early_until = (!repeated).then(|| now + early_ack_window(flight));
            let interrupted =
                (self.ca_state == CaState::Recovery).then_some(Interrupted { point: self.point, reduction });
            self.undo.on_timeout(early_until, interrupted);
        }
        // The retransmission replaces the probe.
        self.tlp = None;
        self.forget_duplicates(flight);
        self.limited_transmit.end();
        // 4.4BSD continues to send from SND.UNA.
        self.sent_to = flight.una();
        self.defer_retransmits = false;
        self.point = flight.nxt();
        self.repaired_to = Some(self.point);
        let (from, to) = (Bytes::new(before), Bytes::new(self.cwnd(flight)));
        let event = || TcpEvent::CwndReduced { signal: Reason::Timeout, from, to };
        flight.trace.emit(TcpEventMask::WINDOW, event);
        self.set_ca_state(flight, CaState::Loss, CaReason::Timeout);
        // RFC 6298 rules 5.5 and 5.6.
        flight.rtt.back_off();
        flight.arm_rto(now);
        Ok(())
    }

    /// Marks all outstanding data as lost. With RACK, data sent within the last RTT is not marked.
    fn mark_lost_on_timeout(&mut self, now: Time, flight: &mut Flight) {
        let spare = spares_recent(flight);
        let rack = &self.rack;
        mark_lost(flight, LossRule::Timeout, |flight| {
            let forget_sack = flight.profile.timeout_forgets_sack;
            flight.scoreboard.mark_all_lost(forget_sack, |sent_at| spare && rack.is_recent(now, sent_at));
        });
    }

    /// Handles the expiry of RACK's reordering timer.
    pub fn on_reorder_timeout(&mut self, now: Time, flight: &mut Flight) {
        let before = self.in_flight(flight);
        let armed = self.detect_by_rack(now, flight);
        // tcp_rack_reo_timeout: a segment or a retransmission was marked lost.
        if self.in_flight(flight) != before && self.ca_state != CaState::Recovery {
            self.enter_recovery(now, flight);
            // A timer and not an ACK has started this recovery, so compute the first window of the reduction here.
            self.update_cwnd_in_reduction(flight, flight.mss(), false);
        }
        if !armed {
            flight.arm_rto_since_first(now);
        }
    }
}
