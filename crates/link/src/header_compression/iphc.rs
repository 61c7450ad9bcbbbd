//! IP header compression for TCP (RFC 2507). It extends the differences of RFC 1144 to TCP options, ECN and IPv6, and
//! can repair a lost context in two ways.
//!
//! A compressed header contains the context's number, a byte of flags, TCP's checksum, and the changes (section 6). It
//! takes at least 4 bytes, or 16 if the timestamps have changed.
//!
//! **Twice** (section 10.1): if the checksum fails, the far end applies the same difference once or twice more.
//! **Header requests** (section 10.2): if the checksum still fails, the far end requests a header. It repeats the
//! request after every 16 packets that it cannot decompress. The answer contains all fields except addresses and ports
//! (`COMPRESSED_TCP_NODELTA`).
//!
//! A header is sent in full if one of these conditions is true:
//!
//! - It is the first header of a connection.
//! - TTL or DSCP have changed.
//! - A sequence or acknowledgement number goes back or jumps by 64 KiB.
//! - It repeats the previous header.
//!
//! SYN, FIN, RST, IP options and packets other than TCP are sent unchanged.
//!
//! Not implemented: compression of UDP and tunnels, sequence numbers for links that reorder (section 11), RTP (RFC
//! 2508), and the negotiation in PPP (RFC 2509).

use crate::header_compression::config::HeaderCompressionConfig;
use crate::header_compression::contexts::Contexts;
use crate::header_compression::deltas::{Deltas, NEW_ID, PUSH, push_delta, take_delta};
use crate::header_compression::frame::{Frame, Scheme};
use crate::header_compression::header::Header;
use lopsided_core::Packet;

/// Flag in the second byte: a byte of ECN fields follows (RFC 2507, section 6). The other flags are those of
/// [`Deltas`].
const RESERVED: u8 = 0x80;
/// Flag in the second byte: all options follow.
const OPTIONS: u8 = 0x40;
/// Flags byte of a header without differences. On a real line the link layer marks this packet type.
const NO_DELTA: u8 = 0xff;

/// The far end repeats its request after this many packets that it cannot decompress.
const REQUEST_INTERVAL: u32 = 16;

/// The state that each end stores for a connection.
#[derive(Clone, Debug)]
struct Context {
    header: Header,
    /// Size of the payload after the header, in bytes.
    payload: u32,
}

/// The compressor and the decompressor of one line.
#[derive(Debug)]
pub(super) struct Iphc {
    near: Contexts<Context>,
    /// For each context, true if the far end has requested a header.
    asked: Vec<bool>,
    far: Vec<Option<Context>>,
    twice: bool,
    feedback: bool,
    /// For each context, number of consecutive packets that the far end could not decompress.
    lost: Vec<u32>,
    /// The context whose header the far end requests next.
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

    /// Rebuilds and stores the packet's header. Returns false if the rebuilt header differs from the sent one.
    fn rebuild(&mut self, octets: &[u8], sent: &Header, payload: u32) -> bool {
        let [number, flags, rest @ ..] = octets else { return false };
        let Some(context) = &mut self.far[usize::from(*number)] else { return false };
        if *flags == NO_DELTA {
            *context = Context { header: sent.clone(), payload };
            return true;
        }
        let Some(change) = Change::read(*flags, &rest[2..], context.payload) else { return false };
        // RFC 2507, section 10.1: apply the difference once, and again for each of up to two lost packets.
        let tries = if self.twice { 3 } else { 1 };
        for _ in 0..tries {
            change.apply(&mut context.header);
            // The simulator does not encode the fields that a header carries in full, so they are copied from the sent
            // header.
            let rebuilt = Header {
                options: carried(flags & OPTIONS, &sent.options, &context.header.options),
                ..context.header.clone()
            };
            let rebuilt = Header {
                push: flags & PUSH != 0,
                reserved: carried(flags & RESERVED, &sent.reserved, &rebuilt.reserved),
                ..rebuilt
            };
            // TCP's checksum does not cover IP's identification, so a wrong identification goes unnoticed.
            if (Header { id: sent.id, ..rebuilt.clone() }) == *sent {
                *context = Context { header: Header { reserved: context.header.reserved, ..rebuilt }, payload };
                return true;
            }
        }
        false
    }
}

