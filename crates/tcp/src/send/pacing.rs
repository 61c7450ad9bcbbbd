//! Pacing: computes when the next segment may be sent, if a rate or a burst limit is set.

use lopsided_core::{BitRate, Bytes, Duration, Time};

#[derive(Debug, Default)]
pub(crate) struct Pacing {
    on: bool,
    /// Time at which the next segment may be sent.
    next: Time,
    /// Send time of the last segment, and the number of segments sent at that time.
    burst: (Time, u32),
}

/// Number of segments at the beginning of a connection that Linux does not pace (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;

impl Pacing {
    pub fn switch(&mut self, on: bool) {
        self.on = on;
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Time at which the next segment may be sent; `None` if it may be sent now.
    #[inline]
    pub fn holds_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// True if the current burst contains fewer than `most` segments, so another segment may be sent. Otherwise the
    /// next burst starts after `pause` (balakrishnan1999 figure 19), rounded up to a multiple of `tick`.
    #[inline]
    pub fn lets_burst_go_on(&mut self, now: Time, most: u32, tick: Duration, pause: impl FnOnce() -> Duration) -> bool {
        if most == 0 || self.burst.0 != now || self.burst.1 < most {
            return true;
        }
        self.next = now + pause();
        if !tick.is_zero() {
            // A BSD callout expires at a tick: the first tick that is not before the deadline and is later than now.
            let after = (self.next - Time::ZERO).max(now - Time::ZERO + Duration::from_nanos(1));
            self.next = Time::ZERO + after.ceil_to(tick);
        }
        self.next == now
    }

    /// Counts a segment that is sent now.
    #[inline]
    pub fn count_in_burst(&mut self, now: Time) {
        self.burst = (now, if self.burst.0 == now { self.burst.1 + 1 } else { 1 });
    }

    /// Computes the time at which the next segment may be sent, after a segment of `len` bytes. `sent` is the number of
    /// segments sent before. If this segment was sent late, the gap to the next segment is shorter (Linux's
    /// tcp_update_skb_after_send).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_that_ends_at_a_tick_goes_on_at_the_next() {
        let ms = |ms| Time::ZERO + Duration::from_millis(ms);
        for (now, next) in [(ms(20), ms(30)), (ms(21), ms(30)), (ms(29), ms(30))] {
            let mut pacing = Pacing::default();
            pacing.count_in_burst(now);
            assert!(pacing.lets_burst_go_on(now, 2, Duration::from_millis(10), || Duration::ZERO));
            pacing.count_in_burst(now);
            assert!(!pacing.lets_burst_go_on(now, 2, Duration::from_millis(10), || Duration::ZERO));
            assert_eq!(pacing.holds_until(now), Some(next));
        }
    }
}
