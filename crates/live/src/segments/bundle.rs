//! Combines packets into one large packet if the kernel's segmentation restores the original packets byte for byte.
//!
//! Such packets are consecutive segments of one TCP connection, or datagrams of one UDP flow. They may differ only in
//! the fields that segmentation writes:
//!
//! - lengths, sequence numbers and checksums, all of which are correct,
//! - the IPv4 identification, which increases by 1 per packet,
//! - CWR on the first packet, PSH and FIN on the last.
//!
//! All packets have the same size, except that the last packet may be smaller. Left out: IP options and extension
//! headers, and segments with SYN, RST or URG.

use super::{
    CWR, FIN, IPV6_HEADER, KIND_TCP_V4, KIND_TCP_V6, KIND_UDP, Kind, NEEDS_CHECKSUM, OFFLOAD, Offload, PSH, WITH_CWR,
    at, is_v4, pseudo_header, put, put_total_len, word,
};
use lopsided_core::wire::{Checksum, PROTOCOL_TCP, PROTOCOL_UDP};

/// Size of the largest combined packet in bytes: the IP length field has 16 bits.
const MOST: usize = 65_535;
/// Largest number of datagrams that the kernel accepts in one packet (`UDP_MAX_SEGMENTS`).
const MOST_DATAGRAMS: usize = 64;

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
/// TCP flags that are permitted in the segments of a bundle.
const USUAL: u8 = ACK | ECE | CWR | PSH | FIN;

/// Packets to be written with one call.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// An [`Offload`] header, followed by the combined packet.
    octets: Vec<u8>,
    count: usize,
    /// Properties of the first packet; `None` if no packet may be appended.
    head: Option<Head>,
    /// True if the checksums of the first packet were verified.
    is_verified: bool,
    /// True if the kernel accepts bundles of UDP datagrams.
    with_datagrams: bool,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    kind: Kind,
    ip_len: usize,
    header_len: usize,
    /// Payload size in bytes of each packet except the last.
    size: usize,
}

