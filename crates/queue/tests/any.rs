//! What every discipline must keep, alone and in any tree of them: conservation after each operation, sizes that are what they
//! were said to be, classes that add up, and no starvation: what was taken in comes out or is dropped.

mod common;

use common::{Segment, cx, packet_of_class};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, Ecn, Event, EventMask, NodeId, Observer, Packet, Rng, Time,
};
use lopsided_queue::{
    AckFilter, AckFilterConfig, AsqmConfig, Backlog, BdpConfig, CakeConfig, CheckedQdisc, Child, ClassStats,
    Classifier, CobaltConfig, CobaltQueueConfig, CodelConfig, CodelQueueConfig, DocsisPieConfig, DropFrom,
    DualPi2Config, FifoConfig, FilterRule, FilteredQueue, FqCodelConfig, FqPieConfig, Limit, MarkThreshold, Markable,
    Marks, PieConfig, PieQueueConfig, Prio, Qdisc, QueueConfig, QueuedPacket, RedConfig, Rule, Threshold,
    ThresholdConfig, TinMode, Victim, Waiting,
};
use lopsided_spec::Choice as _;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// A discipline, and those inside.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(QueueConfig),
    /// Lets a packet go at multiples of so many nanoseconds only, and does not tell its size before.
    Slotted(u64, Box<Tree>),
    Prio(Vec<Tree>),
    Filtered(FilterRule, Box<Tree>),
}

impl Tree {
    /// Whether a packet can be dropped after one that arrived was taken in.
    fn may_drop_after_arrival(&self) -> bool {
        match self {
            Tree::Leaf(config) => ["fq_codel", "bdp", "cake"].contains(&config.kind()),
            Tree::Slotted(_, inner) | Tree::Filtered(_, inner) => inner.may_drop_after_arrival(),
            Tree::Prio(bands) => bands.iter().any(Tree::may_drop_after_arrival),
        }
    }

    /// Every discipline of the tree is checked by itself.
    fn build(&self, seed: u64) -> Box<dyn Qdisc> {
        match self {
            Tree::Leaf(config) => Box::new(config.build(seed, "test").unwrap().checked()),
            Tree::Slotted(slot, inner) => {
                Box::new(CheckedQdisc::new(Slotted { slot: *slot, last: None, inner: Child::new(inner.build(seed)) }))
            }
            Tree::Filtered(rule, inner) => {
                let config = AckFilterConfig { rule: *rule, share: 0.8, ..AckFilterConfig::default() };
                let filter = AckFilter::new(&config, Rng::for_role(seed, "test"));
                Box::new(CheckedQdisc::new(FilteredQueue::new(filter, inner.build(seed))))
            }
            Tree::Prio(bands) => {
                let rules = (0..bands.len()).map(|class| Rule {
                    class: class as u32,
                    dscp: Some(class as u32),
                    ..Rule::default()
                });
                let classifier = Classifier { rules: rules.collect(), default: bands.len() - 1 };
                let bands = bands.iter().map(|band| band.build(seed)).collect();
                Box::new(CheckedQdisc::new(Prio::new(classifier, bands).unwrap()))
            }
        }
    }
}

/// One packet at each multiple of `slot`.
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

    fn removes(&self) -> bool {
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
    /// The packets that disciplines of the tree want to make are offered.
    Originate,
    /// An ACK of one of two connections.
    Ack {
        flow: u16,
        step: u32,
        sack: bool,
    },
    Dequeue,
    Peek,
    Wait(u64),
}

