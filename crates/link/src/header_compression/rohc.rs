//! Robust header compression of TCP (RFC 6846, in the framework of RFC 5795). A header carries the low bits of its
//! changed fields. The far end decodes them against the last header that it rebuilt, so it can decode a header even if
//! earlier headers were lost.
//!
//! A compressed header has one of the RFC's formats: `seq_1` to `seq_7` for IPv4, `rnd_1` to `rnd_7` for IPv6, or
//! `co_common` for other changes. An ACK takes 4 bytes, or 6 with timestamps. The context number takes 1 more byte for
//! every connection except the first one.
//!
//! **Robustness.** The sending end sends enough bits for every header that the far end may use as its reference. A
//! connection starts with 2 `IR` packets, which contain all fields. If the CRC fails, the far end sends a NACK or
//! STATIC-NACK. It repeats the request after every 16 packets that it cannot decompress. The answer is an `IR-DYN` or
//! an `IR`. Without `feedback`, an `IR` is sent every 128 packets (unidirectional mode).
//!
//! Not modelled: CRCs that match by chance, feedback ACKs, context replication (`IR-CR`), the urgent pointer, the
//! formats `seq_8` and `rnd_8` (replaced by `co_common`), and other profiles. SYN and FIN are sent unchanged. Formats,
//! widths and offsets are those of the implementation at rohc-lib.org.

use crate::header_compression::bits::{BitReader, BitWriter, Lsb};
use crate::header_compression::config::HeaderCompressionConfig;
use crate::header_compression::contexts::Contexts;
use crate::header_compression::frame::{Frame, Scheme};
use crate::header_compression::header::Header;
use lopsided_core::packet::{Addresses, TcpOptions, Timestamps};
use lopsided_core::{Ecn, Packet, Seq};
use std::collections::VecDeque;

/// Number of possible references. The far end can decode a header after up to `WINDOW - 1` consecutive lost headers.
const WINDOW: usize = 4;
/// Number of consecutive `IR` packets that set up a context (the RFC's optimistic approach).
const OPTIMISTIC: u32 = 2;
/// The far end repeats its request after this many packets that it cannot decompress.
const REQUEST_INTERVAL: u32 = 16;
/// Number of packets from one `IR` to the next if there is no feedback (unidirectional mode).
const REFRESH: u32 = 128;

/// The first byte of IR and IR-DYN packets.
const IR: u8 = 0xfd;
const IR_DYN: u8 = 0xf8;

/// A header that one end stores as the reference for later headers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    header: Header,
    /// Size of the payload after the header, in bytes.
    payload: u32,
    /// Master sequence number, which counts the connection's packets modulo 2^16.
    msn: u16,
    /// The usual step between acknowledgement numbers, in bytes; 0 if unknown.
    stride: u32,
    /// True once the connection has used ECN. Each header then carries an ECN byte.
    marks: bool,
}

impl Reference {
    fn seq(&self) -> u32 {
        self.header.seq.get()
    }

    fn ack(&self) -> u32 {
        self.header.ack.get()
    }

    /// Returns the identification minus the master sequence number. The difference is constant while the host sends no
    /// packets of other connections.
    fn id_offset(&self) -> u32 {
        u32::from(self.header.id.unwrap_or(0).wrapping_sub(self.msn))
    }

    /// Returns the fields that only `IR`, `IR-DYN` and `co_common` carry.
    fn rarely(&self) -> (u8, u8, u32, bool) {
        (self.header.dscp, self.header.ttl, self.stride, self.marks)
    }
}

/// A field that a compressed format can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Seq,
    /// The sequence number divided by the payload size.
    SeqScaled,
    Ack,
    /// The acknowledgement number divided by the stride.
    AckScaled,
    Window,
    Id,
}

/// A compressed format: its discriminator and its fields. Every format also contains the master sequence number, PSH
/// and a 3-bit CRC.
struct Format {
    discriminator: (u32, u32),
    fields: &'static [(Field, Lsb)],
}

const fn format(discriminator: (u32, u32), fields: &'static [(Field, Lsb)]) -> Format {
    Format { discriminator, fields }
}

const fn lsb(bits: u32, below: u32) -> Lsb {
    Lsb { bits, below }
}

