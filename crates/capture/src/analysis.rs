//! Groups the packets of a capture into connections. The required memory depends on the number of connections only.

use crate::bottleneck;
use crate::connection::Connection;
use crate::frames::{Frame, FramesRead, ReadError, frames};
use crate::hashing::Seeds;
use crate::load::Loads;
use crate::segment::{Endpoint, Segment};
use lopsided_core::packet::Flags;
use std::io::Read;
use std::net::IpAddr;
use std::sync::mpsc::sync_channel;
use std::{mem, panic, thread};

/// Maximum number of frames between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 16;
/// Maximum time between two calls of the progress function, in nanoseconds of the capture's clock.
const PROGRESS_AFTER: u64 = 1_000_000_000;
/// Largest number of connections for which diagram points are kept, if the caller requests points.
const MOST_DRAWN: usize = 64;
/// Number of frames that one thread passes to the other at once, and number of such batches that may wait.
const BATCH: usize = 512;
const MOST_BATCHES: usize = 8;

/// A table of indices. It is never iterated, so its order cannot change a result.
#[expect(clippy::disallowed_types, reason = "it is never iterated")]
type Table<K> = std::collections::HashMap<K, usize, Seeds>;

/// All TCP connections of a capture, and counters for the whole capture.
///
/// The crate's documentation contains an example.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The connections in the order of their first packets.
    pub connections: Vec<Connection>,
    /// Bytes that each host sent and received over time.
    pub loads: Loads,
    /// Number of frames read, and damage to the file.
    pub read: FramesRead,
    /// Number of TCP segments.
    pub segments: u64,
    /// Number of skipped frames: frames without TCP, with an IP fragment, or with a truncated header.
    pub passed_over: u64,
    /// Time of the first frame, and latest time of all frames, in nanoseconds since the epoch of the file's clock.
    pub times: (u64, u64),
    /// Number of frames that are more than 1 ms earlier than a preceding frame.
    pub backwards: u64,
    /// For each pair of endpoints, the index of its latest connection.
    open: Table<Key>,
    /// For each pair of hosts, the index of its latest connection.
    pairs: Table<(u128, u128)>,
    /// Key and index of the previous segment's connection. They make most look-ups unnecessary.
    latest: Option<(Key, usize)>,
    points: bool,
}

/// The endpoints of a connection as integers, because integers are fast to hash and to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    ports: u32,
    addresses: (u128, u128),
}

/// A frame after parsing.
#[derive(Clone, Copy, Debug)]
struct Parsed {
    number: u64,
    at: u64,
    /// `None` for a frame that is skipped.
    segment: Option<Segment>,
}

impl Parsed {
    fn of(frame: &Frame<'_>) -> Parsed {
        Parsed { number: frame.number, at: frame.at, segment: Segment::of(frame) }
    }
}

impl Key {
    fn of(segment: &Segment) -> Key {
        let address = |end: Endpoint| match end.address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits(),
        };
        let (one, other) = ((address(segment.from), segment.from.port), (address(segment.to), segment.to.port));
        let (one, other) = if one <= other { (one, other) } else { (other, one) };
        Key { ports: u32::from(one.1) << 16 | u32::from(other.1), addresses: (one.0, other.0) }
    }
}

impl Analysis {
    /// Reads a capture. If `points` is true, the first 64 connections keep the points of their time-sequence diagrams.
    /// `progress` is called every 65,536 frames and every second of the capture, with the number of frames and the
    /// analysis so far. Reading stops when `progress` returns false.
    ///
    /// # Errors
    /// Returns an error if the input is not a capture, or if no frame can be read.
    pub fn read(
        input: impl Read + Send,
        points: bool,
        mut progress: impl FnMut(u64, &Analysis) -> bool,
    ) -> Result<Analysis, ReadError> {
        let mut analysis = Analysis { points, ..Analysis::default() };
        let mut due = 0;
        analysis.read = frames(input, |frame| analysis.frame(&Parsed::of(&frame), &mut due, &mut progress))?;
        Ok(analysis.ended())
    }

