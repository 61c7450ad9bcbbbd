//! Compares two captures of one connection packet by packet. Finds the first difference, and the fields that differ.
//!
//! The n-th packet of a direction is compared with the n-th packet of that direction in the other capture, up to the
//! first pair of different packets. [`crate::drift`] describes the rest of the connection.

use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use std::fmt;
use std::ops::BitOr;

/// A packet property that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Field {
    /// Sequence number.
    Seq,
    /// Length of the data in bytes.
    Len,
    /// Acknowledgement number.
    Ack,
    /// The flags SYN, FIN and RST.
    Control,
    /// The flag PSH.
    Psh,
    /// The flags ECE, CWR and AE, and the ECN field of the IP header.
    Ecn,
    /// The window field, before scaling.
    Window,
    /// The SACK blocks.
    Sack,
    /// The timestamps option.
    Timestamps,
    /// Options that occur only in a SYN: MSS, window scale, SACK permitted.
    SynOptions,
    /// The time since the connection's SYN.
    Time,
    /// One capture has more packets in this direction than the other.
    Missing,
}

impl Field {
    /// All fields.
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

    /// Returns the field's name in results and in users' settings.
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

    /// Returns the field with this name; `None` if no field has this name.
    pub fn of_name(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// A set of fields.
///
/// # Examples
///
/// ```
/// use lopsided_trace::{Field, Fields};
///
/// let compared = Fields::ALL.without(Fields::NONE.with(Field::Time));
/// assert!(compared.has(Field::Seq) && !compared.has(Field::Time));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields(u16);

impl Fields {
    /// The empty set.
    pub const NONE: Fields = Fields(0);
    /// The set of all fields.
    pub const ALL: Fields = Fields((1 << Field::ALL.len()) - 1);
    /// Fields that identify a packet: packets that differ in one of them are different packets.
    pub const IDENTITY: Fields =
        Fields::NONE.with(Field::Seq).with(Field::Len).with(Field::Ack).with(Field::Control).with(Field::Missing);

    /// Returns this set with `field` added.
    #[must_use]
    pub const fn with(self, field: Field) -> Fields {
        Fields(self.0 | 1 << field as u8)
    }

    /// Returns this set without the fields of `other`.
    #[must_use]
    pub const fn without(self, other: Fields) -> Fields {
        Fields(self.0 & !other.0)
    }

    /// Returns the fields that are in both sets.
    #[must_use]
    pub const fn and(self, other: Fields) -> Fields {
        Fields(self.0 & other.0)
    }

    /// Returns true if the set contains `field`.
    pub const fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u8 != 0
    }

    /// Returns true if the set contains no field.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the fields of the set, in the order of [`Field::ALL`].
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

/// Rules that determine which differences between packets count.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The times of two corresponding packets, counted from the SYN, count as different if they differ by more than
    /// this, in nanoseconds.
    pub tolerance: u64,
    /// The fields that are compared.
    pub compared: Fields,
}

impl Rules {
    /// Returns the compared fields in which two packets differ.
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

    /// Returns true if the timestamps options differ by more than the tolerance.
    fn clocks_differ(&self, one: &Segment, other: &Segment) -> bool {
        // The timestamp clocks tick in whole milliseconds, so two packets within the tolerance may differ by one more
        // tick.
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

/// The n-th packet of one direction, in each of the two captures.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Index of the packet in its direction, from 0.
    pub number: usize,
    /// The packet in the first capture; `None` if that capture has fewer packets.
    pub one: Option<&'a Segment>,
    /// The packet in the second capture; `None` if that capture has fewer packets.
    pub other: Option<&'a Segment>,
    /// The fields in which the two packets differ.
    pub differ: Fields,
}

impl Pair<'_> {
    /// Returns the time of the earlier of the two packets, in nanoseconds since its connection's SYN.
    pub fn at(&self) -> u64 {
        let times = [self.one, self.other].into_iter().flatten().map(|segment| segment.at);
        times.min().unwrap_or(u64::MAX)
    }

    /// Returns the end that sent this pair of packets; `None` if neither capture contains the packet.
    pub fn from(&self) -> Option<End> {
        self.one.or(self.other).map(|segment| segment.from)
    }
}

/// The place at which two captures first differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Time of the earlier of the two packets, in nanoseconds since its connection's SYN.
    pub at: u64,
    /// The end that sent the two packets.
    pub from: End,
    /// Number of packets that this end had sent before the difference.
    pub number: usize,
    /// Number of packets of both ends that precede the difference in the first capture.
    pub packets: usize,
    /// The fields in which the two packets differ.
    pub fields: Fields,
}

