//! Begins a window reduction, advances it with each ACK, and ends it.

use super::progress::Reduction;
use super::{budget, immediate, prr, rate_halving};
use crate::cc::Signal;
use crate::profile::{CwndReduction, FastRecovery};
use crate::recovery::Recovery;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaReason, CaState, Reduction as Reason, TcpEvent, TcpEventMask};
use lopsided_core::{Bytes, Time};

impl Recovery {
    /// Begins a reduction. The controller sets the target window; the profile's rule sets the window at the start of
    /// the reduction.
    pub(in crate::recovery) fn begin_reduction(
        &mut self,
        now: Time,
        flight: &mut Flight,
        signal: Signal,
        why: CaReason,
    ) {
        // Drop the outstanding probe: this reduction already covers any loss that the probe could detect.
        self.tlp = None;
        // RFC 3168 section 6.1.2: a reduction for any reason is announced by CWR.
        self.cwr_due = true;
        self.notify_losses(now, flight);
        let prior_cwnd = self.cwnd(flight);
        self.heed_peer_window(now, flight);
        let path = self.path(flight);
        flight.controller.on_congestion(now, signal, &path);
        let target = flight.controller.cwnd().get();
        flight.trace.emit(TcpEventMask::WINDOW, || TcpEvent::CwndReduced {
            signal: reason(signal, why),
            from: Bytes::new(prior_cwnd),
            to: Bytes::new(target),
        });
        // Some controllers, such as BBR, set the window during recovery themselves.
        if flight.controller.owns_recovery() {
            return;
        }
        let cwnd = match flight.profile.cwnd_reduction {
            CwndReduction::PerDuplicate if signal == Signal::Loss => self.first_window_per_duplicate(flight, target),
            CwndReduction::Immediate | CwndReduction::PerDuplicate => target,
            CwndReduction::RateHalving | CwndReduction::Prr => prior_cwnd,
        };
        let begun = Reduction { cwnd, target, prior_cwnd, delivered: 0, acks: 0, sent: 0, undone: false };
        self.reduction = Some(Box::new(begun));
        self.begin_budget(flight);
    }

    /// Reduces the congestion window to the peer's window before the threshold is computed, for stacks that halve the
    /// smaller of the two windows.
    pub(in crate::recovery) fn heed_peer_window(&self, now: Time, flight: &mut Flight) {
        if flight.profile.threshold_heeds_peer && !flight.controller.owns_recovery() {
            flight.controller.limit_window(now, Bytes::new(flight.peer_window()));
        }
    }

    /// Lowers the target if the controller has reduced its window in the meantime.
    pub fn follow_target(&mut self, flight: &Flight) {
        if let Some(reduction) = self.reduction.as_mut().filter(|reduction| !reduction.undone) {
            reduction.target = reduction.target.min(flight.controller.cwnd().get());
        }
    }

    /// Advances the reduction by one ACK that delivered data. `safe` is true if the ACK acknowledged new data and
    /// reported no further loss.
    pub fn update_cwnd_in_reduction(&mut self, flight: &Flight, delivered: u64, safe: bool) {
        if delivered == 0 {
            return;
        }
        let in_flight = self.in_flight(flight);
        let Some(reduction) = &mut self.reduction else { return };
        match flight.profile.cwnd_reduction {
            CwndReduction::Immediate | CwndReduction::PerDuplicate => {}
            CwndReduction::RateHalving => rate_halving::update(reduction, in_flight, flight.mss()),
            CwndReduction::Prr => prr::update(reduction, in_flight, flight.mss(), delivered, safe),
        }
    }

    /// Counts `len` bytes of sent data that end at the offset `end`, new or retransmitted.
    #[inline]
    pub fn on_sent(&mut self, len: u64, end: u64) {
        self.sent_to = end;
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += len;
        }
        self.limited_transmit.on_sent();
    }

    /// True until the recovery's first retransmission, which ignores the window (RFC 5681 section 3.2 step 3, RFC 6675
    /// section 5 step 4.3).
    pub fn fast_retransmit_is_due(&self) -> bool {
        self.ca_state == CaState::Recovery && self.reduction.as_ref().is_some_and(|reduction| reduction.sent == 0)
    }

    /// Ends the reduction. The controller's window is then in force.
    pub(in crate::recovery) fn end_reduction(&mut self, now: Time, flight: &mut Flight) {
        let Some(reduction) = self.reduction.take() else { return };
        // If the reduction was undone before it ended, keep the window that PRR has reached.
        if reduction.undone {
            flight.controller.limit_window(now, Bytes::new(reduction.cwnd));
            return;
        }
        let at_most = match flight.profile.cwnd_reduction {
            // RFC 5681 section 3.2 step 6: the window becomes the threshold, even if less data is outstanding.
            CwndReduction::Immediate if !flight.sack() && flight.profile.fast_recovery != FastRecovery::NewReno => None,
            CwndReduction::PerDuplicate => Some(budget::window_after(flight.outstanding(), flight.mss())),
            CwndReduction::Immediate => Some(immediate::window_after(flight.outstanding(), flight.mss())),
            CwndReduction::RateHalving => Some(rate_halving::window_after(&reduction, flight.mss())),
            CwndReduction::Prr => None,
        };
        if let Some(window) = at_most {
            flight.controller.limit_window(now, Bytes::new(window));
        }
        let path = self.path(flight);
        flight.controller.on_recovered(now, &path);
    }
}

/// Returns the reason for a reduction, as the trace reports it.
fn reason(signal: Signal, why: CaReason) -> Reason {
    match signal {
        Signal::EcnEcho => Reason::EcnEcho,
        Signal::Timeout { .. } => Reason::Timeout,
        Signal::Loss if why == CaReason::LocalCongestion => Reason::LocalCongestion,
        Signal::Loss => Reason::Loss,
    }
}
