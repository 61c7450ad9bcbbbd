//! COBALT: a combination of CoDel and BLUE (Palmei et al., "Design and Evaluation of COBALT Queue Discipline", LANMAN
//! 2019). It is the AQM of CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN 2018).
//!
//! CoDel acts on sojourn times. While the sojourn times are below the target, CoDel's count decreases step by step. The
//! next episode starts from the remaining count. BLUE acts on unresponsive flows: its drop probability grows while the
//! queue overflows and shrinks while the queue is empty, at most once per `target`. BLUE also drops ECN-capable
//! packets.
//!
//! [`Cobalt`] is the algorithm for one queue, which CAKE uses for each flow. [`CobaltQueue`] is a FIFO queue that
//! COBALT controls. The last packet of a queue is never dropped.
//!
//! As in Linux, COBALT does not wait for an interval when the delay first exceeds the target, because the first step of
//! the control law is zero.
//!
//! As in Linux, `1 / sqrt(count)` has 32 bits. Newton's method runs 4 steps for counts below 16, and 1 step for each
//! change of a larger count.

use crate::codel;
use crate::{Backlog, Buffer, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket};
use lopsided_core::{Bytes, Cx, DropReason, Duration, MarkReason, Packet, Rng, Time};
use lopsided_spec::{Fault, Given, Key, Part, key};

/// Parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltConfig {
    /// Acceptable standing delay.
    pub target: Duration,
    /// Interval of the control law, about the longest RTT of the flows.
    pub interval: Duration,
    /// True if CoDel marks ECN-capable packets instead of dropping them (RFC 3168).
    pub ecn: bool,
    /// Transmission time of a full packet. A delay counts as a standing queue only if it exceeds both the transmission
    /// time of 4 full packets and the transmission time of 2 full packets per busy flow.
    pub mtu_time: Duration,
    /// Amount by which BLUE's drop probability grows at an overflow.
    pub p_inc: f64,
    /// Amount by which BLUE's drop probability shrinks when the queue is empty.
    pub p_dec: f64,
}

impl Default for CobaltConfig {
    /// CoDel's target and interval, and BLUE's steps in Linux: 1/256 up, 1/4096 down.
    fn default() -> CobaltConfig {
        CobaltConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            mtu_time: Duration::ZERO,
            p_inc: 1.0 / 256.0,
            p_dec: 1.0 / 4096.0,
        }
    }
}

/// COBALT's state for one queue.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    count: u32,
    /// `1 / sqrt(count)` in units of 2^-32, updated when the count changes. 0 before the first change.
    inverse_sqrt: u32,
    dropping: bool,
    /// Time of the next signal (drop or mark) of the control law.
    drop_next: Time,
    probability: f64,
    /// Time of the last change of BLUE's probability.
    blue_moved: Time,
}

/// The decision on a departing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send the packet, which may have been marked.
    Send,
    /// Drop the packet.
    Drop,
}

