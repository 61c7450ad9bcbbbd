//! ASQM: active sense queue management (Havey 2015, chapter 5).
//!
//! A FIFO that measures the delay of the whole link with sensing packets (the module `sensing`). The measured delay
//! includes queues below IP, which CoDel and PIE cannot measure.
//!
//! - When the smoothed delay of the link reaches `target`, a dropping phase starts with the next departing packet.
//! - In a dropping phase, one packet per interval is marked or dropped. The interval after the n-th mark or drop is
//!   `interval / sqrt(n)`.
//! - The first sample below `target` ends the dropping phase. In the next dropping phase, n starts at 1 again.
//!
//! **Interpretations.** The smoothed delay starts a dropping phase, and a single raw sample ends it. A sample below the
//! target never starts a dropping phase. Packets are dropped when they leave the queue. Sensing packets are never
//! dropped. The key `base_delay` selects whether the estimate is a round trip or a queueing delay, because the
//! dissertation describes both.
//!
//! **Consequence.** A standing queue in the opposite direction also causes drops.
//!
//! With `far_end = "stage"`, the sensed path may include links of other providers, as section 7.1 proposes.

use crate::tools::sensing::{self, Estimate, Sensor, SinceSensed};
use crate::{
    Backlog, BaseDelay, Buffer, Discipline, FarEnd, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, Sensing, Smoothing,
    is_sensing,
};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, NewPacket, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of ASQM.
#[derive(Clone, Debug, PartialEq)]
pub struct AsqmConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Round-trip delay of the link at which dropping starts.
    pub target: Duration,
    /// Interval between the first and the second drop.
    pub interval: Duration,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The far end, which sends sensing packets back.
    pub far_end: FarEnd,
    /// Selects whether the delay samples include the base delay, which is the delay of the link without queues.
    pub base_delay: BaseDelay,
    /// The formula that smooths delay samples.
    pub smoothing: Smoothing,
}

impl Default for AsqmConfig {
    /// The values of the dissertation. The dissertation states no buffer limit, so the limit is CoDel's default.
    fn default() -> AsqmConfig {
        AsqmConfig {
            limit: Limit::Packets(1000),
            target: Duration::from_millis(100),
            interval: Duration::from_millis(100),
            ecn: true,
            far_end: FarEnd::Link,
            base_delay: BaseDelay::Subtract,
            smoothing: Smoothing::Rfc6298,
        }
    }
}

impl Part for AsqmConfig {
    const NAME: &'static str = "asqm";
    const TEXT: &'static str = "ASQM (Havey 2015): sends probe packets to measure the round-trip delay of the whole link, and drops or marks packets if this delay exceeds a target.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<AsqmConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Limit of the queue."),
        key(
            "target",
            |part: &mut Self| &mut part.target,
            "Round-trip delay of the link above which packets are dropped or marked.",
        ),
        key(
            "interval",
            |part: &mut Self| &mut part.interval,
            "Time between the first and the second drop of a series.",
        ),
        key("ecn", |part: &mut Self| &mut part.ecn, crate::aqm::codel::ECN),
        key("far_end", |part: &mut Self| &mut part.far_end, sensing::FAR_END),
        key("base_delay", |part: &mut Self| &mut part.base_delay, sensing::BASE_DELAY),
        key("smoothing", |part: &mut Self| &mut part.smoothing, sensing::SMOOTHING),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.interval.is_zero() || self.interval > Duration::from_secs(60) {
            return Err(Fault::new("interval", "the interval must be above zero and at most 60 s"));
        }
        Ok(())
    }
}

impl Discipline for AsqmConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Asqm::new(self)?)))
    }
}

/// A FIFO queue that ASQM controls.
#[derive(Debug)]
pub struct Asqm {
    config: AsqmConfig,
    buffer: Buffer,
    sensor: Sensor,
    since_sensed: SinceSensed,
    link: Estimate,
    /// State of the dropping phase; `None` while no packets are dropped.
    dropping: Option<Dropping>,
}

/// A dropping phase.
#[derive(Debug)]
struct Dropping {
    /// Number of packets marked or dropped in this dropping phase.
    count: u64,
    /// Time of the next mark or drop.
    next: Time,
}

impl Asqm {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &AsqmConfig) -> Result<Asqm, Fault> {
        config.check_all()?;
        Ok(Asqm {
            config: config.clone(),
            buffer: Buffer::new(config.limit, Bytes::ZERO)?,
            sensor: Sensor::new(config.base_delay),
            since_sensed: SinceSensed::default(),
            link: Estimate::default(),
            dropping: None,
        })
    }

    /// Handles a new sample of the link's delay.
    fn on_sample(&mut self, sample: Duration, now: Time) {
        self.link.update(sample, self.config.smoothing, now);
        // A single sample below the target ends the dropping phase. Only the smoothed delay can start it (see the
        // interpretations above).
        if sample < self.config.target {
            self.dropping = None;
        } else if self.dropping.is_none() && self.link.get(now) >= Some(self.config.target) {
            self.dropping = Some(Dropping { count: 0, next: now });
        }
    }

    /// Returns true if the departing packet must be marked or dropped, and sets the time of the next mark or drop.
    fn is_due(&mut self, now: Time) -> bool {
        // Without recent samples the delay of the link is unknown, so end the dropping phase.
        if self.link.get(now).is_none() {
            self.dropping = None;
        }
        let Some(dropping) = self.dropping.as_mut().filter(|dropping| dropping.next <= now) else { return false };
        dropping.count += 1;
        // interval / sqrt(count), in integers.
        let interval = u128::from(self.config.interval.as_nanos());
        let spacing = (interval * interval / u128::from(dropping.count)).isqrt();
        dropping.next = now + Duration::from_nanos(spacing as u64);
        true
    }
}

impl Qdisc for Asqm {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        if !self.buffer.fits(size) {
            return cx.drop(packet, DropReason::QueueFull);
        }
        // Prepare a sensing packet only if the data packet is enqueued. The sensing packet then waits behind the data
        // packet.
        self.sensor.follow(&packet, &mut self.since_sensed, 0, cx.now());
        self.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let mut given = self.buffer.pop()?;
            // Never drop a sensing packet: the sample from this packet could end the dropping phase.
            if is_sensing(&given.packet) || !self.is_due(cx.now()) {
                return Some(given);
            }
            if self.config.ecn && cx.mark(&mut given.packet, MarkReason::Early) {
                return Some(given);
            }
            cx.drop(given.packet, DropReason::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn sensing(&mut self) -> Option<&mut dyn Sensing> {
        Some(self)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        if let Some(smoothed) = self.link.latest() {
            out("link_delay_ms", smoothed.as_millis_f64());
        }
        out("asqm_dropping", f64::from(u8::from(self.dropping.is_some())));
        self.sensor.gauges(out);
    }
}

impl Sensing for Asqm {
    fn far_end(&mut self) -> FarEnd {
        self.config.far_end
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        let Some((_, sample)) = self.sensor.come_home(packet, now) else { return false };
        self.on_sample(sample, now);
        true
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.sensor.take_made()
    }
}
