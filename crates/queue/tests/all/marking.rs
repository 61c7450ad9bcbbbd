//! Tests of RED and of the marking threshold: which packets are marked or dropped at which average.

use crate::common::{cx, packet, packet_with};
use lopsided_core::{Accounting, BitRate, Bytes, DropReason, Duration, Ecn, NodeId, Rng, Time};
use lopsided_queue::{
    Limit, MarkThreshold, Markable, Marks, Qdisc, Queue, QueueConfig, Red, RedConfig, Threshold, ThresholdConfig,
    Victim,
};
use proptest::prelude::*;

const RED: RedConfig = RedConfig {
    limit: Limit::Packets(1000),
    min: Threshold::Packets(5),
    max: Threshold::Packets(15),
    probability: 0.1,
    weight: 1.0,
    // The line sends a packet of average size in 1 ms.
    avpkt: Bytes::new(1000),
    idle_decay: true,
    bandwidth: Some(BitRate::from_bps(8_000_000)),
    burst: None,
    ecn: true,
    harddrop: false,
    gentle: false,
    marks: Marks::Capable,
    victim: Victim::Tail,
    count_first: false,
    least: 0,
    adaptive: false,
};

const STEP: ThresholdConfig = ThresholdConfig {
    limit: Limit::Packets(10),
    mark_threshold: MarkThreshold::Depth(Threshold::Packets(3)),
    ect: Markable::Ect,
};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn red(config: RedConfig) -> Red {
    Red::new(&config, Rng::for_role(1, "test/queue")).unwrap()
}

fn average_of(queue: &Red) -> f64 {
    let mut found = f64::NAN;
    queue.gauges(&mut |name, value| {
        assert_eq!(name, "average");
        found = value;
    });
    found
}

fn step(config: ThresholdConfig) -> Queue {
    QueueConfig::new(config).build(1, "test").unwrap().checked()
}

/// Enqueues a packet, and then dequeues all packets. Returns the ECN field of the enqueued packet, or `None` if it was
/// dropped.
fn pass_through(queue: &mut impl Qdisc, id: u64, ecn: Ecn, accounting: &mut Accounting) -> Option<Ecn> {
    let before = queue.backlog().packets;
    queue.enqueue(packet_with(ecn, id, 1000), &mut cx(Time::ZERO, accounting));
    if queue.backlog().packets == before {
        return None;
    }
    (0..=before).map(|_| queue.dequeue(&mut cx(Time::ZERO, accounting)).unwrap()).last().map(|last| last.packet.ecn())
}

/// Repeatedly offers a packet to a queue whose length and average are `depth` packets. Returns the fractions of the
/// offered packets that were marked and dropped. The first offered packet does not count.
fn shares(config: RedConfig, depth: u64, ecn: Ecn) -> (f64, f64) {
    const ROUNDS: u64 = 4000;
    let mut queue = red(config);
    let mut accounting = Accounting::new(1);
    let mut next = 0;
    let mut offer = |queue: &mut Red, ecn: Ecn, accounting: &mut Accounting| {
        next += 1;
        queue.enqueue(packet_with(ecn, next, 1000), &mut cx(Time::ZERO, accounting));
    };
    while u64::from(queue.backlog().packets) < depth {
        offer(&mut queue, Ecn::Ect0, &mut accounting);
    }
    offer(&mut queue, ecn, &mut accounting);
    while u64::from(queue.backlog().packets) > depth {
        queue.dequeue(&mut cx(Time::ZERO, &mut accounting));
    }
    let before = accounting.node(NodeId(0)).clone();
    for _ in 0..ROUNDS {
        offer(&mut queue, ecn, &mut accounting);
        if u64::from(queue.backlog().packets) > depth {
            queue.dequeue(&mut cx(Time::ZERO, &mut accounting));
        }
    }
    let node = accounting.node(NodeId(0));
    let dropped = node.dropped(DropReason::Early).packets - before.dropped(DropReason::Early).packets;
    (
        (node.marked_total().packets - before.marked_total().packets) as f64 / ROUNDS as f64,
        dropped as f64 / ROUNDS as f64,
    )
}

