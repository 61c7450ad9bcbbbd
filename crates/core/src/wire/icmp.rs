//! The message of a router that a packet does not fit the way on: ICMP "fragmentation needed" (RFC 792 with the next
//! hop's MTU of RFC 1191 section 4) and ICMPv6 "packet too big" (RFC 4443 section 3.2).
//!
//! Leaves out all other messages of ICMP, and of this one the form without an MTU that routers sent before RFC 1191.

use super::protocol::{PROTOCOL_ICMP, PROTOCOL_ICMPV6};
use super::{encode, ip, parse_captured};
use crate::checksum::Checksum;
use crate::packet::{Addresses, IPV4_HEADER, IPV6_HEADER, IpHeader, NewPacket, Transport};
use crate::{Packet, Payload, Seq};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PACKET_TOO_BIG: u8 = 2;
/// Type, code, checksum and the field that has the MTU.
const HEADER: u32 = 8;
/// The largest message: what every host takes (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4).
const LARGEST_V4: u32 = 576;
const LARGEST_V6: u32 = 1280;
/// Routers send their errors as internetwork control (RFC 1812 section 4.3.2.5), of precedence 6.
const INTERNETWORK_CONTROL: u8 = 48;

/// What a router said of a segment that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The largest IP packet that the way on takes.
    pub mtu: u16,
    /// Of the segment: its ends, its ports and its sequence number.
    pub src: IpAddr,
    /// Destination of the packet that was too big.
    pub dst: IpAddr,
    /// Its source port.
    pub src_port: u16,
    /// Its destination port.
    pub dst_port: u16,
    /// Its sequence number.
    pub seq: Seq,
}

/// The message that a router with these addresses sends to the packet's source.
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
            let mut sum = ip::pseudo_header(&ip.addresses, PROTOCOL_ICMPV6, message.len());
            sum.add(&message);
            message[2..4].copy_from_slice(&sum.value().to_be_bytes());
            NewPacket::new(packet.flow(), ip, Transport::Other { protocol: PROTOCOL_ICMPV6 }, Payload::real(message))
        }
    }
}

/// As much of the packet as a message of so many octets takes.
fn message(kind: u8, code: u8, mtu: [u8; 4], original: &[u8], most: u32) -> Vec<u8> {
    let kept = original.len().min((most - HEADER) as usize);
    let mut message = vec![kind, code, 0, 0];
    message.extend_from_slice(&mtu);
    message.extend_from_slice(&original[..kept]);
    message
}

/// What the packet says of a segment that was too big; `None` if it is no such message, or its checksum is wrong.
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
    // Of the field of ICMP the upper half is unused.
    let mtu = if protocol == PROTOCOL_ICMP { mtu as u16 } else { u16::try_from(mtu).unwrap_or(u16::MAX) };
    let segment = parse_captured(original).ok()?;
    let tcp = segment.tcp()?;
    let (src, dst) = (segment.src(), segment.dst());
    Some(PacketTooBig { mtu, src, dst, src_port: tcp.src_port, dst_port: tcp.dst_port, seq: tcp.seq })
}
