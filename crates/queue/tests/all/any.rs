//! Properties of every discipline, alone and inside other disciplines: packets are conserved, `peek` returns the
//! correct size, the backlogs of the classes add up, and no packet starves.

use crate::common::{Drops, Segment, cx, packet_of_class};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, Ecn, Event, EventMask, IpHeader, NewPacket, NodeId, Observer, Packet,
    Time,
};
use lopsided_queue::{
    AckFilterConfig, AfvqConfig, AredConfig, AsqmConfig, Backlog, BdpConfig, CakeConfig, CbwfqClass, CbwfqConfig,
    CheckedQdisc, Child, ChokeConfig, ClassStats, Classifier, CobaltConfig, CobaltQueueConfig, CodelConfig,
    CodelQueueConfig, Discipline, DocsisPieConfig, DropFrom, DrrClass, DrrConfig, DualPi2Config, FifoConfig,
    FilterRule, FqCodelConfig, FqConfig, FqPieConfig, HtbClass, HtbConfig, Limit, MarkThreshold, Markable, Marks,
    PieConfig, PieQueueConfig, PolicerConfig, Prio, PrioConfig, Qdisc, Queue, QueueConfig, QueuePlace, QueuedPacket,
    RedConfig, Rule, SfqConfig, TbfConfig, Threshold, ThresholdConfig, TinMode, Victim, Waiting, WfqConfig, WredConfig,
    WredProfile, turn,
};
use lopsided_spec::{Choice as _, Fault, Key, Part};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A discipline whose contract is checked after every operation.
#[derive(Clone, Debug, Default, PartialEq)]
struct Checked(QueueConfig);

impl Part for Checked {
    const NAME: &'static str = "checked";
    const TEXT: &'static str = "";
    const KEYS: &'static [Key<Checked>] = &[];
}

impl Discipline for Checked {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        Ok(self.0.build(place.seed, place.role)?.checked())
    }
}

fn checked(config: QueueConfig) -> QueueConfig {
    QueueConfig::new(Checked(config))
}

/// A discipline that releases packets only at multiples of this number of nanoseconds, and does not implement `peek`.
#[derive(Clone, Debug, Default, PartialEq)]
struct SlottedConfig(u64, QueueConfig);

impl Part for SlottedConfig {
    const NAME: &'static str = "slotted";
    const TEXT: &'static str = "";
    const KEYS: &'static [Key<SlottedConfig>] = &[];
}

impl Discipline for SlottedConfig {
    fn build(&self, place: &QueuePlace<'_>) -> Result<Queue, Fault> {
        let inner = Child::new(Box::new(self.1.build(place.seed, place.role)?) as Box<dyn Qdisc>);
        Ok(Queue::Custom(Box::new(Slotted { slot: self.0, last: None, inner })))
    }
}

/// Rules that assign packets to classes by their DSCP, with one rule per class.
fn rules(classes: usize) -> Vec<Rule> {
    (0..classes as u32).map(|class| Rule { class, dscp: Some(class), ..Rule::default() }).collect()
}

/// A queue that releases one packet at each multiple of `slot`.
#[derive(Debug)]
struct Slotted {
    slot: u64,
    last: Option<Time>,
    inner: Child,
}

impl Slotted {
    fn next_slot(&self, from: Time) -> Time {
        let slot = from.ceil_to(Duration::from_nanos(self.slot));
        if self.last == Some(slot) { slot + Duration::from_nanos(self.slot) } else { slot }
    }
}

