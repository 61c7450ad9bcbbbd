//! Plays the peer of a [`Connection`] on a virtual clock, step by step.
//!
//! The script must expect each segment of the connection, in order and at the exact nanosecond. If a segment differs,
//! the test fails and prints the whole exchange.

use super::spec::Spec;
use crate::cc::Controller;
use crate::{
    AckSettings, BufferRule, CaState, ConnConfig, ConnEvent, Connection, Endpoint, Profile, ReceiveWindow, Segment,
    SendBufferAccounting, State, TcpInfo, TimerGrain,
};
use lopsided_core::packet::{Flags, IPV4_HEADER, SackBlock, SackBlocks, TCP_HEADER, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::tcp_event::{TcpEvent, TcpEventMask, TimedTcpEvent};
use lopsided_core::{Bytes, Ecn, Payload, Seq, Time};
use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{Ipv4Addr, Shutdown};

/// Payload of a full segment in these scripts, in bytes, with or without timestamps.
pub const MSS: u64 = 1000;
/// Initial sequence number. It is close to 2^32, so that the sequence numbers wrap within a script.
pub const ISS: u32 = u32::MAX - 4500;
const IRS: u32 = u32::MAX - 2500;
const TIMESTAMP_OFFSET: u32 = 0xffff_ff00;
const PEER_TIMESTAMP_OFFSET: u32 = 0x7fff_ff00;

/// The options and the window that the peer offers.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub wscale: u8,
    /// Window in the peer's segments, in bytes, unless a step sets a different window.
    pub window: u64,
}

/// A peer with SACK and window scaling, without timestamps.
pub const PEER: Peer = Peer { sack: true, timestamps: false, ecn: false, wscale: 8, window: 1 << 20 };
pub const NO_SACK: Peer = Peer { sack: false, ..PEER };
pub const TIMESTAMPS: Peer = Peer { timestamps: true, ..PEER };

/// Returns the profile of Linux with exact timers, so that a script tests the rule and not the timer wheel.
pub fn linux() -> Profile {
    let linux = Profile::linux_6_1();
    let send_buffer = BufferRule::Auto { initial: Bytes::new(1 << 17), max: Bytes::new(4 << 20) };
    Profile {
        grain: TimerGrain::Exact,
        ack: AckSettings { grain: TimerGrain::Exact, ..linux.ack },
        send_buffer,
        send_buffer_accounting: SendBufferAccounting::Stream,
        ..linux
    }
}

/// Returns the profile of FreeBSD with exact timers.
pub fn freebsd() -> Profile {
    Profile { grain: TimerGrain::Exact, ..Profile::freebsd_7() }
}

/// Returns the profile with a receive buffer of `octets` bytes. The whole buffer is advertised as the window.
pub fn receive_buffer(profile: Profile, octets: u64) -> Profile {
    let receive_buffer = BufferRule::Fixed(Bytes::new(octets));
    Profile { receive_buffer, receive_window: ReceiveWindow::Room, ..profile }
}

/// Returns the profile with a send buffer of `octets` bytes.
pub fn send_buffer(profile: Profile, octets: u64) -> Profile {
    Profile { send_buffer: BufferRule::Fixed(Bytes::new(octets)), ..profile }
}

#[derive(Debug)]
struct Emitted {
    at: Time,
    header: TcpHeader,
    payload: Payload,
    ecn: Ecn,
}

#[derive(Debug)]
pub struct Script {
    pub connection: Connection,
    pub peer: Peer,
    /// If true, the application reads data as soon as it arrives.
    pub reads: bool,
    /// If true, the application closes as soon as the peer has closed.
    pub closes: bool,
    /// If true, the queue of the host's interface has no space for data.
    pub interface_full: bool,
    now: Time,
    emitted: VecDeque<Emitted>,
    /// Sequence number of the peer's next segment, unless a step sets a different number.
    peer_seq: i64,
    /// Acknowledgement number of the peer's next segment, unless a step sets a different number.
    peer_ack: i64,
    handshake_done: bool,
    log: String,
}

impl Script {
    /// Starts a script with an active open at 0 ms.
    pub fn connect(profile: Profile, peer: Peer) -> Script {
        Script::connect_with(profile, peer, "reno")
    }

