//! CHOKe: an arriving packet is compared with a random queued packet, and both are dropped if they belong to the same
//! flow (Pan, Prabhakar and Psounis, CHOKe, a stateless active queue management scheme, 2000; tc-choke(8)).
//!
//! While the average backlog is above `min`, the comparison takes place before RED's decision. The flow with the most
//! queued packets loses the most packets, although CHOKe stores no state per flow.
//!
//! **The average** uses Linux's fixed-point arithmetic, whose rounding raises the average by half a packet. RED's
//! probability depends only on the integer part of the average.
//!
//! **Deviation.** Linux draws a random slot of its ring buffer. After 3 empty slots, Linux compares the head packet.
//! This module draws uniformly from the queued packets.

use crate::aqm::red::law::{self, Average, Slope, Verdict};
use crate::bounds;
use crate::{Backlog, Discipline, Limit, Qdisc, Queue, QueuePlace, QueuedPacket, RedConfig, Threshold};
use lopsided_core::{Bytes, Cx, DropReason, Packet, Rng, Transport};
use lopsided_spec::{Fault, Given, Key, Part, key};
use std::collections::VecDeque;

/// Settings of a CHOKe queue, named as in tc-choke(8).
#[derive(Clone, Debug, PartialEq)]
pub struct ChokeConfig {
    /// The settings of RED. The limit and the thresholds must be in packets.
    pub red: RedConfig,
}

impl Default for ChokeConfig {
    fn default() -> ChokeConfig {
        ChokeConfig { red: RedConfig { limit: Limit::Packets(1000), ..RedConfig::default() } }
    }
}

impl Part for ChokeConfig {
    const NAME: &'static str = "choke";
    const TEXT: &'static str =
        "CHOKe: RED that also drops an arriving packet together with a queued packet of the same flow.";
    const SHORTHAND: Option<&'static str> = Some("limit");
    const EXCLUSIVE: &'static [&'static [&'static str]] = &[&["weight", "burst"]];
    const KEYS: &'static [Key<ChokeConfig>] = &[
        key("limit", |choke: &mut Self| &mut choke.red.limit, "Limit of the queue in packets."),
        key(
            "min",
            |choke: &mut Self| &mut choke.red.min,
            "Average queue length above which each arriving packet is compared with a random queued packet, and may be marked or dropped.",
        )
        .default_text("a third of max"),
        key("max", |choke: &mut Self| &mut choke.red.max, "Average queue length above which all packets are marked or dropped.")
            .default_text("a quarter of the limit"),
        key("probability", |choke: &mut Self| &mut choke.red.probability, "Probability of a mark or drop when the average queue length reaches max."),
        key(
            "weight",
            |choke: &mut Self| &mut choke.red.weight,
            "Weight of each new sample in the average queue length. Use either `weight` or `burst`.",
        )
        .default_text("computed from burst"),
        key(
            "burst",
            |choke: &mut Self| &mut choke.red.burst,
            "Number of packets that may arrive at once at the empty queue.",
        )
        .default_text("(2 min + max) / 3")
        .input_only(),
        key("avpkt", |choke: &mut Self| &mut choke.red.avpkt, "Size of a typical packet."),
        key("bandwidth", |choke: &mut Self| &mut choke.red.bandwidth, "Rate at which packets leave the queue. It determines how fast the average falls while the queue is empty.")
            .none_word("unlimited")
            .default_text("the line's"),
        key(
            "idle_decay",
            |choke: &mut Self| &mut choke.red.idle_decay,
            "True if the average falls while the queue is empty. Inside a token bucket, htb or drr, Linux does not detect that the queue is empty.",
        )
        .default_text("true, or false if the direction has a shaper or the queue is inside tbf, htb or drr"),
        key(
            "ecn",
            |choke: &mut Self| &mut choke.red.ecn,
            "Mark the ECN-capable packets that RED selects, instead of dropping them.",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        self.red.complete(given)
    }

    fn check(&self) -> Result<(), Fault> {
        self.limit()?;
        if !matches!(self.red.min, Threshold::Packets(_)) {
            return Err(Fault::new("min", "a threshold of choke must be in packets"));
        }
        self.red.check()
    }
}

impl ChokeConfig {
    /// Returns the limit in packets, or an error if the limit is in another unit.
    fn limit(&self) -> Result<u32, Fault> {
        match self.red.limit {
            Limit::Packets(packets) => bounds::limit("limit", u64::from(packets)).map(|()| packets),
            _ => Err(Fault::new("limit", "the limit of choke must be in packets")),
        }
    }
}

impl Discipline for ChokeConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Choke::new(self, place.rng())?)))
    }
}

