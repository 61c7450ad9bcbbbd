//! The TCP header and its options as fields (RFC 9293, 7323, 2018, 9768).
//!
//! Not represented: the urgent pointer, which a foreign packet keeps in its raw headers.

use crate::Seq;
use std::fmt;

/// Length of a TCP header without options, in bytes.
pub const TCP_HEADER: u32 = 20;
/// Maximum length of the TCP options, in bytes: the data offset field permits a header of 60 bytes.
pub const MAX_TCP_OPTIONS: u32 = 40;

/// A TCP header with its options (RFC 9293, 7323, 2018).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte.
    pub seq: Seq,
    /// The acknowledgement number, valid if [`Flags::ACK`] is set.
    pub ack: Seq,
    /// Flags.
    pub flags: Flags,
    /// The window field as sent, before scaling.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

impl TcpHeader {
    /// Returns the length of the header with its options, in bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        TCP_HEADER + self.options.len()
    }

    /// Never true: a header has at least 20 bytes.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// The TCP flags, bit for bit as in the header.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronizes sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x04);
    /// The receiver should pass the data to the application at once.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x100);
    /// An ACK filter sets this flag in an ACK if it has detected that the next segment is lost (balakrishnan1999,
    /// section 6.3). The flag uses a reserved bit.
    pub const FAST_RETRANSMIT: Flags = Flags(0x200);

    /// True if the flag is set.
    pub const fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    #[must_use]
    /// Returns the union of these flags and `flag`.
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
        // The letters of tcpdump, with A for accurate ECN and X for the fast-retransmit bit.
        names.iter().filter(|(bit, _)| self.0 & bit != 0).try_for_each(|(_, name)| write!(f, "{name}"))
    }
}

/// The options of one segment. On the wire each option is padded to whole 32-bit words (see [`TcpOptions::len`]).
///
/// Most segments contain only timestamps, so other options are in a separate box.
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::{TcpOptions, Timestamps};
///
/// let options = TcpOptions::default().with_timestamps(Some(Timestamps { value: 1, echo: 0 }));
/// assert_eq!((options.len(), options.sack_room()), (12, 3));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// All options except timestamps; `None` if the segment has no other options.
    apart: Option<Box<OptionsApart>>,
}

/// Options that few segments carry: SACK blocks, or any set of options. A large network has many segments with SACK
/// blocks and without other options, so these segments have a small box.
///
/// Equal options have equal values: `More` contains at least one option besides SACK blocks, and `Sack` is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OptionsApart {
    Sack(SackBlocks),
    More(Box<MoreOptions>),
}

// The allocator rounds 40 bytes up to 48, and 48 bytes up to 64.
const _: () = assert!(size_of::<OptionsApart>() <= 40);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct MoreOptions {
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack_permitted: bool,
    sack: SackBlocks,
    accurate_ecn: Option<AccEcnOption>,
    other: OtherOptions,
}

impl TcpOptions {
    /// Returns the length on the wire in bytes, at most 40 (see [`TcpOptions::sack_room`]). Lengths with padding:
    ///
    /// - timestamps: 12
    /// - SACK: 4, and 8 per block
    /// - MSS: 4
    /// - window scale: 4
    /// - SACK-permitted: 4, or 0 if timestamps are present, because the option then replaces their padding
    /// - accurate ECN: 2, and 3 per counter, rounded up to whole words
    #[inline]
    pub fn len(&self) -> u32 {
        // Fast path, because every queue and link reads the length of each packet.
        if self.are_usual() { self.len_of_timestamps() } else { self.len_with_apart() }
    }

    /// True if there are no options other than timestamps.
    #[inline]
    pub fn are_usual(&self) -> bool {
        self.apart.is_none()
    }

    /// Returns the MSS option of a SYN; `None` if the segment has no such option.
    #[inline]
    pub fn mss(&self) -> Option<u16> {
        self.more()?.mss
    }

    #[inline]
    /// Returns the shift of a SYN's window-scale option; `None` if the segment has no such option.
    pub fn window_scale(&self) -> Option<u8> {
        self.more()?.window_scale
    }

    #[inline]
    /// True if the segment is a SYN with the SACK-permitted option.
    pub fn sack_permitted(&self) -> bool {
        self.more().is_some_and(|more| more.sack_permitted)
    }

