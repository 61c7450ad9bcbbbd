//! One TCP segment of a capture: the fields of its headers that an analysis needs, copied from the frame.

use crate::frames::Frame;
use crate::link::sliced;
use etherparse::{LaxNetSlice, TcpSlice, TransportSlice};
use lopsided_core::Seq;
use lopsided_core::packet::Flags;
use std::net::IpAddr;

/// SACK blocks that fit into an option (RFC 2018, section 3).
const MOST_SACK_BLOCKS: usize = 4;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment that the sender of this SYN accepts.
    pub mss: Option<u16>,
    /// Shift of the windows that the sender of this SYN offers (RFC 7323, section 2).
    pub window_scale: Option<u8>,
    /// The sender of this SYN understands SACK.
    pub sack_permitted: bool,
    /// The sender's clock and the echo of the peer's (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    sack: [(Seq, Seq); MOST_SACK_BLOCKS],
    sack_blocks: u8,
}

impl Options {
    /// Begin and end of each SACK block, in the order of the option.
    pub fn sack(&self) -> &[(Seq, Seq)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }

    /// Reads the octets of the options. An option with an impossible length ends them.
    fn parse(mut rest: &[u8]) -> Options {
        let mut options = Options::default();
        while let [kind, tail @ ..] = rest {
            match kind {
                0 => break,
                1 => rest = tail,
                _ => {
                    let Some(len) = tail.first().map(|len| usize::from(*len)) else { break };
                    let Some(body) = rest.get(2..len) else { break };
                    options.take(*kind, body);
                    rest = &rest[len..];
                }
            }
        }
        options
    }

    fn take(&mut self, kind: u8, body: &[u8]) {
        let word = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        match (kind, body.len()) {
            (2, 2) => self.mss = Some(u16::from_be_bytes([body[0], body[1]])),
            (3, 1) => self.window_scale = Some(body[0].min(14)),
            (4, 0) => self.sack_permitted = true,
            (5, len) if len % 8 == 0 => {
                for (place, at) in (0..len).step_by(8).take(MOST_SACK_BLOCKS).enumerate() {
                    self.sack[place] = (Seq::new(word(at)), Seq::new(word(at + 4)));
                    self.sack_blocks = place as u8 + 1;
                }
            }
            (8, 8) => self.timestamps = Some((word(0), word(4))),
            _ => {}
        }
    }
}

/// A TCP segment as it passed the point of capture.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The number of its frame, from 1.
    pub number: u64,
    /// Nanoseconds since the file's epoch.
    pub at: u64,
    /// Where it comes from.
    pub from: Endpoint,
    /// Where it goes.
    pub to: Endpoint,
    /// Sequence number of its first octet.
    pub seq: Seq,
    /// The next octet that its sender expects, if it has the ACK flag.
    pub ack: Seq,
    /// Its flags.
    pub flags: Flags,
    /// The window field, not scaled.
    pub window: u16,
    /// Octets of payload.
    pub len: u32,
    /// Octets of its IP packet.
    pub ip_len: u32,
    /// The two ECN bits of the IP header.
    pub ecn: u8,
    /// Hops that are left.
    pub ttl: u8,
    /// Identification of an IPv4 packet.
    pub ip_id: Option<u16>,
    /// Its options.
    pub options: Options,
}

impl Segment {
    /// The segment in a frame. `None` for other protocols, fragments and headers that the snap length cut.
    pub fn of(frame: &Frame<'_>) -> Option<Segment> {
        let packet = sliced(frame)?;
        let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return None };
        let tcp_header = usize::from(tcp.data_offset()) * 4;
        let place = tcp.slice().as_ptr() as usize - frame.data.as_ptr() as usize;
        match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let begin = header.slice().as_ptr() as usize - frame.data.as_ptr() as usize;
                let ip_len = said_or_recorded(u32::from(header.total_len()), frame, begin);
                let mut segment = Segment::from_tcp(frame, tcp, ip_len, (place - begin + tcp_header) as u32)?;
                segment.from.address = IpAddr::V4(header.source_addr());
                segment.to.address = IpAddr::V4(header.destination_addr());
                segment.ecn = header.ecn().value();
                segment.ttl = header.ttl();
                segment.ip_id = Some(header.identification());
                Some(segment)
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let begin = header.slice().as_ptr() as usize - frame.data.as_ptr() as usize;
                let said = match header.payload_length() {
                    // RFC 2675: the length of a jumbogram is 0.
                    0 => 0,
                    body => u32::from(body) + header.slice().len() as u32,
                };
                let ip_len = said_or_recorded(said, frame, begin);
                let mut segment = Segment::from_tcp(frame, tcp, ip_len, (place - begin + tcp_header) as u32)?;
                segment.from.address = IpAddr::V6(header.source_addr());
                segment.to.address = IpAddr::V6(header.destination_addr());
                segment.ecn = header.traffic_class() & 3;
                segment.ttl = header.hop_limit();
                Some(segment)
            }
            LaxNetSlice::Arp(_) => None,
        }
    }

    fn from_tcp(frame: &Frame<'_>, tcp: &TcpSlice<'_>, ip_len: u32, headers: u32) -> Option<Segment> {
        let nowhere = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        let header = tcp.header_slice();
        Some(Segment {
            number: frame.number,
            at: frame.at,
            from: Endpoint { address: nowhere, port: tcp.source_port() },
            to: Endpoint { address: nowhere, port: tcp.destination_port() },
            seq: Seq::new(tcp.sequence_number()),
            ack: Seq::new(tcp.acknowledgment_number()),
            flags: Flags(u16::from_be_bytes([header[12], header[13]]) & 0x01ff),
            window: tcp.window_size(),
            len: ip_len.checked_sub(headers)?,
            ip_len,
            ecn: 0,
            ttl: 0,
            ip_id: None,
            options: Options::parse(tcp.options()),
        })
    }

    /// One past its last sequence number; SYN and FIN take one each.
    pub fn end(&self) -> Seq {
        let control = u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.seq + self.len + control
    }
}

/// The length that the IP header says. Segments that a network card will cut are longer than its field and say 0; then
/// the record says it. No packet is longer than its record.
fn said_or_recorded(said: u32, frame: &Frame<'_>, begin: usize) -> u32 {
    let recorded = frame.original_len.saturating_sub(begin as u32);
    if said == 0 { recorded } else { said.min(recorded) }
}
