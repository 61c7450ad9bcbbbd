//! The points of a time-sequence diagram: a bounded number, evenly thinned as the connection goes on.

use lopsided_core::Seq;

/// Points of each kind that are kept at most.
const MOST: usize = 4_000;

/// The kind of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data that passes for the first time.
    Data,
    /// Data that passes again.
    Again,
    /// An acknowledgement, and the end of the window that it opens.
    Ack,
    /// A SACK block.
    Sack,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Data, Kind::Again, Kind::Ack, Kind::Sack];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Data => "data",
            Kind::Again => "retransmission",
            Kind::Ack => "ack",
            Kind::Sack => "sack",
        }
    }
}

/// One point.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Nanoseconds of the file.
    pub at: u64,
    /// Octets of the stream before it.
    pub start: u64,
    /// Octets of the stream up to its end; of an ACK the end of the window.
    pub end: u64,
    /// Number of its packet.
    pub number: u64,
}

/// The points of one direction, by kind.
#[derive(Clone, Debug, Default)]
pub struct Points {
    kept: [Thinned; Kind::ALL.len()],
    origin: Option<Seq>,
    /// Highest offset so far, which sequence numbers that wrap are counted from.
    highest: u64,
}

#[derive(Clone, Debug)]
struct Thinned {
    points: Vec<Point>,
    stride: u64,
    seen: u64,
}

impl Default for Thinned {
    fn default() -> Thinned {
        Thinned { points: Vec::new(), stride: 1, seen: 0 }
    }
}

impl Points {
    /// Adds a point, or leaves it out if there are too many of its kind.
    pub(crate) fn add(&mut self, at: u64, kind: Kind, start: Seq, end: Seq, number: u64) {
        let origin = *self.origin.get_or_insert(start);
        let begin = self.offset(start.since(origin));
        let length = u64::from(end.since(start));
        if kind == Kind::Data {
            self.highest = self.highest.max(begin + length);
        }
        self.kept[kind as usize].add(Point { at, start: begin, end: begin + length, number });
    }

    /// The points of a kind, in order of time.
    pub fn of(&self, kind: Kind) -> &[Point] {
        &self.kept[kind as usize].points
    }

    /// The offset with these 32 low bits that is nearest to the highest one.
    fn offset(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.highest as u32) as i32;
        (self.highest as i64 + i64::from(ahead)).max(0) as u64
    }
}

impl Thinned {
    fn add(&mut self, point: Point) {
        if self.seen % self.stride == 0 {
            if self.points.len() == MOST {
                let mut place = 0;
                self.points.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
            if self.seen % self.stride == 0 {
                self.points.push(point);
            }
        }
        self.seen += 1;
    }
}
