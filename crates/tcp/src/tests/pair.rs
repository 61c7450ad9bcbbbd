//! Two connections with a faulty network between them.

use crate::{ConnConfig, ConnEvent, Connection, Endpoint, Next, Profile, State};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Bytes, Duration, Ecn, Payload, Rng, Time};
use std::net::Ipv4Addr;

/// The faults of the network, each with a probability from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    /// Maximum additional delay of a reordered segment.
    pub jitter: Duration,
}

impl Faults {
    pub const NONE: Faults = Faults { loss: 0.0, duplicate: 0.0, reorder: 0.0, jitter: Duration::ZERO };
}

#[derive(Debug)]
struct InFlight {
    arrives: Time,
    order: u64,
    to_server: bool,
    header: TcpHeader,
    payload: Payload,
}

#[derive(Debug)]
pub struct Pair {
    pub now: Time,
    pub client: Connection,
    pub server: Connection,
    flight: Vec<InFlight>,
    order: u64,
    delay: Duration,
    faults: Faults,
    rng: Rng,
    pub client_events: Vec<ConnEvent>,
    pub server_events: Vec<ConnEvent>,
    pub received_by_server: Vec<u8>,
    pub received_by_client: Vec<u8>,
    /// If true, applications write synthetic data instead of bytes.
    pub synthetic: bool,
    /// If true, the applications do not close. A transfer then ends when no timer is armed and no segment is under way.
    pub stays_open: bool,
    /// If true, segments are sent after each arrival, and not only after all arrivals of an instant.
    pub answers_each: bool,
    /// If true, the driver uses the announcement of the next segment ([`Next`](crate::Next)), as the simulator does.
    pub relies_on_next: bool,
    /// Time from which on the path accepts packets of at most this number of bytes. An ICMP message then informs the
    /// client.
    pub path_mtu: Option<(Time, u64)>,
    /// Number of full segments that were written without a check.
    pub announced: u64,
    /// All sent segments: time, true if sent to the server, header, payload length in bytes.
    pub sent: Vec<(Time, bool, TcpHeader, u32)>,
    /// Number of segments that arrived at the server and at the client.
    pub arrived: [u64; 2],
}

pub fn connection_config(profile: Profile, client: bool) -> ConnConfig {
    let here = Endpoint { addr: Ipv4Addr::from_bits(0x0a00_0001).into(), port: 40_000 };
    let there = Endpoint { addr: Ipv4Addr::from_bits(0x0a00_0002).into(), port: 5000 };
    let (local, remote) = if client { (here, there) } else { (there, here) };
    // Choose initial sequence numbers that wrap early in the transfer.
    let iss = if client { u32::MAX - 5000 } else { u32::MAX / 2 };
    ConnConfig::new(local, remote, iss, Bytes::new(1500), profile, "reno").expect("reno is built in")
}

impl Pair {
    pub fn new(client: Profile, server: Profile, faults: Faults, seed: u64) -> Pair {
        Pair {
            now: Time::ZERO,
            client: Connection::connect(connection_config(client, true)),
            server: Connection::listen(connection_config(server, false)),
            flight: Vec::new(),
            order: 0,
            delay: Duration::from_millis(10),
            faults,
            rng: Rng::for_role(seed, "test/network"),
            client_events: Vec::new(),
            server_events: Vec::new(),
            received_by_server: Vec::new(),
            received_by_client: Vec::new(),
            synthetic: false,
            stays_open: false,
            answers_each: false,
            relies_on_next: false,
            path_mtu: None,
            announced: 0,
            sent: Vec::new(),
            arrived: [0; 2],
        }
    }

    /// Transfers the data of both applications, which then close. Returns true if both ends have closed before `limit`.
    pub fn transfer(&mut self, to_server: &[u8], to_client: &[u8], limit: Time) -> bool {
        let (mut written_up, mut written_down) = (0, 0);
        loop {
            written_up += self.write_some(true, to_server, written_up);
            written_down += self.write_some(false, to_client, written_down);
            self.send_all();
            if self.is_closed() {
                return true;
            }
            let Some(next) = self.next_event() else { return false };
            if next > limit {
                return false;
            }
            self.now = next;
            self.deliver();
            self.shrink_path();
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.received_by_server.extend_from_slice(&read_all(&mut self.server, self.now));
            self.received_by_client.extend_from_slice(&read_all(&mut self.client, self.now));
            self.client_events.extend(std::iter::from_fn(|| self.client.poll_event()));
            self.server_events.extend(std::iter::from_fn(|| self.server.poll_event()));
        }
    }

