//! CoDel: controlled delay (RFC 8289, Nichols and Jacobson 2012).
//!
//! Once the sojourn time has been at least `target` for an `interval`, CoDel drops or marks a departing packet. The
//! next drop or mark follows after `interval / sqrt(count)` (the control law), until the sojourn time is below
//! `target`.
//!
//! [`Codel`] is the algorithm for one queue, which fq_codel uses for each flow. [`CodelQueue`] is a FIFO queue that
//! CoDel controls.
//!
//! **Deviations**, all as in Linux's `sch_codel` (tc-codel(8)), so that the same arrivals cause the same drops:
//! - Times are in units of 1,024 ns, and are compared with "after" instead of "at or after".
//! - `1 / sqrt(count)` has 16 bits and is refined by one step of Newton's method at each change of `count`.
//! - No packet is dropped while at most `mtu` bytes wait behind the departing packet. RFC 8289 uses the size of the
//!   largest packet so far instead of `mtu`.
//!
//! Not modelled: the classifier that restricts `ce_threshold` to some packets.

use crate::{Backlog, Buffer, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// Parameters of CoDel, named as in tc-codel(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Interval of the control law, about the longest RTT of the flows.
    pub interval: Duration,
    /// True if ECN-capable packets are marked instead of dropped (RFC 3168).
    pub ecn: bool,
    /// Sojourn time above which every ECN-capable packet is marked, independently of the control law. `None`: no
    /// threshold.
    pub ce_threshold: Option<Duration>,
    /// A packet is not dropped if at most this number of bytes, including link headers, wait behind the packet.
    pub mtu: Bytes,
}

impl Default for CodelConfig {
    /// The defaults of RFC 8289 and Linux. `mtu` is the size of an Ethernet frame with an IP packet of 1,500 bytes.
    fn default() -> CodelConfig {
        CodelConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            mtu: Bytes::new(1514),
        }
    }
}

/// Times and intervals in units of 1,024 ns, as in Linux. They wrap around.
type Ticks = u32;

fn ticks(nanos: u64) -> Ticks {
    (nanos >> 10) as Ticks
}

fn is_after(a: Ticks, b: Ticks) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

fn is_at_or_after(a: Ticks, b: Ticks) -> bool {
    (a.wrapping_sub(b) as i32) >= 0
}

/// CoDel's state for one queue.
#[derive(Clone, Debug, Default)]
pub struct Codel {
    /// Number of packets dropped or marked in this episode.
    count: u32,
    /// Value of `count` at the start of this episode.
    last_count: u32,
    dropping: bool,
    /// `1 / sqrt(count)` in units of 2^-16.
    inverse_sqrt: u16,
    /// The time at which dropping may start; 0 while the sojourn time is below the target.
    first_above: Ticks,
    /// Time of the control law's next drop or mark.
    drop_next: Ticks,
}

/// A queue from which CoDel dequeues packets.
///
/// # Examples
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_queue::{CodelSource, QueuedPacket};
/// use std::collections::VecDeque;
///
/// #[derive(Default)]
/// struct Ring(VecDeque<QueuedPacket>);
///
/// impl CodelSource for Ring {
///     fn pop(&mut self) -> Option<QueuedPacket> {
///         self.0.pop_front()
///     }
///     fn waiting(&self) -> Bytes {
///         self.0.iter().map(|queued| queued.packet.size()).sum()
///     }
/// }
///
/// assert_eq!(Ring::default().waiting(), Bytes::ZERO);
/// ```
pub trait CodelSource {
    /// Removes and returns the packet at the head.
    fn pop(&mut self) -> Option<QueuedPacket>;

    /// Returns the total size of the packets that are still queued, including link headers.
    fn waiting(&self) -> Bytes;
}

