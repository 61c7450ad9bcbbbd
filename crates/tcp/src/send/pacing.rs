//! Pacing: when the next segment may go, for controllers that set a rate.

use lopsided_core::{BitRate, Bytes, Duration, Time};

#[derive(Debug, Default)]
pub(crate) struct Pacing {
    on: bool,
    next: Time,
}

/// Linux: the first segments of a connection are not paced.
const UNPACED_SEGMENTS: u64 = 10;

impl Pacing {
    pub fn switch(&mut self, on: bool) {
        self.on = on;
    }

    /// When a segment may go, if that is after `now`.
    #[inline]
    pub fn holds_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// Data of `len` octets goes out, behind `sent` segments: when may the next? A timer that came late takes up to
    /// half a segment's time off it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, len: u64, sent: u64, rate: impl FnOnce() -> Option<BitRate>) {
        if !self.on || sent + 1 < UNPACED_SEGMENTS {
            return;
        }
        let Some(rate) = rate().filter(|rate| rate.as_bps() > 0) else { return };
        let (time, _) = rate.time_to_send(Bytes::new(len), 0);
        let late = now.saturating_since(self.next).as_nanos();
        self.next = now + time.saturating_sub(Duration::from_nanos(late.min(time.as_nanos() / 2)));
    }
}
