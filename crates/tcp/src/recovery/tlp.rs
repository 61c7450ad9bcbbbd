//! The tail loss probe (RFC 8985 section 7).

use super::Recovery;
use super::tail_probe::TailProbe;
use crate::cc::Signal;
use crate::send::{AckOutcome, Flight};
use crate::timers::TIMER_MARGIN;
use lopsided_core::tcp_event::{CaReason, CaState, TimerKind};
use lopsided_core::{Duration, Time};

impl Recovery {
    /// Handles the expiry of the probe timer: a probe becomes due, unless a probe is already outstanding.
    pub fn on_probe_timeout(&mut self, now: Time, flight: &mut Flight) {
        if !flight.scoreboard.is_empty() && self.tlp.is_none() {
            self.tlp_due = true;
            flight.counters.tail_probes += 1;
            flight.arm_rto(now);
        } else {
            flight.arm_rto_since_first(now);
        }
    }

    /// Returns true if a probe is due, and clears the flag.
    #[inline]
    pub fn take_probe_due(&mut self) -> bool {
        std::mem::take(&mut self.tlp_due)
    }

    /// True if a probe is due.
    #[inline]
    pub fn is_probe_due(&self) -> bool {
        self.tlp_due
    }

    /// Records that a probe was sent, and arms the retransmission timer for a full RTO.
    pub fn on_probe_sent(&mut self, now: Time, flight: &mut Flight, retransmitted: bool) {
        self.tlp = Some(TailProbe { end: flight.nxt(), retransmitted });
        flight.arm_rto(now);
    }

    /// Processes an ACK while a probe may be outstanding (section 7.4).
    #[inline]
    pub fn process_tlp_ack(&mut self, now: Time, flight: &mut Flight, ack: u64, outcome: &AckOutcome) {
        if let Some(probe) = self.tlp {
            self.settle_probe(now, flight, ack, outcome, probe);
        }
    }

    /// Clears the probe if this ACK answers it. If the probe repaired a loss, the window is reduced.
    fn settle_probe(&mut self, now: Time, flight: &mut Flight, ack: u64, outcome: &AckOutcome, probe: TailProbe) {
        // RFC 8985 section 7.4: the ACK does not cover the probe yet.
        if ack < probe.end {
            return;
        }
        // The probe repaired no loss: it was new data, or a DSACK shows that the original had arrived.
        if !probe.retransmitted || outcome.dsack {
            self.tlp = None;
        } else if ack > probe.end {
            // The probe repaired a loss, which is a congestion signal.
            self.tlp = None;
            if self.ca_state < CaState::Cwr {
                self.enter_cwr(now, flight, Signal::Loss, CaReason::ProbeRepaired);
                self.end_reduction(now, flight);
                self.set_ca_state(flight, CaState::Open, CaReason::Completed);
                self.try_keep_open(flight);
            }
        } else if !outcome.una_advanced && !outcome.sacked && outcome.duplicate {
            // A duplicate ACK shows that both the original and the probe have arrived.
            self.tlp = None;
        }
    }

    /// Arms a timer after new data was acknowledged: the probe timer if a probe is useful, otherwise the retransmission
    /// timer (RFC 6298 rule 5.3).
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

    /// Arms a timer after new data was sent. `was_idle` is true if no data was outstanding before.
    pub fn arm_after_send(&mut self, now: Time, flight: &mut Flight, was_idle: bool) {
        let probe_after = |flight: &Flight| self.probe_after(flight, flight.rto_left(now));
        // The deadline was already set for an earlier segment of this burst.
        if flight.guards_burst(now) {
            debug_assert_eq!(probe_after(flight), Some(flight.armed_after()), "the deadline has not changed");
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

    /// Returns the probe timeout (section 7.2): two round trips, but at most `rto`. `None` if a probe would not be
    /// useful.
    fn probe_after(&self, flight: &Flight, rto: Duration) -> Option<Duration> {
        let may_probe = flight.profile.tlp && flight.sack() && matches!(self.ca_state, CaState::Open | CaState::Cwr);
        if !may_probe || flight.scoreboard.is_empty() {
            return None;
        }
        let mut after = match flight.rtt.srtt() {
            Some(srtt) => {
                // tcp_schedule_loss_probe: allow for a delayed ACK if only one segment is outstanding.
                let ack_delay = if flight.scoreboard.segments() == 1 { flight.rtt.rule().min() } else { TIMER_MARGIN };
                srtt * 2 + ack_delay
            }
            None => flight.rtt.rule().initial(),
        };
        // The probe timer must not expire after the RTO.
        if !rto.is_zero() {
            after = after.min(rto);
        }
        Some(after)
    }
}
