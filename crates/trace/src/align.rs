//! Two captures of one connection held against each other, packet by packet: where they first differ, and in what.
//!
//! Each direction is compared by itself, the n-th packet with the n-th, because microseconds decide how the two
//! directions interleave at a host. From the first packet on that is another one (other data, another acknowledgement,
//! or none) the numbers say nothing any more; what becomes of the connection then is told by [`crate::drift`].

use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use std::fmt;
use std::ops::BitOr;

/// What of a packet is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    Seq,
    Len,
    Ack,
    /// SYN, FIN and RST.
    Control,
    Psh,
    /// ECE, CWR and AE, and the two bits of the IP header.
    Ecn,
    Window,
    Sack,
    Timestamps,
    /// What only a SYN has: MSS, window scale, SACK permitted.
    SynOptions,
    Time,
    /// One capture has a packet more in this direction.
    Missing,
}

impl Field {
    pub const ALL: [Field; 12] = [
        Field::Seq,
        Field::Len,
        Field::Ack,
        Field::Control,
        Field::Psh,
        Field::Ecn,
        Field::Window,
        Field::Sack,
        Field::Timestamps,
        Field::SynOptions,
        Field::Time,
        Field::Missing,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Field::Seq => "seq",
            Field::Len => "len",
            Field::Ack => "ack",
            Field::Control => "control",
            Field::Psh => "psh",
            Field::Ecn => "ecn",
            Field::Window => "window",
            Field::Sack => "sack",
            Field::Timestamps => "timestamps",
            Field::SynOptions => "syn_options",
            Field::Time => "time",
            Field::Missing => "missing",
        }
    }

    pub fn of_name(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// Some of the fields.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields(u16);

impl Fields {
    pub const NONE: Fields = Fields(0);
    pub const ALL: Fields = Fields((1 << Field::ALL.len()) - 1);
    /// What makes another packet of it.
    pub const IDENTITY: Fields =
        Fields::NONE.with(Field::Seq).with(Field::Len).with(Field::Ack).with(Field::Control).with(Field::Missing);

    #[must_use]
    pub const fn with(self, field: Field) -> Fields {
        Fields(self.0 | 1 << field as u8)
    }

    #[must_use]
    pub const fn without(self, other: Fields) -> Fields {
        Fields(self.0 & !other.0)
    }

    #[must_use]
    pub const fn and(self, other: Fields) -> Fields {
        Fields(self.0 & other.0)
    }

    pub const fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u8 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |field| self.has(*field))
    }
}

impl BitOr for Fields {
    type Output = Fields;
    fn bitor(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What counts as a difference.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Nanoseconds by which the times of a packet may differ, each since its connection's SYN.
    pub tolerance: u64,
    pub compared: Fields,
}

impl Rules {
    /// In what two packets differ.
    pub fn differences(&self, one: &Segment, other: &Segment) -> Fields {
        let control = |segment: &Segment| [Flags::SYN, Flags::FIN, Flags::RST].map(|flag| segment.flags.has(flag));
        let marks =
            |segment: &Segment| (segment.ecn, [Flags::ECE, Flags::CWR, Flags::AE].map(|flag| segment.flags.has(flag)));
        let syn_options = |segment: &Segment| (segment.mss, segment.window_scale, segment.sack_permitted);
        let mut found = Fields::NONE;
        let mut note = |field, differs| {
            if differs {
                found = found.with(field);
            }
        };
        note(Field::Seq, one.seq != other.seq);
        note(Field::Len, one.len != other.len);
        note(Field::Ack, one.ack != other.ack);
        note(Field::Control, control(one) != control(other));
        note(Field::Psh, one.flags.has(Flags::PSH) != other.flags.has(Flags::PSH));
        note(Field::Ecn, marks(one) != marks(other));
        note(Field::Window, one.window != other.window);
        note(Field::Sack, one.sack != other.sack);
        note(Field::Timestamps, self.clocks_differ(one, other));
        note(Field::SynOptions, syn_options(one) != syn_options(other));
        note(Field::Time, one.at.abs_diff(other.at) > self.tolerance);
        found.and(self.compared)
    }