    /// Like [`Script::connect`], but with the congestion control `controller` instead of Reno.
    pub fn connect_with(profile: Profile, peer: Peer, controller: &str) -> Script {
        Script::new(Connection::connect(config(profile, controller)), peer)
    }

    /// Starts a script with a passive open at 0 ms.
    pub fn listen(profile: Profile, peer: Peer) -> Script {
        Script::new(Connection::listen(config(profile, "reno")), peer)
    }

    /// Starts a script with an active open whose SYN is answered after 100 ms. The script continues at 100 ms.
    #[track_caller]
    pub fn established(profile: Profile, peer: Peer) -> Script {
        Script::established_with(profile, peer, "reno")
    }

    /// Like [`Script::established`], but with the congestion control `controller` instead of Reno.
    #[track_caller]
    pub fn established_with(profile: Profile, peer: Peer, controller: &str) -> Script {
        Script::established_by(config(profile, controller), peer)
    }

    /// Like [`Script::established`], with the controller `controller`.
    #[track_caller]
    pub fn established_under(profile: Profile, peer: Peer, controller: Box<dyn Controller>) -> Script {
        Script::established_by(ConnConfig { controller, ..config(profile, "reno") }, peer)
    }

    #[track_caller]
    fn established_by(config: ConnConfig, peer: Peer) -> Script {
        let mut script = Script::new(Connection::connect(config), peer);
        let syn = script.emitted.pop_front().expect("a SYN");
        assert!(syn.header.flags.has(Flags::SYN));
        script.inject(100, &script.peer_syn("S. ack 1"));
        let ack = script.emitted.pop_front().expect("the handshake's last ACK");
        assert_eq!((ack.at, ack.header.ack), (script.now, Seq::new(IRS) + 1));
        assert_eq!(script.connection.state(), State::Established);
        // The window of a SYN is not scaled, so this segment is the first that advertises the full window.
        script.inject(100, "ack 1");
        script
    }

    fn new(mut connection: Connection, peer: Peer) -> Script {
        connection.listen_to(TcpEventMask::ALL);
        let mut script = Script {
            connection,
            peer,
            reads: true,
            closes: false,
            interface_full: false,
            now: Time::ZERO,
            emitted: VecDeque::new(),
            peer_seq: 0,
            peer_ack: 0,
            handshake_done: false,
            log: String::new(),
        };
        script.collect();
        script
    }

    /// Returns the text of the peer's SYN with all options that the peer offers.
    pub fn peer_syn(&self, start: &str) -> String {
        let mss = MSS + if self.peer.timestamps { 12 } else { 0 };
        let mut syn = format!("{start} 0:0 win 65535 mss {mss} wscale {}", self.peer.wscale);
        if self.peer.sack {
            syn += " sackok";
        }
        if self.peer.timestamps {
            write!(syn, " ts {}:0", self.now_ms()).expect("a string");
        }
        if self.peer.ecn {
            syn += if start.contains('.') { " E" } else { " EW" };
        }
        syn
    }

    // Actions of the peer.

    /// Passes a segment of the peer to the connection. Values that the text omits continue from the last segment.
    #[track_caller]
    pub fn inject(&mut self, at_ms: impl Into<f64>, text: &str) {
        self.advance(at_ms);
        self.assert_all_expected();
        let spec = Spec::parse(text);
        self.note(&format!("-> {text}"));
        let (header, payload) = self.peer_segment(&spec);
        self.connection.handle_segment(self.now, &header, &payload, spec.ecn);
        self.after_step();
    }

    /// Passes a segment of the peer to the connection, and checks the segment that the connection sends at once.
    #[track_caller]
    pub fn answers(&mut self, at_ms: impl Into<f64> + Copy, segment: &str, answer: &str) {
        self.inject(at_ms, segment);
        self.expect(at_ms, answer);
    }

    /// Passes a segment of the peer to the connection. Does not check the segments that the connection sends at once.
    #[track_caller]
    pub fn deliver(&mut self, at_ms: impl Into<f64>, segment: &str) {
        self.inject(at_ms, segment);
        self.drain();
    }

