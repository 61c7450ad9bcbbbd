//! Selects the profile's loss-detection rule, and implements the rule of RACK (RFC 8985 section 6.2 steps 4 and 5).

use super::mark::mark_lost;
use super::rack::Newest;
use super::{dupack, fack, freebsd_sack, rfc6675};
use crate::profile::LossDetection;
use crate::recovery::Recovery;
use crate::send::Flight;
use crate::timers::TIMER_MARGIN;
use lopsided_core::tcp_event::{CaState, LossRule, TimerKind};
use lopsided_core::{Duration, Time};

impl Recovery {
    /// Marks segments as lost by the profile's rule. Returns true if RACK's reordering timer was armed.
    pub(in crate::recovery) fn detect_loss(&mut self, now: Time, flight: &mut Flight) -> bool {
        if !flight.sack() {
            let threshold = self.duplicate_threshold(flight);
            // tcp_newreno_mark_lost: losses are also marked in the CWR state. A sender with ECN is usually in the CWR
            // state.
            let enough = self.dupacks >= threshold && self.ca_state < CaState::Recovery;
            if enough && !dupack::detect(flight, self.repaired_to) && flight.counts_duplicates() {
                self.dupacks = 0;
            }
            return false;
        }
        match flight.profile.loss_detection {
            LossDetection::Rack => return self.detect_by_rack(now, flight),
            LossDetection::Fack => fack::detect(flight, self.ca_state, self.point),
            LossDetection::FreeBsd => freebsd_sack::detect(flight, self.ca_state, self.dupacks, self.point),
            LossDetection::Rfc6675 => rfc6675::detect(flight, self.ca_state, self.dupacks),
        }
        false
    }

    /// Performs steps 4 and 5 of RACK. Returns true if the reordering timer was armed.
    pub(in crate::recovery) fn detect_by_rack(&mut self, now: Time, flight: &mut Flight) -> bool {
        let Some(Newest { sent_at, end }) = self.rack.newest() else { return false };
        let window = self.reordering_window(flight);
        let rack = &self.rack;
        let wait = mark_lost(flight, LossRule::Rack, |flight| {
            flight.scoreboard.mark_lost_by_time(sent_at, end, |sent_at| rack.time_left(now, sent_at, window))
        });
        let Some(wait) = wait else { return false };
        flight.arm(now, TimerKind::Reordering, (wait + TIMER_MARGIN).min(flight.rtt.rto()));
        true
    }

    /// Returns RACK's additional wait for reordered segments (RFC 8985 section 6.2 step 4).
    fn reordering_window(&self, flight: &Flight) -> Duration {
        if !self.rack.reordering_seen() {
            // While no reordering has been detected, the window is 0 in recovery and after three SACKed segments. The
            // three SACKed segments then have the same effect as three duplicate ACKs.
            let enough = flight.scoreboard.sacked_segments() >= flight.profile.dup_threshold;
            if self.ca_state >= CaState::Recovery || enough {
                return Duration::ZERO;
            }
        }
        let quarter = flight.rtt.min_rtt().unwrap_or(Duration::ZERO) / 4;
        (quarter * self.rack.window_quarters()).min(flight.rtt.srtt().unwrap_or(Duration::ZERO))
    }
}

/// True if a timeout does not mark segments that were sent within the last RTT, as with RACK (RFC 8985 section 6.3).
pub(in crate::recovery) fn spares_recent(flight: &Flight) -> bool {
    flight.sack() && flight.profile.loss_detection == LossDetection::Rack
}
