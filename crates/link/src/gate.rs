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

    /// The rate that is never exceeded for long.
    pub(crate) fn rate(&self) -> Option<BitRate> {
        match self {
            Gate::Open => None,
            Gate::Serializer(line) => Some(line.rate()),
            Gate::Bucket(bucket) => Some(bucket.rate()),
        }
    }

    /// What one packet's time on the line is: known of a serializer, none of the others.
    pub(crate) fn is_serializer(&self) -> bool {
        matches!(self, Gate::Serializer(_))
    }

    /// The course of a packet that enters a first-in-first-out queue now, behind all that was promised before: when it leaves
    /// the queue, and when its last bit has left the line.
    #[inline]
    pub(crate) fn promise(&mut self, now: Time, wire: Bytes) -> (Time, Time) {
        match self {
            Gate::Open => (now, now),
            Gate::Serializer(line) => {
                let start = line.free_at().max(now);
                (start, line.send(start, wire))
            }
            Gate::Bucket(bucket) => {
                // If others wait, credit is counted beyond now already.
                bucket.rest_until(now);
                let start = bucket.ready(wire).max(now);
                (start, bucket.send(start, wire))
            }
        }
    }
}
