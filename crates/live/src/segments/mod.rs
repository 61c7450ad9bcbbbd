//! Segmentation offload: one call passes up to 64 kB of one flow (virtio 1.2, section 5.1.6; Linux's
//! `Documentation/networking/segmentation-offloads.rst`).
//!
//! [`Cut`] cuts the kernel's large packets as the kernel's own segmentation would. A [`Bundle`] combines packets if
//! cutting the result would restore them. Both support TCP and UDP over IPv4 and IPv6.
//!
//! Not enabled: offloads for fragmented UDP (UFO), tunnels, and CWR on every segment (accurate ECN).

mod bundle;
mod cut;
#[cfg(test)]
mod tests;

pub(crate) use bundle::Bundle;
pub(crate) use cut::{Cut, complete};

use lopsided_core::wire::{Checksum, PROTOCOL_TCP, PROTOCOL_UDP};

/// Size of the [`Offload`] header in front of each packet, in bytes.
pub(crate) const OFFLOAD: usize = 10;

/// The header in front of a packet: `struct virtio_net_hdr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload {
    flags: u8,
    kind: u8,
    /// Length of all headers in bytes.
    header_len: u16,
    /// Payload size in bytes of each segment except the last.
    size: u16,
    /// Offset in bytes at which the data covered by the checksum begins.
    checksum_from: u16,
    /// Offset in bytes of the checksum field, counted from `checksum_from`.
    checksum_at: u16,
}

/// VIRTIO_NET_HDR_F_NEEDS_CSUM: the checksum field contains only the sum of the pseudo-header.
const NEEDS_CHECKSUM: u8 = 1;
const KIND_NONE: u8 = 0;
const KIND_TCP_V4: u8 = 1;
const KIND_TCP_V6: u8 = 4;
const KIND_UDP: u8 = 5;
/// VIRTIO_NET_HDR_GSO_ECN: CWR is set on the first segment.
const WITH_CWR: u8 = 0x80;

impl Offload {
    pub fn read(octets: &[u8; OFFLOAD]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([octets[at], octets[at + 1]]);
        Offload {
            flags: octets[0],
            kind: octets[1],
            header_len: word(2),
            size: word(4),
            checksum_from: word(6),
            checksum_at: word(8),
        }
    }

    pub fn write(&self) -> [u8; OFFLOAD] {
        let mut octets = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.header_len, self.size, self.checksum_from, self.checksum_at];
        for (place, word) in octets[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        octets
    }
}

/// Transport protocols whose packets can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tcp,
    Udp,
}

impl Kind {
    fn protocol(self) -> u8 {
        match self {
            Kind::Tcp => PROTOCOL_TCP,
            Kind::Udp => PROTOCOL_UDP,
        }
    }

    /// Returns the offset in bytes of the checksum field in the transport header.
    fn checksum_at(self) -> usize {
        match self {
            Kind::Tcp => 16,
            Kind::Udp => 6,
        }
    }

    /// Returns the length in bytes of the transport header at the start of `octets`; `None` if the header is invalid.
    fn header_len(self, octets: &[u8]) -> Option<usize> {
        match self {
            Kind::Tcp => octets.get(12).map(|offset| usize::from(offset >> 4) * 4).filter(|len| *len >= 20),
            Kind::Udp => Some(8),
        }
    }
}

/// Offsets in bytes of header fields.
mod at {
    pub const IPV4_LEN: usize = 2;
    pub const IPV4_ID: usize = 4;
    pub const IPV4_CHECKSUM: usize = 10;
    pub const IPV6_LEN: usize = 4;
    pub const TCP_SEQ: usize = 4;
    pub const TCP_FLAGS: usize = 13;
    pub const UDP_LEN: usize = 4;
}

const IPV6_HEADER: usize = 40;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

fn is_v4(packet: &[u8]) -> bool {
    packet[0] >> 4 == 4
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn put(octets: &mut [u8], at: usize, word: u16) {
    octets[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// Writes the packet's length into the IP header, and updates the checksum of an IPv4 header.
fn put_total_len(packet: &mut [u8], ip_len: usize, len: usize) {
    if is_v4(packet) {
        put(packet, at::IPV4_LEN, len as u16);
        put(packet, at::IPV4_CHECKSUM, 0);
        let mut sum = Checksum::default();
        sum.add(&packet[..ip_len]);
        put(packet, at::IPV4_CHECKSUM, sum.value());
    } else {
        put(packet, at::IPV6_LEN, (len - IPV6_HEADER) as u16);
    }
}

/// Returns the checksum of the pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1), without a routing header.
fn pseudo_header(packet: &[u8], kind: Kind, body_len: usize) -> Checksum {
    let mut sum = Checksum::default();
    sum.add(if is_v4(packet) { &packet[12..20] } else { &packet[8..IPV6_HEADER] });
    sum.add(&[0, kind.protocol()]);
    sum.add(&(body_len as u32).to_be_bytes());
    sum
}