/// `seq_4`, `seq_2`, `seq_1`, `seq_3`, `seq_6`, `seq_5`, `seq_7` (RFC 6846 section 8.2), shortest first.
const SEQUENTIAL: [Format; 7] = [
    format((0b0, 1), &[(Field::AckScaled, lsb(4, 3)), (Field::Id, lsb(3, 1))]),
    format((0b11010, 5), &[(Field::Id, lsb(7, 3)), (Field::SeqScaled, lsb(4, 7))]),
    format((0b1010, 4), &[(Field::Id, lsb(4, 3)), (Field::Seq, lsb(16, 32_767))]),
    format((0b1001, 4), &[(Field::Id, lsb(4, 3)), (Field::Ack, lsb(16, 16_383))]),
    format((0b11011, 5), &[(Field::SeqScaled, lsb(4, 7)), (Field::Id, lsb(7, 3)), (Field::Ack, lsb(16, 16_383))]),
    format((0b1000, 4), &[(Field::Id, lsb(4, 3)), (Field::Ack, lsb(16, 16_383)), (Field::Seq, lsb(16, 32_767))]),
    format((0b1100, 4), &[(Field::Window, lsb(15, 16_383)), (Field::Id, lsb(5, 3)), (Field::Ack, lsb(16, 32_767))]),
];

/// `rnd_2`, `rnd_4`, `rnd_3`, `rnd_1`, `rnd_6`, `rnd_5`, `rnd_7`.
const RANDOM: [Format; 7] = [
    format((0b1100, 4), &[(Field::SeqScaled, lsb(4, 7))]),
    format((0b1101, 4), &[(Field::AckScaled, lsb(4, 3))]),
    format((0b0, 1), &[(Field::Ack, lsb(15, 8191))]),
    format((0b101110, 6), &[(Field::Seq, lsb(18, 65_535))]),
    format((0b1010, 4), &[(Field::Ack, lsb(16, 16_383)), (Field::SeqScaled, lsb(4, 7))]),
    format((0b100, 3), &[(Field::Seq, lsb(14, 8191)), (Field::Ack, lsb(15, 8191))]),
    format((0b101111, 6), &[(Field::Ack, lsb(18, 65_535)), (Field::Window, lsb(16, 0))]),
];

/// Encoding of the master sequence number in all formats.
const MSN: Lsb = lsb(4, 4);
/// Encodings of a timestamp: tag, width of the tag in bits, encoding of the value. The first two cannot encode an
/// unchanged timestamp.
const TIMESTAMP: [(u32, u32, Lsb); 4] = [
    (0b0, 1, lsb(7, u32::MAX)),
    (0b10, 2, lsb(14, u32::MAX)),
    (0b110, 3, lsb(21, 1 << 18)),
    (0b111, 3, lsb(29, 1 << 26)),
];

/// Returns the formats for the header's IP version.
fn formats(header: &Header) -> &'static [Format; 7] {
    if header.id.is_some() { &SEQUENTIAL } else { &RANDOM }
}

impl Field {
    /// Returns the field's value in `reference`. The value of a scaled field is divided by `payload` or `stride`.
    fn of(self, reference: &Reference, payload: u32, stride: u32) -> u32 {
        match self {
            Field::Seq => reference.seq(),
            Field::SeqScaled => reference.seq() / payload.max(1),
            Field::Ack => reference.ack(),
            Field::AckScaled => reference.ack() / stride.max(1),
            Field::Window => u32::from(reference.header.window),
            Field::Id => reference.id_offset(),
        }
    }

    /// Returns true if a decompressor whose reference is `old` can decode the field from its low bits.
    fn fits(self, lsb: Lsb, new: &Reference, old: &Reference) -> bool {
        // A scaled field does not carry the remainder of the division, so both headers must have the same remainder.
        let scaled = match self {
            Field::SeqScaled => new.payload > 0 && new.seq() % new.payload == old.seq() % new.payload,
            Field::AckScaled => new.stride > 0 && new.ack() % new.stride == old.ack() % new.stride,
            _ => true,
        };
        let (value, known) = (self.of(new, new.payload, new.stride), self.of(old, new.payload, new.stride));
        match self {
            // These fields have 16 bits and wrap around at 2^16.
            Field::Id | Field::Window => {
                lsb.bits >= 16 || (value.wrapping_sub(known.wrapping_sub(lsb.below)) & 0xffff) >> lsb.bits == 0
            }
            _ => scaled && lsb.fits(value, known),
        }
    }
}

