//! The receive side: what arrived, what is missing, what SACK reports, and the window that is offered.

use super::ack_policy::Arrival;
use super::buffer::Buffer;
use crate::profile::{BufferRule, Profile, WindowUpdate};
use lopsided_core::packet::{SackBlock, SackBlocks};
use lopsided_core::{Duration, Payload, Seq, Time};
use std::collections::{BTreeMap, VecDeque};

/// Linux opens its window for segments of at least so many octets: small ones take more memory than they bring.
const WORTH_A_LARGER_WINDOW: u32 = 128;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// The peer's first data octet, offset 0.
    origin: Seq,
    /// The next octet expected.
    next: u64,
    /// Runs held beyond `next`, in order, apart from each other.
    held: Vec<(u64, u64)>,
    /// The sack_ranges that SACK reports, the most recently touched first (RFC 2018 section 4).
    recent: Vec<(u64, u64)>,
    dsack: Option<(u64, u64)>,
    fin: Option<u64>,
    /// Octets in order that the application has not read; and the octets themselves where they are real.
    unread: u64,
    bytes: Option<RealBytes>,
    /// The right edge of the window that was offered: it never moves back (RFC 9293 section 3.8.6).
    edge: u64,
    buffer: Buffer,
    sack: bool,
    report_duplicates: bool,
    update: WindowUpdate,
    /// Full segments that may be held out of order, and their size.
    reassembly_limit: Option<u32>,
    mss: u32,
}

#[derive(Debug, Default)]
struct RealBytes {
    ready: VecDeque<u8>,
    held: BTreeMap<u64, Vec<u8>>,
}

impl Receiver {
    pub fn new(profile: &Profile, mss: u32) -> Receiver {
        let initial = profile.receive_buffer.initial().get();
        let whole = match profile.receive_buffer {
            // Linux offers whole segments at first, below 2^16.
            BufferRule::Auto { .. } => whole_segments(initial, mss),
            _ => initial,
        };
        Receiver {
            origin: Seq::new(0),
            next: 0,
            held: Vec::new(),
            recent: Vec::new(),
            dsack: None,
            fin: None,
            unread: 0,
            bytes: None,
            edge: 0,
            buffer: Buffer {
                rule: profile.receive_buffer,
                capacity: initial,
                offered: whole,
                round: None,
                round_began: Time::ZERO,
                round_read: 0,
                // An initial window a round trip is nothing that asks for more; nor is all that a small buffer lets in.
                space: u64::from(10 * mss).min(initial / 2),
                read: 0,
                rtt: None,
                last_echo: None,
            },
            sack: false,
            report_duplicates: profile.dsack,
            update: profile.window_update,
            reassembly_limit: profile.reassembly_limit,
            mss,
        }
    }

    /// The peer's SYN arrived: its data begins behind `irs`.
    pub fn open(&mut self, irs: Seq, sack: bool) {
        self.origin = irs + 1;
        self.sack = sack;
    }

    /// The octets of a full segment are settled, timestamps left out. `answers`: a SYN ACK will offer a window of whole
    /// ones.
    pub fn agree(&mut self, mss: u32, answers: bool) {
        if let BufferRule::Auto { .. } = self.buffer.rule {
            self.buffer.space = u64::from(10 * mss).min(self.buffer.capacity / 2);
            if answers {
                self.buffer.offered = whole_segments(self.buffer.capacity, mss);
            }
        }
    }

