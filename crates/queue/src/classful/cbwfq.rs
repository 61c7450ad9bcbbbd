//! Class-based weighted fair queueing with a low-latency queue (`bandwidth` and `priority` of a policy map in Cisco
//! IOS; Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, 1994).
//!
//! Each class is guaranteed its `bandwidth`. The classes share unused bandwidth in proportion to their guarantees. The
//! class with the earliest finish time is served next. The finish time is the start time of the class's head packet
//! plus the time that the packet takes at the class's bandwidth. An idle class starts at the finish time of the packet
//! that was served last.
//!
//! A class with `priority` is served before all other classes. While any packet waits in any class, packets that exceed
//! the bandwidth and burst of the priority class are dropped (IOS's conditional policer).
//!
//! Use a priority class for expedited forwarding (RFC 3246), and a class with a `wred` queue for assured forwarding
//! (RFC 2597): see `scenarios/diffserv.toml`.
//!
//! Not modelled: bandwidth in per cent, and flow queues in the default class (use `fq_codel` or `wfq` inside).

use crate::classful::classes::Classes;
use crate::classful::settings::{self, CLASSIFY, DEFAULT_CLASS};
use crate::{Backlog, Class, Discipline, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Rule};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key, part_value};

/// Settings of class-based weighted fair queueing.
#[derive(Clone, Debug, PartialEq)]
pub struct CbwfqConfig {
    /// The classes, numbered from 0.
    pub classes: Vec<CbwfqClass>,
    /// Rules that assign packets to classes. The first rule that matches decides.
    pub classify: Vec<Rule>,
    /// The class of packets that no rule matches. `None`: the last class.
    pub default_class: Option<u32>,
}

/// Settings of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct CbwfqClass {
    /// Guaranteed bandwidth.
    pub bandwidth: BitRate,
    /// True if the class is served before all classes without priority, and is policed.
    pub priority: bool,
    /// With `priority`: maximum burst in bytes. `None`: the number of bytes that the bandwidth permits in 200 ms.
    pub burst: Option<Bytes>,
    /// The queue of the class.
    pub queue: QueueConfig,
}

impl Default for CbwfqClass {
    /// A class with IOS's default queue limit of 64 packets.
    fn default() -> CbwfqClass {
        let bandwidth = BitRate::from_bps(1_000_000);
        CbwfqClass { bandwidth, priority: false, burst: None, queue: QueueConfig::packets(64) }
    }
}

impl Default for CbwfqConfig {
    /// One class for expedited forwarding (RFC 3246), one for best effort.
    fn default() -> CbwfqConfig {
        let urgent = CbwfqClass { priority: true, ..CbwfqClass::default() };
        let expedited = Rule { class: 0, dscp: Some(46), ..Rule::default() };
        let classes = vec![urgent, CbwfqClass::default()];
        CbwfqConfig { classes, classify: vec![expedited], default_class: None }
    }
}

impl Part for CbwfqClass {
    const NAME: &'static str = "cbwfq_class";
    const TEXT: &'static str = "A class of class-based weighted fair queueing.";
    const KEYS: &'static [Key<CbwfqClass>] = &[
        key("bandwidth", |class: &mut Self| &mut class.bandwidth, "Guaranteed rate of the class.")
            .required("\"2 Mbit/s\""),
        key(
            "priority",
            |class: &mut Self| &mut class.priority,
            "If true, the class is served before all other classes. While any packet waits, the class is policed to its bandwidth.",
        ),
        key("burst", |class: &mut Self| &mut class.burst, "With priority: number of octets that may arrive at once.")
            .default_text("200 ms of the bandwidth"),
        key("queue", |class: &mut Self| &mut class.queue, "Queue of the class.").default_text("64 packets, drop-tail"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.bandwidth.as_bps() == 0 {
            return Err(Fault::new("bandwidth", "the bandwidth is zero"));
        }
        if self.burst.is_some() && !self.priority {
            return Err(Fault::new("burst", "only a class with `priority = true` is policed"));
        }
        Ok(())
    }
}

part_value!(CbwfqClass);

impl Part for CbwfqConfig {
    const NAME: &'static str = "cbwfq";
    const TEXT: &'static str = "Class-based weighted fair queueing with a low-latency queue, as in Cisco's routers.";
    const KEYS: &'static [Key<CbwfqConfig>] = &[
        key("classes", |part: &mut Self| &mut part.classes, "The classes.")
            .default_text("one class with priority and one class without"),
        key("classify", |part: &mut Self| &mut part.classify, CLASSIFY).default_text("DSCP 46 (EF) to class 0"),
        key("default_class", |part: &mut Self| &mut part.default_class, DEFAULT_CLASS).default_text("the last"),
    ];

    fn check(&self) -> Result<(), Fault> {
        settings::check(&self.classes)
    }
}