impl Format {
    /// True if a far end with the reference `old` decodes this format to `new`.
    fn fits(&self, new: &Reference, old: &Reference) -> bool {
        let has = |field| self.fields.iter().any(|(own, _)| *own == field);
        // The format does not carry these fields, so they must be unchanged.
        let same = [
            (has(Field::Seq) || has(Field::SeqScaled), new.seq() == old.seq()),
            (has(Field::Ack) || has(Field::AckScaled), new.ack() == old.ack()),
            (has(Field::Window), new.header.window == old.header.window),
        ];
        same.into_iter().all(|(carried, same)| carried || same)
            && self.fields.iter().all(|(field, lsb)| field.fits(*lsb, new, old))
            && u32::from(new.msn.wrapping_sub(old.msn)) < (1 << MSN.bits) - MSN.below
    }

    /// Writes the header `new` in this format.
    fn write(&self, new: &Reference, out: &mut BitWriter) {
        out.put(self.discriminator.0, self.discriminator.1);
        for (field, lsb) in self.fields {
            out.put(lsb.low(field.of(new, new.payload, new.stride)), lsb.bits);
        }
        out.put(MSN.low(u32::from(new.msn)), MSN.bits);
        out.put(u32::from(new.header.push), 1);
        // Space for the CRC. The simulator does not compute CRCs: the far end compares whole headers instead.
        out.put(0, 3);
    }

    /// Decodes the fields with the reference `old`. `None` if bits are missing or a scaled field has no divisor.
    fn read(&self, bits: &mut BitReader<'_>, old: &Reference, payload: u32) -> Option<Reference> {
        bits.take(self.discriminator.1)?;
        let mut new = Reference { payload, ..old.clone() };
        let mut id = None;
        for (field, lsb) in self.fields {
            let low = bits.take(lsb.bits)?;
            let known = field.of(old, payload, old.stride);
            match field {
                Field::Seq => new.header.seq = Seq::new(lsb.value(low, known)),
                Field::SeqScaled => {
                    let unit = Some(payload).filter(|unit| *unit > 0)?;
                    new.header.seq = Seq::new(lsb.value(low, known).wrapping_mul(unit).wrapping_add(old.seq() % unit));
                }
                Field::Ack => new.header.ack = Seq::new(lsb.value(low, known)),
                Field::AckScaled => {
                    let unit = Some(old.stride).filter(|unit| *unit > 0)?;
                    new.header.ack = Seq::new(lsb.value(low, known).wrapping_mul(unit).wrapping_add(old.ack() % unit));
                }
                Field::Window => new.header.window = lsb.value(low, known) as u16,
                Field::Id => id = Some(lsb.value(low, known) as u16),
            }
        }
        new.msn = MSN.value(bits.take(MSN.bits)?, u32::from(old.msn)) as u16;
        new.header.push = bits.take(1)? == 1;
        bits.take(3)?;
        // If the format does not carry the identification, its difference from the master sequence number is unchanged.
        new.header.id = new.header.id.map(|_| id.unwrap_or(old.id_offset() as u16).wrapping_add(new.msn));
        Some(new)
    }
}

/// Contents of a `co_common` header. `seq` and `ack` index the sizes 0, 1, 2 and 4 bytes; `id` is a size in bytes. The
/// other fields are flags.
#[derive(Clone, Copy, Debug)]
struct Common {
    seq: u32,
    ack: u32,
    id: u32,
    stride: bool,
    window: bool,
    dscp: bool,
    ttl: bool,
    list: bool,
}

/// The first 7 bits of `co_common`.
const COMMON: u8 = 0b111_1101;
/// Add-CID octet, which precedes a header and contains the context number (CID) in its low 4 bits.
const ADD_CID: u8 = 0xe0;
/// Encodings of a sequence or acknowledgement number in 1 byte and in 2 bytes.
const COMMON_WIDTHS: [Lsb; 2] = [lsb(8, 63), lsb(16, 16_383)];
/// Encoding of an IPv4 identification in 1 byte. Other values take 2 bytes.
const COMMON_ID: Lsb = lsb(8, 3);

