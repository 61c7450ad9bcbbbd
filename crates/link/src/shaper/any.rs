//! An enum of all shapers, with static dispatch for the shapers of this module.

use super::contract::Shaper;
use super::serializer::Serializer;
use super::token_bucket::TokenBucket;
use lopsided_core::{BitRate, Bytes, Time};

/// A shaper of this module, or a boxed shaper of any type.
#[derive(Debug)]
pub enum AnyShaper {
    /// No limit: packets leave at once and take no time.
    Unlimited,
    /// A line of constant rate.
    Serializer(Serializer),
    /// A token bucket, and the physical line behind it.
    TokenBucket(Box<TokenBucket>),
    /// An access method, or a shaper from another crate.
    Custom(Box<dyn Shaper>),
}

impl Shaper for AnyShaper {
    #[inline]
    fn needs_size(&self) -> bool {
        match self {
            AnyShaper::Unlimited | AnyShaper::Serializer(_) => false,
            AnyShaper::TokenBucket(_) => true,
            AnyShaper::Custom(custom) => custom.needs_size(),
        }
    }

    #[inline]
    fn advance_idle(&mut self, now: Time) {
        match self {
            AnyShaper::Unlimited | AnyShaper::Serializer(_) => {}
            AnyShaper::TokenBucket(bucket) => bucket.advance_idle(now),
            AnyShaper::Custom(custom) => custom.advance_idle(now),
        }
    }

    fn advance_backlogged(&mut self, now: Time, wire: Bytes) {
        match self {
            AnyShaper::Unlimited | AnyShaper::Serializer(_) => {}
            AnyShaper::TokenBucket(bucket) => bucket.advance_backlogged(now, wire),
            AnyShaper::Custom(custom) => custom.advance_backlogged(now, wire),
        }
    }

    #[inline]
    fn ready_at(&mut self, wire: Bytes) -> Time {
        match self {
            AnyShaper::Unlimited => Time::ZERO,
            AnyShaper::Serializer(line) => line.free_at(),
            AnyShaper::TokenBucket(bucket) => bucket.ready_at(wire),
            AnyShaper::Custom(custom) => custom.ready_at(wire),
        }
    }

    #[inline]
    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        match self {
            AnyShaper::Unlimited => start,
            AnyShaper::Serializer(line) => line.transmit(start, wire),
            AnyShaper::TokenBucket(bucket) => bucket.transmit(start, wire),
            AnyShaper::Custom(custom) => custom.transmit(start, wire),
        }
    }

    fn rate(&self) -> Option<BitRate> {
        match self {
            AnyShaper::Unlimited => None,
            AnyShaper::Serializer(line) => Some(line.rate()),
            AnyShaper::TokenBucket(bucket) => bucket.rate(),
            AnyShaper::Custom(custom) => custom.rate(),
        }
    }

    #[inline(always)]
    fn schedule(&mut self, now: Time, wire: Bytes) -> (Time, Time) {
        match self {
            AnyShaper::Unlimited => (now, now),
            AnyShaper::Serializer(line) => {
                let start = line.free_at().max(now);
                (start, line.transmit(start, wire))
            }
            AnyShaper::TokenBucket(bucket) => bucket.schedule(now, wire),
            AnyShaper::Custom(custom) => custom.schedule(now, wire),
        }
    }
}
