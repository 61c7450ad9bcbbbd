//! Two QUIC endpoints and an attacker between them who changes, duplicates, delays and forges datagrams. Nothing may
//! panic, time must advance, and the received data must equal the sent data.
//!
//! The attacker may also have the keys, like a hostile peer, and send packets with valid tags and any frames. The data
//! is not compared in that case.

use crate::Input;
use arbitrary::Arbitrary;
use lopsided_app::{SocketEvent, SocketId, Transport, TransportEnd};
use lopsided_core::packet::{Addresses, UdpHeader};
use lopsided_core::{Ecn, FlowId, IpHeader, NewPacket, Packet, Payload, Rng, Time, Transport as Header};
use lopsided_quic::frames::{CID_LEN, PacketKind, put_varint};
use lopsided_quic::{Clock, QuicConfig, QuicEndpoint, forged_packet};
use lopsided_tcp::{RunControllers, StackConfig};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of bytes that the server sends to the client.
const CONTENT: usize = 20_000;
const MOST_STEPS: usize = 400;

#[derive(Debug, Arbitrary)]
enum Step {
    /// The oldest datagram in flight to this end arrives.
    Deliver {
        up: bool,
        ce: bool,
    },
    /// The newest datagram arrives first.
    DeliverNewest {
        up: bool,
    },
    Lose {
        up: bool,
    },
    /// The oldest datagram arrives and also remains in flight.
    Repeat {
        up: bool,
    },
    /// One bit of the oldest datagram changes.
    Change {
        up: bool,
        at: u16,
        bit: u8,
    },
    /// The oldest datagram arrives truncated.
    Cut {
        up: bool,
        len: u16,
    },
    /// Arbitrary bytes arrive.
    Invent {
        up: bool,
        first: u8,
        octets: [u8; 40],
        len: u16,
    },
    /// A forged packet with a valid tag arrives. Its first frame has a known type; the other bytes are arbitrary.
    Forge {
        up: bool,
        kind: u8,
        number: u16,
        frame: u8,
        octets: [u8; 40],
        len: u16,
    },
    /// Time advances.
    Wait {
        ms: u16,
    },
    Abort {
        client: bool,
    },
}

struct World {
    ends: [QuicEndpoint; 2],
    /// Datagrams in flight to the client and to the server.
    ways: [VecDeque<Vec<u8>>; 2],
    sockets: [Option<SocketId>; 2],
    now: Time,
    written: usize,
    got: Vec<u8>,
    /// Connection IDs of the client and the server, from the newest packet to each of them.
    ids: [[u8; CID_LEN]; 2],
    /// True after a packet with a valid tag was forged.
    forged: bool,
}

/// Drives a connection through the steps of the input.
pub fn run(octets: &[u8]) {
    let mut input = Input::new(octets);
    let Some((seed, acks, asks)) = input.next::<(u64, u8, bool)>() else { return };
    let config = QuicConfig { ack_packets: u32::from(acks % 20) + 1, ack_frequency: asks, ..QuicConfig::default() };
    let mut world = World {
        ends: [endpoint(&config, true, seed), endpoint(&config, false, seed)],
        ways: Default::default(),
        sockets: [None, None],
        now: Time::ZERO,
        written: 0,
        got: Vec::new(),
        ids: [[0; CID_LEN]; 2],
        forged: false,
    };
    world.sockets[0] = world.ends[0].connect(world.now);
    if let Some(socket) = world.sockets[0] {
        world.ends[0].write(world.now, socket, &Payload::real(vec![1; 50]));
    }
    world.settle();
    for step in input.all().take(MOST_STEPS) {
        world.take(step);
        world.settle();
    }
    let whole = content();
    assert!(world.forged || whole.starts_with(&world.got), "the received data differs from the sent data");
}

fn content() -> Vec<u8> {
    (0..CONTENT).map(|at| (at * 7 % 251) as u8).collect()
}

fn address(client: bool) -> SocketAddr {
    if client { ([10, 0, 0, 1], 32_768).into() } else { ([10, 0, 0, 2], 5001).into() }
}

fn endpoint(config: &QuicConfig, opens: bool, seed: u64) -> QuicEndpoint {
    let end = TransportEnd {
        opens,
        sends: !opens,
        drains: false,
        local: address(opens),
        remote: opens.then(|| address(false)),
        rng: Rng::for_role(seed, if opens { "client" } else { "server" }),
        cc: "reno".to_owned(),
        make_controller: RunControllers::default().get("reno").expect("built in"),
        stack: StackConfig::new("linux-6.1", "reno"),
    };
    QuicEndpoint::new(config, &end, Clock::default()).expect("a window-based control")
}

