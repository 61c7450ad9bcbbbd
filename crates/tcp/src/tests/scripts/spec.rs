//! A textual form of segments, similar to packetdrill: `"S. 0:0 ack 1 win 65535 mss 1012 sackok wscale 7 ts 0:0"`.
//!
//! Numbers are relative to each side's initial sequence number, so the SYN is 0 and the first data byte 1. Windows are
//! in bytes, after scaling. Timestamps are in milliseconds of each side's clock. All words are optional and may be in
//! any order:
//!
//! - flags: `S` SYN, `F` FIN, `R` RST, `.` ACK, `E` ECE, `W` CWR, `A` AE, `X` the mark of a filter, `P` PSH (not
//!   compared)
//! - `1:1001`: the bytes of the segment
//! - `ack N`, `win N`, `sack 2001:3001,4001:5001`, `mss N`, `wscale N`, `sackok`, `ts value:echo`
//! - `ace N`: AE, CWR and ECE as a number (RFC 9768)
//! - `octets0 1001,500` and `octets1 ...`: the counters of the accurate-ECN option, in the order of its kind
//! - `ce`, `ect0`, `ect1`: the ECN field of the IP header
//!
//! Flags, bytes, SACK blocks, the accurate-ECN option and the ECN field must be equal. Other values are compared only
//! if the text contains them.

use crate::ecn::flags_of;
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, AccEcnOrder, Flags};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    pub flags: Flags,
    pub range: Option<(i64, i64)>,
    pub ack: Option<i64>,
    pub win: Option<u64>,
    pub sack: Vec<(i64, i64)>,
    pub mss: Option<u16>,
    pub wscale: Option<u8>,
    pub sackok: bool,
    pub ts: Option<(i64, i64)>,
    pub counters: Option<AccEcnOption>,
    pub ecn: Ecn,
}

impl Spec {
    /// Parses the text of a segment.
    ///
    /// # Panics
    ///
    /// Panics if a word is unknown.
    #[track_caller]
    pub fn parse(text: &str) -> Spec {
        let mut spec = Spec::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut number = || number(words.next().unwrap_or_default(), text);
            match word {
                "ack" => {
                    spec.ack = Some(number());
                    spec.flags = spec.flags.with(Flags::ACK);
                }
                "win" => spec.win = Some(number() as u64),
                "mss" => spec.mss = Some(number() as u16),
                "wscale" => spec.wscale = Some(number() as u8),
                "sackok" => spec.sackok = true,
                "ts" => spec.ts = Some(range(words.next().unwrap_or_default(), text)),
                "sack" => {
                    spec.sack = words.next().unwrap_or_default().split(',').map(|block| range(block, text)).collect();
                }
                "ce" => spec.ecn = Ecn::Ce,
                "ect0" => spec.ecn = Ecn::Ect0,
                "ect1" => spec.ecn = Ecn::Ect1,
                "ace" => spec.flags = spec.flags.with(flags_of(number() as u8)),
                "octets0" | "octets1" => {
                    let order = if word == "octets0" { AccEcnOrder::Ect0First } else { AccEcnOrder::Ect1First };
                    let counters = words.next().unwrap_or_default().split(',');
                    let counters: Vec<u32> = counters.map(|word| self::number(word, text) as u32).collect();
                    spec.counters = Some(AccEcnOption::new(order, &counters));
                }
                _ if word.contains(':') => spec.range = Some(range(word, text)),
                _ => spec.flags = word.chars().fold(spec.flags, |flags, letter| flags.with(flag(letter, text))),
            }
        }
        spec
    }

    /// Number of data bytes.
    pub fn len(&self) -> u32 {
        self.range.map_or(0, |(start, end)| (end - start) as u32)
    }
}

#[track_caller]
fn number(word: &str, text: &str) -> i64 {
    word.parse().unwrap_or_else(|_| panic!("{word:?} in {text:?} is not a number"))
}

#[track_caller]
fn range(word: &str, text: &str) -> (i64, i64) {
    let (start, end) = word.split_once(':').unwrap_or_else(|| panic!("{word:?} in {text:?} is not start:end"));
    (number(start, text), number(end, text))
}

#[track_caller]
fn flag(letter: char, text: &str) -> Flags {
    match letter {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'R' => Flags::RST,
        'P' => Flags::PSH,
        '.' => Flags::ACK,
        'E' => Flags::ECE,
        'W' => Flags::CWR,
        'A' => Flags::AE,
        'X' => Flags::FAST_RETRANSMIT,
        _ => panic!("{letter:?} in {text:?} is no flag"),
    }
}
