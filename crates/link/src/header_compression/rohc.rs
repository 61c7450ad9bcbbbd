//! Robust header compression of TCP (RFC 6846, in the framework of RFC 5795): the low bits of what changed, which are
//! read against the last header that came through, so that packets lost in between do no harm.
//!
//! A compressed header is of one of the RFC's formats: with `seq_1` to `seq_7` for IPv4, whose identification follows
//! the packets' own count, `rnd_1` to `rnd_7` for IPv6, and `co_common` for what these have no place for. Behind it
//! stand the octet of marks where the connection uses ECN, TCP's checksum, and the options: timestamps by their low
//! bits, SACK blocks relative to the acknowledgement. An ACK takes 4 octets so, 6 with timestamps. A connection's
//! number is one octet more, but for the first connection's.
//!
//! **Robustness.** The sending end keeps the last headers that the far end may have as its reference, and sends so many
//! bits that each of them gives the same. A connection begins with `IR` packets, static part and all fields, two of
//! them. The CRC of each header tells the far end where it went wrong; it asks then (NACK, or STATIC-NACK where it
//! knows nothing of the connection), once until it has an answer and again after 16 packets that it could not rebuild.
//! The answer is an `IR-DYN` with all fields, or an `IR`. Without `feedback` an `IR` comes every 128 packets (the
//! unidirectional mode).
//!
//! Left out: CRCs that are right by chance (one wrong header in eight passes three bits), ACKs of feedback, context
//! replication (`IR-CR`), the urgent pointer, the first SYN and the FIN, which go as they are, the formats `seq_8` and
//! `rnd_8` (`co_common` carries what they do, in up to two octets more), and other profiles. Formats, widths and
//! offsets are those that the open implementation of the RFC at rohc-lib.org has.

use crate::header_compression::bits::{BitReader, BitWriter, Lsb};
use crate::header_compression::config::HeaderCompressionConfig;
use crate::header_compression::contexts::Contexts;
use crate::header_compression::frame::{Frame, Scheme};
use crate::header_compression::header::Header;
use lopsided_core::packet::{Addresses, TcpOptions, Timestamps};
use lopsided_core::{Ecn, Packet, Seq};
use std::collections::VecDeque;

/// Number of headers that the far end may use as its reference: up to this many losses in a row do no harm.
const WINDOW: usize = 4;
/// Packets in a row by which a context is set up (the optimistic approach).
const OPTIMISTIC: u32 = 2;
/// The far end requests again after this many packets that it could not rebuild.
const ASK_AGAIN: u32 = 16;
/// Without feedback, packets from one IR to the next.
const REFRESH: u32 = 128;

/// The first byte of IR and IR-DYN packets.
const IR: u8 = 0xfd;
const IR_DYN: u8 = 0xf8;

/// A header as either end remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reference {
    header: Header,
    /// Bytes of data after it.
    payload: u32,
    /// The packets of the connection, counted.
    msn: u16,
    /// The step of acknowledgements; 0 if unknown.
    stride: u32,
    /// ECN marks or feedback were seen: each header carries them.
    marks: bool,
}

impl Reference {
    fn seq(&self) -> u32 {
        self.header.seq.get()
    }

    fn ack(&self) -> u32 {
        self.header.ack.get()
    }

    /// The identification minus the count of packets: constant if the host sends nothing else.
    fn id_offset(&self) -> u32 {
        u32::from(self.header.id.unwrap_or(0).wrapping_sub(self.msn))
    }

    /// The fields that only an IR or `co_common` carries.
    fn rarely(&self) -> (u8, u8, u32, bool) {
        (self.header.dscp, self.header.ttl, self.stride, self.marks)
    }
}

/// The fields of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Seq,
    /// In units of the payload.
    SeqScaled,
    Ack,
    /// In units of the stride.
    AckScaled,
    Window,
    Id,
}

/// A format: its name in the RFC, its discriminator, and its fields besides the count, PSH and the 3-bit CRC.
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

