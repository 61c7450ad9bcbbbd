//! The token bucket: credit comes at a rate, a packet leaves when there is credit for all of it.
//!
//! Credit comes either all the time, as in Linux's `tbf`, or in lumps every interval Tc, as in the shaper of the routers of
//! merritt2010 section 4.3 (catalogue MER-M11): CIR = Bc / Tc, and a lump's packets leave as a burst at the physical rate.
//!
//! How much credit is kept:
//!
//! - While nothing waits, up to the depth of the bucket (Bc). A bucket begins full.
//! - While a packet waits, as much as it needs, even if that is more than the depth: the thesis's uplinks have a Bc of a third to
//!   a thirtieth of a packet (MER-A03), so their credit must add up over many intervals. What is left beyond the packet stays,
//!   so the long-run rate is exactly the CIR. (Linux's `tbf` refuses such packets instead.)
//! - While a packet has its credit but the physical line is busy, up to the depth.
//!
//! The thesis does not say what becomes of unused credit; IOS keeps one Bc by default. In lumps, releases come at whole
//! multiples of Tc from time zero.

use crate::ShaperConfig;
use crate::serializer::{Serializer, Work, credit_for};
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// A token bucket, and the line behind it. Credit is in units of 10^-9 bit, of which a rate in bit/s is the gain per nanosecond.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: u64,
    depth: i64,
    /// Negative after a packet larger than the head that was promised: the debt is paid before the next.
    credit: i64,
    /// Up to when the credit is counted; in lumps, the last release counted.
    counted: Time,
    lumps: Option<Lumps>,
    line: Option<Serializer>,
    work: Work,
}

#[derive(Debug)]
struct Lumps {
    interval: Duration,
    credit: i64,
}

impl Bucket {
    /// A full bucket. The configuration has been checked.
    pub(crate) fn new(rate: BitRate, config: &ShaperConfig) -> Bucket {
        let lumps = config.interval.map(|interval| Lumps {
            interval,
            // A rate in bit/s times nanoseconds is in units of credit.
            credit: (rate.as_bps() * interval.as_nanos()) as i64,
        });
        let depth = credit_for(config.burst) as i64;
        Bucket {
            rate: rate.as_bps(),
            depth,
            credit: depth,
            counted: Time::ZERO,
            lumps,
            line: config.line_rate.map(Serializer::new),
            work: Work::new(rate),
        }
    }

    pub(crate) fn rate(&self) -> BitRate {
        BitRate::from_bps(self.rate)
    }

    /// Nothing has waited up to now: counts the credit that came, as far as the bucket holds it.
    #[inline]
    pub(crate) fn rest_until(&mut self, now: Time) {
        let gained = self.count_until(now);
        if self.credit < self.depth {
            self.credit = self.credit.saturating_add(gained).min(self.depth);
        }
    }

    /// When a packet that waits since credit was last counted may leave.
    #[inline]
    pub(crate) fn ready(&mut self, wire: Bytes) -> Time {
        let credited = self.counted + self.wait(wire);
        self.line.as_ref().map_or(credited, |line| line.free_at().max(credited))
    }

    /// A packet of this size has waited up to now: counts the credit that came, all until it had enough and then as far as the
    /// bucket holds it.
    #[inline]
    pub(crate) fn wait_until(&mut self, now: Time, wire: Bytes) {
        let credited = self.counted + self.wait(wire);
        self.credit += self.count_until(credited.min(now));
        self.rest_until(now);
    }

    /// A packet leaves the queue, not before it is ready; says when its last bit has left.
    #[inline]
    pub(crate) fn send(&mut self, start: Time, wire: Bytes) -> Time {
        self.wait_until(start, wire);
        self.credit -= credit_for(wire) as i64;
        match &mut self.line {
            Some(line) => line.send(start, wire),
            None => start,
        }
    }

    /// How long after `counted` the credit suffices.
    #[inline]
    fn wait(&mut self, wire: Bytes) -> Duration {
        let short = credit_for(wire) as i64 - self.credit;
        if short <= 0 {
            return Duration::ZERO;
        }
        let short = short as u64;
        if let Some(lumps) = &self.lumps {
            let lump = lumps.credit as u64;
            return if short <= lump { lumps.interval } else { lumps.interval * short.div_ceil(lump) };
        }
        // In a busy period less than a nanosecond's worth is left each time, and the division is a known one.
        Duration::from_nanos(if (0..self.rate as i64).contains(&self.credit) {
            let (nanos, rest) = self.work.of(wire);
            nanos + u64::from(rest > self.credit as u64)
        } else {
            short.div_ceil(self.rate)
        })
    }

    /// Moves `counted` on to `now`, or to the last release before, and gives the credit that came in between.
    #[inline]
    fn count_until(&mut self, now: Time) -> i64 {
        let passed = now.saturating_since(self.counted).as_nanos();
        let gained = match &self.lumps {
            None => {
                self.counted = now.max(self.counted);
                passed.saturating_mul(self.rate)
            }
            Some(lumps) => {
                let releases = passed / lumps.interval.as_nanos();
                self.counted += lumps.interval * releases;
                releases.saturating_mul(lumps.credit as u64)
            }
        };
        i64::try_from(gained).unwrap_or(i64::MAX)
    }
}
