//! A hand-written connection, and an in-memory file for captures.

use lopsided_core::Transport;
use lopsided_core::packet::{Flags, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{
    Bytes, DropReason, Duration, Event, FlowId, IpHeader, NewPacket, NodeId, Observer, Packet, Payload, Seq, Time,
};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

pub const SERVER: NodeId = NodeId(0);
pub const CLIENT: NodeId = NodeId(1);
const MSS: u32 = 1448;
const PORTS: (u16, u16) = (5201, 40000);

/// An in-memory file that outlives the capture.
#[derive(Clone, Default)]
pub struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl SharedFile {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no writer panicked").clone()
    }
}

impl Write for SharedFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panicked").write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn millis(at: u64) -> Time {
    Time::ZERO + Duration::from_millis(at)
}

/// Returns one packet of the connection. `seq` and `ack` count from the initial sequence numbers.
pub fn packet(id: u64, from: NodeId, at: Time, flags: Flags, (seq, ack): (u32, u32), len: u32) -> Packet {
    let (server, client) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2));
    let initial = |node| Seq::new(if node == SERVER { 0xffff_f000 } else { 77 });
    let peer = if from == SERVER { CLIENT } else { SERVER };
    let syn = flags.has(Flags::SYN);
    let now = (at.as_nanos() / 1_000_000) as u32;
    let header = TcpHeader {
        src_port: if from == SERVER { PORTS.0 } else { PORTS.1 },
        dst_port: if from == SERVER { PORTS.1 } else { PORTS.0 },
        seq: initial(from) + seq,
        ack: if flags.has(Flags::ACK) { initial(peer) + ack } else { Seq::default() },
        flags,
        window: 65535,
        options: TcpOptions::default()
            .with_mss(syn.then_some(1460))
            .with_window_scale(syn.then_some(7))
            .with_sack_permitted(syn)
            .with_timestamps(Some(Timestamps { value: 1000 + now, echo: 0 })),
    };
    let (src, dst) = if from == SERVER { (server, client) } else { (client, server) };
    let contents = NewPacket::new(FlowId(0), IpHeader::v4(src, dst), Transport::Tcp(header), Payload::virtual_len(len));
    Packet::unbooked(id, at, contents)
}

/// Returns the packet with a changed TCP header.
pub fn changed(packet: &Packet, change: impl FnOnce(&mut TcpHeader)) -> Packet {
    let mut header = packet.tcp().expect("the capture has TCP segments").clone();
    change(&mut header);
    let length = Payload::virtual_len(packet.payload().len());
    let contents = NewPacket::new(packet.flow(), packet.ip(), Transport::Tcp(header), length);
    Packet::unbooked(packet.id(), Time::ZERO, contents)
}

/// Returns a download as seen at the server: the handshake, three segments, and the close. The second segment is lost
/// and retransmitted.
pub fn download_seen_by_the_server() -> Vec<(Time, bool, Packet)> {
    let ack = Flags::ACK;
    let (one, two, three) = (1 + MSS, 1 + 2 * MSS, 1 + 3 * MSS);
    let story = [
        (0, CLIENT, Flags::SYN, (0, 0), 0),
        (0, SERVER, Flags::SYN.with(ack), (0, 1), 0),
        (20, CLIENT, ack, (1, 1), 0),
        (20, SERVER, ack, (1, 1), MSS),
        (20, SERVER, ack, (one, 1), MSS),
        (20, SERVER, ack, (two, 1), MSS),
        (45, CLIENT, ack, (1, one), 0),
        (46, CLIENT, ack, (1, one), 0),
        (250, SERVER, ack, (one, 1), MSS),
        (270, CLIENT, ack, (1, three), 0),
        (271, SERVER, ack.with(Flags::FIN), (three, 1), 0),
        (291, CLIENT, ack.with(Flags::FIN), (1, three + 1), 0),
        (291, SERVER, ack, (three + 1, 2), 0),
    ];
    let packets = story.into_iter().zip(1..);
    packets
        .map(|((at, from, flags, numbers, len), id)| {
            (millis(at), from == SERVER, packet(id, from, millis(at), flags, numbers, len))
        })
        .collect()
}

pub fn leaves_queue(observer: &mut dyn Observer, at: Time, node: NodeId, packet: &Packet) {
    let sojourn = Duration::ZERO;
    observer.record(at, node, &Event::Dequeued { packet, backlog_packets: 0, backlog_bytes: Bytes::ZERO, sojourn });
}

pub fn is_dropped(observer: &mut dyn Observer, at: Time, node: NodeId, packet: &Packet, why: DropReason) {
    observer.record(at, node, &Event::Dropped { packet, why });
}
