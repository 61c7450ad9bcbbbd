//! Every discipline on a scripted link, with each of its keys changed in turn: which settings it refuses, and which
//! packets it sends, drops, marks and removes, at which times. The record is in `tests/courses.txt`.
//!
//! The same settings give the same packets. If a change of a discipline is intended, look at the changed lines and
//! write the record again: `COURSES=write cargo test -p lopsided-queue courses`.

use crate::common::cx;
use crate::script::{PHASES, Traffic, Witness, compare_with_record, next_arrival, variants};
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{
    Accounting, BitRate, Bytes, Cx, Duration, IpHeader, NewPacket, Packet, Payload, Seq, Time, Transport,
};
use lopsided_queue::{
    AckFilterConfig, AfvqConfig, CakeConfig, CbwfqClass, CbwfqConfig, DrrClass, DrrConfig, FilterRule, Framing,
    HtbClass, HtbConfig, Limit, PrioConfig, QUEUES, Qdisc, QueueConfig, RemovedAcks, Rule, SfqConfig, TbfConfig,
    Threshold, Waiting, WredConfig, WredProfile, turn,
};
use lopsided_spec::{Amount, Scalar as _, Value};
use std::collections::VecDeque;
use std::fmt::Write as _;

/// Rate of the link.
const RATE: BitRate = BitRate::from_bps(10_000_000);
/// Time after which the far end answers.
const ANSWER: Duration = Duration::from_millis(20);

/// Declares one test for each kind, so that they run at the same time.
macro_rules! courses {
    ($($kind:ident)*) => {
        const KINDS: &[&str] = &[$(stringify!($kind)),*];
        $(
            #[test]
            fn $kind() {
                compare(&stringify!($kind).replace("docsis_pie", "docsis-pie"));
            }
        )*
    };
}

courses! {
    fifo red step codel fq_codel pie fq_pie docsis_pie dualpi2 cobalt cake asqm bdp prio policer ack_filter afvq htb
    tbf drr fq sfq wfq cbwfq wred ared choke
}

#[test]
fn all_kinds_have_a_course() {
    let members = (QUEUES.members)();
    let names: Vec<_> = members.iter().map(|member| member.info.name.replace('-', "_")).collect();
    assert_eq!(names, KINDS);
}

