//! The clock behind the timestamps option of one end, and what it says of the way from that end to the point of capture.
//!
//! A segment carries the time at which its sender sent it (RFC 7323, section 4.1). The time at which the segment passes
//! minus that time is the one-way delay plus an unknown offset of the clocks; its excess over the smallest value is the
//! time that the segment waited on the way. Clocks drift apart by up to some 50 parts per million, so the smallest value
//! rises by as much: a queue that stands for a minute without a break is taken for 3 ms shorter than it is.

/// Ticks per second of Linux, BSD and Windows.
const USUAL: f64 = 1_000.0;
/// A clock that seems to tick between these rates is a usual one: packets that wait make a clock seem slow or fast.
const AROUND: (f64, f64) = (300.0, 3_000.0);
/// Ticks per second of other clocks.
const OTHERS: [f64; 4] = [10.0, 100.0, 250.0, 1_000_000.0];
/// A measured rate is taken for one of these up to this factor.
const NEAR: f64 = 1.3;
/// Nanoseconds after which the rate of an unusual clock shows, and after which it is settled.
const ENOUGH: u64 = 1_000_000_000;
const SETTLED: u64 = 30_000_000_000;
/// The smallest delay rises by a nanosecond in this many: 50 parts per million.
const RISE: u64 = 20_000;

/// The clock of one end.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    first: Option<(u32, u64)>,
    /// Ticks per second; 0 as long as it is unknown.
    rate: f64,
    /// Smallest offset in nanoseconds, and when it was last raised.
    least: Option<(i64, u64)>,
}

impl Clock {
    /// Records a segment that passes with this timestamp. Returns the nanoseconds that it waited on its way from the
    /// end, as far as known.
    pub fn passed(&mut self, at: u64, value: u32) -> Option<u64> {
        let Some((first, first_at)) = self.first else {
            self.first = Some((value, at));
            return None;
        };
        let ticks = value.wrapping_sub(first) as i32;
        self.settle(at.saturating_sub(first_at), ticks);
        let offset = self.offset(at, value)?;
        let (least, since) = self.least.unwrap_or((offset, at));
        let risen = least + (at.saturating_sub(since) / RISE) as i64;
        let since = if risen > least { at } else { since };
        let least = risen.min(offset);
        self.least = Some((least, since));
        Some((offset - least) as u64)
    }

    /// The point of capture's time minus the end's, in nanoseconds.
    fn offset(&self, at: u64, value: u32) -> Option<i64> {
        let (first, first_at) = self.first?;
        if self.rate == 0.0 {
            return None;
        }
        let ticks = f64::from(value.wrapping_sub(first) as i32);
        Some(at as i64 - first_at as i64 - (ticks / self.rate * 1e9) as i64)
    }

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
        if rate != self.rate {
            (self.rate, self.least) = (rate, None);
        }
    }
}
