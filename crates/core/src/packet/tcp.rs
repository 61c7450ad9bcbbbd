//! The TCP header and its options as fields (RFC 9293, 7323, 2018, 9768).
//!
//! Leaves out the urgent pointer and options of other kinds: in a packet that another host made they stay in its
//! octets.

use crate::Seq;
use std::fmt;

/// The octets of a TCP header without options.
pub const TCP_HEADER: u32 = 20;
/// The octets that TCP options may take: the header length field counts to 60.
pub const MAX_TCP_OPTIONS: u32 = 40;

/// A TCP header with its options (RFC 9293, 7323, 2018).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpHeader {
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: Seq,
    /// Meaningful where [`Flags::ACK`] is set.
    pub ack: Seq,
    pub flags: Flags,
    /// As on the wire: not yet scaled.
    pub window: u16,
    pub options: TcpOptions,
}

impl TcpHeader {
    pub fn len(&self) -> u32 {
        TCP_HEADER + self.options.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The TCP flags, bit for bit as in the header.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const FIN: Flags = Flags(0x01);
    pub const SYN: Flags = Flags(0x02);
    pub const RST: Flags = Flags(0x04);
    pub const PSH: Flags = Flags(0x08);
    pub const ACK: Flags = Flags(0x10);
    pub const ECE: Flags = Flags(0x40);
    pub const CWR: Flags = Flags(0x80);
    pub const AE: Flags = Flags(0x100);
    /// On an ACK: what it asks for is lost (balakrishnan1999 section 6.3). The paper names no bit; this is a reserved
    /// one.
    pub const FAST_RETRANSMIT: Flags = Flags(0x200);

    pub const fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    #[must_use]
    pub const fn with(self, flag: Flags) -> Flags {
        Flags(self.0 | flag.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (0x02, 'S'),
            (0x01, 'F'),
            (0x04, 'R'),
            (0x08, 'P'),
            (0x10, '.'),
            (0x40, 'E'),
            (0x80, 'W'),
            (0x100, 'A'),
            (0x200, 'X'),
        ];
        names.iter().filter(|(bit, _)| self.0 & bit != 0).try_for_each(|(_, name)| write!(f, "{name}"))
    }
}

/// The options of one segment. The layout on the wire is the usual one, padded to whole words (see
/// [`TcpOptions::len`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<Timestamps>,
    pub sack: SackBlocks,
    /// Those that few segments have: see [`TcpOptions::accurate_ecn`] and [`TcpOptions::other`].
    pub rare: RareOptions,
}

/// Options that lie apart from the header, as every packet is moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RareOptions(Option<Box<Rare>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rare {
    accurate_ecn: Option<AccEcnOption>,
    other: OtherOptions,
}

impl TcpOptions {
    /// Octets on the wire: timestamps take 12 with their padding, SACK 4 + 8 per block, MSS 4, window scale 4 with
    /// padding, SACK-permitted 4 with padding, or 2 of the timestamps' padding, accurate ECN as many as its counters
    /// and padding. At most 40: see [`TcpOptions::sack_room`].
    #[inline]
    pub fn len(&self) -> u32 {
        // Every queue and link asks, and hardly any segment has SACK blocks, accurate ECN or others.
        let usual = self.sack.is_empty() && self.rare.0.is_none();
        if usual { self.len_of_usual() } else { self.len_with_rare() }
    }

    /// The accurate ECN option.
    #[inline]
    pub fn accurate_ecn(&self) -> Option<&AccEcnOption> {
        self.rare.0.as_ref()?.accurate_ecn.as_ref()
    }

    pub fn set_accurate_ecn(&mut self, option: Option<AccEcnOption>) {
        if option.is_some() || self.rare.0.is_some() {
            self.rare.0.get_or_insert_default().accurate_ecn = option;
            self.drop_empty_rare();
        }
    }

    /// With the accurate ECN option.
    #[must_use]
    pub fn with_accurate_ecn(mut self, option: Option<AccEcnOption>) -> TcpOptions {
        self.set_accurate_ecn(option);
        self
    }

    /// Options of kinds that have no field here.
    #[inline]
    pub fn other(&self) -> &OtherOptions {
        self.rare.0.as_ref().map_or(OtherOptions::NONE, |rare| &rare.other)
    }

    pub fn set_other(&mut self, options: OtherOptions) {
        if !options.is_empty() || self.rare.0.is_some() {
            self.rare.0.get_or_insert_default().other = options;
            self.drop_empty_rare();
        }
    }

    fn drop_empty_rare(&mut self) {
        if self.rare.0.as_ref().is_some_and(|rare| rare.accurate_ecn.is_none() && rare.other.is_empty()) {
            self.rare.0 = None;
        }
    }

    #[cold]
    fn len_with_rare(&self) -> u32 {
        self.len_without_sack() + self.sack_len()
    }

    /// Octets that the SACK blocks take.
    #[inline]
    pub fn sack_len(&self) -> u32 {
        if self.sack.is_empty() { 0 } else { self.len_of_sack() }
    }

    #[cold]
    fn len_of_sack(&self) -> u32 {
        let blocks = self.sack_on_wire().len() as u32;
        if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }

    fn len_without_sack(&self) -> u32 {
        self.len_of_known() + self.other_on_wire().padded_len()
    }

    fn len_of_known(&self) -> u32 {
        self.len_of_usual() + self.accurate_ecn().map_or(0, AccEcnOption::padded_len)
    }

