//! Tests the guarantees of each scheduling discipline: shares, rates, bursts, order, and which packet is dropped.

use crate::common::{Drops, Segment, cx};
use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, BitRate, Bytes, DropReason, Duration, Ecn, FlowId, IpHeader, NewPacket, NodeId, Packet, Payload, Time,
    Transport,
};
use lopsided_queue::{
    AfvqConfig, AredConfig, CbwfqClass, CbwfqConfig, ChokeConfig, DrrClass, DrrConfig, FqCodelConfig, FqConfig,
    HtbClass, HtbConfig, Limit, Qdisc, Queue, QueueConfig, RedConfig, Rule, SfqConfig, TbfConfig, Threshold, WfqConfig,
    WredConfig,
};
use std::net::Ipv4Addr;

/// Creates a packet of a flow. The number of the flow is also its port.
fn packet(flow: u16, dscp: u8, id: u64, size: u32) -> Packet {
    let ip = IpHeader { dscp, ecn: Ecn::NotEct, ..IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)) };
    let transport = Transport::Udp(UdpHeader { src_port: flow, dst_port: 2 });
    let new = NewPacket::new(FlowId(u32::from(flow)), ip, transport, Payload::virtual_len(size - 28));
    Packet::unbooked(id, Time::ZERO, new)
}

fn build(config: impl Into<QueueConfig>) -> Queue {
    config.into().build(1, "test").unwrap().checked()
}

fn mbit(rate: u64) -> BitRate {
    BitRate::from_bps(rate * 1_000_000)
}

fn by_flow(classes: u32) -> Vec<Rule> {
    (0..classes).map(|class| Rule { class, flow: Some(class), ..Rule::default() }).collect()
}

/// Serves a queue whose flows always have packets. Returns the rate of each flow in Mbit/s.
fn shares(queue: &mut Queue, flows: &[u16], dscp: u8, line: BitRate, millis: u64) -> Vec<f64> {
    let mut accounting = Accounting::new(1);
    let (mut sent, mut waiting) = (vec![0.0; flows.len()], vec![0; flows.len()]);
    let (mut now, mut id) = (Time::ZERO, 0);
    let end = Time::ZERO + Duration::from_millis(millis);
    while now < end {
        for (at, flow) in flows.iter().enumerate() {
            while waiting[at] < 10 {
                id += 1;
                waiting[at] += 1;
                queue.enqueue(packet(*flow, dscp, id, 1000), &mut cx(now, &mut accounting));
            }
        }
        let ready = queue.ready_at(now).expect("packets are queued");
        now = ready.max(now);
        if let Some(given) = queue.dequeue(&mut cx(now, &mut accounting)) {
            let at = flows.iter().position(|flow| u32::from(*flow) == given.packet.flow().0).unwrap();
            waiting[at] -= 1;
            sent[at] += 8000.0 / (millis as f64 * 1000.0);
            now += line.time_to_send(given.packet.size(), 0).0;
        }
    }
    sent
}

fn assert_near(found: &[f64], expected: &[f64], by: f64) {
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= by);
    assert!(near && found.len() == expected.len(), "{found:?}, not {expected:?}");
}

fn drr(quanta: &[u64]) -> Queue {
    let class = |quantum: &u64| DrrClass { quantum: Bytes::new(*quantum), ..DrrClass::default() };
    let classify = by_flow(quanta.len() as u32);
    build(DrrConfig { classes: quanta.iter().map(class).collect(), classify, default_class: None })
}

#[test]
fn drr_shares_by_quanta_even_if_packets_are_larger_than_a_quantum() {
    let shared = shares(&mut drr(&[3000, 1000, 500]), &[0, 1, 2], 0, mbit(9), 2000);
    assert_near(&shared, &[6.0, 2.0, 1.0], 0.02);
}

fn htb_class(parent: Option<u32>, rate: u64, ceil: u64) -> HtbClass {
    HtbClass { parent, rate: mbit(rate), ceil: Some(mbit(ceil)), ..HtbClass::default() }
}