impl Qdisc for Slotted {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.inner.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        if self.ready_at(cx.now())? > cx.now() {
            return None;
        }
        let given = self.inner.dequeue(cx)?;
        self.last = Some(cx.now());
        Some(given)
    }

    fn ready_at(&self, now: Time) -> Option<Time> {
        self.inner.ready_at(now).map(|ready| self.next_slot(ready))
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn removes(&mut self) -> bool {
        self.inner.removes()
    }

    fn remove(&mut self, waiting: &Waiting<'_>, cx: &mut Cx<'_>) -> Option<Packet> {
        self.inner.remove(waiting, cx)
    }

    fn classes(&self, out: &mut dyn FnMut(&str, ClassStats)) {
        self.inner.classes(out);
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Enqueue {
        size: u32,
        dscp: u8,
        ecn: Ecn,
    },
    /// Creates and enqueues the sensing packets (delay probes) that the disciplines have requested.
    Originate,
    /// Enqueues an ACK of one of two connections.
    Ack {
        flow: u16,
        step: u32,
        sack: bool,
    },
    Dequeue,
    Peek,
    /// Removes one of the packets that are still in the queue.
    Remove(prop::sample::Index),
    Wait(u64),
}

fn leaf() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1..20_u32).prop_map(Limit::Packets),
        (1500..20_000_u64).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
    ];
    let fifo = (limit, any::<bool>()).prop_map(|(limit, front)| {
        let drop = if front { DropFrom::Front } else { DropFrom::Tail };
        QueueConfig::new(FifoConfig { drop, ..FifoConfig::new(limit) })
    });
    let red = (1..5_u32, 1..10_u32, 0.1..1.0_f64, any::<bool>()).prop_map(|(min, more, weight, ecn)| {
        QueueConfig::new(RedConfig {
            limit: Limit::Packets(20),
            min: Threshold::Packets(min),
            max: Threshold::Packets(min + more),
            probability: 0.5,
            weight,
            avpkt: Bytes::new(1000),
            bandwidth: None,
            idle_decay: !ecn,
            burst: None,
            ecn,
            harddrop: false,
            gentle: true,
            adaptive: false,
            marks: if ecn { Marks::All } else { Marks::Capable },
            victim: if ecn { Victim::Random } else { Victim::Tail },
            count_first: ecn,
            least: if ecn { 2 } else { 0 },
        })
    });
    let above = prop_oneof![
        (0..10_u32).prop_map(|packets| MarkThreshold::Depth(Threshold::Packets(packets))),
        (0..5000_u64).prop_map(|nanos| MarkThreshold::Sojourn(Duration::from_nanos(nanos))),
    ];
    let step = above.prop_map(|mark_threshold| {
        QueueConfig::new(ThresholdConfig { limit: Limit::Packets(15), mark_threshold, ect: Markable::Ect })
    });
    // Target and interval are so short that the control laws act within the few microseconds of a test.
    let codel = (1..4_u64, 1..8_u64, any::<bool>()).prop_map(|(target, interval, ecn)| CodelConfig {
        target: Duration::from_nanos(1024 * target),
        interval: Duration::from_nanos(1024 * interval),
        ecn,
        ..CodelConfig::default()
    });
    let alone = codel.clone().prop_map(|codel| {
        QueueConfig::new(CodelQueueConfig { limit: Limit::Packets(15), codel, ..CodelQueueConfig::default() })
    });
    let fair = (codel, 1..4_u32, 1..20_u32).prop_map(|(codel, flows, limit)| {
        let quantum = Bytes::new(300);
        QueueConfig::new(FqCodelConfig { limit, flows, quantum, codel, ..FqCodelConfig::default() })
    });
    let pie = any::<bool>().prop_map(|ecn| {
        let pie =
            PieConfig { ecn, target: Duration::from_micros(10), max_burst: Duration::ZERO, ..PieConfig::default() };
        QueueConfig::new(PieQueueConfig { limit: Limit::Packets(15), pie })
    });
    let small = 1..20_u32;
    let fq = (small.clone(), 0..4_u32, prop::option::of(1_000_000..20_000_000_000_u64)).prop_map(
        |(limit, orphan_mask, maxrate)| {
            let maxrate = maxrate.map(BitRate::from_bps);
            let quantum = Bytes::new(300);
            FqConfig { limit, orphan_mask, maxrate, quantum, initial_quantum: quantum, ..FqConfig::default() }.into()
        },
    );
    let sfq = (small.clone(), 1..10_u32, 1..5_u32, any::<bool>()).prop_map(|(limit, depth, flows, headdrop)| {
        let perturb = Some(Duration::from_millis(1));
        SfqConfig { limit, depth, flows, divisor: 8, quantum: Bytes::new(300), perturb, headdrop }.into()
    });
    let wfq = (small.clone(), 1..10_u32, 1..5_u32)
        .prop_map(|(limit, threshold, flows)| WfqConfig { limit, threshold, flows }.into());
    let choke = (1..5_u32, 1..10_u32, any::<bool>()).prop_map(|(min, more, ecn)| {
        let (min, max) = (Threshold::Packets(min), Threshold::Packets(min + more));
        let limit = Limit::Packets(20);
        ChokeConfig { red: RedConfig { limit, min, max, probability: 0.5, weight: 0.5, ecn, ..RedConfig::default() } }
            .into()
    });
    let ared = any::<bool>().prop_map(|ecn| {
        let bandwidth = Some(BitRate::from_bps(1_000_000));
        AredConfig { limit: Limit::Packets(20), bandwidth, ecn, ..AredConfig::default() }.into()
    });
    let wred = any::<bool>().prop_map(|ecn| {
        let profile = |min| WredProfile { min, max: 10, probability: 0.5 };
        let profiles = vec![profile(1), profile(4)];
        WredConfig { profiles, classify: rules(2), weight: 0.5, ecn, ..WredConfig::default() }.into()
    });
    let policer = (1_000_000..20_000_000_000_u64).prop_map(|rate| {
        let (rate, burst) = (BitRate::from_bps(rate), Bytes::new(1500));
        PolicerConfig { rate, burst, limit: Limit::Packets(5) }.into()
    });
    let asqm = Just(AsqmConfig { limit: Limit::Packets(15), ..AsqmConfig::default() }.into());
    let bdp = (small, 1..20_u32).prop_map(|(flows, limit)| BdpConfig { limit, flows, ..BdpConfig::default() }.into());
    let fair_pie = (1..4_u32, 1..20_u32).prop_map(|(flows, limit)| {
        let pie = PieConfig { target: Duration::from_micros(10), max_burst: Duration::ZERO, ..PieConfig::default() };
        QueueConfig::new(FqPieConfig { limit, flows, quantum: Bytes::new(300), pie, ..FqPieConfig::default() })
    });
    let docsis = (1..20_u32).prop_map(|limit| {
        let msr = Some(BitRate::from_bps(10_000_000));
        QueueConfig::new(DocsisPieConfig { limit: Limit::Packets(limit), msr, ..DocsisPieConfig::default() })
    });
    let dual = (1..20_u32, 0.0..0.9_f64).prop_map(|(limit, c_protection)| {
        let limit = Limit::Packets(limit);
        let (target, tupdate) = (Duration::from_nanos(500), Duration::from_micros(100));
        QueueConfig::new(DualPi2Config { limit, c_protection, target, tupdate, ..DualPi2Config::default() })
    });
    let cobalt = (1..4_u64, 2..8_u64, any::<bool>()).prop_map(|(target, interval, ecn)| {
        let (target, interval) = (Duration::from_nanos(1024 * target), Duration::from_nanos(1024 * interval));
        let cobalt = CobaltConfig { target, interval, ecn, ..CobaltConfig::default() };
        QueueConfig::new(CobaltQueueConfig { limit: Limit::Packets(15), cobalt })
    });
    let tins = prop_oneof![
        Just(TinMode::Besteffort),
        Just(TinMode::Diffserv3),
        Just(TinMode::Diffserv4),
        Just(TinMode::Diffserv8),
        Just(TinMode::Precedence),
    ];
    let bandwidth = prop::option::of((1_000_000_u64..100_000_000_000).prop_map(BitRate::from_bps));
    let cake = (bandwidth, tins, 2_000..20_000_u64, 1..100_u64).prop_map(|(bandwidth, tins, room, rtt)| {
        let (memlimit, rtt) = (Some(Bytes::new(room)), Duration::from_micros(rtt));
        QueueConfig::new(CakeConfig { bandwidth, tins, memlimit, rtt, ..CakeConfig::default() })
    });
    let classic = prop_oneof![fifo, red, step, alone, fair, pie, asqm, bdp, policer];
    let modern = prop_oneof![fair_pie, docsis, dual, cobalt, cake];
    let scheduled = prop_oneof![fq, sfq, wfq, choke, ared, wred];
    prop_oneof![classic, modern, scheduled].prop_map(checked)
}

