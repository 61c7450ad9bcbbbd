//! Pacing: when the next segment may go, for controllers that set a rate.

use lopsided_core::{BitRate, Bytes, Duration, Time};

#[derive(Debug, Default)]
pub(crate) struct Pacing {
    on: bool,
    next: Time,
    /// When the last segment went out, and how many did at that instant.
    burst: (Time, u32),
}

/// Linux: the first segments of a connection are not paced.
const UNPACED_SEGMENTS: u64 = 10;

impl Pacing {
    pub fn switch(&mut self, on: bool) {
        self.on = on;
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// When a segment may go, if that is after `now`.
    #[inline]
    pub fn holds_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// A segment wants to go out now. False if so many went already at this instant, and then the next burst is after
    /// `pause` (balakrishnan1999 figure 19).
    #[inline]
    pub fn lets_burst_go_on(&mut self, now: Time, most: u32, pause: impl FnOnce() -> Duration) -> bool {
        if most == 0 || self.burst.0 != now || self.burst.1 < most {
            return true;
        }
        self.next = now + pause();
        self.next == now
    }

    /// A segment goes out.
    #[inline]
    pub fn count_in_burst(&mut self, now: Time) {
        self.burst = (now, if self.burst.0 == now { self.burst.1 + 1 } else { 1 });
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