    /// Passes a segment with only the given flags to the connection, without the implicit ACK.
    #[track_caller]
    pub fn inject_bare(&mut self, at_ms: impl Into<f64>, text: &str) {
        self.advance(at_ms);
        self.assert_all_expected();
        let spec = Spec::parse(text);
        self.note(&format!("-> {text} (bare)"));
        let (mut header, payload) = self.peer_segment(&spec);
        header.flags = spec.flags;
        self.peer_seq = 1;
        self.connection.handle_segment(self.now, &header, &payload, spec.ecn);
        self.after_step();
    }

    fn peer_segment(&mut self, spec: &Spec) -> (TcpHeader, Payload) {
        let syn = spec.flags.has(Flags::SYN);
        let (start, end) = spec.range.unwrap_or((self.peer_seq, self.peer_seq));
        let next = end + i64::from(syn) + i64::from(spec.flags.has(Flags::FIN));
        if !spec.flags.has(Flags::RST) && next - self.peer_seq <= 1 << 20 {
            self.peer_seq = self.peer_seq.max(next);
        }
        self.handshake_done |= syn;
        let ack = spec.ack.unwrap_or(self.peer_ack);
        self.peer_ack = ack;
        let bare = spec.flags.has(Flags::RST) || syn;
        let flags = if bare { spec.flags } else { spec.flags.with(Flags::ACK) };
        let window = match spec.win {
            Some(window) if syn => window,
            window => window.unwrap_or(self.peer.window) >> self.peer.wscale,
        };
        let clock = self.now_ms() as u32;
        let timestamps = match spec.ts {
            Some((value, echo)) => Some((value as u32, echo as u32)),
            None => (self.peer.timestamps && !syn).then_some((clock, clock)),
        };
        let mut sack = SackBlocks::default();
        for &(start, end) in &spec.sack {
            sack.push(SackBlock { start: wrapped(ISS, start), end: wrapped(ISS, end) });
        }
        let timestamps = timestamps.map(|(value, echo)| Timestamps {
            value: PEER_TIMESTAMP_OFFSET.wrapping_add(value),
            echo: TIMESTAMP_OFFSET.wrapping_add(echo),
        });
        let options = TcpOptions::default()
            .with_mss(spec.mss)
            .with_window_scale(spec.wscale)
            .with_sack_permitted(spec.sackok)
            .with_timestamps(timestamps)
            .with_sack(sack)
            .with_accurate_ecn(spec.counters);
        let header = TcpHeader {
            src_port: 5000,
            dst_port: 40_000,
            seq: wrapped(IRS, start),
            ack: wrapped(ISS, ack),
            flags,
            window: window as u16,
            options,
        };
        (header, Payload::virtual_len(spec.len()))
    }

    /// Simulates a router that reports that the segment at `start` is too long for the path MTU `mtu`.
    #[track_caller]
    pub fn too_big(&mut self, at_ms: impl Into<f64>, start: i64, mtu: u64) {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note(&format!("-> too big: {start}, mtu {mtu}"));
        self.connection.handle_too_big(self.now, wrapped(ISS, start), Bytes::new(mtu));
        self.collect();
    }

    // Actions of the application.

    #[track_caller]
    pub fn write(&mut self, at_ms: impl Into<f64>, octets: u32) {
        let taken = self.write_what_fits(at_ms, octets);
        assert_eq!(taken, u64::from(octets), "the send buffer has no room");
    }

    /// Writes at most `octets` bytes. Returns the number of bytes that fit into the send buffer.
    #[track_caller]
    pub fn write_what_fits(&mut self, at_ms: impl Into<f64>, octets: u32) -> u64 {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note(&format!("write {octets}"));
        let taken = self.connection.write(&Payload::virtual_len(octets)).expect("open");
        self.after_step();
        taken
    }

    /// Writes, and checks the segment that the connection sends at once.
    #[track_caller]
    pub fn sends(&mut self, at_ms: impl Into<f64> + Copy, octets: u32, segment: &str) {
        self.write(at_ms, octets);
        self.expect(at_ms, segment);
    }

    /// Writes, and checks that the connection sends consecutive full segments of this data at once.
    #[track_caller]
    pub fn sends_train(&mut self, at_ms: impl Into<f64> + Copy, octets: u32, from: u64, to: u64) {
        self.write(at_ms, octets);
        self.expect_train(at_ms, from, to);
    }

