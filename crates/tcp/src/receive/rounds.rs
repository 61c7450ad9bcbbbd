//! Measures the round trips of a receiver, and the number of bytes read in each round trip (dynamic right-sizing, Fisk
//! and Feng 2001).

use lopsided_core::{Duration, Time};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Start of the current round trip.
    began: Time,
    /// Value of `read` at the start of the current round trip.
    read_before: u64,
    /// Bytes read since the start of the connection.
    read: u64,
    /// Earliest end of the current round trip; `None` while the RTT is unknown.
    ends: Option<Time>,
    /// The RTT in units of 1/8 µs, as Linux stores it.
    eighths: Option<u64>,
    /// Timestamp that the last segment echoed. Other segments that echo the same timestamp provide no sample.
    last_echo: Option<u32>,
    /// Start time and end offset of the advertised window whose filling time is being measured; `None` if no window is
    /// being measured.
    window: Option<(Time, u64)>,
}

impl Rounds {
    /// Begins a round trip.
    pub fn begin(&mut self, now: Time) {
        self.began = now;
        self.predict_end();
    }

    /// Sets the earliest end of the round trip: one RTT after its start, in whole microseconds.
    fn predict_end(&mut self) {
        self.ends = self.eighths.map(|eighths| Time::from_nanos(1000 * (micros(self.began) + eighths / 8)));
    }

    /// Counts bytes that the application has read.
    pub fn on_read(&mut self, count: u64) {
        self.read += count;
    }

    /// If the current round trip has ended, starts the next round trip and returns the number of bytes read in the
    /// previous one. Otherwise returns `None`.
    pub fn end(&mut self, now: Time) -> Option<u64> {
        if now < self.ends? {
            return None;
        }
        let read = self.read - self.read_before;
        self.begin(now);
        self.read_before = self.read;
        Some(read)
    }

    /// The RTT in whole microseconds.
    pub fn rtt(&self) -> Option<Duration> {
        self.eighths.map(|eighths| Duration::from_micros(eighths / 8))
    }

    /// Records an echoed timestamp. A full segment that echoes a new timestamp provides an RTT sample.
    #[inline(always)]
    pub fn sample_echo(&mut self, echo: u32, full: bool, rtt: impl FnOnce() -> Option<Duration>) {
        if self.last_echo != Some(echo) {
            self.last_echo = Some(echo);
            if let Some(rtt) = full.then(rtt).flatten() {
                self.sample(rtt.as_micros());
            }
        }
    }

    /// Adds an RTT sample (`tcp_rcv_rtt_update`). A longer sample has a weight of 1/8.
    fn sample(&mut self, micros: u64) {
        self.eighths = Some(match self.eighths {
            Some(old) if 8 * micros >= old => old - old / 8 + micros,
            _ => 8 * micros,
        });
        self.predict_end();
    }

    /// Takes an RTT sample from the time in which the peer filled one advertised window. The peer needs at least one
    /// RTT to fill a window, so the sample never raises the estimate. In-order data now ends at `next`.
    pub fn time_window(&mut self, now: Time, next: u64, offered: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((from, _)) => {
                let took = 8 * (micros(now) - micros(from)).max(1);
                self.eighths = Some(self.eighths.map_or(took, |old| old.min(took)));
                self.predict_end();
            }
            None => {}
        }
        self.window = Some((now, next + offered));
    }
}

/// Converts a time to whole microseconds.
fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}
