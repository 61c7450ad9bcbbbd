//! The timestamp clock of one endpoint, and the queueing delays of packets between the endpoint and the point of
//! capture.
//!
//! A segment carries its sending time (RFC 7323, section 4.1). The capture time minus the sending time is the one-way
//! delay plus a clock offset. The queueing delay is the difference between this value and the smallest such value.
//!
//! Two clocks drift apart by up to about 50 ppm, so the smallest value is raised by 50 ppm over time. After a queue has
//! been non-empty for 1 minute, the computed delays are 3 ms too short.

/// Timestamp ticks per second of Linux, BSD and Windows.
const USUAL: f64 = 1_000.0;
/// A measured rate between these bounds counts as 1,000 ticks/s, because queues make measured rates inexact.
const AROUND: (f64, f64) = (300.0, 3_000.0);
/// Timestamp ticks per second of less common systems.
const OTHERS: [f64; 4] = [10.0, 100.0, 250.0, 1_000_000.0];
/// A measured rate is replaced by an entry of `OTHERS` within this factor.
const NEAR: f64 = 1.3;
/// A rate outside `AROUND` is accepted after `ENOUGH` nanoseconds. After `SETTLED` nanoseconds the rate stays constant.
const ENOUGH: u64 = 1_000_000_000;
const SETTLED: u64 = 30_000_000_000;
/// The smallest delay is raised by 1 ns each time this many nanoseconds pass: 50 parts per million.
const RISE: u64 = 20_000;

/// The timestamp clock of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The first timestamp, and the capture time of its segment in nanoseconds.
    first: Option<(u32, u64)>,
    /// Ticks per second; 0 while unknown.
    rate: f64,
    /// Smallest offset in nanoseconds, and the time at which it was last raised.
    least: Option<(i64, u64)>,
    /// A segment whose queueing delay is known: its capture time, its timestamp and its queueing delay in nanoseconds.
    known: Option<(u64, u32, u64)>,
}

impl Clock {
    /// Records the timestamp `value` of a segment at time `at`. Returns the segment's queueing delay before the point
    /// of capture, in nanoseconds; `None` while the clock's rate is unknown.
    pub fn passed(&mut self, at: u64, value: u32) -> Option<u64> {
        let Some((first, first_at)) = self.first else {
            self.first = Some((value, at));
            return None;
        };
        let ticks = value.wrapping_sub(first) as i32;
        self.settle(at.saturating_sub(first_at), ticks);
        let offset = self.offset(at, value)?;
        let (least, since) = self.least.unwrap_or_else(|| (self.known_least().unwrap_or(offset), at));
        // Allow for clock drift: see the module's documentation.
        let risen = least + (at.saturating_sub(since) / RISE) as i64;
        let since = if risen > least { at } else { since };
        let least = risen.min(offset);
        self.least = Some((least, since));
        Some((offset - least) as u64)
    }

    /// Records that the segment with the timestamp `value`, captured at `at`, is queued for `waited` nanoseconds. Call
    /// this before `passed`.
    pub(crate) fn is_queued(&mut self, at: u64, value: u32, waited: u64) {
        self.known = Some((at, value, waited));
    }

    /// Returns the offset of a segment that is not queued, in nanoseconds, from the segment whose queueing delay is
    /// known.
    fn known_least(&self) -> Option<i64> {
        let (at, value, waited) = self.known?;
        Some(self.offset(at, value)? - waited as i64)
    }

    /// Returns the capture time minus the endpoint's time, both since the first timestamp, in nanoseconds.
    fn offset(&self, at: u64, value: u32) -> Option<i64> {
        let (first, first_at) = self.first?;
        if self.rate == 0.0 {
            return None;
        }
        let ticks = f64::from(value.wrapping_sub(first) as i32);
        Some(at as i64 - first_at as i64 - (ticks / self.rate * 1e9) as i64)
    }

    /// Estimates the rate of the clock, which advanced by `ticks` in `elapsed` nanoseconds.
    fn settle(&mut self, elapsed: u64, ticks: i32) {
        if ticks <= 0 || elapsed > SETTLED && self.rate > 0.0 {
            return;
        }
        let measured = f64::from(ticks) / (elapsed as f64 * 1e-9);
        let near = |rate: &f64| measured < rate * NEAR && *rate < measured * NEAR;
        let rate = if measured > AROUND.0 && measured < AROUND.1 {
            USUAL
        } else if elapsed < ENOUGH {
            self.rate
        } else {
            let unknown = if elapsed > SETTLED { measured } else { self.rate };
            OTHERS.into_iter().find(near).unwrap_or(unknown)
        };
        // Offsets that were computed with the previous rate are invalid after the change.
        if rate != self.rate {
            (self.rate, self.least) = (rate, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the queueing delay of the last of 100 segments, in nanoseconds. All segments are queued for equally long.
    fn last(clock: &mut Clock) -> Option<u64> {
        (1..100).filter_map(|number| clock.passed((1_000 + 10 * number) * MS, 10 * number as u32)).last()
    }

    #[test]
    fn a_known_queueing_delay_shows_that_no_segment_found_the_queue_empty() {
        let mut clock = Clock::default();
        clock.is_queued(1_000 * MS, 0, 25 * MS);
        assert_eq!(clock.passed(1_000 * MS, 0), None);
        // The tolerance for the drift of clocks is 50 ppm of 1 s.
        assert!(last(&mut clock).is_some_and(|waited| waited.abs_diff(25 * MS) < MS / 10));
        assert_eq!(last(&mut Clock::default()), Some(0));
    }
}