/// Builds a root of 10 Mbit/s, with leaves of these rates, ceilings and priorities.
fn htb(leaves: &[(u64, u64, u32)]) -> Queue {
    let leaf = |(rate, ceil, prio): &(u64, u64, u32)| HtbClass { prio: *prio, ..htb_class(Some(0), *rate, *ceil) };
    let classes = std::iter::once(htb_class(None, 10, 10)).chain(leaves.iter().map(leaf)).collect();
    let rule = |leaf| Rule { class: leaf + 1, flow: Some(leaf), ..Rule::default() };
    let classify = (0..leaves.len() as u32).map(rule).collect();
    build(HtbConfig { classes, classify, ..HtbConfig::default() })
}

#[test]
fn htb_guarantees_rates_and_shares_unused_bandwidth_by_quantum() {
    // The guaranteed rates leave 4 Mbit/s. The classes share this rate in proportion to their quanta, which are
    // proportional to the guaranteed rates.
    let shared = shares(&mut htb(&[(4, 10, 0), (2, 10, 0)]), &[0, 1], 0, mbit(100), 4000);
    assert_near(&shared, &[4.0 + 4.0 * 2.0 / 3.0, 2.0 + 4.0 / 3.0], 0.05);
}

#[test]
fn htb_lends_to_the_lowest_prio_first_and_never_above_a_ceil() {
    let shared = shares(&mut htb(&[(2, 10, 1), (2, 10, 0)]), &[0, 1], 0, mbit(100), 4000);
    assert_near(&shared, &[2.0, 8.0], 0.05);
    let shared = shares(&mut htb(&[(2, 10, 1), (2, 5, 0)]), &[0, 1], 0, mbit(100), 4000);
    assert_near(&shared, &[5.0, 5.0], 0.05);
    let alone = shares(&mut htb(&[(2, 10, 1), (2, 5, 0)]), &[1], 0, mbit(100), 4000);
    assert_near(&alone, &[5.0], 0.02);
}

#[test]
fn htb_lends_level_by_level() {
    // The tree is 0 { 1 { 3, 4 }, 2 }. Bandwidth that class 3 does not use is lent to its sibling 4 before class 2.
    let classes = vec![
        htb_class(None, 10, 10),
        htb_class(Some(0), 6, 10),
        htb_class(Some(0), 4, 10),
        htb_class(Some(1), 3, 10),
        htb_class(Some(1), 3, 10),
    ];
    let classify = [(0, 3), (1, 4), (2, 2)].map(|(flow, class)| Rule { class, flow: Some(flow), ..Rule::default() });
    let config = HtbConfig { classes, classify: classify.to_vec(), default_class: Some(2), ..HtbConfig::default() };
    let shared = shares(&mut build(config.clone()), &[1, 2], 0, mbit(100), 4000);
    assert_near(&shared, &[6.0, 4.0], 0.05);
    let all = shares(&mut build(config), &[0, 1, 2], 0, mbit(100), 4000);
    assert_near(&all, &[3.0, 3.0, 4.0], 0.05);
}

/// Enqueues all packets at once, and dequeues each packet as soon as it is ready. Returns the departure times in
/// microseconds.
fn departures(queue: &mut Queue, sizes: &[u32]) -> Vec<u64> {
    let (mut accounting, mut now) = (Accounting::new(1), Time::ZERO);
    for (id, size) in sizes.iter().enumerate() {
        queue.enqueue(packet(0, 0, id as u64, *size), &mut cx(now, &mut accounting));
    }
    let mut times = Vec::new();
    while let Some(ready) = queue.ready_at(now) {
        now = ready;
        if queue.dequeue(&mut cx(now, &mut accounting)).is_some() {
            times.push(now.as_nanos() / 1000);
        }
    }
    times
}