/// The count of packets in all of them.
const MSN: Lsb = lsb(4, 4);
/// Encodings of a timestamp by size. The short ones begin one above the reference (offset -1): a clock without a tick
/// uses the third.
const TIMESTAMP: [(u32, u32, Lsb); 4] = [
    (0b0, 1, lsb(7, u32::MAX)),
    (0b10, 2, lsb(14, u32::MAX)),
    (0b110, 3, lsb(21, 1 << 18)),
    (0b111, 3, lsb(29, 1 << 26)),
];

fn formats(header: &Header) -> &'static [Format; 7] {
    if header.id.is_some() { &SEQUENTIAL } else { &RANDOM }
}

impl Field {
    /// Its value in a header that has this payload and whose scaled fields are in units of these.
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

    /// True if the low bits of `new` suffice for a far end with this reference.
    fn fits(self, lsb: Lsb, new: &Reference, old: &Reference) -> bool {
        let scaled = match self {
            Field::SeqScaled => new.payload > 0 && new.seq() % new.payload == old.seq() % new.payload,
            Field::AckScaled => new.stride > 0 && new.ack() % new.stride == old.ack() % new.stride,
            _ => true,
        };
        let (value, known) = (self.of(new, new.payload, new.stride), self.of(old, new.payload, new.stride));
        match self {
            // Numbers of 16 bits.
            Field::Id | Field::Window => {
                lsb.bits >= 16 || (value.wrapping_sub(known.wrapping_sub(lsb.below)) & 0xffff) >> lsb.bits == 0
            }
            _ => scaled && lsb.fits(value, known),
        }
    }
}

impl Format {
    fn fits(&self, new: &Reference, old: &Reference) -> bool {
        let has = |field| self.fields.iter().any(|(own, _)| *own == field);
        let same = [
            (has(Field::Seq) || has(Field::SeqScaled), new.seq() == old.seq()),
            (has(Field::Ack) || has(Field::AckScaled), new.ack() == old.ack()),
            (has(Field::Window), new.header.window == old.header.window),
        ];
        same.into_iter().all(|(carried, same)| carried || same)
            && self.fields.iter().all(|(field, lsb)| field.fits(*lsb, new, old))
            && u32::from(new.msn.wrapping_sub(old.msn)) < (1 << MSN.bits) - MSN.below
    }

    fn write(&self, new: &Reference, out: &mut BitWriter) {
        out.put(self.discriminator.0, self.discriminator.1);
        for (field, lsb) in self.fields {
            out.put(lsb.low(field.of(new, new.payload, new.stride)), lsb.bits);
        }
        out.put(MSN.low(u32::from(new.msn)), MSN.bits);
        out.put(u32::from(new.header.push), 1);
        // The place of the CRC, which is not computed.
        out.put(0, 3);
    }

    /// The header that the fields give with this reference; `None` if it is impossible.
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
        new.header.id = new.header.id.map(|_| id.unwrap_or(old.id_offset() as u16).wrapping_add(new.msn));
        Some(new)
    }
}

/// The contents of a `co_common`: sizes of numbers as an index into 0, 1, 2, 4 bytes, that of the identification, and
/// the complete fields.
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

/// The first seven bits of `co_common`.
const COMMON: u8 = 0b111_1101;
/// Before a header, with the number of its context.
const ADD_CID: u8 = 0xe0;
/// Numbers in one and two bytes.
const COMMON_WIDTHS: [Lsb; 2] = [lsb(8, 63), lsb(16, 16_383)];
/// An IPv4 identification in one byte; otherwise it takes two, and is never omitted.
const COMMON_ID: Lsb = lsb(8, 3);

impl Common {
    /// The base of five bytes, and its fields.
    fn write(self, out: &mut BitWriter) {
        out.put(u32::from(COMMON), 7);
        let flags = [self.stride, self.window, self.dscp, self.ttl, self.list];
        for (value, width) in [(self.seq, 2), (self.ack, 2), (self.id, 2)] {
            out.put(value, width);
        }
        flags.into_iter().for_each(|flag| out.put(u32::from(flag), 1));
        // The other flags, the count and the CRC of seven bits.
        out.put(0, 22);
        let octets = |place: u32| [0, 1, 2, 4][place as usize];
        let whole =
            2 * u32::from(self.stride) + 2 * u32::from(self.window) + u32::from(self.dscp) + u32::from(self.ttl);
        (0..octets(self.seq) + octets(self.ack) + self.id + whole).for_each(|_| out.put(0, 8));
    }

