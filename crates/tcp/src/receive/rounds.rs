//! Round trips as a receiver sees them, and what the application reads in each (dynamic right-sizing, Fisk and Feng
//! 2001).

use lopsided_core::{Duration, Time};

#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The round that is being measured: when it began, and what the application had read.
    began: Time,
    read_before: u64,
    read: u64,
    pub rtt: Option<Duration>,
    /// The echoed timestamp that gave the last sample: the same one again would time the queue of a burst.
    last_echo: Option<u32>,
    /// The window that is being timed: from when, and where it ends.
    window: Option<(Time, u64)>,
}

impl Rounds {
    pub fn begin(&mut self, now: Time) {
        self.began = now;
    }

    pub fn on_read(&mut self, count: u64) {
        self.read += count;
    }

    /// What was read in the round, if it has ended.
    pub fn end(&mut self, now: Time) -> Option<u64> {
        if now.saturating_since(self.began) < self.rtt? {
            return None;
        }
        let read = self.read - self.read_before;
        self.began = now;
        self.read_before = self.read;
        Some(read)
    }

    /// Takes the round-trip time that a timestamp's echo on arriving data tells, once for each echo. While the
    /// application is behind (`all_read`), only a shorter one is believed.
    pub fn sample_echo(&mut self, echo: u32, rtt: Duration, all_read: bool) {
        if self.last_echo != Some(echo) {
            self.last_echo = Some(echo);
            if all_read || self.rtt.is_none_or(|old| rtt < old) {
                self.sample(rtt);
            }
        }
    }

    /// A shorter one holds at once, longer ones count an eighth: the buffer shall follow the path and not its queue.
    fn sample(&mut self, rtt: Duration) {
        self.rtt = Some(match self.rtt {
            Some(old) if rtt > old => (old * 7 + rtt) / 8,
            _ => rtt,
        });
    }

    /// What came in order now ends at `next`. The time that the window of `offered` octets took is no less than a round
    /// trip: it only lowers the estimate, or gives the first.
    pub fn time_window(&mut self, now: Time, next: u64, offered: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((from, _)) => {
                let took = (now - from).max(Duration::from_micros(1));
                self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
            }
            None => {}
        }
        self.window = Some((now, next + offered));
    }
}
