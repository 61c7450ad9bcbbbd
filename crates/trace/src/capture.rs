//! An observer that writes the packets at chosen points of a simulated network to a pcapng file.
//!
//! Capture one host, or both directions of one link. If you capture at both ends of a path, the file contains every
//! packet twice. Trace tools count the second copy as a retransmission.

use crate::pcapng::{self, Direction, PacketBlock};
use lopsided_core::{BitRate, Duration, Event, EventMask, NodeId, Observer, Packet, Time, wire};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::ops::BitOr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A point of capture, which becomes an interface in the file.
#[derive(Clone, Debug)]
pub struct Tap {
    name: String,
    node: NodeId,
    point: Point,
    speed: Option<BitRate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Host,
    Link { drops: bool },
}

impl Point {
    fn events(self) -> EventMask {
        match self {
            Point::Host => EventMask::HOSTS,
            Point::Link { drops: false } => EventMask::QUEUES,
            Point::Link { drops: true } => EventMask::QUEUES | EventMask::DROPS,
        }
    }
}

impl Tap {
    /// Captures the packets that a host sends and receives.
    pub fn host(name: impl Into<String>, node: NodeId) -> Tap {
        Tap { name: name.into(), node, point: Point::Host, speed: None }
    }

    /// Captures the packets of one direction of a link when they leave the queue.
    pub fn link(name: impl Into<String>, node: NodeId, rate: Option<BitRate>) -> Tap {
        Tap { name: name.into(), node, point: Point::Link { drops: false }, speed: rate }
    }

    /// Also captures the packets that the link loses, with the reason as a comment. Trace tools treat them as
    /// delivered.
    #[must_use]
    pub fn with_drops(self) -> Tap {
        match self.point {
            Point::Host => self,
            Point::Link { .. } => Tap { point: Point::Link { drops: true }, ..self },
        }
    }
}

/// Writes a capture during a run. Clones share the file: pass one clone to the run and call [`Capture::finish`] on
/// another clone.
///
/// # Examples
///
/// ```
/// use lopsided_core::{Duration, NodeId};
/// use lopsided_trace::{Capture, Tap};
///
/// let capture = Capture::new(std::io::sink(), vec![Tap::host("server", NodeId(0))], Duration::ZERO);
/// // A run would get `capture.clone()` as one of its observers here.
/// assert_eq!(capture.finish()?, 0, "no packet passed");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Capture {
    interest: EventMask,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    out: Box<dyn Write + Send>,
    taps: Vec<Tap>,
    /// Packets that are not written yet, sorted by time. Packets with equal times keep the order of their reports.
    pending: VecDeque<Record>,
    /// Maximum delay of a report. A tap may report an event up to this time after other taps have reported later
    /// events.
    lateness: Duration,
    newest: Time,
    written: u64,
    failed: Option<io::Error>,
}

/// A packet that is not written yet, because an earlier packet may still be reported.
struct Record {
    at: Time,
    tap: usize,
    packet_id: u64,
    direction: Option<Direction>,
    octets: Vec<u8>,
    original_len: u32,
    comment: Option<String>,
}

impl Capture {
    /// Starts a file. `lateness` is the longest delay with which a tap may report an event: 0 for hosts, the longest
    /// propagation delay for links.
    pub fn new(out: impl Write + Send + 'static, taps: Vec<Tap>, lateness: Duration) -> Capture {
        let interest = taps.iter().map(|tap| tap.point.events()).fold(EventMask::NONE, BitOr::bitor);
        let mut shared = Shared {
            out: Box::new(out),
            taps,
            pending: VecDeque::new(),
            lateness,
            newest: Time::ZERO,
            written: 0,
            failed: None,
        };
        // An observer cannot return an error, so `finish` returns this error.
        shared.failed = shared.begin().err();
        Capture { interest, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Writes the remaining packets, and returns the number of packets in the file.
    ///
    /// # Errors
    /// Returns the first error that occurred while writing.
    pub fn finish(&self) -> io::Result<u64> {
        let mut shared = self.lock();
        shared.write_before(Time::MAX);
        match shared.failed.take() {
            Some(error) => Err(error),
            None => shared.out.flush().map(|()| shared.written),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Capture {
    fn mask(&self) -> EventMask {
        self.interest
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        self.lock().record(at, node, event);
    }
}

impl Shared {
    fn begin(&mut self) -> io::Result<()> {
        pcapng::write_section(&mut self.out)?;
        self.taps.iter().try_for_each(|tap| pcapng::write_interface(&mut self.out, &tap.name, tap.speed))
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let Some(tap) = self.taps.iter().position(|tap| tap.node == node) else { return };
        match (self.taps[tap].point, event) {
            (Point::Host, Event::Sent(packet)) => self.keep(at, tap, packet, Some(Direction::Outbound), None),
            (Point::Host, Event::Received(packet)) => self.keep(at, tap, packet, Some(Direction::Inbound), None),
            (Point::Link { .. }, Event::Dequeued { packet, .. }) => self.keep(at, tap, packet, None, None),
            (Point::Link { drops: true }, Event::Dropped { packet, why }) => {
                let comment = format!("dropped: {}", why.name());
                match self.find(at, tap, packet.id()) {
                    // The medium lost the packet after it had left the queue.
                    Some(record) => record.comment = Some(comment),
                    None => self.keep(at, tap, packet, None, Some(comment)),
                }
            }
            _ => {}
        }
    }

    /// Finds the record of a packet that left the queue at this time and was then lost by the medium.
    fn find(&mut self, at: Time, tap: usize, packet_id: u64) -> Option<&mut Record> {
        let same_instant = self.pending.iter_mut().rev().take_while(|record| record.at >= at);
        same_instant.into_iter().find(|record| record.tap == tap && record.packet_id == packet_id)
    }

    fn keep(&mut self, at: Time, tap: usize, packet: &Packet, direction: Option<Direction>, comment: Option<String>) {
        debug_assert!(at + self.lateness >= self.newest, "reported at {at:?}, too late after {:?}", self.newest);
        let octets =
            // A virtual payload has no bytes to write. `original_len` still contains its size.
            if packet.payload().bytes().is_some() { wire::encode(packet) } else { wire::encode_headers(packet) };
        let original_len = packet.size().get() as u32;
        let record = Record { at, tap, packet_id: packet.id(), direction, octets, original_len, comment };
        // Search backwards, because most packets are reported in the order of time.
        let later = self.pending.iter().rev().take_while(|other| other.at > at).count();
        self.pending.insert(self.pending.len() - later, record);
        self.newest = self.newest.max(at);
        // Taps report events at most `lateness` late, so all older records are complete.
        self.write_before(self.newest - self.lateness);
    }

    /// Writes the records with times before `until`. Later reports must not contain earlier times.
    fn write_before(&mut self, until: Time) {
        while self.pending.front().is_some_and(|record| record.at < until) {
            let Some(record) = self.pending.pop_front() else { break };
            if self.failed.is_none() {
                self.failed = self.write(&record).err();
            }
        }
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let packet = PacketBlock {
            interface: record.tap as u32,
            at: record.at,
            direction: record.direction,
            octets: &record.octets,
            original_len: record.original_len,
            comment: record.comment.as_deref(),
        };
        pcapng::write_packet(&mut self.out, &packet)?;
        self.written += 1;
        Ok(())
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.lock();
        f.debug_struct("Capture").field("taps", &shared.taps).field("written", &shared.written).finish()
    }
}
