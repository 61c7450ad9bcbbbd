//! Packets as octets: IPv4 and IPv6, TCP with its options, UDP, and ICMP's message of a packet too big, as they stand
//! on the wire.
//!
//! A synthetic payload is written as zeros, which add nothing to a checksum, so headers alone can be written with the
//! checksum of the whole packet. A packet that another host made is written as it came. Left out of the fields that are
//! read: IP options, IPv6 extension headers, fragments, TCP options other than those of
//! [`TcpOptions`](crate::packet::TcpOptions) and the urgent pointer.

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

/// The whole packet.
///
/// # Panics
/// If the packet is larger than an IP packet can be: 65,535 octets, of IPv6 without its header.
pub fn encode(packet: &Packet) -> Vec<u8> {
    let mut octets = Vec::with_capacity(packet.size().get() as usize);
    encode_into(packet, &mut octets);
    octets
}

/// As [`encode`], behind what `octets` holds already.
///
/// # Panics
/// As [`encode`] does.
pub fn encode_into(packet: &Packet, octets: &mut Vec<u8>) {
    headers_into(packet, octets);
    match packet.payload().bytes() {
        Some(bytes) => octets.extend_from_slice(bytes),
        None => octets.resize(octets.len() + packet.payload().len() as usize, 0),
    }
}

/// The headers of the packet, with the lengths and checksums of the whole packet: what a capture of headers keeps.
///
/// # Panics
/// As [`encode`] does.
pub fn encode_headers(packet: &Packet) -> Vec<u8> {
    let mut octets = Vec::with_capacity(128);
    headers_into(packet, &mut octets);
    octets
}

fn headers_into(packet: &Packet, octets: &mut Vec<u8>) {
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

/// Takes a packet from outside, to be passed on: whatever is in it and in whatever state its checksums are, it is
/// written again octet by octet, but for what [`crate::Cx::rewrite`] and `mark` change. Octets behind it, such as a
/// frame's padding, are cut off.
///
/// Of TCP and UDP the header can be read and changed. A fragment, a header that cannot be read and any other protocol
/// are [`Transport::Other`].
///
/// # Errors
/// If these are not the octets of an IP packet, or not all of them.
pub fn read_foreign(flow: FlowId, octets: &[u8]) -> Result<NewPacket, Malformed> {
    let header = ip::parse(octets)?;
    let octets = octets.get(..header.total_len).ok_or(Malformed::Truncated)?;
    let body = &octets[header.header_len..];
    let (transport, transport_len) = match header.protocol {
        PROTOCOL_TCP if !header.is_fragment => match tcp::parse(body) {
            Ok((read, len)) => (Transport::Tcp(read), len),
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

/// Reads a whole packet into fields and verifies its checksums; octets after it, such as a frame's padding, are
/// ignored.
///
/// What the wire does not tell is left for the caller: the packet's number is the 16 bits of the IPv4 header, its flow
/// the first.
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

/// Reads the beginning of a packet, as a capture keeps it: what was cut off counts as synthetic payload, and checksums
/// are not verified, since offloading hosts leave them unset.
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
        PROTOCOL_UDP if udp::is_unchecked(body) => return Ok(()),
        PROTOCOL_UDP => {
            let (_, whole) = udp::parse(body)?;
            body.get(..whole).ok_or(Malformed::Length)?
        }
        _ => return Ok(()),
    };
    let mut sum = ip::pseudo_header(&header.ip.addresses, header.protocol, covered.len());
    sum.add(covered);
    if sum.is_intact() { Ok(()) } else { Err(Malformed::Checksum) }
}
