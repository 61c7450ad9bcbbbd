//! The token bucket: tokens come at a rate, a packet leaves when there are tokens for all of it.
//!
//! Tokens come either all the time, as in Linux's `tbf`, or once every interval Tc, as in the shaper of the routers of
//! merritt2010 section 4.3 (catalogue MER-M11): CIR = Bc / Tc, and the packets of one refill leave as a burst at the
//! physical rate.
//!
//! How many tokens are kept:
//!
//! - While nothing waits, up to the burst (Bc). A bucket begins full.
//! - While a packet waits, as many as it needs, even if that is more than the burst: the thesis's uplinks have a Bc of
//!   a third to a thirtieth of a packet (MER-A03), so their tokens must add up over many intervals. What is left beyond
//!   the packet stays, so the long-run rate is exactly the CIR. (Linux's `tbf` refuses such packets instead.)
//! - While a packet has its tokens but the physical line is busy, up to the burst.
//!
//! The thesis does not say what becomes of unused tokens; IOS keeps one Bc by default. Refills come at whole multiples
//! of Tc from time zero.

use super::config::ShaperConfig;
use super::contract::Shaper;
use super::serializer::{SendTime, Serializer, scaled_bits};
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// A token bucket, and the line behind it. Tokens are in units of 10^-9 bit, of which a rate in bit/s is the gain per
/// nanosecond.
#[derive(Debug)]
pub struct TokenBucket {
    rate: u64,
    burst: i64,
    /// Never negative: a packet that leaves has had its tokens.
    tokens: i64,
    /// Up to when tokens are counted; with refills, the last refill counted.
    counted: Time,
    refill: Option<Refill>,
    line: Option<Serializer>,
    send_time: SendTime,
}

#[derive(Debug)]
struct Refill {
    interval: Duration,
    tokens: i64,
}

impl TokenBucket {
    /// A full bucket. The configuration has been checked.
    pub(crate) fn new(rate: BitRate, config: &ShaperConfig) -> TokenBucket {
        let refill = config.interval.map(|interval| Refill {
            interval,
            // A rate in bit/s times nanoseconds is in units of tokens.
            tokens: (rate.as_bps() * interval.as_nanos()) as i64,
        });
        let burst = scaled_bits(config.burst) as i64;
        TokenBucket {
            rate: rate.as_bps(),
            burst,
            tokens: burst,
            counted: Time::ZERO,
            refill,
            line: config.line_rate.map(Serializer::new),
            send_time: SendTime::new(rate),
        }
    }

    /// How long after `counted` the tokens suffice.
    #[inline]
    fn wait(&mut self, wire: Bytes) -> Duration {
        let short = scaled_bits(wire) as i64 - self.tokens;
        if short <= 0 {
            return Duration::ZERO;
        }
        let short = short as u64;
        if let Some(refill) = &self.refill {
            let gain = refill.tokens as u64;
            return if short <= gain { refill.interval } else { refill.interval * short.div_ceil(gain) };
        }
        // In a busy period less than a nanosecond's worth is left each time, and the division is a known one.
        Duration::from_nanos(if (0..self.rate as i64).contains(&self.tokens) {
            let (nanos, rest) = self.send_time.of(wire);
            nanos + u64::from(rest > self.tokens as u64)
        } else {
            short.div_ceil(self.rate)
        })
    }

    /// Moves `counted` on to `now`, or to the last refill before, and gives the tokens that came in between.
    #[inline]
    fn count_until(&mut self, now: Time) -> i64 {
        let passed = now.saturating_since(self.counted).as_nanos();
        let gained = match &self.refill {
            None => {
                self.counted = now.max(self.counted);
                passed.saturating_mul(self.rate)
            }
            Some(refill) => {
                let refills = passed / refill.interval.as_nanos();
                self.counted += refill.interval * refills;
                refills.saturating_mul(refill.tokens as u64)
            }
        };
        i64::try_from(gained).unwrap_or(i64::MAX)
    }
}

impl Shaper for TokenBucket {
    fn needs_size(&self) -> bool {
        true
    }

    #[inline]
    fn advance_idle(&mut self, now: Time) {
        let gained = self.count_until(now);
        if self.tokens < self.burst {
            self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        }
    }

    /// Counts all tokens that came until there were enough, and what came since as far as the bucket holds it.
    #[inline]
    fn advance_backlogged(&mut self, now: Time, wire: Bytes) {
        let enough = self.counted + self.wait(wire);
        self.tokens += self.count_until(enough.min(now));
        self.advance_idle(now);
    }

    #[inline]
    fn ready_at(&mut self, wire: Bytes) -> Time {
        let enough = self.counted + self.wait(wire);
        self.line.as_ref().map_or(enough, |line| line.free_at().max(enough))
    }

    #[inline]
    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        self.advance_backlogged(start, wire);
        self.tokens -= scaled_bits(wire) as i64;
        match &mut self.line {
            Some(line) => line.transmit(start, wire),
            None => start,
        }
    }

    fn rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.rate))
    }
}
