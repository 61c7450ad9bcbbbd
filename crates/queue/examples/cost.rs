//! Takes packets through a queue discipline, for whoever measures the time that it takes: `cost KIND FLOWS PACKETS`.
//!
//! One packet comes and one goes each microsecond, with one of each flow waiting at the beginning. `none` in place of a
//! kind makes each packet and ends it at once: nothing waits. Without arguments it names the kinds.

use lopsided_core::packet::UdpHeader;
use lopsided_core::{Accounting, BitRate, Cx, Duration, FlowId, IpHeader, NewPacket, NodeId, Payload, Time, Transport};
use lopsided_queue::{
    CbwfqClass, CbwfqConfig, HtbClass, HtbConfig, PolicerConfig, QUEUES, Qdisc, Queue, QueueConfig, TbfConfig,
};
use lopsided_spec::{Amount, Given, Scalar, Value};
use std::net::Ipv4Addr;

/// Never a limit.
const FAST: BitRate = BitRate::from_bps(100_000_000_000);
const ROOM: u32 = 8000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, flows, packets] = &arguments[..] else {
        return QUEUES.kinds().iter().for_each(|kind| println!("{kind}"));
    };
    let number = |text: &String| text.parse().expect("FLOWS and PACKETS are numbers");
    let (flows, packets): (u64, u64) = (number(flows), number(packets));
    let queue = (kind != "none").then(|| build(kind));
    println!("{}", pass(queue, flows, packets));
}

/// The discipline with room for all packets, and without a rate of its own that holds them up.
fn build(kind: &str) -> Queue {
    let room = QueueConfig::packets(ROOM);
    let config = match kind {
        "htb" => {
            let class = HtbClass { rate: FAST, queue: Some(room), ..HtbClass::default() };
            HtbConfig { classes: vec![class], ..HtbConfig::default() }.into()
        }
        "tbf" => TbfConfig { rate: FAST, queue: room, ..TbfConfig::default() }.into(),
        "policer" => PolicerConfig { rate: FAST, ..PolicerConfig::default() }.into(),
        "cbwfq" => {
            let class = CbwfqClass { bandwidth: FAST, queue: room, ..CbwfqClass::default() };
            CbwfqConfig { classes: vec![class], classify: Vec::new(), default_class: None }.into()
        }
        _ => by_name(kind),
    };
    config.build(1, "cost").expect("a valid discipline")
}

fn by_name(kind: &str) -> QueueConfig {
    let member = (QUEUES.members)().into_iter().find(|member| member.info.name == kind).expect("a known kind");
    let mut part = member.part;
    let mut keys = Vec::new();
    for key in ["limit", "depth", "flow_limit"] {
        if part.set(key, Value::Amount(Amount::Packets(ROOM))).is_ok() {
            keys.push(key);
        }
    }
    part.complete(&Given { keys: &keys, preset: None, line_rate: Some(FAST), folder: "" }).expect("a valid discipline");
    QueueConfig::from_value(Value::Part(part)).expect("a known kind")
}

/// How many packets came through.
fn pass(mut queue: Option<Queue>, flows: u64, packets: u64) -> u64 {
    let (mut accounting, mut passed) = (Accounting::new(1), 0);
    for number in 0..flows + packets {
        let at = Time::ZERO + Duration::from_micros(number.saturating_sub(flows));
        let mut cx = Cx::new(at, NodeId(0), &mut accounting);
        let flow = number % flows;
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1 + (flow >> 10) as u32), Ipv4Addr::from_bits(2));
        let transport = Transport::Udp(UdpHeader { src_port: (flow & 1023) as u16, dst_port: 2 });
        let new = NewPacket::new(FlowId(flow as u32), ip, transport, Payload::virtual_len(972));
        let packet = cx.originate(new);
        let Some(queue) = &mut queue else {
            cx.deliver(packet);
            passed += u64::from(number >= flows);
            continue;
        };
        queue.enqueue(packet, &mut cx);
        if number >= flows && queue.ready_at(at) == Some(at) {
            if let Some(given) = queue.dequeue(&mut cx) {
                cx.deliver(given.packet);
                passed += 1;
            }
        }
    }
    if let Some(queue) = &mut queue {
        let mut at = Time::ZERO + Duration::from_micros(packets);
        while let Some(ready) = queue.ready_at(at) {
            at = ready;
            let mut cx = Cx::new(at, NodeId(0), &mut accounting);
            if let Some(given) = queue.dequeue(&mut cx) {
                cx.deliver(given.packet);
            }
        }
    }
    passed
}
