//! The points of a time-sequence diagram. If there are many points, only every n-th point is kept.

use lopsided_core::Seq;

/// Maximum number of points of each kind.
const MOST: usize = 4_000;

/// The meaning of a point in a time-sequence diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data that is sent for the first time.
    Data,
    /// Retransmitted data.
    Again,
    /// An ACK, and the end of the receive window that it advertises.
    Ack,
    /// A SACK block.
    Sack,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Data, Kind::Again, Kind::Ack, Kind::Sack];

    /// Returns the kind's name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Data => "data",
            Kind::Again => "retransmission",
            Kind::Ack => "ack",
            Kind::Sack => "sack",
        }
    }
}

/// A point of a time-sequence diagram.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Capture time in nanoseconds of the file's clock.
    pub at: u64,
    /// Offset in the data stream in bytes: the first byte of a segment or SACK block, or the acknowledgement number.
    pub start: u64,
    /// Offset in bytes: the end of a segment or SACK block (exclusive), or of the receive window.
    pub end: u64,
    /// Frame number of the packet.
    pub number: u64,
}

/// The points of one direction of data, by kind.
#[derive(Clone, Debug, Default)]
pub struct Points {
    kept: [Thinned; Kind::ALL.len()],
    /// Sequence number that corresponds to offset 0.
    origin: Option<Seq>,
    /// Highest offset so far. Sequence numbers wrap at 4 GiB, so other offsets are computed relative to this offset.
    highest: u64,
}

/// A list that keeps every `stride`-th of the `seen` points.
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
    /// Adds a point, unless the point is skipped because only every `stride`-th point is kept.
    pub(crate) fn add(&mut self, at: u64, kind: Kind, start: Seq, end: Seq, number: u64) {
        let origin = *self.origin.get_or_insert(start);
        let begin = self.offset(start.since(origin));
        let length = u64::from(end.since(start));
        if kind == Kind::Data {
            self.highest = self.highest.max(begin + length);
        }
        self.kept[kind as usize].add(Point { at, start: begin, end: begin + length, number });
    }

    /// Returns the points of one kind, ordered by time.
    pub fn of(&self, kind: Kind) -> &[Point] {
        &self.kept[kind as usize].points
    }

    /// Returns the offset with the low bits `low` that is nearest to the highest offset so far.
    fn offset(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.highest as u32) as i32;
        (self.highest as i64 + i64::from(ahead)).max(0) as u64
    }
}

impl Thinned {
    /// Keeps every `stride`-th point. When the list is full, removes every second point and doubles the stride.
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
