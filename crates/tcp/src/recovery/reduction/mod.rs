//! The way down to a reduced window: at once (RFC 6675), by rate halving, or in proportion to what arrives (RFC 6937).
//!
//! Left out: that rate halving may pass below the threshold (Linux lets Reno's go down to half of it).

use super::CaState;
use crate::send::Sender;
use crate::{CwndReduction, Signal};
use lopsided_core::{Bytes, Time};

/// A reduction under way. The controller has set the target; until it ends this is the window.
#[derive(Debug)]
pub(crate) struct Reduction {
    pub cwnd: u64,
    target: u64,
    /// In flight when it began (RFC 6937's RecoverFS is the window then).
    prior_cwnd: u64,
    delivered: u64,
    /// ACKs that brought outcome, for rate halving.
    acks: u64,
    pub sent: u64,
}

impl Reduction {
    /// Stays at `cwnd` until it ends.
    pub fn held(cwnd: u64) -> Reduction {
        Reduction { cwnd, target: cwnd, prior_cwnd: cwnd, delivered: 0, acks: 0, sent: cwnd }
    }
}

impl Sender {
    pub(crate) fn begin_reduction(&mut self, now: Time, signal: Signal) {
        // The reduction answers for what a probe may still find out.
        self.tlp = None;
        self.cwr_due = true;
        self.tell_losses(now);
        let prior_cwnd = self.cwnd();
        let path = self.path();
        self.controller.on_congestion(now, signal, &path);
        if self.controller.owns_recovery() {
            return;
        }
        let target = self.controller.cwnd().get();
        let cwnd = if self.profile.cwnd_reduction == CwndReduction::Immediate { target } else { prior_cwnd };
        self.reduction = Some(Reduction { cwnd, target, prior_cwnd, delivered: 0, acks: 0, sent: 0 });
    }

    /// A step of the way down, for an ACK that delivered something. `safe`: it advanced and showed no further loss.
    pub(crate) fn update_cwnd_in_reduction(&mut self, delivered: u64, safe: bool) {
        if delivered == 0 {
            return;
        }
        match self.profile.cwnd_reduction {
            CwndReduction::Immediate => {}
            CwndReduction::RateHalving => self.halve_rate(),
            CwndReduction::Prr => self.reduce_in_proportion(delivered, safe),
        }
    }

    fn halve_rate(&mut self) {
        let in_flight = self.in_flight();
        let mss = u64::from(self.mss);
        let Some(reduction) = &mut self.reduction else { return };
        reduction.acks += 1;
        if reduction.acks % 2 == 0 && reduction.cwnd > reduction.target {
            reduction.cwnd -= mss.min(reduction.cwnd - reduction.target);
        }
        reduction.cwnd = reduction.cwnd.min(in_flight + mss);
    }

    /// Proportional rate reduction with the slow-start bound (RFC 6937 section 3.1), in whole segments.
    fn reduce_in_proportion(&mut self, delivered: u64, safe: bool) {
        let in_flight = self.in_flight();
        let mss = u64::from(self.mss);
        let Some(reduction) = &mut self.reduction else { return };
        reduction.delivered += delivered;
        let mut send = if in_flight > reduction.target {
            let share = u128::from(reduction.delivered) * u128::from(reduction.target);
            (share.div_ceil(u128::from(reduction.prior_cwnd)) as u64).saturating_sub(reduction.sent)
        } else {
            let owed = reduction.delivered.saturating_sub(reduction.sent).max(delivered);
            let bound = owed + if safe { mss } else { 0 };
            bound.min(reduction.target - in_flight)
        };
        if reduction.sent == 0 {
            // The first retransmission goes out whatever the arithmetic says.
            send = send.max(mss);
        }
        reduction.cwnd = in_flight + send.div_ceil(mss) * mss;
    }

    /// Data went out, new or again.
    pub(crate) fn count_sent_in_reduction(&mut self, len: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent += len;
        }
    }

    /// The first retransmission of a recovery goes out whatever the window says (RFC 5681 section 3.2 step 3, RFC 6675
    /// section 5 step 4.3).
    pub(crate) fn owes_fast_retransmit(&self) -> bool {
        self.ca_state == CaState::Recovery && self.reduction.as_ref().is_some_and(|reduction| reduction.sent == 0)
    }

    /// The window is the controller's again, which is at the target or beyond.
    pub(crate) fn end_reduction(&mut self, now: Time) {
        let Some(reduction) = self.reduction.take() else { return };
        let mss = u64::from(self.mss);
        match self.profile.cwnd_reduction {
            // Little may be left in flight: no burst up to the target (RFC 6582 section 3.2 step 3 option 1, and
            // 4.4BSD's descendants).
            CwndReduction::Immediate => self.controller.on_idle(now, Bytes::new(self.outstanding().max(mss) + mss)),
            CwndReduction::RateHalving => self.controller.on_idle(now, Bytes::new(reduction.cwnd.max(mss))),
            CwndReduction::Prr => {}
        }
        let path = self.path();
        self.controller.on_recovered(now, &path);
    }
}
