//! One TCP segment of a capture: the header fields that the analysis needs, copied from the frame.

use crate::frames::Frame;
use crate::link::ip_packet;
use etherparse::{IpNumber, LaxIpSlice, TcpSlice};
use lopsided_core::Seq;
use lopsided_core::packet::Flags;
use std::net::IpAddr;

/// Maximum number of SACK blocks in a segment (RFC 2018, section 3).
const MOST_SACK_BLOCKS: usize = 4;

/// One endpoint of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// IP address.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
}

/// The TCP options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes (RFC 9293, section 3.7.1); in SYNs only.
    pub mss: Option<u16>,
    /// Shift count of the window field, at most 14 (RFC 7323, section 2); in SYNs only.
    pub window_scale: Option<u8>,
    /// True if the segment contains the option SACK-permitted (RFC 2018, section 2); in SYNs only.
    pub sack_permitted: bool,
    /// Timestamp value and timestamp echo reply, TSval and TSecr (RFC 7323, section 3).
    pub timestamps: Option<(u32, u32)>,
    sack: [(Seq, Seq); MOST_SACK_BLOCKS],
    sack_blocks: u8,
}

impl Options {
    /// Returns the start and the end of each SACK block, in the order of the option. The end is exclusive.
    pub fn sack(&self) -> &[(Seq, Seq)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }

    /// Parses the bytes of the options. Stops at an option whose length is invalid.
    fn parse(mut rest: &[u8]) -> Options {
        let mut options = Options::default();
        // RFC 7323, appendix A: most segments contain only timestamps, after two bytes of padding.
        if let ([1, 1, 8, 10, body @ ..], 12) = (rest, rest.len()) {
            options.take(8, body);
            return options;
        }
        while let [kind, tail @ ..] = rest {
            match kind {
                0 => break,
                1 => rest = tail,
                _ => {
                    let Some(len) = tail.first().map(|len| usize::from(*len)) else { break };
                    // With a length below 2 the parser would not advance.
                    let Some(body) = rest.get(2..len) else { break };
                    options.take(*kind, body);
                    rest = &rest[len..];
                }
            }
        }
        options
    }

    /// Stores the option `kind`, whose value is `body`. Ignores unknown kinds and wrong lengths.
    fn take(&mut self, kind: u8, body: &[u8]) {
        let word = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        match (kind, body.len()) {
            (2, 2) => self.mss = Some(u16::from_be_bytes([body[0], body[1]])),
            // RFC 7323, section 2.3: a larger shift count is treated as 14.
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

/// A TCP segment that passed the point of capture.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Frame number, counted from 1.
    pub number: u64,
    /// Capture time in nanoseconds since the epoch of the file's clock.
    pub at: u64,
    /// Source address and port.
    pub from: Endpoint,
    /// Destination address and port.
    pub to: Endpoint,
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgement number; valid only if the ACK flag is set.
    pub ack: Seq,
    /// TCP flags.
    pub flags: Flags,
    /// The window field, before scaling.
    pub window: u16,
    /// Bytes of payload.
    pub len: u32,
    /// Size of the IP packet in bytes.
    pub ip_len: u32,
    /// The two ECN bits of the IP header (RFC 3168, section 5).
    pub ecn: u8,
    /// IPv4 TTL or IPv6 hop limit.
    pub ttl: u8,
    /// Identification of an IPv4 packet; `None` for IPv6.
    pub ip_id: Option<u16>,
    /// TCP options.
    pub options: Options,
}

impl Segment {
    /// Parses the TCP segment in a frame. Returns `None` if the frame does not carry TCP, carries a fragment, or
    /// contains a truncated header.
    pub fn of(frame: &Frame<'_>) -> Option<Segment> {
        let packet = ip_packet(frame)?;
        let ip = Ip::plain(packet).or_else(|| Ip::parsed(packet))?;
        let tcp = TcpSlice::from_slice(ip.payload).ok()?;
        // The IP packet extends to the end of the frame, so the link header consists of the bytes before the packet.
        let ip_len = stated_or_recorded(ip.stated, frame, frame.data.len() - packet.len());
        let place = tcp.slice().as_ptr() as usize - packet.as_ptr() as usize;
        let header = tcp.header_slice();
        Some(Segment {
            number: frame.number,
            at: frame.at,
            from: Endpoint { address: ip.source, port: tcp.source_port() },
            to: Endpoint { address: ip.target, port: tcp.destination_port() },
            seq: Seq::new(tcp.sequence_number()),
            ack: Seq::new(tcp.acknowledgment_number()),
            flags: Flags(u16::from_be_bytes([header[12], header[13]]) & 0x01ff),
            window: tcp.window_size(),
            len: ip_len.checked_sub((place + tcp.header_len()) as u32)?,
            ip_len,
            ecn: ip.ecn,
            ttl: ip.ttl,
            ip_id: ip.id,
            options: Options::parse(tcp.options()),
        })
    }

    /// Returns the sequence number after the segment. SYN and FIN occupy one sequence number each.
    pub fn end(&self) -> Seq {
        let control = u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN));
        self.seq + self.len + control
    }
}

