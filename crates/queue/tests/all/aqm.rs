//! Compares CoDel, FQ-CoDel and PIE with their RFCs.

use crate::common::cx;
use lopsided_core::packet::UdpHeader;
use lopsided_core::{Accounting, Bytes, Duration, Ecn, FlowId, IpHeader, NewPacket, NodeId, Packet, Payload, Rng};
use lopsided_core::{Time, Transport};
use lopsided_queue::{Backlog, CodelConfig, CodelQueue, CodelQueueConfig, FqCodel, FqCodelConfig, Limit, Pie};
use lopsided_queue::{PieConfig, Qdisc};
use std::net::Ipv4Addr;

fn packet_of(flow: u16, id: u64, size: u32, ecn: Ecn) -> Packet {
    let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2)).with_ecn(ecn);
    let transport = Transport::Udp(UdpHeader { src_port: flow, dst_port: 2 });
    let new = NewPacket::new(FlowId(u32::from(flow)), ip, transport, Payload::virtual_len(size - 28));
    Packet::unbooked(id, Time::ZERO, new)
}

fn millis(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn codel(config: CodelConfig) -> CodelQueue {
    let limit = Limit::Packets(100_000);
    CodelQueue::new(&CodelQueueConfig { limit, codel: config, ..CodelQueueConfig::default() }).unwrap()
}

/// Enqueues all packets, then dequeues one per millisecond. Returns the times of the drops in ms, and the number of
/// marks.
fn drain_overloaded(queue: &mut CodelQueue, packets: u64, ecn: Ecn) -> (Vec<u64>, u64) {
    let mut accounting = Accounting::new(1);
    for id in 0..packets {
        queue.enqueue(packet_of(1, id, 1500, ecn), &mut cx(Time::ZERO, &mut accounting));
    }
    let (mut drops, mut left) = (Vec::new(), packets);
    for ms in 1..2000 {
        let given = queue.dequeue(&mut cx(millis(ms), &mut accounting));
        let now = u64::from(queue.backlog().packets);
        let dropped = left - now - u64::from(given.is_some());
        drops.extend(std::iter::repeat_n(ms, dropped as usize));
        left = now;
    }
    (drops, accounting.node(NodeId(0)).marked_total().packets)
}

#[test]
fn codel_waits_an_interval_and_then_follows_the_control_law() {
    let mut queue = codel(CodelConfig::default());
    let (drops, marks) = drain_overloaded(&mut queue, 10_000, Ecn::NotEct);
    assert_eq!(marks, 0);
    // The sojourn time is above the target from 5 ms on, so the first packet is dropped one interval (100 ms) later.
    assert_eq!(drops[0], 105);
    // RFC 8289, section 5.3: the spacing is interval / sqrt(count). For the first few counts, a single step of Newton's
    // method is inaccurate.
    let gaps: Vec<f64> = drops.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    assert!((99.0..=101.0).contains(&gaps[0]), "{gaps:?}");
    for (number, gap) in gaps.iter().enumerate().skip(5) {
        let law = 100.0 / ((number + 1) as f64).sqrt();
        assert!((gap - law).abs() <= 1.5 + 0.02 * law, "drop {number}: {gap} ms, not {law:.1}");
    }
    assert!(drops.len() > 60, "drops must become more frequent while the overload lasts: {}", drops.len());
}

#[test]
fn codel_marks_ecn_capable_packets_instead_of_dropping_them() {
    let config = CodelConfig { ecn: true, ..CodelConfig::default() };
    let (drops, marks) = drain_overloaded(&mut codel(config), 10_000, Ecn::Ect0);
    assert_eq!(drops, [] as [u64; 0]);
    let (dropped, _) = drain_overloaded(&mut codel(config), 10_000, Ecn::NotEct);
    assert_eq!(marks, dropped.len() as u64, "the control law is the same for marks");
}

#[test]
fn codel_does_not_drop_from_a_short_or_small_queue() {
    let mut accounting = Accounting::new(1);
    let mut queue = codel(CodelConfig::default());
    // A single packet that waits for 1 s is not dropped, because at most one MTU waits behind it.
    for id in 0..20 {
        queue.enqueue(packet_of(1, id, 1500, Ecn::NotEct), &mut cx(millis(1000 * id), &mut accounting));
        let given = queue.dequeue(&mut cx(millis(1000 * id + 999), &mut accounting));
        assert_eq!(given.map(|given| given.packet.id()), Some(id));
    }
    // Every packet waits for 4 ms, which is below the target.
    for id in 0..1000 {
        queue.enqueue(packet_of(1, id, 1500, Ecn::NotEct), &mut cx(millis(30_000 + id), &mut accounting));
        if id >= 4 {
            assert!(queue.dequeue(&mut cx(millis(30_000 + id), &mut accounting)).is_some());
        }
    }
    assert_eq!(accounting.node(NodeId(0)).dropped_total().packets, 0);
}

#[test]
fn codel_marks_above_its_second_threshold_from_the_first_packet() {
    let config = CodelConfig { ce_threshold: Some(Duration::from_millis(1)), ..CodelConfig::default() };
    let mut accounting = Accounting::new(1);
    let mut queue = codel(config);
    queue.enqueue(packet_of(1, 0, 1500, Ecn::Ect1), &mut cx(Time::ZERO, &mut accounting));
    let given = queue.dequeue(&mut cx(millis(2), &mut accounting)).unwrap();
    assert_eq!(given.packet.ecn(), Ecn::Ce);
}

fn fq_codel(config: FqCodelConfig) -> FqCodel {
    FqCodel::new(&config, Rng::for_role(7, "test")).unwrap()
}

#[test]
fn fq_codel_serves_a_new_flow_before_a_standing_queue() {
    let mut accounting = Accounting::new(1);
    let mut queue = fq_codel(FqCodelConfig::default());
    for id in 0..100 {
        queue.enqueue(packet_of(1, id, 1500, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
    }
    // The first flow uses up its first quantum and becomes an old flow.
    for _ in 0..3 {
        assert!(queue.dequeue(&mut cx(millis(1), &mut accounting)).is_some());
    }
    queue.enqueue(packet_of(2, 1000, 100, Ecn::NotEct), &mut cx(millis(2), &mut accounting));
    let next = queue.dequeue(&mut cx(millis(2), &mut accounting)).unwrap();
    assert_eq!(next.packet.flow(), FlowId(2));
}

/// Linux's codel_dequeue resets `first_above_time` at an empty queue, so a new connection does not inherit a delay.
#[test]
fn fq_codel_resets_the_delay_of_an_empty_queue() {
    let mut accounting = Accounting::new(1);
    let mut queue = fq_codel(FqCodelConfig::default());
    for id in 0..100 {
        queue.enqueue(packet_of(1, id, 1500, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
    }
    for at in [0, 500] {
        queue.enqueue(packet_of(2, 1000 + at, 100, Ecn::NotEct), &mut cx(millis(at), &mut accounting));
        // The packet waits behind another flow's standing queue for 20 ms, which is above the target.
        let served: Vec<u32> = (0..6)
            .filter_map(|n| queue.dequeue(&mut cx(millis(at + 20 + n), &mut accounting)))
            .map(|given| given.packet.flow().0)
            .collect();
        assert!(served.contains(&2), "at {at} ms: {served:?}");
    }
}

#[test]
fn fq_codel_sends_equal_octets_of_flows_with_different_packet_sizes() {
    let mut accounting = Accounting::new(1);
    let codel = CodelConfig { target: Duration::from_secs(50), ..CodelConfig::default() };
    let mut queue = fq_codel(FqCodelConfig { limit: 100_000, codel, ..FqCodelConfig::default() });
    for id in 0..3000 {
        for (flow, size) in [(1, 1500), (2, 500), (3, 64)] {
            queue.enqueue(packet_of(flow, id, size, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
        }
    }
    let mut sent = [0_u64; 4];
    for _ in 0..2000 {
        let given = queue.dequeue(&mut cx(millis(1), &mut accounting)).unwrap();
        sent[given.packet.flow().0 as usize] += given.packet.size().get();
    }
    let (least, most) = (sent[1..].iter().min().unwrap(), sent[1..].iter().max().unwrap());
    assert!(most - least <= 2 * 1514 + 1500, "{sent:?}: each deficit differs by at most a quantum and a packet");
}

#[test]
fn fq_codel_drops_half_of_the_fattest_flow_when_it_is_full() {
    let mut accounting = Accounting::new(1);
    let mut queue = fq_codel(FqCodelConfig { limit: 100, ..FqCodelConfig::default() });
    for id in 0..20 {
        queue.enqueue(packet_of(1, id, 1500, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
    }
    for id in 0..81 {
        queue.enqueue(packet_of(2, id, 1500, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
    }
    // The longest queue contains 81 packets of equal size, so 41 packets contain at least half of the queue's bytes.
    assert_eq!(queue.backlog(), Backlog { packets: 60, bytes: Bytes::new(60 * 1500) });
    let mut left = [0; 3];
    while let Some(given) = queue.dequeue(&mut cx(millis(1), &mut accounting)) {
        left[given.packet.flow().0 as usize] += 1;
    }
    assert_eq!(left, [0, 20, 40]);
}

#[test]
fn fq_codel_survives_more_flows_than_queues() {
    let mut accounting = Accounting::new(1);
    let mut queue = fq_codel(FqCodelConfig { flows: 16, limit: 1000, ..FqCodelConfig::default() });
    for flow in 0..65_000_u16 {
        queue.enqueue(packet_of(flow, u64::from(flow), 100, Ecn::NotEct), &mut cx(Time::ZERO, &mut accounting));
        assert!(queue.backlog().packets <= 1000);
    }
    let mut given = 0;
    while queue.dequeue(&mut cx(millis(1), &mut accounting)).is_some() {
        given += 1;
    }
    assert_eq!(given + accounting.node(NodeId(0)).dropped_total().packets, 65_000);
}

/// Updates a controller repeatedly. The sojourn time of all packets is `delay`, and the backlog is constant.
fn updated(pie: &mut Pie, config: &PieConfig, updates: std::ops::Range<u64>, delay: Duration, backlog: Backlog) {
    for number in updates {
        let now = Time::ZERO + config.tupdate * (number + 1);
        pie.left(config, now, Bytes::new(1500), delay, backlog.bytes);
        pie.catch_up(config, now, backlog);
    }
}

#[test]
fn pie_updates_its_probability_as_in_rfc_8033() {
    let (config, backlog) = (PieConfig::default(), Backlog { packets: 100, bytes: Bytes::new(150_000) });
    let mut pie = Pie::new(&config);
    // Section 4.2, computed by hand for a delay of 40 ms, a previous delay of 0 and a target of 15 ms.
    updated(&mut pie, &config, 0..1, Duration::from_millis(40), backlog);
    let first = (0.125 * 0.025 + 1.25 * 0.040) / 2048.0;
    assert!((pie.probability() - first).abs() < 1e-15, "{} not {first}", pie.probability());
    // The delay is constant, so only the term with alpha is non-zero. The probability determines the scale of the step.
    updated(&mut pie, &config, 1..2, Duration::from_millis(40), backlog);
    let second = first + 0.125 * 0.025 / 128.0;
    assert!((pie.probability() - second).abs() < 1e-15, "{} not {second}", pie.probability());
    updated(&mut pie, &config, 2..3, Duration::from_millis(300), backlog);
    // Linux adds 2 % to the step if the delay is above 250 ms.
    let third = second + (0.125 * 0.285 + 1.25 * 0.26) / 128.0 + 0.02;
    assert!((pie.probability() - third).abs() < 1e-12, "{} not {third}", pie.probability());
}

/// Linux's `pie_calculate_probability`: a long overload raises the probability far above 1, so drops continue after the
/// delay has fallen.
#[test]
fn pie_keeps_a_high_probability_after_a_long_overload() {
    let (config, backlog) = (PieConfig::default(), Backlog { packets: 100, bytes: Bytes::new(150_000) });
    let mut pie = Pie::new(&config);
    updated(&mut pie, &config, 1..200, Duration::from_millis(400), backlog);
    assert!(pie.probability() > 2.0, "{}", pie.probability());
    updated(&mut pie, &config, 200..220, Duration::from_millis(10), backlog);
    assert!(pie.probability() > 1.0, "{}", pie.probability());
}

#[test]
fn the_probability_of_pie_decays_while_idle_and_a_burst_is_then_accepted() {
    let (config, backlog) = (PieConfig::default(), Backlog { packets: 100, bytes: Bytes::new(150_000) });
    let mut pie = Pie::new(&config);
    let mut rng = Rng::for_role(1, "pie");
    updated(&mut pie, &config, 0..50, Duration::from_secs(1), backlog);
    assert!(pie.picks(&config, Bytes::new(1500), backlog, &mut rng), "at a probability of one");
    let empty = Backlog::default();
    assert!(!pie.picks(&config, Bytes::new(1500), empty, &mut rng), "two packets never cause a drop");
    // One call computes all updates of an idle hour.
    pie.catch_up(&config, Time::ZERO + Duration::from_secs(3600), empty);
    assert!(pie.probability() < 1e-9, "{}", pie.probability());
    assert!(!pie.picks(&config, Bytes::new(1500), backlog, &mut rng), "a burst passes");
}