/// A FIFO queue that CHOKe controls.
#[derive(Debug)]
pub struct Choke {
    config: RedConfig,
    limit: u32,
    rng: Rng,
    average: Average,
    slope: Slope,
    packets: VecDeque<QueuedPacket>,
    backlog: Backlog,
}

impl Choke {
    /// Creates an empty queue with its own random stream `rng`.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings are invalid or not in packets.
    pub fn new(config: &ChokeConfig, rng: Rng) -> Result<Choke, Fault> {
        config.check_all()?;
        let red = config.red;
        Ok(Choke {
            config: red,
            limit: config.limit()?,
            rng,
            average: Average::new(red.weight, law::idle_packet(red.bandwidth, red.avpkt))
                .falling(red.idle_decay)
                .in_whole(),
            slope: Slope::new(red.min.count() as f64, red.max.count() as f64, red.probability, red.gentle),
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        })
    }

    /// Draws a queued packet at random. Removes and returns the drawn packet if it belongs to the arriving packet's
    /// flow.
    fn draw_of_flow(&mut self, packet: &Packet) -> Option<QueuedPacket> {
        if self.packets.is_empty() {
            return None;
        }
        let drawn = self.rng.below(self.packets.len() as u64) as usize;
        if flow(&self.packets[drawn].packet) != flow(packet) {
            return None;
        }
        let victim = self.packets.remove(drawn)?;
        self.backlog.remove(victim.packet.size());
        Some(victim)
    }

    /// If the queue is now empty, records the start of an idle time in the average.
    fn leave_if_empty(&mut self, cx: &Cx<'_>) {
        if self.packets.is_empty() {
            self.average.emptied(cx.now());
        }
    }
}

/// Returns the key that identifies a packet's flow.
fn flow(packet: &Packet) -> impl PartialEq + use<> {
    let (protocol, ports) = match packet.transport() {
        Transport::Tcp(header) => (6, (header.src_port, header.dst_port)),
        Transport::Udp(header) => (17, (header.src_port, header.dst_port)),
        Transport::Other { protocol } => (*protocol, (0, 0)),
    };
    (packet.src(), packet.dst(), protocol, ports)
}

impl Qdisc for Choke {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut Cx<'_>) {
        self.average.arrival(u64::from(self.backlog.packets), cx.now());
        let average = self.average.value();
        if self.slope.is_above_min(average) {
            if let Some(victim) = self.draw_of_flow(&packet) {
                cx.drop(victim.packet, DropReason::Early);
                cx.drop(packet, DropReason::Early);
                return self.leave_if_empty(cx);
            }
        }
        // As in Linux's choke_enqueue, RED uses only the integer part of the average.
        let verdict = self.slope.judge(libm::floor(average), &mut self.rng);
        if verdict != Verdict::Pass && !(self.config.ecn && packet.is_ecn_capable()) {
            return cx.drop(packet, DropReason::Early);
        }
        // As in Linux, RED decides before the limit is checked.
        if self.backlog.packets >= self.limit {
            return cx.drop(packet, DropReason::QueueFull);
        }
        if verdict != Verdict::Pass {
            cx.mark(&mut packet, verdict.mark_reason());
        }
        self.average.filled();
        self.backlog.add(&packet, packet.size(), cx);
        self.packets.push_back(QueuedPacket { packet, enqueued_at: cx.now() });
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let given = self.packets.pop_front()?;
        self.backlog.remove(given.packet.size());
        self.leave_if_empty(cx);
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        self.packets.front().map(|head| head.packet.size())
    }

    fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("average", self.average.value());
    }
}
