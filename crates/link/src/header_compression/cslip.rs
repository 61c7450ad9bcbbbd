//! Van Jacobson's compression of TCP/IP headers (RFC 1144). A compressed header contains the differences from the
//! previous header of the same connection.
//!
//! A compressed header consists of a byte of flags, TCP's checksum, and a difference of 1 or 3 bytes for each changed
//! field. It takes at least 3 bytes instead of 40.
//!
//! A packet that the scheme cannot compress is sent in full and resets the context of both ends:
//!
//! - the first packet of a connection,
//! - a packet with changed options (timestamp ticks, SACK blocks), TTL or type of service (ECN marks),
//! - a packet whose sequence or acknowledgement number goes back or jumps by 64 KiB,
//! - a packet that repeats the previous header: the packet is probably a retransmission, and the far end may have lost
//!   its context (section 3.2.3).
//!
//! Segments with SYN, FIN, RST, URG or newer flags (ECE, CWR) are sent unchanged. The same applies to packets with IP
//! options or unreadable TCP options, and to all packets other than TCP over IPv4.
//!
//! Not implemented: the urgent pointer.

use crate::header_compression::contexts::Contexts;
use crate::header_compression::deltas::{Deltas, NEW_ID, PUSH, push_delta, take_delta};
use crate::header_compression::frame::{Frame, Scheme};
use lopsided_core::packet::{Addresses, Flags, TcpOptions};
use lopsided_core::{Ecn, Packet, Seq};

/// Flag in the first byte: the connection's slot follows (RFC 1144, section 3.2.2). The other flags are those of
/// [`Deltas`].
const NEW_SLOT: u8 = 0x40;

/// The header of a connection that both ends store.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    constant: Constant,
    id: u16,
    varying: Varying,
    /// Size of the payload after the header, in bytes.
    payload: u32,
}

/// The fields that a compressed header cannot change, including those that identify the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Constant {
    addresses: Addresses,
    ports: (u16, u16),
    dscp: u8,
    ecn: Ecn,
    ttl: u8,
    options: TcpOptions,
}

/// The fields that a compressed header can change. IP's identification is stored separately, because TCP's checksum
/// does not cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Varying {
    seq: Seq,
    ack: Seq,
    window: u16,
    push: bool,
}

impl Context {
    /// Returns the context after this packet; `None` if the packet is sent unchanged.
    fn of(packet: &Packet) -> Option<Context> {
        let tcp = packet.tcp().filter(|_| packet.is_read_whole())?;
        let (ip, flags) = (packet.ip(), tcp.flags);
        // RFC 1144, section 3.2.3: a segment without ACK, or with SYN, FIN or RST, is sent uncompressed.
        let compressible = flags == Flags::ACK || flags == Flags::ACK.with(Flags::PSH);
        if !compressible || !matches!(ip.addresses, Addresses::V4 { .. }) {
            return None;
        }
        Some(Context {
            constant: Constant {
                addresses: ip.addresses,
                ports: (tcp.src_port, tcp.dst_port),
                dscp: ip.dscp,
                ecn: ip.ecn,
                ttl: ip.ttl,
                options: tcp.options.clone(),
            },
            id: packet.identification(),
            varying: Varying { seq: tcp.seq, ack: tcp.ack, window: tcp.window, push: flags.has(Flags::PSH) },
            payload: packet.payload().len(),
        })
    }

    fn is_connection_of(&self, other: &Context) -> bool {
        self.constant.addresses == other.constant.addresses && self.constant.ports == other.constant.ports
    }
}

/// The compressor and the decompressor of one line.
#[derive(Debug)]
pub(super) struct Cslip {
    near: Compressor,
    far: Decompressor,
}

impl Cslip {
    pub(super) fn new(slots: u32, compress_slot: bool) -> Cslip {
        Cslip { near: Compressor::new(slots, compress_slot), far: Decompressor::new(slots) }
    }
}

impl Scheme for Cslip {
    fn compress(&mut self, packet: &Packet) -> Frame {
        self.near.compress(packet)
    }

    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool {
        self.far.decompress(frame, packet)
    }

    fn note_error(&mut self) {
        self.far.tossing = true;
    }
}

/// The sending end.
#[derive(Debug)]
struct Compressor {
    slots: Contexts<Context>,
    compress_slot: bool,
    last_sent: Option<u8>,
}

impl Compressor {
    fn new(slots: u32, compress_slot: bool) -> Compressor {
        Compressor { slots: Contexts::new(0..slots), compress_slot, last_sent: None }
    }

