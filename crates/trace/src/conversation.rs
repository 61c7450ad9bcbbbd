//! The TCP connections of a capture, with all numbers relative to the start of the connection.
//!
//! Sequence numbers, timestamps and times count from the connection's first SYN, so that captures can be compared
//! directly (RFC 9293, section 3.4.1; RFC 7323, section 5.4).
//!
//! Left out: connections whose SYN is not in the capture, and other protocols.

use crate::flow::FlowKey;
use lopsided_core::packet::{Ecn, Flags, SackBlock, TcpHeader};
use lopsided_core::{Packet, Seq, Time};
use std::collections::BTreeMap;

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The end that sent the first SYN.
    Opener,
    /// The end that answered the first SYN.
    Answerer,
}

impl End {
    /// Both ends, the opener first.
    pub const BOTH: [End; 2] = [End::Opener, End::Answerer];
}

/// A packet of a connection. Sequence numbers count from the initial sequence number of their direction and do not
/// wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Time at the point of capture, in nanoseconds since the connection's first SYN.
    pub at: u64,
    /// The end that sent the packet.
    pub from: End,
    /// Sequence number; the SYN has 0.
    pub seq: u64,
    /// Acknowledgement number; `None` without the ACK flag.
    pub ack: Option<u64>,
    /// Length of the data in bytes.
    pub len: u32,
    /// Flags of the TCP header.
    pub flags: Flags,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The window field as in the packet, before scaling.
    pub window: u16,
    /// Start and end of each SACK block, in the order of the option.
    pub sack: Vec<(u64, u64)>,
    /// The timestamps option: the sender's timestamp and the echoed timestamp. Each counts from the first timestamp of
    /// its end. The echo is `None` if the field is 0.
    pub timestamps: Option<(u32, Option<u32>)>,
    /// The MSS option of a SYN, in bytes.
    pub mss: Option<u16>,
    /// The window scale option of a SYN.
    pub window_scale: Option<u8>,
    /// True for a SYN with the option SACK permitted.
    pub sack_permitted: bool,
}

impl Segment {
    /// Returns the sequence number after the packet. SYN and FIN occupy one number each.
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.len) + control
    }
}

/// The progress of one end: its highest sequence numbers so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Sequence number after the highest byte sent.
    pub sent: u64,
    /// Highest acknowledgement number that the peer sent.
    pub acked: u64,
}

/// A connection, starting with its first SYN.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Addresses and ports, with the opener as the source.
    pub key: FlowKey,
    /// Time of the first SYN.
    pub begun: Time,
    /// The packets, sorted by time.
    pub segments: Vec<Segment>,
    ends: [Origin; 2],
}

/// Reference values of one direction, from which its relative numbers count.
#[derive(Clone, Debug, Default)]
struct Origin {
    /// The initial sequence number.
    initial: Option<Seq>,
    /// First value of the direction's timestamp clock.
    clock: Option<u32>,
    /// Highest sequence or acknowledgement number so far, unwrapped.
    highest: u64,
}

impl Origin {
    /// Unwraps a number: returns the value with these low 32 bits that is nearest to the highest number so far.
    fn unwrapped(&mut self, number: Seq) -> u64 {
        let since = u64::from(number.since(*self.initial.get_or_insert(number)));
        let round = 1_u64 << 32;
        // The number may belong to the previous or the next cycle of 2^32 numbers.
        let base = self.highest - self.highest % round + since;
        let nearest = [base.saturating_sub(round), base, base + round]
            .into_iter()
            .filter(|candidate| candidate % round == since)
            .min_by_key(|candidate| candidate.abs_diff(self.highest))
            .unwrap_or(base);
        self.highest = self.highest.max(nearest);
        nearest
    }
}

impl Conversation {
    /// Returns the index in `segments` of the n-th packet of an end, counted from 0. Returns `segments.len()` if the
    /// end sent fewer packets.
    pub fn place_of(&self, from: End, number: usize) -> usize {
        let of_it = self.segments.iter().enumerate().filter(|(_, segment)| segment.from == from);
        of_it.map(|(place, _)| place).nth(number).unwrap_or(self.segments.len())
    }

