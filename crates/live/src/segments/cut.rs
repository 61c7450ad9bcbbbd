//! Cuts a large packet of the kernel into the packets that the kernel's own segmentation would create.

use super::{
    CWR, FIN, IPV6_HEADER, KIND_NONE, KIND_TCP_V4, KIND_TCP_V6, KIND_UDP, Kind, NEEDS_CHECKSUM, Offload, PSH, WITH_CWR,
    at, is_v4, pseudo_header, put, put_total_len, word,
};
use lopsided_core::wire::Checksum;

/// Progress of cutting one large packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    kind: Kind,
    ip_len: usize,
    /// Length of all headers in bytes, including the transport header.
    header_len: usize,
    /// Payload size in bytes of each packet except the last.
    size: usize,
    /// Checksum of the pseudo-header without the length field.
    pseudo: Checksum,
    /// Number of payload bytes cut so far.
    done: usize,
    /// Number of packets cut so far.
    count: u16,
    /// Length of the whole payload in bytes.
    len: usize,
}

impl Cut {
    /// Starts to cut a packet. Returns `None` if the packet needs no cutting or is malformed.
    pub fn of(offload: &Offload, piece: &[u8]) -> Option<Cut> {
        // The CWR flag may accompany any TCP kind, so mask it out.
        let kind = match offload.kind & !WITH_CWR {
            KIND_TCP_V4 | KIND_TCP_V6 => Kind::Tcp,
            KIND_UDP => Kind::Udp,
            _ => return None,
        };
        let v4 = match piece.first()? >> 4 {
            4 => true,
            6 => false,
            _ => return None,
        };
        let partial = offload.flags & NEEDS_CHECKSUM != 0;
        let ip_len = match (partial, v4) {
            (true, _) => usize::from(offload.checksum_from),
            (false, true) => usize::from(piece[0] & 15) * 4,
            (false, false) => IPV6_HEADER,
        };
        let least = if v4 { 20 } else { IPV6_HEADER };
        let header_len = ip_len + kind.header_len(piece.get(ip_len..)?)?;
        let size = usize::from(offload.size);
        if ip_len < least || piece.len() <= header_len || size == 0 {
            return None;
        }
        if partial && usize::from(offload.checksum_at) != kind.checksum_at() {
            return None;
        }
        let pseudo = if partial {
            // The checksum field contains the sum of the pseudo-header, including the combined packet's length, so
            // subtract this length. Computing the sum again would use the wrong destination if there is a routing
            // header.
            let mut sum = Checksum::default();
            let field = ip_len + kind.checksum_at();
            sum.add(&piece[field..field + 2]);
            sum.add(&(!((piece.len() - ip_len) as u16)).to_be_bytes());
            sum
        } else {
            pseudo_header(piece, kind, 0)
        };
        Some(Cut { kind, ip_len, header_len, size, pseudo, done: 0, count: 0, len: piece.len() - header_len })
    }

    pub fn has_more(&self) -> bool {
        self.done < self.len
    }

    /// Writes the next packet into `packet`, replacing its contents. Returns false if all packets have been written.
    pub fn next(&mut self, piece: &[u8], packet: &mut Vec<u8>) -> bool {
        if !self.has_more() {
            return false;
        }
        let payload = &piece[self.header_len..self.header_len + self.len];
        let end = payload.len().min(self.done + self.size);
        packet.clear();
        packet.extend_from_slice(&piece[..self.header_len]);
        packet.extend_from_slice(&payload[self.done..end]);
        // Segmentation increases the IPv4 identification by 1 for each packet.
        if is_v4(packet) {
            let id = word(packet, at::IPV4_ID).wrapping_add(self.count);
            put(packet, at::IPV4_ID, id);
        }
        let len = packet.len();
        put_total_len(packet, self.ip_len, len);
        let body = &mut packet[self.ip_len..];
        match self.kind {
            Kind::Tcp => {
                let seq = u32::from_be_bytes([
                    body[at::TCP_SEQ],
                    body[at::TCP_SEQ + 1],
                    body[at::TCP_SEQ + 2],
                    body[at::TCP_SEQ + 3],
                ]);
                let seq = seq.wrapping_add(self.done as u32);
                body[at::TCP_SEQ..at::TCP_SEQ + 4].copy_from_slice(&seq.to_be_bytes());
                // CWR belongs to the first segment only, FIN and PSH to the last.
                if self.count > 0 {
                    body[at::TCP_FLAGS] &= !CWR;
                }
                if end < payload.len() {
                    body[at::TCP_FLAGS] &= !(FIN | PSH);
                }
            }
            Kind::Udp => put(body, at::UDP_LEN, body.len() as u16),
        }
        let mut sum = self.pseudo;
        sum.add(&(body.len() as u16).to_be_bytes());
        put(body, self.kind.checksum_at(), 0);
        sum.add(body);
        let value = match (self.kind, sum.value()) {
            // RFC 768: a checksum field of 0 means that there is no checksum, so a sum of 0 is sent as 0xffff.
            (Kind::Udp, 0) => 0xffff,
            (_, value) => value,
        };
        put(body, self.kind.checksum_at(), value);
        self.done = end;
        self.count = self.count.wrapping_add(1);
        true
    }
}

/// Completes the checksum of a single packet if the kernel left it incomplete.
pub(crate) fn complete(offload: &Offload, packet: &mut [u8]) {
    if offload.flags & NEEDS_CHECKSUM == 0 || offload.kind != KIND_NONE {
        return;
    }
    let from = usize::from(offload.checksum_from);
    let field = from + usize::from(offload.checksum_at);
    if field + 2 > packet.len() {
        return;
    }
    let mut sum = Checksum::default();
    sum.add(&packet[from..]);
    // RFC 768: UDP transmits a checksum of 0 as 0xffff, because 0 means that there is no checksum.
    let value = match sum.value() {
        0 => 0xffff,
        value => value,
    };
    put(packet, field, value);
}
