//! Measures how two captures of one connection drift apart: common packets, delay of the second capture, and progress
//! of both ends.
//!
//! Two packets match if they have the same sender, sequence number, length, acknowledgement number and control flags.
//! If a packet was sent several times, the n-th transmissions of both captures match.

use crate::align::{Fields, Rules};
use crate::conversation::{Conversation, End, Segment};
use lopsided_core::packet::Flags;
use std::collections::BTreeMap;

/// Measurements for one part of the connection's duration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Start of the part, in nanoseconds since the SYN.
    pub from: u64,
    /// End of the part, in nanoseconds since the SYN.
    pub until: u64,
    /// Number of packets in the first and in the second capture.
    pub packets: [usize; 2],
    /// Highest sequence number that was sent until the end of the part, for each capture: first the opener's number,
    /// then the answerer's.
    pub position: [[u64; 2]; 2],
    /// Number of packets of the first capture that have a match in the second.
    pub matched: usize,
    /// Number of matched packets whose times differ by at most the tolerance.
    pub in_time: usize,
    /// Number of matched packets that are equal in all compared fields.
    pub alike: usize,
    /// Delay of the matched packets; `None` if no packet matches.
    pub later: Option<Later>,
}

/// Delay of the matched packets in the second capture, in nanoseconds; negative if they are earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The smallest delay.
    pub least: i64,
    /// The median of the delays.
    pub median: i64,
    /// The largest delay.
    pub most: i64,
}

impl Later {
    fn of(mut offsets: Vec<i64>) -> Option<Later> {
        offsets.sort_unstable();
        let (least, most) = (*offsets.first()?, *offsets.last()?);
        Some(Later { least, median: offsets[offsets.len() / 2], most })
    }
}

/// Divides the time from the SYN to `until` nanoseconds into `parts` equal parts, and compares the captures in each
/// part.
pub fn drift(one: &Conversation, other: &Conversation, until: u64, parts: usize, rules: &Rules) -> Vec<Stretch> {
    let parts = parts.max(1);
    // Round up, so that the parts cover the whole duration.
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

/// Counts the packets of one capture in each part, and records the progress of both ends.
fn advance(stretches: &mut [Stretch], capture: usize, segments: &[Segment]) {
    let mut position = [0; 2];
    let mut next = segments.iter().peekable();
    let last = stretches.len() - 1;
    for (part, stretch) in stretches.iter_mut().enumerate() {
        // Packets after the end of the last part are counted in the last part.
        while let Some(segment) = next.next_if(|segment| segment.at < stretch.until || part == last) {
            let end = usize::from(segment.from == End::Answerer);
            position[end] = position[end].max(segment.end());
            stretch.packets[capture] += 1;
        }
        stretch.position[capture] = position;
    }
}

type Identity = (End, u64, u32, Option<u64>, [bool; 3]);

/// The packets of a capture, by their identity. Each packet is matched once, in the order of time.
struct Again<'a>(BTreeMap<Identity, Vec<&'a Segment>>);

impl<'a> Again<'a> {
    fn of(conversation: &'a Conversation) -> Again<'a> {
        let mut held: BTreeMap<Identity, Vec<&Segment>> = BTreeMap::new();
        // Insert in reverse order, so that `pop` returns the earliest packet.
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
