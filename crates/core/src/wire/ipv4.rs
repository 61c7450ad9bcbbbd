//! The IPv4 header (RFC 791), with the DSCP and ECN fields of RFC 2474 and RFC 3168.

use super::{Checksum, Malformed, PROTOCOL_TCP, PROTOCOL_UDP};
use crate::packet::IPV4_HEADER;
use crate::{Ecn, FlowId, Ipv4Addr, Packet, Payload, Time, Transport};

const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS_OR_OFFSET: u16 = 0x3fff;

pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    let total = u16::try_from(packet.size().get()).expect("an IPv4 packet has at most 65,535 octets");
    out.extend_from_slice(&[0x45, (packet.dscp << 2) | packet.ecn as u8]);
    out.extend_from_slice(&total.to_be_bytes());
    // The low bits of the run's number: enough to find a packet of one capture in another.
    out.extend_from_slice(&(packet.id as u16).to_be_bytes());
    out.extend_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
    out.extend_from_slice(&[packet.ttl, protocol(&packet.transport), 0, 0]);
    out.extend_from_slice(&packet.src.0.to_be_bytes());
    out.extend_from_slice(&packet.dst.0.to_be_bytes());
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

/// The sum over the fields of the IP header that TCP and UDP protect with their own checksum.
pub(super) fn pseudo_header(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, body_len: usize) -> Checksum {
    let mut sum = Checksum::default();
    sum.add(&src.0.to_be_bytes());
    sum.add(&dst.0.to_be_bytes());
    sum.add(&[0, protocol]);
    sum.add(&(body_len as u32).to_be_bytes());
    sum
}

/// A header as it was read, its lengths already found to agree.
pub(super) struct Header {
    header_len: usize,
    total_len: usize,
    tos: u8,
    id: u16,
    ttl: u8,
    pub(super) protocol: u8,
    src: Ipv4Addr,
    dst: Ipv4Addr,
}

/// The header and what follows it.
pub(super) fn parse(octets: &[u8]) -> Result<(Header, &[u8]), Malformed> {
    let fixed: &[u8; IPV4_HEADER as usize] = octets.first_chunk().ok_or(Malformed::Truncated)?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| Ipv4Addr(u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]));
    if fixed[0] >> 4 != 4 {
        return Err(Malformed::NotIpv4);
    }
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let total_len = usize::from(word(2));
    if header_len < fixed.len() || total_len < header_len {
        return Err(Malformed::Length);
    }
    if word(6) & MORE_FRAGMENTS_OR_OFFSET != 0 {
        return Err(Malformed::Fragment);
    }
    let rest = octets.get(header_len..).ok_or(Malformed::Truncated)?;
    let (src, dst) = (address(12), address(16));
    let header =
        Header { header_len, total_len, tos: fixed[1], id: word(4), ttl: fixed[8], protocol: fixed[9], src, dst };
    Ok((header, rest))
}

impl Header {
    pub(super) fn body_len(&self) -> usize {
        self.total_len - self.header_len
    }

    pub(super) fn verify(&self, octets: &[u8]) -> Result<(), Malformed> {
        let mut sum = Checksum::default();
        sum.add(&octets[..self.header_len]);
        if sum.is_intact() { Ok(()) } else { Err(Malformed::Checksum) }
    }

    pub(super) fn pseudo_header(&self, body_len: usize) -> Checksum {
        pseudo_header(self.src, self.dst, self.protocol, body_len)
    }

    pub(super) fn packet(&self, transport: Transport, payload: Payload) -> Packet {
        let ecn = match self.tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        Packet {
            id: u64::from(self.id),
            sent_at: Time::ZERO,
            flow: FlowId(0),
            src: self.src,
            dst: self.dst,
            ecn,
            dscp: self.tos >> 2,
            ttl: self.ttl,
            transport,
            payload,
        }
    }
}
