//! Runs one script in virtual time, with one [`Connection`] at a time.

mod calls;
mod info;
mod packets;
mod settings;

use crate::script::{Event, Kind, Script, When};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Bytes, Duration, Ecn, Seq, Time};
use lopsided_tcp::{Connection, Endpoint, Profile, State};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

const ISS: u32 = 0x1000_0000;
const IRS: u32 = 0x2000_0000;
const TS_OFFSET: u32 = 0x3000_0000;
const LOCAL: Endpoint = Endpoint { addr: IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)), port: 8080 };
const REMOTE: Endpoint = Endpoint { addr: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), port: 40_000 };

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Frequency of Linux's timer in Hz. The suite has scripts for 250 Hz and for 1000 Hz.
    pub hz: u64,
    /// If true, prints every packet and event.
    pub verbose: bool,
    /// The profile of the TCP stack.
    pub profile: String,
}

/// The first difference between the script and the connection.
#[derive(Debug)]
pub struct Divergence {
    pub event: usize,
    pub line: usize,
    pub expected: String,
    pub got: String,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    pub divergence: Option<Divergence>,
    /// Number of FINs without data that differ from the script only in the PSH flag.
    pub psh_on_bare_fin: u32,
    /// Number of packets that differ from the script only in the PSH flag, and for which the connection sent several
    /// segments.
    pub psh_on_merged: u32,
    /// Number of other packets that differ from the script only in the PSH flag.
    pub psh_elsewhere: u32,
    /// Number of packets that are more than 4 ms early or late, but within packetdrill's tolerance of 12.5 %.
    pub loose_times: u32,
    /// Number of expected packets for which the connection sent more than one segment.
    pub merged: u32,
    pub packets_checked: u32,
    /// Calls and settings of the script that the connection does not support.
    pub unmapped: BTreeSet<String>,
    /// Python blocks with the values of `tcp_info` when the block runs: event, line, code, fields.
    pub code: Vec<(usize, usize, String, BTreeMap<&'static str, i64>)>,
    pub log: String,
}

/// A sent packet.
struct Emitted {
    at: Time,
    header: TcpHeader,
    len: u32,
    ecn: Ecn,
}

/// A blocking system call that has not returned yet. Times are in microseconds.
struct Pending {
    event: usize,
    line: usize,
    text: String,
    kind: Blocked,
    result: i64,
    done: i64,
    start: i64,
    until: i64,
}

#[derive(Clone, Copy, PartialEq)]
enum Blocked {
    Connect,
    Accept,
    Read(u64),
    Write(u64),
    PollOut,
}

/// The host under test.
struct Runner {
    setup: Setup,
    profile: Profile,
    cc: String,
    mtu: u64,
    /// Tolerance of times in microseconds.
    tolerance: i64,
    /// Length of a timestamp's tick in microseconds; 0 if timestamps are not compared.
    ts_tick: i64,
    connection: Option<Connection>,
    server: bool,
    listener: Option<String>,
    socket: Option<String>,
    nonblocking: bool,
    shut_write: bool,
    shut_read: bool,
    /// True if SO_LINGER is set with a time of 0: close() then sends a reset.
    linger_zero: bool,
    // Options that were set before the connection existed.
    nodelay: bool,
    corked: bool,
    user_timeout: Option<Duration>,
    /// True while MSG_MORE delays data: until the next ACK, or the next write without MSG_MORE. The connection does not
    /// support MSG_MORE, so it is corked during this time.
    more: bool,
    /// Time at which the connection was first seen established. Linux's `tcpi_last_*_recv` count from this time.
    established: Option<Time>,
    error_read: bool,
    closed: bool,
    peer_closed: bool,
    /// True after `tc ... pfifo limit 0`: the interface then drops every packet.
    blocked: bool,
    now: Time,
    queue: VecDeque<Emitted>,
    irs_script: i64,
    /// The first timestamp of the connection: its value in the script, and its value on the wire.
    ts_base: Option<(u32, u32)>,
    ts_seen: BTreeMap<u32, u32>,
    pending: Option<Pending>,
    out: Outcome,
}

/// `Err` contains the expected and the actual behaviour.
type Step = Result<(), (String, String)>;

/// Runs a script up to its first difference.
///
/// Returns `Err` if the script needs a congestion control that does not exist.
pub fn run(script: &Script, setup: Setup) -> Result<Outcome, String> {
    let mut runner = Runner::new(script, setup)?;
    let mut last: Option<(bool, i64)> = None;
    for (number, event) in script.events.iter().enumerate() {
        let inbound = matches!(&event.kind, Kind::Packet(packet) if packet.inbound);
        let offset = match last {
            Some((true, time)) if inbound => time,
            _ => micros(runner.now),
        };
        let (start, end) = match event.when {
            When::Any => (micros(runner.now), None),
            When::Absolute(at) => (at, None),
            When::Relative(after) => (offset + after, None),
            When::AbsoluteRange(from, to) => (from, Some(to)),
            When::RelativeRange(from, to) => (offset + from, Some(offset + to)),
        };
        let until =
            event.until.map(|until| if matches!(event.when, When::Relative(_)) { offset + until } else { until });
        let previous = last.map(|(_, time)| time);
        if let Err((expected, got)) = runner.step(number, event, start, end, until, previous) {
            let line = event.line;
            runner.out.divergence = Some(Divergence { event: number, line, expected, got });
            break;
        }
        if let Some(divergence) = runner.out.divergence.take() {
            runner.out.divergence = Some(divergence);
            break;
        }
        last = Some((inbound, start));
    }
    if runner.out.divergence.is_none() {
        if let Err((expected, got)) = runner.await_pending() {
            let line = script.events.last().map_or(0, |event| event.line);
            runner.out.divergence = Some(Divergence { event: script.events.len(), line, expected, got });
        }
    }
    Ok(runner.out)
}

fn micros(time: Time) -> i64 {
    (time.as_nanos() / 1000) as i64
}

fn instant(micros: i64) -> Time {
    Time::from_nanos(micros.max(0) as u64 * 1000)
}

impl Runner {
    /// Performs one event of the script. Times are in microseconds.
    fn step(
        &mut self,
        number: usize,
        event: &Event,
        start: i64,
        end: Option<i64>,
        until: Option<i64>,
        previous: Option<i64>,
    ) -> Step {
        match &event.kind {
            Kind::Packet(packet) => {
                if let Some(what) = &packet.foreign {
                    return Err((event.text.clone(), format!("not supported: {what}")));
                }
                if let Some(what) = &packet.unknown_option {
                    if !packet.inbound {
                        return Err((event.text.clone(), format!("not supported: {what}")));
                    }
                    self.out.unmapped.insert(format!(
                        "ignored on arrival: {}",
                        what.split(' ').take(2).collect::<Vec<_>>().join(" ")
                    ));
                }
                if let Some(mtu) = packet.too_big {
                    self.advance(start);
                    let (now, seq) = (self.now, Seq::new(ISS.wrapping_add(packet.start as u32)));
                    if let Some(connection) = &mut self.connection {
                        connection.handle_too_big(now, seq, Bytes::new(mtu));
                    }
                    self.collect();
                    return Ok(());
                }
                if packet.inbound {
                    self.advance(start);
                    self.inject(packet, &event.text);
                    Ok(())
                } else {
                    self.expect(event, packet, start, end, previous)
                }
            }
            Kind::Call(call) => {
                self.await_pending()?;
                self.advance(start);
                self.note(&format!("   {}", event.text));
                self.call(number, event, call, start, until)?;
                self.collect();
                Ok(())
            }
            Kind::Command(command) => {
                self.advance(start);
                if command.contains("pfifo limit 0") {
                    self.blocked = true;
                } else if let Some(connection) =
                    self.connection.as_mut().filter(|_| command.contains("tcp_ecn_option=0"))
                {
                    connection.set_ecn_option(false);
                } else if !command.contains("sysctl_restore") {
                    self.out
                        .unmapped
                        .insert(format!("command {:?}", command.trim().chars().take(60).collect::<String>()));
                }
                Ok(())
            }
            Kind::Code(code) => {
                self.advance(start);
                let info = self.info();
                self.out.code.push((number, event.line, code.clone(), info));
                Ok(())
            }
        }
    }