    /// The handshake ended: data may come from now on, in segments of `mss`.
    pub fn establish(&mut self, now: Time, mss: u32) {
        self.buffer.round_began = now;
        self.mss = mss;
        if let BufferRule::Stepped { .. } = self.buffer.rule {
            // FreeBSD's buffers hold whole segments.
            self.buffer.capacity = self.buffer.capacity.next_multiple_of(u64::from(mss));
            self.buffer.offered = self.buffer.capacity;
        }
        if let BufferRule::Auto { .. } = self.buffer.rule {
            let most = self.buffer.capacity.saturating_sub(u64::from(mss)).max(u64::from(2 * mss));
            self.buffer.offered = most.min(self.buffer.capacity);
        }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    /// The acknowledgement number to send: behind a FIN that was reached.
    pub fn ack(&self) -> Seq {
        self.origin + self.next as u32 + u32::from(self.fin_reached())
    }

    pub fn fin_reached(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// RCV.NXT as an offset: the next octet expected, behind a FIN that was reached.
    pub fn rcv_nxt(&self) -> i64 {
        self.next as i64 + i64::from(self.fin_reached())
    }

    pub fn unread(&self) -> u64 {
        self.unread
    }

    pub fn space(&self) -> u64 {
        self.buffer.space
    }

    pub fn rtt(&self) -> Option<Duration> {
        self.buffer.rtt
    }

    /// The stream offset of a sequence number near `next`; negative for what lies before the first octet.
    pub fn offset(&self, seq: Seq) -> i64 {
        let expected = self.origin + self.next as u32;
        self.next as i64 + i64::from(seq.get().wrapping_sub(expected.get()) as i32)
    }

    /// The window to offer now, in octets. It grows by at least a segment or stays (RFC 9293 section 3.8.6.2.2, silly
    /// window avoidance); 4.4BSD's grows by anything, but not from less than a segment and a quarter of the buffer.
    pub fn window(&mut self, mss: u32) -> u64 {
        let room = self.buffer.offered.min(self.buffer.capacity).saturating_sub(self.unread);
        let wanted = self.next + room;
        let grows = match self.update {
            WindowUpdate::NearlyClosed => wanted >= self.edge + u64::from(mss).min(self.buffer.capacity / 2),
            WindowUpdate::TwoSegments => wanted > self.edge && room >= u64::from(mss).min(self.buffer.capacity / 4),
        };
        if grows {
            self.edge = wanted;
        }
        self.edge - self.next.min(self.edge)
    }

    /// The window as the header has it. Rounded up, as Linux does: rounded down, the edge would move back when an odd
    /// number of octets arrives.
    pub fn scaled_window(&mut self, mss: u32, scale: u8) -> u16 {
        let field = self.window(mss).div_ceil(1 << scale).min(65_535);
        self.edge = self.edge.max(self.next + (field << scale));
        field as u16
    }

    /// The octets that the SACK option of the next segment takes, with at most `room` blocks.
    #[inline]
    pub fn sack_option_len(&self, room: usize) -> u32 {
        let blocks = (self.recent.len() + usize::from(self.dsack.is_some())).min(room) as u32;
        if blocks > 0 && self.sack { 4 + 8 * blocks } else { 0 }
    }

    /// What is left of the window that was last offered.
    pub fn open_window(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// Whether reading has opened the window so far that the peer should be told.
    pub fn window_update_due(&self, mss: u32) -> bool {
        let room = self.buffer.offered.min(self.buffer.capacity).saturating_sub(self.unread);
        let open = self.open_window();
        let opens = room >= open + u64::from(2 * mss).min(self.buffer.capacity / 2);
        match self.update {
            WindowUpdate::NearlyClosed => open < u64::from(mss) && opens,
            // None where no data can follow.
            WindowUpdate::TwoSegments => opens && !self.fin_reached(),
        }
    }

    /// Takes in `[start, start + payload)`, of which only the part in the window counts. `fin`: the stream ends behind
    /// it.
    pub fn accept(&mut self, start: i64, payload: &Payload, fin: bool) -> Arrival {
        let end = start + i64::from(payload.len());
        if fin && end >= self.next as i64 && end as u64 <= self.edge && self.fin.is_none() {
            self.fin = Some(end as u64);
        }
        let next = self.next as i64;
        if end <= next {
            if payload.is_empty() {
                return Arrival::InOrder { closed_gap: false, gaps_left: false };
            }
            self.report_duplicate(start.max(0) as u64, end.max(0) as u64);
            return Arrival::Duplicate;
        }
        let limit = self.fin.unwrap_or(u64::MAX).min(self.edge.max(self.next));
        let from = start.max(next) as u64;
        let to = (end as u64).min(limit);
        if to <= from {
            return Arrival::Duplicate;
        }
        if from > self.next {
            if self.is_full_of_held() {
                return Arrival::OutOfOrder;
            }
            self.keep_bytes(from, to, start, payload);
            return self.hold(from, to);
        }
        self.keep_bytes(from, to, start, payload);
        if start < next {
            self.report_duplicate(start.max(0) as u64, self.next);
        }
        self.advance(to)
    }

    /// A segment that is not taken in arrived; if all of it was there already, the next ACK says so.
    pub fn note_old(&mut self, start: i64, payload: &Payload) {
        let end = start + i64::from(payload.len());
        if end <= self.next as i64 {
            self.report_duplicate(start.max(0) as u64, end.max(0) as u64);
        }
    }

    /// Reads up to `limit` octets; synthetic data comes back as a synthetic payload.
    pub fn read(&mut self, limit: u64) -> Payload {
        let count = self.unread.min(limit);
        self.unread -= count;
        self.buffer.read += count;
        match &mut self.bytes {
            Some(bytes) => Payload::real(bytes.ready.drain(..count as usize).collect()),
            None => Payload::virtual_len(count as u32),
        }
    }

    /// The SACK blocks for the next ACK, at most `room`; a duplicate is reported once (RFC 2883 section 4).
    pub fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.sack || room == 0 {
            return blocks;
        }
        // A run that ends the stream includes the FIN's number, or the sender would think its last segment missing.
        let fin_at = |end: u64| u32::from(self.fin == Some(end));
        let wire = |(start, end): (u64, u64)| SackBlock {
            start: self.origin + start as u32,
            end: self.origin + end as u32 + fin_at(end),
        };
        let dsack = self.dsack.take();
        for range in dsack.into_iter().chain(self.recent.iter().copied()).take(room) {
            blocks.push(wire(range));
        }
        blocks
    }

    /// Takes the round-trip time that a timestamp's echo on arriving data tells, once for each echo.
    pub fn sample_echo(&mut self, echo: u32, rtt: Duration) {
        if self.buffer.last_echo != Some(echo) {
            self.buffer.last_echo = Some(echo);
            self.sample_rtt(rtt);
        }
    }

    /// Takes a round-trip time measured otherwise.
    pub fn sample_rtt(&mut self, rtt: Duration) {
        let smoothed = self.buffer.rtt.map_or(rtt, |old| (old * 7 + rtt) / 8);
        self.buffer.rtt = Some(smoothed);
    }

    /// Opens the window by two segments for `len` octets that arrived, while the buffer has room for more than is
    /// offered; says whether it did. Where SACK is off, what came out of order opens nothing: its ACK must stay a
    /// duplicate.
    pub fn grow(&mut self, arrival: Arrival, len: u32, mss: u32) -> bool {
        let counts = match arrival {
            Arrival::InOrder { .. } => true,
            Arrival::OutOfOrder => self.sack,
            Arrival::Duplicate => false,
        };
        if !counts || len < WORTH_A_LARGER_WINDOW || self.buffer.offered >= self.buffer.capacity {
            return false;
        }
        let held: u64 = self.held.iter().map(|(start, end)| end - start).sum();
        self.buffer.grow(self.unread + held, u64::from(mss))
    }

    /// A segment goes out with this timestamp: where a buffer grows by steps, a round trip may begin with it.
    pub fn note_stamp(&mut self, stamp: u32) {
        self.buffer.begin_round(stamp);
    }

    /// Octets arrived in order, with nothing missing before or behind them, and with this echo.
    pub fn count_for_step(&mut self, echo: u32, len: u32) {
        self.buffer.count(echo, len);
    }

    /// Lets the buffer follow what the application read in the last round trip.
    pub fn tune(&mut self, now: Time, mss: u32) {
        self.buffer.tune(now, u64::from(mss));
    }

    fn advance(&mut self, to: u64) -> Arrival {
        let before = self.next;
        self.next = to;
        let had_gaps = !self.held.is_empty();
        if had_gaps {
            let covered = self.held.iter().take_while(|(start, _)| *start <= self.next).count();
            if covered > 0 {
                self.next = self.next.max(self.held[covered - 1].1);
                self.held.drain(..covered);
                self.recent.retain(|(start, _)| *start > to);
            }
        }
        self.unread += self.next - before;
        self.make_readable();
        let gaps_left = !self.held.is_empty();
        Arrival::InOrder { closed_gap: had_gaps && !gaps_left, gaps_left }
    }

    /// As much is held out of order as may be: in full segments, where FreeBSD counts segments of any size.
    fn is_full_of_held(&self) -> bool {
        let Some(limit) = self.reassembly_limit else { return false };
        let held: u64 = self.held.iter().map(|(start, end)| end - start).sum();
        held >= u64::from(limit) * u64::from(self.mss)
    }

    fn hold(&mut self, from: u64, to: u64) -> Arrival {
        let at = self.held.partition_point(|(_, end)| *end < from);
        let mut whole = (from, to);
        let mut last = at;
        while let Some(&(start, end)) = self.held.get(last) {
            if start > to {
                break;
            }
            if start <= from && to <= end {
                self.report_duplicate(from, to);
                return Arrival::OutOfOrder;
            }
            whole = (whole.0.min(start), whole.1.max(end));
            last += 1;
        }
        self.held.splice(at..last, [whole]);
        self.recent.retain(|(start, end)| *end < whole.0 || *start > whole.1);
        self.recent.insert(0, whole);
        self.recent.truncate(4);
        Arrival::OutOfOrder
    }

    fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.report_duplicates && self.sack && end > start {
            self.dsack = Some((start, end));
        }
    }

    fn keep_bytes(&mut self, from: u64, to: u64, start: i64, payload: &Payload) {
        let Some(real) = payload.bytes() else { return };
        let unread = self.unread as usize;
        let bytes = self
            .bytes
            .get_or_insert_with(|| RealBytes { ready: VecDeque::from(vec![0; unread]), held: BTreeMap::new() });
        let part = &real[(from as i64 - start) as usize..(to as i64 - start) as usize];
        match bytes.held.get(&from) {
            Some(old) if old.len() >= part.len() => {}
            _ => drop(bytes.held.insert(from, part.to_vec())),
        }
    }

    /// Moves held bytes that are now in order to where the application reads them.
    fn make_readable(&mut self) {
        let Some(bytes) = &mut self.bytes else { return };
        let mut reached = self.next - (self.unread - bytes.ready.len() as u64);
        while let Some(entry) = bytes.held.first_entry() {
            let start = *entry.key();
            if start > reached || start >= self.next {
                break;
            }
            let part = entry.remove();
            let end = start + part.len() as u64;
            if end > reached {
                bytes.ready.extend(&part[(reached - start) as usize..]);
                reached = end;
            }
        }
    }
}

/// Linux's initial window: whole segments of what fits the field of a SYN, and the buffer.
fn whole_segments(capacity: u64, mss: u32) -> u64 {
    capacity.min(65_535) / u64::from(mss) * u64::from(mss)
}
