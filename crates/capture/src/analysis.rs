//! Reads a capture into connections. Memory grows with the number of connections, not with their packets.

use crate::connection::Connection;
use crate::frames::{FramesRead, ReadError, frames};
use crate::load::Loads;
use crate::segment::{Endpoint, Segment};
use lopsided_core::packet::Flags;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;

/// Packets between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 16;
/// Connections of which points are kept, if points are wanted.
const MOST_DRAWN: usize = 64;

/// The connections of a capture.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Its connections, in the order of their first packets.
    pub connections: Vec<Connection>,
    /// Octets that each host sent and received.
    pub loads: Loads,
    /// How far the file could be read.
    pub read: FramesRead,
    /// Segments of TCP.
    pub segments: u64,
    /// Frames that are no TCP, or of which the headers were cut.
    pub passed_over: u64,
    /// Time of the first and last frame, in nanoseconds of the file.
    pub times: (u64, u64),
    /// Frames that are older than the frame before by more than a millisecond.
    pub backwards: u64,
    open: BTreeMap<(Endpoint, Endpoint), usize>,
    /// The latest connection between two hosts.
    pairs: BTreeMap<(IpAddr, IpAddr), usize>,
    latest: Option<((Endpoint, Endpoint), usize)>,
    points: bool,
}

impl Analysis {
    /// Reads a capture. `points` keeps points for time-sequence diagrams of the first connections. `progress` is called
    /// with the number of frames and connections now and then; reading ends when it returns false.
    ///
    /// # Errors
    /// If the input is no capture, or nothing of it can be read.
    pub fn read(
        input: impl Read + Send,
        points: bool,
        mut progress: impl FnMut(u64, usize) -> bool,
    ) -> Result<Analysis, ReadError> {
        let mut analysis = Analysis { points, ..Analysis::default() };
        let read = frames(input, |frame| {
            analysis.time(frame.at, frame.number);
            match Segment::of(&frame) {
                Some(segment) => analysis.passed(&segment),
                None => analysis.passed_over += 1,
            }
            frame.number % PROGRESS_EVERY != 0 || progress(frame.number, analysis.connections.len())
        })?;
        analysis.read = read;
        analysis.connections.iter_mut().for_each(Connection::close);
        Ok(analysis)
    }

    fn time(&mut self, at: u64, number: u64) {
        if number == 1 {
            self.times = (at, at);
        }
        self.backwards += u64::from(at + 1_000_000 < self.times.1);
        self.times.1 = self.times.1.max(at);
    }

    fn passed(&mut self, segment: &Segment) {
        self.segments += 1;
        let key = if segment.from <= segment.to { (segment.from, segment.to) } else { (segment.to, segment.from) };
        let known = match self.latest {
            Some((latest, place)) if latest == key => Some(place),
            _ => self.open.get(&key).copied(),
        };
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let place = match known {
            Some(place) if !(opens && self.connections[place].is_followed_by(segment)) => place,
            followed => self.begin(key, followed, segment),
        };
        self.latest = Some((key, place));
        self.connections[place].passed(segment, &mut self.loads);
    }

    fn begin(&mut self, key: (Endpoint, Endpoint), followed: Option<usize>, segment: &Segment) -> usize {
        if let Some(before) = followed {
            self.connections[before].close();
        }
        let place = self.connections.len();
        let mut connection = Connection::new(segment, self.points && place < MOST_DRAWN);
        let earlier = self.pairs.insert((key.0.address, key.1.address), place);
        if let Some(earlier) = earlier {
            connection.start_from(&self.connections[earlier]);
        }
        self.connections.push(connection);
        self.open.insert(key, place);
        place
    }
}
