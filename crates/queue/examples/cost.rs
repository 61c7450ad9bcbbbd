//! Passes packets through a queue discipline, to measure the time per packet: `cost KIND FLOWS PACKETS [acks]`.
//!
//! In each microsecond, one packet arrives and one packet leaves. The packets are datagrams of FLOWS flows or, with
//! `acks`, ACKs of 2 FLOWS connections. The kind `none` measures the cost of the packets without a queue.
//! `ack_filter/conservative` also names the rule of the filter. Without arguments, the program lists the kinds.

use lopsided_core::packet::{Flags, TcpHeader, TcpOptions, Timestamps, UdpHeader};
use lopsided_core::{
    Accounting, BitRate, Cx, Duration, FlowId, IpHeader, NewPacket, NodeId, Payload, Seq, Time, Transport,
};
use lopsided_queue::{
    AckFilterConfig, AfvqConfig, CbwfqClass, CbwfqConfig, DrrClass, DrrConfig, FilterRule, HtbClass, HtbConfig,
    PolicerConfig, PrioConfig, QUEUES, Qdisc, Queue, QueueConfig, TbfConfig,
};
use lopsided_spec::{Amount, Choice, Given, Scalar, Value};
use std::net::Ipv4Addr;

/// A rate that is too high to delay a packet.
const FAST: BitRate = BitRate::from_bps(100_000_000_000);
const ROOM: u32 = 8000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, flows, packets, traffic @ ..] = &arguments[..] else {
        return QUEUES.kinds().iter().for_each(|kind| println!("{kind}"));
    };
    let acks = traffic.first().is_some_and(|word| word == "acks");
    let number = |text: &String| text.parse().expect("FLOWS and PACKETS are numbers");
    let (flows, packets): (u64, u64) = (number(flows), number(packets));
    let queue = (kind != "none").then(|| build(kind));
    println!("{}", pass(queue, flows, packets, acks));
}

/// Builds the discipline with room for all packets and with rates that are too high to delay a packet.
fn build(kind: &str) -> Queue {
    let room = QueueConfig::packets(ROOM);
    let (kind, rule) = kind.split_once('/').unwrap_or((kind, "cumulative"));
    let config = match kind {
        "htb" => {
            let class = HtbClass { rate: FAST, queue: Some(room), ..HtbClass::default() };
            HtbConfig { classes: vec![class], ..HtbConfig::default() }.into()
        }
        "tbf" => TbfConfig { rate: FAST, queue: room, ..TbfConfig::default() }.into(),
        "ack_filter" => {
            let (_, rule) = *FilterRule::WORDS.iter().find(|(word, _)| *word == rule).expect("a known rule");
            AckFilterConfig { rule, queue: room, ..AckFilterConfig::default() }.into()
        }
        "afvq" => AfvqConfig { queue: room, ack_limit: ROOM, ..AfvqConfig::default() }.into(),
        "prio" => PrioConfig { bands: vec![room.clone(), room], ..PrioConfig::default() }.into(),
        "drr" => {
            let class = DrrClass { queue: room, ..DrrClass::default() };
            DrrConfig { classes: vec![class.clone(), class], ..DrrConfig::default() }.into()
        }
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
    part.complete(&Given { keys: &keys, preset: None, line_rate: Some(FAST), line_peeks: false, folder: "" })
        .expect("a valid discipline");
    QueueConfig::from_value(Value::Part(part)).expect("a known kind")
}

fn addresses(flow: u64) -> (IpHeader, u16) {
    (IpHeader::v4(Ipv4Addr::from_bits(1 + (flow >> 10) as u32), Ipv4Addr::from_bits(2)), (flow & 1023) as u16)
}

fn datagram(flow: u64) -> NewPacket {
    let (ip, src_port) = addresses(flow);
    let transport = Transport::Udp(UdpHeader { src_port, dst_port: 2 });
    NewPacket::new(FlowId(flow as u32), ip, transport, Payload::virtual_len(972))
}

/// Spreads consecutive numbers pseudo-randomly.
fn shuffled(number: u64) -> u64 {
    let product = u128::from(number ^ 0x9e37_79b9_7f4a_7c15) * 0xbf58_476d_1ce4_e5b9;
    (product >> 64) as u64 ^ product as u64
}

/// Creates an ACK of the connection `flow`. The acknowledgement number and the timestamp grow with `number`.
fn ack(flow: u64, number: u64) -> NewPacket {
    let (ip, src_port) = addresses(flow);
    let number = number as u32;
    let options = TcpOptions::default().with_timestamps(Some(Timestamps { value: number, echo: number }));
    let (seq, ack) = (Seq::new(1), Seq::new(2896 * number));
    let header = TcpHeader { src_port, dst_port: 2, seq, ack, flags: Flags::ACK, window: 500, options };
    NewPacket::new(FlowId(flow as u32), ip, Transport::Tcp(header), Payload::EMPTY)
}

/// Runs the measurement. Returns the number of packets that passed through the queue.
fn pass(mut queue: Option<Queue>, flows: u64, packets: u64, acks: bool) -> u64 {
    let (mut accounting, mut passed) = (Accounting::new(1), 0);
    for number in 0..flows + packets {
        let at = Time::ZERO + Duration::from_micros(number.saturating_sub(flows));
        let mut cx = Cx::new(at, NodeId(0), &mut accounting);
        let new = if acks { ack(shuffled(number) % (2 * flows), number) } else { datagram(number % flows) };
        let packet = cx.originate(new);
        let Some(queue) = &mut queue else {
            cx.deliver(packet);
            passed += u64::from(number >= flows);
            continue;
        };
        queue.enqueue(packet, &mut cx);
        let due = if acks { u64::from(queue.backlog().packets) > flows } else { number >= flows };
        if due && queue.ready_at(at) == Some(at) {
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
