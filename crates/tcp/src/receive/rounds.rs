//! Round trips as a receiver sees them, and the bytes that the application reads in each (dynamic right-sizing, Fisk
//! and Feng 2001).

use lopsided_core::{Duration, Time};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Start of the current round trip.
    began: Time,
    /// Bytes read before the current round trip.
    read_before: u64,
    /// Bytes read since the beginning.
    read: u64,
    /// Earliest end of the round trip; `None` while the RTT is unknown.
    ends: Option<Time>,
    /// The RTT in 1/8 µs, as Linux keeps it.
    eighths: Option<u64>,
    /// The echoed timestamp of the last sample. A second sample with the same echo would include the queueing delay of
    /// a burst.
    last_echo: Option<u32>,
    /// The offered window that is being timed: its start time and its end offset.
    window: Option<(Time, u64)>,
}

impl Rounds {
    /// Begins a round trip.
    pub fn begin(&mut self, now: Time) {
        self.began = now;
        self.foretell_end();
    }

    /// Sets the end one RTT after the start, in whole microseconds.
    fn foretell_end(&mut self) {
        self.ends = self.eighths.map(|eighths| Time::from_nanos(1000 * (micros(self.began) + eighths / 8)));
    }

    /// Counts bytes that the application read.
    pub fn on_read(&mut self, count: u64) {
        self.read += count;
    }

    /// Bytes read in the round trip if it has ended, and begins the next one.
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

    /// Records the echoed timestamp of a segment, with or without data. A segment `full` of data with a new echo gives
    /// a sample.
    #[inline(always)]
    pub fn sample_echo(&mut self, echo: u32, full: bool, rtt: impl FnOnce() -> Option<Duration>) {
        if self.last_echo != Some(echo) {
            self.last_echo = Some(echo);
            if let Some(rtt) = full.then(rtt).flatten() {
                self.sample(rtt.as_micros());
            }
        }
    }

    /// Adds a sample (`tcp_rcv_rtt_update`). A shorter one replaces the estimate, a longer one counts 1/8: the buffer
    /// must follow the delay of the path without its queue.
    fn sample(&mut self, micros: u64) {
        self.eighths = Some(match self.eighths {
            Some(old) if 8 * micros >= old => old - old / 8 + micros,
            _ => 8 * micros,
        });
        self.foretell_end();
    }

    /// In-order data now ends at `next`. Filling one offered window takes at least one RTT, so this sample can set or
    /// lower the estimate, never raise it.
    pub fn time_window(&mut self, now: Time, next: u64, offered: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((from, _)) => {
                let took = 8 * (micros(now) - micros(from)).max(1);
                self.eighths = Some(self.eighths.map_or(took, |old| old.min(took)));
                self.foretell_end();
            }
            None => {}
        }
        self.window = Some((now, next + offered));
    }
}

/// The time on a clock of microseconds.
fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}
