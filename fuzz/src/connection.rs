//! A connection against a peer that may send anything: the promises of the endpoint hold after every operation.

use crate::Input;
use arbitrary::Arbitrary;
use lopsided_core::packet::{Flags, SackBlock, SackBlocks, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Seq, Time};
use lopsided_tcp::{ConnConfig, Connection, CwndReduction, EcnRule, Endpoint, LossDetection, Profile, Segment, State};
use std::net::{Ipv4Addr, Shutdown};

const ISS: u32 = u32::MAX - 20_000;
const IRS: u32 = u32::MAX - 40_000;

#[derive(Debug, Arbitrary)]
struct Setup {
    freebsd: bool,
    passive: bool,
    sack: bool,
    timestamps: bool,
    ecn: Option<bool>,
    cwnd_reduction: u8,
    counting: bool,
    mss: u16,
    window_scale: u8,
}

#[derive(Debug, Arbitrary)]
enum Operation {
    /// A segment whose numbers are what would be right plus something.
    Segment(Forged),
    /// The peer acknowledges this share, in 255ths, of what is out.
    Acknowledge(u8, u16),
    /// The peer's next data.
    Data(u16),
    Wait(u16),
    NextTimeout,
    Write(u16),
    Read(u16),
    /// One in 64 does close: most of what can happen happens before.
    Close(u8),
}

#[derive(Debug, Arbitrary)]
struct Forged {
    seq: i32,
    ack: i32,
    near: bool,
    flags: u16,
    window: u16,
    len: u16,
    sack: Vec<(u16, u16)>,
    stamp: Option<(i8, i8)>,
    marked: bool,
}