/// Rates at which a packet takes between a few nanoseconds and a few microseconds.
fn rate() -> impl Strategy<Value = BitRate> {
    (1_000_000_000..40_000_000_000_u64).prop_map(BitRate::from_bps)
}

fn htb(inner: impl Strategy<Value = QueueConfig>) -> impl Strategy<Value = QueueConfig> {
    let class = (prop::option::of(0..4_u32), rate(), rate(), 0..8_u32, inner);
    prop::collection::vec(class, 1..6).prop_map(|drawn| {
        let parents: Vec<Option<u32>> =
            drawn.iter().enumerate().map(|(at, class)| class.0.filter(|parent| (*parent as usize) < at)).collect();
        let class = |(at, (_, rate, more, prio, queue)): (usize, (_, BitRate, BitRate, u32, QueueConfig))| HtbClass {
            parent: parents[at],
            rate,
            ceil: Some(rate.max(more)),
            prio,
            queue: (!parents.contains(&Some(at as u32))).then_some(queue),
            ..HtbClass::default()
        };
        let classes: Vec<HtbClass> = drawn.into_iter().enumerate().map(class).collect();
        let mut classify = rules(classes.len());
        classify.retain(|rule| classes[rule.class as usize].queue.is_some());
        HtbConfig { classes, classify, ..HtbConfig::default() }.into()
    })
}

