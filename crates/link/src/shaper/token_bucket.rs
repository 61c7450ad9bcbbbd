//! The token bucket: tokens are added at a rate, and a packet leaves when the bucket has enough tokens for the packet.
//!
//! Tokens arrive continuously, as in Linux's `tbf`, or once per interval Tc, as in the router shapers of merritt2010,
//! section 4.3 (catalogue MER-M11): CIR = Bc / Tc.
//!
//! The bucket stores a limited number of tokens:
//!
//! - While no packet waits: up to the burst (Bc). The bucket starts full.
//! - While a packet waits for tokens: up to the number of tokens that the packet needs, even if this is more than the
//!   burst. In merritt2010, the Bc of uplinks is 3 % to 33 % of a packet (MER-A03). Linux's `tbf` drops such packets
//!   instead.
//! - While there are enough tokens for the packet but the physical line is busy: up to the burst.
//!
//! The thesis merritt2010 does not specify how many unused tokens a bucket stores. IOS stores one Bc by default.
//! Refills occur at whole multiples of Tc from time zero.

use super::config::ShaperConfig;
use super::contract::Shaper;
use super::serializer::{SendTime, Serializer, scaled_bits};
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// A token bucket, and the physical line behind it. One token is 10^-9 bit.
#[derive(Debug)]
pub struct TokenBucket {
    rate: u64,
    burst: i64,
    /// Number of tokens. Never negative, because a packet leaves only when there are enough tokens for the packet.
    tokens: i64,
    /// Time up to which tokens have been added. With refills: time of the last refill.
    counted: Time,
    refill: Option<Refill>,
    line: Option<Serializer>,
    send_time: SendTime,
}

/// A periodic refill.
#[derive(Debug)]
struct Refill {
    interval: Duration,
    tokens: i64,
}

impl TokenBucket {
    /// Creates a full bucket. `config` must have passed [`ShaperConfig::check_at`].
    pub(crate) fn new(rate: BitRate, config: &ShaperConfig) -> TokenBucket {
        let refill = config.interval.map(|interval| Refill {
            interval,
            // One token is 1 bit/s x 1 ns, so no conversion is needed.
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

    /// Returns the time from `counted` until the bucket has enough tokens for `wire` bytes.
    #[inline]
    fn wait(&mut self, wire: Bytes) -> Duration {
        let short = scaled_bits(wire) as i64 - self.tokens;
        if short <= 0 {
            return Duration::ZERO;
        }
        let short = short as u64;
        if let Some(refill) = &self.refill {
            // Round up to whole refills.
            let gain = refill.tokens as u64;
            return if short <= gain { refill.interval } else { refill.interval * short.div_ceil(gain) };
        }
        // Fast path: in a busy period, fewer tokens are left after each packet than the rate adds in 1 ns. The wait is
        // then the transmission time of the packet, which is cached by packet size, so no division is needed.
        Duration::from_nanos(if (0..self.rate as i64).contains(&self.tokens) {
            let (nanos, rest) = self.send_time.of(wire);
            nanos + u64::from(rest > self.tokens as u64)
        } else {
            short.div_ceil(self.rate)
        })
    }

    /// Moves `counted` to `now`, or to the last refill. Returns the number of added tokens.
    #[inline]
    fn count_until(&mut self, now: Time) -> i64 {
        let passed = now.saturating_since(self.counted).as_nanos();
        let gained = match &self.refill {
            None => {
                self.counted = now.max(self.counted);
                passed.saturating_mul(self.rate)
            }
            Some(refill) => {
                // Refills occur at multiples of the interval from time zero.
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
        // After a time with a backlog, the bucket may contain more tokens than the burst. The bucket keeps these tokens
        // but gains no more.
        if self.tokens < self.burst {
            self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        }
    }

    /// Adds the tokens that arrive by `now`. The burst limits the tokens only after they are enough for the first packet.
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
        // Keep the tokens that the packet does not need, so that the long-run rate is exact.
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
