//! Packets as octets: IPv4, TCP with its options, and UDP, as they stand on the wire.
//!
//! A synthetic payload is written as zeros, which add nothing to a checksum, so headers alone can be written with the checksum
//! of the whole packet. Left out: IP options (skipped when read, never written), fragments (refused), TCP options other than
//! those of [`TcpOptions`](crate::packet::TcpOptions) and the urgent pointer (skipped), IPv6.

mod checksum;
mod ipv4;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;

pub use checksum::Checksum;

use crate::packet::IPV4_HEADER;
use crate::{Packet, Payload, Transport};
use std::fmt;

/// Protocol numbers in the IPv4 header.
pub const PROTOCOL_TCP: u8 = 6;
pub const PROTOCOL_UDP: u8 = 17;

/// The whole packet.
///
/// # Panics
/// If the packet is larger than the 65,535 octets of an IPv4 packet.
pub fn encode(packet: &Packet) -> Vec<u8> {
    let mut octets = encode_headers(packet);
    match packet.payload.bytes() {
        Some(bytes) => octets.extend_from_slice(bytes),
        None => octets.resize(octets.len() + packet.payload.len() as usize, 0),
    }
    octets
}

/// The headers of the packet, with the lengths and checksums of the whole packet: what a capture of headers keeps.
///
/// # Panics
/// As [`encode`] does.
pub fn encode_headers(packet: &Packet) -> Vec<u8> {
    let mut octets = Vec::with_capacity((IPV4_HEADER + packet.transport.header_len() + packet.payload.len()) as usize);
    ipv4::encode(packet, &mut octets);
    match &packet.transport {
        Transport::Tcp(header) => tcp::encode(header, packet, &mut octets),
        Transport::Udp(header) => udp::encode(*header, packet, &mut octets),
        Transport::Other { .. } => {}
    }
    octets
}

/// Reads a whole packet and verifies its checksums; octets after it, such as a frame's padding, are ignored.
///
/// What the wire does not tell is left for the caller to set: `sent_at`, `flow`, and `id` beyond the 16 bits of the IP header.
pub fn parse(octets: &[u8]) -> Result<Packet, Malformed> {
    let (ip, rest) = ipv4::parse(octets)?;
    ip.verify(octets)?;
    let body = rest.get(..ip.body_len()).ok_or(Malformed::Truncated)?;
    verify_transport(&ip, body)?;
    read_body(&ip, body)
}

/// Reads the beginning of a packet, as a capture keeps it: what was cut off counts as synthetic payload, and checksums are not
/// verified, since offloading hosts leave them unset.
pub fn parse_captured(octets: &[u8]) -> Result<Packet, Malformed> {
    let (ip, rest) = ipv4::parse(octets)?;
    let body = &rest[..rest.len().min(ip.body_len())];
    read_body(&ip, body)
}

fn read_body(ip: &ipv4::Header, body: &[u8]) -> Result<Packet, Malformed> {
    let (transport, header_len, whole) = match ip.protocol {
        PROTOCOL_TCP => {
            let (header, header_len) = tcp::parse(body)?;
            (Transport::Tcp(header), header_len, ip.body_len())
        }
        PROTOCOL_UDP => {
            let (header, whole) = udp::parse(body)?;
            (Transport::Udp(header), udp::HEADER, whole)
        }
        protocol => (Transport::Other { protocol }, 0, ip.body_len()),
    };
    if whole > ip.body_len() || header_len > whole {
        return Err(Malformed::Length);
    }
    let payload = match body.get(header_len..whole) {
        Some(bytes) => Payload::real(bytes.to_vec()),
        None => Payload::virtual_len((whole - header_len) as u32),
    };
    Ok(ip.packet(transport, payload))
}

fn verify_transport(ip: &ipv4::Header, body: &[u8]) -> Result<(), Malformed> {
    let covered = match ip.protocol {
        PROTOCOL_TCP => body,
        PROTOCOL_UDP if udp::is_unchecked(body) => return Ok(()),
        PROTOCOL_UDP => {
            let (_, whole) = udp::parse(body)?;
            body.get(..whole).ok_or(Malformed::Length)?
        }
        _ => return Ok(()),
    };
    let mut sum = ip.pseudo_header(covered.len());
    sum.add(covered);
    if sum.is_intact() { Ok(()) } else { Err(Malformed::Checksum) }
}

/// Why octets are not a packet that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The octets end before a header or the packet does.
    Truncated,
    /// Not version 4 of IP.
    NotIpv4,
    /// A fragment: only whole packets are read.
    Fragment,
    /// A header's length fields contradict each other.
    Length,
    /// A checksum is wrong.
    Checksum,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Truncated => "the packet ends too early",
            Malformed::NotIpv4 => "not an IPv4 packet",
            Malformed::Fragment => "a fragment of a packet",
            Malformed::Length => "the length fields of the headers contradict each other",
            Malformed::Checksum => "wrong checksum",
        })
    }
}

impl std::error::Error for Malformed {}