fn tree() -> impl Strategy<Value = QueueConfig> {
    leaf().prop_recursive(3, 12, 4, |inner| {
        let several = || prop::collection::vec(inner.clone(), 1..4);
        let slotted = (1..2000_u64, inner.clone()).prop_map(|(slot, inner)| SlottedConfig(slot, inner).into());
        let prio =
            several().prop_map(|bands| PrioConfig { classify: rules(bands.len()), bands, default_class: None }.into());
        let drr = (several(), 1..2000_u64).prop_map(|(queues, quantum)| {
            let class = |(at, queue)| DrrClass { quantum: Bytes::new(quantum * (1 + at as u64)), queue };
            let classes: Vec<_> = queues.into_iter().enumerate().map(class).collect();
            DrrConfig { classify: rules(classes.len()), classes, default_class: None }.into()
        });
        let cbwfq = prop::collection::vec((rate(), any::<bool>(), inner.clone()), 1..4).prop_map(|classes| {
            let class = |(bandwidth, priority, queue)| CbwfqClass { bandwidth, priority, burst: None, queue };
            let classes: Vec<_> = classes.into_iter().map(class).collect();
            CbwfqConfig { classify: rules(classes.len()), classes, default_class: None }.into()
        });
        let tbf = (rate(), any::<bool>(), inner.clone()).prop_map(|(rate, peak, queue)| {
            let peakrate = peak.then_some(rate);
            TbfConfig { rate, peakrate, burst: Bytes::new(4000), queue, ..TbfConfig::default() }.into()
        });
        let filtered = (filter_rule(), inner.clone()).prop_map(|(rule, queue)| {
            let removes = queue.build(0, "test").is_ok_and(|mut queue| queue.removes());
            if removes {
                AckFilterConfig { rule, share: 0.8, queue, ..AckFilterConfig::default() }.into()
            } else {
                queue
            }
        });
        let afvq = (inner.clone(), 1..40_u32, 0.1..1.0)
            .prop_map(|(queue, ack_limit, ack_share)| QueueConfig::new(AfvqConfig { queue, ack_limit, ack_share }));
        prop_oneof![slotted, filtered, prio, drr, cbwfq, tbf, htb(inner.clone()), afvq].prop_map(checked)
    })
}