fn compare(kind: &str) {
    let mut found = String::new();
    for (label, config) in bases(kind) {
        assert_eq!(config.kind(), kind);
        let changes = variants(config.part());
        // The other keys do not depend on the framing.
        let count = if Framing::NAMED.iter().any(|(name, _)| *name == label) { 1 } else { changes.len() };
        for (change, part) in changes.into_iter().take(count) {
            let outcome = match part.check().map_err(|fault| fault.message) {
                Err(message) => format!("refused: {message}"),
                Ok(()) => {
                    let config = QueueConfig::from_value(Value::Part(part)).expect("a known kind");
                    match config.build(1, "test") {
                        Err(fault) => format!("not built: {}", fault.message),
                        Ok(queue) => course(queue.checked()),
                    }
                }
            };
            let words: Vec<&str> = [kind, label, &change].into_iter().filter(|word| !word.is_empty()).collect();
            writeln!(found, "{}: {outcome}", words.join(" ")).expect("a string grows");
        }
    }
    compare_with_record(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/courses.txt"), kind, &found);
}

/// Returns the settings of a kind with which it acts within the two seconds of a course, each with its label.
fn bases(kind: &str) -> Vec<(&'static str, QueueConfig)> {
    let packets = |count| Value::Amount(Amount::Packets(count));
    let ms = |count| Value::Time(Duration::from_millis(count));
    let rate = |bps| Value::Rate(BitRate::from_bps(bps));
    let with = |keys: &[(&str, Value)]| {
        let members = (QUEUES.members)();
        let member = members.into_iter().find(|member| member.info.name == kind).expect("a kind of queue");
        let mut part = member.part;
        for (key, value) in keys {
            part.set(key, value.clone()).expect("a key of the kind");
        }
        QueueConfig::from_value(Value::Part(part)).expect("a kind of queue")
    };
    let one = |keys: &[(&str, Value)]| vec![("", with(keys))];
    let inner = || QueueConfig::packets(20);
    match kind {
        "red" => {
            let base = [
                ("limit", packets(60)),
                ("min", packets(5)),
                ("max", packets(20)),
                ("weight", Value::Number(0.02)),
                ("bandwidth", Value::Rate(RATE)),
            ];
            let bytes = |count| Value::Amount(Amount::Bytes(Bytes::new(count)));
            let sizes =
                [("limit", bytes(60_000)), ("min", bytes(6_000)), ("max", bytes(20_000)), ("ecn", Value::Flag(true))];
            let adaptive =
                [&base[..], &[("adaptive", Value::Flag(true)), ("probability", Value::Number(0.02))]].concat();
            vec![("", with(&base)), ("in bytes", with(&sizes)), ("adaptive", with(&adaptive))]
        }
        "choke" => one(&[
            ("limit", packets(60)),
            ("min", packets(5)),
            ("max", packets(20)),
            ("weight", Value::Number(0.02)),
            ("bandwidth", Value::Rate(RATE)),
        ]),
        "ared" => one(&[("limit", packets(100)), ("bandwidth", Value::Rate(RATE))]),
        "wred" => {
            let profile = |min, probability| WredProfile { min, max: 20, probability };
            let (profiles, classify) = (vec![profile(4, 0.2), profile(10, 0.05)], vec![urgent(1)]);
            vec![("", WredConfig { profiles, classify, weight: 0.02, ..WredConfig::default() }.into())]
        }
        "step" => {
            let depth = with(&[("limit", packets(40)), ("mark_threshold", packets(10))]);
            vec![
                ("", depth),
                (
                    " by time",
                    with(&[
                        ("limit", packets(40)),
                        ("mark_threshold", Value::Amount(Amount::Time(Duration::from_millis(5)))),
                    ]),
                ),
            ]
        }
        "asqm" | "dualpi2" => one(&[("limit", packets(60))]),
        // Targets and intervals so short that the control law acts within a course.
        "codel" | "cobalt" | "pie" => {
            let (key, time) = if kind == "pie" { ("max_burst", ms(20)) } else { ("interval", ms(20)) };
            let fast = [("limit", packets(90)), ("target", ms(4)), (key, time)];
            let marking = [&fast[..], &[("ecn", Value::Flag(true))]].concat();
            vec![("", with(&[("limit", packets(60))])), ("fast", with(&fast)), ("fast with ecn", with(&marking))]
        }
        "fq_codel" | "fq_pie" | "bdp" => {
            let few = with(&[("limit", packets(60)), ("flows", Value::Integer(4))]);
            let mut all = vec![("", with(&[("limit", packets(200))])), ("of few flows", few)];
            if kind == "fq_pie" {
                all.push(("fast", with(&[("limit", packets(200)), ("flows", Value::Integer(8)), ("target", ms(3))])));
            }
            all
        }
        "docsis-pie" => one(&[
            ("limit", packets(60)),
            ("msr", rate(9_000_000)),
            ("peak_rate", rate(12_000_000)),
            ("latency_target", ms(5)),
        ]),
        "fq" => one(&[("limit", packets(60)), ("flow_limit", packets(20)), ("maxrate", rate(4_000_000))]),
        "wfq" => one(&[("limit", packets(40)), ("threshold", packets(8))]),
        "sfq" => {
            let perturb = Some(Duration::from_millis(300));
            let base = SfqConfig { limit: 40, depth: 10, divisor: 16, perturb, ..SfqConfig::default() };
            vec![("", base.clone().into()), ("of few flows", SfqConfig { flows: 2, ..base }.into())]
        }
        "policer" => one(&[("rate", rate(8_000_000)), ("burst", Value::Size(Bytes::new(15_000)))]),
        "cake" => {
            let memlimit = Some(Bytes::new(60_000));
            let shaped =
                CakeConfig { bandwidth: Some(BitRate::from_bps(8_000_000)), memlimit, ..CakeConfig::default() };
            let framed = |framing| CakeConfig { framing, ..shaped.clone() }.into();
            let mut all: Vec<(&str, QueueConfig)> =
                vec![("", CakeConfig { memlimit, ..CakeConfig::default() }.into()), ("shaped", shaped.clone().into())];
            all.extend(Framing::NAMED.iter().map(|(name, framing)| (*name, framed(*framing))));
            all
        }
        "prio" => {
            let bands = vec![inner(), QueueConfig::packets(30)];
            vec![("", PrioConfig { bands, classify: vec![urgent(0)], default_class: Some(1) }.into())]
        }
        "drr" => {
            let class = |quantum| DrrClass { quantum: Bytes::new(quantum), queue: inner() };
            vec![(
                "",
                DrrConfig {
                    classes: vec![class(1500), class(4000)],
                    classify: vec![urgent(1)],
                    default_class: Some(0),
                }
                .into(),
            )]
        }
        "cbwfq" => {
            let class = |bps, priority| CbwfqClass {
                bandwidth: BitRate::from_bps(bps),
                priority,
                burst: Some(Bytes::new(6000)),
                queue: inner(),
            };
            let classes = vec![class(1_000_000, true), class(2_000_000, false), class(5_000_000, false)];
            let fourth = Rule { class: 1, src_port: Some(1004), ..Rule::default() };
            vec![("", CbwfqConfig { classes, classify: vec![urgent(0), fourth], default_class: Some(2) }.into())]
        }
        "tbf" => {
            let base = TbfConfig {
                rate: BitRate::from_bps(7_000_000),
                burst: Bytes::new(10_000),
                queue: inner(),
                ..TbfConfig::default()
            };
            let peak =
                TbfConfig { peakrate: Some(BitRate::from_bps(9_000_000)), mtu: Bytes::new(2000), ..base.clone() };
            vec![("", base.into()), ("with a peak", peak.into())]
        }
        "htb" => {
            let class = |parent, rate: u64, ceil: u64, prio, leaf: bool| HtbClass {
                parent,
                rate: BitRate::from_bps(rate),
                ceil: Some(BitRate::from_bps(ceil)),
                prio,
                queue: leaf.then(inner),
                ..HtbClass::default()
            };
            let classes = vec![
                class(None, 8_000_000, 8_000_000, 0, false),
                class(Some(0), 1_000_000, 8_000_000, 0, true),
                class(Some(0), 3_000_000, 5_000_000, 1, false),
                class(Some(2), 1_000_000, 5_000_000, 1, true),
                class(Some(2), 2_000_000, 4_000_000, 1, true),
                class(None, 500_000, 500_000, 2, true),
            ];
            let port = |class, port| Rule { class, src_port: Some(port), ..Rule::default() };
            let classify = vec![urgent(1), port(3, 1002), port(5, 1003)];
            vec![("", HtbConfig { classes, classify, default_class: Some(4), ..HtbConfig::default() }.into())]
        }
        "ack_filter" => {
            let base = AckFilterConfig { queue: QueueConfig::packets(40), ..AckFilterConfig::default() };
            let (above, below) = (Some(Threshold::Packets(4)), Some(Threshold::Packets(38)));
            let between = AckFilterConfig { above, below, fast_retransmit: 2, ..base.clone() };
            let share = AckFilterConfig { rule: FilterRule::Window, share: 0.4, ..base.clone() };
            let prefix = AckFilterConfig { prefix: RemovedAcks::Spacing, prefix_most: 3, ..base.clone() };
            vec![
                ("", base.into()),
                ("of some queues", between.into()),
                ("of some ACKs", share.into()),
                ("with a prefix", prefix.into()),
            ]
        }
        "afvq" => vec![("", AfvqConfig { queue: inner(), ack_limit: 20, ack_share: 0.3 }.into())],
        "fifo" => {
            let bins = Limit::Bins { count: 200, size: Bytes::new(200) };
            let bins = with(&[("limit", bins.to_value())]);
            let bytes = with(&[("limit", Value::Amount(Amount::Bytes(Bytes::new(30_000))))]);
            vec![("", with(&[("limit", packets(30))])), ("in bytes", bytes), ("in bins", bins)]
        }
        _ => panic!("{kind} has no course: add its settings"),
    }
}

/// Returns a rule that assigns packets with the DSCP for expedited forwarding to this class.
fn urgent(class: u32) -> Rule {
    Rule { class, dscp: Some(46), ..Rule::default() }
}

/// Returns the far end's answer to a packet: a sensing packet turned round, or the ACK of data.
fn answer(mut packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
    if turn(&mut packet, cx) {
        return Some(packet);
    }
    let header = packet.tcp()?;
    let (src_port, dst_port) = (header.dst_port, header.src_port);
    let value = header.options.timestamps?.value;
    let options = TcpOptions::default().with_timestamps(Some(Timestamps { value: value + 20, echo: value }));
    let ack = header.seq + packet.payload().len();
    let header = TcpHeader { src_port, dst_port, seq: Seq::new(1), ack, flags: Flags::ACK, window: 1000, options };
    let back = match (packet.src(), packet.dst()) {
        (std::net::IpAddr::V4(src), std::net::IpAddr::V4(dst)) => IpHeader::v4(dst, src),
        (std::net::IpAddr::V6(src), std::net::IpAddr::V6(dst)) => IpHeader::v6(dst, src),
        _ => return None,
    };
    let contents = NewPacket::new(packet.flow(), back, Transport::Tcp(header), Payload::EMPTY);
    Some(Packet::unbooked(0, cx.now(), contents))
}

/// Sends the traffic through the queue to the link. Returns the counts, and a digest of each packet's fate and time and
/// of the gauges and classes on the way.
fn course(mut queue: impl Qdisc) -> String {
    let witness = Witness::default();
    let mut accounting = Accounting::new(1);
    accounting.subscribe(Box::new(witness.clone()));
    let mut traffic = Traffic::default();
    let mut back: VecDeque<(Time, Packet)> = VecDeque::new();
    let (mut now, mut free_at, mut id, mut given) = (Time::ZERO, Time::ZERO, 0_u64, 0_u64);
    let mut last: Option<(Waits, NewPacket)> = None;
    let (mut arrival, mut look) = (Time::ZERO, Time::ZERO);
    let end = Time::ZERO + Duration::from_millis(PHASES[PHASES.len() - 1].0 + 1000);
    loop {
        let departure = queue.ready_at(now).map(|ready| ready.max(free_at));
        let answered = back.front().map(|(at, _)| *at);
        let arrives = (arrival < end).then_some(arrival);
        let Some(next) = [departure, answered, arrives].into_iter().flatten().min() else { break };
        if next > end {
            break;
        }
        now = next;
        if now >= look {
            look = now + Duration::from_millis(100);
            let mut happened = witness.0.lock().unwrap();
            queue.gauges(&mut |name, value| happened.mix_text(&format!("{name} {value:.5e}")));
            queue.classes(&mut |name, stats| happened.mix_text(&format!("{name} {stats:?}")));
        }
        let mut cx = cx(now, &mut accounting);
        if departure == Some(now) {
            if id % 13 == 0 && queue.ready_at(now) == Some(now) {
                let size = queue.peek(&mut cx);
                witness.0.lock().unwrap().mix(size.map_or(0, Bytes::get));
            }
            if let Some(departed) = queue.dequeue(&mut cx) {
                let packet = departed.packet;
                given += packet.size().get();
                free_at = now + RATE.time_to_send(packet.size(), 0).0;
                let mut happened = witness.0.lock().unwrap();
                happened.add("sent", now, packet.id());
                happened.mix(packet.size().get() << 8 | packet.ecn() as u64);
                if let Some(TcpHeader { ack, flags, window, options, .. }) = packet.tcp() {
                    happened.mix(u64::from(ack.get()) << 32 | u64::from(flags.0) << 16 | u64::from(*window));
                    for option in options.other().as_slice() {
                        happened.mix_text(&format!("{option:?}"));
                    }
                }
                drop(happened);
                if let Some(answer) = answer(packet, &mut cx) {
                    back.push_back((now + ANSWER, answer));
                }
            }
        } else if answered == Some(now) {
            let (_, packet) = back.pop_front().expect("an answer");
            let own = queue.sensing().is_some_and(|sensing| sensing.observe_reverse(&packet, now));
            witness.0.lock().unwrap().mix(u64::from(own));
        } else {
            arrival = next_arrival(now, &mut traffic.dice).unwrap_or(end);
            // Now and then, the newest ACK is removed from the middle of the queue.
            if traffic.dice.below(40) == 0 {
                if let Some((waits, like)) = last.take() {
                    let like = Packet::unbooked(waits.id, waits.at, like);
                    let waiting = Waiting { id: waits.id, enqueued_at: waits.at, place: waits.place, like: &like };
                    if queue.remove(&waiting, &mut cx).is_some() {
                        witness.0.lock().unwrap().add("removed", now, waits.id);
                    }
                }
            }
            id += 1;
            let new = traffic.next(now);
            let place = queue.next_place();
            last = Some((Waits { id, at: now, place }, new.clone()));
            queue.enqueue(Packet::unbooked(id, now, new), &mut cx);
            while let Some(sensing) = queue.sensing().and_then(|sensing| sensing.poll_originate()) {
                id += 1;
                queue.enqueue(Packet::unbooked(id, now, sensing), &mut cx);
            }
        }
    }
    let happened = witness.0.lock().unwrap();
    let counts: Vec<String> = happened.counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    format!("{}, {given} B, left {}; {:016x}", counts.join(", "), queue.backlog().packets, happened.digest)
}

/// When and where a packet was enqueued.
struct Waits {
    id: u64,
    at: Time,
    place: Option<u64>,
}
