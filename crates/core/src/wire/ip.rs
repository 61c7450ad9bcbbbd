//! The IP header, version 4 (RFC 791) or 6 (RFC 8200), with the DSCP and ECN fields of RFC 2474 and RFC 3168.

use super::malformed::Malformed;
use super::protocol::{PROTOCOL_TCP, PROTOCOL_UDP};
use crate::checksum::Checksum;
use crate::packet::{Addresses, IPV4_HEADER, IPV6_HEADER, IpHeader};
use crate::{Ecn, Packet, Transport};
use std::net::{Ipv4Addr, Ipv6Addr};

const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS_OR_OFFSET: u16 = 0x3fff;

/// IPv6 extension headers (RFC 8200, section 4) with a next-header field and a length in units of 8 bytes.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let IpHeader { addresses, ecn, dscp, ttl } = packet.ip();
    let class = dscp << 2 | ecn as u8;
    match addresses {
        Addresses::V4 { src, dst } => encode_v4(packet, class, ttl, src, dst, out),
        Addresses::V6 { src, dst } => {
            let body = packet.size().get() - u64::from(IPV6_HEADER);
            let body = u16::try_from(body).expect("an IPv6 packet carries at most 65,535 octets");
            // Version 6, traffic class, and a flow label of zero (RFC 8200, section 3).
            out.extend_from_slice(&[0x60 | class >> 4, class << 4, 0, 0]);
            out.extend_from_slice(&body.to_be_bytes());
            out.extend_from_slice(&[protocol(packet.transport()), ttl]);
            out.extend_from_slice(&src.octets());
            out.extend_from_slice(&dst.octets());
        }
    }
}

fn encode_v4(packet: &Packet, class: u8, ttl: u8, src: Ipv4Addr, dst: Ipv4Addr, out: &mut Vec<u8>) {
    let start = out.len();
    let total = u16::try_from(packet.size().get()).expect("an IPv4 packet has at most 65,535 octets");
    // Version 4, and a header length of 5 words, which means no options.
    out.extend_from_slice(&[0x45, class]);
    out.extend_from_slice(&total.to_be_bytes());
    // Use the low bits of the packet's number, so that a packet of one capture can be found in another capture.
    out.extend_from_slice(&(packet.id() as u16).to_be_bytes());
    out.extend_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
    out.extend_from_slice(&[ttl, protocol(packet.transport()), 0, 0]);
    out.extend_from_slice(&src.octets());
    out.extend_from_slice(&dst.octets());
    let mut sum = Checksum::default();
    sum.add(&out[start..]);
    out[start + 10..start + 12].copy_from_slice(&sum.value().to_be_bytes());
}

fn protocol(transport: &Transport) -> u8 {
    match transport {
        Transport::Tcp(_) => PROTOCOL_TCP,
        Transport::Udp(_) => PROTOCOL_UDP,
        Transport::Other { protocol } => *protocol,
    }
}

/// Returns the checksum over the pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1).
pub(super) fn pseudo_header(addresses: &Addresses, protocol: u8, body_len: usize) -> Checksum {
    let mut sum = Checksum::default();
    match addresses {
        Addresses::V4 { src, dst } => [src.octets(), dst.octets()].iter().for_each(|address| sum.add(address)),
        Addresses::V6 { src, dst } => [src.octets(), dst.octets()].iter().for_each(|address| sum.add(address)),
    }
    // The same code serves both IP versions, because the sum does not depend on the order of the words.
    sum.add(&[0, protocol]);
    sum.add(&(body_len as u32).to_be_bytes());
    sum
}

/// A parsed IP header whose length fields are consistent.
pub(super) struct Header {
    /// Length of the header with its options or extension headers, in bytes.
    pub header_len: usize,
    /// Length of the whole packet, in bytes.
    pub total_len: usize,
    /// The identification field of IPv4; 0 for IPv6.
    pub id: u16,
    /// Protocol number after all known extension headers.
    pub protocol: u8,
    /// True if the packet is a fragment.
    pub is_fragment: bool,
    pub ip: IpHeader,
}