    fn compress(&mut self, packet: &Packet) -> Frame {
        let Some(new) = Context::of(packet) else { return Frame::Ip };
        let (slot, context) = self.slots.bring(|old| old.is_connection_of(&new));
        // RFC 1144, section 3.2.2: the slot may be omitted if the previous packet on the line had the same slot.
        let named = !self.compress_slot || self.last_sent != Some(slot);
        let header = context.as_ref().and_then(|old| compressed(old, &new, named.then_some(slot)));
        *context = Some(new);
        self.last_sent = Some(slot);
        header.map_or(Frame::Full { slot }, Frame::Compressed)
    }
}

/// Returns the compressed header, with a slot number if `slot` is `Some`. `None` if the packet must be sent in full.
fn compressed(old: &Context, new: &Context, slot: Option<u8>) -> Option<Vec<u8>> {
    // RFC 1144, section 3.2.3: any change outside the compressed fields needs a full header.
    if old.constant != new.constant {
        return None;
    }
    let deltas = Deltas {
        window: new.varying.window.wrapping_sub(old.varying.window),
        ack: u16::try_from(new.varying.ack.since(old.varying.ack)).ok()?,
        seq: u16::try_from(new.varying.seq.since(old.varying.seq)).ok()?,
    };
    // RFC 1144, section 3.2.3: a repeated header is probably a retransmission after a loss of context.
    if deltas.repeat(old.payload, new.payload) {
        return None;
    }
    // The identification usually increases by 1. The header encodes only other increases.
    let id = new.id.wrapping_sub(old.id);
    let others = [(NEW_SLOT, slot.is_some()), (NEW_ID, id != 1), (PUSH, new.varying.push)];
    let bits = others.iter().filter(|(_, set)| *set).fold(deltas.bits(old.payload), |bits, (bit, _)| bits | bit);
    let mut header = vec![bits];
    header.extend(slot);
    // Space for TCP's checksum. The simulator does not compute checksums, so it stays zero.
    header.extend([0, 0]);
    deltas.push(bits, &mut header);
    if id != 1 {
        push_delta(&mut header, id);
    }
    Some(header)
}

/// The receiving end.
#[derive(Debug)]
struct Decompressor {
    slots: Vec<Option<Context>>,
    last_received: Option<u8>,
    /// True from an error until a packet carries its slot number (RFC 1144, section 4.1). Until then, packets without a
    /// slot number are tossed.
    tossing: bool,
}

impl Decompressor {
    fn new(slots: u32) -> Decompressor {
        Decompressor { slots: (0..slots).map(|_| None).collect(), last_received: None, tossing: false }
    }

    /// Decodes a frame. Returns true if the rebuilt header equals the sent header. This comparison replaces the check
    /// of TCP's checksum.
    #[must_use]
    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool {
        match frame {
            Frame::Ip => true,
            Frame::Full { slot } => {
                self.slots[usize::from(*slot)] = Context::of(packet);
                self.last_received = Some(*slot);
                self.tossing = false;
                true
            }
            Frame::Compressed(header) => {
                let rebuilt = self.rebuild(header, packet.payload().len());
                let sent = Context::of(packet);
                // TCP's checksum does not cover IP's identification, so a wrong identification goes unnoticed.
                rebuilt.zip(sent).is_some_and(|(rebuilt, sent)| Context { id: sent.id, ..rebuilt.clone() } == sent)
            }
            Frame::Damaged => false,
        }
    }

    /// Returns the rebuilt header; `None` if the packet is tossed, its slot is unused, or the header is truncated.
    fn rebuild(&mut self, header: &[u8], payload: u32) -> Option<&Context> {
        let mut octets = header.iter().copied();
        let bits = octets.next()?;
        // A packet that carries its slot number ends the tossing (RFC 1144, section 4.1).
        if bits & NEW_SLOT != 0 {
            self.last_received = octets.next();
            self.tossing = false;
        }
        // RFC 1144, section 4.1: after an error, a packet without a slot may belong to another connection.
        if self.tossing {
            return None;
        }
        let context = self.slots[usize::from(self.last_received?)].as_mut()?;
        let (_checksum, varying) = ((octets.next()?, octets.next()?), &mut context.varying);
        let deltas = Deltas::take(bits, &mut octets, context.payload)?;
        varying.window = varying.window.wrapping_add(deltas.window);
        varying.ack += u32::from(deltas.ack);
        varying.seq += u32::from(deltas.seq);
        let id = if bits & NEW_ID == 0 { 1 } else { take_delta(&mut octets)? };
        context.id = context.id.wrapping_add(id);
        varying.push = bits & PUSH != 0;
        context.payload = payload;
        Some(context)
    }
}