#[test]
fn tbf_sends_a_burst_at_the_peak_rate_and_then_at_the_rate() {
    let queue = QueueConfig::packets(100);
    let config = TbfConfig { rate: mbit(8), burst: Bytes::new(3000), queue, ..TbfConfig::default() };
    // The rate is 1,000 bytes per millisecond.
    assert_eq!(departures(&mut build(config.clone()), &[1000; 6]), [0, 0, 0, 1000, 2000, 3000]);
    assert_eq!(departures(&mut build(config.clone()), &[1500, 1500, 1500, 500]), [0, 0, 1500, 2000]);
    let peaked = TbfConfig { peakrate: Some(mbit(16)), mtu: Bytes::new(1500), ..config };
    assert_eq!(departures(&mut build(peaked), &[1000; 6]), [0, 250, 750, 1250, 2000, 3000]);
}

/// After each packet, Linux's tbf looks for the next packet. Therefore fq_codel detects at once that a flow is empty,
/// and the flow becomes a new flow with its next packet.
#[test]
fn tbf_lets_fq_codel_detect_an_empty_flow_at_once() {
    let queue = FqCodelConfig { quantum: Bytes::new(1000), ..FqCodelConfig::default() }.into();
    let mut queue = build(TbfConfig { rate: mbit(8), burst: Bytes::new(1500), queue, ..TbfConfig::default() });
    let (mut accounting, mut now) = (Accounting::new(1), Time::ZERO);
    queue.enqueue(packet(1, 0, 1, 1000), &mut cx(now, &mut accounting));
    assert!(queue.dequeue(&mut cx(now, &mut accounting)).is_some(), "the queue is empty now");
    for (flow, id) in [(1, 2), (2, 3), (2, 4), (1, 5)] {
        queue.enqueue(packet(flow, 0, id, 1000), &mut cx(now, &mut accounting));
    }
    let order = std::iter::from_fn(|| {
        now = queue.ready_at(now)?;
        queue.dequeue(&mut cx(now, &mut accounting)).map(|given| given.packet.id())
    });
    assert_eq!(order.collect::<Vec<_>>(), [2, 3, 5, 4]);
}

#[test]
fn htb_sends_one_packet_more_than_the_burst_because_it_charges_after_sending() {
    let class = HtbClass { burst: Some(Bytes::new(2000)), cburst: Some(Bytes::new(2000)), ..htb_class(None, 8, 8) };
    let config = HtbConfig { classes: vec![class], ..HtbConfig::default() };
    // The bucket has credit for 2,000 bytes. The third packet is sent while the bucket is at zero. Afterwards the
    // bucket is negative.
    assert_eq!(departures(&mut build(config), &[1000; 5]), [0, 0, 0, 1000, 2000]);
}

#[test]
fn fq_paces_each_flow_once_its_credit_is_used_up() {
    let quantum = Bytes::new(1000);
    let config = FqConfig { maxrate: Some(mbit(8)), quantum, initial_quantum: Bytes::new(3000), ..FqConfig::default() };
    assert_eq!(departures(&mut build(config), &[1000; 6]), [0, 0, 0, 1000, 2000, 3000]);
}

#[test]
fn fair_queues_serve_a_sparse_flow_before_the_flow_that_fills_them() {
    for config in [QueueConfig::from(FqConfig::default()), SfqConfig::default().into(), WfqConfig::default().into()] {
        let mut queue = build(config.clone());
        let mut accounting = Accounting::new(1);
        let mut offer = |flow, id| queue.enqueue(packet(flow, 0, id, 1000), &mut cx(Time::ZERO, &mut accounting));
        (0..50).for_each(|id| offer(1, id));
        offer(2, 50);
        let place = (0..).find(|_| {
            let given = queue.dequeue(&mut cx(Time::ZERO, &mut accounting));
            given.unwrap().packet.flow() == FlowId(2)
        });
        assert!(place <= Some(16), "{config:?}: {place:?}");
    }
}

