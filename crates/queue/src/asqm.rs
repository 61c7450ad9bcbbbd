//! ASQM: active sense queue management (Havey 2015 chapter 5).
//!
//! A FIFO that knows the delay of the whole link from sensing packets (the module `sensing`), and so sees a standing
//! queue that has moved below IP, behind the discipline, where CoDel and PIE see nothing (bufferbloat displacement).
//!
//! - Dropping begins when the smoothed delay of the link has reached `target`, with the packet that leaves next.
//! - While it lasts one packet is marked or dropped for each interval, and the interval after the n-th is `interval /
//!   sqrt(n)`.
//! - It ends with the first sample below `target`; n counts from the beginning again.
//!
//! **Readings.** The text has the smoothed value begin and one raw sample end the dropping. It does not say what
//! happens at a sample below the target while the smoothed value is still above it: here that begins nothing. Packets
//! are dropped as they leave; sensing packets are not. The text calls the estimate the round trip of the link and its
//! queueing delay by turns: the key `base_delay` has both.
//!
//! **What follows.** A round trip does not tell its directions. Where both have a standing queue, or the one that
//! carries the ACKs has, the discipline drops packets of a direction that is not to blame.
//!
//! Left out: sensing over the network of another provider (section 7.1).

use crate::ring::PacketRing;
use crate::sensing::{self, Estimate, Sensor, SinceSensed};
use crate::{
    Backlog, BaseDelay, BufferLimit, Discipline, FarEnd, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, Smoothing,
    Waiting, is_sensing,
};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, NewPacket, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// ASQM as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct AsqmConfig {
    pub limit: Limit,
    pub target: Duration,
    pub interval: Duration,
    pub ecn: bool,
    pub far_end: FarEnd,
    pub base_delay: BaseDelay,
    pub smoothing: Smoothing,
}

impl Default for AsqmConfig {
    /// The dissertation's values; it gives no limit, which is CoDel's.
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
    const TEXT: &'static str = "ASQM (Havey 2015): senses the delay of the whole link with packets of its own, and drops or marks above a target.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<AsqmConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "What the queue may hold."),
        key(
            "target",
            |part: &mut Self| &mut part.target,
            "The delay of the link, there and back, at which dropping begins.",
        ),
        key("interval", |part: &mut Self| &mut part.interval, "From the first drop to the second."),
        key("ecn", |part: &mut Self| &mut part.ecn, crate::codel::ECN),
        key("far_end", |part: &mut Self| &mut part.far_end, sensing::FAR_END),
        key("base_delay", |part: &mut Self| &mut part.base_delay, sensing::BASE_DELAY),
        key("smoothing", |part: &mut Self| &mut part.smoothing, sensing::SMOOTHING),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.interval.is_zero() || self.interval > Duration::from_secs(60) {
            return Err(Fault::new("interval", "the interval is above zero and at most 60 s"));
        }
        Ok(())
    }
}

impl Discipline for AsqmConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Asqm::new(self)?)))
    }
}

/// A FIFO under ASQM.
#[derive(Debug)]
pub struct Asqm {
    config: AsqmConfig,
    ring: PacketRing,
    room: BufferLimit,
    sensor: Sensor,
    since_sensed: SinceSensed,
    link: Estimate,
    dropping: Option<Dropping>,
}

#[derive(Debug)]
struct Dropping {
    /// Marked and dropped since it began.
    count: u64,
    next: Time,
}

impl Asqm {
    pub fn new(config: &AsqmConfig) -> Result<Asqm, Fault> {
        config.check()?;
        Ok(Asqm {
            config: config.clone(),
            ring: PacketRing::default(),
            room: BufferLimit::new(config.limit, Bytes::ZERO)?,
            sensor: Sensor::new(config.base_delay),
            since_sensed: SinceSensed::default(),
            link: Estimate::default(),
            dropping: None,
        })
    }

    fn on_sample(&mut self, sample: Duration, now: Time) {
        self.link.update(sample, self.config.smoothing, now);
        if sample < self.config.target {
            self.dropping = None;
        } else if self.dropping.is_none() && self.link.get(now) >= Some(self.config.target) {
            self.dropping = Some(Dropping { count: 0, next: now });
        }
    }

    /// True if the departing packet must be marked or dropped.
    fn is_due(&mut self, now: Time) -> bool {
        if self.link.get(now).is_none() {
            self.dropping = None;
        }
        let Some(dropping) = self.dropping.as_mut().filter(|dropping| dropping.next <= now) else { return false };
        dropping.count += 1;
        let interval = u128::from(self.config.interval.as_nanos());
        let spacing = (interval * interval / u128::from(dropping.count)).isqrt();
        dropping.next = now + Duration::from_nanos(spacing as u64);
        true
    }
}

impl Qdisc for Asqm {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        if !self.room.fits(size) {
            return cx.drop(packet, DropReason::QueueFull);
        }
        self.room.charge(size);
        self.sensor.follow(&packet, &mut self.since_sensed, 0, cx.now());
        self.ring.push(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let mut given = self.ring.pop()?;
            self.room.release(given.packet.size());
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
        self.ring.backlog()
    }

    fn removes(&self) -> bool {
        true
    }

    fn remove(&mut self, waiting: &Waiting<'_>, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.ring.remove(waiting)?;
        self.room.release(packet.size());
        Some(packet)
    }

    fn senses(&self) -> Option<FarEnd> {
        Some(self.config.far_end)
    }

    fn observe_reverse(&mut self, packet: &Packet, now: Time) -> bool {
        let Some((_, sample)) = self.sensor.come_home(packet, now) else { return false };
        self.on_sample(sample, now);
        true
    }

    fn poll_originate(&mut self) -> Option<NewPacket> {
        self.sensor.take_made()
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        if let Some(smoothed) = self.link.latest() {
            out("link_delay_ms", smoothed.as_millis_f64());
        }
        out("asqm_dropping", f64::from(u8::from(self.dropping.is_some())));
        self.sensor.gauges(out);
    }
}