impl World {
    fn take(&mut self, step: Step) {
        let way = |up: bool| usize::from(up);
        match step {
            Step::Deliver { up, ce } => {
                if let Some(octets) = self.ways[way(up)].pop_front() {
                    self.deliver(up, octets, if ce { Ecn::Ce } else { Ecn::Ect0 });
                }
            }
            Step::DeliverNewest { up } => {
                if let Some(octets) = self.ways[way(up)].pop_back() {
                    self.deliver(up, octets, Ecn::NotEct);
                }
            }
            Step::Lose { up } => {
                self.ways[way(up)].pop_front();
            }
            Step::Repeat { up } => {
                if let Some(octets) = self.ways[way(up)].front().cloned() {
                    self.deliver(up, octets, Ecn::Ect0);
                }
            }
            Step::Change { up, at, bit } => {
                if let Some(octets) = self.ways[way(up)].front_mut() {
                    let at = usize::from(at) % octets.len().max(1);
                    if let Some(octet) = octets.get_mut(at) {
                        *octet ^= 1 << (bit % 8);
                    }
                }
            }
            Step::Cut { up, len } => {
                if let Some(mut octets) = self.ways[way(up)].pop_front() {
                    octets.truncate(usize::from(len) % (octets.len() + 1));
                    self.deliver(up, octets, Ecn::Ect0);
                }
            }
            Step::Invent { up, first, octets, len } => {
                let mut invented = vec![first];
                invented.extend(octets.iter().cycle().take(usize::from(len) % 1500));
                self.deliver(up, invented, Ecn::Ce);
            }
            Step::Forge { up, kind, number, frame, octets, len } => {
                self.forged = true;
                let kind = match kind % 4 {
                    0 => PacketKind::Initial,
                    1 => PacketKind::Handshake,
                    _ => PacketKind::OneRtt,
                };
                let mut frames = Vec::new();
                // Use all frame types of RFC 9000 and RFC 9221, and ACK_FREQUENCY.
                put_varint(&mut frames, if frame % 0x33 == 0x32 { 0xaf } else { u64::from(frame % 0x33) });
                frames.extend(octets.iter().cycle().take(usize::from(len) % 300));
                let forged = forged_packet(kind, up, &self.ids[way(up)], u32::from(number), &frames);
                self.deliver(up, forged, Ecn::Ect0);
            }
            Step::Wait { ms } => {
                let until = Time::from_nanos(self.now.as_nanos() + u64::from(ms) * 1_000_000);
                for _ in 0..200 {
                    let due = self.ends.iter().filter_map(|end| end.poll_timeout()).min();
                    let Some(due) = due.filter(|due| *due <= until) else { break };
                    self.now = self.now.max(due);
                    let now = self.now;
                    self.ends.iter_mut().for_each(|end| end.handle_timeout(now));
                    self.settle();
                }
                self.now = self.now.max(until);
            }
            Step::Abort { client } => {
                let end = usize::from(!client);
                if let Some(socket) = self.sockets[end].take() {
                    self.ends[end].abort(self.now, socket);
                }
            }
        }
    }

    fn deliver(&mut self, up: bool, octets: Vec<u8>, ecn: Ecn) {
        let addresses = Addresses::new(address(up).ip(), address(!up).ip()).expect("IPv4");
        let header = UdpHeader { src_port: address(up).port(), dst_port: address(!up).port() };
        let ip = IpHeader::new(addresses).with_ecn(ecn);
        let new = NewPacket::new(FlowId(0), ip, Header::Udp(header), Payload::real(octets));
        self.ends[usize::from(up)].handle_packet(self.now, &Packet::unbooked(0, self.now, new));
    }

    /// Lets both ends process their events and send their datagrams.
    fn settle(&mut self) {
        for _ in 0..4 {
            for end in [0, 1] {
                while let Some((socket, event)) = self.ends[end].poll_event() {
                    self.tell(end, socket, event);
                }
                let mut packets = 0;
                while let Some(datagram) = self.ends[end].poll_transmit(self.now) {
                    packets += 1;
                    assert!(packets < 10_000, "the endpoint does not stop sending");
                    let octets = datagram.payload.bytes().expect("QUIC packets are real").to_vec();
                    let up = usize::from(end == 0);
                    // A short header begins with the receiver's connection ID.
                    if let Some(id) = octets.get(1..=CID_LEN).filter(|_| octets[0] & 0x80 == 0) {
                        self.ids[up].copy_from_slice(id);
                    }
                    self.ways[up].push_back(octets);
                }
            }
        }
    }

    fn tell(&mut self, end: usize, socket: SocketId, event: SocketEvent) {
        match (end, event) {
            (_, SocketEvent::Closed(_)) => self.sockets[end] = self.sockets[end].filter(|known| *known != socket),
            (1, SocketEvent::Accepted) => self.sockets[1] = Some(socket),
            (0, SocketEvent::Ready) => {
                let read = self.ends[0].read(self.now, socket);
                self.got.extend_from_slice(read.bytes().unwrap_or_default());
            }
            _ => {}
        }
        if let (1, Some(socket)) = (end, self.sockets[1]) {
            let _ = self.ends[1].read(self.now, socket);
            let room = (self.ends[1].writable(socket) as usize).min(CONTENT - self.written);
            if room > 0 {
                let part = content()[self.written..self.written + room].to_vec();
                self.written += self.ends[1].write(self.now, socket, &Payload::real(part)) as usize;
            }
            if self.written == CONTENT {
                self.ends[1].close(self.now, socket);
            }
        }
    }
}