    #[track_caller]
    pub fn read(&mut self, at_ms: impl Into<f64>, octets: u64) {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note(&format!("read {octets}"));
        let read = self.connection.read(self.now, octets).unwrap_or(Payload::EMPTY);
        assert_eq!(u64::from(read.len()), octets, "fewer bytes have arrived");
        self.collect();
    }

    /// Closes the sending direction, as the application does with shutdown(2).
    #[track_caller]
    pub fn close(&mut self, at_ms: impl Into<f64>) {
        self.shutdown(at_ms, Shutdown::Write);
    }

    #[track_caller]
    pub fn shutdown(&mut self, at_ms: impl Into<f64>, how: Shutdown) {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note(&format!("shutdown {how:?}"));
        self.connection.shutdown(how);
        self.after_step();
    }

    /// Closes the connection as the application does with close(2).
    #[track_caller]
    pub fn leave(&mut self, at_ms: impl Into<f64>) {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note("leave");
        self.connection.close(self.now);
        self.after_step();
    }

    #[track_caller]
    pub fn abort(&mut self, at_ms: impl Into<f64>) {
        self.advance(at_ms);
        self.assert_all_expected();
        self.note("abort");
        self.connection.abort();
        self.after_step();
    }

    /// Collects the segments that the connection sends now. Call it after a direct call of the connection.
    pub fn pump(&mut self) {
        self.collect();
    }

    // Checks of the connection's behaviour.

    /// Checks the next segment that the connection sends.
    #[track_caller]
    pub fn expect(&mut self, at_ms: impl Into<f64>, text: &str) {
        let at = instant(at_ms);
        if self.emitted.is_empty() && at > self.now {
            self.run_until(at);
        }
        let Some(sent) = self.emitted.pop_front() else { self.fail(&format!("nothing was sent for {text:?}")) };
        if sent.at != at {
            self.fail(&format!("expected {text:?} at {at:?}, and sent at {:?}: {}", sent.at, self.describe(&sent)));
        }
        let spec = Spec::parse(text);
        if let Some(difference) = self.difference(&spec, &sent) {
            self.fail(&format!("expected {text:?}, {difference} differs: {}", self.describe(&sent)));
        }
    }

    /// Checks that the connection sends consecutive full segments of new or old data.
    #[track_caller]
    pub fn expect_train(&mut self, at_ms: impl Into<f64> + Copy, from: u64, to: u64) {
        for start in (from..to).step_by(MSS as usize) {
            self.expect(at_ms, &format!("{start}:{} .", (start + MSS).min(to)));
        }
    }

    /// Removes the next segment that was sent. Returns its acknowledgement number and its window.
    pub fn take(&mut self) -> Option<(u64, u64)> {
        let sent = self.emitted.pop_front()?;
        let spec = self.spec_of(&sent);
        Some((spec.ack? as u64, spec.win?))
    }

    /// Accepts all segments that were sent so far, without checking them.
    pub fn drain(&mut self) {
        self.emitted.clear();
    }

    /// Accepts all segments that were sent so far. Returns the end offsets of the segments with PSH.
    pub fn drain_pushed(&mut self) -> Vec<i64> {
        let pushed = self.emitted.iter().filter(|sent| sent.header.flags.has(Flags::PSH));
        let ends = pushed.filter_map(|sent| Some(self.spec_of(sent).range?.1)).collect();
        self.drain();
        ends
    }

    /// Accepts all segments that are sent up to and including the time `at_ms`.
    pub fn drain_until(&mut self, at_ms: impl Into<f64>) {
        self.run_until(instant(at_ms));
        self.drain();
    }

    /// Checks that no segment is sent up to and including the time `at_ms`.
    #[track_caller]
    pub fn expect_nothing_until(&mut self, at_ms: impl Into<f64>) {
        self.run_until(instant(at_ms));
        self.assert_all_expected();
    }

    #[track_caller]
    pub fn expect_event(&mut self, event: ConnEvent) {
        assert_eq!(self.connection.poll_event(), Some(event), "\n{}", self.log);
    }

    #[track_caller]
    pub fn expect_no_event(&mut self) {
        assert_eq!(self.connection.poll_event(), None, "\n{}", self.log);
    }