impl Cobalt {
    /// Decides whether a departing packet is dropped, and may mark the packet. `busy_flows` is the number of flows that
    /// have packets queued on the link.
    pub fn judge(
        &mut self,
        config: &CobaltConfig,
        packet: &mut QueuedPacket,
        busy_flows: u32,
        rng: &mut Rng,
        cx: &mut Cx<'_>,
    ) -> Verdict {
        let now = cx.now();
        let sojourn = now - packet.enqueued_at;
        let allowed = config.mtu_time * u64::from(busy_flows.saturating_mul(2).max(4));
        // If the count has not decayed to 0, the control law drops or marks a packet as soon as the delay exceeds the
        // target again.
        let mut is_due = self.is_due(now);
        // Linux's cobalt_should_drop: `is_late` is updated after each change of `drop_next`, except at the start of an
        // episode. COBALT therefore drops at once if the queue was idle for longer than one interval.
        let mut is_late = now > self.drop_next;
        if sojourn > config.target && sojourn > allowed {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.step(config);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Send;
        if self.dropping && is_due {
            if !(config.ecn && cx.mark(&mut packet.packet, MarkReason::Early)) {
                verdict = Verdict::Drop;
            }
            self.recount(self.count.saturating_add(1));
            self.drop_next += self.step(config);
            is_late = now > self.drop_next;
        } else {
            // Below the target the count decreases at the pace of the control law.
            while is_due {
                self.recount(self.count - 1);
                self.drop_next += self.step(config);
                is_due = self.is_due(now);
                is_late = now > self.drop_next;
            }
        }
        // BLUE is independent of CoDel and ignores ECN.
        if self.probability > 0.0 && rng.unit() < self.probability {
            verdict = Verdict::Drop;
        }
        // With a count of 0, the first signal of the next episode is due after one interval. An overdue signal becomes
        // due now. Otherwise all missed signals would follow each other without a pause.
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if verdict == Verdict::Send && is_late {
            self.drop_next = now;
        }
        verdict
    }

    /// Handles an overflow: a packet of this queue was dropped because there was no room.
    pub fn overflowed(&mut self, config: &CobaltConfig, now: Time) {
        // BLUE changes its probability at most once per `target`, regardless of the number of overflows.
        if self.may_move(config, now) {
            self.probability = (self.probability + config.p_inc).min(1.0);
            self.blue_moved = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Handles an empty queue: BLUE's probability and CoDel's count decay. Returns false once both are 0 and the time
    /// of the next signal has passed.
    pub fn found_empty(&mut self, config: &CobaltConfig, now: Time) -> bool {
        if self.probability > 0.0 && self.may_move(config, now) {
            self.probability = (self.probability - config.p_dec).max(0.0);
            self.blue_moved = now;
        }
        self.dropping = false;
        if self.is_due(now) {
            self.recount(self.count - 1);
            self.drop_next += self.step(config);
        }
        self.probability > 0.0 || self.count > 0 || now < self.drop_next
    }

    /// Returns CoDel's count: the number of drops and marks since the queue was last idle, reduced by the decay.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns BLUE's drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// True if the control law's next signal is due.
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// True if BLUE may change its probability again.
    fn may_move(&self, config: &CobaltConfig, now: Time) -> bool {
        now.saturating_since(self.blue_moved) > config.target
    }

    /// Sets the count and updates its inverse square root.
    fn recount(&mut self, count: u32) {
        self.count = count;
        // Linux caches the values of small counts (`cobalt_cache_init`).
        let exact = INVERSE_SQRTS.get(count as usize).copied();
        self.inverse_sqrt = exact.unwrap_or_else(|| newton(self.inverse_sqrt, count));
    }

    /// Returns `interval / sqrt(count)`.
    fn step(&self, config: &CobaltConfig) -> Duration {
        Duration::from_nanos(((u128::from(config.interval.as_nanos()) * u128::from(self.inverse_sqrt)) >> 32) as u64)
    }
}

/// `1 / sqrt(count)` for small counts, for which a single Newton step is too inaccurate.
const INVERSE_SQRTS: [u32; 16] = {
    let mut found = [u32::MAX; 16];
    let mut count = 1;
    while count < found.len() {
        let near = newton(newton(found[count - 1], count as u32), count as u32);
        found[count] = newton(newton(near, count as u32), count as u32);
        count += 1;
    }
    found
};

/// Returns the result of one step of Newton's method for `1 / sqrt(count)`: `x (3 - count x^2) / 2`.
const fn newton(x: u32, count: u32) -> u32 {
    let x = x as u64;
    let three_less = (3 << 32) - count as u64 * ((x * x) >> 32);
    (((three_less >> 2) * x) >> (32 - 2 + 1)) as u32
}

/// Settings of a COBALT queue.
#[derive(Clone, Debug, PartialEq)]
pub struct CobaltQueueConfig {
    /// Capacity of the queue.
    pub limit: Limit,
    /// Parameters of the algorithm.
    pub cobalt: CobaltConfig,
}

impl Default for CobaltQueueConfig {
    fn default() -> CobaltQueueConfig {
        CobaltQueueConfig { limit: Limit::Packets(1000), cobalt: CobaltConfig::default() }
    }
}

impl Part for CobaltQueueConfig {
    const NAME: &'static str = "cobalt";
    const TEXT: &'static str =
        "COBALT, the queue management of CAKE: CoDel, combined with BLUE against unresponsive flows.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const KEYS: &'static [Key<CobaltQueueConfig>] = &[
        key("limit", |part: &mut Self| &mut part.limit, "Limit of the queue."),
        key("target", |part: &mut Self| &mut part.cobalt.target, codel::TARGET),
        key("interval", |part: &mut Self| &mut part.cobalt.interval, codel::INTERVAL),
        key("ecn", |part: &mut Self| &mut part.cobalt.ecn, codel::ECN),
        key(
            "mtu_time",
            |part: &mut Self| &mut part.cobalt.mtu_time,
            "Transmission time of a full-sized packet on the link. A delay of at most 4 times this value does not count as a standing queue.",
        )
        .default_text("1514 octets at the line's rate"),
        key(
            "p_inc",
            |part: &mut Self| &mut part.cobalt.p_inc,
            "Increase of BLUE's probability while the queue overflows.",
        ),
        key(
            "p_dec",
            |part: &mut Self| &mut part.cobalt.p_dec,
            "Decrease of BLUE's probability while the queue is empty.",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        if !given.has("mtu_time") {
            self.cobalt.mtu_time = given.line_rate.map_or(Duration::ZERO, |rate| rate.time_to_send(FULL_FRAME, 0).0);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        if self.cobalt.interval < Duration::from_nanos(1024) || self.cobalt.target.is_zero() {
            return Err(Fault::new("interval", "a target or interval of zero would drop every packet"));
        }
        Ok(())
    }
}

/// Size of an Ethernet frame with an IP packet of 1,500 bytes.
const FULL_FRAME: Bytes = Bytes::new(1514);

impl Discipline for CobaltQueueConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(CobaltQueue::new(self, place.rng())?)))
    }
}

