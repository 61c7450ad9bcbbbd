//! Van Jacobson's compression of TCP/IP headers (RFC 1144): the differences to the header before of the same
//! connection.
//!
//! A compressed header is an octet of bits for what changed, the connection's slot where it is not that of the packet
//! before, TCP's checksum, and a difference of one or three octets for each field that changed: 3 octets at least,
//! where 40 were.
//!
//! What it cannot compress goes in full, and sets the context of both ends anew: a connection's first packet, one whose
//! options are not those of the packet before (timestamps that tick, SACK blocks), a change of TTL or of the type of
//! service (ECN marks), sequence or acknowledgement numbers that go back or jump by 64 KiB, and a packet that repeats
//! the one before: it is probably a retransmission, and the far end may have lost its context (section 3.2.3). SYN,
//! FIN, RST and anything but TCP over IPv4 go as they are.
//!
//! Left out: the urgent pointer. A packet with URG, or with a flag that came after the RFC (ECE, CWR and later), goes
//! as it is, for the compressed header has no place for these. So do headers with IP options, or options of TCP that
//! cannot be read.

use crate::header_compression::frame::{Frame, Scheme};
use lopsided_core::packet::{Addresses, Flags, TcpOptions};
use lopsided_core::{Ecn, Packet, Seq};

/// The bits of the first octet, as the RFC names them (section 3.2.2).
const NEW_SLOT: u8 = 0x40;
const NEW_ID: u8 = 0x20;
const PUSH: u8 = 0x10;
const NEW_SEQ: u8 = 0x08;
const NEW_ACK: u8 = 0x04;
const NEW_WINDOW: u8 = 0x02;
const NEW_URGENT: u8 = 0x01;
/// Sequence and acknowledgement number both advance by the data of the packet before: echoed typing.
const SPECIAL_INTERACTIVE: u8 = NEW_SEQ | NEW_WINDOW | NEW_URGENT;
/// The sequence number advances by the data of the packet before: one way of bulk data.
const SPECIAL_DATA: u8 = NEW_SEQ | NEW_ACK | NEW_WINDOW | NEW_URGENT;
/// Which fields changed, and the special cases.
const FIELDS: u8 = SPECIAL_DATA;

/// A connection's header as both ends remember it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    constant: Constant,
    id: u16,
    varying: Varying,
    /// The octets of data behind the header.
    payload: u32,
}

/// What tells the connection, and what no compressed header can change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Constant {
    addresses: Addresses,
    ports: (u16, u16),
    dscp: u8,
    ecn: Ecn,
    ttl: u8,
    options: TcpOptions,
}

/// What a compressed header says of a packet, but for IP's identification, which TCP's checksum does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Varying {
    seq: Seq,
    ack: Seq,
    window: u16,
    push: bool,
}

