//! The tail loss probe (RFC 8985 section 7).

use super::Recovery;
use super::tail_probe::TailProbe;
use crate::cc::Signal;
use crate::send::{AckOutcome, Flight};
use crate::timers::TIMER_MARGIN;
use lopsided_core::tcp_event::{CaReason, CaState, TimerKind};
use lopsided_core::{Duration, Time};

impl Recovery {
    /// Handles the expiry of the probe timer: a probe becomes due, unless one is outstanding.
    pub fn on_probe_timeout(&mut self, now: Time, flight: &mut Flight) {
        if !flight.scoreboard.is_empty() && self.tlp.is_none() {
            self.tlp_due = true;
            flight.counters.tail_probes += 1;
            flight.arm_rto(now);
        } else {
            flight.arm_rto_since_first(now);
        }
    }

    /// Returns whether a probe is due, and clears the flag.
    #[inline]
    pub fn take_probe_due(&mut self) -> bool {
        std::mem::take(&mut self.tlp_due)
    }

    /// True if a probe is due.
    #[inline]
    pub fn is_probe_due(&self) -> bool {
        self.tlp_due
    }

    /// Records a sent probe and arms a full retransmission timeout for its answer.
    pub fn on_probe_sent(&mut self, now: Time, flight: &mut Flight, retransmitted: bool) {
        self.tlp = Some(TailProbe { end: flight.nxt(), retransmitted });
        flight.arm_rto(now);
    }

    /// Processes an ACK for an outstanding probe (section 7.4).
    #[inline]
    pub fn process_tlp_ack(&mut self, now: Time, flight: &mut Flight, ack: u64, outcome: &AckOutcome) {
        if let Some(probe) = self.tlp {
            self.settle_probe(now, flight, ack, outcome, probe);
        }
    }

    /// Clears the probe if this ACK answers it, and reduces the window if the probe repaired a loss.
    fn settle_probe(&mut self, now: Time, flight: &mut Flight, ack: u64, outcome: &AckOutcome, probe: TailProbe) {
        // RFC 8985 section 7.4: the ACK does not cover the probe yet.
        if ack < probe.end {
            return;
        }
        // The probe was new data, or a DSACK shows that the original arrived: it repaired no loss.
        if !probe.retransmitted || outcome.dsack {
            self.tlp = None;
        } else if ack > probe.end {
            // The probe repaired a loss, which counts as a congestion signal.
            self.tlp = None;
            if self.ca_state < CaState::Cwr {
                self.enter_cwr(now, flight, Signal::Loss, CaReason::ProbeRepaired);
                self.end_reduction(now, flight);
                self.set_ca_state(flight, CaState::Open, CaReason::Completed);
                self.try_keep_open(flight);
            }
        } else if !outcome.una_advanced && !outcome.sacked && outcome.duplicate {
            // A duplicate ACK: both the original and the probe arrived.
            self.tlp = None;
        }
    }

    /// Arms a timer after progress: the probe timer if a probe can help, otherwise the retransmission timer (RFC 6298
    /// rule 5.3).
    pub fn arm_after_ack(&mut self, now: Time, flight: &mut Flight) {
        if flight.scoreboard.is_empty() {
            flight.timers.stop_loss();
            return;
        }
        match self.probe_after(flight, flight.rtt.rto()) {
            Some(after) => flight.arm(now, TimerKind::TailProbe, after),
            None => flight.arm_rto(now),
        }
    }

    /// Arms a timer after new data was sent. `was_idle`: no data was outstanding before.
    pub fn arm_after_send(&mut self, now: Time, flight: &mut Flight, was_idle: bool) {
        let probe_after = |flight: &Flight| self.probe_after(flight, flight.rto_left(now));
        // Further segments of the same burst would set the same deadline.
        if flight.guards_burst(now) {
            debug_assert_eq!(probe_after(flight), Some(flight.armed_after()), "nothing has changed it");
            return;
        }
        if let Some(after) = probe_after(flight) {
            return flight.arm_for_burst(now, after);
        }
        // RFC 6298 rule 5.1: the first outstanding segment starts the timer.
        if was_idle {
            flight.arm_rto(now);
        } else if flight.timers.is_set(TimerKind::TailProbe) || !flight.timers.guards_loss() {
            flight.arm_rto_since_first(now);
        }
    }

    /// The probe timeout: two round trips, at most `rto` (section 7.2). `None` if no probe is useful.
    fn probe_after(&self, flight: &Flight, rto: Duration) -> Option<Duration> {
        let may_probe = flight.profile.tlp && flight.sack() && matches!(self.ca_state, CaState::Open | CaState::Cwr);
        if !may_probe || flight.scoreboard.is_empty() {
            return None;
        }
        let mut after = match flight.rtt.srtt() {
            Some(srtt) => {
                // The peer may delay the ACK of a single segment (Linux's tcp_schedule_loss_probe).
                let ack_delay = if flight.scoreboard.segments() == 1 { flight.rtt.rule().min() } else { TIMER_MARGIN };
                srtt * 2 + ack_delay
            }
            None => flight.rtt.rule().initial(),
        };
        // The probe must not be later than the RTO.
        if !rto.is_zero() {
            after = after.min(rto);
        }
        Some(after)
    }
}