#[test]
fn the_marked_fraction_depends_on_the_average() {
    // Intervals that are uniform over 1 to 1/p packets have a mean of (1/p + 1) / 2 (Floyd and Jacobson, section 7).
    let share = |p: f64| 2.0 / (1.0 / p + 1.0);
    for (depth, expected) in [(4, 0.0), (6, share(0.01)), (10, share(0.05)), (14, share(0.09)), (15, 1.0), (40, 1.0)] {
        let (marked, dropped) = shares(RED, depth, Ecn::Ect0);
        assert!((marked - expected).abs() < 0.1 * expected + 1e-9, "{depth}: {marked} for {expected}");
        assert_eq!(dropped, 0.0);
    }
}

#[test]
fn gentle_red_marks_all_packets_at_twice_the_maximum() {
    let gentle = RedConfig { gentle: true, ..RED };
    let share = |p: f64| 2.0 / (1.0 / p + 1.0);
    for (depth, expected) in [(14, share(0.09)), (15, share(0.1)), (22, share(0.1 + 0.9 * 7.0 / 15.0)), (30, 1.0)] {
        let (marked, _) = shares(gentle, depth, Ecn::Ect1);
        assert!((marked - expected).abs() < 0.1 * expected, "{depth}: {marked} for {expected}");
    }
}

#[test]
fn packets_that_cannot_be_marked_are_dropped() {
    for (config, ecn) in [(RED, Ecn::NotEct), (RedConfig { ecn: false, ..RED }, Ecn::Ect0)] {
        let (marked, dropped) = shares(config, 15, ecn);
        assert_eq!((marked, dropped), (0.0, 1.0), "{config:?}");
    }
    // RFC 3168, section 7: packets are dropped above the upper threshold and marked below it.
    let strict = RedConfig { harddrop: true, ..RED };
    assert_eq!(shares(strict, 15, Ecn::Ect0), (0.0, 1.0));
    let (marked, dropped) = shares(strict, 10, Ecn::Ect0);
    assert!(marked > 0.05 && dropped == 0.0, "{marked} {dropped}");
}

#[test]
fn the_average_follows_arrivals_and_decays_while_idle() {
    let mut queue = red(RedConfig { weight: 0.25, ..RED });
    let mut accounting = Accounting::new(1);
    for id in 1..=3 {
        queue.enqueue(packet(id, 1000), &mut cx(at(0), &mut accounting));
    }
    // The three packets found backlogs of 0, 1 and 2 packets. Each sample has a weight of 0.25.
    let average = 0.25 * 2.0 + 0.75 * 0.25;
    assert!((average_of(&queue) - average).abs() < 1e-12);
    for _ in 0..3 {
        queue.dequeue(&mut cx(at(10), &mut accounting)).unwrap();
    }
    // The queue is idle from 10 to 14 ms, in which the line could have sent four packets of 1 ms each.
    queue.enqueue(packet(4, 1000), &mut cx(at(14), &mut accounting));
    let average = average * 0.75f64.powi(4);
    assert!((average_of(&queue) - average).abs() < 1e-12);
    // A packet that a full buffer drops is also a sample, and ends the idle time.
    queue.enqueue(packet(5, 1000), &mut cx(at(20), &mut accounting));
    assert!((average_of(&queue) - (average + 0.25 * (1.0 - average))).abs() < 1e-12);
}

/// Under a token bucket, Linux never dequeues from an empty RED queue. In kernel captures at 19.4 Mbit/s, all 57 SYNs
/// and retransmissions that arrived up to 10 s after the queue had been full were dropped. If the average decayed
/// during idle times, 18 of these packets would have found an average below `max`.
#[test]
fn without_idle_decay_arrivals_alone_move_the_average() {
    let mut queue = red(RedConfig { weight: 0.25, idle_decay: false, ..RED });
    let mut accounting = Accounting::new(1);
    for id in 1..=3 {
        queue.enqueue(packet(id, 1000), &mut cx(at(0), &mut accounting));
    }
    for _ in 0..3 {
        queue.dequeue(&mut cx(at(10), &mut accounting)).unwrap();
    }
    queue.enqueue(packet(4, 1000), &mut cx(at(5000), &mut accounting));
    let average = (0.25 * 2.0 + 0.75 * 0.25) * 0.75;
    assert!((average_of(&queue) - average).abs() < 1e-12, "{}", average_of(&queue));
}