    #[track_caller]
    pub fn expect_state(&self, state: State) {
        assert_eq!(self.connection.state(), state, "\n{}", self.log);
    }

    #[track_caller]
    pub fn expect_ca_state(&self, ca_state: CaState) {
        assert_eq!(self.info().ca_state, ca_state, "\n{}", self.log);
    }

    /// Checks the congestion window, in segments.
    #[track_caller]
    pub fn expect_cwnd(&self, segments: u64) {
        assert_eq!(self.connection.cwnd(), Bytes::new(segments * MSS), "\n{}", self.log);
    }

    #[track_caller]
    pub fn expect_ssthresh(&self, segments: u64) {
        assert_eq!(self.info().snd_ssthresh, Some(Bytes::new(segments * MSS)), "\n{}", self.log);
    }

    pub fn info(&self) -> TcpInfo {
        self.connection.info(self.now)
    }

    pub fn now_ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    // The clock.

    #[track_caller]
    fn advance(&mut self, at_ms: impl Into<f64>) {
        let at = instant(at_ms);
        assert!(at >= self.now, "{at:?} is before {:?}", self.now);
        self.run_until(at);
    }

    /// Runs the timers up to and including `at`.
    fn run_until(&mut self, at: Time) {
        while let Some(due) = self.connection.poll_timeout().filter(|due| *due <= at) {
            assert!(due >= self.now, "a timer in the past");
            self.now = due;
            self.connection.handle_timeout(due);
            self.collect();
        }
        self.now = at;
    }

    fn after_step(&mut self) {
        if self.reads {
            let _ = self.connection.read(self.now, u64::MAX);
        }
        if self.closes && self.connection.state() == State::CloseWait {
            self.connection.shutdown(Shutdown::Write);
        }
        self.collect();
    }

    fn collect(&mut self) {
        if self.interface_full {
            let mut header = TcpHeader::default();
            assert!(
                self.connection.write_segment_without_data(self.now, &mut header).is_none(),
                "it has an ACK to send"
            );
            return;
        }
        while let Some(segment) = self.connection.poll_segment(self.now) {
            self.note_events();
            let Segment { header, payload, ecn, .. } = segment;
            let sent = Emitted { at: self.now, header, payload, ecn };
            let line = format!("<- {}", self.describe(&sent));
            self.note(&line);
            self.emitted.push_back(sent);
            assert!(self.emitted.len() < 10_000, "a burst without end");
        }
        self.note_events();
        self.connection.send.flight.scoreboard.check();
    }

    // Comparison of segments.