impl Codel {
    /// Returns the packet to send now. Drops and marks packets as the control law requires.
    pub fn dequeue(
        &mut self,
        config: &CodelConfig,
        source: &mut impl CodelSource,
        cx: &mut Cx<'_>,
    ) -> Option<QueuedPacket> {
        let Some(mut packet) = source.pop() else {
            // As in Linux's codel_dequeue, an empty queue clears `first_above`, because the next packet may belong to
            // another flow with the same hash.
            self.first_above = 0;
            self.dropping = false;
            return None;
        };
        let now = ticks(cx.now().as_nanos());
        let above = self.is_above(config, &packet, source, cx.now());
        if self.dropping {
            // RFC 8289, section 5.5: a packet whose sojourn time is below the target ends the episode.
            if !above {
                self.dropping = false;
            }
            while self.dropping && is_at_or_after(now, self.drop_next) {
                self.count = self.count.saturating_add(1);
                self.refine();
                if config.ecn && cx.mark(&mut packet.packet, MarkReason::Early) {
                    self.drop_next = self.after_interval(config, self.drop_next);
                    break;
                }
                cx.drop(packet.packet, DropReason::Early);
                packet = match source.pop() {
                    Some(next) => next,
                    None => {
                        self.first_above = 0;
                        self.dropping = false;
                        return None;
                    }
                };
                if self.is_above(config, &packet, source, cx.now()) {
                    self.drop_next = self.after_interval(config, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            // The first drop or mark of an episode happens as soon as the sojourn time has been above the target for an
            // interval.
            if !(config.ecn && cx.mark(&mut packet.packet, MarkReason::Early)) {
                cx.drop(packet.packet, DropReason::Early);
                let next = source.pop();
                match &next {
                    Some(next) => _ = self.is_above(config, next, source, cx.now()),
                    None => self.first_above = 0,
                }
                self.begin(config, now);
                packet = next?;
            } else {
                self.begin(config, now);
            }
        }
        // `ce_threshold` is independent of the control law: each packet with a longer sojourn time is marked.
        if config.ce_threshold.is_some_and(|threshold| cx.now() - packet.enqueued_at > threshold) {
            cx.mark(&mut packet.packet, MarkReason::Threshold);
        }
        Some(packet)
    }

    /// Returns the number of packets dropped or marked in the current or latest episode.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Adds the number of packets that a full buffer dropped to the count. The control law then drops more often.
    pub fn add_drops(&mut self, dropped: u32) {
        self.count = self.count.saturating_add(dropped);
    }

    /// True during a dropping episode.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// True if the sojourn times up to and including this packet have been above the target for an interval.
    fn is_above(&mut self, config: &CodelConfig, packet: &QueuedPacket, source: &impl CodelSource, at: Time) -> bool {
        let now = ticks(at.as_nanos());
        let sojourn = now.wrapping_sub(ticks(packet.enqueued_at.as_nanos()));
        if sojourn < ticks(config.target.as_nanos()) || source.waiting() <= config.mtu {
            self.first_above = 0;
            return false;
        }
        // The sojourn time has just risen above the target: wait for one interval before dropping.
        if self.first_above == 0 {
            self.first_above = now.wrapping_add(ticks(config.interval.as_nanos()));
            return false;
        }
        is_after(now, self.first_above)
    }

    /// Starts a dropping episode.
    fn begin(&mut self, config: &CodelConfig, now: Ticks) {
        self.dropping = true;
        // As in Linux, use only the number of drops in the latest episode.
        let gained = self.count.wrapping_sub(self.last_count);
        // RFC 8289, section 4.1: if the latest episode ended recently, resume with about its last drop rate.
        let recent = now.wrapping_sub(self.drop_next) < ticks(config.interval.as_nanos()).saturating_mul(16);
        if gained > 1 && recent {
            self.count = gained;
            self.refine();
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.after_interval(config, now);
    }

    /// Returns the time `from + interval / sqrt(count)`.
    fn after_interval(&self, config: &CodelConfig, from: Ticks) -> Ticks {
        let interval = u64::from(ticks(config.interval.as_nanos()));
        from.wrapping_add(((interval * (u64::from(self.inverse_sqrt) << 16)) >> 32) as Ticks)
    }

    /// Refines `inverse_sqrt` by one step of Newton's method for `1 / sqrt(count)`: `x (3 - count x^2) / 2`.
    fn refine(&mut self) {
        let x = u64::from(self.inverse_sqrt) << 16;
        let squared = (x * x) >> 32;
        let three_less = (3_u64 << 32).wrapping_sub(u64::from(self.count) * squared) >> 2;
        self.inverse_sqrt = ((three_less.wrapping_mul(x)) >> (32 - 2 + 1) >> 16) as u16;
    }
}

/// Settings of a CoDel queue, named as in tc-codel(8).
#[derive(Clone, Debug, PartialEq)]
pub struct CodelQueueConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Parameters of the algorithm.
    pub codel: CodelConfig,
    /// Size of the link header that is counted with each IP packet, in bytes.
    pub header: Bytes,
}

impl Default for CodelQueueConfig {
    fn default() -> CodelQueueConfig {
        CodelQueueConfig { limit: Limit::Packets(1000), codel: CodelConfig::default(), header: Bytes::ZERO }
    }
}

impl Part for CodelQueueConfig {
    const NAME: &'static str = "codel";
    const TEXT: &'static str = "CoDel (RFC 8289): drops or marks departing packets once waiting times have exceeded a target for a whole interval.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<CodelQueueConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Limit of the queue."),
        key("target", |part: &mut Self| &mut part.codel.target, TARGET),
        key("interval", |part: &mut Self| &mut part.codel.interval, INTERVAL),
        key("ecn", |part: &mut Self| &mut part.codel.ecn, ECN),
        key("ce_threshold", |part: &mut Self| &mut part.codel.ce_threshold, CE_THRESHOLD).none_word("off"),
        key("mtu", |part: &mut Self| &mut part.codel.mtu, MTU),
        key("header", |part: &mut Self| &mut part.header, HEADER),
    ];

    fn check(&self) -> Result<(), Fault> {
        self.codel.check()
    }
}

impl Discipline for CodelQueueConfig {
    fn build(&self, _place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(CodelQueue::new(self)?)))
    }
}