/// A comparison of two captures of one connection.
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
/// use lopsided_core::{FlowId, IpHeader, NewPacket, Packet, Payload, Seq, Time, Transport};
/// use lopsided_trace::{Alignment, Conversations, Field, Fields, Lasted, Rules};
///
/// // A SYN from 10.0.0.1 to 10.0.0.2 with this receive window.
/// let syn = |window| {
///     let header = TcpHeader {
///         src_port: 5201,
///         dst_port: 40000,
///         seq: Seq::new(77),
///         ack: Seq::default(),
///         flags: Flags::SYN,
///         window,
///         options: TcpOptions::default(),
///     };
///     let ip = IpHeader::v4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
///     let contents = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(0));
///     Packet::unbooked(0, Time::ZERO, contents)
/// };
/// let [mut one, mut other] = [Conversations::default(), Conversations::default()];
/// one.observe(Time::ZERO, &syn(65535));
/// other.observe(Time::ZERO, &syn(1000));
///
/// let rules = Rules { tolerance: 100_000, compared: Fields::ALL };
/// let lasted = Lasted { one: u64::MAX, other: u64::MAX };
/// let aligned = Alignment::of(&one.all()[0], &other.all()[0], lasted, &rules);
/// assert!(aligned.first().expect("the windows differ").fields.has(Field::Window));
/// assert_eq!(aligned.parted(), None, "both are the same SYN");
/// ```
#[derive(Debug)]
pub struct Alignment<'a> {
    /// For each direction, the pairs of packets up to and including the first pair of different packets.
    common: [Vec<Pair<'a>>; 2],
    one: &'a Conversation,
}

/// Times at which the two captures end, in nanoseconds since the SYN. A packet does not count as missing from a capture
/// that ended before the packet, even if the last packets of this capture are later than those of the other capture.
#[derive(Clone, Copy, Debug)]
pub struct Lasted {
    /// End time of the first capture.
    pub one: u64,
    /// End time of the second capture.
    pub other: u64,
}

impl<'a> Alignment<'a> {
    /// Compares two captures of one connection.
    pub fn of(one: &'a Conversation, other: &'a Conversation, lasted: Lasted, rules: &Rules) -> Alignment<'a> {
        let common = End::BOTH.map(|end| common(one, other, end, lasted, rules));
        Alignment { common, one }
    }

    /// Returns the first difference in any of the compared fields; `None` if the captures do not differ.
    pub fn first(&self) -> Option<Divergence> {
        self.earliest(|pair| !pair.differ.is_empty())
    }

    /// Returns the first pair of different packets: data, acknowledgement or control flags differ, or a packet is
    /// missing.
    pub fn parted(&self) -> Option<Divergence> {
        self.earliest(|pair| !pair.differ.and(Fields::IDENTITY).is_empty())
    }

    /// Returns the first difference in one field, if it is no later than the first pair of different packets.
    pub fn first_in(&self, field: Field) -> Option<Divergence> {
        // A later difference may be a consequence of the different packet.
        let until = self.parted().map_or(u64::MAX, |parted| parted.at);
        self.earliest(|pair| pair.differ.has(field)).filter(|found| found.at <= until)
    }

    /// Returns the pairs of both directions by time, up to the first different pair in each direction.
    pub fn pairs(&self) -> Vec<Pair<'a>> {
        let mut pairs: Vec<Pair<'a>> = self.common.iter().flatten().copied().collect();
        pairs.sort_by_key(|pair| (pair.at(), pair.from(), pair.number));
        pairs
    }

    fn earliest(&self, wanted: impl Fn(&Pair<'_>) -> bool) -> Option<Divergence> {
        let first_of_each = self.common.iter().filter_map(|pairs| pairs.iter().find(|pair| wanted(pair)));
        let found = first_of_each.min_by_key(|pair| pair.at())?;
        let (at, from) = (found.at(), found.from()?);
        // If the packet is in the first capture, count the packets before the packet in the first capture. If the
        // packet is only in the second capture, count all packets of the first capture up to the packet's time.
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
    let ends_before = |until: u64, packet: &Segment, later: i64| {
        packet.at.saturating_add_signed(later).saturating_add(rules.tolerance) >= until
    };
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    // Time by which the second capture is later than the first, from the last pair.
    let mut later = 0;
    loop {
        let (one, other) = (these.next(), those.next());
        let differ = match (one, other) {
            (None, None) => break,
            (Some(one), Some(other)) => rules.differences(one, other),
            // The other capture may have ended before this packet passed. The packet then does not count as missing.
            (Some(only), None) if ends_before(lasted.other, only, later) => break,
            (None, Some(only)) if ends_before(lasted.one, only, -later) => break,
            _ => Fields::NONE.with(Field::Missing),
        };
        if let (Some(one), Some(other)) = (one, other) {
            later = (other.at as i64).wrapping_sub(one.at as i64);
        }
        pairs.push(Pair { number: pairs.len(), one, other, differ });
        // After a different packet, the n-th packets of the captures no longer correspond.
        if !differ.and(Fields::IDENTITY).is_empty() {
            break;
        }
    }
    pairs
}
