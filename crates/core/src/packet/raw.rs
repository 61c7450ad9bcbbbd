//! The headers of a packet that another host made, octet by octet, and how a change of a field is patched into them.
//!
//! Checksums are updated from the difference alone (RFC 1624 equation 3), so that one that was wrong stays wrong and
//! the payload need not be read. Leaves out the checksums of other transports than TCP and UDP.

use super::ip::{Addresses, Ecn, IpHeader};
use super::payload::Payload;
use super::tcp::{TCP_HEADER, TcpHeader};
use super::tcp_options::rewrite_options;
use super::transport::{Transport, UdpHeader};
use crate::checksum::Checksum;

const MAX_SIZE: usize = 65_535;

/// Everything of a packet before its payload: the IP header with options or extension headers, and that of TCP or UDP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawHeaders {
    octets: Vec<u8>,
    /// Where the IP header and its extensions end; a multiple of 4.
    transport_at: usize,
}

/// The transport whose checksum is kept up to date.
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

/// The checksum field of the IPv4 header.
const IPV4_CHECKSUM: usize = 10;
/// In the seventh octet of that header.
const DO_NOT_FRAGMENT: u8 = 0x40;

impl RawHeaders {
    pub fn new(octets: Vec<u8>, transport_at: usize) -> RawHeaders {
        RawHeaders { octets, transport_at }
    }

    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Whether the IP header has no options and no extension headers.
    pub fn has_plain_ip(&self, ip: &IpHeader) -> bool {
        self.transport_at == ip.addresses.header_len() as usize
    }

    /// The octets of the TCP options, in a packet that has such a header.
    pub fn tcp_options(&self) -> Option<&[u8]> {
        self.octets.get(self.transport_at + TCP_HEADER as usize..)
    }

    /// Whether routers may fragment it: IPv4 without the DF bit.
    pub fn may_be_fragmented(&self) -> bool {
        self.is_v4() && self.octets[6] & DO_NOT_FRAGMENT == 0
    }

    /// IPv4's identification.
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
        if self.is_v4() { self.octets[1] } else { self.octets[0] << 4 | self.octets[1] >> 4 }
    }

    fn set_traffic_class(&mut self, class: u8) {
        if self.is_v4() {
            self.put(1, &[class], Some(IPV4_CHECKSUM));
        } else {
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

    /// Addresses of the packet's own version of IP.
    pub fn set_addresses(&mut self, addresses: &Addresses, transport: RawTransport) {
        let (at, new) = match addresses {
            Addresses::V4 { src, dst } => (12, [&src.octets()[..], &dst.octets()[..]].concat()),
            Addresses::V6 { src, dst } => (8, [&src.octets()[..], &dst.octets()[..]].concat()),
        };
        let before = sum(&self.octets[at..at + new.len()]);
        self.put(at, &new, self.is_v4().then_some(IPV4_CHECKSUM));
        // TCP and UDP protect the addresses too.
        self.update_transport_checksum(transport, before, sum(&new));
    }

    pub fn set_udp_ports(&mut self, header: &UdpHeader) {
        let ports = [header.src_port.to_be_bytes(), header.dst_port.to_be_bytes()].concat();
        let at = self.transport_at;
        let before = sum(&self.octets[at..at + 4]);
        self.octets[at..at + 4].copy_from_slice(&ports);
        self.update_transport_checksum(RawTransport::Udp, before, sum(&ports));
    }

    /// Rewrites the fields in which `after` differs from `before`, the header as it is. False if the result would not fit.
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
        let len = 20 + options.len();
        if self.transport_at + len + payload_len as usize > MAX_SIZE {
            return false;
        }
        let mut new = old[..20].to_vec();
        new[0..2].copy_from_slice(&after.src_port.to_be_bytes());
        new[2..4].copy_from_slice(&after.dst_port.to_be_bytes());
        new[4..8].copy_from_slice(&after.seq.get().to_be_bytes());
        new[8..12].copy_from_slice(&after.ack.get().to_be_bytes());
        // The two reserved bits between the length and the flags that are no flag here stay.
        new[12] = (len as u8 / 4) << 4 | old[12] & 0x0c | (after.flags.0 >> 8) as u8 & 3;
        new[13] = after.flags.0 as u8;
        new[14..16].copy_from_slice(&after.window.to_be_bytes());
        new.extend_from_slice(&options);
        let (old_sum, old_len) = (sum(old), old.len());
        self.octets.splice(self.transport_at.., new);
        let lengths = |header: usize| ((header + payload_len as usize) as u16).to_be_bytes();
        let before = [old_sum.to_be_bytes(), lengths(old_len)].concat();
        let after = [sum(&self.octets[self.transport_at..]).to_be_bytes(), lengths(len)].concat();
        self.update_transport_checksum(RawTransport::Tcp, sum(&before), sum(&after));
        self.set_ip_length(payload_len);
        true
    }

    /// The packet's payload was `old` and is `new`.
    pub fn replace_payload(&mut self, transport: RawTransport, old: &Payload, new: &Payload) {
        let header = self.octets.len() - self.transport_at;
        let mut lengths = [old, new].map(|payload| ((header + payload.len() as usize) as u16).to_be_bytes());
        if transport == RawTransport::Udp {
            // The length field of UDP is protected as its pseudo-header's is.
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
            self.octets[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
        }
    }

    /// Writes `new` at an offset, and corrects the checksum that protects it.
    fn put(&mut self, at: usize, new: &[u8], checksum_at: Option<usize>) {
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
                // Zero says that there is none (RFC 768).
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

    /// HC' = ~(~HC + ~m + m') (RFC 1624 section 3).
    fn update_checksum(&mut self, at: usize, before: u16, after: u16) {
        if before != after {
            let field = u16::from_be_bytes([self.octets[at], self.octets[at + 1]]);
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