    fn difference(&self, spec: &Spec, sent: &Emitted) -> Option<&'static str> {
        let seen = self.spec_of(sent);
        let bare = spec.range.is_none();
        let range_is_right = if bare { seen.len() == 0 } else { spec.range == seen.range };
        let checks = [
            (spec.flags == seen.flags, "flags"),
            (range_is_right, "octets"),
            (spec.ack.is_none() || spec.ack == seen.ack, "ack"),
            (spec.sack == seen.sack, "SACK"),
            (spec.win.is_none() || spec.win == seen.win, "window"),
            (spec.mss.is_none() || spec.mss == seen.mss, "MSS"),
            (spec.wscale.is_none() || spec.wscale == seen.wscale, "window scale"),
            (!spec.sackok || seen.sackok, "SACK-permitted"),
            (spec.ts.is_none() || spec.ts == seen.ts, "timestamps"),
            (spec.counters == seen.counters, "accurate ECN counters"),
            (spec.ecn == seen.ecn, "ECN field"),
        ];
        checks.iter().find(|(equal, _)| !equal).map(|(_, name)| *name)
    }

    fn spec_of(&self, sent: &Emitted) -> Spec {
        let header = &sent.header;
        let start = relative(ISS, header.seq, self.connection.send.flight.nxt());
        let scale = if header.flags.has(Flags::SYN) { 0 } else { self.connection.options.rcv_wscale };
        let ack = relative(IRS, header.ack, self.connection.recv.next());
        let block = |block: &SackBlock| {
            let next = self.connection.recv.next();
            (relative(IRS, block.start, next), relative(IRS, block.end, next))
        };
        let options = &header.options;
        Spec {
            flags: Flags(header.flags.0 & !Flags::PSH.0),
            range: Some((start, start + i64::from(sent.payload.len()))),
            ack: header.flags.has(Flags::ACK).then_some(ack),
            win: Some(u64::from(header.window) << scale),
            sack: options.sack_on_wire().iter().map(block).collect(),
            mss: options.mss(),
            wscale: options.window_scale(),
            sackok: options.sack_permitted(),
            ts: options.timestamps.map(|stamps| {
                let value = stamps.value.wrapping_sub(TIMESTAMP_OFFSET) as i32;
                let echo = stamps.echo.wrapping_sub(PEER_TIMESTAMP_OFFSET) as i32;
                (i64::from(value), if stamps.echo == 0 { 0 } else { i64::from(echo) })
            }),
            counters: options.accurate_ecn().copied(),
            ecn: sent.ecn,
        }
    }

    fn describe(&self, sent: &Emitted) -> String {
        let spec = self.spec_of(sent);
        let (start, end) = spec.range.unwrap_or_default();
        let mut text = format!("{:?} {start}:{end}", spec.flags);
        if let Some(ack) = spec.ack {
            write!(text, " ack {ack}").expect("a string");
        }
        write!(text, " win {}", spec.win.unwrap_or_default()).expect("a string");
        if !spec.sack.is_empty() {
            write!(text, " sack {:?}", spec.sack).expect("a string");
        }
        if let Some((value, echo)) = spec.ts {
            write!(text, " ts {value}:{echo}").expect("a string");
        }
        if let Some(counters) = spec.counters {
            write!(text, " {:?} {:?}", counters.order, counters.counters()).expect("a string");
        }
        if spec.ecn != Ecn::NotEct {
            write!(text, " {:?}", spec.ecn).expect("a string");
        }
        text
    }

    /// Returns the exchange so far, as a failing test prints it.
    pub fn story(&self) -> &str {
        &self.log
    }

    /// Adds the connection's trace events to the log. Acknowledgement numbers count from the peer's SYN, as in the
    /// scripts.
    fn note_events(&mut self) {
        while let Some(TimedTcpEvent { at, mut event }) = self.connection.poll_trace() {
            if let TcpEvent::AckSent { ack, .. } = &mut event {
                *ack = Seq::new(ack.get().wrapping_sub(IRS));
            }
            writeln!(self.log, "{:10.3} ms    {event}", at.as_nanos() as f64 / 1e6).expect("a string");
        }
    }

    fn note(&mut self, line: &str) {
        writeln!(self.log, "{:10.3} ms {line}", self.now.as_nanos() as f64 / 1e6).expect("a string");
    }

    #[track_caller]
    fn assert_all_expected(&self) {
        if let Some(sent) = self.emitted.front() {
            self.fail(&format!("not expected, at {:?}: {}", sent.at, self.describe(sent)));
        }
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        panic!("{why}\n{}", self.log)
    }
}

impl Drop for Script {
    /// Fails if the script ends with segments that it has not expected.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_all_expected();
        }
    }
}

fn config(profile: Profile, controller: &str) -> ConnConfig {
    let local = Endpoint { addr: Ipv4Addr::from_bits(0x0a00_0001).into(), port: 40_000 };
    let remote = Endpoint { addr: Ipv4Addr::from_bits(0x0a00_0002).into(), port: 5000 };
    let mtu = MSS + u64::from(IPV4_HEADER + TCP_HEADER) + if profile.timestamps { 12 } else { 0 };
    let config = ConnConfig::new(local, remote, ISS, Bytes::new(mtu), profile, controller).expect("it is built in");
    ConnConfig { timestamp_offset: TIMESTAMP_OFFSET, ..config }
}

pub fn instant(at_ms: impl Into<f64>) -> Time {
    Time::from_nanos((at_ms.into() * 1e6).round() as u64)
}

fn wrapped(base: u32, number: i64) -> Seq {
    Seq::new(base.wrapping_add(number as u32))
}

/// Converts a sequence number to the offset from `base` that is closest to the stream offset `near`.
fn relative(base: u32, seq: Seq, near: u64) -> i64 {
    let near = near as i64 + 1;
    near + i64::from(seq.get().wrapping_sub(base).wrapping_sub(near as u32) as i32)
}