impl Bundle {
    /// Creates an empty bundle. `with_datagrams` is true if the kernel accepts bundles of UDP datagrams, as Linux does
    /// since 6.2.
    pub fn new(with_datagrams: bool) -> Bundle {
        Bundle { octets: Vec::new(), count: 0, head: None, is_verified: false, with_datagrams }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of packets in the bundle.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends a packet. Returns false if the packet does not fit into the bundle. The caller must then first write the
    /// bundle.
    pub fn take(&mut self, packet: &[u8]) -> bool {
        if self.count == 0 {
            self.octets.clear();
            self.octets.extend_from_slice(&[0; OFFLOAD]);
            self.octets.extend_from_slice(packet);
            let may_lead = |head: &Head| !head.is_last(packet) && (head.kind == Kind::Tcp || self.with_datagrams);
            self.head = Head::of(packet).filter(may_lead);
            (self.count, self.is_verified) = (1, false);
            return true;
        }
        let Some(head) = self.head else { return false };
        if !self.may_follow(&head, packet) {
            return false;
        }
        // Segmentation replaces a wrong checksum by a correct one, so the first packet's checksums must be verified.
        // They are verified only when a second packet arrives, because most bundles contain just one packet.
        if self.count == 1 {
            self.is_verified = is_correct(&self.octets[OFFLOAD..], &head);
        }
        if !self.is_verified || !is_correct(packet, &head) {
            return false;
        }
        self.octets.extend_from_slice(&packet[head.header_len..]);
        self.count += 1;
        let full = head.kind == Kind::Udp && self.count == MOST_DATAGRAMS;
        // Only the last packet of a segmented packet may be smaller than all others, so a small packet ends the bundle.
        if full || head.is_last(packet) || packet.len() < head.header_len + head.size {
            self.head = None;
        }
        if head.kind == Kind::Tcp {
            let flags = OFFLOAD + head.ip_len + at::TCP_FLAGS;
            self.octets[flags] |= packet[head.ip_len + at::TCP_FLAGS] & (FIN | PSH);
        }
        if self.head.is_none() {
            self.seal(&head);
        }
        true
    }

    /// Returns the bytes to write for all packets in the bundle, with an [`Offload`] header in front.
    pub fn whole(&mut self) -> &[u8] {
        if let Some(head) = self.head.take().filter(|_| self.count > 1) {
            self.seal(&head);
        }
        &self.octets
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    fn may_follow(&self, head: &Head, packet: &[u8]) -> bool {
        let first = &self.octets[OFFLOAD..];
        if self.octets.len() - OFFLOAD + packet.len() - head.header_len.min(packet.len()) > MOST {
            return false;
        }
        let Some(next) = Head::of(packet) else { return false };
        // Segmentation creates packets of equal size, except that the last packet may be smaller.
        if (next.kind, next.ip_len, next.header_len) != (head.kind, head.ip_len, head.header_len)
            || next.size > head.size
            || is_v4(first) != is_v4(packet)
        {
            return false;
        }
        // Segmentation increases IPv4's identification by 1 per packet and copies all other fields.
        let same_ip = if is_v4(first) {
            first[..at::IPV4_LEN] == packet[..at::IPV4_LEN]
                && word(packet, at::IPV4_ID) == word(first, at::IPV4_ID).wrapping_add(self.count as u16)
                && first[6..at::IPV4_CHECKSUM] == packet[6..at::IPV4_CHECKSUM]
                && first[12..20] == packet[12..20]
        } else {
            first[..at::IPV6_LEN] == packet[..at::IPV6_LEN] && first[6..IPV6_HEADER] == packet[6..IPV6_HEADER]
        };
        let (mine, its) = (&first[head.ip_len..head.header_len], &packet[head.ip_len..head.header_len]);
        same_ip
            && match head.kind {
                Kind::Udp => mine[..at::UDP_LEN] == its[..at::UDP_LEN],
                Kind::Tcp => {
                    let seq = |header: &[u8]| u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
                    let sent = (head.size * self.count) as u32;
                    // The sequence number must continue. CWR is permitted only on the first segment, and FIN and PSH
                    // only on the last segment.
                    mine[..at::TCP_SEQ] == its[..at::TCP_SEQ]
                        && seq(its) == seq(mine).wrapping_add(sent)
                        && mine[8..at::TCP_FLAGS] == its[8..at::TCP_FLAGS]
                        && mine[at::TCP_FLAGS] & !CWR == its[at::TCP_FLAGS] & !(FIN | PSH)
                        && mine[14..16] == its[14..16]
                        && mine[18..] == its[18..]
                }
            }
    }

    /// Changes the headers of the first packet into the headers of the combined packet.
    fn seal(&mut self, head: &Head) {
        let packet = &mut self.octets[OFFLOAD..];
        let len = packet.len();
        let body_len = len - head.ip_len;
        let v4 = is_v4(packet);
        put_total_len(packet, head.ip_len, len);
        if head.kind == Kind::Udp {
            put(packet, head.ip_len + at::UDP_LEN, body_len as u16);
        }
        // The checksum field contains only the sum of the pseudo-header. The kernel or the device completes the
        // checksum.
        let pseudo = !pseudo_header(packet, head.kind, body_len).value();
        put(packet, head.ip_len + head.kind.checksum_at(), pseudo);
        let with_cwr = head.kind == Kind::Tcp && packet[head.ip_len + at::TCP_FLAGS] & CWR != 0;
        let kind = match head.kind {
            Kind::Tcp if v4 => KIND_TCP_V4,
            Kind::Tcp => KIND_TCP_V6,
            Kind::Udp => KIND_UDP,
        };
        let offload = Offload {
            flags: NEEDS_CHECKSUM,
            kind: if with_cwr { kind | WITH_CWR } else { kind },
            header_len: head.header_len as u16,
            size: head.size as u16,
            checksum_from: head.ip_len as u16,
            checksum_at: head.kind.checksum_at() as u16,
        };
        self.octets[..OFFLOAD].copy_from_slice(&offload.write());
    }
}

impl Head {
    /// Parses a packet's headers. Returns `None` if the packet cannot be part of a bundle.
    fn of(packet: &[u8]) -> Option<Head> {
        let (ip_len, protocol, len) = match packet.first()? >> 4 {
            // Accept IPv4 without options, unless the packet is a fragment.
            4 if packet[0] == 0x45 && packet.len() >= 20 && word(packet, 6) & !0x4000 == 0 => {
                (20, packet[9], usize::from(word(packet, at::IPV4_LEN)))
            }
            6 if packet.len() >= IPV6_HEADER => {
                (IPV6_HEADER, packet[6], IPV6_HEADER + usize::from(word(packet, at::IPV6_LEN)))
            }
            _ => return None,
        };
        let kind = match protocol {
            PROTOCOL_TCP => Kind::Tcp,
            PROTOCOL_UDP => Kind::Udp,
            _ => return None,
        };
        let body = &packet[ip_len..];
        let header_len = ip_len + kind.header_len(body)?;
        if len != packet.len() || len <= header_len {
            return None;
        }
        let is_usual = match kind {
            // Accept a TCP segment if it has the ACK flag, as every data segment does, and if no reserved bit and no
            // urgent pointer is set.
            Kind::Tcp => {
                body[12] & 15 == 0
                    && body[at::TCP_FLAGS] & !USUAL == 0
                    && body[at::TCP_FLAGS] & ACK != 0
                    && word(body, 18) == 0
            }
            Kind::Udp => usize::from(word(body, at::UDP_LEN)) == body.len() && word(body, 6) != 0,
        };
        is_usual.then_some(Head { kind, ip_len, header_len, size: len - header_len })
    }

    /// Returns true if this packet must be the last packet of its bundle.
    fn is_last(&self, packet: &[u8]) -> bool {
        self.kind == Kind::Tcp && packet[self.ip_len + at::TCP_FLAGS] & (FIN | PSH) != 0
    }
}

/// Returns true if both checksums equal the checksums that segmentation would write.
fn is_correct(packet: &[u8], head: &Head) -> bool {
    if is_v4(packet) {
        let mut sum = Checksum::default();
        sum.add(&packet[..head.ip_len]);
        if !sum.is_intact() || word(packet, at::IPV4_CHECKSUM) == 0xffff {
            return false;
        }
    }
    let body = &packet[head.ip_len..];
    let mut sum = pseudo_header(packet, head.kind, body.len());
    sum.add(body);
    // Ones' complement has two representations of zero. For TCP, segmentation writes 0x0000 and never 0xffff. For UDP,
    // 0x0000 means that there is no checksum.
    sum.is_intact() && (head.kind == Kind::Udp || word(body, head.kind.checksum_at()) != 0xffff)
}
