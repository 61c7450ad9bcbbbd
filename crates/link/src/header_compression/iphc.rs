//! IP header compression for TCP (RFC 2507): RFC 1144's differences including options and ECN, over IPv4 and IPv6, with
//! two ways to repair a lost context.
//!
//! A compressed header has the context's number, a byte of flags, TCP's checksum, and the changes (section 6):
//! differences as in RFC 1144, all options if they changed, and one byte for ECN marks and their feedback flags, which
//! are not stored. It takes at least 4 bytes, and 16 with timestamps that tick.
//!
//! **Twice** (section 10.1): if a header does not fit, the same difference is applied once or twice more, for one or
//! two lost packets of the same step. **Header requests** (section 10.2): if that fails, the far end requests a header,
//! once until it gets an answer (again after 16 packets that it cannot rebuild), and the next packet carries everything
//! except addresses and ports (`COMPRESSED_TCP_NODELTA`, 19 bytes and options).
//!
//! Sent in full: a connection's first packet; a repetition or a step back (a retransmission, or a duplicate ACK without
//! timestamps: the far end may have lost its context); a changed TTL or DSCP; a jump of 64 KiB. Sent unchanged: SYN,
//! FIN, RST, headers with IP options or unreadable TCP options, and everything that is not TCP.
//!
//! Not implemented: compression of UDP and tunnels, sequence numbers for links that reorder (section 11), RTP (RFC
//! 2508). Its negotiation in PPP (RFC 2509) costs no bytes later.

use crate::header_compression::config::HeaderCompressionConfig;
use crate::header_compression::contexts::Contexts;
use crate::header_compression::deltas::{Deltas, NEW_ID, PUSH, push_delta, take_delta};
use crate::header_compression::frame::{Frame, Scheme};
use crate::header_compression::header::Header;
use lopsided_core::Packet;

/// In the second byte, in addition to the bits of [`Deltas`] (section 6).
const RESERVED: u8 = 0x80;
const OPTIONS: u8 = 0x40;
/// Replaces the flags in a header without differences. The link layer identifies its packet type.
const NO_DELTA: u8 = 0xff;

/// The far end requests again after this many packets that it could not rebuild.
const ASK_AGAIN: u32 = 16;

/// A connection as either end remembers it.
#[derive(Clone, Debug)]
struct Context {
    header: Header,
    /// Bytes of data after the header.
    payload: u32,
}

/// Both ends.
#[derive(Debug)]
pub(super) struct Iphc {
    near: Contexts<Context>,
    /// By context: the far end has requested a header.
    asked: Vec<bool>,
    far: Vec<Option<Context>>,
    twice: bool,
    feedback: bool,
    /// By context: packets that could not be rebuilt since the request.
    lost: Vec<u32>,
    request: Option<u8>,
}

impl Iphc {
    pub(super) fn new(config: &HeaderCompressionConfig) -> Iphc {
        Iphc {
            near: Contexts::new(0..config.slots),
            asked: vec![false; config.slots as usize],
            far: (0..config.slots).map(|_| None).collect(),
            twice: config.twice,
            feedback: config.feedback,
            lost: vec![0; config.slots as usize],
            request: None,
        }
    }

    /// Rebuilds the packet's header and stores it. False if the result is not the sent header.
    fn rebuild(&mut self, octets: &[u8], sent: &Header, payload: u32) -> bool {
        let [number, flags, rest @ ..] = octets else { return false };
        let Some(context) = &mut self.far[usize::from(*number)] else { return false };
        if *flags == NO_DELTA {
            *context = Context { header: sent.clone(), payload };
            return true;
        }
        let Some(change) = Change::read(*flags, &rest[2..], context.payload) else { return false };
        let tries = if self.twice { 3 } else { 1 };
        for _ in 0..tries {
            change.apply(&mut context.header);
            // Fields carried completely are as sent.
            let rebuilt = Header {
                options: carried(flags & OPTIONS, &sent.options, &context.header.options),
                ..context.header.clone()
            };
            let rebuilt = Header {
                push: flags & PUSH != 0,
                reserved: carried(flags & RESERVED, &sent.reserved, &rebuilt.reserved),
                ..rebuilt
            };
            // IP's identification may be wrong: TCP's checksum does not cover it.
            if (Header { id: sent.id, ..rebuilt.clone() }) == *sent {
                *context = Context { header: Header { reserved: context.header.reserved, ..rebuilt }, payload };
                return true;
            }
        }
        false
    }
}

/// A field carried completely, or the context's.
fn carried<T: Clone>(flag: u8, sent: &T, known: &T) -> T {
    if flag == 0 { known.clone() } else { sent.clone() }
}