    /// The options without a field here, if the header has room for them beside the others but SACK.
    pub fn other_on_wire(&self) -> &OtherOptions {
        let fits = self.len_of_known() + self.other().padded_len() <= MAX_TCP_OPTIONS;
        if fits { self.other() } else { OtherOptions::NONE }
    }

    /// How many SACK blocks the header has room for beside the other options: three beside timestamps alone, four
    /// alone.
    pub fn sack_room(&self) -> usize {
        (MAX_TCP_OPTIONS.saturating_sub(4 + self.len_without_sack())) as usize / 8
    }

    /// The SACK blocks that fit: those first in order, which are the newest.
    pub fn sack_on_wire(&self) -> &[SackBlock] {
        let blocks = self.sack.as_slice();
        &blocks[..blocks.len().min(self.sack_room())]
    }

    #[inline]
    fn len_of_usual(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        let permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        let mss = if self.mss.is_some() { 4 } else { 0 };
        let scale = if self.window_scale.is_some() { 4 } else { 0 };
        timestamps + permitted + mss + scale
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An option of a kind that has no field in [`TcpOptions`]: its data, without the octets for kind and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherOption {
    pub kind: u8,
    pub data: Vec<u8>,
}

impl OtherOption {
    /// Octets on the wire without padding.
    fn len(&self) -> u32 {
        2 + self.data.len() as u32
    }
}

/// The options of a segment that have no field in [`TcpOptions`], in order: those of an experiment (kinds 253 and 254,
/// RFC 6994), or of a foreign packet. They stand together on the wire and are padded to whole words in front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherOptions(Vec<OtherOption>);

impl OtherOptions {
    const NONE: &OtherOptions = &OtherOptions::new();

    pub const fn new() -> OtherOptions {
        OtherOptions(Vec::new())
    }

    /// Adds an option. See [`TcpOptions::other_on_wire`] for when all of them fit.
    pub fn push(&mut self, kind: u8, data: &[u8]) {
        self.0.push(OtherOption { kind, data: data.to_vec() });
    }

    pub fn as_slice(&self) -> &[OtherOption] {
        &self.0
    }

    /// The data of the first option of that kind.
    pub fn get(&self, kind: u8) -> Option<&[u8]> {
        self.as_slice().iter().find(|option| option.kind == kind).map(|option| option.data.as_slice())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Octets on the wire, with padding.
    pub fn padded_len(&self) -> u32 {
        self.unpadded_len().next_multiple_of(4)
    }

    pub(crate) fn unpadded_len(&self) -> u32 {
        self.0.iter().map(OtherOption::len).sum()
    }
}

/// The timestamps option (RFC 7323 section 3): the sender's clock and the echo of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// The accurate ECN option (RFC 9768 section 3.2.3): how many octets of data arrived with each codepoint, modulo 2^24.
/// Counters at the end may be left out, so that there is an option for each order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption {
    pub order: AccEcnOrder,
    /// Those that are there: the first, of CE, and the last.
    counters: [u32; 3],
    count: u8,
}

/// Which codepoint's counter comes first; that of CE is the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// ECT(0), CE, ECT(1): the option of kind 172.
    Ect0First,
    /// ECT(1), CE, ECT(0): the option of kind 174.
    Ect1First,
}

impl AccEcnOption {
    /// The counters are 24 bits wide.
    pub const COUNTER_BITS: u32 = 24;

    /// The first up to three counters in that order.
    pub fn new(order: AccEcnOrder, counters: &[u32]) -> AccEcnOption {
        let mut option = AccEcnOption { order, counters: [0; 3], count: counters.len().min(3) as u8 };
        for (held, counter) in option.counters.iter_mut().zip(counters) {
            *held = counter & ((1 << Self::COUNTER_BITS) - 1);
        }
        option
    }

    /// The counters that are there, in order.
    pub fn counters(&self) -> &[u32] {
        &self.counters[..usize::from(self.count)]
    }

    pub fn ce(&self) -> Option<u32> {
        self.counters().get(1).copied()
    }

    pub fn ect0(&self) -> Option<u32> {
        self.counters().get(if self.order == AccEcnOrder::Ect0First { 0 } else { 2 }).copied()
    }

    pub fn ect1(&self) -> Option<u32> {
        self.counters().get(if self.order == AccEcnOrder::Ect1First { 0 } else { 2 }).copied()
    }

    /// Octets on the wire with so many counters, padded to whole words.
    pub fn padded_len_of(counters: u32) -> u32 {
        (2 + 3 * counters).next_multiple_of(4)
    }

    pub(crate) fn padded_len(&self) -> u32 {
        Self::padded_len_of(u32::from(self.count))
    }
}

/// A run of octets `[start, end)` that the receiver holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    pub start: Seq,
    pub end: Seq,
}

/// Up to four SACK blocks (three beside timestamps), the newest first; a DSACK block comes before it (RFC 2018, RFC
/// 2883).
///
/// They lie apart from the header, because few segments have any and every packet is moved at every hop.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SackBlocks(Option<Box<Blocks>>);

#[derive(Clone, Default, PartialEq, Eq)]
struct Blocks {
    blocks: [SackBlock; 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; a fifth is left out, as it would not fit the header.
    pub fn push(&mut self, block: SackBlock) {
        let held = self.0.get_or_insert_default();
        if usize::from(held.count) < held.blocks.len() {
            held.blocks[usize::from(held.count)] = block;
            held.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[SackBlock] {
        self.0.as_deref().map_or(&[], |held| &held.blocks[..usize::from(held.count)])
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