    #[inline]
    /// The SACK blocks.
    pub fn sack(&self) -> &SackBlocks {
        match self.apart.as_deref() {
            None => SackBlocks::NONE,
            Some(OptionsApart::Sack(blocks)) => blocks,
            Some(OptionsApart::More(more)) => &more.sack,
        }
    }

    #[inline]
    #[must_use]
    /// Returns the options with the given timestamps option; `None` removes it.
    pub fn with_timestamps(mut self, timestamps: Option<Timestamps>) -> TcpOptions {
        self.timestamps = timestamps;
        self
    }

    /// Removes all options, and then sets the timestamps option if there is one.
    #[inline]
    pub fn restart(&mut self, timestamps: Option<Timestamps>) {
        self.timestamps = timestamps;
        // Most segments have no box, so that there is nothing to free.
        if self.apart.is_some() {
            self.apart = None;
        }
    }

    /// Sets or removes the MSS option.
    pub fn set_mss(&mut self, mss: Option<u16>) {
        self.change(mss.is_some(), |more| more.mss = mss);
    }

    #[must_use]
    /// Returns the options with the given MSS option; `None` removes it.
    pub fn with_mss(mut self, mss: Option<u16>) -> TcpOptions {
        self.set_mss(mss);
        self
    }

    /// Sets or removes the window-scale option.
    pub fn set_window_scale(&mut self, shift: Option<u8>) {
        self.change(shift.is_some(), |more| more.window_scale = shift);
    }

    #[must_use]
    /// Returns the options with the given window scale; `None` removes it.
    pub fn with_window_scale(mut self, shift: Option<u8>) -> TcpOptions {
        self.set_window_scale(shift);
        self
    }

    /// Sets or removes the SACK-permitted option.
    pub fn set_sack_permitted(&mut self, permitted: bool) {
        self.change(permitted, |more| more.sack_permitted = permitted);
    }

    #[must_use]
    /// Returns the options with or without SACK-permitted.
    pub fn with_sack_permitted(mut self, permitted: bool) -> TcpOptions {
        self.set_sack_permitted(permitted);
        self
    }

    #[must_use]
    /// Returns the options with the given SACK blocks.
    pub fn with_sack(mut self, blocks: SackBlocks) -> TcpOptions {
        self.set_sack(blocks);
        self
    }

    /// Sets the SACK blocks.
    pub fn set_sack(&mut self, blocks: SackBlocks) {
        match self.apart.as_deref_mut() {
            None if !blocks.is_empty() => self.apart = Some(Box::new(OptionsApart::Sack(blocks))),
            _ => self.change(!blocks.is_empty(), |more| more.sack = blocks),
        }
    }

    /// Appends a SACK block, see [`SackBlocks::push`].
    pub fn push_sack(&mut self, block: SackBlock) {
        self.change(true, |more| more.sack.push(block));
    }

    /// Calls `change` on the options other than timestamps. Pass true for `adds` if the change adds an option.
    /// Otherwise a segment without such options stays unchanged.
    #[inline]
    fn change(&mut self, adds: bool, change: impl FnOnce(&mut MoreOptions)) {
        if adds || self.apart.is_some() {
            self.change_apart(change);
        }
    }

    #[cold]
    fn change_apart(&mut self, change: impl FnOnce(&mut MoreOptions)) {
        let mut more = match self.apart.take().map(|apart| *apart) {
            None => Box::default(),
            Some(OptionsApart::Sack(sack)) => Box::new(MoreOptions { sack, ..MoreOptions::default() }),
            Some(OptionsApart::More(more)) => more,
        };
        change(&mut more);
        let sack = std::mem::take(&mut more.sack);
        let apart = if *more != MoreOptions::default() {
            more.sack = sack;
            OptionsApart::More(more)
        } else if sack.is_empty() {
            return;
        } else {
            OptionsApart::Sack(sack)
        };
        self.apart = Some(Box::new(apart));
    }

    /// The options other than timestamps; `None` if there are only SACK blocks.
    #[inline]
    fn more(&self) -> Option<&MoreOptions> {
        match self.apart.as_deref()? {
            OptionsApart::Sack(_) => None,
            OptionsApart::More(more) => Some(more),
        }
    }

    /// The accurate ECN option.
    #[inline]
    pub fn accurate_ecn(&self) -> Option<&AccEcnOption> {
        self.more()?.accurate_ecn.as_ref()
    }

