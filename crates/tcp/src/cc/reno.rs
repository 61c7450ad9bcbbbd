//! Reno: slow start and additive increase, multiplicative decrease (RFC 5681), with the ways of counting ACKs that
//! stacks differ in.
//!
//! With alternative back-off (RFC 8511 section 3.1) an ECN mark leaves 0.8 of the window, as in FreeBSD: a queue that
//! marks is short, and half a window would leave the line idle.
//!
//! Recovery itself (NewReno, SACK, PRR) is the connection's, so `newreno` is the same algorithm.

use super::{Acked, PathState, Signal, Window, WindowAlgorithm};
use crate::ByteCounting;
use lopsided_core::Time;

#[derive(Debug)]
pub struct Reno {
    name: &'static str,
    abe: bool,
}

impl Reno {
    pub fn named(name: &'static str) -> Reno {
        Reno { name, abe: false }
    }

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

/// One step an ACK, however much it covers (RFC 5681 equation 3), in octets as 4.4BSD has it, rounded down: what
/// thinned ACKs slow down.
fn grow_by_acks(window: &mut Window, slow_start: bool) {
    let (cwnd, mss) = (window.octets(), window.mss());
    let step = if slow_start { mss } else { (mss * mss / cwnd).max(1) };
    window.set_octets(cwnd + step);
}
