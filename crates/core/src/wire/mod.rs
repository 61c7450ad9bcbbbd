//! Packets as bytes on the wire: IPv4 and IPv6, TCP with its options, UDP, and the ICMP message "packet too big".
//!
//! A virtual payload is written as zeros, which do not change a checksum. The headers of a foreign packet are written
//! as they were read, with all later changes.
//!
//! Not parsed into fields: IP options, IPv6 extension headers, fragments, the urgent pointer, and TCP options other
//! than those of [`TcpOptions`](crate::packet::TcpOptions).

mod icmp;
mod ip;
mod malformed;
mod protocol;
mod tcp;
#[cfg(test)]
mod tests;
mod udp;

pub use crate::checksum::Checksum;
pub use icmp::{PacketTooBig, packet_too_big, read_packet_too_big};
pub use malformed::Malformed;
pub use protocol::{PROTOCOL_ICMP, PROTOCOL_ICMPV6, PROTOCOL_TCP, PROTOCOL_UDP};

use crate::packet::{NewPacket, RawHeaders, UDP_HEADER};
use crate::{FlowId, Packet, Payload, Time, Transport};

/// Writes the whole packet.
///
/// # Panics
/// Panics if the packet exceeds the IP length field: 65,535 bytes, not counting the header in IPv6.
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::UdpHeader;
/// use lopsided_core::{FlowId, IpHeader, NewPacket, Packet, Payload, Time, Transport, wire};
/// use std::net::Ipv4Addr;
///
/// let ip = IpHeader::v4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let udp = Transport::Udp(UdpHeader { src_port: 5000, dst_port: 53 });
/// let packet = Packet::unbooked(7, Time::ZERO, NewPacket::new(FlowId(0), ip, udp, Payload::virtual_len(100)));
/// let bytes = wire::encode(&packet);
/// assert_eq!(wire::parse(&bytes).unwrap().ip(), packet.ip());
/// ```
pub fn encode(packet: &Packet) -> Vec<u8> {
    let mut octets = Vec::with_capacity(packet.size().get() as usize);
    encode_into(packet, &mut octets);
    octets
}

/// Like [`encode`], but appends the bytes to `octets`.
pub fn encode_into(packet: &Packet, octets: &mut Vec<u8>) {
    headers_into(packet, octets);
    match packet.payload().bytes() {
        Some(bytes) => octets.extend_from_slice(bytes),
        // Zeros do not change the checksum.
        None => octets.resize(octets.len() + packet.payload().len() as usize, 0),
    }
}

/// Writes only the headers, with the lengths and checksums of the whole packet.
pub fn encode_headers(packet: &Packet) -> Vec<u8> {
    let mut octets = Vec::with_capacity(128);
    headers_into(packet, &mut octets);
    octets
}

fn headers_into(packet: &Packet, octets: &mut Vec<u8>) {
    // Write the stored headers of a foreign packet. Its checksums may be wrong on purpose.
    if let Some(raw) = packet.0.raw() {
        octets.extend_from_slice(raw.octets());
        return;
    }
    ip::encode(packet, octets);
    match packet.transport() {
        Transport::Tcp(header) => tcp::encode(header, packet, octets),
        Transport::Udp(header) => udp::encode(*header, packet, octets),
        Transport::Other { .. } => {}
    }
}

