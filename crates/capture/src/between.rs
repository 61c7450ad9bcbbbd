//! Comparison of two captures of the same flows: aligns their clocks and finds each packet in both captures.
//!
//! A long record is first divided into the packets that a network card merged or will split (GRO, TSO). Two packets are
//! the same packet if their addresses, sequence numbers, lengths, flags, timestamps and IPv4 identifications are equal.
//! If several packets are equal, they are matched in order.
//!
//! The clock difference is modelled as a straight line over time. The minimum delays of both directions are assumed to
//! be equal, as in NTP (RFC 5905, section 8). If they differ, all delays are wrong by half of the difference.
//!
//! Left out: paths that change addresses (NAT), and merged records whose packets are smaller than a full segment.

use crate::frames::{ReadError, frames};
use crate::segment::{Endpoint, Segment};
use crate::sketch::Sketch;
use lopsided_core::packet::Flags;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

/// Number of intervals into which the captures are divided. Each interval yields one clock difference for each
/// direction.
const PARTS: u64 = 20;

/// Assumed payload of a full segment in bytes, if the capture has no SYN. Timestamps take `TIMESTAMPS` bytes of this
/// payload.
const USUAL_MSS: u32 = 1460;
const TIMESTAMPS: u32 = 12;
/// Smallest payload into which a record is divided (Linux's `TCP_MIN_MSS`).
const LEAST_MSS: u32 = 88;

/// A packet that at least one of the two captures contains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Index of the packet's direction in [`Between::ways`].
    pub way: usize,
    /// Frame number in each capture, counted from 1; `None` if that capture lacks the packet.
    pub numbers: [Option<u64>; 2],
    /// Time at the first point of capture, in nanoseconds of the first capture's clock. If only the second capture
    /// contains the packet, its time is converted.
    pub at: i64,
    /// Delay between the two points of capture in nanoseconds. `None` if one capture lacks the packet.
    pub delay: Option<i64>,
}

/// One direction of a connection between the two points of capture.
#[derive(Clone, Debug)]
pub struct Way {
    /// The endpoint that sends the packets.
    pub from: Endpoint,
    /// The endpoint that receives the packets.
    pub to: Endpoint,
    /// Number of packets in each capture.
    pub packets: [u64; 2],
    /// Number of packets in both captures.
    pub both: u64,
    /// Index (0 or 1) of the point of capture that packets pass first.
    pub first: usize,
    /// Delays between the two points of capture in ms.
    pub delay_ms: Sketch,
    /// Minimum and maximum delay in ms.
    pub bounds_ms: (f64, f64),
}

impl Way {
    /// Returns the number of packets that passed the first point of capture but not the second.
    pub fn lost(&self) -> u64 {
        self.packets[self.first] - self.both
    }
}

/// Two captures with their times converted to one clock.
#[derive(Clone, Debug)]
pub struct Between {
    /// Difference between the second and the first clock, in nanoseconds, at the first common packet.
    pub offset: f64,
    /// Relative difference between the rates of the two clocks, in parts per million; positive if the second clock runs
    /// faster.
    pub skew_ppm: f64,
    /// The directions of the connections that both captures contain.
    pub ways: Vec<Way>,
    /// The packets of these directions, ordered by time.
    pub passages: Vec<Passage>,
}

/// The header fields that identify a packet within its direction: see [`key`].
type Key = (u32, u32, u32, u16, Option<(u32, u32)>, Option<u16>);

/// A packet with its time and frame number in each capture.
struct Found {
    way: (Endpoint, Endpoint),
    times: [Option<u64>; 2],
    numbers: [Option<u64>; 2],
}

impl Between {
    /// Reads both captures. The required memory grows with the number of packets in both captures.
    ///
    /// # Errors
    /// Returns an error if one of the inputs is not a capture, or if the captures share no packet.
    pub fn read(one: impl Read + Send, other: impl Read + Send) -> Result<Between, ReadError> {
        let mut found: Vec<Found> = Vec::new();
        let mut waiting: BTreeMap<(Endpoint, Endpoint, Key), VecDeque<usize>> = BTreeMap::new();
        each(one, |segment| {
            waiting.entry((segment.from, segment.to, key(segment))).or_default().push_back(found.len());
            let way = (segment.from, segment.to);
            found.push(Found { way, times: [Some(segment.at), None], numbers: [Some(segment.number), None] });
        })?;
        each(other, |segment| {
            // Packets with the same key are retransmissions. The n-th copy in one capture is matched with the n-th copy
            // in the other capture.
            let place = waiting.get_mut(&(segment.from, segment.to, key(segment))).and_then(VecDeque::pop_front);
            let (at, number) = (Some(segment.at), Some(segment.number));
            if let Some(place) = place {
                (found[place].times[1], found[place].numbers[1]) = (at, number);
            } else {
                let way = (segment.from, segment.to);
                found.push(Found { way, times: [None, at], numbers: [None, number] });
            }
        })?;
        Between::of(&found).ok_or_else(|| ReadError::new("no packet is in both captures"))
    }

