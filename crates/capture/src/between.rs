//! Two captures of the same flows: their clocks are aligned, and each packet of one is found in the other.
//!
//! A packet is the same in both captures if addresses, sequence and acknowledgement numbers, length, flags, timestamps
//! and IPv4 identification are. The n-th such packet of one is the n-th of the other. The clocks' difference is a line
//! over time: the smallest delays of both directions are taken for equal, as NTP does (RFC 5905, section 8). An
//! asymmetric path shifts the difference by half of its asymmetry; captures alone cannot show that.
//!
//! Left out: paths that change addresses (NAT), and records that a network card has joined at one of the points.

use crate::frames::{ReadError, frames};
use crate::segment::{Endpoint, Segment};
use crate::sketch::Sketch;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;

/// Parts of the time in which the clocks' difference is measured.
const PARTS: u64 = 20;

/// A packet in both captures, or in one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Place of its direction in [`Between::ways`].
    pub way: usize,
    /// Its number in each capture; `None` if it is missing there.
    pub numbers: [Option<u64>; 2],
    /// When it passed the first point, or else the second, in nanoseconds of the first capture's clock.
    pub at: i64,
    /// Nanoseconds from the point nearer to its sender to the other.
    pub delay: Option<i64>,
}

/// One direction of a connection between the two points.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its sender.
    pub from: Endpoint,
    /// Its receiver.
    pub to: Endpoint,
    /// Packets in each capture.
    pub packets: [u64; 2],
    /// Packets in both.
    pub both: u64,
    /// Place of the capture that a packet passes first.
    pub first: usize,
    /// Delays between the two points in ms.
    pub delay_ms: Sketch,
    /// The smallest and the largest of them.
    pub bounds_ms: (f64, f64),
}

impl Way {
    /// Packets that passed the first point and not the second.
    pub fn lost(&self) -> u64 {
        self.packets[self.first] - self.both
    }
}

/// The two captures in one clock.
#[derive(Clone, Debug)]
pub struct Between {
    /// The second clock minus the first at the beginning, in nanoseconds.
    pub offset: f64,
    /// Parts per million by which the second clock runs faster.
    pub skew_ppm: f64,
    /// The directions that both captures have.
    pub ways: Vec<Way>,
    /// The packets of these directions, in order of time.
    pub passages: Vec<Passage>,
}

type Key = (u32, u32, u32, u16, Option<(u32, u32)>, Option<u16>);

/// A packet of the first capture that waits to be found in the second, or was.
struct Found {
    way: (Endpoint, Endpoint),
    times: [Option<u64>; 2],
    numbers: [Option<u64>; 2],
}

impl Between {
    /// Reads both captures; all packets are held in memory.
    ///
    /// # Errors
    /// If one of them is no capture, or no packet is in both.
    pub fn read(one: impl Read + Send, other: impl Read + Send) -> Result<Between, ReadError> {
        let mut found: Vec<Found> = Vec::new();
        let mut waiting: BTreeMap<(Endpoint, Endpoint, Key), VecDeque<usize>> = BTreeMap::new();
        each(one, |segment| {
            waiting.entry((segment.from, segment.to, key(segment))).or_default().push_back(found.len());
            let way = (segment.from, segment.to);
            found.push(Found { way, times: [Some(segment.at), None], numbers: [Some(segment.number), None] });
        })?;
        each(other, |segment| {
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
        // The second capture sees a packet later by the delay if the first is nearer to its sender, else earlier.
        let middle: BTreeMap<_, _> = differences.into_iter().map(|(way, values)| (way, median(values))).collect();
        let first = |way: &(Endpoint, Endpoint)| {
            let back = middle.get(&(way.1, way.0));
            back.zip(middle.get(way)).map(|(back, there)| usize::from(there < back))
        };
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
    frames(input, |frame| {
        if let Some(segment) = Segment::of(&frame) {
            each(&segment);
        }
        true
    })
    .map(|_| ())
}

fn key(segment: &Segment) -> Key {
    let timestamps = segment.options.timestamps;
    (segment.seq.get(), segment.ack.get(), segment.len, segment.flags.0, timestamps, segment.ip_id)
}

fn median(mut values: Vec<i64>) -> i64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

/// Time since the beginning and difference of the clocks, in nanoseconds.
type Instant = (f64, f64);

/// For packets that pass the first capture first, and for those that pass the second first, the difference of the clocks
/// at the smallest delay in each part of the time.
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
        let nearer = cell.is_none_or(|(_, before)| if first == 0 { now.1 < before } else { now.1 > before });
        if nearer {
            *cell = Some(now);
        }
    }
    found.map(|part| part.into_iter().flatten().collect())
}

/// The difference of the clocks as a line over time.
struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    /// Fits a line to the smallest delays of both directions. A queue that grows or drains tilts the line of its
    /// direction, so the direction with the smaller tilt gives the slope (Moon, Skelly and Towsley, 1999, section 3).
    fn through([there, back]: &[Vec<Instant>; 2]) -> Line {
        let mirrored: Vec<Instant> = back.iter().map(|(at, value)| (*at, -value)).collect();
        let (one, other) = (tilt(there), -tilt(&mirrored));
        let slope = if one.abs() <= other.abs() { one } else { other };
        let least = |points: &[Instant], slope: f64| {
            points.iter().map(|(at, value)| value - slope * at).fold(f64::INFINITY, f64::min)
        };
        Line { start: (least(there, slope) - least(&mirrored, -slope)) / 2.0, slope }
    }

    /// The time of the first clock when the second one shows this time, both since the beginning.
    fn aligned(&self, time: i64) -> i64 {
        ((time as f64 - self.start) / (1.0 + self.slope)) as i64
    }
}

/// The slope of the lower convex hull of some points, in order of time, at the middle of their time.
fn tilt(points: &[Instant]) -> f64 {
    let slope = |one: Instant, other: Instant| (other.1 - one.1) / (other.0 - one.0);
    let mut hull: Vec<Instant> = Vec::new();
    for point in points {
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