impl Scheme for Iphc {
    fn compress(&mut self, packet: &Packet) -> Frame {
        let Some(new) = Header::of(packet) else { return Frame::Ip };
        let payload = packet.payload().len();
        let (number, context) = self.near.bring(|old| old.header.is_connection_of(&new));
        let (old, asked) = (context.take(), std::mem::take(&mut self.asked[usize::from(number)]));
        let frame = match &old {
            None => Frame::Full { slot: number },
            Some(old) if asked => without_differences(number, &old.header, &new),
            Some(old) => Change::between(old, &new, payload)
                .map_or(Frame::Full { slot: number }, |change| Frame::Compressed(change.into_header(number, &new))),
        };
        // The flags of marks are stored from full headers only.
        let reserved = match (&frame, old) {
            (Frame::Compressed(octets), Some(old)) if octets[1] != NO_DELTA => old.header.reserved,
            _ => new.reserved,
        };
        *context = Some(Context { header: Header { reserved, ..new }, payload });
        frame
    }

    fn decompress(&mut self, frame: &Frame, packet: &Packet) -> bool {
        let (number, whole) = match frame {
            Frame::Ip => return true,
            Frame::Damaged => return false,
            Frame::Full { slot } => {
                let header = Header::of(packet).expect("only such go in full");
                self.far[usize::from(*slot)] = Some(Context { header, payload: packet.payload().len() });
                (*slot, true)
            }
            Frame::Compressed(octets) => {
                let sent = Header::of(packet).expect("only such are compressed");
                (octets[0], self.rebuild(octets, &sent, packet.payload().len()))
            }
        };
        let lost = &mut self.lost[usize::from(number)];
        *lost = if whole { 0 } else { *lost + 1 };
        self.request = (self.feedback && *lost % ASK_AGAIN == 1).then_some(number);
        whole
    }

    fn poll_request(&mut self) -> Option<u8> {
        self.request.take()
    }

    fn on_request(&mut self, context: u8) {
        self.asked[usize::from(context)] = true;
    }
}

/// The contents of a compressed header.
#[derive(Debug)]
struct Change {
    flags: u8,
    deltas: Deltas,
    id: u16,
}

impl Change {
    /// `None` if the packet is sent in full.
    fn between(old: &Context, new: &Header, payload: u32) -> Option<Change> {
        let before = &old.header;
        if (before.dscp, before.ttl) != (new.dscp, new.ttl) {
            return None;
        }
        let deltas = Deltas {
            window: new.window.wrapping_sub(before.window),
            ack: u16::try_from(new.ack.since(before.ack)).ok()?,
            seq: u16::try_from(new.seq.since(before.seq)).ok()?,
        };
        let same_options = before.options == new.options;
        if same_options && deltas.repeat(old.payload, payload) {
            return None;
        }
        let id = new.id.zip(before.id).map_or(1, |(new, old)| new.wrapping_sub(old));
        let others = [
            (NEW_ID, id != 1),
            (PUSH, new.push),
            (OPTIONS, !same_options),
            (RESERVED, before.reserved != new.reserved),
        ];
        let fields = deltas.bits(old.payload);
        let flags = others.iter().filter(|(_, set)| *set).fold(fields, |flags, (flag, _)| flags | flag);
        Some(Change { flags, deltas, id })
    }

    fn into_header(self, number: u8, new: &Header) -> Vec<u8> {
        // The place of the checksum, which is not computed.
        let mut octets = vec![number, self.flags, 0, 0];
        if self.flags & RESERVED != 0 {
            octets.push(0);
        }
        self.deltas.push(self.flags, &mut octets);
        if self.flags & NEW_ID != 0 {
            push_delta(&mut octets, self.id);
        }
        if self.flags & OPTIONS != 0 {
            octets.resize(octets.len() + new.options.len() as usize, 0);
        }
        octets
    }

    /// `octets` follow the checksum.
    fn read(flags: u8, octets: &[u8], payload_before: u32) -> Option<Change> {
        let mut octets = octets.iter().copied().skip(usize::from(flags & RESERVED != 0));
        let deltas = Deltas::take(flags, &mut octets, payload_before)?;
        let id = if flags & NEW_ID == 0 { 1 } else { take_delta(&mut octets)? };
        Some(Change { flags, deltas, id })
    }

    /// Applies the differences once.
    fn apply(&self, header: &mut Header) {
        header.seq += u32::from(self.deltas.seq);
        header.ack += u32::from(self.deltas.ack);
        header.window = header.window.wrapping_add(self.deltas.window);
        header.id = header.id.map(|id| id.wrapping_add(self.id));
    }
}

/// The answer to a request: everything except the connection's key (section 6 b). In full if an omitted field has
/// changed.
fn without_differences(number: u8, old: &Header, new: &Header) -> Frame {
    if (old.dscp, old.ttl, old.reserved.0) != (new.dscp, new.ttl, new.reserved.0) {
        return Frame::Full { slot: number };
    }
    // IPv4's identification, and TCP's header without the ports.
    let random = if new.id.is_some() { 2 } else { 0 };
    let mut octets = vec![0; 1 + random + 16 + new.options.len() as usize];
    (octets[0], octets[1]) = (number, NO_DELTA);
    Frame::Compressed(octets)
}
