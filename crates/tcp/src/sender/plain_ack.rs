//! Fast path for an ACK of new data while no loss is known. The result is the same as with [`Sender::handle_ack`].

use super::Sender;
use crate::send::{AckInfo, AckOutcome, NewestDelivered};
use lopsided_core::Time;

impl Sender {
    /// Processes an ACK of new data without SACK blocks or marks. Returns false and changes nothing unless all of these
    /// are true:
    ///
    /// - The state is Open, no probe is outstanding and no duplicate ACK was counted.
    /// - No outstanding segment is SACKed, lost or retransmitted.
    /// - No segment that the ACK covers was ever retransmitted.
    /// - The ACK ends at the end of a segment.
    #[inline]
    pub fn take_plain_ack(&mut self, now: Time, info: &AckInfo<'_>) -> bool {
        let undisturbed = self.recovery.is_calm()
            && self.recovery.dupacks() == 0
            && self.flight.scoreboard.is_unmarked()
            && !self.flight.scoreboard.has_losses();
        if !undisturbed {
            return false;
        }
        // The following steps are the steps of `learn`, in the same order.
        let prior_in_flight = self.flight.window_taken();
        let Some(covered) = self.flight.scoreboard.pop_plain(info.ack) else { return false };
        self.last_received_at = Some(now);
        self.probes_out = 0;
        self.flight.end_waiting();
        let window_changed = self.update_window(info);
        self.recovery.begin_ack(&mut self.flight);
        self.recovery.on_delivered_in_order(now, &covered.newest);
        let newest_rtt = now - covered.newest.sent_at;
        self.rtt_stats.add(newest_rtt);
        let octets = info.ack - self.flight.una();
        let mut outcome = AckOutcome {
            una_advanced: true,
            window_changed,
            predicted: !window_changed,
            segments: covered.segments,
            delivered: octets + covered.padding,
            cumulative: octets,
            lost_before: self.flight.scoreboard.total_lost(),
            echo: info.echo,
            forward_ms: info.forward_ms,
            first_rtt: Some(now - covered.first_sent_at),
            newest_rtt: Some(newest_rtt),
            newest: Some(NewestDelivered { stamp: covered.stamp, sent_at: covered.newest.sent_at }),
            ..AckOutcome::default()
        };
        // An ACK of a single small segment may have been delayed by the receiver.
        if octets < self.flight.mss() && covered.newest.start() == self.flight.una() {
            self.note_delay(&mut outcome);
        }
        self.acknowledge(info.ack);
        self.sample_rtt(now, &mut outcome);
        self.flight.delivery.add(now, outcome.delivered);
        self.drive_controller(now, &outcome, prior_in_flight);
        self.recovery.on_progress();
        self.recovery.arm_after_ack(now, &mut self.flight);
        self.grow_send_buffer();
        true
    }
}