/// A FIFO queue that COBALT controls.
#[derive(Debug)]
pub struct CobaltQueue {
    config: CobaltConfig,
    cobalt: Cobalt,
    buffer: Buffer,
    rng: Rng,
}

impl CobaltQueue {
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is out of range.
    pub fn new(config: &CobaltQueueConfig, rng: Rng) -> Result<CobaltQueue, Fault> {
        config.check_all()?;
        let buffer = Buffer::new(config.limit, Bytes::ZERO)?;
        Ok(CobaltQueue { config: config.cobalt, cobalt: Cobalt::default(), buffer, rng })
    }
}

impl Qdisc for CobaltQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let size = packet.size();
        if !self.buffer.fits(size) {
            self.cobalt.overflowed(&self.config, cx.now());
            return cx.drop(packet, DropReason::QueueFull);
        }
        self.buffer.push(packet, size, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let mut given = self.buffer.pop()?;
            let verdict = self.cobalt.judge(&self.config, &mut given, 1, &mut self.rng, cx);
            // Linux's cake_dequeue: the last packet of a flow is sent even if COBALT decided to drop it.
            if self.buffer.backlog().packets == 0 {
                self.cobalt.found_empty(&self.config, cx.now());
                return Some(given);
            }
            match verdict {
                Verdict::Send => return Some(given),
                Verdict::Drop => cx.drop(given.packet, DropReason::Early),
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.buffer.backlog()
    }

    fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        Some(&mut self.buffer)
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("codel_count", f64::from(self.cobalt.count()));
        out("blue_probability", self.cobalt.probability());
    }
}