    /// Runs all timers up to a time in microseconds.
    fn advance(&mut self, to: i64) {
        self.run_until(instant(to).max(self.now));
    }

    fn run_until(&mut self, at: Time) {
        while let Some(due) = self.next_timer().filter(|due| *due <= at) {
            self.fire(due);
        }
        self.now = at;
    }

    fn next_timer(&self) -> Option<Time> {
        self.connection.as_ref().and_then(Connection::poll_timeout).map(|due| due.max(self.now))
    }

    fn fire(&mut self, due: Time) {
        self.now = due;
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(due);
        }
        self.collect();
    }

    /// Collects the packets that the connection sends now.
    fn collect(&mut self) {
        if self.connection.as_ref().is_some_and(|c| c.state() >= State::Established) {
            self.established.get_or_insert(self.now);
        }
        loop {
            while let Some(connection) = &mut self.connection {
                if self.blocked {
                    // The interface drops every packet, so packets without data are lost and data stays unsent.
                    let mut header = TcpHeader::default();
                    if connection.write_segment_without_data(self.now, &mut header).is_none() {
                        break;
                    }
                    continue;
                }
                let Some(segment) = connection.poll_segment(self.now) else { break };
                let sent =
                    Emitted { at: self.now, header: segment.header, len: segment.payload.len(), ecn: segment.ecn };
                let line = self.describe(&sent);
                while let Some(record) = self.connection.as_mut().and_then(Connection::poll_trace) {
                    self.note(&format!("      {}", record.event));
                }
                self.note(&format!("-> {line}"));
                self.queue.push_back(sent);
                assert!(self.queue.len() < 100_000, "the burst does not end");
            }
            if !self.progress_pending() {
                break;
            }
        }
    }

    /// Adds a line to the log.
    fn note(&mut self, line: &str) {
        if self.setup.verbose {
            self.out.log += &format!("{:10.4} {line}\n", self.now.as_secs_f64());
        }
    }
}