    /// Sets or removes the accurate-ECN option.
    pub fn set_accurate_ecn(&mut self, option: Option<AccEcnOption>) {
        self.change(option.is_some(), |more| more.accurate_ecn = option);
    }

    /// Returns the options with the given accurate-ECN option; `None` removes it.
    #[must_use]
    pub fn with_accurate_ecn(mut self, option: Option<AccEcnOption>) -> TcpOptions {
        self.set_accurate_ecn(option);
        self
    }

    /// Returns the options whose kinds have no field in this type.
    #[inline]
    pub fn other(&self) -> &OtherOptions {
        self.more().map_or(OtherOptions::NONE, |more| &more.other)
    }

    /// Sets the options of all kinds for which this type has no field.
    pub fn set_other(&mut self, options: OtherOptions) {
        self.change(!options.is_empty(), |more| more.other = options);
    }

    #[cold]
    fn len_with_apart(&self) -> u32 {
        self.len_without_sack() + self.sack_len()
    }

    /// Length of the SACK blocks on the wire, in bytes.
    #[inline]
    pub fn sack_len(&self) -> u32 {
        if self.sack().is_empty() { 0 } else { self.len_of_sack() }
    }

    #[cold]
    fn len_of_sack(&self) -> u32 {
        let blocks = self.sack_on_wire().len() as u32;
        if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }

    fn len_without_sack(&self) -> u32 {
        match self.more() {
            None => self.len_of_timestamps(),
            Some(_) => self.len_of_known() + self.other_on_wire().padded_len(),
        }
    }

    fn len_of_known(&self) -> u32 {
        self.len_of_handshake() + self.accurate_ecn().map_or(0, AccEcnOption::padded_len)
    }

    /// Returns the options of all kinds for which this type has no field. The list is empty unless all of them fit into
    /// the header.
    pub fn other_on_wire(&self) -> &OtherOptions {
        // The data offset field limits the options to 40 bytes. SACK blocks use only the space that is left.
        let fits = self.len_of_known() + self.other().padded_len() <= MAX_TCP_OPTIONS;
        if fits { self.other() } else { OtherOptions::NONE }
    }

    /// Returns the number of SACK blocks that fit into the header together with the other options: 3 with timestamps, 4
    /// without timestamps.
    pub fn sack_room(&self) -> usize {
        // RFC 2018, section 3: kind and length take 2 bytes, the padding takes 2 bytes, and each block takes 8 bytes.
        (MAX_TCP_OPTIONS.saturating_sub(4 + self.len_without_sack())) as usize / 8
    }

    /// Returns the SACK blocks that fit into the header: the first blocks, which are the newest.
    pub fn sack_on_wire(&self) -> &[SackBlock] {
        let blocks = self.sack().as_slice();
        &blocks[..blocks.len().min(self.sack_room())]
    }

    #[inline]
    fn len_of_timestamps(&self) -> u32 {
        if self.timestamps.is_some() { 12 } else { 0 }
    }

    /// Length of timestamps, MSS, window scale and SACK-permitted, in bytes.
    fn len_of_handshake(&self) -> u32 {
        // If timestamps are present, SACK-permitted replaces their 2 bytes of padding.
        let permitted = if self.sack_permitted() && self.timestamps.is_none() { 4 } else { 0 };
        let mss = if self.mss().is_some() { 4 } else { 0 };
        let scale = if self.window_scale().is_some() { 4 } else { 0 };
        self.len_of_timestamps() + permitted + mss + scale
    }

    /// True if there are no options.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An option of a kind that has no field in [`TcpOptions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherOption {
    /// The option's kind.
    pub kind: u8,
    /// The data of the option, without kind and length.
    pub data: Vec<u8>,
}

impl OtherOption {
    /// Length on the wire without padding, in bytes.
    fn len(&self) -> u32 {
        2 + self.data.len() as u32
    }
}

/// The options without a field in [`TcpOptions`], in their order: experimental options (kinds 253 and 254, RFC 6994),
/// or options of a foreign packet. Padding precedes these options on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::box_collection,
    reason = "few segments have such options, and the options of each segment must be small"
)]
pub struct OtherOptions(Option<Box<Vec<OtherOption>>>);

impl OtherOptions {
    const NONE: &OtherOptions = &OtherOptions::new();

    /// No options.
    pub const fn new() -> OtherOptions {
        OtherOptions(None)
    }