fn filter_rule() -> impl Strategy<Value = FilterRule> {
    prop::sample::select(FilterRule::WORDS.iter().map(|(_, rule)| *rule).collect::<Vec<_>>())
}

fn operation() -> impl Strategy<Value = Operation> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1)];
    prop_oneof![
        4 => (28..1501_u32, 0..5_u8, ecn).prop_map(|(size, dscp, ecn)| Operation::Enqueue { size, dscp, ecn }),
        2 => Just(Operation::Originate),
        4 => (0..2_u16, 0..3_u32, any::<bool>()).prop_map(|(flow, step, sack)| Operation::Ack { flow, step, sack }),
        2 => Just(Operation::Dequeue),
        1 => Just(Operation::Peek),
        1 => any::<prop::sample::Index>().prop_map(Operation::Remove),
        2 => (0..3000_u64).prop_map(Operation::Wait),
        1 => (0..3_000_000_u64).prop_map(Operation::Wait),
    ]
}

/// Records the backlog of the last `Enqueued` event.
#[derive(Clone, Default)]
struct LastBacklog(Arc<Mutex<Option<Backlog>>>);

impl Observer for LastBacklog {
    fn mask(&self) -> EventMask {
        EventMask::QUEUES
    }

    fn record(&mut self, _at: Time, _node: NodeId, event: &Event<'_>) {
        if let Event::Enqueued { backlog_packets, backlog_bytes, .. } = event {
            *self.0.lock().unwrap() = Some(Backlog { packets: *backlog_packets, bytes: *backlog_bytes });
        }
    }
}

/// Returns the sums of backlogs and counters over the outermost classes; `None` if there are no classes.
fn sum_of_classes(queue: &dyn Qdisc) -> Option<ClassStats> {
    let mut sum: Option<ClassStats> = None;
    queue.classes(&mut |name, stats| {
        if !name.contains('/') {
            let sum = sum.get_or_insert_default();
            sum.backlog = sum.backlog + stats.backlog;
            sum.sent_packets += stats.sent_packets;
            sum.sent_bytes += stats.sent_bytes;
            sum.dropped_packets += stats.dropped_packets;
            sum.filtered_packets += stats.filtered_packets;
            sum.marked_packets += stats.marked_packets;
        }
    });
    sum
}

/// The packets in a queue, each with the time at which it was enqueued.
#[derive(Default)]
struct Inside(BTreeMap<u64, (Time, NewPacket)>);

impl Inside {
    fn enqueue(&mut self, queue: &mut dyn Qdisc, id: u64, new: NewPacket, cx: &mut Cx<'_>) {
        queue.enqueue(Packet::unbooked(id, cx.now(), new.clone()), cx);
        self.0.insert(id, (cx.now(), new));
    }

    /// Removes a packet from the middle of the queue. Returns its number, and the packet if it was removed.
    fn remove(&mut self, queue: &mut dyn Qdisc, at: usize, cx: &mut Cx<'_>) -> (u64, Option<Packet>) {
        let (id, (enqueued_at, new)) = self.0.iter().nth(at).expect("a position below the number of packets");
        let (id, like) = (*id, Packet::unbooked(*id, *enqueued_at, new.clone()));
        let waiting = Waiting { id, enqueued_at: *enqueued_at, place: None, like: &like };
        let removed = queue.remove(&waiting, cx);
        if removed.is_some() {
            self.0.remove(&id);
        }
        (id, removed)
    }
}

