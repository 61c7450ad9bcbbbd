//! A connection whose peer may send anything. The invariants of the endpoint must hold after every operation. Once the
//! peer obeys the rules, the connection must transfer data or be closed.

use crate::Input;
use arbitrary::Arbitrary;
use lopsided_core::packet::{Flags, SackBlock, SackBlocks, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Seq, Time};
use lopsided_tcp::{ConnConfig, Connection, CwndReduction, EcnRule, Endpoint, LossDetection, Profile, Segment, State};
use std::collections::BTreeMap;
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
    /// The peer sends a segment whose sequence numbers are the correct numbers plus an offset.
    Segment(Forged),
    /// The peer acknowledges this share, in units of 1 / 255, of the outstanding data.
    Acknowledge(u8, u16),
    /// The peer sends its next data.
    Data(u16),
    Wait(u16),
    NextTimeout,
    Write(u16),
    Read(u16),
    /// Closes the connection in 1 of 64 cases, because most interesting states occur before the close.
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

/// Returns the byte at an offset of the stream. Both sides send the same stream.
fn octet(offset: i64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

fn octets(from: i64, len: u32) -> Payload {
    Payload::real((from..from + i64::from(len)).map(octet).collect())
}

/// Applies the operations in the input to a newly opened connection. Returns the number of operations.
pub fn run(octets: &[u8]) -> u64 {
    let mut input = Input::new(octets);
    let Some(setup) = input.next() else { return 0 };
    let (mut world, mut operations) = (World::new(&setup), 0);
    for operation in input.all().take(300) {
        world.apply(&operation);
        operations += 1;
        if world.connection.state() == State::Closed {
            break;
        }
    }
    operations
}

/// Like [`run`], but afterwards the peer obeys the rules, and the connection must transfer data in both directions or
/// be closed.
///
/// Left out: resets, which end the connection, and two inputs from which no stack recovers: a FIN at a wrong sequence
/// number, and timestamps of the peer that decrease.
pub fn run_to_completion(octets: &[u8]) -> u64 {
    let mut input = Input::new(octets);
    let Some(setup) = input.next() else { return 0 };
    let (mut world, mut operations) = (World::new(&setup), 0);
    for mut operation in input.all().take(300) {
        if let Operation::Segment(forged) = &mut operation {
            forged.flags &= !Flags::RST.0;
        }
        world.apply(&operation);
        operations += 1;
    }
    world.obey_rules();
    operations
}

/// Number of bytes that must arrive in each direction.
const PEACEFUL_OCTETS: i64 = 50_000;
/// Time limit for these bytes. It covers several of the longest retransmission timeouts, which a long attack may have
/// caused.
const TIME_LIMIT: Duration = Duration::from_secs(7200);
const ROUND_TRIP: Duration = Duration::from_millis(50);

struct World {
    connection: Connection,
    now: Time,
    written: i64,
    read: i64,
    /// Number of bytes that the peer has sent.
    peer_sent: i64,
    /// Number of bytes that the peer has received, up to the highest offset.
    highest_seen: i64,
    /// Highest acknowledgement number that the peer has sent.
    highest_ack: i64,
    /// Highest sequence number that any of the peer's advertised windows permitted.
    window_edge: i64,
    /// True after the peer has received the connection's FIN, which occupies a sequence number.
    fin_seen: bool,
    scale: u8,
    timestamps: bool,
    /// Latest acknowledgement number that the connection sent.
    acked_peer: i64,
    /// Latest timestamp value that the connection sent.
    echo: u32,
    peer: Option<Peaceful>,
}

/// A peer that obeys the rules: it acknowledges every segment and stores data that arrives out of order. It has
/// discarded the out-of-order data that it received during the attack. RFC 2018, section 8, permits this even for
/// SACKed data.
#[derive(Default)]
struct Peaceful {
    expected: i64,
    held: BTreeMap<i64, i64>,
    /// End of the stream; `None` until the FIN was received.
    fin: Option<i64>,
    acks_due: u32,
}

impl Peaceful {
    fn take(&mut self, start: i64, end: i64, fin: bool) {
        let held = self.held.entry(start).or_insert(end);
        *held = end.max(*held);
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() <= self.expected) {
            self.expected = self.expected.max(first.remove());
        }
        self.fin = self.fin.or(fin.then_some(end));
        self.acks_due += 1;
    }

    fn ack(&self) -> i64 {
        self.expected + i64::from(self.fin == Some(self.expected))
    }
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
            fin_seen: false,
            scale,
            timestamps: setup.timestamps,
            acked_peer: 0,
            echo: 0,
            peer: None,
        };
        world.collect();
        let flags = if setup.passive { Flags::SYN } else { Flags::SYN.with(Flags::ACK) };
        let mut syn = world.header(-1, 0, if setup.ecn.is_some() { flags.with(Flags::ECE) } else { flags }, 60_000);
        syn.options = TcpOptions::default()
            .with_mss(Some(setup.mss.max(64)))
            .with_window_scale(Some(scale))
            .with_sack_permitted(setup.sack)
            .with_timestamps(setup.timestamps.then_some(Timestamps { value: 7, echo: 0 }));
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
        // Remove FIN. A FIN with a wrong sequence number would end the stream at an offset that the model does not
        // expect.
        let mut header = self.header(seq, ack, Flags(forged.flags & !Flags::FIN.0), forged.window);
        if ack <= self.highest_seen + i64::from(self.fin_seen) {
            self.highest_ack = self.highest_ack.max(ack.min(self.highest_seen));
        }
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
        header.options.set_sack(sack);
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
            assert!(sent < 70_000, "the burst does not end");
            assert!(header.len() + payload.len() + 20 <= 1500, "{header:?} is larger than the interface");
            self.acked_peer = i64::from(header.ack.get().wrapping_sub(IRS.wrapping_add(1)) as i32);
            self.echo = header.options.timestamps.map_or(self.echo, |stamps| stamps.value);
            self.fin_seen |= header.flags.has(Flags::FIN);
            if let Some(peer) = self.peer.as_mut().filter(|_| !payload.is_empty() || header.flags.has(Flags::FIN)) {
                let start = i64::from(header.seq.get().wrapping_sub(ISS.wrapping_add(1)) as i32);
                peer.take(start, start + i64::from(payload.len()), header.flags.has(Flags::FIN));
            }
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

    /// Makes the peer obey the rules from now on, and lets both sides send more data.
    fn obey_rules(&mut self) {
        self.peer = Some(Peaceful { expected: self.highest_ack, ..Peaceful::default() });
        let (sent, read) = (self.highest_ack + PEACEFUL_OCTETS, self.read + PEACEFUL_OCTETS);
        let until = self.now + TIME_LIMIT;
        while self.connection.state() != State::Closed {
            let wrote = self.connection.write(&octets(self.written, 8000));
            self.written += *wrote.as_ref().unwrap_or(&0) as i64;
            let taken = self.connection.read(self.now, u64::MAX);
            let hears = taken.is_ok();
            self.check_read(&taken.unwrap_or(Payload::EMPTY));
            self.collect();
            self.answer();
            let peer = self.peer.as_ref().expect("the connection has a peer");
            let is_complete = peer.expected >= sent || wrote.is_err() && peer.expected == self.written;
            if is_complete && (self.read >= read || !hears) {
                return;
            }
            assert!(
                self.now < until,
                "stuck: {} of {} octets sent, {} of {read} read; {:?}",
                peer.expected,
                sent.min(self.written),
                self.read,
                self.connection
            );
            self.wait_until(self.now + ROUND_TRIP);
        }
    }

    /// Lets the peer send one ACK for each received segment, and 1,000 bytes of data that follow the acknowledged data.
    fn answer(&mut self) {
        let Some(peer) = &mut self.peer else { return };
        let (due, ack) = (std::mem::take(&mut peer.acks_due), peer.ack());
        for data in std::iter::repeat_n(0, due as usize).chain([1000]) {
            let mut header = self.header(self.acked_peer, ack, Flags::ACK, 60_000);
            let clock = (self.now.as_nanos() / 1_000_000) as u32;
            // The value exceeds every forged timestamp, so that PAWS (RFC 7323, section 5) accepts the segment.
            let stamps = Timestamps { value: clock.wrapping_add(1000), echo: self.echo };
            header.options.timestamps = self.timestamps.then_some(stamps);
            self.deliver(header, octets(self.acked_peer, data), Ecn::NotEct);
        }
    }
}