fn leaf() -> impl Strategy<Value = Tree> {
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
            burst: None,
            ecn,
            harddrop: false,
            gentle: true,
            marks: if ecn { Marks::All } else { Marks::Capable },
            victim: if ecn { Victim::Random } else { Victim::Tail },
        })
    });
    let above = prop_oneof![
        (0..10_u32).prop_map(|packets| MarkThreshold::Depth(Threshold::Packets(packets))),
        (0..5000_u64).prop_map(|nanos| MarkThreshold::Sojourn(Duration::from_nanos(nanos))),
    ];
    let step = above.prop_map(|mark_threshold| {
        QueueConfig::new(ThresholdConfig { limit: Limit::Packets(15), mark_threshold, ect: Markable::Ect })
    });
    // Short enough that the laws act within the nanoseconds of a test.
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
    let asqm = Just(QueueConfig::new(AsqmConfig { limit: Limit::Packets(15), ..AsqmConfig::default() }));
    let bdp = (1..4_u32, 1..20_u32)
        .prop_map(|(flows, limit)| QueueConfig::new(BdpConfig { limit, flows, ..BdpConfig::default() }));
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
    let classic = prop_oneof![fifo, red, step, alone, fair, pie, asqm, bdp];
    let modern = prop_oneof![fair_pie, docsis, dual, cobalt, cake];
    prop_oneof![classic, modern].prop_map(Tree::Leaf)
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (1..2000_u64, inner.clone()).prop_map(|(slot, inner)| Tree::Slotted(slot, Box::new(inner))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Prio),
            (filter_rule(), inner).prop_map(|(rule, inner)| Tree::Filtered(rule, Box::new(inner))),
        ]
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
        2 => (0..3000_u64).prop_map(Operation::Wait),
    ]
}

/// Compares the backlog that each `Enqueued` event tells with what the whole queue holds after it.
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

/// The backlogs of the outermost classes; `None` if there are none.
fn sum_of_classes(queue: &dyn Qdisc) -> Option<Backlog> {
    let mut sum = None;
    queue.classes(&mut |name, stats| {
        if !name.contains('/') {
            sum = Some(sum.unwrap_or_default() + stats.backlog);
        }
    });
    sum
}

proptest! {
    #[test]
    fn every_tree_of_disciplines_keeps_the_contract(
        tree in tree(),
        seed: u64,
        operations in prop::collection::vec(operation(), 1..150),
    ) {
        let mut queue = tree.build(seed);
        let last_backlog = LastBacklog::default();
        let mut accounting = Accounting::new(1);
        accounting.subscribe(Box::new(last_backlog.clone()));
        let (mut now, mut offered, mut given) = (Time::ZERO, 0, 0);
        let mut acked = [0; 2];
        for operation in operations {
            let mut cx = cx(now, &mut accounting);
            match operation {
                Operation::Enqueue { .. } | Operation::Ack { .. } => {
                    offered += 1;
                    let packet = match operation {
                        Operation::Ack { flow, step, sack } => {
                            acked[usize::from(flow)] += 1000 * step;
                            let ack = acked[usize::from(flow)];
                            let sack = if sack { vec![(ack + 1000, ack + 2000)] } else { Vec::new() };
                            Segment { sack, ..Segment::ack(flow, ack) }.packet(offered)
                        }
                        Operation::Enqueue { size, dscp, ecn } => packet_of_class(dscp, ecn, offered, size),
                        _ => unreachable!("no arrival"),
                    };
                    queue.enqueue(packet, &mut cx);
                    if let Some(told) = last_backlog.0.lock().unwrap().take() {
                        // FQ-CoDel and CAKE take a packet in before they make room by dropping others, as Linux does.
                        let dropped = told.packets - queue.backlog().packets;
                        prop_assert!(dropped == 0 || tree.may_drop_after_arrival(), "{told:?}");
                        prop_assert_eq!(dropped == 0, told == queue.backlog());
                    }
                }
                Operation::Originate => {
                    while let Some(new) = queue.poll_originate() {
                        offered += 1;
                        queue.enqueue(Packet::unbooked(offered, now, new), &mut cx);
                        last_backlog.0.lock().unwrap().take();
                    }
                }
                Operation::Dequeue => given += u64::from(queue.dequeue(&mut cx).is_some()),
                Operation::Peek if queue.ready_at(now) == Some(now) => {
                    queue.peek(&mut cx);
                }
                Operation::Peek => {}
                Operation::Wait(nanos) => now += Duration::from_nanos(nanos),
            }
            if let (Tree::Prio(_), Some(sum)) = (&tree, sum_of_classes(&queue)) {
                prop_assert_eq!(sum, queue.backlog());
            }
        }
        // No starvation: without arrivals, each call that a discipline was ready for gives a packet or drops one.
        while let Some(ready) = queue.ready_at(now) {
            prop_assert!(ready >= now);
            now = ready;
            let before = queue.backlog().packets;
            given += u64::from(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
            prop_assert!(queue.backlog().packets < before || queue.ready_at(now) > Some(now));
        }
        prop_assert_eq!(offered, given + accounting.node(NodeId(0)).dropped_total().packets);
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
    assert_eq!(too_few.message, "there is no band 1: 1 bands count from 0");
}
