//! Inputs that could break a queue: a flood, more flows than queues, a clock that jumps. Every discipline is tested
//! with each input.

use crate::common::cx;
use lopsided_core::packet::UdpHeader;
use lopsided_core::{
    Accounting, BitRate, Duration, Ecn, FlowId, IpHeader, NewPacket, NodeId, Packet, Payload, Time, Transport,
};
use lopsided_queue::{QUEUES, Qdisc, Queue, QueueConfig};
use lopsided_spec::{Given, Scalar, Value};
use std::net::Ipv4Addr;

const LINE: BitRate = BitRate::from_bps(10_000_000);
/// Maximum number of queued packets, above the default limit of every discipline.
const MOST_WAITING: u32 = 20_480;

/// Returns every discipline with its default settings for a line of 10 Mbit/s.
fn all() -> Vec<(&'static str, Queue)> {
    let built = |member: lopsided_spec::Member| {
        let mut part = member.part;
        let given = Given { keys: &[], preset: None, line_rate: Some(LINE), line_peeks: false, folder: "" };
        part.complete(&given).unwrap();
        let config = QueueConfig::from_value(Value::Part(part)).unwrap();
        (member.info.name, config.build(1, "test").unwrap())
    };
    (QUEUES.members)().into_iter().map(built).collect()
}

fn packet(flow: u32, id: u64) -> Packet {
    let ip = IpHeader::v4(Ipv4Addr::from_bits(flow >> 8), Ipv4Addr::from_bits(2)).with_ecn(Ecn::Ect0);
    let transport = Transport::Udp(UdpHeader { src_port: flow as u16, dst_port: 2 });
    Packet::unbooked(id, Time::ZERO, NewPacket::new(FlowId(flow), ip, transport, Payload::virtual_len(972)))
}

/// Dequeues all remaining packets. Fails if a discipline never releases its packets.
fn drain(name: &str, queue: &mut Queue, mut now: Time, accounting: &mut Accounting) -> u64 {
    let (mut given, mut looks) = (0, 0_u64);
    while let Some(ready) = queue.ready_at(now) {
        now = ready;
        looks += 1;
        assert!(looks < 1_000_000, "{name} never releases its packets");
        given += u64::from(queue.dequeue(&mut cx(now, accounting)).is_some());
    }
    given
}

#[test]
fn a_flood_at_twice_the_line_rate_neither_stops_the_line_nor_exceeds_the_limit() {
    for (name, mut queue) in all() {
        let (mut accounting, mut given) = (Accounting::new(1), 0);
        let (mut now, mut offered) = (Time::ZERO, 0);
        let step = Duration::from_micros(400);
        for tick in 0..5000_u64 {
            now = Time::ZERO + step * tick;
            // The line sends one packet every 0.8 ms. Every 50th packet belongs to another flow.
            offered += 1;
            queue.enqueue(packet(u32::from(tick % 50 == 0), offered), &mut cx(now, &mut accounting));
            if tick % 2 == 0 && queue.ready_at(now) == Some(now) {
                given += u64::from(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
            }
            assert!(queue.backlog().packets <= MOST_WAITING, "{name} stores too many packets");
        }
        // Disciplines with their own rate may send more slowly than the line. Adaptive RED drops all packets above
        // `max` until its probability has grown.
        let own_rate = ["htb", "tbf", "policer"].contains(&name);
        let least = if own_rate { 200 } else { 2000 };
        assert!(given >= least, "{name} sent {given} of 2500 packets");
        given += drain(name, &mut queue, now, &mut accounting);
        assert_eq!(offered, given + accounting.node(NodeId(0)).dropped_total().packets, "{name}");
    }
}

#[test]
fn sixty_five_thousand_flows_do_not_exceed_the_limit() {
    for (name, mut queue) in all() {
        let mut accounting = Accounting::new(1);
        for flow in 0..65_000 {
            queue.enqueue(packet(flow, u64::from(flow)), &mut cx(Time::ZERO, &mut accounting));
        }
        assert!(queue.backlog().packets <= MOST_WAITING, "{name} stores too many packets");
        let given = drain(name, &mut queue, Time::ZERO, &mut accounting);
        assert_eq!(65_000, given + accounting.node(NodeId(0)).dropped_total().packets, "{name}");
    }
}

#[test]
fn every_discipline_survives_clock_jumps_of_days_and_years() {
    let day = Duration::from_secs(86_400);
    for jump in [day, day * 365 * 30] {
        for (name, mut queue) in all() {
            survives_jumps(name, &mut queue, jump);
        }
    }
}

fn survives_jumps(name: &str, queue: &mut Queue, jump: Duration) {
    let (mut accounting, mut given) = (Accounting::new(1), 0);
    let mut now = Time::ZERO;
    for id in 0..200_u64 {
        now += Duration::from_micros(id) + if id % 40 == 39 { jump } else { Duration::ZERO };
        queue.enqueue(packet(1, id), &mut cx(now, &mut accounting));
        if id % 3 == 0 && queue.ready_at(now) == Some(now) {
            given += u64::from(queue.dequeue(&mut cx(now, &mut accounting)).is_some());
        }
    }
    given += drain(name, queue, now, &mut accounting);
    assert_eq!(200, given + accounting.node(NodeId(0)).dropped_total().packets, "{name}");
}