pub(super) fn parse(octets: &[u8]) -> Result<Header, Malformed> {
    match octets.first().ok_or(Malformed::Truncated)? >> 4 {
        4 => parse_v4(octets),
        6 => parse_v6(octets),
        _ => Err(Malformed::NotIp),
    }
}

fn parse_v4(octets: &[u8]) -> Result<Header, Malformed> {
    let fixed: &[u8; IPV4_HEADER as usize] = octets.first_chunk().ok_or(Malformed::Truncated)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    // BIG TCP: a length of zero means that the packet is too large for the length field.
    let total_len = match usize::from(word(2)) {
        0 if octets.len() > usize::from(u16::MAX) => octets.len(),
        len => len,
    };
    // Reject inconsistent lengths before they are used as slice bounds.
    if header_len < fixed.len() || total_len < header_len {
        return Err(Malformed::Length);
    }
    if octets.len() < header_len {
        return Err(Malformed::Truncated);
    }
    Ok(Header {
        header_len,
        total_len,
        id: word(4),
        protocol: fixed[9],
        is_fragment: word(6) & MORE_FRAGMENTS_OR_OFFSET != 0,
        ip: IpHeader {
            addresses: Addresses::V4 { src: address(12), dst: address(16) },
            ecn: Ecn::from_bits(fixed[1]),
            dscp: fixed[1] >> 2,
            ttl: fixed[8],
        },
    })
}

fn parse_v6(octets: &[u8]) -> Result<Header, Malformed> {
    let fixed: &[u8; IPV6_HEADER as usize] = octets.first_chunk().ok_or(Malformed::Truncated)?;
    let address = |at: usize| {
        let octets: [u8; 16] = std::array::from_fn(|octet| fixed[at + octet]);
        Ipv6Addr::from(octets)
    };
    // RFC 8200, section 3: the traffic class is bits 4 to 11 of the header.
    let class = fixed[0] << 4 | fixed[1] >> 4;
    // The payload length excludes the fixed header. BIG TCP sends a length of zero in this field, too.
    let total_len = match usize::from(u16::from_be_bytes([fixed[4], fixed[5]])) {
        0 if octets.len() > fixed.len() + usize::from(u16::MAX) => octets.len(),
        len => fixed.len() + len,
    };
    let (mut protocol, mut header_len) = (fixed[6], fixed.len());
    // Skip the extension headers before the transport header.
    while matches!(protocol, HOP_BY_HOP | ROUTING | DESTINATION) {
        let extension = octets.get(header_len..header_len + 2).ok_or(Malformed::Truncated)?;
        // RFC 8200, section 4.3: the length field excludes the first 8 bytes.
        let len = 8 * (1 + usize::from(extension[1]));
        if header_len + len > total_len {
            return Err(Malformed::Length);
        }
        if header_len + len > octets.len() {
            return Err(Malformed::Truncated);
        }
        (protocol, header_len) = (extension[0], header_len + len);
    }
    Ok(Header {
        header_len,
        total_len,
        id: 0,
        protocol,
        is_fragment: protocol == FRAGMENT,
        ip: IpHeader {
            addresses: Addresses::V6 { src: address(8), dst: address(24) },
            ecn: Ecn::from_bits(class),
            dscp: class >> 2,
            ttl: fixed[7],
        },
    })
}

impl Header {
    pub fn body_len(&self) -> usize {
        self.total_len - self.header_len
    }

    /// Verifies the header checksum. IPv6 has no header checksum.
    pub fn verify(&self, octets: &[u8]) -> Result<(), Malformed> {
        if matches!(self.ip.addresses, Addresses::V6 { .. }) {
            return Ok(());
        }
        let mut sum = Checksum::default();
        sum.add(&octets[..self.header_len]);
        if sum.is_intact() { Ok(()) } else { Err(Malformed::Checksum) }
    }
}