#[test]
fn an_average_in_octets_counts_octets() {
    let octets = |count| Threshold::Bytes(Bytes::new(count));
    let mut queue = red(RedConfig { min: octets(2000), max: octets(2000), ..RED });
    let mut accounting = Accounting::new(1);
    for (id, size) in [(1, 100), (2, 100), (3, 1000), (4, 799), (5, 1), (6, 1)].map(|(id, size)| (id, size + 28)) {
        queue.enqueue(packet(id, size), &mut cx(at(0), &mut accounting));
    }
    // Packets are marked at an average above 2,000 bytes. The last two packets find backlogs of 2,111 bytes (128 + 128
    // + 1028 + 827) and 2,140 bytes.
    assert_eq!(accounting.node(NodeId(0)).marked_total().packets, 2);
}

#[test]
fn a_step_marks_only_packets_that_find_a_longer_queue() {
    let mut queue = step(STEP);
    let mut accounting = Accounting::new(1);
    let codes = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce];
    for id in 0..12 {
        queue.enqueue(packet_with(codes[id as usize % 4], id, 1000), &mut cx(at(0), &mut accounting));
    }
    let out: Vec<Ecn> =
        std::iter::from_fn(|| queue.dequeue(&mut cx(at(1), &mut accounting))).map(|given| given.packet.ecn()).collect();
    let untouched = codes.iter().copied();
    let above = [Ecn::Ce, Ecn::Ce, Ecn::NotEct, Ecn::Ce];
    assert_eq!(out, untouched.chain(above).chain(above).take(10).collect::<Vec<_>>());
    assert_eq!(accounting.node(NodeId(0)).dropped(DropReason::QueueFull).packets, 2);
    // Six packets find a queue longer than the threshold. One of them, packet 6, is not ECN-capable. Marks of packets
    // that are dropped on arrival are not counted.
    assert_eq!(accounting.node(NodeId(0)).marked_total().packets, 5);
}

#[test]
fn a_step_in_time_marks_at_the_head() {
    let mut queue = step(ThresholdConfig { mark_threshold: MarkThreshold::Sojourn(Duration::from_millis(5)), ..STEP });
    let mut accounting = Accounting::new(1);
    for id in 0..3 {
        queue.enqueue(packet(id, 1000), &mut cx(at(id), &mut accounting));
    }
    let mut leave = |now| queue.dequeue(&mut cx(at(now), &mut accounting)).unwrap().packet.ecn();
    // The sojourn times are 5, 5 and 6 ms. Only the last exceeds the threshold of 5 ms.
    assert_eq!([leave(5), leave(6), leave(8)], [Ecn::Ect0, Ecn::Ect0, Ecn::Ce]);
}

#[test]
fn a_step_for_low_latency_spares_classic_traffic() {
    // RFC 9331, section 5: packets with ECT(0) must not get L4S marks.
    let mut queue = step(ThresholdConfig {
        ect: Markable::Ect1,
        mark_threshold: MarkThreshold::Depth(Threshold::Packets(0)),
        ..STEP
    });
    let mut accounting = Accounting::new(1);
    queue.enqueue(packet(0, 1000), &mut cx(at(0), &mut accounting));
    let mut through = |id, ecn| pass_through(&mut queue, id, ecn, &mut accounting);
    assert_eq!(through(1, Ecn::Ect0), Some(Ecn::Ect0));
    queue.enqueue(packet(2, 1000), &mut cx(at(0), &mut accounting));
    assert_eq!(pass_through(&mut queue, 3, Ecn::Ect1, &mut accounting), Some(Ecn::Ce));
}