proptest! {
    #[test]
    fn every_tree_of_disciplines_keeps_the_contract(
        tree in tree(),
        seed: u64,
        operations in prop::collection::vec(operation(), 1..150),
    ) {
        let mut queue = tree.build(seed, "test").expect("a tree that can be built");
        let last_backlog = LastBacklog::default();
        let (drops, mut accounting) = Drops::watched();
        accounting.subscribe(Box::new(last_backlog.clone()));
        let (mut now, mut offered, mut given, mut removed) = (Time::ZERO, 0, Backlog::default(), 0);
        let mut acked = [0; 2];
        let mut inside = Inside::default();
        for operation in operations {
            let mut cx = cx(now, &mut accounting);
            match operation {
                Operation::Enqueue { .. } | Operation::Ack { .. } => {
                    offered += 1;
                    let new = match operation {
                        Operation::Ack { flow, step, sack } => {
                            acked[usize::from(flow)] += 1000 * step;
                            let ack = acked[usize::from(flow)];
                            let sack = if sack { vec![(ack + 1000, ack + 2000)] } else { Vec::new() };
                            Segment { sack, ..Segment::ack(flow, ack) }.to_new()
                        }
                        Operation::Enqueue { size, dscp, ecn } => packet_of_class(dscp, ecn, offered, size).to_new(),
                        _ => unreachable!("no arrival"),
                    };
                    let dropped_before = cx.counters().dropped_total().packets;
                    inside.enqueue(&mut queue, offered, new, &mut cx);
                    if let Some(observed) = last_backlog.0.lock().unwrap().take() {
                        // Some disciplines enqueue a packet before they drop other packets to make room.
                        let dropped = u64::from(observed.packets - queue.backlog().packets);
                        prop_assert!(dropped <= cx.counters().dropped_total().packets - dropped_before, "{observed:?}");
                        prop_assert_eq!(dropped == 0, observed == queue.backlog());
                    }
                }
                Operation::Originate => {
                    while let Some(new) = queue.sensing().and_then(|sensing| sensing.poll_originate()) {
                        offered += 1;
                        inside.enqueue(&mut queue, offered, new, &mut cx);
                        last_backlog.0.lock().unwrap().take();
                    }
                }
                Operation::Dequeue => {
                    if let Some(QueuedPacket { packet, .. }) = queue.dequeue(&mut cx) {
                        given = given + Backlog { packets: 1, bytes: packet.size() };
                        inside.0.remove(&packet.id());
                    }
                }
                Operation::Peek if queue.ready_at(now) == Some(now) => {
                    queue.peek(&mut cx);
                }
                Operation::Peek => {}
                Operation::Remove(_) if inside.0.is_empty() => {}
                Operation::Remove(which) => {
                    let found = inside.remove(&mut queue, which.index(inside.0.len()), &mut cx).1;
                    removed += u64::from(found.is_some());
                }
                Operation::Wait(nanos) => now += Duration::from_nanos(nanos),
            }
            drops.seen().iter().for_each(|(id, _)| drop(inside.0.remove(id)));
            prop_assert_eq!(inside.0.len(), queue.backlog().packets as usize);
            if let Some(sum) = sum_of_classes(&queue) {
                // A packet that a peek of an outer discipline dequeued early is part of the total backlog, but of no
                // class.
                prop_assert!(sum.backlog.packets <= queue.backlog().packets);
            }
        }
        // No starvation: after the last arrival, each `dequeue` at the time that `ready_at` returns must return a
        // packet or drop one.
        let mut looks = 0;
        while let Some(ready) = queue.ready_at(now) {
            looks += 1;
            prop_assert!(ready >= now && looks < 100_000);
            now = ready;
            let before = queue.backlog().packets;
            if let Some(QueuedPacket { packet, .. }) = queue.dequeue(&mut cx(now, &mut accounting)) {
                given = given + Backlog { packets: 1, bytes: packet.size() };
            }
            prop_assert!(queue.backlog().packets < before || queue.ready_at(now) > Some(now));
        }
        let counters = accounting.node(NodeId(0));
        let (dropped, marked) = (counters.dropped_total().packets, counters.marked_total().packets);
        prop_assert_eq!(offered, u64::from(given.packets) + removed + dropped);
        if let Some(sum) = sum_of_classes(&queue) {
            // The queue is empty, so each packet has passed through a class, or an outer discipline has dropped it.
            prop_assert_eq!((sum.sent_packets, sum.sent_bytes), (u64::from(given.packets), given.bytes));
            prop_assert_eq!((sum.backlog, sum.marked_packets), (Backlog::default(), marked));
            prop_assert!(sum.dropped_packets + sum.filtered_packets <= dropped + removed);
        }
    }

    /// Without a peek, a discipline that supports removal removes every packet that it contains, in any order.
    #[test]
    fn every_packet_of_a_discipline_can_be_removed(
        leaf in leaf(),
        seed: u64,
        arrivals in prop::collection::vec((0..6_u16, 0..5_u8, 0..1000_u32), 1..30),
        order in prop::collection::vec(any::<prop::sample::Index>(), 30),
    ) {
        let mut queue = leaf.build(seed, "test").expect("a discipline that can be built");
        let (drops, mut accounting) = Drops::watched();
        let mut inside = Inside::default();
        for (number, (flow, dscp, payload)) in arrivals.into_iter().enumerate() {
            let segment = Segment { payload, ..Segment::ack(flow, 1) }.to_new();
            let ip = IpHeader { dscp, ..*segment.ip() };
            let new = NewPacket::new(segment.flow(), ip, segment.transport().clone(), segment.payload().clone());
            let now = Time::from_nanos(number as u64 / 2);
            inside.enqueue(&mut queue, number as u64, new, &mut cx(now, &mut accounting));
        }
        drops.seen().iter().for_each(|(id, _)| drop(inside.0.remove(id)));
        let mut cx = cx(Time::from_nanos(100), &mut accounting);
        for which in order.into_iter().take(inside.0.len()) {
            let (id, found) = inside.remove(&mut queue, which.index(inside.0.len()), &mut cx);
            if !queue.removes() {
                prop_assert!(found.is_none());
                return Ok(());
            }
            prop_assert_eq!(found.map(|packet| packet.id()), Some(id));
        }
        prop_assert_eq!((queue.backlog(), queue.ready_at(cx.now())), (Backlog::default(), None));
    }
}

