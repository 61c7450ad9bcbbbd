//! The headers of a foreign packet, byte by byte, and the code that patches changed fields into them.
//!
//! Checksums are updated incrementally (RFC 1624, equation 3), so a wrong checksum stays wrong. Not implemented:
//! checksum updates for transports other than TCP and UDP.

use super::ip::{Addresses, Ecn, IpHeader};
use super::payload::Payload;
use super::tcp::{TCP_HEADER, TcpHeader};
use super::tcp_options::rewrite_options;
use super::transport::{Transport, UdpHeader};
use crate::checksum::Checksum;

const MAX_SIZE: usize = 65_535;

/// All bytes before the payload: the IP header with options or extensions, and the TCP or UDP header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawHeaders {
    octets: Vec<u8>,
    /// Offset of the transport header in bytes, a multiple of 4.
    transport_at: usize,
}

/// Transport of a packet, which determines the position of the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawTransport {
    Tcp,
    Udp,
    Other,
}

impl RawTransport {
    pub fn of(transport: &Transport) -> RawTransport {
        match transport {
            Transport::Tcp(_) => RawTransport::Tcp,
            Transport::Udp(_) => RawTransport::Udp,
            Transport::Other { .. } => RawTransport::Other,
        }
    }
}

/// Offset of the checksum in the IPv4 header.
const IPV4_CHECKSUM: usize = 10;
/// The DF bit, in byte 6 of the IPv4 header.
const DO_NOT_FRAGMENT: u8 = 0x40;

impl RawHeaders {
    pub fn new(octets: Vec<u8>, transport_at: usize) -> RawHeaders {
        RawHeaders { octets, transport_at }
    }

    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// True if the IP header has no options and no extension headers.
    pub fn has_plain_ip(&self, ip: &IpHeader) -> bool {
        self.transport_at == ip.addresses.header_len() as usize
    }

    /// Returns the TCP options of a packet with a TCP header.
    pub fn tcp_options(&self) -> Option<&[u8]> {
        self.octets.get(self.transport_at + TCP_HEADER as usize..)
    }

    /// True if routers may fragment the packet: IPv4 without the DF bit.
    pub fn may_be_fragmented(&self) -> bool {
        self.is_v4() && self.octets[6] & DO_NOT_FRAGMENT == 0
    }

    /// Returns the identification field of IPv4. IPv6 has no such field.
    pub fn identification(&self) -> u16 {
        u16::from_be_bytes([self.octets[4], self.octets[5]])
    }

    fn is_v4(&self) -> bool {
        self.octets[0] >> 4 == 4
    }

    pub fn set_ecn(&mut self, ecn: Ecn) {
        let class = self.traffic_class() & !3 | ecn as u8;
        self.set_traffic_class(class);
    }

    pub fn set_dscp(&mut self, dscp: u8) {
        let class = self.traffic_class() & 3 | dscp << 2;
        self.set_traffic_class(class);
    }

    fn traffic_class(&self) -> u8 {
        // IPv6: the traffic class is bits 4 to 11 of the header (RFC 8200, section 3).
        if self.is_v4() { self.octets[1] } else { self.octets[0] << 4 | self.octets[1] >> 4 }
    }

    fn set_traffic_class(&mut self, class: u8) {
        if self.is_v4() {
            self.put(1, &[class], Some(IPV4_CHECKSUM));
        } else {
            // IPv6 has no header checksum to update (RFC 8200, section 3).
            self.octets[0] = self.octets[0] & 0xf0 | class >> 4;
            self.octets[1] = class << 4 | self.octets[1] & 0x0f;
        }
    }

    pub fn set_ttl(&mut self, ttl: u8) {
        if self.is_v4() {
            self.put(8, &[ttl], Some(IPV4_CHECKSUM));
        } else {
            self.octets[7] = ttl;
        }
    }

    /// Sets the addresses. The addresses must have the packet's IP version.
    pub fn set_addresses(&mut self, addresses: &Addresses, transport: RawTransport) {
        let (at, new) = match addresses {
            Addresses::V4 { src, dst } => (12, [&src.octets()[..], &dst.octets()[..]].concat()),
            Addresses::V6 { src, dst } => (8, [&src.octets()[..], &dst.octets()[..]].concat()),
        };
        let before = sum(&self.octets[at..at + new.len()]);
        self.put(at, &new, self.is_v4().then_some(IPV4_CHECKSUM));
        // The checksums of TCP and UDP cover the addresses in their pseudo-header.
        self.update_transport_checksum(transport, before, sum(&new));
    }

    pub fn set_udp_ports(&mut self, header: &UdpHeader) {
        let ports = [header.src_port.to_be_bytes(), header.dst_port.to_be_bytes()].concat();
        // The first 4 bytes of the UDP header are the two ports.
        let at = self.transport_at;
        let before = sum(&self.octets[at..at + 4]);
        self.octets[at..at + 4].copy_from_slice(&ports);
        self.update_transport_checksum(RawTransport::Udp, before, sum(&ports));
    }