    /// Returns the progress of `end` after the first `place` packets, as seen at the point of capture.
    pub fn progress(&self, end: End, place: usize) -> Progress {
        let mut progress = Progress::default();
        for segment in &self.segments[..place] {
            if segment.from == end {
                progress.sent = progress.sent.max(segment.end());
            } else {
                progress.acked = progress.acked.max(segment.ack.unwrap_or(0));
            }
        }
        progress
    }

    fn take(&mut self, at: Time, packet: &Packet, header: &TcpHeader, from: End) {
        let (here, there) = match from {
            End::Opener => (0, 1),
            End::Answerer => (1, 0),
        };
        let ack = header.flags.has(Flags::ACK).then(|| self.ends[there].unwrapped(header.ack));
        let seq = self.ends[here].unwrapped(header.seq);
        // RFC 7323, section 5.4: clocks may start at a random offset, so subtract the first value.
        let timestamps = header.options.timestamps.map(|stamps| {
            let value = stamps.value.wrapping_sub(*self.ends[here].clock.get_or_insert(stamps.value));
            let echo = self.ends[there].clock.filter(|_| stamps.echo != 0);
            (value, echo.map(|clock| stamps.echo.wrapping_sub(clock)))
        });
        let block = |block: &SackBlock| {
            // Use a clone: a SACK block is above the acknowledged data and must not advance `highest`.
            let start = self.ends[there].clone().unwrapped(block.start);
            (start, start + u64::from(block.end.since(block.start)))
        };
        let sack = header.options.sack_on_wire().iter().map(block).collect();
        self.segments.push(Segment {
            at: at.saturating_since(self.begun).as_nanos(),
            from,
            seq,
            ack,
            len: packet.payload().len(),
            flags: header.flags,
            ecn: packet.ecn(),
            window: header.window,
            sack,
            timestamps,
            mss: header.options.mss(),
            window_scale: header.options.window_scale(),
            sack_permitted: header.options.sack_permitted(),
        });
    }

    /// Returns true if the segment with this header is a SYN that opens another connection between the same ports.
    fn is_followed_by(&self, header: &TcpHeader) -> bool {
        opens(header) && self.ends[0].initial.is_some_and(|initial| initial != header.seq)
    }
}

fn opens(header: &TcpHeader) -> bool {
    header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK)
}

/// The connections of a capture. Pass each packet in order of time.
///
/// # Examples
///
/// ```
/// use lopsided_trace::{Conversations, read};
///
/// // The section header of an empty pcapng file.
/// let empty = [0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 28, 0, 0, 0];
/// let mut connections = Conversations::default();
/// read(&empty[..], |at, packet| connections.observe(at, packet)).unwrap();
/// assert!(connections.all().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Conversations {
    all: Vec<Conversation>,
    /// For each pair of endpoints, the index in `all` of the newest connection.
    open: BTreeMap<FlowKey, usize>,
    last: Time,
}

impl Conversations {
    /// Adds a packet. Packets of other protocols only advance [`Conversations::last`].
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        self.last = self.last.max(at);
        let Some(header) = packet.tcp() else { return };
        let (src, dst) = (packet.src(), packet.dst());
        let key = FlowKey { src, src_port: header.src_port, dst, dst_port: header.dst_port };
        if let Some(number) = self.open.get(&key).filter(|number| !self.all[**number].is_followed_by(header)) {
            self.all[*number].take(at, packet, header, End::Opener);
        } else if let Some(number) = self.open.get(&key.reverse()) {
            self.all[*number].take(at, packet, header, End::Answerer);
        // The SYN of this connection is not in the capture, so its numbers have no reference. Ignore the connection.
        } else if opens(header) {
            self.open.insert(key, self.all.len());
            let mut begun = Conversation { key, begun: at, segments: Vec::new(), ends: <[Origin; 2]>::default() };
            begun.take(at, packet, header, End::Opener);
            self.all.push(begun);
        }
    }

    /// Returns the connections, sorted by their first SYN.
    pub fn all(&self) -> &[Conversation] {
        &self.all
    }

    /// Returns the time of the newest packet of any protocol.
    pub fn last(&self) -> Time {
        self.last
    }
}