/// Reads a packet from outside, to be forwarded unchanged except by [`crate::Cx::rewrite`] and `mark`. Its checksums
/// may be wrong. Bytes after the packet are ignored.
///
/// Headers of TCP and UDP can be read and changed. A fragment, a header that cannot be parsed, and any other protocol
/// become [`Transport::Other`].
///
/// # Errors
/// Returns an error if the bytes are not a complete IP packet.
pub fn read_foreign(flow: FlowId, octets: &[u8]) -> Result<NewPacket, Malformed> {
    let header = ip::parse(octets)?;
    let octets = octets.get(..header.total_len).ok_or(Malformed::Truncated)?;
    let body = &octets[header.header_len..];
    let (transport, transport_len) = match header.protocol {
        PROTOCOL_TCP if !header.is_fragment => match tcp::parse(body) {
            Ok((read, len)) => (Transport::Tcp(read), len),
            // Forward a packet with a broken TCP or UDP header without parsing it, as a router would.
            Err(_) => (Transport::Other { protocol: PROTOCOL_TCP }, 0),
        },
        PROTOCOL_UDP if !header.is_fragment => match udp::parse(body) {
            Ok((read, _)) => (Transport::Udp(read), UDP_HEADER as usize),
            Err(_) => (Transport::Other { protocol: PROTOCOL_UDP }, 0),
        },
        protocol => (Transport::Other { protocol }, 0),
    };
    let (headers, payload) = octets.split_at(header.header_len + transport_len);
    Ok(NewPacket {
        flow,
        ip: header.ip,
        transport,
        payload: Payload::real(payload.to_vec()),
        raw: Some(Box::new(RawHeaders::new(headers.to_vec(), header.header_len))),
    })
}

/// Parses a whole packet and verifies its checksums. Bytes after the packet are ignored.
///
/// The packet's number is the IPv4 identification, and its flow is 0.
///
/// # Errors
/// Returns an error if the bytes are not a complete packet, if the packet is a fragment, or if a checksum is wrong.
pub fn parse(octets: &[u8]) -> Result<Packet, Malformed> {
    let header = ip::parse(octets)?;
    if header.is_fragment {
        return Err(Malformed::Fragment);
    }
    header.verify(octets)?;
    let body = octets.get(header.header_len..header.total_len).ok_or(Malformed::Truncated)?;
    verify_transport(&header, body)?;
    read_body(&header, body)
}

/// Parses the beginning of a packet, as a capture stores it. Missing bytes count as virtual payload. Checksums are not
/// verified, because checksum offload leaves them unset.
///
/// # Errors
/// Returns an error if the headers are incomplete, or if the packet is a fragment.
pub fn parse_captured(octets: &[u8]) -> Result<Packet, Malformed> {
    let header = ip::parse(octets)?;
    if header.is_fragment {
        return Err(Malformed::Fragment);
    }
    let body = &octets[header.header_len..octets.len().min(header.total_len)];
    read_body(&header, body)
}

fn read_body(header: &ip::Header, body: &[u8]) -> Result<Packet, Malformed> {
    let (transport, header_len, whole) = match header.protocol {
        PROTOCOL_TCP => {
            let (tcp, header_len) = tcp::parse(body)?;
            (Transport::Tcp(tcp), header_len, header.body_len())
        }
        PROTOCOL_UDP => {
            let (udp, whole) = udp::parse(body)?;
            (Transport::Udp(udp), udp::HEADER, whole)
        }
        protocol => (Transport::Other { protocol }, 0, header.body_len()),
    };
    // UDP has a length field of its own, which may contradict the IP length.
    if whole > header.body_len() || header_len > whole {
        return Err(Malformed::Length);
    }
    let payload = match body.get(header_len..whole) {
        Some(bytes) => Payload::real(bytes.to_vec()),
        None => Payload::virtual_len((whole - header_len) as u32),
    };
    let new = NewPacket::new(FlowId(0), header.ip, transport, payload);
    Ok(Packet::unbooked(u64::from(header.id), Time::ZERO, new))
}

fn verify_transport(header: &ip::Header, body: &[u8]) -> Result<(), Malformed> {
    let covered = match header.protocol {
        PROTOCOL_TCP => body,
        // RFC 768: a checksum of zero means that the sender computed no checksum.
        PROTOCOL_UDP if udp::is_unchecked(body) => return Ok(()),
        PROTOCOL_UDP => {
            // The checksum covers the UDP length, which may be shorter than the IP length.
            let (_, whole) = udp::parse(body)?;
            body.get(..whole).ok_or(Malformed::Length)?
        }
        _ => return Ok(()),
    };
    let mut sum = ip::pseudo_header(&header.ip.addresses, header.protocol, covered.len());
    sum.add(covered);
    if sum.is_intact() { Ok(()) } else { Err(Malformed::Checksum) }
}