// Descriptions of CoDel's keys, shared by all disciplines that contain CoDel.
pub(crate) const TARGET: &str = "Acceptable standing delay.";
pub(crate) const INTERVAL: &str = "Packets are dropped or marked after the delay has exceeded the target for this time. Use about the longest round-trip time of the flows.";
pub(crate) const ECN: &str = "Mark ECN-capable packets instead of dropping them (RFC 3168).";
pub(crate) const CE_THRESHOLD: &str = "Every packet that waited longer than this time is marked.";
pub(crate) const MTU: &str =
    "No packet is dropped while the packets behind the head packet have at most this size, including headers.";
pub(crate) const HEADER: &str = "Octets counted for each packet in addition to the IP packet: 14 on Ethernet.";

impl CodelConfig {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.interval.is_zero() {
            return Err(Fault::new("interval", "an interval of zero would drop every packet"));
        }
        // Timestamps wrap at 32 bits of 1,024 ns, so 16 intervals must fit in half of that range (36 minutes).
        if self.interval > Duration::from_secs(60) {
            return Err(Fault::new("interval", "an interval must be at most 60 s"));
        }
        Ok(())
    }
}

/// A FIFO queue that CoDel controls.
#[derive(Debug)]
pub struct CodelQueue {
    config: CodelQueueConfig,
    codel: Codel,
    source: Source,
}

/// The queued packets, and the size of the link header that CoDel counts with each packet.
#[derive(Debug)]
struct Source {
    buffer: Buffer,
    header: Bytes,
}

impl CodelSource for Source {
    fn pop(&mut self) -> Option<QueuedPacket> {
        self.buffer.pop()
    }

    fn waiting(&self) -> Bytes {
        self.buffer.backlog().with_headers(self.header)
    }
}

impl CodelQueue {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &CodelQueueConfig) -> Result<CodelQueue, Fault> {
        config.check_all()?;
        let source = Source { buffer: Buffer::new(config.limit, config.header)?, header: config.header };
        Ok(CodelQueue { config: config.clone(), codel: Codel::default(), source })
    }
}

impl Qdisc for CodelQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        if !self.source.buffer.fits(size) {
            return cx.drop(packet, DropReason::QueueFull);
        }
        self.source.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        self.codel.dequeue(&self.config.codel, &mut self.source, cx)
    }

    fn backlog(&self) -> Backlog {
        self.source.buffer.backlog()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.source.buffer)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("codel_count", f64::from(self.codel.count()));
        out("codel_dropping", f64::from(u8::from(self.codel.is_dropping())));
    }
}
