//! How far two captures of one connection drift apart: packets found again in the other, by how much later, and who is
//! ahead.
//!
//! A packet is found again if the other capture holds one of the same data and acknowledgement, the n-th time it is
//! sent with the n-th: a retransmission is matched with a retransmission. The time is cut into equal parts.

use crate::align::{Fields, Rules};
use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use std::collections::BTreeMap;

/// A part of the connection's time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Nanoseconds since the SYN.
    pub from: u64,
    pub until: u64,
    /// Packets of the first and of the second capture.
    pub packets: [usize; 2],
    /// The highest octet sent until the end of the part, in the first and in the second capture: by the end that
    /// opened, and by the other.
    pub position: [[u64; 2]; 2],
    /// Of the first capture's packets, those found again; those of them in time; those alike in all that is compared.
    pub matched: usize,
    pub in_time: usize,
    pub alike: usize,
    pub later: Option<Later>,
}

/// By how many nanoseconds packets found again are later in the second capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    pub least: i64,
    pub median: i64,
    pub most: i64,
}

impl Later {
    fn of(mut offsets: Vec<i64>) -> Option<Later> {
        offsets.sort_unstable();
        let (least, most) = (*offsets.first()?, *offsets.last()?);
        Some(Later { least, median: offsets[offsets.len() / 2], most })
    }
}

/// The connection's time until `until` in so many equal parts.
pub fn drift(one: &Conversation, other: &Conversation, until: u64, parts: usize, rules: &Rules) -> Vec<Stretch> {
    let parts = parts.max(1);
    let width = until.div_ceil(parts as u64).max(1);
    let mut stretches: Vec<Stretch> = (0..parts as u64)
        .map(|part| Stretch { from: part * width, until: (part + 1) * width, ..Stretch::default() })
        .collect();
    advance(&mut stretches, 0, &one.segments);
    advance(&mut stretches, 1, &other.segments);

    let mut offsets: Vec<Vec<i64>> = vec![Vec::new(); parts];
    let mut again = Again::of(other);
    for segment in &one.segments {
        let Some(found) = again.take(segment) else { continue };
        let part = ((segment.at / width) as usize).min(parts - 1);
        let stretch = &mut stretches[part];
        stretch.matched += 1;
        stretch.in_time += usize::from(segment.at.abs_diff(found.at) <= rules.tolerance);
        stretch.alike += usize::from(rules.differences(segment, found) == Fields::NONE);
        offsets[part].push(found.at as i64 - segment.at as i64);
    }
    for (stretch, offsets) in stretches.iter_mut().zip(offsets) {
        stretch.later = Later::of(offsets);
    }
    stretches
}

/// Counts one capture's packets, and how far its ends have come.
fn advance(stretches: &mut [Stretch], capture: usize, segments: &[Segment]) {
    let mut position = [0; 2];
    let mut next = segments.iter().peekable();
    let last = stretches.len() - 1;
    for (part, stretch) in stretches.iter_mut().enumerate() {
        while let Some(segment) = next.next_if(|segment| segment.at < stretch.until || part == last) {
            let end = usize::from(segment.from == End::Answerer);
            position[end] = position[end].max(segment.end());
            stretch.packets[capture] += 1;
        }
        stretch.position[capture] = position;
    }
}

type Identity = (End, u64, u32, Option<u64>, [bool; 3]);

/// The packets of a capture by what they are; each is found once, the earliest first.
struct Again<'a>(BTreeMap<Identity, Vec<&'a Segment>>);

impl<'a> Again<'a> {
    fn of(conversation: &'a Conversation) -> Again<'a> {
        let mut held: BTreeMap<Identity, Vec<&Segment>> = BTreeMap::new();
        for segment in conversation.segments.iter().rev() {
            held.entry(identity(segment)).or_default().push(segment);
        }
        Again(held)
    }

    fn take(&mut self, segment: &Segment) -> Option<&'a Segment> {
        self.0.get_mut(&identity(segment))?.pop()
    }
}

fn identity(segment: &Segment) -> Identity {
    let control = [Flags::SYN, Flags::FIN, Flags::RST].map(|flag| segment.flags.has(flag));
    (segment.from, segment.seq, segment.len, segment.ack, control)
}