#[test]
fn sfq_drops_from_the_longest_queue() {
    let mut queue = build(SfqConfig { limit: 10, ..SfqConfig::default() });
    let (drops, mut accounting) = Drops::watched();
    let mut offer = |flow, id| queue.enqueue(packet(flow, 0, id, 1000), &mut cx(Time::ZERO, &mut accounting));
    (0..9).for_each(|id| offer(1, id));
    (9..12).for_each(|id| offer(2, id));
    assert_eq!(drops.seen(), [(8, DropReason::QueueFull), (7, DropReason::QueueFull)]);
}

#[test]
fn wfq_shares_by_precedence() {
    let mut queue = build(WfqConfig::default());
    let mut accounting = Accounting::new(1);
    // IP precedences 0 and 2 have the weights 1 and 3.
    for id in 0..60 {
        queue.enqueue(packet(1, 0, 2 * id, 1000), &mut cx(Time::ZERO, &mut accounting));
        queue.enqueue(packet(2, 16, 2 * id + 1, 1000), &mut cx(Time::ZERO, &mut accounting));
    }
    let served = (0..40).filter_map(|_| queue.dequeue(&mut cx(Time::ZERO, &mut accounting)));
    assert_eq!(served.filter(|given| given.packet.flow() == FlowId(2)).count(), 30);
}

fn cbwfq(classes: &[(u64, bool)]) -> Queue {
    let class = |(rate, priority): &(u64, bool)| {
        let burst = priority.then_some(Bytes::new(10_000));
        CbwfqClass { bandwidth: mbit(*rate), priority: *priority, burst, ..CbwfqClass::default() }
    };
    let classify = by_flow(classes.len() as u32);
    build(CbwfqConfig { classes: classes.iter().map(class).collect(), classify, default_class: None })
}

#[test]
fn cbwfq_shares_by_bandwidth() {
    let shared = shares(&mut cbwfq(&[(6, false), (3, false), (1, false)]), &[0, 1, 2], 0, mbit(20), 2000);
    assert_near(&shared, &[12.0, 6.0, 2.0], 0.05);
}

#[test]
fn a_priority_class_goes_first_and_is_policed_only_while_others_wait() {
    let mut queue = cbwfq(&[(8, true), (2, false)]);
    let (drops, mut accounting) = Drops::watched();
    let mut served = Vec::new();
    // Each of the two flows offers 16 Mbit/s to a line of 16 Mbit/s, which sends two packets per millisecond.
    for tick in 0..2000_u64 {
        let now = Time::ZERO + Duration::from_micros(500 * tick);
        for flow in [0, 1] {
            queue.enqueue(packet(flow, 0, 2 * tick + u64::from(flow), 1000), &mut cx(now, &mut accounting));
        }
        served.push(queue.dequeue(&mut cx(now, &mut accounting)).unwrap().packet.flow().0);
    }
    let urgent = served.iter().filter(|flow| **flow == 0).count();
    // The flow gets half of the line, plus the burst of ten packets.
    assert!((1000..=1012).contains(&urgent), "{urgent}");
    assert!(drops.seen().iter().any(|(_, why)| *why == DropReason::Policed));
    let mut alone = cbwfq(&[(8, true), (2, false)]);
    let (drops, mut accounting) = Drops::watched();
    for tick in 0..2000_u64 {
        let now = Time::ZERO + Duration::from_micros(500 * tick);
        alone.enqueue(packet(0, 0, tick, 1000), &mut cx(now, &mut accounting));
        alone.dequeue(&mut cx(now, &mut accounting)).unwrap();
    }
    assert_eq!(drops.seen(), []);
}