    /// Like [`Analysis::read`], but reads and parses the frames in another thread. Use this for files: frames of a slow
    /// pipe would be delayed. If `progress` returns false, the field `read` also counts frames that were read ahead.
    ///
    /// # Errors
    /// Returns an error if the input is not a capture, or if no frame can be read.
    pub fn read_ahead(
        input: impl Read + Send,
        points: bool,
        mut progress: impl FnMut(u64, &Analysis) -> bool,
    ) -> Result<Analysis, ReadError> {
        let mut analysis = Analysis { points, ..Analysis::default() };
        let mut due = 0;
        analysis.read = thread::scope(|scope| {
            let (sender, batches) = sync_channel::<Vec<Parsed>>(MOST_BATCHES);
            let reader = scope.spawn(move || {
                let mut batch = Vec::with_capacity(BATCH);
                let read = frames(input, |frame| {
                    batch.push(Parsed::of(&frame));
                    batch.len() < BATCH || sender.send(mem::replace(&mut batch, Vec::with_capacity(BATCH))).is_ok()
                });
                // If `progress` has returned false, no thread receives the batch.
                _ = sender.send(batch);
                read
            });
            // The end of this loop drops the receiver, so the other thread ends too.
            for batch in batches {
                if !batch.iter().all(|parsed| analysis.frame(parsed, &mut due, &mut progress)) {
                    break;
                }
            }
            reader.join().unwrap_or_else(|cause| panic::resume_unwind(cause))
        })?;
        Ok(analysis.ended())
    }

    /// Records a frame. Calls `progress` if the frame's number requires it, or at the time `due`. Returns false if reading
    /// must stop.
    fn frame(&mut self, parsed: &Parsed, due: &mut u64, progress: &mut impl FnMut(u64, &Analysis) -> bool) -> bool {
        self.time(parsed.at, parsed.number);
        match &parsed.segment {
            Some(segment) => self.passed(segment),
            None => self.passed_over += 1,
        }
        if parsed.number % PROGRESS_EVERY != 0 && parsed.at < *due {
            return true;
        }
        *due = parsed.at.saturating_add(PROGRESS_AFTER);
        progress(parsed.number, self)
    }

    /// Completes the analysis after the last frame.
    fn ended(mut self) -> Analysis {
        self.connections.iter_mut().for_each(Connection::close);
        self.find_lines();
        self
    }

    /// Stores the rate of each line that was busy with data. The rate is used for the ACKs of other connections.
    fn find_lines(&mut self) {
        for connection in &self.connections {
            for sender in 0..2 {
                let [from, to] = [sender, 1 - sender].map(|end| connection.ends[end].address);
                if let Some((rate_bps, busy)) = bottleneck::line(connection, sender, &self.loads) {
                    self.loads.add_line(from, to, rate_bps, busy);
                }
            }
        }
    }

    fn time(&mut self, at: u64, number: u64) {
        if number == 1 {
            self.times = (at, at);
        }
        // Captures of several queues or interfaces are often out of order by a few microseconds.
        self.backwards += u64::from(at + 1_000_000 < self.times.1);
        self.times.1 = self.times.1.max(at);
    }

    fn passed(&mut self, segment: &Segment) {
        self.segments += 1;
        // Both directions of a connection share one key.
        let key = Key::of(segment);
        let known = match self.latest {
            Some((latest, place)) if latest == key => Some(place),
            _ => self.open.get(&key).copied(),
        };
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        // A port may be reused: a SYN after data or after the end of a connection opens a new connection.
        let place = match known {
            Some(place) if !(opens && self.connections[place].is_followed_by(segment)) => place,
            followed => self.begin(key, followed, segment),
        };
        self.latest = Some((key, place));
        self.connections[place].passed(segment, &mut self.loads);
    }

    fn begin(&mut self, key: Key, followed: Option<usize>, segment: &Segment) -> usize {
        if let Some(before) = followed {
            self.connections[before].close();
        }
        let place = self.connections.len();
        let mut connection = Connection::new(segment, self.points && place < MOST_DRAWN, &mut self.loads);
        let earlier = self.pairs.insert(key.addresses, place);
        // A connection that starts while the queue is full may never observe the minimum RTT of its path. Use the
        // minimum RTT of an earlier connection instead.
        if let Some(earlier) = earlier {
            connection.start_from(&self.connections[earlier]);
        }
        self.connections.push(connection);
        self.open.insert(key, place);
        place
    }
}
