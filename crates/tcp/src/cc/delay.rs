//! Measurements of delay-based algorithms: the minimum RTT of the path and of each round trip.

use super::round::Round;
use super::{Acked, PathState};
use crate::CaState;
use lopsided_core::Duration;

/// RTTs of a path, by round.
#[derive(Debug, Default)]
pub(super) struct RoundRtt {
    /// The smallest RTT since the beginning: that of the path without a queue.
    pub base: Option<Duration>,
    /// Minimum RTT of this round.
    pub min: Option<Duration>,
    /// Number of RTT samples in this round.
    pub samples: u32,
    round: Round,
    /// True if RTT samples are used. The Open state enables them and begins a round; any other state disables them. A
    /// restart enables them in any state: Linux's Vegas stays active in the recovery after a timeout, because that
    /// begins with an empty network (tcp_vegas_cwnd_event).
    pub open: bool,
    ca_state: Option<CaState>,
}

/// Adds the RTT sample of an ACK.
impl RoundRtt {
    pub fn sample(&mut self, ack: &Acked) {
        if let Some(rtt) = ack.newest_rtt {
            // Never zero, because the RTT is a divisor.
            let rtt = rtt + Duration::from_micros(1);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    /// Follows the congestion state. Returns true if the state became Open, which begins a round.
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

    /// True if the round has ended: the data sent since its beginning is acknowledged.
    pub fn is_over(&self, path: &PathState) -> bool {
        self.round.is_passed(path)
    }

    /// Begins a round.
    pub fn begin(&mut self, path: &PathState) {
        self.round = Round::begin(path);
        self.samples = 0;
        self.min = None;
    }

    /// Discards all samples, because the path may have changed during an idle time.
    pub fn restart(&mut self, path: &PathState) {
        *self =
            RoundRtt { open: true, round: Round::begin(path), ca_state: Some(path.ca_state), ..RoundRtt::default() };
    }

    /// The base RTT and this round's minimum RTT, in nanoseconds.
    pub fn pair(&self) -> Option<(u64, u64)> {
        Some((self.base?.as_nanos(), self.min?.as_nanos()))
    }
}

/// Computes `window * part / whole` without overflow.
pub(super) fn share(window: u64, part: u64, whole: u64) -> u64 {
    (u128::from(window) * u128::from(part) / u128::from(whole.max(1))).min(u128::from(u64::MAX)) as u64
}