    /// Appends an option. [`TcpOptions::other_on_wire`] returns the options only if all of them fit.
    pub fn push(&mut self, kind: u8, data: &[u8]) {
        self.0.get_or_insert_default().push(OtherOption { kind, data: data.to_vec() });
    }

    /// The options in their order.
    pub fn as_slice(&self) -> &[OtherOption] {
        self.0.as_ref().map_or(&[], |options| options.as_slice())
    }

    /// Returns the data of the first option of this kind; `None` if there is no such option.
    pub fn get(&self, kind: u8) -> Option<&[u8]> {
        self.as_slice().iter().find(|option| option.kind == kind).map(|option| option.data.as_slice())
    }

    /// True if there are no options.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Length on the wire with padding, in bytes.
    pub fn padded_len(&self) -> u32 {
        self.unpadded_len().next_multiple_of(4)
    }

    pub(crate) fn unpadded_len(&self) -> u32 {
        self.as_slice().iter().map(OtherOption::len).sum()
    }
}

/// The timestamps option (RFC 7323 section 3): the value of the sender's clock, and the echo of the peer's clock value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The last clock value received from the peer.
    pub echo: u32,
}

/// The accurate-ECN option (RFC 9768, section 3.2.3): bytes by codepoint, modulo 2^24. Counters at the end may be
/// omitted, so the RFC defines two orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccEcnOption {
    /// The order of the counters.
    pub order: AccEcnOrder,
    /// The counters that are present, in the order of the option. The second counter counts CE.
    counters: [u32; 3],
    count: u8,
}

/// The order of the counters. The second counter always counts CE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// ECT(0), CE, ECT(1): the option of kind 172.
    Ect0First,
    /// ECT(1), CE, ECT(0): the option of kind 174.
    Ect1First,
}

impl AccEcnOption {
    /// Width of a counter in bits.
    pub const COUNTER_BITS: u32 = 24;

    /// Creates an option with these counters in this order. Counters after the third are ignored.
    pub fn new(order: AccEcnOrder, counters: &[u32]) -> AccEcnOption {
        let mut option = AccEcnOption { order, counters: [0; 3], count: counters.len().min(3) as u8 };
        for (held, counter) in option.counters.iter_mut().zip(counters) {
            // RFC 9768, section 3.2.3: counters are modulo 2^24.
            *held = counter & ((1 << Self::COUNTER_BITS) - 1);
        }
        option
    }

    /// The counters that are present, in their order.
    pub fn counters(&self) -> &[u32] {
        &self.counters[..usize::from(self.count)]
    }

    /// The counter of CE-marked bytes; `None` if it is omitted.
    pub fn ce(&self) -> Option<u32> {
        self.counters().get(1).copied()
    }

    /// The counter of bytes with ECT(0); `None` if it is omitted.
    pub fn ect0(&self) -> Option<u32> {
        // RFC 9768, section 3.2.3: the two orders differ in the first and the third counter.
        self.counters().get(if self.order == AccEcnOrder::Ect0First { 0 } else { 2 }).copied()
    }

    /// The counter of bytes with ECT(1); `None` if it is omitted.
    pub fn ect1(&self) -> Option<u32> {
        self.counters().get(if self.order == AccEcnOrder::Ect1First { 0 } else { 2 }).copied()
    }

    /// Returns the length in bytes of an option with this number of counters, padded to whole words.
    pub fn padded_len_of(counters: u32) -> u32 {
        (2 + 3 * counters).next_multiple_of(4)
    }

    pub(crate) fn padded_len(&self) -> u32 {
        Self::padded_len_of(u32::from(self.count))
    }
}

/// A range of bytes `[start, end)` that the receiver has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: Seq,
    /// Sequence number after the last byte of the block.
    pub end: Seq,
}

/// Up to four SACK blocks (three with timestamps), the newest first. A DSACK block precedes all others (RFC 2018, RFC
/// 2883).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    count: u8,
}

impl SackBlocks {
    const NONE: &SackBlocks = &SackBlocks { blocks: [SackBlock { start: Seq::new(0), end: Seq::new(0) }; 4], count: 0 };

    /// Appends a block. A fifth block is ignored, because it cannot fit into the header.
    pub fn push(&mut self, block: SackBlock) {
        // RFC 2018, section 3: at most 4 blocks fit, if there are no other options.
        if usize::from(self.count) < self.blocks.len() {
            self.blocks[usize::from(self.count)] = block;
            self.count += 1;
        }
    }

    /// The blocks in their order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    #[inline]
    /// True if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