/// Returns one discipline of each kind that contains other disciplines, around `inner`.
fn around(inner: &QueueConfig) -> Vec<QueueConfig> {
    let (inner, rate) = (|| inner.clone(), BitRate::from_bps(8_000_000_000));
    let class = HtbClass { rate, queue: Some(inner()), ..HtbClass::default() };
    vec![
        PrioConfig { bands: vec![inner()], ..PrioConfig::default() }.into(),
        DrrConfig { classes: vec![DrrClass { quantum: Bytes::new(1500), queue: inner() }], ..DrrConfig::default() }
            .into(),
        CbwfqConfig {
            classes: vec![CbwfqClass { bandwidth: rate, priority: false, burst: None, queue: inner() }],
            ..CbwfqConfig::default()
        }
        .into(),
        TbfConfig { rate, queue: inner(), ..TbfConfig::default() }.into(),
        HtbConfig { classes: vec![class], ..HtbConfig::default() }.into(),
        AckFilterConfig { queue: inner(), ..AckFilterConfig::default() }.into(),
        AfvqConfig { queue: inner(), ..AfvqConfig::default() }.into(),
        checked(inner()),
    ]
}

#[test]
fn a_packet_is_removed_from_a_discipline_inside_another() {
    for config in around(&QueueConfig::packets(100)) {
        let mut queue = config.build(1, "test").unwrap().checked();
        let mut accounting = Accounting::new(1);
        let mut cx = cx(Time::ZERO, &mut accounting);
        let mut inside = Inside::default();
        for id in 0..10 {
            let segment = Segment { payload: 1000, ..Segment::ack(1, 1) }.to_new();
            inside.enqueue(&mut queue, id, segment, &mut cx);
        }
        // Remove the newest packets first, because a peek may have dequeued the oldest packet.
        let removed = (0..9).rev().filter(|at| inside.remove(&mut queue, at + 1, &mut cx).1.is_some()).count();
        assert_eq!((removed, queue.removes()), if queue.removes() { (9, true) } else { (0, false) }, "{config:?}");
        assert_eq!(queue.backlog().packets as usize, 10 - removed, "{config:?}");
    }
}

