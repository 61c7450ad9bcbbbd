//! A connection whose ACKs pass through any chain of stages and any queue discipline. Every byte of the data must
//! arrive unchanged, and the sender must receive no false information.
//!
//! Data flows in one direction, with losses and marks that the input chooses. Its ACKs pass the stages and the queue.
//! The ACKs that leave the queue are compared with the ACKs that the receiver sent:
//!
//! - The receiver has sent each acknowledgement number. The numbers decrease only if the receiver's numbers decreased.
//! - The receiver has sent all SACK blocks and counts of marks that leave the queue.
//! - No stage delays or removes a report of marks or SACK blocks: each leaves the stages at the time at which it
//!   entered.
//! - All counts of accurate ECN leave, in the order in which the receiver sent them.

use crate::Input;
use crate::line::any_of;
use arbitrary::Arbitrary;
use lopsided_core::packet::{Flags, SackBlock, TcpHeader};
use lopsided_core::{
    Accounting, Bytes, Count, Cx, Duration, Ecn, FlowId, IpHeader, NewPacket, Node, NodeId, Packet, Payload, Port,
    Time, Transport,
};
use lopsided_queue::{AckFilterConfig, FilterRule, QUEUES, Qdisc, Queue, QueueConfig};
use lopsided_spec::{Choice, Scalar};
use lopsided_stage::{STAGES, StageConfig, StageNode, StageRole};
use lopsided_tcp::{ConnConfig, Connection, EcnRule, Endpoint, Profile, Segment};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

const DELAY: Duration = Duration::from_millis(10);
/// Interval at which packets leave the queue.
const SLOT: Duration = Duration::from_micros(700);
const WHOLE: i64 = 120_000;
/// Time by which all data must arrive if few segments are lost. A dozen consecutive timeouts would take longer.
const SOON: Time = Time::from_nanos(10_000_000_000);
/// Treatment of a data segment, by its input byte modulo 16. For all values without a constant, the segment passes
/// unchanged.
const LOST: u8 = 0;
const MARKED: u8 = 1;

#[derive(Debug, Arbitrary)]
struct Setup {
    freebsd: bool,
    sack: bool,
    timestamps: bool,
    ecn: u8,
    stages: u8,
    seed: u8,
}