    fn of(found: &[Found]) -> Option<Between> {
        let both = || found.iter().filter_map(|each| Some((each.way, each.times[0]?, each.times[1]?)));
        let begin = both().map(|(_, at, _)| at).min()?;
        let end = both().map(|(_, at, _)| at).max()?;
        let mut differences: BTreeMap<(Endpoint, Endpoint), Vec<i64>> = BTreeMap::new();
        both().for_each(|(way, one, other)| differences.entry(way).or_default().push(other as i64 - one as i64));
        // For packets that pass the first capture first, the difference between the two capture times (second minus
        // first) is the clock difference plus the delay. For all other packets, it is the clock difference minus the
        // delay. The packets of the direction with the smaller median therefore pass the second capture first.
        let middle: BTreeMap<_, _> = differences.into_iter().map(|(way, values)| (way, median(values))).collect();
        let first = |way: &(Endpoint, Endpoint)| {
            let back = middle.get(&(way.1, way.0));
            back.zip(middle.get(way)).map(|(back, there)| usize::from(there < back))
        };
        // Leave out a direction if the captures have no packets of the opposite direction. It is then unknown which
        // capture the packets of the direction pass first.
        let clock = Line::through(&extremes(both(), first, begin, end));
        let places: Vec<(Endpoint, Endpoint)> = middle.keys().copied().filter(|way| first(way).is_some()).collect();
        let mut ways: Vec<Way> = places.iter().map(|way| Way::new(*way, first(way).unwrap_or(0))).collect();
        let mut passages = Vec::new();
        for each in found {
            let Ok(place) = places.binary_search(&each.way) else { continue };
            let way = &mut ways[place];
            let aligned = each.times[1].map(|at| begin as i64 + clock.aligned(at as i64 - begin as i64));
            let delay = each.times[0].zip(aligned).map(|(one, other)| {
                let later = other - one as i64;
                if way.first == 0 { later } else { -later }
            });
            way.add(each, delay);
            let at = each.times[0].map(|at| at as i64).or(aligned)?;
            passages.push(Passage { way: place, numbers: each.numbers, at, delay });
        }
        passages.sort_by_key(|passage| passage.at);
        Some(Between { offset: clock.start, skew_ppm: clock.slope * 1e6, ways, passages })
    }
}

impl Way {
    fn new((from, to): (Endpoint, Endpoint), first: usize) -> Way {
        let bounds_ms = (f64::INFINITY, f64::NEG_INFINITY);
        Way { from, to, packets: [0; 2], both: 0, first, delay_ms: Sketch::default(), bounds_ms }
    }

    fn add(&mut self, packet: &Found, delay: Option<i64>) {
        for (count, time) in self.packets.iter_mut().zip(packet.times) {
            *count += u64::from(time.is_some());
        }
        if let Some(delay) = delay {
            let ms = delay as f64 * 1e-6;
            self.both += 1;
            self.delay_ms.add(ms);
            self.bounds_ms = (self.bounds_ms.0.min(ms), self.bounds_ms.1.max(ms));
        }
    }
}

fn each(input: impl Read + Send, mut each: impl FnMut(&Segment)) -> Result<(), ReadError> {
    let mut agreed: BTreeMap<(Endpoint, Endpoint), u32> = BTreeMap::new();
    frames(input, |frame| {
        let Some(segment) = Segment::of(&frame) else { return true };
        let ends = (segment.from.min(segment.to), segment.from.max(segment.to));
        if let Some(mss) = segment.options.mss {
            let least = agreed.entry(ends).or_insert(u32::MAX);
            *least = (*least).min(u32::from(mss));
        }
        let options = if segment.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let full = agreed.get(&ends).copied().unwrap_or(USUAL_MSS).saturating_sub(options).max(LEAST_MSS);
        if segment.len <= full {
            each(&segment)
        } else {
            packets(&segment, full).for_each(|packet| each(&packet))
        }
        true
    })
    .map(|_| ())
}