#[test]
fn sensing_classes_and_gauges_of_a_discipline_inside_another_are_visible() {
    let plain = QueueConfig::packets(5);
    let bands = vec![AsqmConfig::default().into(), plain];
    let inner = PrioConfig { bands, default_class: Some(0), ..PrioConfig::default() }.into();
    for config in around(&inner) {
        let mut queue = config.build(1, "test").unwrap();
        let mut accounting = Accounting::new(1);
        let mut cx = cx(Time::ZERO, &mut accounting);
        for id in 0..4 {
            queue.enqueue(Segment { payload: 1000, ..Segment::ack(1, 1) }.packet(id), &mut cx);
        }
        let made = queue.sensing().expect("a class sends sensing packets").poll_originate();
        let sensing_packet = made.unwrap_or_else(|| panic!("no sensing packet follows data in {config:?}"));
        let mut returned = Packet::unbooked(4, Time::ZERO, sensing_packet);
        assert!(turn(&mut returned, &mut cx));
        assert!(
            queue
                .sensing()
                .expect("a class sends sensing packets")
                .observe_reverse(&returned, Time::from_nanos(1_000_000)),
            "{config:?}"
        );
        let (mut classes, mut gauges) = (Vec::new(), Vec::new());
        queue.classes(&mut |name, _| classes.push(name.to_owned()));
        queue.gauges(&mut |name, _| gauges.push(name.to_owned()));
        assert!(classes.iter().any(|name| name.ends_with("band 1")), "{classes:?} of {config:?}");
        assert!(gauges.iter().any(|name| name.ends_with("asqm_dropping")), "{gauges:?} of {config:?}");
    }
}

#[test]
fn the_most_urgent_band_goes_first_and_each_is_limited_by_its_own_child() {
    let band = |packets| -> Box<dyn Qdisc> { Box::new(QueueConfig::packets(packets).build(1, "test").unwrap()) };
    let urgent = Rule { class: 0, dscp: Some(46), ..Rule::default() };
    let classifier = Classifier { rules: vec![urgent], default: 1 };
    let mut queue = CheckedQdisc::new(Prio::new(classifier.clone(), vec![band(10), band(2)]).unwrap());
    let mut accounting = Accounting::new(1);
    for (id, dscp) in [(1, 0), (2, 0), (3, 0), (4, 46), (5, 46)] {
        queue.enqueue(packet_of_class(dscp, Ecn::Ect0, id, 100), &mut cx(Time::ZERO, &mut accounting));
    }
    let now = Time::from_nanos(700);
    let order: Vec<u64> =
        std::iter::from_fn(|| queue.dequeue(&mut cx(now, &mut accounting))).map(|given| given.packet.id()).collect();
    assert_eq!(order, [4, 5, 1, 2]);
    let mut classes = Vec::new();
    queue.classes(&mut |name, stats| classes.push((name.to_owned(), stats)));
    let stats = |sent, dropped| ClassStats {
        sent_packets: sent,
        sent_bytes: Bytes::new(100 * sent),
        dropped_packets: dropped,
        dropped_bytes: Bytes::new(100 * dropped),
        sojourn_sum: Duration::from_nanos(700 * sent),
        sojourn_max: Duration::from_nanos(700),
        ..ClassStats::default()
    };
    assert_eq!(classes, [("band 0".to_owned(), stats(2, 0)), ("band 1".to_owned(), stats(2, 1))]);
    let too_few = Prio::new(classifier, vec![band(1)]).unwrap_err();
    assert_eq!(too_few.message, "there is no band 1: there are 1 bands, numbered from 0");
}
