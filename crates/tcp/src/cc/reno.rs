//! Reno: slow start, additive increase and multiplicative decrease (RFC 5681), with the rules by which different stacks
//! count ACKs.
//!
//! With alternative back-off (RFC 8511 section 3.1) an ECN mark reduces the window to 80 %, as in FreeBSD.
//!
//! The connection performs the recovery (NewReno, SACK, PRR), so `newreno` is the same algorithm.

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::ByteCounting;
use lopsided_core::Time;

/// Reno's growth and reduction.
#[derive(Debug)]
pub struct Reno {
    name: &'static str,
    abe: bool,
}

impl Reno {
    /// Creates Reno under the name `name`, as in a scenario.
    pub fn named(name: &'static str) -> Reno {
        Reno { name, abe: false }
    }

    /// Sets whether an ECN mark reduces the window by less than a loss (RFC 8511).
    #[must_use]
    pub fn with_abe(self, abe: bool) -> Reno {
        Reno { abe, ..self }
    }
}

impl WindowAlgorithm for Reno {
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn cong_avoid(&mut self, _now: Time, ack: &Acked, _path: &PathState, window: &mut Window) {
        match window.counting() {
            ByteCounting::Acks => grow_by_acks(window, window.in_slow_start()),
            ByteCounting::AcksExactly => match window.in_slow_start() {
                true => grow_by_acks(window, true),
                false => window.add_exactly(window.mss() * window.mss()),
            },
            ByteCounting::AcksThroughThreshold => {
                grow_by_acks(window, window.in_slow_start() || window.is_at_threshold());
            }
            _ => window.reno_cong_avoid(window.acked_bytes_for_growth(ack)),
        }
    }

    fn ssthresh(&mut self, _now: Time, signal: Signal, _path: &PathState, window: &Window) -> u64 {
        if self.abe && signal == Signal::EcnEcho { window.segments() * 4 / 5 } else { window.reno_ssthresh() }
    }
}

/// Adds one step per ACK, computed in bytes and rounded down, as in 4.4BSD (RFC 5681 equation 3).
fn grow_by_acks(window: &mut Window, slow_start: bool) {
    let (cwnd, mss) = (window.octets(), window.mss());
    let step = if slow_start { mss } else { (mss * mss / cwnd).max(1) };
    window.set_octets(cwnd + step);
}