/// Divides a record into packets with `full` bytes of payload. The last packet contains the remaining bytes.
fn packets(record: &Segment, full: u32) -> impl Iterator<Item = Segment> {
    let count = record.len.div_ceil(full);
    (0..count).map(move |number| {
        let len = full.min(record.len - number * full);
        let is_last = number + 1 == count;
        let flags = if is_last { record.flags } else { Flags(record.flags.0 & !Flags::FIN.0) };
        // The card increments the identification for each packet that it sends. Hosts that do not count packets send 0
        // (RFC 6864).
        let ip_id = record.ip_id.map(|id| if id == 0 { 0 } else { id.wrapping_add(number as u16) });
        Segment { seq: record.seq + number * full, len, flags, ip_id, ..*record }
    })
}

/// Returns the sequence and acknowledgement numbers, length, flags, timestamps and IPv4 identification.
fn key(segment: &Segment) -> Key {
    let timestamps = segment.options.timestamps;
    // A merged record contains the flags PSH and CWR of only one of its packets, so these flags are ignored for data.
    let merged = if segment.len > 0 { Flags::PSH.0 | Flags::CWR.0 } else { 0 };
    (segment.seq.get(), segment.ack.get(), segment.len, segment.flags.0 & !merged, timestamps, segment.ip_id)
}

fn median(mut values: Vec<i64>) -> i64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

/// Time since the first common packet, and the difference between the clocks at that time, both in nanoseconds.
type Instant = (f64, f64);

/// Returns the clock difference of the packet with the minimum delay in each interval, for each direction.
fn extremes(
    both: impl Iterator<Item = ((Endpoint, Endpoint), u64, u64)>,
    first: impl Fn(&(Endpoint, Endpoint)) -> Option<usize>,
    begin: u64,
    end: u64,
) -> [Vec<Instant>; 2] {
    let width = (end - begin) / PARTS + 1;
    let mut found: [Vec<Option<Instant>>; 2] = [vec![None; PARTS as usize], vec![None; PARTS as usize]];
    for (way, one, other) in both {
        let Some(first) = first(&way) else { continue };
        let now = ((one - begin) as f64, other as f64 - one as f64);
        let cell = &mut found[first][((one - begin) / width) as usize];
        // In the opposite direction the delay is subtracted, so the packet with the largest difference has the smallest
        // delay.
        let nearer = cell.is_none_or(|(_, before)| if first == 0 { now.1 < before } else { now.1 > before });
        if nearer {
            *cell = Some(now);
        }
    }
    found.map(|part| part.into_iter().flatten().collect())
}

/// The difference between the clocks as a straight line over time: `start` in ns, `slope` in ns per ns.
struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    /// Fits a line to the minimum delays of both directions (Moon, Skelly and Towsley, 1999, section 3).
    fn through([there, back]: &[Vec<Instant>; 2]) -> Line {
        let mirrored: Vec<Instant> = back.iter().map(|(at, value)| (*at, -value)).collect();
        let (one, other) = (tilt(there), -tilt(&mirrored));
        // A queue that grows or drains tilts the line of its own direction. The flatter of the two lines is therefore
        // less affected.
        let slope = if one.abs() <= other.abs() { one } else { other };
        let least = |points: &[Instant], slope: f64| {
            points.iter().map(|(at, value)| value - slope * at).fold(f64::INFINITY, f64::min)
        };
        Line { start: (least(there, slope) - least(&mirrored, -slope)) / 2.0, slope }
    }

    /// Converts a time of the second clock to the first clock. Both count nanoseconds since the first common packet.
    fn aligned(&self, time: i64) -> i64 {
        ((time as f64 - self.start) / (1.0 + self.slope)) as i64
    }
}

/// Returns the slope of the lower convex hull of `points` at the middle of their time span. The points must be in
/// order.
fn tilt(points: &[Instant]) -> f64 {
    let slope = |one: Instant, other: Instant| (other.1 - one.1) / (other.0 - one.0);
    let mut hull: Vec<Instant> = Vec::new();
    for point in points {
        // Remove points above the lower hull (Andrew's monotone chain).
        while let [.., one, other] = hull[..] {
            if slope(one, other) < slope(one, *point) {
                break;
            }
            hull.pop();
        }
        hull.push(*point);
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0.0 };
    let middle = (first.0 + last.0) / 2.0;
    let edge = hull.windows(2).find(|edge| edge[1].0 >= middle);
    edge.filter(|edge| edge[1].0 > edge[0].0).map_or(0.0, |edge| slope(edge[0], edge[1]))
}