#[test]
fn invalid_settings_are_rejected() {
    let bad = |config: RedConfig| QueueConfig::new(config).build(1, "link").unwrap_err().key;
    assert_eq!(bad(RedConfig { min: Threshold::Bytes(Bytes::new(5)), ..RED }), "min");
    assert_eq!(bad(RedConfig { min: Threshold::Packets(16), ..RED }), "min");
    assert_eq!(bad(RedConfig { weight: 0.0, ..RED }), "weight");
    assert_eq!(bad(RedConfig { probability: 1.5, ..RED }), "probability");
    assert_eq!(bad(RedConfig { ecn: false, harddrop: true, ..RED }), "harddrop");
    assert_eq!(bad(RedConfig { limit: Limit::Packets(0), ..RED }), "limit");
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

fn red_config() -> impl Strategy<Value = RedConfig> {
    let limit =
        prop_oneof![(1..20u32).prop_map(Limit::Packets), (400..9000u64).prop_map(|b| Limit::Bytes(Bytes::new(b)))];
    let thresholds = (any::<bool>(), 0..10u32, 0..10u32).prop_map(|(packets, low, more)| {
        let depth = |count: u32| {
            if packets { Threshold::Packets(count) } else { Threshold::Bytes(Bytes::new(u64::from(count) * 500)) }
        };
        (depth(low), depth(low + more))
    });
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (limit, thresholds, 0.0..=1.0f64, 0.001..=1.0f64, 0..5u64, flags).prop_map(
        |(limit, (min, max), probability, weight, idle, (ecn, harddrop, gentle))| {
            // The line sends an average packet in `idle` ms; 0 means an infinite rate.
            let bandwidth = (idle > 0).then(|| BitRate::from_bps(8_000_000 / idle));
            let (avpkt, harddrop) = (Bytes::new(1000), ecn && harddrop);
            RedConfig {
                limit,
                min,
                max,
                probability,
                avpkt,
                bandwidth,
                burst: None,
                weight,
                ecn,
                harddrop,
                gentle,
                ..RED
            }
        },
    )
}

proptest! {
    /// Every drop has a reason, and every mark is reported. The results with and without the audit are the same.
    #[test]
    fn red_keeps_its_contract(config in red_config(), steps in prop::collection::vec((ecn(), 28..1500u32, 0..4u64, 0..3usize), 1..200)) {
        let mut checked = QueueConfig::new(config).build(1, "link").unwrap().checked();
        let mut plain = Red::new(&config, Rng::for_role(1, "link/queue")).unwrap();
        let (mut accounting, mut plain_books) = (Accounting::new(1), Accounting::new(1));
        let mut now = 0;
        for (id, (ecn, size, gap, leave)) in steps.into_iter().enumerate() {
            now += gap;
            checked.enqueue(packet_with(ecn, id as u64, size), &mut cx(at(now), &mut accounting));
            plain.enqueue(packet_with(ecn, id as u64, size), &mut cx(at(now), &mut plain_books));
            prop_assert!(average_of(&plain) >= 0.0 && average_of(&plain).is_finite());
            for _ in 0..leave {
                let given = checked.dequeue(&mut cx(at(now), &mut accounting)).map(|given| (given.packet.id(), given.packet.ecn()));
                let same = plain.dequeue(&mut cx(at(now), &mut plain_books)).map(|given| (given.packet.id(), given.packet.ecn()));
                prop_assert_eq!(given, same);
            }
        }
        prop_assert_eq!(accounting.digest(), plain_books.digest());
    }
}

#[test]
fn a_gateway_for_ack_congestion_control_marks_acks_and_drops_random_packets() {
    let full = RedConfig {
        limit: Limit::Packets(5),
        min: Threshold::Packets(2),
        max: Threshold::Packets(2),
        weight: 1.0,
        ecn: true,
        marks: Marks::CapableAndAcks,
        victim: Victim::Random,
        ..RED
    };
    let mut gone = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut queue = QueueConfig::new(full).build(seed, "test").unwrap().checked();
        let (drops, mut accounting) = crate::common::Drops::watched();
        for id in 1..=6 {
            let ack = crate::common::Segment::ack(1, id as u32).packet(id);
            queue.enqueue(ack, &mut cx(Time::ZERO, &mut accounting));
        }
        assert_eq!(drops.seen().len(), 1, "the queue was full once");
        gone.extend(drops.seen());
        let left: Vec<_> = std::iter::from_fn(|| queue.dequeue(&mut cx(Time::ZERO, &mut accounting))).collect();
        assert_eq!(
            left.iter().filter(|given| given.packet.ecn() == Ecn::Ce).count(),
            left.iter().filter(|given| given.packet.id() > 2).count(),
            "the packets that found at least two packets"
        );
    }
    assert_eq!(gone.len(), 5, "each queued packet is a victim for some seed, the arriving packet for none: {gone:?}");
}