    /// The clocks count milliseconds, so that a packet within the tolerance may show one more than that.
    fn clocks_differ(&self, one: &Segment, other: &Segment) -> bool {
        let allowed = self.tolerance / 1_000_000 + 1;
        let apart = |one: u32, other: u32| u64::from(one.wrapping_sub(other).min(other.wrapping_sub(one))) > allowed;
        match (one.timestamps, other.timestamps) {
            (None, None) => false,
            (Some((value, echo)), Some((other_value, other_echo))) => {
                apart(value, other_value)
                    || match (echo, other_echo) {
                        (Some(echo), Some(other_echo)) => apart(echo, other_echo),
                        (echo, other_echo) => echo.is_some() != other_echo.is_some(),
                    }
            }
            _ => true,
        }
    }
}

/// The packets at one place of a direction: the n-th of each capture.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub number: usize,
    pub one: Option<&'a Segment>,
    pub other: Option<&'a Segment>,
    pub differ: Fields,
}

impl Pair<'_> {
    /// When the first of the two was seen, since its connection's SYN.
    pub fn at(&self) -> u64 {
        let times = [self.one, self.other].into_iter().flatten().map(|segment| segment.at);
        times.min().unwrap_or(u64::MAX)
    }

    pub fn from(&self) -> Option<End> {
        self.one.or(self.other).map(|segment| segment.from)
    }
}

/// A place where two captures differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Nanoseconds since the SYN of whichever packet came first.
    pub at: u64,
    pub from: End,
    /// How many packets this end had sent before.
    pub number: usize,
    /// How many packets of both ends the first capture holds before.
    pub packets: usize,
    pub fields: Fields,
}

/// Two captures of one connection.
#[derive(Debug)]
pub struct Alignment<'a> {
    /// By direction, up to and with the first that is another packet.
    common: [Vec<Pair<'a>>; 2],
    one: &'a Conversation,
}

/// Until when the captures lasted, in nanoseconds since the connection's SYN: what one holds later the other could not.
#[derive(Clone, Copy, Debug)]
pub struct Lasted {
    pub one: u64,
    pub other: u64,
}

impl<'a> Alignment<'a> {
    pub fn of(one: &'a Conversation, other: &'a Conversation, lasted: Lasted, rules: &Rules) -> Alignment<'a> {
        let common = End::BOTH.map(|end| common(one, other, end, lasted, rules));
        Alignment { common, one }
    }

    /// The first difference of any kind that is compared.
    pub fn first(&self) -> Option<Divergence> {
        self.earliest(|pair| !pair.differ.is_empty())
    }

    /// The first packet that is another one.
    pub fn parted(&self) -> Option<Divergence> {
        self.earliest(|pair| !pair.differ.and(Fields::IDENTITY).is_empty())
    }

    /// The first difference in a field, before or where the packets part.
    pub fn first_in(&self, field: Field) -> Option<Divergence> {
        let until = self.parted().map_or(u64::MAX, |parted| parted.at);
        self.earliest(|pair| pair.differ.has(field)).filter(|found| found.at <= until)
    }

    /// The packets of both directions in order of time, up to where each direction parts.
    pub fn pairs(&self) -> Vec<Pair<'a>> {
        let mut pairs: Vec<Pair<'a>> = self.common.iter().flatten().copied().collect();
        pairs.sort_by_key(|pair| (pair.at(), pair.from(), pair.number));
        pairs
    }

    fn earliest(&self, wanted: impl Fn(&Pair<'_>) -> bool) -> Option<Divergence> {
        let first_of_each = self.common.iter().filter_map(|pairs| pairs.iter().find(|pair| wanted(pair)));
        let found = first_of_each.min_by_key(|pair| pair.at())?;
        let (at, from) = (found.at(), found.from()?);
        // In the order of the capture; what it lacks would be behind all of that time.
        let packets = match found.one {
            Some(_) => self.one.place_of(from, found.number),
            None => self.one.segments.partition_point(|segment| segment.at <= at),
        };
        Some(Divergence { at, from, number: found.number, packets, fields: found.differ })
    }
}

fn common<'a>(
    one: &'a Conversation,
    other: &'a Conversation,
    end: End,
    lasted: Lasted,
    rules: &Rules,
) -> Vec<Pair<'a>> {
    let mut these = one.segments.iter().filter(|segment| segment.from == end);
    let mut those = other.segments.iter().filter(|segment| segment.from == end);
    let mut pairs = Vec::new();
    loop {
        let (one, other) = (these.next(), those.next());
        let differ = match (one, other) {
            (None, None) => break,
            (Some(one), Some(other)) => rules.differences(one, other),
            (Some(only), None) if only.at + rules.tolerance >= lasted.other => break,
            (None, Some(only)) if only.at + rules.tolerance >= lasted.one => break,
            _ => Fields::NONE.with(Field::Missing),
        };
        pairs.push(Pair { number: pairs.len(), one, other, differ });
        if !differ.and(Fields::IDENTITY).is_empty() {
            break;
        }
    }
    pairs
}