impl Common {
    /// Writes the 5-byte base, followed by zeros as placeholders for the fields.
    fn write(self, out: &mut BitWriter) {
        out.put(u32::from(COMMON), 7);
        let flags = [self.stride, self.window, self.dscp, self.ttl, self.list];
        for (value, width) in [(self.seq, 2), (self.ack, 2), (self.id, 2)] {
            out.put(value, width);
        }
        flags.into_iter().for_each(|flag| out.put(u32::from(flag), 1));
        // Zeros for the other flags, the master sequence number and the 7-bit CRC, which the simulator does not read.
        out.put(0, 22);
        let octets = |place: u32| [0, 1, 2, 4][place as usize];
        let whole =
            2 * u32::from(self.stride) + 2 * u32::from(self.window) + u32::from(self.dscp) + u32::from(self.ttl);
        // Only the size of these fields matters, because the far end copies them from the sent header.
        (0..octets(self.seq) + octets(self.ack) + self.id + whole).for_each(|_| out.put(0, 8));
    }

    /// Reads the sizes and flags of the base. `None` if bits are missing.
    fn read(octets: &[u8]) -> Option<Common> {
        let mut bits = BitReader::new(octets);
        bits.take(7)?;
        let (seq, ack, id) = (bits.take(2)?, bits.take(2)?, bits.take(2)?);
        let mut flag = || bits.take(1).map(|bit| bit == 1);
        Some(Common { seq, ack, id, stride: flag()?, window: flag()?, dscp: flag()?, ttl: flag()?, list: flag()? })
    }

    /// True if a far end with the reference `old` can decode `sent` from this format.
    fn holds(self, old: &Reference, sent: &Reference) -> bool {
        let number = |field: Field, place: u32| match place {
            0 => field.of(old, 1, 1) == field.of(sent, 1, 1),
            3 => true,
            place => field.fits(COMMON_WIDTHS[place as usize - 1], sent, old),
        };
        let (from, to) = (&old.header, &sent.header);
        number(Field::Seq, self.seq)
            && number(Field::Ack, self.ack)
            && (self.id != 1 || Field::Id.fits(COMMON_ID, sent, old))
            && (self.stride || old.stride == sent.stride)
            && (self.window || from.window == to.window)
            && (self.dscp || from.dscp == to.dscp)
            && (self.ttl || from.ttl == to.ttl)
            && (self.list || is_same_list(&from.options, &to.options))
    }
}

/// The compressor's state of one connection.
#[derive(Debug)]
struct Flow {
    /// The headers that the far end may use as its reference, oldest first.
    window: VecDeque<Reference>,
    /// Number of `IR` packets still to be sent.
    initial: u32,
    /// Number of `IR-DYN` packets still to be sent.
    dynamic: u32,
    /// Number of packets since the last `IR`.
    since_initial: u32,
    /// The last two steps of the acknowledgement number, in bytes.
    steps: (u32, u32),
}

/// The compressor and the decompressor of one line.
#[derive(Debug)]
pub(super) struct Rohc {
    near: Contexts<Flow>,
    far: Vec<Option<Reference>>,
    /// True if there are more than 16 contexts. The context number then takes at least 1 byte in every header.
    large: bool,
    feedback: bool,
    /// For each context, number of consecutive packets that the far end could not decompress.
    lost: Vec<u32>,
    request: Option<u8>,
    /// Uncompressed headers of the frames on the line; `None` if a packet was sent unchanged. The far end compares its
    /// own headers with them.
    line: VecDeque<Option<Reference>>,
}

impl Rohc {
    pub(super) fn new(config: &HeaderCompressionConfig) -> Rohc {
        Rohc {
            // The first connection gets the last number in this list, 0, which headers omit.
            near: Contexts::new((0..config.slots).rev()),
            far: (0..config.slots).map(|_| None).collect(),
            large: config.slots > 16,
            feedback: config.feedback,
            lost: vec![0; config.slots as usize],
            request: None,
            line: VecDeque::new(),
        }
    }

    /// Returns the context of the header's connection, and its number. Creates the context if the connection is new.
    fn take(&mut self, new: &Header) -> (u8, &mut Flow) {
        let is_own = |flow: &Flow| flow.window.back().is_some_and(|last| last.header.is_connection_of(new));
        let (number, flow) = self.near.bring(is_own);
        let begin = || {
            let window = VecDeque::with_capacity(WINDOW);
            Flow { window, initial: OPTIMISTIC, dynamic: 0, since_initial: 0, steps: (0, 0) }
        };
        (number, flow.get_or_insert_with(begin))
    }
}