impl Context {
    /// `None` where the packet goes as it is.
    fn of(packet: &Packet) -> Option<Context> {
        let tcp = packet.tcp().filter(|_| packet.is_read_whole())?;
        let (ip, flags) = (packet.ip(), tcp.flags);
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

/// Both ends.
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

/// The sending end: the slots, those used last in front.
#[derive(Debug)]
struct Compressor {
    slots: Vec<(u8, Option<Context>)>,
    compress_slot: bool,
    last_sent: Option<u8>,
}

impl Compressor {
    fn new(slots: u32, compress_slot: bool) -> Compressor {
        let slots = (0..slots).map(|slot| (slot as u8, None)).collect();
        Compressor { slots, compress_slot, last_sent: None }
    }

    fn compress(&mut self, packet: &Packet) -> Frame {
        let Some(new) = Context::of(packet) else { return Frame::Ip };
        let (slot, old) = self.take_slot(&new);
        let changes = old.as_ref().and_then(|old| Changes::between(old, &new));
        self.slots[0].1 = Some(new);
        let named = !self.compress_slot || self.last_sent != Some(slot);
        self.last_sent = Some(slot);
        match changes {
            None => Frame::Full { slot },
            Some(changes) => Frame::Compressed(changes.into_header(named.then_some(slot))),
        }
    }

    /// The connection's slot, or else the one that was not used for longest, goes to the front. Its context is the
    /// connection's.
    fn take_slot(&mut self, new: &Context) -> (u8, Option<Context>) {
        let known =
            |(_, context): &(u8, Option<Context>)| context.as_ref().is_some_and(|old| old.is_connection_of(new));
        let found = self.slots.iter().position(known);
        let place = found.unwrap_or(self.slots.len() - 1);
        self.slots[..=place].rotate_right(1);
        let (slot, context) = &mut self.slots[0];
        (*slot, context.take().filter(|_| found.is_some()))
    }
}

/// What a compressed header says.
#[derive(Debug)]
struct Changes {
    bits: u8,
    deltas: Vec<u8>,
}

impl Changes {
    /// `None` where the packet goes in full.
    fn between(old: &Context, new: &Context) -> Option<Changes> {
        if old.constant != new.constant {
            return None;
        }
        let mut changes = Changes { bits: 0, deltas: Vec::with_capacity(12) };
        changes.field(NEW_WINDOW, new.varying.window.wrapping_sub(old.varying.window));
        let ack = u16::try_from(new.varying.ack.since(old.varying.ack)).ok()?;
        changes.field(NEW_ACK, ack);
        let seq = u16::try_from(new.varying.seq.since(old.varying.seq)).ok()?;
        changes.field(NEW_SEQ, seq);
        let follows = u32::from(seq) == old.payload;
        match changes.bits {
            // Data behind an ACK alone. Anything else is probably a retransmission, or the probe of a window.
            0 if new.payload == 0 || old.payload > 0 => return None,
            bits if bits == NEW_SEQ | NEW_ACK && seq == ack && follows => changes.special(SPECIAL_INTERACTIVE),
            NEW_SEQ if follows => changes.special(SPECIAL_DATA),
            _ => {}
        }
        let id = new.id.wrapping_sub(old.id);
        if id != 1 {
            changes.bits |= NEW_ID;
            push_delta(&mut changes.deltas, id);
        }
        if new.varying.push {
            changes.bits |= PUSH;
        }
        Some(changes)
    }

    fn field(&mut self, bit: u8, delta: u16) {
        if delta != 0 {
            self.bits |= bit;
            push_delta(&mut self.deltas, delta);
        }
    }

    fn special(&mut self, case: u8) {
        self.bits = case;
        self.deltas.clear();
    }

    fn into_header(self, slot: Option<u8>) -> Vec<u8> {
        let mut header = vec![self.bits | slot.map_or(0, |_| NEW_SLOT)];
        header.extend(slot);
        // The place of the checksum, which is not computed.
        header.extend([0, 0]);
        header.extend(self.deltas);
        header
    }
}

/// From 1 to 255 in one octet, others in three of which the first is zero.
pub(super) fn push_delta(deltas: &mut Vec<u8>, delta: u16) {
    match u8::try_from(delta) {
        Ok(small @ 1..) => deltas.push(small),
        _ => {
            deltas.push(0);
            deltas.extend(delta.to_be_bytes());
        }
    }
}

/// The receiving end.
#[derive(Debug)]
struct Decompressor {
    slots: Vec<Option<Context>>,
    last_received: Option<u8>,
    /// After an error, packets that do not name their slot are tossed: they may belong to another connection (section
    /// 4.1).
    tossing: bool,
}

impl Decompressor {
    fn new(slots: u32) -> Decompressor {
        Decompressor { slots: (0..slots).map(|_| None).collect(), last_received: None, tossing: false }
    }

    /// Whether what is rebuilt from the frame is the packet.
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
                // IP's identification may be wrong: no checksum of TCP's tells.
                rebuilt.zip(sent).is_some_and(|(rebuilt, sent)| Context { id: sent.id, ..rebuilt.clone() } == sent)
            }
            Frame::Damaged => false,
        }
    }

    /// The packet's header after the changes, which is what the slot holds from now on. `None` while packets are
    /// tossed.
    fn rebuild(&mut self, header: &[u8], payload: u32) -> Option<&Context> {
        let mut octets = header.iter().copied();
        let bits = octets.next()?;
        if bits & NEW_SLOT != 0 {
            self.last_received = octets.next();
            self.tossing = false;
        }
        if self.tossing {
            return None;
        }
        let context = self.slots[usize::from(self.last_received?)].as_mut()?;
        let (_checksum, varying) = ((octets.next()?, octets.next()?), &mut context.varying);
        match bits & FIELDS {
            SPECIAL_INTERACTIVE => {
                varying.ack += context.payload;
                varying.seq += context.payload;
            }
            SPECIAL_DATA => varying.seq += context.payload,
            fields => {
                let mut delta = |bit| if fields & bit == 0 { Some(0) } else { take_delta(&mut octets) };
                varying.window = varying.window.wrapping_add(delta(NEW_WINDOW)?);
                varying.ack += u32::from(delta(NEW_ACK)?);
                varying.seq += u32::from(delta(NEW_SEQ)?);
            }
        }
        let id = if bits & NEW_ID == 0 { 1 } else { take_delta(&mut octets)? };
        context.id = context.id.wrapping_add(id);
        varying.push = bits & PUSH != 0;
        context.payload = payload;
        Some(context)
    }
}

pub(super) fn take_delta(octets: &mut impl Iterator<Item = u8>) -> Option<u16> {
    match octets.next()? {
        0 => Some(u16::from_be_bytes([octets.next()?, octets.next()?])),
        small => Some(u16::from(small)),
    }
}