/// What the stream of either side has at an offset.
fn octet(offset: i64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

fn octets(from: i64, len: u32) -> Payload {
    Payload::real((from..from + i64::from(len)).map(octet).collect())
}

/// Applies what the octets say to a connection that was just opened.
pub fn run(octets: &[u8]) {
    let mut input = Input::new(octets);
    let Some(setup) = input.next() else { return };
    let mut world = World::new(&setup);
    for operation in input.all().take(300) {
        world.apply(&operation);
        if world.connection.state() == State::Closed {
            break;
        }
    }
}

struct World {
    connection: Connection,
    now: Time,
    written: i64,
    read: i64,
    /// The peer's idea: what it has sent, what it has seen, and the furthest octet that any of its windows allowed.
    peer_sent: i64,
    highest_seen: i64,
    highest_ack: i64,
    window_edge: i64,
    scale: u8,
}

impl World {
    fn new(setup: &Setup) -> World {
        let mut profile = if setup.freebsd { Profile::freebsd_7() } else { Profile::linux_6_1() };
        profile.sack = setup.sack;
        profile.timestamps = setup.timestamps;
        profile.ecn = match setup.ecn {
            None => EcnRule::Off,
            Some(false) => EcnRule::On,
            Some(true) => EcnRule::Accurate,
        };
        profile.cwnd_reduction = [CwndReduction::Immediate, CwndReduction::RateHalving, CwndReduction::Prr]
            [usize::from(setup.cwnd_reduction % 3)];
        if setup.counting {
            profile.loss_detection = LossDetection::Rfc6675;
        }
        let endpoint = |port| Endpoint { addr: Ipv4Addr::from_bits(u32::from(port)).into(), port };
        let config = ConnConfig::new(endpoint(1), endpoint(2), ISS, Bytes::new(1500), profile, "reno").expect("reno");
        let now = Time::from_nanos(1_000_000);
        let connection = if setup.passive { Connection::listen(config) } else { Connection::connect(config) };
        let scale = setup.window_scale.min(14);
        let mut world = World {
            connection,
            now,
            written: 0,
            read: 0,
            peer_sent: 0,
            highest_seen: 0,
            highest_ack: 0,
            window_edge: 65_535,
            scale,
        };
        world.collect();
        let flags = if setup.passive { Flags::SYN } else { Flags::SYN.with(Flags::ACK) };
        let mut syn = world.header(-1, 0, if setup.ecn.is_some() { flags.with(Flags::ECE) } else { flags }, 60_000);
        syn.options = TcpOptions {
            mss: Some(setup.mss.max(64)),
            window_scale: Some(scale),
            sack_permitted: setup.sack,
            timestamps: setup.timestamps.then_some(Timestamps { value: 7, echo: 0 }),
            ..TcpOptions::default()
        };
        world.deliver(syn, Payload::EMPTY, Ecn::NotEct);
        if setup.passive {
            let ack = world.header(0, 0, Flags::ACK, 60_000);
            world.deliver(ack, Payload::EMPTY, Ecn::NotEct);
        }
        world
    }

    fn header(&self, seq: i64, ack: i64, flags: Flags, window: u16) -> TcpHeader {
        TcpHeader {
            src_port: 2,
            dst_port: 1,
            seq: Seq::new(IRS.wrapping_add(1).wrapping_add(seq as u32)),
            ack: Seq::new(ISS.wrapping_add(1).wrapping_add(ack as u32)),
            flags,
            window,
            options: TcpOptions::default(),
        }
    }

    fn deliver(&mut self, header: TcpHeader, payload: Payload, ecn: Ecn) {
        let ack = i64::from(header.ack.get().wrapping_sub(ISS.wrapping_add(1)) as i32);
        self.window_edge = self.window_edge.max(ack + (i64::from(header.window) << self.scale));
        self.connection.handle_segment(self.now, &header, &payload, ecn);
        self.collect();
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Segment(forged) => self.forge(forged),
            Operation::Acknowledge(share, window) => {
                let out = self.highest_seen - self.highest_ack;
                self.highest_ack += out * i64::from(*share) / 255;
                let header = self.header(self.peer_sent, self.highest_ack, Flags::ACK, *window);
                self.deliver(header, Payload::EMPTY, Ecn::NotEct);
            }
            Operation::Data(len) => {
                let payload = octets(self.peer_sent, u32::from(*len) % 3000);
                let header = self.header(self.peer_sent, self.highest_ack, Flags::ACK, 60_000);
                self.peer_sent += i64::from(payload.len());
                self.deliver(header, payload, Ecn::NotEct);
            }
            Operation::Wait(millis) => self.wait_until(self.now + Duration::from_millis(u64::from(*millis))),
            Operation::NextTimeout => {
                if let Some(due) = self.connection.poll_timeout() {
                    self.wait_until(due);
                }
            }
            Operation::Write(len) => {
                let taken = self.connection.write(&octets(self.written, u32::from(*len))).unwrap_or(0);
                assert!(taken <= u64::from(*len));
                self.written += taken as i64;
                self.collect();
            }
            Operation::Read(limit) => {
                let payload = self.connection.read(self.now, u64::from(*limit)).unwrap_or(Payload::EMPTY);
                self.check_read(&payload);
                self.collect();
            }
            Operation::Close(chance) if chance % 64 != 0 => {}
            Operation::Close(chance) => {
                match chance / 64 {
                    0 | 1 => self.connection.shutdown(Shutdown::Write),
                    2 => self.connection.shutdown(Shutdown::Both),
                    _ => self.connection.close(self.now),
                }
                self.collect();
            }
        }
        self.connection.handle_timeout(self.now);
        self.collect();
        let due = self.connection.poll_timeout();
        assert!(due.is_none_or(|due| due > self.now), "a timer in the past: {due:?} at {:?}", self.now);
    }

    fn forge(&mut self, forged: &Forged) {
        let offset = |number: i32| i64::from(if forged.near { number % 20_000 } else { number });
        let (seq, ack) = (self.peer_sent + offset(forged.seq), self.highest_ack + offset(forged.ack));
        // A FIN from nowhere would end the stream where the model does not.
        let mut header = self.header(seq, ack, Flags(forged.flags & !Flags::FIN.0), forged.window);
        header.options.timestamps = forged.stamp.map(|(value, echo)| {
            let clock = (self.now.as_nanos() / 1_000_000) as u32;
            let wrap = |delta: i8| clock.wrapping_add(delta as u32);
            Timestamps { value: wrap(value).wrapping_add(7), echo: ISS.rotate_left(16).wrapping_add(wrap(echo)) }
        });
        let mut sack = SackBlocks::default();
        for (start, len) in &forged.sack {
            let start = self.header(0, self.highest_ack + i64::from(*start), Flags::NONE, 0).ack;
            sack.push(SackBlock { start, end: start + u32::from(*len) });
        }
        header.options.sack = sack;
        let payload = octets(seq, u32::from(forged.len) % 3000);
        let ecn = if forged.marked { Ecn::Ce } else { Ecn::Ect0 };
        self.deliver(header, payload, ecn);
    }

    fn wait_until(&mut self, at: Time) {
        let mut timeouts = 0;
        while let Some(due) = self.connection.poll_timeout().filter(|due| *due <= at) {
            self.now = due.max(self.now);
            self.connection.handle_timeout(self.now);
            self.collect();
            timeouts += 1;
            assert!(timeouts < 10_000, "timeouts without end");
        }
        self.now = at.max(self.now);
    }

    fn collect(&mut self) {
        let mut sent = 0;
        while let Some(Segment { header, payload, .. }) = self.connection.poll_segment(self.now) {
            sent += 1;
            assert!(sent < 70_000, "a burst without end");
            assert!(header.len() + payload.len() + 20 <= 1500, "{header:?} is larger than the interface");
            if let Some(real) = payload.bytes() {
                let near = i64::from(
                    header.seq.get().wrapping_sub(ISS.wrapping_add(1)).wrapping_sub(self.highest_ack as u32) as i32,
                );
                let start = self.highest_ack + near;
                assert!(real.iter().zip(start..).all(|(seen, at)| *seen == octet(at)), "wrong octets at {start}");
                let end = start + real.len() as i64;
                assert!(end <= self.written, "sent more than was written");
                assert!(end <= self.window_edge, "beyond every window: {end} > {}", self.window_edge);
                self.highest_seen = self.highest_seen.max(end);
            }
        }
    }

    fn check_read(&mut self, payload: &Payload) {
        let real = payload.bytes().unwrap_or_default();
        assert!(
            real.iter().zip(self.read..).all(|(seen, at)| *seen == octet(at)),
            "wrong octets read at {}",
            self.read
        );
        self.read += i64::from(payload.len());
    }
}
