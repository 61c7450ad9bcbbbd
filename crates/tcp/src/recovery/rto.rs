//! The loss timer: retransmission timeout (RFC 6298), tail loss probe (RFC 8985 section 7), zero-window probe (RFC 9293
//! section 3.8.6.1).

use super::CaState;
use crate::Signal;
use crate::send::{AckOutcome, Sender};
use crate::timers::{Deadline, LossTimer, TIMER_MARGIN};
use lopsided_core::{Duration, Time};

/// Timeouts in a row after which a connection is given up (RFC 9293 section 3.8.3 R2; Linux's tcp_retries2).
pub(crate) const TIMEOUTS_MAX: u32 = 15;

impl Sender {
    /// The loss timer expired. False if the connection should be given up.
    pub(crate) fn on_loss_timer(&mut self, now: Time) -> bool {
        let kind = self.deadline.kind;
        self.deadline = Deadline::UNSET;
        match kind {
            LossTimer::Rto => return self.on_rto(now),
            LossTimer::Probe => self.on_probe_timeout(now),
            LossTimer::Reorder => self.on_reorder_timeout(now),
            LossTimer::Persist => {
                self.window_probe_due = true;
                self.rtt.back_off();
            }
        }
        true
    }

    fn on_rto(&mut self, now: Time) -> bool {
        if self.scoreboard.is_empty() {
            return true;
        }
        self.consecutive_timeouts += 1;
        if self.consecutive_timeouts > TIMEOUTS_MAX {
            return false;
        }
        self.counters.timeouts += 1;
        let repeated = self.consecutive_timeouts > 1;
        // A window that came down for this flight already does not come down again; 4.4BSD's does, once.
        let fresh = self.ca_state <= CaState::Disorder
            || self.una >= self.recovery_point
            || (!repeated && (self.ca_state == CaState::Loss || self.profile.undo.early_ack));
        if fresh {
            self.undo.begin(self.una, self.scoreboard.retrans_out());
        }
        self.mark_lost_on_timeout(now);
        self.reduction = None;
        self.cwr_due = true;
        self.tell_losses(now);
        let path = self.path();
        let consecutive = if fresh { 1 } else { self.consecutive_timeouts.max(2) };
        self.controller.on_congestion(now, Signal::Timeout { consecutive }, &path);
        self.frto = self.profile.undo.frto && (self.ca_state < CaState::Recovery || repeated);
        if self.profile.undo.early_ack {
            self.undo.early_until = (!repeated).then(|| now + self.early_ack_window());
            self.undo.interrupted_recovery = (self.ca_state == CaState::Recovery).then_some(self.recovery_point);
        }
        self.tlp = None;
        self.duplicates = 0;
        self.defer_retransmits = false;
        self.recovery_point = self.nxt;
        self.set_ca_state(CaState::Loss);
        self.rtt.back_off();
        self.arm(now, LossTimer::Rto, self.rtt.rto());
        true
    }

    /// With RACK, what was sent within the last RTT is not presumed lost (RFC 8985 section 6.3).
    fn mark_lost_on_timeout(&mut self, now: Time) {
        let spare_recent = self.sack && self.profile.loss_detection == crate::LossDetection::Rack;
        let Sender { scoreboard, rack, .. } = self;
        scoreboard.mark_all_lost(self.profile.timeout_forgets_sack, |sent_at| {
            spare_recent && rack.time_left(now, sent_at, Duration::ZERO).is_some()
        });
    }

    fn on_probe_timeout(&mut self, now: Time) {
        if !self.scoreboard.is_empty() && self.tlp.is_none() {
            self.tlp_due = true;
            self.counters.tail_probes += 1;
            self.arm(now, LossTimer::Rto, self.rtt.rto());
        } else {
            self.arm_rto_since_first(now);
        }
    }

