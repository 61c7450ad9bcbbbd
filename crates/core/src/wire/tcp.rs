//! The TCP header (RFC 9293 section 3.1).

use super::ip;
use super::malformed::Malformed;
use super::protocol::PROTOCOL_TCP;
use crate::checksum::Checksum;
use crate::packet::{Flags, TCP_HEADER, TcpHeader, encode_options, parse_options};
use crate::{Packet, Seq};

const HEADER: usize = TCP_HEADER as usize;
/// The 10 low bits of the flags field: the 9 flags of RFC 9293 and RFC 9768, and [`Flags::FAST_RETRANSMIT`].
const FLAGS: u16 = 0x03ff;

pub(super) fn encode(header: &TcpHeader, packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    let header_len = header.len();
    out.extend_from_slice(&header.src_port.to_be_bytes());
    out.extend_from_slice(&header.dst_port.to_be_bytes());
    out.extend_from_slice(&header.seq.get().to_be_bytes());
    out.extend_from_slice(&header.ack.get().to_be_bytes());
    let offset_and_flags = ((header_len / 4) as u16) << 12 | header.flags.0 & FLAGS;
    out.extend_from_slice(&offset_and_flags.to_be_bytes());
    out.extend_from_slice(&header.window.to_be_bytes());
    // The checksum is filled in below; the urgent pointer is never used.
    out.extend_from_slice(&[0, 0, 0, 0]);
    encode_options(&header.options, out);
    let checksum = checksum(packet, &out[start..]);
    out[start + 16..start + 18].copy_from_slice(&checksum.value().to_be_bytes());
}

fn checksum(packet: &Packet, header: &[u8]) -> Checksum {
    // The pseudo-header contains the length of the whole segment.
    let len = header.len() + packet.payload().len() as usize;
    let mut sum = ip::pseudo_header(&packet.ip().addresses, PROTOCOL_TCP, len);
    sum.add(header);
    sum.add(packet.payload().bytes().unwrap_or_default());
    sum
}

/// Parses the header. Returns the header and its length in bytes.
pub(super) fn parse(body: &[u8]) -> Result<(TcpHeader, usize), Malformed> {
    let fixed: &[u8; HEADER] = body.first_chunk().ok_or(Malformed::Truncated)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let double_word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let offset_and_flags = word(12);
    let header_len = usize::from(offset_and_flags >> 12) * 4;
    // The data offset includes the fixed header.
    if header_len < HEADER {
        return Err(Malformed::Length);
    }
    let options = body.get(HEADER..header_len).ok_or(Malformed::Truncated)?;
    let header = TcpHeader {
        src_port: word(0),
        dst_port: word(2),
        seq: Seq::new(double_word(4)),
        ack: Seq::new(double_word(8)),
        flags: Flags(offset_and_flags & FLAGS),
        window: word(14),
        // RFC 9293, MUST-6: unknown options do not make a segment invalid.
        options: parse_options(options),
    };
    Ok((header, header_len))
}
