//! Tests of CAKE (shaper, tins, hosts and queues) and of DualPI2 (its two queues).

use crate::common::{cx, packet_of_class, packet_with};
use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, Ecn, FlowId, IpHeader, NewPacket, NodeId, Packet, Payload, Rng,
};
use lopsided_core::{Time, Transport};
use lopsided_queue::{Cake, CakeConfig, DualPi2, DualPi2Config, Framing, Isolation, Qdisc, TinMode};
use std::net::Ipv4Addr;

fn packet_between(source: u32, destination: u32, port: u16, id: u64, size: u32) -> Packet {
    let ip = IpHeader::v4(Ipv4Addr::from_bits(source), Ipv4Addr::from_bits(destination));
    let transport = Transport::Udp(UdpHeader { src_port: port, dst_port: 2 });
    let new = NewPacket::new(FlowId(source), ip, transport, Payload::virtual_len(size - 28));
    Packet::unbooked(id, Time::ZERO, new)
}

fn cake(config: CakeConfig) -> Cake {
    Cake::new(&config, Rng::for_role(1, "test")).unwrap()
}

/// A value of `rtt` so large that COBALT never acts in a test: COBALT's target is then 3 s.
const PATIENT: Duration = Duration::from_secs(60);

/// Returns the bytes that each source sends in `packets` departures. All flows `(source, destination, port)` always
/// have packets.
fn shares(isolation: Isolation, flows: &[(u32, u32, u16)], packets: u64) -> Vec<u64> {
    let tins = TinMode::Besteffort;
    let mut queue = cake(CakeConfig { isolation, tins, rtt: PATIENT, ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    for id in 0..500 {
        for (source, destination, port) in flows {
            let packet = packet_between(*source, *destination, *port, id, 1500);
            queue.enqueue(packet, &mut cx(Time::ZERO, &mut accounting));
        }
    }
    let mut sent = vec![0; 1 + flows.iter().map(|flow| flow.0).max().unwrap() as usize];
    for _ in 0..packets {
        let given = queue.dequeue(&mut cx(Time::ZERO + Duration::from_millis(1), &mut accounting)).unwrap();
        sent[given.packet.flow().0 as usize] += given.packet.size().get();
    }
    sent
}

#[test]
fn each_isolation_mode_is_fair_between_its_flows_or_hosts() {
    // Host 1 has 4 flows and host 2 has 1 flow, all of them to host 9.
    let flows = [(1, 9, 1), (1, 9, 2), (1, 9, 3), (1, 9, 4), (2, 9, 1)];
    let ratio = |isolation| {
        let sent = shares(isolation, &flows, 400);
        sent[1] as f64 / sent[2] as f64
    };
    for (isolation, expected) in [
        (Isolation::Flowblind, 4.0),
        (Isolation::Flows, 4.0),
        (Isolation::DualDsthost, 4.0),
        (Isolation::Srchost, 1.0),
        (Isolation::Hosts, 1.0),
        (Isolation::DualSrchost, 1.0),
    ] {
        let found = ratio(isolation);
        assert!((found / expected - 1.0).abs() < 0.1, "{isolation:?}: {found} not {expected}");
    }
    // All flows have the same destination, so they share one queue.
    assert!((ratio(Isolation::Dsthost) - 4.0).abs() < 0.1);
    // The destination has five busy flows and is the busier host for each of them, so all flows get the same share.
    assert!((ratio(Isolation::TripleIsolate) - 4.0).abs() < 0.5);
    let apart = [(1, 7, 1), (1, 7, 2), (1, 7, 3), (1, 7, 4), (2, 8, 1)];
    let sent = shares(Isolation::TripleIsolate, &apart, 400);
    assert!((sent[1] as f64 / sent[2] as f64 - 1.0).abs() < 0.1, "{sent:?}");
}

/// Returns a queue that is fair between sources, and that contains the packets of all flows
/// `(source, port, packets, size)`.
fn filled(flows: impl Iterator<Item = (u32, u16, u64, u32)>, now: &mut Cx<'_>) -> Cake {
    let config = CakeConfig {
        isolation: Isolation::DualSrchost,
        tins: TinMode::Besteffort,
        rtt: PATIENT,
        ..CakeConfig::default()
    };
    let mut queue = cake(config);
    for (source, port, packets, size) in flows {
        for number in 0..packets {
            let id = u64::from(source) << 40 | u64::from(port) << 20 | number;
            queue.enqueue(packet_between(source, 9, port, id, size), now);
        }
    }
    queue
}

/// Host 1 has 400 flows of small packets and one flow of large packets. A large packet needs 400 rounds. Host 2 has one
/// flow.
#[test]
fn hosts_get_equal_shares_with_hundreds_of_flows_and_after_they_end() {
    let mut accounting = Accounting::new(1);
    let mut now = cx(Time::ZERO, &mut accounting);
    let small = (1..=400).map(|port| (1, port, 15, 150));
    let mut queue = filled([(1, 500, 100, 1500), (2, 1, 2000, 1500)].into_iter().chain(small), &mut now);
    let mut octets = [0; 3];
    let mut next = |octets: &mut [u64; 3]| {
        let packet = queue.dequeue(&mut now).unwrap().packet;
        octets[packet.flow().0 as usize] += packet.size().get();
        packet.size().get()
    };
    // Each flow first sends a full quantum.
    let mut small = 0;
    for until in [12, 15] {
        octets = [0; 3];
        while small < 400 * until {
            small += u64::from(next(&mut octets) == 150);
        }
    }
    let share = octets[1] as f64 / octets[2] as f64;
    assert!((share - 1.0).abs() < 0.15, "with many: {octets:?}");
    // When the small flows become empty, the large flow gets the full share of its host at once.
    (0..60).for_each(|_| _ = next(&mut octets));
    octets = [0; 3];
    (0..100).for_each(|_| _ = next(&mut octets));
    assert!(octets[1].abs_diff(octets[2]) <= 20 * 1500, "alone: {octets:?}");
}

/// Host 1 has nine flows of small packets and eleven flows of large packets, and host 2 has one flow. The nine flows
/// become empty just after the eleven flows have sent. From then on, each of the eleven flows gets 1/11 of a quantum per
/// round, so all of them send within 12 rounds. With 1/20 of a quantum, they would need 20 rounds.
#[test]
fn hosts_get_equal_shares_at_once_when_some_flows_of_a_host_end() {
    let mut accounting = Accounting::new(1);
    let mut now = cx(Time::ZERO, &mut accounting);
    let small = (1..=9).map(|port| (1, port, 12, 1000));
    let large = (10..=20).map(|port| (1, port, 50, 1500));
    let mut queue = filled(small.chain(large).chain([(2, 1, 500, 1500)]), &mut now);
    let mut next = || {
        let packet = queue.dequeue(&mut now).unwrap().packet;
        (packet.flow().0 as usize, packet.size().get())
    };
    let mut small = 0;
    while small < 9 * 12 {
        small += u64::from(next().1 == 1000);
    }
    let sent_by_host_1 = (0..24).filter(|_| next().0 == 1).count();
    assert!(sent_by_host_1 >= 10, "{sent_by_host_1} packets");
}

#[test]
fn a_hundred_flows_have_separate_queues() {
    let flows: Vec<_> = (1..=100).map(|source| (source, 9, 1)).collect();
    let sent = shares(Isolation::Flows, &flows, 1000);
    let (least, most) = (sent[1..].iter().min().unwrap(), sent[1..].iter().max().unwrap());
    assert!(most - least <= 2 * 1500, "{least} to {most}: a shared queue would have half");
}

#[test]
fn the_shaper_counts_cells() {
    let framing = Framing::named("pppoe-llcsnap").unwrap();
    let bandwidth = Some(BitRate::from_bps(848_000));
    let mut queue = cake(CakeConfig { bandwidth, framing, rtt: PATIENT, ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    for id in 0..100 {
        queue.enqueue(packet_with(Ecn::NotEct, id, 100), &mut cx(Time::ZERO, &mut accounting));
    }
    // A packet of 140 bytes takes 3 ATM cells (159 bytes), which are sent in 1.5 ms.
    let mut now = Time::ZERO;
    for id in 0..100_u64 {
        now = queue.ready_at(now).unwrap();
        assert_eq!(now, Time::ZERO + Duration::from_micros(1500) * id);
        assert!(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
        assert!(queue.dequeue(&mut cx(now, &mut accounting)).is_none());
    }
    // An idle shaper gains no credit.
    let later = now + Duration::from_secs(1);
    for id in 100..102 {
        queue.enqueue(packet_with(Ecn::NotEct, id, 100), &mut cx(later, &mut accounting));
    }
    assert!(queue.dequeue(&mut cx(later, &mut accounting)).is_some());
    assert_eq!(queue.ready_at(later), Some(later + Duration::from_micros(1500)));
}

/// Returns the number of packets of each class that leave during the test. Both classes always have packets.
fn by_class(tins: TinMode, classes: [u8; 2], bandwidth: Option<BitRate>) -> [u64; 2] {
    let mut queue = cake(CakeConfig { bandwidth, tins, rtt: PATIENT, ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    for id in 0..2000 {
        for class in classes {
            queue.enqueue(packet_of_class(class, Ecn::NotEct, id, 1000), &mut cx(Time::ZERO, &mut accounting));
        }
    }
    let (mut now, mut sent) = (Time::ZERO, [0; 2]);
    for _ in 0..1600 {
        now = queue.ready_at(now).unwrap();
        let given = queue.dequeue(&mut cx(now, &mut accounting)).unwrap();
        sent[usize::from(given.packet.dscp() == classes[1])] += 1;
    }
    sent
}

#[test]
fn tins_get_their_guaranteed_shares() {
    let rate = Some(BitRate::from_bps(10_000_000));
    let near = |[one, other]: [u64; 2], expected: f64| {
        let part = one as f64 / (one + other) as f64;
        assert!((part - expected).abs() < 0.02, "{part} not {expected}");
    };
    // The voice tin has priority up to 25 % of the rate, and the bulk tin up to 6.25 %.
    near(by_class(TinMode::Diffserv4, [46, 0], rate), 0.25);
    near(by_class(TinMode::Diffserv3, [8, 0], rate), 1.0 / 16.0);
    near(by_class(TinMode::Diffserv4, [34, 0], rate), 0.5);
    near(by_class(TinMode::Besteffort, [46, 0], rate), 0.5);
    // Without a shaper, the tins share the link by deficit round robin. With weights of 1/4 and 1, the voice tin gets
    // 20 % of the link.
    near(by_class(TinMode::Diffserv4, [46, 0], None), 0.2);
}

#[test]
fn a_tin_that_was_alone_keeps_its_guaranteed_share() {
    let (tins, bandwidth) = (TinMode::Diffserv4, Some(BitRate::from_bps(10_000_000)));
    let mut queue = cake(CakeConfig { bandwidth, tins, rtt: PATIENT, ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    let (voice, best_effort) = (46, 0);
    let mut now = Time::ZERO;
    let mut shares = Vec::new();
    // While only the voice tin has packets, it exceeds its threshold rate, which is 25 % of the line's rate.
    for class in [voice, best_effort] {
        for id in 0..1000 {
            queue.enqueue(packet_of_class(class, Ecn::NotEct, id, 1000), &mut cx(now, &mut accounting));
        }
        let mut sent = 0;
        for _ in 0..400 {
            now = queue.ready_at(now).unwrap();
            let given = queue.dequeue(&mut cx(now, &mut accounting)).unwrap();
            sent += u32::from(given.packet.dscp() == voice);
        }
        shares.push(sent);
    }
    assert_eq!(shares[0], 400);
    assert!((95..=105).contains(&shares[1]), "{shares:?}");
}

#[test]
fn overflow_drops_come_from_the_longest_queue() {
    let memlimit = Some(Bytes::new(30_000));
    let mut queue = cake(CakeConfig { memlimit, rtt: PATIENT, ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    for id in 0..5 {
        queue.enqueue(packet_between(1, 9, 1, id, 1500), &mut cx(Time::ZERO, &mut accounting));
    }
    for id in 0..100 {
        queue.enqueue(packet_between(2, 9, 1, id, 1500), &mut cx(Time::ZERO, &mut accounting));
    }
    let mut left = [0; 3];
    while let Some(given) = queue.dequeue(&mut cx(Time::ZERO + Duration::from_millis(1), &mut accounting)) {
        left[given.packet.flow().0 as usize] += 1;
    }
    // BLUE may drop packets of the flow that overflowed, but must not drop packets of the other flow.
    assert_eq!(left[1], 5);
    assert!((1..=15).contains(&left[2]), "{left:?}");
}

#[test]
fn cake_survives_a_flood_of_more_flows_than_queues() {
    let bandwidth = Some(BitRate::from_bps(100_000_000));
    let mut queue = cake(CakeConfig { bandwidth, memlimit: Some(Bytes::new(1 << 20)), ..CakeConfig::default() });
    let mut accounting = Accounting::new(1);
    let (mut now, mut given) = (Time::ZERO, 0);
    for flow in 0..65_000_u32 {
        now += Duration::from_micros(10);
        let packet = packet_between(flow % 5000, flow % 77, (flow % 60_000) as u16, u64::from(flow), 500);
        queue.enqueue(packet, &mut cx(now, &mut accounting));
        assert!(queue.backlog().bytes <= Bytes::new(1 << 20));
        given += u64::from(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
    }
    while let Some(ready) = queue.ready_at(now) {
        now = ready;
        given += u64::from(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
    }
    assert_eq!(given + accounting.node(NodeId(0)).dropped_total().packets, 65_000);
}

#[test]
fn dualpi2_serves_low_latency_first_except_for_the_classic_share() {
    let mut queue = DualPi2::new(&DualPi2Config::default()).unwrap();
    let mut accounting = Accounting::new(1);
    for id in 0..2000 {
        for ecn in [Ecn::Ect1, Ecn::NotEct] {
            queue.enqueue(packet_with(ecn, id, 1000), &mut cx(Time::ZERO, &mut accounting));
        }
    }
    let mut classic = 0;
    for _ in 0..1000 {
        let given = queue.dequeue(&mut cx(Time::ZERO + Duration::from_micros(900), &mut accounting)).unwrap();
        classic += u32::from(given.packet.ecn() == Ecn::NotEct);
    }
    assert!((99..=101).contains(&classic), "{classic} of 1000");
}

/// Returns the marked fraction of L, the marked fraction of C and the number of dropped packets, at a delay of `delay`
/// in C.
fn signals(delay: Duration) -> (f64, f64, u64) {
    let mut queue =
        DualPi2::new(&DualPi2Config { min_th: Duration::from_secs(10), ..DualPi2Config::default() }).unwrap();
    let mut accounting = Accounting::new(1);
    let (mut low, mut classic, mut other) = ((0, 0), (0, 0), 0);
    let gap = Duration::from_millis(1);
    let deep = delay.as_nanos() / gap.as_nanos();
    for step in 0..20_000_u64 {
        let now = Time::ZERO + gap * step;
        queue.enqueue(packet_with(Ecn::Ect1, 2 * step, 500), &mut cx(now, &mut accounting));
        queue.enqueue(packet_with(Ecn::Ect0, 2 * step + 1, 500), &mut cx(now, &mut accounting));
        let wanted = if step < deep { 1 } else { 2 };
        for _ in 0..wanted {
            let Some(given) = queue.dequeue(&mut cx(now, &mut accounting)) else { break };
            let marked = given.packet.ecn() == Ecn::Ce;
            if given.packet.id() % 2 == 0 {
                low = (low.0 + u32::from(marked), low.1 + 1);
            } else {
                classic = (classic.0 + u32::from(marked), classic.1 + 1);
            }
        }
        other = accounting.node(NodeId(0)).dropped_total().packets;
    }
    (f64::from(low.0) / f64::from(low.1), f64::from(classic.0) / f64::from(classic.1), other)
}

#[test]
fn dualpi2_couples_the_signals_and_drops_in_overload() {
    // A standing delay above the target raises the probability until all packets are marked, and then packets are
    // dropped.
    let (low, classic, dropped) = signals(Duration::from_millis(40));
    assert!(low > classic, "L has more marks: {low}, {classic}");
    // Drops shorten the queue, so a few drops are enough to end the overload.
    assert!(dropped > 10, "both queues drop in overload: {dropped}");
    // Below the target almost no packet is marked: the probability rises only briefly, while the delay grows.
    let (low, classic, dropped) = signals(Duration::from_millis(10));
    assert!(low < 0.002 && classic < 0.001 && dropped == 0, "{low}, {classic}, {dropped}");
}

/// Linux's cake_reconfigure: the queues hold four round trips at the shaper's rate, at least 4 MiB.
#[test]
fn the_default_limit_is_four_round_trips_of_the_shaper() {
    let held = |mbits: u64, rtt_ms| {
        let bandwidth = Some(BitRate::from_bps(mbits * 1_000_000));
        let rtt = Duration::from_millis(rtt_ms);
        let mut queue = cake(CakeConfig { bandwidth, rtt, tins: TinMode::Besteffort, ..CakeConfig::default() });
        let mut accounting = Accounting::new(1);
        for id in 0..20_000 {
            queue.enqueue(packet_between(1, 9, 1, id, 1500), &mut cx(Time::ZERO, &mut accounting));
            if u64::from(queue.backlog().packets) <= id {
                return id as f64;
            }
        }
        panic!("no packet was dropped");
    };
    let least = held(10, 100);
    let near = |packets: f64, octets: f64| (packets / least / (octets / f64::from(4 << 20)) - 1.0).abs() < 0.01;
    assert!(near(held(100, 100), 5e6), "four times 100 ms at 100 Mbit/s");
    assert!(near(held(100, 200), 10e6));
    assert!(near(held(200, 60), 6e6));
}