impl Flow {
    /// Adds the master sequence number, the stride and the ECN state to a header.
    fn refer(&mut self, header: Header, payload: u32) -> Reference {
        let marked = header.reserved != (Ecn::NotEct, 0);
        let Some(last) = self.window.back() else {
            return Reference { header, payload, msn: 1, stride: 0, marks: marked };
        };
        // The ACK stride of RFC 6846: acknowledgement numbers that advance by multiples of the stride can be sent as
        // scaled values.
        let step = header.ack.get().wrapping_sub(last.ack());
        // If the acknowledgement number goes back, the step is huge (it wraps around) and is ignored.
        if step > 0 && step < 1 << 20 {
            self.steps = (self.steps.1, step);
        }
        let unit = gcd(self.steps.0, self.steps.1);
        // Keep the old stride while the steps are multiples of the stride, because a new stride needs a `co_common`
        // header.
        let known = last.stride > 0 && step % last.stride == 0;
        let stride = if self.steps.0 == 0 || known || unit < 2 { last.stride } else { unit };
        let (msn, marks) = (last.msn.wrapping_add(1), last.marks || marked);
        Reference { header, payload, msn, stride, marks }
    }

    /// Encodes the header, without the context number. `refreshes` is true in unidirectional mode.
    fn encode(&mut self, new: &Reference, refreshes: bool) -> Vec<u8> {
        self.since_initial += 1;
        // Unidirectional mode: without feedback, only periodic `IR` packets can repair a lost context.
        if refreshes && self.since_initial > REFRESH {
            self.initial = 1;
        }
        // Optimistic approach: the `IR` of a new context is sent several times without waiting for feedback.
        if self.initial > 0 {
            (self.initial, self.dynamic, self.since_initial) = (self.initial - 1, 0, 0);
            return whole(IR, new);
        }
        if self.dynamic > 0 {
            self.dynamic -= 1;
            return whole(IR_DYN, new);
        }
        // A change of these fields needs a `co_common`.
        let same_rare = self.window.iter().all(|old| old.rarely() == new.rarely());
        let same_list = self.window.iter().all(|old| is_same_list(&old.header.options, &new.header.options));
        // Robustness: use a format only if the far end decodes the header correctly with each of its possible
        // references.
        let fitting = |format: &&Format| self.window.iter().all(|old| format.fits(new, old));
        let mut out = BitWriter::default();
        match formats(&new.header).iter().find(fitting).filter(|_| same_rare && same_list) {
            Some(format) => format.write(new, &mut out),
            None => self.write_common(new, same_list, &mut out),
        }
        self.write_irregular(new, same_list, &mut out);
        out.into_octets()
    }

    /// Writes a `co_common` header: a 5-byte base, and each changed field in as few bytes as possible.
    fn write_common(&self, new: &Reference, same_list: bool, out: &mut BitWriter) {
        let differs = |differ: fn(&Reference, &Reference) -> bool| self.window.iter().any(|old| differ(old, new));
        // Returns the size index of a number: 0 if the number is unchanged, or 3 (4 bytes) if no shorter encoding is
        // possible.
        let octets = |field: Field| {
            let least = |lsb: &Lsb| self.window.iter().all(|old| field.fits(*lsb, new, old));
            if !self.window.iter().any(|old| field.of(old, 1, 1) != field.of(new, 1, 1)) {
                return 0;
            }
            COMMON_WIDTHS.iter().position(least).map_or(3, |at| at as u32 + 1)
        };
        Common {
            seq: octets(Field::Seq),
            ack: octets(Field::Ack),
            id: match new.header.id {
                None => 0,
                Some(_) if self.window.iter().all(|old| Field::Id.fits(COMMON_ID, new, old)) => 1,
                Some(_) => 2,
            },
            stride: differs(|old, new| old.stride != new.stride),
            window: differs(|old, new| old.header.window != new.header.window),
            dscp: differs(|old, new| old.header.dscp != new.header.dscp),
            ttl: differs(|old, new| old.header.ttl != new.header.ttl),
            list: !same_list,
        }
        .write(out);
        if !same_list {
            list(&new.header.options, new.header.ack, out);
        }
    }