impl Discipline for CbwfqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Cbwfq::new(self, place)?)))
    }
}

/// The discipline: the classes and their guaranteed bandwidths.
#[derive(Debug)]
pub struct Cbwfq {
    classes: Classes,
    shares: Vec<Share>,
    /// Virtual time: the finish time of the packet that was served last.
    clock: u64,
}

/// The service guarantee of a class.
#[derive(Debug)]
struct Share {
    bandwidth: BitRate,
    /// Virtual start time of the head packet, in nanoseconds at the class's bandwidth.
    start: u64,
    /// The policer of a priority class.
    policer: Option<Tokens>,
}

/// The policer of a priority class. One token is the right to send for 1 ns at the class's bandwidth.
#[derive(Debug)]
struct Tokens {
    depth: u64,
    left: u64,
    counted: Time,
}

/// Returns the transmission time of `size` at `rate`, in nanoseconds.
fn nanos_at(rate: BitRate, size: Bytes) -> u64 {
    rate.time_to_send(size, 0).0.as_nanos()
}

impl Tokens {
    /// Removes the tokens of a packet that takes `cost` nanoseconds. Returns false if the bucket has too few tokens.
    fn allow(&mut self, cost: u64, now: Time) -> bool {
        let waited = now.saturating_since(self.counted).as_nanos();
        self.left = self.depth.min(self.left.saturating_add(waited));
        self.counted = now;
        let enough = self.left >= cost;
        self.left = self.left.saturating_sub(cost * u64::from(enough));
        enough
    }
}

impl Cbwfq {
    /// Creates empty classes.
    ///
    /// # Errors
    ///
    /// Returns an error if the settings of the discipline or of a class's queue are invalid.
    pub fn new(config: &CbwfqConfig, place: &QueuePlace<'_>) -> Result<Cbwfq, Fault> {
        config.check_all()?;
        let queues = config.classes.iter().map(|class| &class.queue);
        let classes = settings::around(queues, &config.classify, config.default_class, place)?;
        let share = |class: &CbwfqClass| {
            let depth = class.burst.map_or(200_000_000, |burst| nanos_at(class.bandwidth, burst));
            let policer = class.priority.then_some(Tokens { depth, left: depth, counted: Time::ZERO });
            Share { bandwidth: class.bandwidth, start: 0, policer }
        };
        let shares = config.classes.iter().map(share).collect();
        Ok(Cbwfq { classes, shares, clock: 0 })
    }

    /// Returns the class to serve next and its finish time. Priority classes come first.
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<(usize, u64)> {
        let mut best: Option<(usize, u64)> = None;
        for class in 0..self.shares.len() {
            if !self.classes.is_ready(class, cx.now()) {
                continue;
            }
            let Some(size) = self.classes.act(class, |class| class.peek(cx)) else { continue };
            let share = &self.shares[class];
            if share.policer.is_some() {
                // Priority classes do not take part in virtual time, so return the unchanged clock.
                return Some((class, self.clock));
            }
            // Golestani 1994: the virtual time is the finish time of the packet in service.
            let finish = share.start + nanos_at(share.bandwidth, size);
            if best.is_none_or(|(_, earliest)| finish < earliest) {
                best = Some((class, finish));
            }
        }
        best
    }
}

impl Qdisc for Cbwfq {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let class = self.classes.classify(&packet);
        let congested = self.backlog().packets > 0;
        let share = &mut self.shares[class];
        if let Some(policer) = &mut share.policer {
            let cost = nanos_at(share.bandwidth, packet.size());
            // IOS's priority policer is conditional: without congestion, a packet removes tokens but is never dropped.
            if !policer.allow(cost, cx.now()) && congested {
                return cx.drop(packet, DropReason::Policed);
            }
        }
        if self.classes.backlog_of(class).packets == 0 {
            // A class that was idle starts at the current virtual time, so the idle time earns no credit.
            share.start = share.start.max(self.clock);
        }
        self.classes.enqueue_to(class, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let (class, finish) = self.next(cx)?;
        let given = self.classes.act(class, |class: &mut Class| class.dequeue(cx))?;
        if self.shares[class].policer.is_none() {
            self.shares[class].start = finish;
            // Golestani 1994: the virtual time is the finish time of the packet in service.
            self.clock = finish;
        }
        Some(given)
    }

    fn backlog(&self) -> Backlog {
        self.classes.backlog()
    }

    fn children(&self) -> Option<&Classes> {
        Some(&self.classes)
    }

    fn children_mut(&mut self) -> Option<&mut Classes> {
        Some(&mut self.classes)
    }
}