/// Returns the sent value if `flag` is set, and the value of the context otherwise.
fn carried<T: Clone>(flag: u8, sent: &T, known: &T) -> T {
    if flag == 0 { known.clone() } else { sent.clone() }
}

impl Scheme for Iphc {
    fn compress(&mut self, packet: &Packet) -> Frame {
        let Some(new) = Header::of(packet) else { return Frame::Ip };
        let payload = packet.payload().len();
        let (number, context) = self.near.bring(|old| old.header.is_connection_of(&new));
        // This packet answers a pending request, so clear the request.
        let (old, asked) = (context.take(), std::mem::take(&mut self.asked[usize::from(number)]));
        let frame = match &old {
            None => Frame::Full { slot: number },
            Some(old) if asked => without_differences(number, &old.header, &new),
            Some(old) => Change::between(old, &new, payload)
                .map_or(Frame::Full { slot: number }, |change| Frame::Compressed(change.into_header(number, &new))),
        };
        // RFC 2507, section 6: the ECN byte of a compressed header does not update the context, which keeps the values
        // of the last full header.
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
                let header = Header::of(packet).expect("a packet sent in full has a header");
                self.far[usize::from(*slot)] = Some(Context { header, payload: packet.payload().len() });
                (*slot, true)
            }
            Frame::Compressed(octets) => {
                let sent = Header::of(packet).expect("a compressed packet has a header");
                (octets[0], self.rebuild(octets, &sent, packet.payload().len()))
            }
        };
        let lost = &mut self.lost[usize::from(number)];
        // Request a header when the context is lost, and again after every `REQUEST_INTERVAL` packets that cannot be
        // decompressed.
        *lost = if whole { 0 } else { *lost + 1 };
        self.request = (self.feedback && *lost % REQUEST_INTERVAL == 1).then_some(number);
        whole
    }

    fn poll_request(&mut self) -> Option<u8> {
        self.request.take()
    }

    fn on_request(&mut self, context: u8) {
        // The next packet of this context is sent with a full header, as requested.
        self.asked[usize::from(context)] = true;
    }
}

/// The contents of a compressed header: its flags, and the differences that these flags announce.
#[derive(Debug)]
struct Change {
    flags: u8,
    deltas: Deltas,
    id: u16,
}

impl Change {
    /// Returns the changes from the old to the new header. `None` if the packet must be sent in full.
    fn between(old: &Context, new: &Header, payload: u32) -> Option<Change> {
        let before = &old.header;
        // RFC 2507, section 6: a compressed header cannot carry DSCP or TTL.
        if (before.dscp, before.ttl) != (new.dscp, new.ttl) {
            return None;
        }
        let deltas = Deltas {
            window: new.window.wrapping_sub(before.window),
            ack: u16::try_from(new.ack.since(before.ack)).ok()?,
            seq: u16::try_from(new.seq.since(before.seq)).ok()?,
        };
        let same_options = before.options == new.options;
        // As in RFC 1144, section 3.2.3: a repeated header is probably a retransmission.
        if same_options && deltas.repeat(old.payload, payload) {
            return None;
        }
        // IPv6 has no identification. A difference of 1 takes no bytes in the header.
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

    /// Encodes the change for context `number`.
    fn into_header(self, number: u8, new: &Header) -> Vec<u8> {
        // Space for TCP's checksum. The simulator does not compute checksums, so it stays zero.
        let mut octets = vec![number, self.flags, 0, 0];
        // Only the size of the ECN byte and of the options matters, because the far end copies their contents from the
        // sent header.
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

    /// Decodes a change. `octets` are the bytes after the checksum. `None` if bytes are missing.
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

/// Answers a request with all fields except addresses and ports (RFC 2507, section 6 b), or with a full header if
/// needed.
fn without_differences(number: u8, old: &Header, new: &Header) -> Frame {
    if (old.dscp, old.ttl, old.reserved.0) != (new.dscp, new.ttl, new.reserved.0) {
        return Frame::Full { slot: number };
    }
    // This header carries the IPv4 identification and the TCP header without ports in full.
    let random = if new.id.is_some() { 2 } else { 0 };
    let mut octets = vec![0; 1 + random + 16 + new.options.len() as usize];
    (octets[0], octets[1]) = (number, NO_DELTA);
    Frame::Compressed(octets)
}