#[test]
fn choke_drops_most_packets_of_the_flow_that_fills_the_queue() {
    let red = RedConfig {
        limit: Limit::Packets(200),
        min: Threshold::Packets(10),
        max: Threshold::Packets(100),
        weight: 0.02,
        ..RedConfig::default()
    };
    let mut queue = build(ChokeConfig { red });
    let mut accounting = Accounting::new(1);
    let mut sent = [0, 0];
    // One flow sends 90 % of the packets. The line sends five packets in the time in which ten packets arrive.
    for id in 0..20_000_u64 {
        let now = Time::ZERO + Duration::from_micros(100 * id);
        queue.enqueue(packet(u16::from(id % 10 == 0), 0, id, 1000), &mut cx(now, &mut accounting));
        if id % 2 == 0 {
            if let Some(given) = queue.dequeue(&mut cx(now, &mut accounting)) {
                sent[given.packet.flow().0 as usize] += 1;
            }
        }
    }
    // A FIFO would give the small flow 10 % of the line, and drop half of its packets.
    let share = f64::from(sent[1]) / f64::from(sent[0] + sent[1]);
    assert!(share > 0.15, "{share}");
}

#[test]
fn choke_averages_as_linux_does_in_whole_packets() {
    const SHIFT: u32 = 5;
    let red = RedConfig {
        limit: Limit::Packets(200),
        min: Threshold::Packets(20),
        max: Threshold::Packets(60),
        weight: 1.0 / f64::from(1 << SHIFT),
        idle_decay: false,
        ..RedConfig::default()
    };
    let mut queue = build(ChokeConfig { red });
    let mut accounting = Accounting::new(1);
    // Linux's fixed-point form: the average times 2^SHIFT. The queue is idle when the first packet arrives.
    let mut fixed = 0_u64;
    for id in 0..2_000_u64 {
        let now = Time::ZERO + Duration::from_millis(id);
        // The backlog cycles through 18, 19, 20 and 21 packets. Its average is 19.5, which is below `min`.
        while u64::from(queue.backlog().packets) > 18 + id % 4 {
            queue.dequeue(&mut cx(now, &mut accounting));
        }
        let waiting = u64::from(queue.backlog().packets);
        fixed = if id == 0 { 0 } else { fixed + waiting - (fixed >> SHIFT) };
        queue.enqueue(packet(0, 0, id, 1000), &mut cx(now, &mut accounting));
        let mut average = 0.0;
        queue.gauges(&mut |_, value| average = value);
        assert_eq!(average * f64::from(1 << SHIFT), fixed as f64, "packet {id}");
        // All packets belong to one flow, so each comparison drops both packets.
        let compared = u64::from(queue.backlog().packets) < waiting;
        assert_eq!(compared, fixed > 20 << SHIFT, "packet {id} at {average}");
        if compared {
            return;
        }
    }
    panic!("the average must exceed `min`, because rounding raises it by half a packet");
}

#[test]
fn adaptive_red_changes_its_probability_by_the_papers_steps() {
    let config = AredConfig { bandwidth: Some(mbit(8)), ..AredConfig::default() };
    let red = config.red().unwrap();
    // The line sends 1,000 packets per second, which is 5 packets in the target of 5 ms. Half of this number is below
    // the minimum of 5 packets, so the minimum applies.
    assert_eq!((red.min, red.max), (Threshold::Packets(5), Threshold::Packets(15)));
    assert!((red.weight - 0.0009995).abs() < 1e-7, "{}", red.weight);
    let mut queue = build(config);
    let mut accounting = Accounting::new(1);
    let probability = |queue: &Queue| {
        let mut found = 0.0;
        queue.gauges(&mut |name, value| found = if name == "probability" { value } else { found });
        found
    };
    for id in 0..4000_u64 {
        let now = Time::ZERO + Duration::from_millis(id);
        if id < 3000 {
            (0..3).for_each(|more| {
                queue.enqueue(packet(1, 0, 3 * id + more, 1000), &mut cx(now, &mut accounting));
            });
        }
        queue.dequeue(&mut cx(now, &mut accounting));
    }
    // The average is above the target range after the first 0.5 s, so the probability grows by six steps of 0.01. The
    // probability has not decreased yet.
    let after = probability(&queue);
    assert!((0.14..0.17).contains(&after), "{after}");
    let later = Time::ZERO + Duration::from_secs(1_000_000);
    while queue.dequeue(&mut cx(later, &mut accounting)).is_some() {}
    let later = later + Duration::from_secs(1_000_000);
    queue.enqueue(packet(1, 0, 1_000_000, 1000), &mut cx(later, &mut accounting));
    assert!(probability(&queue) < 0.01, "on an idle line, the probability falls to its minimum");
}