    /// Writes the fields in which `after` differs from `before`. Returns false and changes nothing if the options do
    /// not fit into the header, or the packet would exceed the IP length field.
    pub fn set_tcp(&mut self, before: &TcpHeader, after: &TcpHeader, payload_len: u32) -> bool {
        let old = &self.octets[self.transport_at..];
        let options = if before.options == after.options {
            old[20..].to_vec()
        } else {
            match rewrite_options(&old[20..], &before.options, &after.options) {
                Some(options) => options,
                None => return false,
            }
        };
        // The fixed header and the options both consist of whole 32-bit words.
        let len = 20 + options.len();
        // Refuse a packet that exceeds the IP length field.
        if self.transport_at + len + payload_len as usize > MAX_SIZE {
            return false;
        }
        let mut new = old[..20].to_vec();
        new[0..2].copy_from_slice(&after.src_port.to_be_bytes());
        new[2..4].copy_from_slice(&after.dst_port.to_be_bytes());
        new[4..8].copy_from_slice(&after.seq.get().to_be_bytes());
        new[8..12].copy_from_slice(&after.ack.get().to_be_bytes());
        // Keep bits 10 and 11 of the flags field, which are reserved.
        new[12] = (len as u8 / 4) << 4 | old[12] & 0x0c | (after.flags.0 >> 8) as u8 & 3;
        new[13] = after.flags.0 as u8;
        new[14..16].copy_from_slice(&after.window.to_be_bytes());
        new.extend_from_slice(&options);
        let (old_sum, old_len) = (sum(old), old.len());
        self.octets.splice(self.transport_at.., new);
        // The pseudo-header contains the length of header and payload (RFC 9293, section 3.1).
        let lengths = |header: usize| ((header + payload_len as usize) as u16).to_be_bytes();
        let before = [old_sum.to_be_bytes(), lengths(old_len)].concat();
        let after = [sum(&self.octets[self.transport_at..]).to_be_bytes(), lengths(len)].concat();
        self.update_transport_checksum(RawTransport::Tcp, sum(&before), sum(&after));
        self.set_ip_length(payload_len);
        true
    }

    /// Updates the lengths and checksums for a new payload.
    pub fn replace_payload(&mut self, transport: RawTransport, old: &Payload, new: &Payload) {
        let header = self.octets.len() - self.transport_at;
        let mut lengths = [old, new].map(|payload| ((header + payload.len() as usize) as u16).to_be_bytes());
        if transport == RawTransport::Udp {
            // The UDP length occurs in the header and in the pseudo-header, so the checksum covers it twice.
            let at = self.transport_at + 4;
            let field = u16::from_be_bytes([self.octets[at], self.octets[at + 1]]);
            let changed = field.wrapping_add(new.len() as u16).wrapping_sub(old.len() as u16);
            self.octets[at..at + 2].copy_from_slice(&changed.to_be_bytes());
            lengths = [field.to_be_bytes(), changed.to_be_bytes()];
            self.update_transport_checksum(transport, field, changed);
        }
        let [before, after] = [(old, lengths[0]), (new, lengths[1])]
            .map(|(payload, length)| sum(&[sum(payload.bytes().unwrap_or_default()).to_be_bytes(), length].concat()));
        self.update_transport_checksum(transport, before, after);
        self.set_ip_length(new.len());
    }

    fn set_ip_length(&mut self, payload_len: u32) {
        let total = self.octets.len() + payload_len as usize;
        if self.is_v4() {
            self.put(2, &(total as u16).to_be_bytes(), Some(IPV4_CHECKSUM));
        } else {
            // IPv6: the payload length excludes the fixed header of 40 bytes.
            self.octets[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
        }
    }

    /// Writes the bytes `new` at the offset `at`, and updates the checksum that covers them.
    fn put(&mut self, at: usize, new: &[u8], checksum_at: Option<usize>) {
        // A checksum adds 16-bit words, so the difference must be computed over whole words.
        let words = at & !1..(at + new.len()).next_multiple_of(2);
        let before = sum(&self.octets[words.clone()]);
        self.octets[at..at + new.len()].copy_from_slice(new);
        let after = sum(&self.octets[words]);
        if let Some(field) = checksum_at {
            self.update_checksum(field, before, after);
        }
    }

    fn update_transport_checksum(&mut self, transport: RawTransport, before: u16, after: u16) {
        match transport {
            RawTransport::Tcp => self.update_checksum(self.transport_at + 16, before, after),
            RawTransport::Udp => {
                // RFC 768: a checksum of zero means that the sender computed none. A computed zero is sent as 0xffff.
                let at = self.transport_at + 6;
                if self.octets[at..at + 2] != [0, 0] {
                    self.update_checksum(at, before, after);
                    if self.octets[at..at + 2] == [0, 0] {
                        self.octets[at..at + 2].copy_from_slice(&[0xff, 0xff]);
                    }
                }
            }
            RawTransport::Other => {}
        }
    }

    /// Updates a checksum: HC' = ~(~HC + ~m + m') (RFC 1624 section 3).
    fn update_checksum(&mut self, at: usize, before: u16, after: u16) {
        // If nothing changed, the formula would turn a checksum of 0xffff into 0.
        if before != after {
            let field = u16::from_be_bytes([self.octets[at], self.octets[at + 1]]);
            // RFC 1624, section 3: the older formula of RFC 1141 returns a wrong result for some values.
            let words = [!field, !before, after].map(u16::to_be_bytes).concat();
            self.octets[at..at + 2].copy_from_slice(&(!sum(&words)).to_be_bytes());
        }
    }
}

fn sum(octets: &[u8]) -> u16 {
    let mut sum = Checksum::default();
    sum.add(octets);
    !sum.value()
}