    /// Writes the irregular chain, which follows every format: ECN byte, TCP's checksum, values of the options.
    fn write_irregular(&self, new: &Reference, same_list: bool, out: &mut BitWriter) {
        // RFC 6846: with `ecn_used`, the irregular chain begins with the ECN and reserved bits of both headers.
        if new.marks {
            out.put(0, 8);
        }
        // The TCP checksum is sent in full.
        out.put(0, 16);
        if !same_list {
            return;
        }
        if let Some(own) = new.header.options.timestamps {
            for of in [|each: &Timestamps| each.value, |each: &Timestamps| each.echo] {
                let known = |old: &Reference| old.header.options.timestamps.as_ref().map(of).expect("the same options");
                let fits = |lsb: Lsb| self.window.iter().all(|old| lsb.fits(of(&own), known(old)));
                let (tag, width, lsb) = TIMESTAMP.into_iter().find(|(_, _, lsb)| fits(*lsb)).unwrap_or(TIMESTAMP[3]);
                out.put(tag, width);
                out.put(lsb.low(of(&own)), lsb.bits);
            }
        }
        let options = &new.header.options;
        if !options.sack().is_empty() {
            let same = self.window.iter().all(|old| old.header.options.sack() == options.sack());
            (0..if same { 1 } else { sack_octets(options, new.header.ack) }).for_each(|_| out.put(0, 8));
        }
    }
}

/// True if both headers have the same options in the same order. The irregular chain then carries the options' values.
fn is_same_list(old: &TcpOptions, new: &TcpOptions) -> bool {
    let kinds = |options: &TcpOptions| (options.timestamps.is_some(), options.sack().is_empty());
    kinds(old) == kinds(new) && (old.accurate_ecn(), old.other()) == (new.accurate_ecn(), new.other())
}

/// Returns the size of changed SACK blocks in bytes. They consist of the number of blocks and the distances between
/// edges.
fn sack_octets(options: &TcpOptions, ack: Seq) -> u32 {
    let mut last = ack;
    let mut edge = |edge: Seq| {
        let offset = edge.since(last);
        last = edge;
        // The RFC's variable-length encoding stores the value in 15, 22, 29 or 32 bits.
        match offset {
            ..0x8000 => 2,
            0x8000..0x40_0000 => 3,
            0x40_0000..0x2000_0000 => 4,
            _ => 5,
        }
    };
    1 + options.sack().as_slice().iter().map(|block| edge(block.start) + edge(block.end)).sum::<u32>()
}

/// Writes a complete list of options. Only the size of the list matters, so its bytes are zero.
fn list(options: &TcpOptions, ack: Seq, out: &mut BitWriter) {
    let timestamps = options.timestamps.is_some();
    let sack = options.sack().as_slice().len() as u32;
    let others =
        options.len().saturating_sub(if timestamps { 12 } else { 0 } + if sack > 0 { 4 + 8 * sack } else { 0 });
    let items = 3 * u32::from(timestamps) + 3 * u32::from(sack > 0) + u32::from(others > 0);
    let items_octets = 8 * u32::from(timestamps) + if sack > 0 { sack_octets(options, ack) } else { 0 } + others;
    (0..1 + items.div_ceil(2) + items_octets).for_each(|_| out.put(0, 8));
}

