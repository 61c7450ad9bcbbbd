//! Class-based weighted fair queueing with a low-latency queue, as routers have it (Cisco IOS' `bandwidth` and
//! `priority` of a policy map; Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, 1994).
//!
//! Each class is sure of its `bandwidth` and what others leave is shared in the same proportion. Of the classes that
//! have a packet the one with the earliest finish goes next: the finish of a class's head is its start plus what the
//! packet takes at the class's bandwidth, and a class that was idle starts at the finish of the packet that was served
//! last.
//!
//! A class with `priority` goes before all others and is policed: while anything waits, what comes faster than its
//! bandwidth and burst is dropped, so that it starves nobody; while nothing waits it may take what it likes. This
//! is IOS' policer, which acts under congestion alone.
//!
//! Expedited forwarding is a priority class (RFC 3246), assured forwarding a class with `wred` inside (RFC 2597), best
//! effort the default class: see `scenarios/diffserv.toml`.
//!
//! Left out: bandwidth in per cent, queues per flow in the default class (give it `fq_codel` or `wfq`). Linux has no
//! such discipline; its `htb` with `prio` comes near.

use crate::classes::Classes;
use crate::{Backlog, Class, Classifier, Discipline, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket, Rule};
use lopsided_core::{BitRate, Bytes, Cx, DropReason, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key, part_value};

/// Class-based weighted fair queueing as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct CbwfqConfig {
    pub classes: Vec<CbwfqClass>,
    pub classify: Vec<Rule>,
    pub default_class: Option<u32>,
}

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct CbwfqClass {
    pub bandwidth: BitRate,
    pub priority: bool,
    pub burst: Option<Bytes>,
    pub queue: QueueConfig,
}

impl Default for CbwfqClass {
    /// IOS' default queue limit.
    fn default() -> CbwfqClass {
        let bandwidth = BitRate::from_bps(1_000_000);
        CbwfqClass { bandwidth, priority: false, burst: None, queue: QueueConfig::packets(64) }
    }
}

impl Default for CbwfqConfig {
    /// Expedited forwarding (RFC 3246) before best effort.
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
        key("bandwidth", |class: &mut Self| &mut class.bandwidth, "What it is sure of.").required("\"2 Mbit/s\""),
        key("priority", |class: &mut Self| &mut class.priority, "It goes before all others, and is policed."),
        key("burst", |class: &mut Self| &mut class.burst, "With priority: what may come at once.")
            .default_text("200 ms of the bandwidth"),
        key("queue", |class: &mut Self| &mut class.queue, "Its own queue.").default_text("64 packets, drop-tail"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.bandwidth.as_bps() == 0 {
            return Err(Fault::new("bandwidth", "a bandwidth of zero"));
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
    const TEXT: &'static str = "Class-based weighted fair queueing with a low-latency queue, as in routers.";
    const KEYS: &'static [Key<CbwfqConfig>] = &[
        key("classes", |part: &mut Self| &mut part.classes, "The classes.")
            .default_text("one with priority, one without"),
        key(
            "classify",
            |part: &mut Self| &mut part.classify,
            "Which class, counted from 0, a packet belongs to: the first rule that matches.",
        )
        .default_text("DSCP 46 (EF) to class 0"),
        key("default_class", |part: &mut Self| &mut part.default_class, "The class of packets that no rule matches.")
            .default_text("the last"),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.classes.is_empty() {
            return Err(Fault::new("classes", "there must be at least one class"));
        }
        self.classes.iter().try_for_each(Part::check)
    }
}

impl Discipline for CbwfqConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(Queue::Custom(Box::new(Cbwfq::new(self, place)?)))
    }
}

/// Class-based weighted fair queueing.
#[derive(Debug)]
pub struct Cbwfq {
    classes: Classes,
    shares: Vec<Share>,
    /// The finish of the packet that was served last.
    clock: u64,
}

/// The service guarantee of a class.
#[derive(Debug)]
struct Share {
    bandwidth: BitRate,
    /// Virtual start of its head, in nanoseconds of the class's bandwidth.
    start: u64,
    policer: Option<Tokens>,
}

/// Tokens of a priority class, in nanoseconds of its bandwidth.
#[derive(Debug)]
struct Tokens {
    depth: u64,
    left: u64,
    counted: Time,
}

fn nanos_at(rate: BitRate, size: Bytes) -> u64 {
    rate.time_to_send(size, 0).0.as_nanos()
}

impl Tokens {
    /// Takes tokens for a packet of this duration. False if there are not enough.
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
    /// Empty classes.
    pub fn new(config: &CbwfqConfig, place: &QueuePlace<'_>) -> Result<Cbwfq, Fault> {
        config.check()?;
        let default = config.default_class.map_or(config.classes.len() - 1, |class| class as usize);
        let classifier = Classifier { rules: config.classify.clone(), default };
        let child = |(number, class): (usize, &CbwfqClass)| -> Result<(String, Box<dyn Qdisc>), Fault> {
            let queue = class.queue.build(place.seed, &format!("{}/class {number}", place.role))?;
            Ok((format!("class {number}"), Box::new(queue)))
        };
        let children = config.classes.iter().enumerate().map(child).collect::<Result<_, _>>()?;
        let share = |class: &CbwfqClass| {
            let depth = class.burst.map_or(200_000_000, |burst| nanos_at(class.bandwidth, burst));
            let policer = class.priority.then_some(Tokens { depth, left: depth, counted: Time::ZERO });
            Share { bandwidth: class.bandwidth, start: 0, policer }
        };
        let shares = config.classes.iter().map(share).collect();
        Ok(Cbwfq { classes: Classes::new(classifier, children, "class")?, shares, clock: 0 })
    }

    /// The class to serve: the first with priority, or else the one whose head finishes first; and that finish.
    fn next(&mut self, cx: &mut Cx<'_>) -> Option<(usize, u64)> {
        let mut best: Option<(usize, u64)> = None;
        for class in 0..self.shares.len() {
            if !self.classes.is_ready(class, cx.now()) {
                continue;
            }
            let Some(size) = self.classes.act(class, |class| class.peek(cx)) else { continue };
            let share = &self.shares[class];
            if share.policer.is_some() {
                return Some((class, self.clock));
            }
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
            if !policer.allow(cost, cx.now()) && congested {
                return cx.drop(packet, DropReason::Policed);
            }
        }
        if self.classes.backlog_of(class).packets == 0 {
            share.start = share.start.max(self.clock);
        }
        self.classes.enqueue_to(class, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        let (class, finish) = self.next(cx)?;
        let given = self.classes.act(class, |class: &mut Class| class.dequeue(cx))?;
        if self.shares[class].policer.is_none() {
            self.shares[class].start = finish;
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
