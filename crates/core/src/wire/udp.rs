//! The UDP header (RFC 768).

use super::ip;
use super::malformed::Malformed;
use super::protocol::PROTOCOL_UDP;
use crate::Packet;
use crate::packet::{UDP_HEADER, UdpHeader};

pub(super) const HEADER: usize = UDP_HEADER as usize;

pub(super) fn encode(header: UdpHeader, packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    // The UDP length includes the header.
    let len = HEADER + packet.payload().len() as usize;
    out.extend_from_slice(&header.src_port.to_be_bytes());
    out.extend_from_slice(&header.dst_port.to_be_bytes());
    out.extend_from_slice(&(len as u16).to_be_bytes());
    // The checksum field must be zero while the checksum is computed.
    out.extend_from_slice(&[0, 0]);
    let mut sum = ip::pseudo_header(&packet.ip().addresses, PROTOCOL_UDP, len);
    sum.add(&out[start..]);
    sum.add(packet.payload().bytes().unwrap_or_default());
    // RFC 768: a checksum of zero means that the sender computed no checksum, so a computed zero is sent as 0xffff.
    let checksum = if sum.value() == 0 { 0xffff } else { sum.value() };
    out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// Parses the header. Returns the header, and the length of header and payload in bytes.
pub(super) fn parse(body: &[u8]) -> Result<(UdpHeader, usize), Malformed> {
    let fixed: &[u8; HEADER] = body.first_chunk().ok_or(Malformed::Truncated)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    Ok((UdpHeader { src_port: word(0), dst_port: word(2) }, usize::from(word(4))))
}

/// Returns true if the sender computed no checksum.
pub(super) fn is_unchecked(body: &[u8]) -> bool {
    body.get(6..8) == Some(&[0, 0])
}
