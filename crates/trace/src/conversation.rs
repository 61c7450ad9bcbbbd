//! The TCP connections of a capture, their packets told relative to the connection's beginning.
//!
//! Two captures of the same connection differ in addresses, ports, initial sequence numbers and the clocks of the
//! timestamps option (RFC 9293 section 3.4.1, RFC 7323 section 5.4). Here all of these count from the connection's
//! first SYN, so that what remains can be compared octet for octet. Left out: connections whose SYN the capture does
//! not hold, and other protocols.

use crate::flow::FlowKey;
use lopsided_core::packet::{Ecn, Flags, SackBlock, TcpHeader};
use lopsided_core::{Packet, Seq, Time};
use std::collections::BTreeMap;

/// The end that a packet comes from: the client sent the first SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Opener,
    Answerer,
}

impl End {
    pub const BOTH: [End; 2] = [End::Opener, End::Answerer];
}

/// One packet. Sequence numbers count from the initial one of their direction and do not wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Nanoseconds since the connection's first SYN passed the point of capture.
    pub at: u64,
    pub from: End,
    pub seq: u64,
    /// `None` without the ACK flag.
    pub ack: Option<u64>,
    /// Octets of data.
    pub len: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    /// As on the wire: not scaled.
    pub window: u16,
    /// Start and end of each block, in the order of the option.
    pub sack: Vec<(u64, u64)>,
    /// The sender's clock since its first packet, and the echo since the other end's first; the echo of zero is `None`.
    pub timestamps: Option<(u32, Option<u32>)>,
    /// What a SYN alone has.
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

impl Segment {
    /// One past its last sequence number; SYN and FIN take one each.
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.len) + control
    }
}

/// How far an end has come: the highest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub sent: u64,
    pub acked: u64,
}

/// A connection from its first SYN on.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// From the end that sent the first SYN.
    pub key: FlowKey,
    pub begun: Time,
    /// In order of time.
    pub segments: Vec<Segment>,
    ends: [Origin; 2],
}

/// The initial sequence number of one direction, and how far it has come.
#[derive(Clone, Debug, Default)]
struct Origin {
    initial: Option<Seq>,
    clock: Option<u32>,
    /// The highest number seen, unwrapped.
    highest: u64,
}

impl Origin {
    /// The number nearest to the highest seen that has these 32 bits.
    fn unwrapped(&mut self, number: Seq) -> u64 {
        let since = u64::from(number.since(*self.initial.get_or_insert(number)));
        let round = 1_u64 << 32;
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
    /// The index in `segments` of an end's n-th packet, from 0; `segments.len()` if there is none.
    pub fn place_of(&self, from: End, number: usize) -> usize {
        let of_it = self.segments.iter().enumerate().filter(|(_, segment)| segment.from == from);
        of_it.map(|(place, _)| place).nth(number).unwrap_or(self.segments.len())
    }

    /// What an end has sent and has had acknowledged in the packets before a place, as seen at the point of capture.
    pub fn standing(&self, end: End, place: usize) -> Standing {
        let mut standing = Standing::default();
        for segment in &self.segments[..place] {
            if segment.from == end {
                standing.sent = standing.sent.max(segment.end());
            } else {
                standing.acked = standing.acked.max(segment.ack.unwrap_or(0));
            }
        }
        standing
    }

    fn take(&mut self, at: Time, packet: &Packet, header: &TcpHeader, from: End) {
        let (here, there) = match from {
            End::Opener => (0, 1),
            End::Answerer => (1, 0),
        };
        let ack = header.flags.has(Flags::ACK).then(|| self.ends[there].unwrapped(header.ack));
        let seq = self.ends[here].unwrapped(header.seq);
        let timestamps = header.options.timestamps.map(|stamps| {
            let value = stamps.value.wrapping_sub(*self.ends[here].clock.get_or_insert(stamps.value));
            let echo = self.ends[there].clock.filter(|_| stamps.echo != 0);
            (value, echo.map(|clock| stamps.echo.wrapping_sub(clock)))
        });
        let block = |block: &SackBlock| {
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

    /// The first SYN of a connection other than this one, between the same ports.
    fn is_followed_by(&self, header: &TcpHeader) -> bool {
        opens(header) && self.ends[0].initial.is_some_and(|initial| initial != header.seq)
    }
}

fn opens(header: &TcpHeader) -> bool {
    header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK)
}

/// The connections of a capture, fed packet by packet in order of time.
#[derive(Debug, Default)]
pub struct Conversations {
    all: Vec<Conversation>,
    /// Where in `all` the newest connection between two ports is.
    open: BTreeMap<FlowKey, usize>,
    last: Time,
}

impl Conversations {
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        self.last = self.last.max(at);
        let Some(header) = packet.tcp() else { return };
        let (src, dst) = (packet.src(), packet.dst());
        let key = FlowKey { src, src_port: header.src_port, dst, dst_port: header.dst_port };
        if let Some(number) = self.open.get(&key).filter(|number| !self.all[**number].is_followed_by(header)) {
            self.all[*number].take(at, packet, header, End::Opener);
        } else if let Some(number) = self.open.get(&key.reverse()) {
            self.all[*number].take(at, packet, header, End::Answerer);
        } else if opens(header) {
            self.open.insert(key, self.all.len());
            let mut begun = Conversation { key, begun: at, segments: Vec::new(), ends: <[Origin; 2]>::default() };
            begun.take(at, packet, header, End::Opener);
            self.all.push(begun);
        }
    }

    /// In order of their first SYN.
    pub fn all(&self) -> &[Conversation] {
        &self.all
    }

    /// When the newest packet of any kind was seen.
    pub fn last(&self) -> Time {
        self.last
    }
}
