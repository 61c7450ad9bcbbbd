//! What a scenario says of a link, and what is wrong with it.

use crate::shaper::{AnyShaper, Serializer, TokenBucket, scaled_bits};
use crate::{Framing, Link, LossConfig};
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_queue::{Queue, QueueConfig};
use lopsided_spec::Fault;
use std::fmt;

/// One direction of a line as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// The serializer's rate, or the rate of the shaper's credit where there is one. `None`: infinitely fast.
    pub rate: Option<BitRate>,
    pub shaper: Option<ShaperConfig>,
    pub framing: Framing,
    /// Propagation delay, one way.
    pub delay: Duration,
    pub loss: LossConfig,
    pub queue: QueueConfig,
    /// Check every operation of the queue. Changes no result.
    pub audit: bool,
}

/// A token bucket, whose credit comes at the link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperConfig {
    /// The depth of the bucket (Bc), in octets on the wire.
    pub burst: Bytes,
    /// Credit comes in lumps of rate times interval (Tc), rather than all the time.
    pub interval: Option<Duration>,
    /// The rate at which a burst leaves. `None`: at once.
    pub line_rate: Option<BitRate>,
}

impl LinkConfig {
    /// A line of that rate and delay with a queue, and nothing else.
    pub fn new(rate: Option<BitRate>, delay: Duration, queue: QueueConfig) -> LinkConfig {
        LinkConfig {
            rate,
            shaper: None,
            framing: Framing::NONE,
            delay,
            loss: LossConfig::default(),
            queue,
            audit: false,
        }
    }

    /// The link, idle. Its random draws are keyed by the run's seed and the link's role, such as `"link/up"`.
    pub fn build(&self, seed: u64, role: &str) -> Result<Link, LinkError> {
        let queue = self.queue.build(seed, role)?;
        self.build_with(queue, self.build_shaper()?, seed, role)
    }

    /// The same with this queue and shaper, such as [`Queue::Custom`]; those of the configuration are left aside.
    pub fn build_with(&self, queue: Queue, shaper: AnyShaper, seed: u64, role: &str) -> Result<Link, LinkError> {
        let loss = self.loss.build(seed, role)?;
        let queue = if self.audit { queue.checked() } else { queue };
        Ok(Link::assemble(queue, shaper, self.framing, self.delay, loss))
    }

    /// The shaper of this configuration.
    pub fn build_shaper(&self) -> Result<AnyShaper, LinkError> {
        match (self.rate, self.shaper) {
            (None, None) => Ok(AnyShaper::Unlimited),
            (None, Some(_)) => Err(LinkError::ShaperWithoutRate),
            (Some(rate), _) if !(1..=MOST_RATE).contains(&rate.as_bps()) => Err(LinkError::Rate(rate)),
            (Some(rate), None) => Ok(AnyShaper::Serializer(Serializer::new(rate))),
            (Some(rate), Some(shaper)) => {
                shaper.check(rate)?;
                Ok(AnyShaper::TokenBucket(TokenBucket::new(rate, &shaper)))
            }
        }
    }
}

/// 10 Tbit/s: far above any line, and low enough that no sum here overflows.
const MOST_RATE: u64 = 10_000_000_000_000;
/// The deepest bucket, of 2^30 octets: its credit fits 64 bits.
const MOST_BURST: Bytes = Bytes::new(1 << 30);

impl ShaperConfig {
    fn check(&self, rate: BitRate) -> Result<(), LinkError> {
        if self.burst == Bytes::ZERO || self.burst > MOST_BURST {
            return Err(LinkError::Burst(self.burst));
        }
        if let Some(line) = self.line_rate {
            if !(rate.as_bps()..=MOST_RATE).contains(&line.as_bps()) {
                return Err(LinkError::LineRate(line));
            }
        }
        if let Some(interval) = self.interval {
            if interval.is_zero() {
                return Err(LinkError::NoInterval);
            }
            let lump = u128::from(rate.as_bps()) * u128::from(interval.as_nanos());
            if lump > u128::from(scaled_bits(self.burst)) {
                return Err(LinkError::LumpOverflows { needed: Bytes::new(lump.div_ceil(8_000_000_000) as u64) });
            }
        }
        Ok(())
    }
}

/// Why a link cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    Rate(BitRate),
    ShaperWithoutRate,
    Burst(Bytes),
    LineRate(BitRate),
    NoInterval,
    /// The bucket cannot hold what comes in one interval.
    LumpOverflows {
        needed: Bytes,
    },
    NoProbability,
    PacketsOutOfOrder,
    OutagesOutOfOrder,
    Queue(Fault),
}

impl From<Fault> for LinkError {
    fn from(error: Fault) -> LinkError {
        LinkError::Queue(error)
    }
}

impl LinkError {
    /// The part of the link's configuration that is at fault, as scenarios name it.
    pub fn key(&self) -> &'static str {
        match self {
            LinkError::Rate(_) | LinkError::ShaperWithoutRate => "rate",
            LinkError::Burst(_) | LinkError::LumpOverflows { .. } => "shaper.burst",
            LinkError::LineRate(_) => "shaper.line_rate",
            LinkError::NoInterval => "shaper.interval",
            LinkError::NoProbability | LinkError::PacketsOutOfOrder | LinkError::OutagesOutOfOrder => "loss",
            LinkError::Queue(_) => "queue",
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Rate(rate) => {
                write!(f, "a rate of {rate:?}: a link needs at least 1 bit/s and at most 10 Tbit/s")
            }
            LinkError::ShaperWithoutRate => {
                f.write_str("a shaper needs the link's rate: its credit comes at that rate")
            }
            LinkError::Burst(burst) => write!(f, "a burst of {burst:?}: it must be from 1 B to 1 GiB"),
            LinkError::LineRate(rate) => {
                write!(f, "a line rate of {rate:?} is below the shaper's own rate, or above 10 Tbit/s")
            }
            LinkError::NoInterval => {
                f.write_str("an interval of zero: leave it out for credit that comes all the time")
            }
            LinkError::LumpOverflows { needed } => {
                write!(f, "the burst is less than what one interval brings: it must be at least {needed:?}")
            }
            LinkError::NoProbability => f.write_str("a probability must be from 0 to 1"),
            LinkError::PacketsOutOfOrder => f.write_str("lost packets are counted from 1 and given in ascending order"),
            LinkError::OutagesOutOfOrder => {
                f.write_str("outages are given in ascending order, without overlap, none empty")
            }
            LinkError::Queue(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LinkError {}