    fn read(octets: &[u8]) -> Option<Common> {
        let mut bits = BitReader::new(octets);
        bits.take(7)?;
        let (seq, ack, id) = (bits.take(2)?, bits.take(2)?, bits.take(2)?);
        let mut flag = || bits.take(1).map(|bit| bit == 1);
        Some(Common { seq, ack, id, stride: flag()?, window: flag()?, dscp: flag()?, ttl: flag()?, list: flag()? })
    }

    /// True if the carried fields, read against this reference, give the sent header.
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

/// One connection at the sending end.
#[derive(Debug)]
struct Flow {
    /// The headers that the far end may have, newest last.
    window: VecDeque<Reference>,
    /// IR packets still to go, or of IR-DYN.
    initial: u32,
    dynamic: u32,
    since_initial: u32,
    /// The last two steps of the acknowledgement.
    steps: (u32, u32),
}

/// Both ends.
#[derive(Debug)]
pub(super) struct Rohc {
    near: Contexts<Flow>,
    far: Vec<Option<Reference>>,
    /// More than 16 contexts: their number always takes a byte.
    large: bool,
    feedback: bool,
    /// By context: packets that could not be rebuilt since the far end's request.
    lost: Vec<u32>,
    request: Option<u8>,
    /// The frames on the line as the near end's references: they replace the far end's CRC and the complete parts.
    line: VecDeque<Option<Reference>>,
}

impl Rohc {
    pub(super) fn new(config: &HeaderCompressionConfig) -> Rohc {
        Rohc {
            // The first connection takes the last: that without a number.
            near: Contexts::new((0..config.slots).rev()),
            far: (0..config.slots).map(|_| None).collect(),
            large: config.slots > 16,
            feedback: config.feedback,
            lost: vec![0; config.slots as usize],
            request: None,
            line: VecDeque::new(),
        }
    }

    /// The connection's context, which may be new.
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
    /// The header's role for the far end: its count, its step, and whether it has marks.
    fn refer(&mut self, header: Header, payload: u32) -> Reference {
        let marked = header.reserved != (Ecn::NotEct, 0);
        let Some(last) = self.window.back() else {
            return Reference { header, payload, msn: 1, stride: 0, marks: marked };
        };
        let step = header.ack.get().wrapping_sub(last.ack());
        if step > 0 && step < 1 << 20 {
            self.steps = (self.steps.1, step);
        }
        let unit = gcd(self.steps.0, self.steps.1);
        let known = last.stride > 0 && step % last.stride == 0;
        let stride = if self.steps.0 == 0 || known || unit < 2 { last.stride } else { unit };
        let (msn, marks) = (last.msn.wrapping_add(1), last.marks || marked);
        Reference { header, payload, msn, stride, marks }
    }

    /// The bytes for it, except the number of the context.
    fn encode(&mut self, new: &Reference, refreshes: bool) -> Vec<u8> {
        self.since_initial += 1;
        if refreshes && self.since_initial > REFRESH {
            self.initial = 1;
        }
        if self.initial > 0 {
            (self.initial, self.dynamic, self.since_initial) = (self.initial - 1, 0, 0);
            return whole(IR, new);
        }
        if self.dynamic > 0 {
            self.dynamic -= 1;
            return whole(IR_DYN, new);
        }
        let same_rare = self.window.iter().all(|old| old.rarely() == new.rarely());
        let same_list = self.window.iter().all(|old| is_same_list(&old.header.options, &new.header.options));
        let fitting = |format: &&Format| self.window.iter().all(|old| format.fits(new, old));
        let mut out = BitWriter::default();
        match formats(&new.header).iter().find(fitting).filter(|_| same_rare && same_list) {
            Some(format) => format.write(new, &mut out),
            None => self.write_common(new, same_list, &mut out),
        }
        self.write_irregular(new, same_list, &mut out);
        out.into_octets()
    }

