//! Measurements for delay-based algorithms: the minimum RTT of the path, and of each round trip.

use super::round::Round;
use super::{Acked, PathState};
use crate::CaState;
use lopsided_core::Duration;

/// RTT samples of a path, by round.
#[derive(Debug, Default)]
pub(super) struct RoundRtt {
    /// Minimum RTT since the start of the connection, which is the RTT without queueing delay; `None` before the first
    /// sample.
    pub base: Option<Duration>,
    /// Minimum RTT of the current round; `None` before its first sample.
    pub min: Option<Duration>,
    /// Number of RTT samples in the current round.
    pub samples: u32,
    round: Round,
    /// True if RTT samples are used: in the Open state, and after a restart (tcp_vegas_cwnd_event).
    pub open: bool,
    ca_state: Option<CaState>,
}

impl RoundRtt {
    /// Adds the RTT sample of an ACK.
    pub fn sample(&mut self, ack: &Acked) {
        if let Some(rtt) = ack.newest_rtt {
            // Add 1 us, so that the RTT is never zero: it is used as a divisor.
            let rtt = rtt + Duration::from_micros(1);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    /// Tracks the congestion state. Returns true if the state has changed to Open, which begins a round.
    pub fn follow(&mut self, ca_state: CaState, path: &PathState) -> bool {
        if self.ca_state.replace(ca_state) == Some(ca_state) {
            return false;
        }
        self.open = ca_state == CaState::Open;
        if self.open {
            self.begin(path);
        }
        self.open
    }

    /// True if the round has ended: data that was sent after the round began has been acknowledged.
    pub fn is_over(&self, path: &PathState) -> bool {
        self.round.is_passed(path)
    }

    /// Begins a round.
    pub fn begin(&mut self, path: &PathState) {
        self.round = Round::begin(path);
        self.samples = 0;
        self.min = None;
    }

    /// Discards all samples, because the path may have changed during an idle period.
    pub fn restart(&mut self, path: &PathState) {
        *self =
            RoundRtt { open: true, round: Round::begin(path), ca_state: Some(path.ca_state), ..RoundRtt::default() };
    }

    /// Returns the RTTs of this round; `None` without a sample.
    pub fn rtts(&self) -> Option<Rtts> {
        Some(Rtts { base: self.base?.as_nanos(), min: self.min?.as_nanos() })
    }
}

/// The RTTs of one round, in ns. The difference is the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rtts {
    /// The minimum RTT since the last idle period.
    pub base: u64,
    /// The minimum RTT of the round.
    pub min: u64,
}

/// Computes `window * part / whole` without overflow.
pub(super) fn share(window: u64, part: u64, whole: u64) -> u64 {
    (u128::from(window) * u128::from(part) / u128::from(whole.max(1))).min(u128::from(u64::MAX)) as u64
}
