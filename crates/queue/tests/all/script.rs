//! Shared parts of the tests that record scripted traffic: the traffic, the changes of settings, and the record. The
//! tests of `lopsided-link` use this file, too.

use lopsided_core::packet::{Flags, SackBlock, TcpHeader, TcpOptions, Timestamps, UdpHeader};
use lopsided_core::{
    BitRate, Bytes, Duration, Ecn, Event, EventMask, FlowId, IpHeader, NewPacket, NodeId, Observer, Payload, Seq, Time,
    Transport,
};
use lopsided_spec::{Amount, AnyPart, Value, ValueType};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};

/// Phases of the load on a link of 10 Mbit/s: end in ms, and time between two arrivals in µs. The link takes about 650 µs
/// for a packet.
pub const PHASES: [(u64, u64); 6] = [(150, 1500), (900, 430), (1100, 900_000), (1110, 20), (1700, 700), (2300, 330)];

/// Returns the time of the arrival after the one at `now`; `None` if the load has ended.
pub fn next_arrival(now: Time, dice: &mut Dice) -> Option<Time> {
    let at_ms = now.as_nanos() / 1_000_000;
    let (_, gap) = PHASES.iter().find(|(until, _)| at_ms < *until)?;
    Some(now + Duration::from_micros(*gap) + Duration::from_nanos(dice.below(1000)))
}

/// Compares the outcomes of a kind with the lines of the record that begin with this kind. Writes them into the record
/// if the environment variable `COURSES` is `write`.
#[track_caller]
pub fn compare_with_record(path: &str, kind: &str, found: &str) {
    let of_kind = |line: &&str| line.split([':', ' ']).next() == Some(kind);
    if std::env::var("COURSES").is_ok_and(|asked| asked == "write") {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock();
        let old = std::fs::read_to_string(path).expect("the record");
        let mut lines: Vec<&str> = old.lines().filter(|line| !of_kind(line)).chain(found.lines()).collect();
        // Sort by kind only: the variants keep the order of the keys.
        lines.sort_by_key(|line| line.split([':', ' ']).next().map(str::to_owned));
        std::fs::write(path, lines.join("\n") + "\n").expect("the record is written");
        return;
    }
    let record = std::fs::read_to_string(path).expect("the record");
    let record: Vec<&str> = record.lines().filter(of_kind).collect();
    let found: Vec<&str> = found.lines().collect();
    let changed: Vec<_> = found.iter().filter(|line| !record.contains(line)).collect();
    assert!(changed.is_empty(), "other results than in {path}: {changed:#?}");
    assert_eq!(found.len(), record.len(), "{path} has lines for settings that are gone");
}

/// Returns the settings unchanged, and with one key changed: each flag the other way, each other word, and numbers
/// omitted, zero and twice as large. No scenario can have a rate of zero.
pub fn variants(part: &dyn AnyPart) -> Vec<(String, Box<dyn AnyPart>)> {
    let mut all = vec![(String::new(), part.boxed_clone())];
    let info = part.info();
    for name in info.names() {
        let key = info.key(name).expect("one of its keys");
        let now = part.get(name);
        let mut changes = match (&now, key.value_type) {
            (Value::Flag(flag), _) => vec![Value::Flag(!flag)],
            (_, ValueType::Word(words)) => words().into_iter().map(Value::Word).filter(|word| *word != now).collect(),
            (Value::Integer(number), _) => vec![Value::Integer(0), Value::Integer(2 * number)],
            (Value::Number(number), _) => {
                vec![Value::Number(0.0), Value::Number(2.0 * number)]
            }
            (Value::Rate(rate), _) => {
                vec![
                    Value::Rate(BitRate::from_bps(rate.as_bps() / 2)),
                    Value::Rate(BitRate::from_bps(2 * rate.as_bps())),
                ]
            }
            (Value::Time(time), _) => {
                vec![Value::Time(Duration::ZERO), Value::Time(*time * 2), Value::Time(Duration::from_secs(100_000))]
            }
            (Value::Size(size), _) => vec![Value::Size(Bytes::ZERO), Value::Size(Bytes::new(2 * size.get()))],
            (Value::Amount(Amount::Packets(count)), _) => {
                vec![
                    Value::Amount(Amount::Packets(0)),
                    Value::Amount(Amount::Packets(2 * count)),
                    Value::Amount(Amount::Bytes(Bytes::new(20_000))),
                ]
            }
            (Value::Amount(Amount::Bytes(bytes)), _) => {
                vec![
                    Value::Amount(Amount::Bytes(Bytes::ZERO)),
                    Value::Amount(Amount::Bytes(Bytes::new(2 * bytes.get()))),
                ]
            }
            (Value::None, ValueType::Rate) => vec![Value::Rate(BitRate::from_bps(8_000_000))],
            (Value::None, ValueType::Time) => vec![Value::Time(Duration::from_millis(5))],
            (Value::None, ValueType::Size) => vec![Value::Size(Bytes::new(3000))],
            (Value::None, ValueType::Integer) => vec![Value::Integer(1)],
            _ => Vec::new(),
        };
        if key.optional && now != Value::None {
            changes.push(Value::None);
        }
        for value in changes {
            let mut changed = part.boxed_clone();
            if changed.set(name, value.clone()).is_ok() {
                all.push((format!("{name}={value:?}"), changed));
            }
        }
    }
    all
}