/// The fields of an IP header that a [`Segment`] needs, and the TCP segment after the header.
struct Ip<'a> {
    source: IpAddr,
    target: IpAddr,
    /// Length of the packet in bytes, according to its header; 0 if the header does not state the length.
    stated: u32,
    ecn: u8,
    ttl: u8,
    id: Option<u16>,
    payload: &'a [u8],
}

impl Ip<'_> {
    /// Reads an IPv4 packet that carries TCP and is not a fragment. `None` for all other packets, including damaged
    /// packets. This is the fast path for nearly all packets: [`Ip::parsed`] takes three times as long.
    fn plain(packet: &[u8]) -> Option<Ip<'_>> {
        const VERSION_4: u8 = 4;
        const TCP: u8 = 6;
        /// Mask of the bits that are set only in fragments: the flag "more fragments", and the fragment offset.
        const FRAGMENT: u16 = 0x3fff;
        let header: &[u8; 20] = packet.first_chunk()?;
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (len, stated) = (usize::from(header[0] & 15) * 4, usize::from(half(2)));
        if header[0] >> 4 != VERSION_4
            || header[9] != TCP
            || half(6) & FRAGMENT != 0
            || len < header.len()
            || stated < len
        {
            return None;
        }
        Some(Ip {
            source: address(12),
            target: address(16),
            stated: stated as u32,
            ecn: header[1] & 3,
            ttl: header[8],
            id: Some(half(4)),
            payload: packet.get(len..stated.min(packet.len()))?,
        })
    }

    /// Parses an IP packet, including IPv6 extension headers. `None` if the packet is a fragment or does not carry TCP.
    fn parsed(packet: &[u8]) -> Option<Ip<'_>> {
        let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
        let (stated, ecn, ttl, id) = match &ip {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                (u32::from(header.total_len()), header.ecn().value(), header.ttl(), Some(header.identification()))
            }
            LaxIpSlice::Ipv6(ip) => {
                let header = ip.header();
                let stated = match header.payload_length() {
                    // RFC 2675, section 3: a jumbogram has the length 0.
                    0 => 0,
                    body => u32::from(body) + header.slice().len() as u32,
                };
                (stated, header.traffic_class() & 3, header.hop_limit(), None)
            }
        };
        let (source, target) = (ip.source_addr(), ip.destination_addr());
        let payload = match &ip {
            LaxIpSlice::Ipv4(ip) => ip.payload(),
            LaxIpSlice::Ipv6(ip) => ip.payload(),
        };
        let is_tcp = payload.ip_number == IpNumber::TCP && !payload.fragmented;
        is_tcp.then_some(Ip { source, target, stated, ecn, ttl, id, payload: payload.payload })
    }
}

/// Returns the IP packet's length in bytes: the length in its header, or the record's length if the length in the
/// header is 0. `begin` is the offset of the IP header.
fn stated_or_recorded(stated: u32, frame: &Frame<'_>, begin: usize) -> u32 {
    let recorded = frame.original_len.saturating_sub(begin as u32);
    // Linux's BIG TCP passes packets of more than 64 KiB to the network card with the length 0.
    if stated == 0 { recorded } else { stated.min(recorded) }
}