    fn on_reorder_timeout(&mut self, now: Time) {
        let lost_before = self.scoreboard.lost_segments();
        let armed = self.detect_loss_by_time(now);
        if self.scoreboard.lost_segments() > lost_before && self.ca_state != CaState::Recovery {
            self.enter_recovery(now);
            // No ACK will set the window that this recovery begins with.
            self.update_cwnd_in_reduction(u64::from(self.mss), false);
        }
        if !armed {
            self.arm_rto_since_first(now);
        }
    }

    /// What an ACK says of an outstanding probe (RFC 8985 section 7.4).
    pub(crate) fn process_tlp_ack(&mut self, now: Time, ack: u64, outcome: &AckOutcome) {
        let Some((end, retransmitted)) = self.tlp else { return };
        if ack < end {
            return;
        }
        if !retransmitted || outcome.dsack {
            self.tlp = None;
        } else if ack > end {
            // The probe repaired a loss: answer it as a congestion signal.
            self.tlp = None;
            if self.ca_state < CaState::Cwr {
                self.enter_cwr(now, Signal::Loss);
                self.end_reduction(now);
                self.set_ca_state(CaState::Open);
                self.try_keep_open();
            }
        } else if !outcome.una_advanced && !outcome.sacked && outcome.duplicate {
            // Both the original and the probe arrived.
            self.tlp = None;
        }
    }

    /// After progress: a probe where that may help, else the retransmission timer, from now (RFC 6298 rule 5.3).
    pub(crate) fn arm_after_ack(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.deadline = Deadline::UNSET;
            return;
        }
        if !self.arm_probe(now, self.rtt.rto()) {
            self.arm(now, LossTimer::Rto, self.rtt.rto());
        }
    }

    /// After sending new data.
    pub(crate) fn arm_after_send(&mut self, now: Time, was_idle: bool) {
        if was_idle || self.deadline.is(LossTimer::Probe) || !self.deadline.is_set() {
            self.arm_rto_since_first_or_now(now, was_idle);
        }
        let left = self.rto_left(now);
        self.arm_probe(now, left);
    }

    /// Sets the probe timer to two round trips, but not beyond the timeout that is due after `rto`. False if no probe
    /// is called for.
    fn arm_probe(&mut self, now: Time, rto: Duration) -> bool {
        if !self.profile.tlp
            || !self.sack
            || !matches!(self.ca_state, CaState::Open | CaState::Cwr)
            || self.scoreboard.is_empty()
        {
            return false;
        }
        let mut after = match self.rtt.srtt() {
            Some(srtt) => {
                // A single segment may wait for the peer's delayed ACK.
                let ack_delay = if self.scoreboard.segments() == 1 { self.rtt.rule().min() } else { TIMER_MARGIN };
                srtt * 2 + ack_delay
            }
            None => self.rtt.rule().initial(),
        };
        if !rto.is_zero() {
            after = after.min(rto);
        }
        self.arm(now, LossTimer::Probe, after);
        true
    }

    /// The retransmission timer counted from when the oldest segment was sent.
    pub(crate) fn arm_rto_since_first(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.deadline = Deadline::UNSET;
            return;
        }
        let left = self.rto_left(now).max(Duration::from_nanos(1));
        self.arm(now, LossTimer::Rto, left);
    }

    fn arm_rto_since_first_or_now(&mut self, now: Time, was_idle: bool) {
        if was_idle {
            self.arm(now, LossTimer::Rto, self.rtt.rto());
        } else {
            self.arm_rto_since_first(now);
        }
    }

    fn rto_left(&self, now: Time) -> Duration {
        let Some(first) = self.scoreboard.first() else { return self.rtt.rto() };
        (first.sent_at + self.rtt.rto()).saturating_since(now)
    }

    pub(crate) fn arm(&mut self, now: Time, kind: LossTimer, after: Duration) {
        self.deadline = Deadline { at: self.profile.grain.deadline(now, after), kind };
    }

    /// The peer closed its window and nothing is out to reopen it: probe (RFC 9293 section 3.8.6.1).
    pub(crate) fn arm_persist(&mut self, now: Time) {
        if !self.deadline.is_set() {
            self.arm(now, LossTimer::Persist, self.rtt.rto());
        }
    }
}