/// Counts and a digest of the packets' fates.
#[derive(Default)]
pub struct Happened {
    pub counts: BTreeMap<String, u64>,
    pub digest: u64,
}

impl Happened {
    pub fn add(&mut self, what: &str, at: Time, id: u64) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
        self.mix(at.as_nanos());
        self.mix(id);
        self.mix_text(what);
    }

    pub fn mix(&mut self, word: u64) {
        self.digest = (self.digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    pub fn mix_text(&mut self, text: &str) {
        text.bytes().for_each(|octet| self.mix(u64::from(octet)));
    }
}

/// Records what happened.
#[derive(Clone, Default)]
pub struct Witness(pub Arc<Mutex<Happened>>);

impl Observer for Witness {
    fn mask(&self) -> EventMask {
        EventMask::ALL
    }

    fn record(&mut self, at: Time, _node: NodeId, event: &Event<'_>) {
        let mut happened = self.0.lock().unwrap();
        match event {
            Event::Dropped { packet, why } => happened.add(&format!("dropped {}", why.name()), at, packet.id()),
            Event::Marked { packet, why } => happened.add(&format!("marked {}", why.name()), at, packet.id()),
            Event::Absorbed { packet } => happened.add("absorbed", at, packet.id()),
            _ => {}
        }
    }
}

/// Random numbers that never change.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The traffic: data of six connections, ACKs of three others, and short datagrams.
pub struct Traffic {
    pub dice: Dice,
    sent: [u32; 6],
    acked: [u32; 3],
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic { dice: Dice(7), sent: [0; 6], acked: [0; 3] }
    }
}

impl Traffic {
    pub fn next(&mut self, now: Time) -> NewPacket {
        const DSCPS: [u8; 6] = [0, 8, 46, 0, 34, 16];
        const ECNS: [Ecn; 6] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1];
        let kind = self.dice.below(20);
        if kind < 13 {
            // Two of the connections send more than the others.
            let flow = [0, 1, 2, 3, 4, 5, 1, 3, 1][self.dice.below(9) as usize];
            let len = [1448, 1448, 1448, 1000, 300][self.dice.below(5) as usize];
            self.sent[flow] = self.sent[flow].wrapping_add(len);
            let ip = ip(flow as u32, DSCPS[flow], ECNS[flow]);
            let header = tcp(1000 + flow as u16, Seq::new(self.sent[flow]), Seq::new(1), now);
            return NewPacket::new(FlowId(flow as u32), ip, Transport::Tcp(header), Payload::virtual_len(len));
        }
        if kind < 18 {
            let flow = self.dice.below(3) as usize;
            let step = [0, 1448, 1448, 2896, 2896][self.dice.below(5) as usize];
            self.acked[flow] += step;
            let mut header = tcp(2000 + flow as u16, Seq::new(1), Seq::new(self.acked[flow]), now);
            match self.dice.below(12) {
                0 => {
                    // The newest block comes first.
                    for block in (0..=self.dice.below(3) as u32).rev() {
                        let start = header.ack + 1448 + 4344 * block;
                        header.options.push_sack(SackBlock { start, end: start + 1448 * (1 + block) });
                    }
                }
                1 => header.window = 500,
                2 => header.flags = header.flags.with(Flags::ECE),
                3 => header.flags = header.flags.with(Flags::PSH),
                4 => header.window = 60_000 + self.dice.below(100) as u16,
                5 => header.options.timestamps = None,
                _ => {}
            }
            let ip = ip(10 + flow as u32, 0, Ecn::NotEct);
            return NewPacket::new(FlowId(10 + flow as u32), ip, Transport::Tcp(header), Payload::EMPTY);
        }
        let transport = Transport::Udp(UdpHeader { src_port: 3000, dst_port: self.dice.below(8) as u16 });
        let ip = ip(20 + self.dice.below(3) as u32, 46, Ecn::NotEct);
        NewPacket::new(FlowId(20), ip, transport, Payload::virtual_len(100 + self.dice.below(100) as u32))
    }
}

/// The first hosts share addresses. One host uses IPv6.
fn ip(host: u32, dscp: u8, ecn: Ecn) -> IpHeader {
    let v4 = IpHeader::v4(Ipv4Addr::from_bits(0x0a00_0001 + host / 2), Ipv4Addr::from_bits(0x0a00_0101 + host % 4));
    let v6 = IpHeader::v6(Ipv6Addr::from_bits(0x20 << 120 | 1), Ipv6Addr::from_bits(0x20 << 120 | 2));
    IpHeader { dscp, ecn, ..if host == 5 { v6 } else { v4 } }
}

pub fn tcp(src_port: u16, seq: Seq, ack: Seq, now: Time) -> TcpHeader {
    let value = (now.as_nanos() / 1_000_000) as u32;
    let options = TcpOptions::default().with_timestamps(Some(Timestamps { value, echo: value.saturating_sub(20) }));
    TcpHeader { src_port, dst_port: 80, seq, ack, flags: Flags::ACK, window: 1000, options }
}
