//! The ICMP message that reports that a packet is too large: "fragmentation needed" (RFC 792, with the MTU field of
//! RFC 1191, section 4) and ICMPv6 "packet too big" (RFC 4443, section 3.2).
//!
//! Not implemented: all other ICMP messages, and the old form of this message without an MTU.

use super::protocol::{PROTOCOL_ICMP, PROTOCOL_ICMPV6};
use super::{encode, ip, parse_captured};
use crate::checksum::Checksum;
use crate::packet::{Addresses, IPV4_HEADER, IPV6_HEADER, IpHeader, NewPacket, Transport};
use crate::{Packet, Payload, Seq};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PACKET_TOO_BIG: u8 = 2;
/// Length of type, code, checksum and MTU field, in bytes.
const HEADER: u32 = 8;
/// Maximum sizes of both messages in bytes, which every host accepts (RFC 1812, section 4.3.2.3; RFC 4443, section
/// 2.4).
const LARGEST_V4: u32 = 576;
const LARGEST_V6: u32 = 1280;
/// DSCP of ICMP errors: internetwork control, precedence 6 (RFC 1812, section 4.3.2.5).
const INTERNETWORK_CONTROL: u8 = 48;

/// A parsed "packet too big" message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// MTU of the next link, in bytes.
    pub mtu: u16,
    /// Source address of the segment that was too large.
    pub src: IpAddr,
    /// Destination address of the segment that was too large.
    pub dst: IpAddr,
    /// Source port of the segment that was too large.
    pub src_port: u16,
    /// Destination port of the segment that was too large.
    pub dst_port: u16,
    /// Sequence number of the segment that was too large.
    pub seq: Seq,
}

/// Creates the message that a router sends to the source of `packet`. `router` contains the router's addresses.
pub fn packet_too_big(packet: &Packet, mtu: u16, router: (Ipv4Addr, Ipv6Addr)) -> NewPacket {
    let original = encode(packet);
    match packet.ip().addresses {
        Addresses::V4 { src, .. } => {
            let mtu = u32::from(mtu).to_be_bytes();
            let mut message = message(UNREACHABLE, FRAGMENTATION_NEEDED, mtu, &original, LARGEST_V4 - IPV4_HEADER);
            let mut sum = Checksum::default();
            sum.add(&message);
            message[2..4].copy_from_slice(&sum.value().to_be_bytes());
            let ip = IpHeader { dscp: INTERNETWORK_CONTROL, ..IpHeader::v4(router.0, src) };
            NewPacket::new(packet.flow(), ip, Transport::Other { protocol: PROTOCOL_ICMP }, Payload::real(message))
        }
        Addresses::V6 { src, .. } => {
            let mtu = u32::from(mtu).to_be_bytes();
            let mut message = message(PACKET_TOO_BIG, 0, mtu, &original, LARGEST_V6 - IPV6_HEADER);
            let ip = IpHeader::v6(router.1, src);
            // RFC 4443, section 2.3: in contrast to ICMPv4, the checksum of ICMPv6 covers a pseudo-header.
            let mut sum = ip::pseudo_header(&ip.addresses, PROTOCOL_ICMPV6, message.len());
            sum.add(&message);
            message[2..4].copy_from_slice(&sum.value().to_be_bytes());
            NewPacket::new(packet.flow(), ip, Transport::Other { protocol: PROTOCOL_ICMPV6 }, Payload::real(message))
        }
    }
}

/// Returns the message without its checksum. The message quotes as much of the packet as fits into `most` bytes.
fn message(kind: u8, code: u8, mtu: [u8; 4], original: &[u8], most: u32) -> Vec<u8> {
    // RFC 1812, section 4.3.2.3: quote as much of the packet as fits.
    let kept = original.len().min((most - HEADER) as usize);
    let mut message = vec![kind, code, 0, 0];
    message.extend_from_slice(&mtu);
    message.extend_from_slice(&original[..kept]);
    message
}

/// Parses a "packet too big" message about a TCP segment. Returns `None` for any other packet, and if the checksum is
/// wrong.
pub fn read_packet_too_big(packet: &Packet) -> Option<PacketTooBig> {
    let Transport::Other { protocol } = *packet.transport() else { return None };
    let payload = packet.payload();
    let octets = payload.bytes()?;
    let (header, original) = octets.split_at_checked(HEADER as usize)?;
    let mut sum = match protocol {
        PROTOCOL_ICMP if header[..2] == [UNREACHABLE, FRAGMENTATION_NEEDED] => Checksum::default(),
        PROTOCOL_ICMPV6 if header[..2] == [PACKET_TOO_BIG, 0] => {
            ip::pseudo_header(&packet.ip().addresses, PROTOCOL_ICMPV6, octets.len())
        }
        _ => return None,
    };
    sum.add(octets);
    if !sum.is_intact() {
        return None;
    }
    let mtu = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    // RFC 1191, section 4: in ICMPv4 the upper half of the field is unused.
    let mtu = if protocol == PROTOCOL_ICMP { mtu as u16 } else { u16::try_from(mtu).unwrap_or(u16::MAX) };
    // The quoted packet is truncated, so parse it like a captured packet.
    let segment = parse_captured(original).ok()?;
    let tcp = segment.tcp()?;
    let (src, dst) = (segment.src(), segment.dst());
    Some(PacketTooBig { mtu, src, dst, src_port: tcp.src_port, dst_port: tcp.dst_port, seq: tcp.seq })
}