    fn shrink_path(&mut self) {
        if let Some((_, mtu)) = self.path_mtu.take_if(|(at, _)| *at <= self.now) {
            let first = self.client.send.seq(self.client.send.flight.una());
            let _ = self.client.handle_too_big(self.now, first, Bytes::new(mtu));
        }
    }

    fn write_some(&mut self, from_client: bool, data: &[u8], from: usize) -> usize {
        let (synthetic, closes) = (self.synthetic, !self.stays_open);
        let connection = if from_client { &mut self.client } else { &mut self.server };
        if connection.state() == State::Listen {
            return 0;
        }
        let room = (connection.writable() as usize).min(data.len() - from);
        if room == 0 {
            if from == data.len() && closes {
                connection.shutdown(std::net::Shutdown::Write);
            }
            return 0;
        }
        let octets = || Payload::real(data[from..from + room].to_vec());
        let payload = if synthetic { Payload::virtual_len(room as u32) } else { octets() };
        let written = connection.write(&payload).expect("open") as usize;
        if from + written == data.len() && closes {
            connection.shutdown(std::net::Shutdown::Write);
        }
        written
    }

    fn is_closed(&self) -> bool {
        let done = |connection: &Connection| matches!(connection.state(), State::Closed | State::TimeWait);
        done(&self.client) && done(&self.server)
    }

    fn next_event(&self) -> Option<Time> {
        let flight = self.flight.iter().map(|segment| segment.arrives).min();
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
        flight.into_iter().chain(timers.into_iter().flatten()).min()
    }

    fn send_all(&mut self) {
        for to_server in [true, false] {
            let now = self.now;
            let mut next = if self.relies_on_next { self.sender(to_server).predict_segment(now) } else { Next::Open };
            loop {
                let mut header = TcpHeader::default();
                let outgoing = match next {
                    Next::Nothing => break,
                    Next::Full => self.sender(to_server).write_full_segment(now, &mut header),
                    Next::Open => match self.sender(to_server).write_segment(now, &mut header) {
                        Some(outgoing) => outgoing,
                        None => break,
                    },
                };
                next = if self.relies_on_next { outgoing.next } else { Next::Open };
                self.announced += u64::from(next == Next::Full);
                self.put_in_flight(to_server, header, outgoing.payload);
            }
        }
    }

    fn sender(&mut self, to_server: bool) -> &mut Connection {
        if to_server { &mut self.client } else { &mut self.server }
    }

    fn put_in_flight(&mut self, to_server: bool, header: TcpHeader, payload: Payload) {
        self.sent.push((self.now, to_server, header.clone(), payload.len()));
        let copies = if self.rng.chance(self.faults.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            if self.rng.chance(self.faults.loss) {
                continue;
            }
            let late = if self.rng.chance(self.faults.reorder) {
                Duration::from_nanos(self.rng.below(self.faults.jitter.as_nanos().max(1)))
            } else {
                Duration::ZERO
            };
            self.order += 1;
            self.flight.push(InFlight {
                arrives: self.now + self.delay + late,
                order: self.order,
                to_server,
                header: header.clone(),
                payload: payload.clone(),
            });
        }
    }

    fn deliver(&mut self) {
        let mut due: Vec<InFlight> = Vec::new();
        let mut at = 0;
        while at < self.flight.len() {
            if self.flight[at].arrives <= self.now { due.push(self.flight.swap_remove(at)) } else { at += 1 }
        }
        due.sort_by_key(|segment| (segment.arrives, segment.order));
        for segment in due {
            self.arrived[usize::from(!segment.to_server)] += 1;
            let to = if segment.to_server { &mut self.server } else { &mut self.client };
            to.handle_segment(self.now, &segment.header, &segment.payload, Ecn::NotEct);
            if self.answers_each {
                self.send_all();
            }
        }
    }
}

fn read_all(connection: &mut Connection, now: Time) -> Vec<u8> {
    connection.read(now, u64::MAX).unwrap_or(Payload::EMPTY).bytes().map(<[u8]>::to_vec).unwrap_or_default()
}