    /// `co_common`: 5 bytes, and each field in as few bytes as suffice.
    fn write_common(&self, new: &Reference, same_list: bool, out: &mut BitWriter) {
        let differs = |differ: fn(&Reference, &Reference) -> bool| self.window.iter().any(|old| differ(old, new));
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

    /// Marks, TCP's checksum, options.
    fn write_irregular(&self, new: &Reference, same_list: bool, out: &mut BitWriter) {
        if new.marks {
            out.put(0, 8);
        }
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

/// True if the options are the same items in the same order: their values go into the irregular chain.
fn is_same_list(old: &TcpOptions, new: &TcpOptions) -> bool {
    let kinds = |options: &TcpOptions| (options.timestamps.is_some(), options.sack().is_empty());
    kinds(old) == kinds(new) && (old.accurate_ecn(), old.other()) == (new.accurate_ecn(), new.other())
}

/// Bytes of changed SACK blocks: their number, and each edge as its distance from the one before, the first from the
/// acknowledgement. A block below the one before wraps around.
fn sack_octets(options: &TcpOptions, ack: Seq) -> u32 {
    let mut last = ack;
    let mut edge = |edge: Seq| {
        let offset = edge.since(last);
        last = edge;
        match offset {
            ..0x8000 => 2,
            0x8000..0x40_0000 => 3,
            0x40_0000..0x2000_0000 => 4,
            _ => 5,
        }
    };
    1 + options.sack().as_slice().iter().map(|block| edge(block.start) + edge(block.end)).sum::<u32>()
}

/// A list of options in whole: its head, an index of four bits for each item with the padding before it, and the items.
fn list(options: &TcpOptions, ack: Seq, out: &mut BitWriter) {
    let timestamps = options.timestamps.is_some();
    let sack = options.sack().as_slice().len() as u32;
    let others =
        options.len().saturating_sub(if timestamps { 12 } else { 0 } + if sack > 0 { 4 + 8 * sack } else { 0 });
    let items = 3 * u32::from(timestamps) + 3 * u32::from(sack > 0) + u32::from(others > 0);
    let items_octets = 8 * u32::from(timestamps) + if sack > 0 { sack_octets(options, ack) } else { 0 } + others;
    (0..1 + items.div_ceil(2) + items_octets).for_each(|_| out.put(0, 8));
}

/// IR with the static part, or IR-DYN: all that changes, in whole.
fn whole(kind: u8, new: &Reference) -> Vec<u8> {
    let v4 = matches!(new.header.addresses, Addresses::V4 { .. });
    // The packet's type, the profile and the CRC; addresses and ports; the dynamic parts of IP and of TCP.
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
    /// The header that these bytes give at the far end, to be compared with `sent`. `None` if the context is
    /// insufficient.
    fn rebuild(&self, number: u8, octets: &[u8], sent: &Reference) -> Option<Reference> {
        let kind = *octets.first()?;
        // Fields carried completely are as sent.
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
        bits.take(if old.marks { 24 } else { 16 })?;
        new.header.reserved = sent.header.reserved;
        new.header.options.set_sack(sent.header.options.sack().clone());
        if let Some(known) = &mut new.header.options.timestamps {
            for value in [&mut known.value, &mut known.echo] {
                let ones = (0..3).take_while(|_| bits.take(1) == Some(1)).count();
                let (_, _, lsb) = TIMESTAMP[ones];
                *value = lsb.value(bits.take(lsb.bits)?, *value);
            }
        }
        Some(new)
    }

    /// Prefixes the context's number; none for the first of sixteen.
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
        // The CRC covers the whole header.
        let whole = rebuilt.is_some_and(|rebuilt| rebuilt.header == sent.header);
        let lost = &mut self.lost[usize::from(number)];
        if whole {
            self.far[usize::from(number)] = Some(sent);
        }
        *lost = if whole { 0 } else { *lost + 1 };
        self.request = (self.feedback && *lost % ASK_AGAIN == 1).then_some(number);
        whole
    }

    fn note_error(&mut self) {
        self.line.pop_front();
    }

    fn poll_request(&mut self) -> Option<u8> {
        self.request.take()
    }

    fn on_request(&mut self, context: u8) {
        // A far end without state of the connection says so (STATIC-NACK).
        let knows = self.far[usize::from(context)].is_some();
        if let Some(flow) = self.near.numbered(context) {
            if knows { flow.dynamic = 1 } else { flow.initial = flow.initial.max(1) }
        }
    }
}