/// Returns the byte of the stream at an offset.
fn octet(offset: i64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

/// Removes and returns the entries that have arrived. The entries are sorted by time.
fn due<T>(flying: &mut Vec<T>, arrived: impl Fn(&T) -> bool) -> Vec<T> {
    let count = flying.iter().take_while(|each| arrived(each)).count();
    flying.drain(..count).collect()
}

/// Sends a stream over the path that the input describes.
pub fn run(octets: &[u8]) {
    let mut input = Input::new(octets);
    let Some(setup) = input.next::<Setup>() else { return };
    let seed = u64::from(setup.seed);
    let config = QueueConfig::from_value(any_of(&QUEUES, 0, &mut input)).expect("it is a queue");
    let Ok(queue) = config.build(seed, "way") else { return };
    let mut stages = Vec::new();
    for number in 0..setup.stages % 4 {
        let config = StageConfig::from_value(any_of(&STAGES, 0, &mut input)).expect("it is a stage");
        let role = format!("way/stage {number}");
        let Ok(stage) = config.build(&StageRole { seed, role: &role }) else { return };
        stages.push(stage);
    }
    let fates: Vec<u8> = input.all().take(200).collect();
    Way::new(&setup, queue.checked(), stages, fates).cross();
}

/// Runs every stage by itself and every pair of stages, each with every rule of the ACK filter after the stages and
/// without a filter. All data must arrive by `SOON`. Returns the number of paths.
pub fn cross_every_pair() -> usize {
    let kinds = (STAGES.members)().len();
    let chains = (0..=kinds).flat_map(|first| (0..=kinds).map(move |second| [first, second]));
    let rules = FilterRule::WORDS.iter().map(|(_, rule)| Some(*rule)).chain([None]);
    let ways = chains.flat_map(|chain| rules.clone().map(move |rule| (chain, rule)));
    ways.map(|(chain, rule)| {
        for reporting in [true, false] {
            cross(chain, rule, reporting);
        }
    })
    .count()
}

/// Runs one path. Each stage is given by its number in the family, counted from 1; 0 means no stage.
fn cross(chain: [usize; 2], rule: Option<FilterRule>, reporting: bool) {
    // An input of zero bytes leaves every setting at its default.
    let stage = |kind: usize| {
        let config = any_of(&STAGES, 0, &mut Input::new(&[&[kind as u8 - 1][..], &[0; 64]].concat()));
        let role = StageRole { seed: 1, role: &format!("way/{kind}") };
        StageConfig::from_value(config).expect("it is a stage").build(&role).expect("with its defaults")
    };
    let room = QueueConfig::packets(40);
    let queue = match rule {
        Some(rule) => AckFilterConfig { rule, queue: room, ..AckFilterConfig::default() }.into(),
        None => room,
    };
    let ecn = if reporting { 2 } else { 1 };
    let setup = Setup { freebsd: false, sack: reporting, timestamps: reporting, ecn, stages: 0, seed: 1 };
    // About 4 % of the segments are lost; every second remaining segment is marked.
    let fates = (0..97).map(|number| if number % 23 == 7 { LOST } else { MARKED + number % 2 }).collect();
    let stages = chain.into_iter().filter(|kind| *kind > 0).map(stage).collect();
    let mut way = Way::new(&setup, queue.build(1, "way").expect("it is a queue").checked(), stages, fates);
    way.cross();
    let description = format!("stages {chain:?}, rule {rule:?}, reports {reporting}");
    assert_eq!(way.read, WHOLE, "{description}: some ACKs did not arrive");
    assert!(way.now < SOON, "{description}: it took until {:?}", way.now);
}

struct Way {
    /// Rust drops fields in the order of declaration: the accounting must be dropped before the packets that it counts.
    accounting: Accounting,
    sender: Connection,
    receiver: Connection,
    stages: Vec<StageNode>,
    queue: Queue,
    now: Time,
    next_slot: Time,
    /// Data segments in flight, with their arrival times.
    data: Vec<(Time, Segment)>,
    /// ACKs in flight, with their arrival times.
    acks: Vec<(Time, TcpHeader, Payload, Ecn)>,
    /// Treatment of each data segment: lost, marked or unchanged.
    fates: Vec<u8>,
    segments: usize,
    written: i64,
    read: i64,
    sent: Told,
    /// Largest acknowledgement number that has left the stages.
    furthest: u32,
    /// Number of ACKs with marks or SACK blocks that are between the receiver and the queue.
    owed: i64,
    /// Distinct counts of marks, in the order in which the receiver sent them.
    counted: Vec<u16>,
    /// Distinct counts of marks, in the order in which they left the stages.
    passed: Vec<u16>,
}

/// True if the ACK carries information that later ACKs need not repeat: SACK blocks or marks.
fn reports(header: &TcpHeader) -> bool {
    !header.options.sack().is_empty() || header.options.accurate_ecn().is_some() || count(header) != 0
}

fn change(counts: &mut Vec<u16>, header: &TcpHeader) {
    if counts.last() != Some(&count(header)) {
        counts.push(count(header));
    }
}

/// Acknowledgements, SACK blocks and mark counts that the receiver has sent.
#[derive(Default)]
struct Told {
    numbers: BTreeSet<u32>,
    highest: u32,
    goes_back: bool,
    blocks: BTreeSet<(u32, u32)>,
    counts: BTreeSet<u16>,
}

/// Returns the count of marks in the flags, or the ECN echo.
fn count(header: &TcpHeader) -> u16 {
    header.flags.0 & (Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0)
}

impl Way {
    fn new(setup: &Setup, queue: Queue, stages: Vec<StageNode>, fates: Vec<u8>) -> Way {
        let mut profile = if setup.freebsd { Profile::freebsd_7() } else { Profile::linux_6_1() };
        profile.sack = setup.sack;
        profile.timestamps = setup.timestamps;
        profile.ecn = [EcnRule::Off, EcnRule::On, EcnRule::Accurate][usize::from(setup.ecn % 3)];
        let endpoint = |port| Endpoint { addr: Ipv4Addr::from_bits(u32::from(port)).into(), port };
        let config = |own, other, iss| {
            ConnConfig::new(endpoint(own), endpoint(other), iss, Bytes::new(1500), profile.clone(), "reno")
                .expect("reno")
        };
        Way {
            // Small initial sequence numbers do not wrap, so they can be compared as plain numbers.
            sender: Connection::connect(config(1, 2, 1000)),
            receiver: Connection::listen(config(2, 1, 5000)),
            stages,
            queue,
            accounting: Accounting::new(1),
            now: Time::from_nanos(1_000_000),
            next_slot: Time::ZERO,
            data: Vec::new(),
            acks: Vec::new(),
            fates,
            segments: 0,
            written: 0,
            read: 0,
            sent: Told::default(),
            furthest: 0,
            owed: 0,
            counted: Vec::new(),
            passed: Vec::new(),
        }
    }

    /// Runs until all data has arrived. Ends earlier if no further packet or timer is due.
    fn cross(&mut self) {
        let end = self.now + Duration::from_secs(600);
        while self.read < WHOLE && self.now < end {
            self.step();
            let Some(next) = self.next() else { break };
            self.now = next.max(self.now);
        }
    }

    fn next(&self) -> Option<Time> {
        let stages = self.stages.iter().filter_map(StageNode::poll_timeout);
        let lines = self.data.iter().map(|(at, _)| *at).chain(self.acks.iter().map(|(at, ..)| *at));
        let queue = self.queue.ready_at(self.now).map(|ready| ready.max(self.next_slot));
        let ends = [self.sender.poll_timeout(), self.receiver.poll_timeout(), queue];
        stages.chain(lines).chain(ends.into_iter().flatten()).min()
    }

    fn step(&mut self) {
        self.sender.handle_timeout(self.now);
        self.receiver.handle_timeout(self.now);
        let now = self.now;
        for (_, segment) in due(&mut self.data, |(at, _)| *at <= now) {
            let ecn = if self.fate() == Some(MARKED) && segment.ecn != Ecn::NotEct { Ecn::Ce } else { segment.ecn };
            self.receiver.handle_segment(now, &segment.header, &segment.payload, ecn);
        }
        for (_, header, payload, ecn) in due(&mut self.acks, |(at, ..)| *at <= now) {
            self.sender.handle_segment(now, &header, &payload, ecn);
        }
        if self.written < WHOLE {
            let rest = (WHOLE - self.written).min(20_000);
            let payload = Payload::real((self.written..self.written + rest).map(octet).collect());
            self.written += self.sender.write(&payload).unwrap_or(0) as i64;
        }
        let got = self.receiver.read(now, u64::MAX).unwrap_or(Payload::EMPTY);
        let real = got.bytes().unwrap_or_default();
        assert!(real.iter().zip(self.read..).all(|(seen, at)| *seen == octet(at)), "wrong octets at {}", self.read);
        self.read += i64::from(got.len());
        while let Some(segment) = self.sender.poll_segment(now) {
            self.segments += 1;
            if self.fate() != Some(LOST) || segment.payload.is_empty() {
                self.data.push((now + DELAY, segment));
            }
        }
        while let Some(segment) = self.receiver.poll_segment(now) {
            self.note(&segment.header);
            let ip = IpHeader::v4(Ipv4Addr::from_bits(2), Ipv4Addr::from_bits(1)).with_ecn(segment.ecn);
            let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(segment.header), segment.payload);
            let packet = Cx::new(now, NodeId(0), &mut self.accounting).originate(new);
            self.pass(0, packet);
        }
        for at in 0..self.stages.len() {
            self.stages[at].handle_timeout(&mut Cx::new(now, NodeId(0), &mut self.accounting));
            self.collect(at);
        }
        assert_eq!(self.owed, 0, "a report of marks or SACK blocks was removed or created");
        assert!(self.counted.starts_with(&self.passed), "{:?} of {:?}", self.passed, self.counted);
        if self.stages.iter().all(|stage| stage.held() == Count::ZERO) {
            assert_eq!(self.counted, self.passed, "a count of marks was removed");
        }
        if self.next_slot <= now && self.queue.ready_at(now) == Some(now) {
            let mut cx = Cx::new(now, NodeId(0), &mut self.accounting);
            if let Some(given) = self.queue.dequeue(&mut cx) {
                self.tell(given.packet);
            }
            self.next_slot = now + SLOT;
        }
        let held = self.stages.iter().fold(Count::from(self.queue.backlog()), |sum, stage| sum + stage.held());
        assert!(self.accounting.conservation(held).holds());
    }

    /// Returns the treatment of the current segment, selected by the number of segments sent so far.
    fn fate(&self) -> Option<u8> {
        self.fates.get(self.segments % self.fates.len().max(1)).map(|fate| fate % 16)
    }

    fn note(&mut self, header: &TcpHeader) {
        self.owed += i64::from(reports(header));
        change(&mut self.counted, header);
        let (told, number) = (&mut self.sent, header.ack.get());
        told.goes_back |= number < told.highest;
        told.highest = told.highest.max(number);
        told.numbers.insert(number);
        told.counts.insert(count(header));
        let block = |block: &SackBlock| (block.start.get(), block.end.get());
        told.blocks.extend(header.options.sack().as_slice().iter().map(block));
    }

    fn pass(&mut self, at: usize, packet: Packet) {
        let mut cx = Cx::new(self.now, NodeId(0), &mut self.accounting);
        if at < self.stages.len() {
            self.stages[at].handle_packet(Port(0), packet, &mut cx);
            self.collect(at);
        } else {
            if let Some(header) = packet.tcp() {
                let number = header.ack.get();
                assert!(number >= self.furthest || self.sent.goes_back, "the ACK number went back to {number}");
                self.furthest = self.furthest.max(number);
                self.owed -= i64::from(reports(header));
                change(&mut self.passed, header);
            }
            self.queue.enqueue(packet, &mut cx);
            while let Some(new) = self.queue.sensing().and_then(|sensing| sensing.poll_originate()) {
                let mut cx = Cx::new(self.now, NodeId(0), &mut self.accounting);
                let sensing = cx.originate(new);
                self.queue.enqueue(sensing, &mut cx);
            }
        }
    }

    fn collect(&mut self, at: usize) {
        loop {
            let mut cx = Cx::new(self.now, NodeId(0), &mut self.accounting);
            let Some((_, packet)) = self.stages[at].poll_transmit(&mut cx) else { return };
            self.pass(at + 1, packet);
        }
    }

    /// Handles a packet that leaves the queue.
    fn tell(&mut self, packet: Packet) {
        let ecn = packet.ip().ecn;
        let told = packet.tcp().cloned().map(|header| (header, packet.payload().clone()));
        Cx::new(self.now, NodeId(0), &mut self.accounting).deliver(packet);
        let Some((header, payload)) = told else { return };
        let sent = &self.sent;
        let number = header.ack.get();
        assert!(
            number <= sent.highest,
            "{number} acknowledges data that was not acknowledged: at most {} is correct",
            sent.highest
        );
        assert!(sent.counts.contains(&count(&header)), "a count of marks was never sent: {header:?}");
        for block in header.options.sack().as_slice() {
            assert!(
                sent.blocks.contains(&(block.start.get(), block.end.get())),
                "a SACK block was never sent: {block:?}"
            );
        }
        if count(&header) != 0 || !header.options.sack().is_empty() {
            assert!(
                sent.numbers.contains(&number),
                "a stage must not create a report of marks or SACK blocks: {header:?}"
            );
        }
        self.acks.push((self.now + DELAY, header, payload, ecn));
    }
}
