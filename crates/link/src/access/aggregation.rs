//! A sender that waits for the medium and then sends many packets at once, as Wi-Fi does (A-MPDU of IEEE 802.11n).
//!
//! When the first packet is queued, the sender waits for the medium: `access_delay` plus a random time from 0 to
//! `contention`. Then all queued packets are sent together at the direction's rate, up to `max_size` bytes and an air
//! time of `max_time`. Later packets wait for the next aggregate. Each aggregate also takes `overhead` of air time for
//! the preamble, the interframe spaces and the block acknowledgement.
//!
//! Not modelled: other stations, frame loss, the reordering buffer, and rate control. A packet arrives with its own
//! last bit, not at the end of the aggregate.

use super::AccessKind;
use crate::shaper::Shaper;
use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Settings of an aggregating sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationConfig {
    /// Shortest wait for the medium before an aggregate.
    pub access_delay: Duration,
    /// Maximum random addition to `access_delay`, drawn uniformly for each aggregate. It represents the load of other
    /// senders.
    pub contention: Duration,
    /// Maximum size of an aggregate, in bytes on the wire.
    pub max_size: Bytes,
    /// Maximum air time of the packets of one aggregate, without `overhead`.
    pub max_time: Duration,
    /// Air time of an aggregate in addition to its packets: preamble, interframe spaces and block acknowledgement.
    pub overhead: Duration,
}

impl Default for AggregationConfig {
    /// Returns the values of 802.11n: a DIFS plus half of the smallest contention window, 65,535 bytes, and 4 ms of air
    /// time.
    fn default() -> AggregationConfig {
        AggregationConfig {
            access_delay: Duration::from_micros(100),
            contention: Duration::ZERO,
            max_size: Bytes::new(65_535),
            max_time: Duration::from_millis(4),
            overhead: Duration::from_micros(120),
        }
    }
}

impl Part for AggregationConfig {
    const NAME: &'static str = "aggregation";
    const TEXT: &'static str = "Waits for the medium, and then sends many packets at once, as Wi-Fi does.";
    const KEYS: &'static [Key<AggregationConfig>] = &[
        key(
            "access_delay",
            |part: &mut Self| &mut part.access_delay,
            "Shortest wait for the medium before an aggregate.",
        ),
        key(
            "contention",
            |part: &mut Self| &mut part.contention,
            "A random time from 0 to this value is added to the wait for each aggregate. This time represents stations that compete for the medium.",
        ),
        key("max_size", |part: &mut Self| &mut part.max_size, "Largest number of octets in an aggregate."),
        key("max_time", |part: &mut Self| &mut part.max_time, "Longest air time of an aggregate."),
        key(
            "overhead",
            |part: &mut Self| &mut part.overhead,
            "Additional air time of each aggregate, for its preamble and acknowledgement.",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if given.line_rate.is_none() {
            return Err(Fault::new("", "aggregation needs the direction's rate").help("add rate = \"300 Mbit/s\""));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.max_size < Bytes::new(1500) {
            return Err(Fault::new("max_size", "an aggregate must have room for a full packet of 1500 B"));
        }
        Ok(())
    }
}

impl AccessKind for AggregationConfig {
    fn build(&self, rate: Option<BitRate>, mut rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
        self.check()?;
        let Some(rate) = rate else { return Err(Fault::new("", "aggregation needs the direction's rate")) };
        let wait = draw_wait(self, &mut rng);
        let (idle_until, air_until) = (Time::ZERO, Time::ZERO);
        Ok(Box::new(Aggregation { config: *self, rate, rng, open: None, air_until, idle_until, wait }))
    }
}

fn draw_wait(config: &AggregationConfig, rng: &mut Rng) -> Duration {
    config.access_delay + Duration::from_nanos(rng.below(config.contention.as_nanos() + 1))
}

/// The state of one sender.
#[derive(Debug)]
pub struct Aggregation {
    config: AggregationConfig,
    rate: BitRate,
    rng: Rng,
    /// The aggregate in progress. Packets can join an aggregate only at the instant at which the aggregate starts.
    open: Option<Open>,
    /// End of the last aggregate's air time, including its overhead.
    air_until: Time,
    /// Latest time at which the queue is known to have been empty.
    idle_until: Time,
    /// Wait for the medium before the next aggregate, drawn in advance.
    wait: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    at: Time,
    size: Bytes,
}

impl Aggregation {
    /// Returns the aggregate that a packet of this size can join.
    fn joined(&self, wire: Bytes) -> Option<Open> {
        self.open.filter(|open| {
            let size = open.size + wire;
            // An A-MPDU is limited by its length field and by the longest PPDU.
            size <= self.config.max_size && self.rate.time_to_send(size, 0).0 <= self.config.max_time
        })
    }
}

impl Shaper for Aggregation {
    fn needs_size(&self) -> bool {
        true
    }

    fn advance_idle(&mut self, now: Time) {
        self.idle_until = self.idle_until.max(now);
        // An aggregate that started earlier accepts no more packets, because its preamble has announced its length.
        self.open = self.open.filter(|open| open.at >= now);
    }

    fn advance_backlogged(&mut self, now: Time, _wire: Bytes) {
        self.open = self.open.filter(|open| open.at >= now);
    }

    fn ready_at(&mut self, wire: Bytes) -> Time {
        match self.joined(wire) {
            Some(open) => open.at,
            // The wait for the medium starts when the first packet is queued or when the last aggregate ends, whichever
            // is later.
            None => self.air_until.max(self.idle_until) + self.wait,
        }
    }

    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        let open = match self.joined(wire) {
            Some(open) => Open { size: open.size + wire, ..open },
            None => {
                // Draw the next wait here, once per aggregate, because `ready_at` must return the same time until the
                // packet leaves the queue.
                self.wait = draw_wait(&self.config, &mut self.rng);
                Open { at: start, size: wire }
            }
        };
        self.open = Some(open);
        // The packets of an aggregate are sent one after the other. This packet follows all packets that joined the
        // aggregate earlier.
        let sent = open.at + self.rate.time_to_send(open.size, 0).0;
        self.air_until = sent + self.config.overhead;
        sent
    }

    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
}
