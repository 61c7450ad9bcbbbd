//! A `Controller`, which sets the window itself.

use lopsided_core::{Bytes, Duration, Time};
use lopsided_tcp::cc::{Acked, Controller, PathState, Setup, Signal};

/// Keeps the queue short. In each round trip, sets the window to the amount of data that the link carries in the
/// minimum RTT plus the time `standing`.
#[derive(Debug)]
pub struct Shallow {
    cwnd: u64,
    ssthresh: Option<u64>,
    /// Window in bytes before the last congestion signal, restored if the signal was spurious.
    before: u64,
    standing: Duration,
    /// The round trip ends when this byte is acknowledged.
    round_end: u64,
}

impl Shallow {
    pub fn new(setup: &Setup, standing: Duration) -> Shallow {
        let cwnd = setup.initial_window.get();
        Shallow { cwnd, ssthresh: None, before: cwnd, standing, round_end: 0 }
    }
}

impl Controller for Shallow {
    fn name(&self) -> &str {
        "shallow"
    }

    fn on_ack(&mut self, _now: Time, ack: &Acked, path: &PathState) {
        let (Some(srtt), Some(min_rtt)) = (path.srtt, path.min_rtt) else { return };
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        if self.ssthresh.is_none() {
            // Slow start ends when the queueing delay exceeds `standing`.
            self.cwnd += ack.delivered.get();
            if srtt > min_rtt + self.standing {
                self.ssthresh = Some(self.cwnd);
            }
        }
        if self.ssthresh.is_some() && path.una > self.round_end {
            self.round_end = path.nxt;
            let target = min_rtt + self.standing;
            let wanted = u128::from(self.cwnd) * u128::from(target.as_nanos()) / u128::from(srtt.as_nanos().max(1));
            // Move only half of the distance, because the smoothed RTT lags behind, and grow by at most one segment per
            // round trip.
            let next = (self.cwnd + wanted as u64) / 2;
            self.cwnd = next.clamp(2 * path.mss.get(), self.cwnd + path.mss.get());
        }
    }

    fn on_congestion(&mut self, _now: Time, signal: Signal, path: &PathState) {
        let first = !matches!(signal, Signal::Timeout { consecutive: 2.. });
        if first {
            self.before = self.cwnd;
            self.ssthresh = Some((self.cwnd / 2).max(2 * path.mss.get()));
        }
        self.cwnd = match signal {
            Signal::Timeout { .. } => path.in_flight.get() + path.mss.get(),
            Signal::Loss | Signal::EcnEcho => self.ssthresh.unwrap_or(self.cwnd),
        };
    }

    fn on_undo(&mut self, _now: Time) {
        self.cwnd = self.cwnd.max(self.before);
    }

    fn limit_window(&mut self, _now: Time, most: Bytes) {
        self.cwnd = self.cwnd.min(most.get());
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.ssthresh.map(Bytes::new)
    }
}
