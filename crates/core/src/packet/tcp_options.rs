//! Writes and parses the TCP options as bytes (RFC 7323, RFC 2018, RFC 9768), and changes them in the header of a
//! foreign packet.
//!
//! The order is that of Linux and the BSDs: MSS, SACK-permitted, timestamps, window scale, accurate ECN, SACK.
//! SACK-permitted replaces the padding of timestamps. No-operations before each option pad it to whole 32-bit words.

use super::tcp::{
    AccEcnOption, AccEcnOrder, MAX_TCP_OPTIONS, OtherOption, OtherOptions, SackBlock, SackBlocks, TcpOptions,
    Timestamps,
};
use crate::Seq;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCURATE_ECN_0: u8 = 172;
const ACCURATE_ECN_1: u8 = 174;

/// Writes the options, padded to whole words.
pub(crate) fn encode_options(options: &TcpOptions, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss() {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    if options.sack_permitted() {
        // Without timestamps, SACK-permitted needs separate padding to fill a word.
        if options.timestamps.is_none() {
            out.extend_from_slice(&[NOP, NOP]);
        }
        out.extend_from_slice(&[SACK_PERMITTED, 2]);
    }
    if let Some(Timestamps { value, echo }) = options.timestamps {
        if !options.sack_permitted() {
            out.extend_from_slice(&[NOP, NOP]);
        }
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&value.to_be_bytes());
        out.extend_from_slice(&echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale() {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    if let Some(option) = options.accurate_ecn() {
        let counters = option.counters();
        let len = 2 + 3 * counters.len();
        // RFC 9768: the lengths of the option and of its padding depend on the number of counters.
        out.resize(out.len() + option.padded_len() as usize - len, NOP);
        let kind = if option.order == AccEcnOrder::Ect0First { ACCURATE_ECN_0 } else { ACCURATE_ECN_1 };
        out.extend_from_slice(&[kind, len as u8]);
        for counter in counters {
            out.extend_from_slice(&counter.to_be_bytes()[1..]);
        }
    }
    let other = options.other_on_wire();
    if !other.is_empty() {
        out.resize(out.len() + (other.padded_len() - other.unpadded_len()) as usize, NOP);
        other.as_slice().iter().for_each(|option| encode_other(option, out));
    }
    let blocks = options.sack_on_wire();
    if !blocks.is_empty() {
        // RFC 2018, section 3: 2 no-operations align the blocks to 32 bits.
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            out.extend_from_slice(&block.start.get().to_be_bytes());
            out.extend_from_slice(&block.end.get().to_be_bytes());
        }
    }
}

fn encode_other(option: &OtherOption, out: &mut Vec<u8>) {
    out.extend_from_slice(&[option.kind, 2 + option.data.len() as u8]);
    out.extend_from_slice(&option.data);
}

/// True if [`TcpOptions`] has a field for this kind of option.
fn is_known(kind: u8) -> bool {
    matches!(
        kind,
        END | NOP | MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS | ACCURATE_ECN_0 | ACCURATE_ECN_1
    )
}

/// Changes the options of a foreign segment from `before` to `after`. `old` contains the original bytes. Unchanged
/// options and unknown options keep their positions. Returns `None` if the result does not fit into the header, or if
/// `old` cannot be parsed.
pub(super) fn rewrite_options(old: &[u8], before: &TcpOptions, after: &TcpOptions) -> Option<Vec<u8>> {
    let mut changed = [MSS, SACK_PERMITTED, TIMESTAMPS, WINDOW_SCALE, ACCURATE_ECN_0, SACK]
        .map(|kind| (kind, only(kind, before) != only(kind, after)))
        .to_vec();
    changed.retain(|(_, changed)| *changed);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut rest = old;
    while let [kind, tail @ ..] = rest {
        match *kind {
            END => break,
            NOP => rest = tail,
            kind => {
                let len = usize::from(*tail.first()?);
                let piece = rest.get(..len).filter(|_| len >= 2)?;
                rest = &rest[len..];
                // If any unknown option has changed, all unknown options are written again below.
                if !is_known(kind) && before.other() != after.other() {
                    continue;
                }
                // Both kinds of accurate ECN carry the same counters, in different orders.
                let group = if kind == ACCURATE_ECN_1 { ACCURATE_ECN_0 } else { kind };
                match changed.iter_mut().find(|(changed, _)| *changed == group) {
                    None => pieces.push(piece.to_vec()),
                    // Replace the first option of this kind, and remove repeated options.
                    Some((_, due)) => {
                        if std::mem::take(due) {
                            pieces.push(alone(group, after));
                        }
                    }
                }
            }
        }
    }
    if before.other() != after.other() {
        pieces.extend(after.other().as_slice().iter().map(|option| {
            let mut piece = Vec::new();
            encode_other(option, &mut piece);
            piece
        }));
    }
    pieces.extend(changed.into_iter().filter(|(_, due)| *due).map(|(kind, _)| alone(kind, after)));
    // Align each option, as hosts do, if there is space. Without alignment more options fit.
    let aligned = lay_out(&pieces, true);
    let options = if aligned.len() <= MAX_TCP_OPTIONS as usize { aligned } else { lay_out(&pieces, false) };
    (options.len() <= MAX_TCP_OPTIONS as usize).then_some(options)
}

/// Joins the options and pads the result to whole words. If `aligned` is true, each option is padded to whole words.
fn lay_out(pieces: &[Vec<u8>], aligned: bool) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for piece in pieces {
        if aligned {
            let end = (out.len() + piece.len()).next_multiple_of(4);
            out.resize(end - piece.len(), NOP);
        }
        out.extend_from_slice(piece);
    }
    out.resize(out.len().next_multiple_of(4), NOP);
    out
}

/// Returns a copy of the options that contains only options of this kind.
fn only(kind: u8, options: &TcpOptions) -> TcpOptions {
    let mut one = TcpOptions::default();
    match kind {
        MSS => one.set_mss(options.mss()),
        WINDOW_SCALE => one.set_window_scale(options.window_scale()),
        SACK_PERMITTED => one.set_sack_permitted(options.sack_permitted()),
        TIMESTAMPS => one.timestamps = options.timestamps,
        ACCURATE_ECN_0 => one.set_accurate_ecn(options.accurate_ecn().copied()),
        SACK => {
            let mut sack = SackBlocks::default();
            options.sack_on_wire().iter().for_each(|block| sack.push(*block));
            one.set_sack(sack);
        }
        _ => {}
    }
    one
}

/// Returns the bytes of one option without padding; empty if the options do not contain this option.
fn alone(kind: u8, options: &TcpOptions) -> Vec<u8> {
    let mut octets = Vec::new();
    encode_options(&only(kind, options), &mut octets);
    // Remove the padding, because `lay_out` adds its own.
    let padding = octets.iter().take_while(|octet| **octet == NOP).count();
    octets.split_off(padding)
}

/// Parses the options. An invalid length ends the parsing, as in Linux (`tcp_parse_options`), but the options before
/// this length remain valid.
pub(crate) fn parse_options(mut rest: &[u8]) -> TcpOptions {
    let mut options = TcpOptions::default();
    let mut other = OtherOptions::new();
    while let [kind, tail @ ..] = rest {
        match *kind {
            END => break,
            NOP => rest = tail,
            kind => {
                let len = tail.first().map_or(0, |len| usize::from(*len));
                // This also ends the loop if the length is below 2, which would otherwise make the loop endless.
                let Some(data) = rest.get(2..len) else { break };
                if is_known(kind) {
                    read_option(kind, data, &mut options);
                } else {
                    other.push(kind, data);
                }
                rest = &rest[len..];
            }
        }
    }
    options.set_other(other);
    options
}

/// True if each option has a valid length and occurs only once.
pub(super) fn reads_options(mut rest: &[u8]) -> bool {
    let mut seen: Vec<u8> = Vec::new();
    while let [kind, tail @ ..] = rest {
        match *kind {
            END => return tail.iter().all(|octet| *octet == END),
            NOP => rest = tail,
            kind => {
                let len = tail.first().map_or(0, |len| usize::from(*len));
                let Some(data) = rest.get(2..len) else { return false };
                let is_usual = match kind {
                    MSS => data.len() == 2,
                    WINDOW_SCALE => data.len() == 1,
                    SACK_PERMITTED => data.is_empty(),
                    TIMESTAMPS => data.len() == 8,
                    SACK => data.len() % 8 == 0,
                    ACCURATE_ECN_0 | ACCURATE_ECN_1 => matches!(data.len(), 0 | 3 | 6 | 9),
                    _ => true,
                };
                // A repeated option is legal, but the fields can represent only one of them.
                if !is_usual || seen.contains(&kind) {
                    return false;
                }
                seen.push(kind);
                rest = &rest[len..];
            }
        }
    }
    true
}

/// Parses one option. An option with a wrong length is ignored.
fn read_option(kind: u8, data: &[u8], options: &mut TcpOptions) {
    match (kind, data.len()) {
        (MSS, 2) => options.set_mss(Some(word(data, 0))),
        (WINDOW_SCALE, 1) => options.set_window_scale(Some(data[0])),
        (SACK_PERMITTED, 0) => options.set_sack_permitted(true),
        (TIMESTAMPS, 8) => {
            options.timestamps = Some(Timestamps { value: double_word(data, 0), echo: double_word(data, 4) });
        }
        (ACCURATE_ECN_0 | ACCURATE_ECN_1, 0 | 3 | 6 | 9..) => {
            // RFC 9768, section 3.2.3: future versions of the option may be longer, so skip bytes after the third
            // counter.
            let order = if kind == ACCURATE_ECN_0 { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
            let counters = data.chunks_exact(3).map(|octets| u32::from_be_bytes([0, octets[0], octets[1], octets[2]]));
            let counters: Vec<u32> = counters.take(3).collect();
            options.set_accurate_ecn(Some(AccEcnOption::new(order, &counters)));
        }
        // Each block is 8 bytes long. A partial block makes the option invalid.
        (SACK, len) if len % 8 == 0 => {
            for block in data.chunks_exact(8) {
                let (start, end) = (Seq::new(double_word(block, 0)), Seq::new(double_word(block, 4)));
                options.push_sack(SackBlock { start, end });
            }
        }
        _ => {}
    }
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn double_word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}
