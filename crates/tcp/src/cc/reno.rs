//! Reno: slow start and additive increase, multiplicative decrease (RFC 5681), with the ways of counting ACKs that stacks differ in.
//!
//! Recovery itself (NewReno, SACK, PRR) is the connection's.

use super::{Acked, Controller, PathState, Signal};
use crate::ByteCounting;
use lopsided_core::{Bytes, Time};

#[derive(Debug)]
pub struct Reno {
    cwnd: Bytes,
    ssthresh: Option<Bytes>,
    counting: ByteCounting,
    /// Octets acknowledged towards the next increase in congestion avoidance.
    credit: u64,
    /// The window and threshold before the last congestion signal, for undo.
    before: Option<(Bytes, Option<Bytes>)>,
}

impl Reno {
    pub fn new(initial_window: Bytes, counting: ByteCounting) -> Reno {
        Reno { cwnd: initial_window, ssthresh: None, counting, credit: 0, before: None }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// One MSS for each `cwnd` octets acknowledged: exact, whatever the receiver's ACK rate (RFC 3465 section 2.1).
    fn grow_by_bytes(&mut self, delivered: u64, mss: u64) {
        self.credit += delivered;
        while self.credit >= self.cwnd.get() {
            self.credit -= self.cwnd.get();
            self.cwnd += Bytes::new(mss);
        }
    }

    /// Slow start up to the threshold; what is left over counts towards congestion avoidance.
    fn grow_counting_bytes(&mut self, delivered: u64, mss: u64) {
        let mut left = delivered;
        if self.in_slow_start() {
            let room = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh.get() - self.cwnd.get());
            let step = left.min(room);
            self.cwnd += Bytes::new(step);
            left -= step;
            if left == 0 {
                return;
            }
        }
        self.grow_by_bytes(left, mss);
    }

    /// One step an ACK, however much it covers (RFC 5681 equation 3): what thinned ACKs slow down.
    fn grow_counting_acks(&mut self, mss: u64) {
        let step = if self.in_slow_start() { mss } else { (mss * mss / self.cwnd.get()).max(1) };
        self.cwnd += Bytes::new(step);
    }

    fn halve(&self, path: &PathState, floor: u64) -> Bytes {
        // Whole segments, as a stack that counts in segments has it and one that counts in octets rounds to.
        let mss = path.mss.get();
        Bytes::new((self.cwnd.get() / 2 / mss).max(floor) * mss)
    }
}

impl Controller for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn on_ack(&mut self, _now: Time, ack: &Acked, path: &PathState) {
        if ack.in_recovery || !ack.cwnd_limited || ack.cumulative == Bytes::ZERO {
            return;
        }
        let mss = path.mss.get();
        match self.counting {
            ByteCounting::Acks => self.grow_counting_acks(mss),
            ByteCounting::Delivered => self.grow_counting_bytes(ack.delivered.get(), mss),
            ByteCounting::Limited { segments } => {
                let limit = if self.in_slow_start() { u64::from(segments) * mss } else { u64::MAX };
                self.grow_counting_bytes(ack.delivered.get().min(limit), mss);
            }
        }
    }

    fn on_congestion(&mut self, _now: Time, signal: Signal, path: &PathState) {
        let first = !matches!(signal, Signal::Timeout { consecutive } if consecutive > 1);
        if first {
            self.before = Some((self.cwnd, self.ssthresh));
            self.ssthresh = Some(self.halve(path, 2));
        }
        self.credit = 0;
        self.cwnd = match signal {
            Signal::Timeout { .. } => path.in_flight + path.mss,
            Signal::Loss | Signal::EcnEcho => self.ssthresh.unwrap_or(self.cwnd),
        };
    }

    fn on_undo(&mut self, _now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = match (self.ssthresh, ssthresh) {
                (Some(now), Some(before)) => Some(now.max(before)),
                _ => None,
            };
        }
    }

    fn on_idle(&mut self, _now: Time, restart_window: Bytes) {
        self.cwnd = self.cwnd.min(restart_window);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh
    }
}
