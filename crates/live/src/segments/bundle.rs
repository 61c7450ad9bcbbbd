//! Packets that leave at once as one piece for the kernel: those alone that its segmentation gives back octet by octet.
//!
//! Such are consecutive segments of one TCP connection, or datagrams of one UDP flow, that differ in nothing but what
//! segmentation writes: lengths, sequence numbers, the identification of IPv4 counted up by one, CWR on the first, PSH
//! and FIN on the last, and checksums, all of which are correct. All are of one size but the last, which may be
//! smaller. Leaves out IP options and extension headers, and segments with SYN, RST or URG.

use super::{
    CWR, FIN, IPV6_HEADER, KIND_TCP_V4, KIND_TCP_V6, KIND_UDP, Kind, NEEDS_CHECKSUM, OFFLOAD, Offload, PSH, WITH_CWR,
    at, is_v4, pseudo_header, put, put_total_len, word,
};
use lopsided_core::wire::{Checksum, PROTOCOL_TCP, PROTOCOL_UDP};

/// A piece is an IP packet, whose length has 16 bits.
const MOST: usize = 65_535;
/// The kernel takes no more datagrams in one piece.
const MOST_DATAGRAMS: usize = 64;

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
/// The flags that segments of one piece may have.
const USUAL: u8 = ACK | ECE | CWR | PSH | FIN;

/// Packets that wait to be written together.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// In front the octets of [`Offload`].
    octets: Vec<u8>,
    count: usize,
    /// Of the first packet, where others may follow it.
    head: Option<Head>,
    /// The first one's checksums were found to be correct.
    is_verified: bool,
    with_datagrams: bool,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    kind: Kind,
    ip_len: usize,
    header_len: usize,
    /// The payload of each but the last.
    size: usize,
}

impl Bundle {
    /// `with_datagrams`: the kernel takes those too, as Linux does from 6.2 on.
    pub fn new(with_datagrams: bool) -> Bundle {
        Bundle { octets: Vec::new(), count: 0, head: None, is_verified: false, with_datagrams }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The packets that are in it.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes one more packet in. False: it cannot follow those that are in it, which are to be written first.
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
        if self.count == 1 {
            self.is_verified = is_correct(&self.octets[OFFLOAD..], &head);
        }
        if !self.is_verified || !is_correct(packet, &head) {
            return false;
        }
        self.octets.extend_from_slice(&packet[head.header_len..]);
        self.count += 1;
        let full = head.kind == Kind::Udp && self.count == MOST_DATAGRAMS;
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

    /// What is to be written for all that is in it, with the octets of [`Offload`] in front.
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
        if (next.kind, next.ip_len, next.header_len) != (head.kind, head.ip_len, head.header_len)
            || next.size > head.size
            || is_v4(first) != is_v4(packet)
        {
            return false;
        }
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
                    mine[..at::TCP_SEQ] == its[..at::TCP_SEQ]
                        && seq(its) == seq(mine).wrapping_add(sent)
                        && mine[8..at::TCP_FLAGS] == its[8..at::TCP_FLAGS]
                        && mine[at::TCP_FLAGS] & !CWR == its[at::TCP_FLAGS] & !(FIN | PSH)
                        && mine[14..16] == its[14..16]
                        && mine[18..] == its[18..]
                }
            }
    }

    /// Makes the first packet's headers those of the whole.
    fn seal(&mut self, head: &Head) {
        let packet = &mut self.octets[OFFLOAD..];
        let len = packet.len();
        let body_len = len - head.ip_len;
        let v4 = is_v4(packet);
        put_total_len(packet, head.ip_len, len);
        if head.kind == Kind::Udp {
            put(packet, head.ip_len + at::UDP_LEN, body_len as u16);
        }
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
    /// `None`: of this packet nothing can be a part of a piece.
    fn of(packet: &[u8]) -> Option<Head> {
        let (ip_len, protocol, len) = match packet.first()? >> 4 {
            // Neither options, nor a fragment.
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
            // Neither reserved bits nor an urgent pointer; and what carries data acknowledges.
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

    /// Segmentation puts nothing behind such a packet.
    fn is_last(&self, packet: &[u8]) -> bool {
        self.kind == Kind::Tcp && packet[self.ip_len + at::TCP_FLAGS] & (FIN | PSH) != 0
    }
}

/// Both checksums are as segmentation would write them.
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
    // Of the two ways to write a sum of nothing, TCP's is zero.
    sum.is_intact() && (head.kind == Kind::Udp || word(body, head.kind.checksum_at()) != 0xffff)
}