/// Builds an `IR` (static part and all fields) or an `IR-DYN` (changing fields). Only the size matters.
fn whole(kind: u8, new: &Reference) -> Vec<u8> {
    let v4 = matches!(new.header.addresses, Addresses::V4 { .. });
    // The static part of an `IR` contains the protocol, addresses and ports. The dynamic part of both packet types
    // contains the other fields of IP and TCP.
    let fixed = if kind == IR { if v4 { 14 } else { 38 } } else { 0 };
    let dynamic = if v4 { 5 } else { 2 } + 16 + if new.stride > 0 { 2 } else { 0 };
    let mut out = BitWriter::default();
    out.put(u32::from(kind), 8);
    (0..2 + fixed + dynamic).for_each(|_| out.put(0, 8));
    list(&new.header.options, new.header.ack, &mut out);
    out.into_octets()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Rohc {
    /// Decodes a header at the far end. `None` if there is no suitable context. Fields that are sent in full are copied
    /// from `sent`.
    fn rebuild(&self, number: u8, octets: &[u8], sent: &Reference) -> Option<Reference> {
        let kind = *octets.first()?;
        // The simulator does not encode fields that are carried in full, so copy the sent header.
        if kind == IR {
            return Some(sent.clone());
        }
        let old = self.far.get(usize::from(number))?.as_ref()?;
        if kind == IR_DYN {
            return Some(sent.clone());
        }
        if kind >> 1 == COMMON {
            return Common::read(octets)?.holds(old, sent).then(|| sent.clone());
        }
        let format = formats(&old.header).iter().find(|format| {
            let (tag, width) = format.discriminator;
            u32::from(kind) >> (8 - width) == tag
        })?;
        let mut bits = BitReader::new(octets);
        let mut new = format.read(&mut bits, old, sent.payload)?;
        // Skip the ECN byte and TCP's checksum.
        bits.take(if old.marks { 24 } else { 16 })?;
        new.header.reserved = sent.header.reserved;
        new.header.options.set_sack(sent.header.options.sack().clone());
        if let Some(known) = &mut new.header.options.timestamps {
            for value in [&mut known.value, &mut known.echo] {
                // The tag of a timestamp starts with 0 to 3 bits that are set.
                let ones = (0..3).take_while(|_| bits.take(1) == Some(1)).count();
                let (_, _, lsb) = TIMESTAMP[ones];
                *value = lsb.value(bits.take(lsb.bits)?, *value);
            }
        }
        Some(new)
    }

    /// Adds the context number in front of the header. With at most 16 contexts, context 0 has no number.
    fn numbered(&self, number: u8, octets: Vec<u8>) -> Vec<u8> {
        let mut numbered = match (self.large, number) {
            (false, 0) => return octets,
            (false, _) => vec![ADD_CID | number],
            (true, ..128) => vec![number],
            (true, _) => vec![0x80, number],
        };
        numbered.extend(octets);
        numbered
    }

    /// Splits a header into its context number and the remaining bytes.
    fn split<'a>(&self, octets: &'a [u8]) -> Option<(u8, &'a [u8])> {
        match (self.large, octets) {
            (false, [first, rest @ ..]) if first & 0xf0 == ADD_CID => Some((first & 0x0f, rest)),
            (false, _) => Some((0, octets)),
            (true, [0x80, number, rest @ ..]) | (true, [number, rest @ ..]) => Some((*number, rest)),
            (true, []) => None,
        }
    }
}

impl Scheme for Rohc {
    fn compress(&mut self, packet: &Packet) -> Frame {
        let Some(header) = Header::of(packet) else {
            self.line.push_back(None);
            return Frame::Ip;
        };
        let refreshes = !self.feedback;
        let (number, flow) = self.take(&header);
        let new = flow.refer(header, packet.payload().len());
        let octets = flow.encode(&new, refreshes);
        // The far end's reference is at most `WINDOW` headers old, so discard the oldest header.
        if flow.window.len() == WINDOW {
            flow.window.pop_front();
        }
        flow.window.push_back(new.clone());
        self.line.push_back(Some(new));
        Frame::Compressed(self.numbered(number, octets))
    }

    fn decompress(&mut self, frame: &Frame, _packet: &Packet) -> bool {
        let Some(sent) = self.line.pop_front().flatten() else { return true };
        let Frame::Compressed(octets) = frame else { return false };
        let Some((number, octets)) = self.split(octets) else { return false };
        let rebuilt = self.rebuild(number, octets, &sent);
        // Compare the rebuilt header with the sent header. A real far end checks a CRC over the whole header.
        let whole = rebuilt.is_some_and(|rebuilt| rebuilt.header == sent.header);
        let lost = &mut self.lost[usize::from(number)];
        if whole {
            // A verified header becomes the reference for the next header.
            self.far[usize::from(number)] = Some(sent);
        }
        *lost = if whole { 0 } else { *lost + 1 };
        self.request = (self.feedback && *lost % REQUEST_INTERVAL == 1).then_some(number);
        whole
    }

    fn note_error(&mut self) {
        self.line.pop_front();
    }

    fn poll_request(&mut self) -> Option<u8> {
        self.request.take()
    }

    fn on_request(&mut self, context: u8) {
        // If the far end has no context, its request is a STATIC-NACK, and the answer is an `IR`. Otherwise the request
        // is a NACK, and the answer is an `IR-DYN`.
        let knows = self.far[usize::from(context)].is_some();
        if let Some(flow) = self.near.numbered(context) {
            if knows { flow.dynamic = 1 } else { flow.initial = flow.initial.max(1) }
        }
    }
}
