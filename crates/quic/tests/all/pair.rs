//! Two endpoints with a link that may lose, delay and repeat packets.

use lopsided_app::{Datagram, SocketEvent, SocketId, Transport, TransportEnd};
use lopsided_core::packet::{Addresses, UdpHeader};
use lopsided_core::{Ecn, FlowId, IpHeader, NewPacket, Packet, Payload, Rng, Time, Transport as Header};
use lopsided_quic::{Clock, QuicConfig, QuicEndpoint};
use lopsided_tcp::{RunControllers, StackConfig};
use std::net::SocketAddr;

/// Decides what happens to a packet on the link. Returns the delay of each copy that arrives, in nanoseconds; empty if
/// the packet is lost.
pub type Fate = Box<dyn FnMut(&Seen) -> Vec<u64>>;

/// A packet on the link.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Time,
    /// True if the client sent the packet.
    pub up: bool,
    pub octets: Vec<u8>,
    pub ecn: Ecn,
}

/// The client opens a connection and sends a request; the server sends the data.
pub struct Pair {
    pub ends: [QuicEndpoint; 2],
    pub now: Time,
    /// Every packet sent.
    pub sent: Vec<Seen>,
    pub got: Vec<u8>,
    pub closed: bool,
    flight: Vec<(Time, u64, Seen)>,
    count: u64,
    fate: Fate,
    to_send: Vec<u8>,
    written: usize,
    server: Option<SocketId>,
}

pub fn addr(client: bool) -> SocketAddr {
    let (host, port) = if client { (1, 32_768) } else { (2, 5001) };
    SocketAddr::from(([10, 0, 0, host], port))
}

pub fn endpoint(config: &QuicConfig, opens: bool, seed: u64, clock: Clock) -> QuicEndpoint {
    let end = TransportEnd {
        opens,
        sends: !opens,
        drains: false,
        local: addr(opens),
        remote: opens.then(|| addr(false)),
        rng: Rng::for_role(seed, if opens { "client" } else { "server" }),
        cc: "cubic".to_owned(),
        make_controller: RunControllers::default().get("cubic").expect("built in"),
        stack: StackConfig::new("linux-6.1", "cubic"),
    };
    QuicEndpoint::new(config, &end, clock).expect("a window-based control")
}

/// Returns the packet in the form in which a host passes it to an endpoint.
pub fn packet(seen: &Seen) -> Packet {
    let addresses = Addresses::new(addr(seen.up).ip(), addr(!seen.up).ip()).expect("IPv4");
    let header = UdpHeader { src_port: addr(seen.up).port(), dst_port: addr(!seen.up).port() };
    let ip = IpHeader::new(addresses).with_ecn(seen.ecn);
    let new = NewPacket::new(FlowId(0), ip, Header::Udp(header), Payload::real(seen.octets.clone()));
    Packet::unbooked(0, seen.at, new)
}

impl Pair {
    pub fn new(config: &QuicConfig, seed: u64, clock: Clock, to_send: Vec<u8>, fate: Fate) -> Pair {
        Pair {
            ends: [endpoint(config, true, seed, clock), endpoint(config, false, seed, clock)],
            now: Time::ZERO,
            sent: Vec::new(),
            got: Vec::new(),
            closed: false,
            flight: Vec::new(),
            count: 0,
            fate,
            to_send,
            written: 0,
            server: None,
        }
    }

    /// Runs until the transfer is complete, or until `until`.
    pub fn run(&mut self, until: Time) {
        let socket = self.ends[0].connect(self.now).expect("a client");
        self.ends[0].write(self.now, socket, &Payload::real(b"please".to_vec()));
        self.settle(0);
        self.resume(until);
    }

    /// Continues a transfer that was stopped.
    pub fn resume(&mut self, until: Time) {
        while !self.closed && self.now < until {
            let arrival = self.flight.iter().map(|(at, count, _)| (*at, *count)).min();
            let timers = [0, 1].map(|end| self.ends[end].poll_timeout());
            let Some(next) = timers.into_iter().flatten().chain(arrival.map(|(at, _)| at)).min() else { break };
            self.now = self.now.max(next);
            if arrival.is_some_and(|(at, _)| at <= self.now) {
                let at = self.flight.iter().enumerate().min_by_key(|(_, (at, count, _))| (*at, *count));
                let (_, _, seen) = self.flight.swap_remove(at.expect("one exists").0);
                let end = usize::from(seen.up);
                self.ends[end].handle_packet(self.now, &packet(&seen));
                self.settle(end);
            } else {
                for end in [0, 1] {
                    if timers[end].is_some_and(|due| due <= self.now) {
                        self.ends[end].handle_timeout(self.now);
                        self.settle(end);
                    }
                }
            }
        }
    }

    fn settle(&mut self, end: usize) {
        while let Some((socket, event)) = self.ends[end].poll_event() {
            if end == 0 { self.notify_client(socket, event) } else { self.notify_server(socket, event) }
        }
        while let Some(Datagram { payload, ecn, .. }) = self.ends[end].poll_transmit(self.now) {
            let octets = payload.bytes().expect("QUIC packets are real").to_vec();
            let seen = Seen { at: self.now, up: end == 0, octets, ecn };
            for delay in (self.fate)(&seen) {
                self.count += 1;
                self.flight.push((Time::from_nanos(self.now.as_nanos() + delay), self.count, seen.clone()));
            }
            self.sent.push(seen);
        }
    }

    fn notify_client(&mut self, socket: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::Ready => {
                self.got.extend_from_slice(self.ends[0].read(self.now, socket).bytes().unwrap_or_default())
            }
            SocketEvent::PeerClosed => self.ends[0].close(self.now, socket),
            SocketEvent::Closed(_) => self.closed = true,
            SocketEvent::Connected | SocketEvent::Accepted => {}
        }
    }

    fn notify_server(&mut self, socket: SocketId, event: SocketEvent) {
        match event {
            SocketEvent::Accepted => self.server = Some(socket),
            SocketEvent::Closed(_) => self.server = None,
            _ => {}
        }
        let (Some(socket), server) = (self.server, &mut self.ends[1]) else { return };
        let _ = server.read(self.now, socket);
        let room = (server.writable(socket) as usize).min(self.to_send.len() - self.written);
        if room > 0 {
            let part = self.to_send[self.written..self.written + room].to_vec();
            self.written += server.write(self.now, socket, &Payload::real(part)) as usize;
        }
        if self.written == self.to_send.len() {
            server.close(self.now, socket);
        }
    }
}

pub fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