#[test]
fn a_short_queue_accepts_packets_at_any_average() {
    // Enough packets arrive to raise the average above the upper threshold. Then all packets except one leave at once.
    let passed = |least: u32| {
        let mut queue = red(RedConfig { least, weight: 0.01, ecn: false, ..RED });
        let mut accounting = Accounting::new(1);
        let mut cx = cx(Time::ZERO, &mut accounting);
        for id in 0..1000 {
            queue.enqueue(packet(id, 1000), &mut cx);
        }
        assert!(average_of(&queue) > 16.0, "{}", average_of(&queue));
        while queue.backlog().packets > 1 {
            let _ = queue.dequeue(&mut cx).map(|given| cx.deliver(given.packet));
        }
        let before = queue.backlog().packets;
        queue.enqueue(packet(1000, 1000), &mut cx);
        queue.backlog().packets - before
    };
    assert_eq!([passed(0), passed(1), passed(2)], [0, 0, 1], "one packet is queued");
}

#[test]
fn above_the_upper_threshold_a_random_packet_is_dropped() {
    let hard = RedConfig {
        limit: Limit::Packets(10),
        min: Threshold::Packets(2),
        max: Threshold::Packets(3),
        weight: 1.0,
        victim: Victim::Random,
        ..RED
    };
    let mut gone = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let mut queue = QueueConfig::new(hard).build(seed, "test").unwrap().checked();
        let (drops, mut accounting) = crate::common::Drops::watched();
        for id in 1..=4 {
            queue.enqueue(crate::common::Segment::ack(1, id as u32).packet(id), &mut cx(Time::ZERO, &mut accounting));
        }
        assert_eq!(drops.seen().len(), 1, "the fourth packet finds three packets");
        gone.extend(drops.seen().into_iter().map(|(id, _)| id));
        while queue.dequeue(&mut cx(Time::ZERO, &mut accounting)).is_some() {}
    }
    assert_eq!(gone, (1..=4).collect::<std::collections::BTreeSet<u64>>(), "the arriving packet is also a candidate");
}

#[test]
fn the_packet_that_ends_an_idle_time_may_count_as_a_sample() {
    // On a line with an infinite rate, the average is 0 after any idle time. On a slow line, the average hardly decays.
    let slow = RedConfig {
        limit: Limit::Packets(10),
        min: Threshold::Packets(5),
        max: Threshold::Packets(8),
        weight: 0.5,
        bandwidth: Some(lopsided_core::BitRate::from_bps(1)),
        ..RED
    };
    let average = |count_first| {
        let mut queue = QueueConfig::new(RedConfig { count_first, ..slow }).build(1, "test").unwrap();
        let mut accounting = lopsided_core::Accounting::new(1);
        for id in 1..=3 {
            queue.enqueue(
                crate::common::Segment::ack(1, id).packet(u64::from(id)),
                &mut cx(Time::ZERO, &mut accounting),
            );
        }
        let drain = |queue: &mut dyn Qdisc, accounting: &mut lopsided_core::Accounting| {
            while let Some(given) = queue.dequeue(&mut cx(Time::ZERO, accounting)) {
                cx(Time::ZERO, accounting).deliver(given.packet);
            }
        };
        drain(&mut queue, &mut accounting);
        queue.enqueue(crate::common::Segment::ack(1, 4).packet(4), &mut cx(Time::ZERO, &mut accounting));
        let mut found = f64::NAN;
        queue.gauges(&mut |gauge, value| {
            if gauge == "average" {
                found = value
            }
        });
        drain(&mut queue, &mut accounting);
        found
    };
    assert_eq!(average(false), 1.25, "0, 0.5, 1.25");
    assert_eq!(average(true), 0.625);
}