#[test]
fn wred_drops_the_higher_drop_precedence_first() {
    let mut queue = build(WredConfig { weight: 0.05, ..WredConfig::default() });
    let mut accounting = Accounting::new(1);
    let mut dropped = [0, 0];
    // Packets of AF11 and AF13 arrive alternately. The line sends 24 of every 25 packets.
    for id in 0..10_000_u64 {
        let now = Time::ZERO + Duration::from_micros(100 * id);
        let before = accounting.node(NodeId(0)).dropped_total().packets;
        let precedence = id % 2;
        let dscp = if precedence == 0 { 10 } else { 14 };
        queue.enqueue(packet(1, dscp, id, 1000), &mut cx(now, &mut accounting));
        dropped[precedence as usize] += accounting.node(NodeId(0)).dropped_total().packets - before;
        if id % 25 > 0 {
            queue.dequeue(&mut cx(now, &mut accounting));
        }
    }
    assert!(dropped[1] > 10 * dropped[0].max(1), "{dropped:?}");
}

/// Ten ACKs and one data packet arrive per millisecond, and the line sends half of these packets.
fn acks_with_data(config: AfvqConfig) -> (f64, u32, Vec<u32>) {
    let (mut queue, mut accounting) = (build(config), Accounting::new(1));
    let (mut acks, mut data, mut waits, mut numbers) = (0, 0, 0, Vec::new());
    for ms in 0..1000_u64 {
        let mut now = Time::ZERO + Duration::from_millis(ms);
        for number in 0..10 {
            let ack = Segment::ack(7, (ms * 10 + number) as u32).packet(ms * 20 + number);
            queue.enqueue(ack, &mut cx(now, &mut accounting));
        }
        queue.enqueue(packet(1, 0, ms * 20 + 15, 400), &mut cx(now, &mut accounting));
        let mut room = 400;
        while let Some(given) = (room > 0).then(|| queue.dequeue(&mut cx(now, &mut accounting))).flatten() {
            now += Duration::from_micros(1);
            room -= given.packet.size().get().min(room);
            match given.packet.tcp() {
                Some(header) => {
                    numbers.push(header.ack.get());
                    acks += given.packet.size().get();
                }
                None => data += given.packet.size().get(),
            }
        }
        if ms > 100 {
            let mut named = 0;
            queue.classes(&mut |name, stats| named = if name == "acks" { stats.backlog.packets } else { named });
            waits = waits.max(named);
        }
    }
    (acks as f64 / (acks + data) as f64, waits, numbers)
}

#[test]
fn afvq_limits_the_share_of_acks_and_their_number_and_keeps_the_newest() {
    let half = AfvqConfig { ack_share: 0.5, ack_limit: 500, ..AfvqConfig::default() };
    let (share, waits, numbers) = acks_with_data(half.clone());
    assert!((0.4..=0.5).contains(&share), "{share}");
    assert!(waits <= 11, "at most the number of ACKs that leave between two data packets: {waits}");
    assert!(numbers.is_sorted());
    assert!(*numbers.last().unwrap() > 9_970, "the oldest ACKs are dropped, not the newest");
    let (first, waits, _) = acks_with_data(AfvqConfig { ack_share: 1.0, ..half });
    assert!(first > 0.95, "without `ack_share`, ACKs use the whole line: {first}");
    assert!(waits <= 11, "{waits}");
}
