//! What decides when the next packet may leave the queue, and when it has left the line.

use crate::bucket::Bucket;
use crate::serializer::Serializer;
use lopsided_core::{BitRate, Bytes, Time};

#[derive(Debug)]
pub(crate) enum Gate {
    /// Infinitely fast.
    Open,
    Serializer(Serializer),
    Bucket(Bucket),
}

impl Gate {
    /// No packet has waited up to now.
    #[inline]
    pub(crate) fn rest_until(&mut self, now: Time) {
        if let Gate::Bucket(bucket) = self {
            bucket.rest_until(now);
        }
    }

    /// A packet of this size was at the head of the queue up to now, and may not be any more.
    pub(crate) fn wait_until(&mut self, now: Time, wire: Bytes) {
        if let Gate::Bucket(bucket) = self {
            bucket.wait_until(now, wire);
        }
    }

    /// When a packet of this size at the head of the queue may leave; possibly in the past.
    #[inline]
    pub(crate) fn ready(&mut self, wire: Bytes) -> Time {
        match self {
            Gate::Open => Time::ZERO,
            Gate::Serializer(line) => line.free_at(),
            Gate::Bucket(bucket) => bucket.ready(wire),
        }
    }

    /// A packet leaves the queue at `start`; says when its last bit has left the line.
    #[inline]
    pub(crate) fn send(&mut self, start: Time, wire: Bytes) -> Time {
        match self {
            Gate::Open => start,
            Gate::Serializer(line) => line.send(start, wire),
            Gate::Bucket(bucket) => bucket.send(start, wire),
        }
    }

    /// When its last bit would have left.
    pub(crate) fn end_if_sent(&self, start: Time, wire: Bytes) -> Time {
        match self {
            Gate::Open => start,
            Gate::Serializer(line) => line.end_if_sent(start, wire),
            Gate::Bucket(bucket) => bucket.end_if_sent(start, wire),
        }
    }

    /// The rate that is never exceeded for long.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        match self {
            Gate::Open => None,
            Gate::Serializer(line) => Some(line.rate()),
            Gate::Bucket(bucket) => Some(bucket.rate()),
        }
    }

    /// Until when the line is busy with what has left the queue.
    pub(crate) fn busy_until(&self) -> Time {
        match self {
            Gate::Serializer(line) => line.free_at(),
            Gate::Open | Gate::Bucket(_) => Time::ZERO,
        }
    }
}
