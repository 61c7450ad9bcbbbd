//! Round trips as a receiver sees them, and what the application reads in each (dynamic right-sizing, Fisk and Feng
//! 2001).

use lopsided_core::{Duration, Time};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The round that is being measured: when it began, and what the application had read.
    began: Time,
    read_before: u64,
    read: u64,
    /// When it ends at the earliest; without a round trip it does not.
    ends: Option<Time>,
    /// In eighths of a microsecond, as Linux keeps it.
    eighths: Option<u64>,
    /// The echoed timestamp that gave the last sample: the same one again would time the queue of a burst.
    last_echo: Option<u32>,
    /// The window that is being timed: from when, and where it ends.
    window: Option<(Time, u64)>,
}

impl Rounds {
    pub fn begin(&mut self, now: Time) {
        self.began = now;
        self.foretell_end();
    }

    /// A whole round trip after it began, on a clock of microseconds.
    fn foretell_end(&mut self) {
        self.ends = self.eighths.map(|eighths| Time::from_nanos(1000 * (micros(self.began) + eighths / 8)));
    }

    pub fn on_read(&mut self, count: u64) {
        self.read += count;
    }

    /// What was read in the round, if it has ended.
    pub fn end(&mut self, now: Time) -> Option<u64> {
        if now < self.ends? {
            return None;
        }
        let read = self.read - self.read_before;
        self.begin(now);
        self.read_before = self.read;
        Some(read)
    }

    /// The round trip, in whole microseconds.
    pub fn rtt(&self) -> Option<Duration> {
        self.eighths.map(|eighths| Duration::from_micros(eighths / 8))
    }

    /// A segment with this echo arrived, data or none. One `full` of data whose echo is another than the last tells a
    /// round trip.
    #[inline(always)]
    pub fn sample_echo(&mut self, echo: u32, full: bool, rtt: impl FnOnce() -> Option<Duration>) {
        if self.last_echo != Some(echo) {
            self.last_echo = Some(echo);
            if let Some(rtt) = full.then(rtt).flatten() {
                self.sample(rtt.as_micros());
            }
        }
    }

    /// A shorter one holds at once, longer ones count an eighth: the buffer shall follow the path and not its queue.
    fn sample(&mut self, micros: u64) {
        self.eighths = Some(match self.eighths {
            Some(old) if 8 * micros >= old => old - old / 8 + micros,
            _ => 8 * micros,
        });
        self.foretell_end();
    }

    /// What came in order now ends at `next`. The time that the window of `offered` octets took is no less than a round
    /// trip: it only lowers the estimate, or gives the first.
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

/// What a clock of microseconds shows.
fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}
