//! The receiver: received and missing data, SACK reports, and the advertised window.

use super::ack_policy::Arrival;
use super::answer_window::AnswerWindow;
use super::buffer::Buffer;
use super::filling::{Filling, SegmentSizes};
use super::placeholders::Placeholders;
use super::records::Records;
use super::runs::Runs;
use crate::profile::Profile;
use crate::send::copied;
use lopsided_core::packet::{SackBlock, SackBlocks};
use lopsided_core::{Bytes, Duration, Payload, Seq, Time};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Number of SACK blocks that a receiver stores (Linux).
const BLOCKS_REMEMBERED: usize = 4;
/// Number of SACK blocks that fit in every ACK, even with timestamps and a DSACK (Linux).
const BLOCKS_EXPECTED: usize = 2;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Sequence number of the peer's first data byte (offset 0).
    origin: Seq,
    /// Offset of the next expected byte.
    next: u64,
    /// Runs of out-of-order data beyond `next`, ordered and disjoint.
    held: Runs,
    /// Number of bytes in `held`.
    held_octets: u64,
    /// Memory records of the unread and the out-of-order data.
    records: Records,
    /// Bytes and memory records of the out-of-order data before the last out-of-order segment arrived.
    held_before: (u64, u64),
    /// End of the last in-order segment, and the number of memory records when the segment arrived, before it was
    /// joined with out-of-order data.
    before_joining: (u64, u64),
    /// Window of an ACK that became due before the application read the new data.
    due_window: Option<u64>,
    /// True if nothing has changed the window since it was last advertised.
    settled: bool,
    /// Blocks to report by SACK, the most recently changed first (RFC 2018 section 4).
    recent: Vec<(u64, u64)>,
    /// A range that was received twice, to be reported in one ACK (RFC 2883).
    dsack: Option<(u64, u64)>,
    /// Stream offset of the peer's FIN; `None` until it arrives.
    fin: Option<u64>,
    /// Number of in-order bytes that the application has not read.
    unread: u64,
    /// Contents of the unread and out-of-order data; `None` while all data is synthetic.
    bytes: Option<Box<RealBytes>>,
    /// Right edge of the advertised window, as a stream offset. It never moves back (RFC 9293 section 3.8.6).
    edge: u64,
    /// The last advertised window, in bytes.
    offered: u64,
    buffer: Buffer,
    sack: bool,
    /// True if a FIN without data that arrives out of order is reported as a SACK block.
    sack_fin: bool,
    /// True if duplicates are reported by DSACK.
    report_duplicates: bool,
    /// Maximum amount of out-of-order data, in full segments; `None` for no limit.
    reassembly_limit: Option<u32>,
    placeholders: Option<Box<Placeholders>>,
    /// Payload of a full segment, in bytes.
    mss: u32,
}

#[derive(Debug, Default)]
/// Contents of received data that is not synthetic.
struct RealBytes {
    /// In-order bytes that are ready to be read.
    ready: VecDeque<u8>,
    /// Bytes that are out of order or were not moved to `ready` yet, keyed by stream offset.
    held: BTreeMap<u64, Vec<u8>>,
}

impl RealBytes {
    #[inline(never)]
    fn read(&mut self, count: usize) -> Payload {
        let octets = copied(&self.ready, 0..count);
        self.ready.drain(..count);
        Payload::real(octets)
    }
}

impl Receiver {
    pub fn new(profile: &Profile, mss: u32) -> Receiver {
        let buffer = Buffer::new(profile);
        Receiver {
            origin: Seq::new(0),
            next: 0,
            held: Runs::default(),
            held_octets: 0,
            records: Records::default(),
            held_before: (0, 0),
            before_joining: (0, 0),
            due_window: None,
            settled: false,
            recent: Vec::new(),
            dsack: None,
            fin: None,
            unread: 0,
            bytes: None,
            edge: 0,
            offered: buffer.first_window(u64::from(mss)),
            buffer,
            sack: false,
            sack_fin: profile.sack_fin,
            report_duplicates: profile.dsack,
            reassembly_limit: profile.reassembly_limit,
            placeholders: profile
                .placeholders
                .map(|loss| Box::new(Placeholders::new(loss, profile.placeholder_margin))),
            mss,
        }
    }

    /// Starts the stream after the peer's SYN, whose sequence number is `irs`.
    pub fn open(&mut self, irs: Seq, sack: bool) {
        self.origin = irs + 1;
        self.sack = sack;
    }

    /// Computes the window of the SYN-ACK, a whole number of segments. `mss` is the segment size without timestamps.
    pub fn answer_with(&mut self, mss: u32) {
        self.settled = false;
        self.offered = self.buffer.first_window(u64::from(mss));
    }

    /// The last advertised window, in bytes. Before any data arrives, it is the window of the SYN.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// Computes the window of a SYN and records the window as advertised. The window in a SYN is never scaled (RFC 7323
    /// section 2.2).
    pub fn syn_window(&mut self) -> u16 {
        self.settled = false;
        let window = self.offered.min(65_535);
        self.edge = self.edge.max(self.next + window);
        window as u16
    }

    /// Ends the handshake with the negotiated segment sizes.
    pub fn establish(&mut self, now: Time, sizes: SegmentSizes, scale: u8) {
        self.settled = false;
        self.mss = sizes.agreed;
        self.records.expect(sizes.agreed);
        let filling = self.filling(sizes, scale);
        self.buffer.establish(now, filling);
    }

    #[inline]
    fn filling(&self, sizes: SegmentSizes, scale: u8) -> Filling {
        Filling {
            unread: self.unread,
            unread_records: self.records.unread(),
            held: self.held_octets,
            held_records: self.records.held(),
            sizes,
            offered: self.offered,
            open: self.open_window(),
            scale,
        }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    /// The acknowledgement number to send. It includes the FIN if all data before the FIN has arrived.
    pub fn ack(&self) -> Seq {
        self.origin + self.next as u32 + u32::from(self.fin_reached())
    }

    /// True if the FIN and all data before it have arrived.
    pub fn fin_reached(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// RCV.NXT as a stream offset: the next expected byte, or one more after the FIN.
    pub fn rcv_nxt(&self) -> i64 {
        self.next as i64 + i64::from(self.fin_reached())
    }

    pub fn unread(&self) -> u64 {
        self.unread
    }

    pub fn space(&self) -> u64 {
        self.buffer.space()
    }

    /// Sets a fixed size of the buffer.
    pub fn set_buffer(&mut self, size: Bytes) {
        self.settled = false;
        self.buffer.set_size(size);
    }

    pub fn window_threshold(&self) -> u64 {
        self.buffer.threshold()
    }

    pub fn rtt(&self) -> Option<Duration> {
        self.buffer.rounds.rtt()
    }

    /// Converts a sequence number near `next` to a stream offset; negative before the first data byte.
    pub fn offset(&self, seq: Seq) -> i64 {
        let expected = self.origin + self.next as u32;
        self.next as i64 + i64::from(seq.get().wrapping_sub(expected.get()) as i32)
    }

    /// The window field of the header if the window has not changed since it was last advertised; otherwise `None`.
    #[inline(always)]
    pub fn settled_window(&self, scale: u8) -> Option<u16> {
        self.settled.then_some((self.offered >> scale) as u16)
    }

    /// Sets the estimated size of the peer's full segments to `len` bytes.
    #[cold]
    pub fn measure(&mut self, len: u32) {
        self.settled = false;
        self.buffer.measure(len);
    }

    /// Marks the window as changed. Called if the segment sizes change.
    pub fn note_sizes(&mut self) {
        self.settled = false;
    }

    /// Computes the window, records the window as advertised, and returns the header field. As in Linux, the field is
    /// rounded up, so that the right edge never moves back.
    pub fn offer_window(&mut self, sizes: SegmentSizes, scale: u8) -> u16 {
        let field = self.header_window(sizes, scale);
        self.settled = self.due_window.take().is_none();
        self.offered = field << scale;
        self.edge = self.edge.max(self.next + self.offered);
        field as u16
    }

    /// The window that [`Receiver::offer_window`] would return, in units of the header field.
    pub fn header_window(&self, sizes: SegmentSizes, scale: u8) -> u64 {
        let window = self.due_window.unwrap_or_else(|| self.buffer.window(self.filling(sizes, scale)));
        window.div_ceil(1 << scale).min(65_535)
    }

    /// Returns how an ACK would change the window if it is sent before the application reads the new data.
    #[inline(always)]
    pub fn answer_window(&self, sizes: SegmentSizes, scale: u8) -> AnswerWindow {
        let (octets, records) = (self.unread + self.held_octets, self.records.unread() + self.records.held());
        if self.buffer.has_ample_room(octets, records, self.offered, scale) {
            debug_assert_eq!(self.closer_answer_window(sizes, scale), AnswerWindow::default());
            return AnswerWindow::default();
        }
        self.closer_answer_window(sizes, scale)
    }

    /// The slow path of [`Receiver::answer_window`].
    #[inline(never)]
    fn closer_answer_window(&self, sizes: SegmentSizes, scale: u8) -> AnswerWindow {
        self.buffer.answer_window(self.filling(sizes, scale))
    }

    /// Stores the window of an ACK that is due before the application reads the new data.
    #[inline(always)]
    pub fn note_ack_due(&mut self, sizes: SegmentSizes, scale: u8) {
        self.settled = false;
        self.due_window = self.buffer.counts_unread().then(|| self.buffer.window(self.filling(sizes, scale)));
    }

    /// True if the next ACK carries a SACK block.
    #[inline(always)]
    pub fn has_sack_to_send(&self) -> bool {
        self.sack && (!self.recent.is_empty() || self.dsack.is_some())
    }

    /// Number of SACK blocks in the next segment if at most `room` fit.
    #[inline]
    pub fn sack_count(&self, room: usize) -> usize {
        if !self.has_sack_to_send() {
            return 0;
        }
        (self.recent.len() + usize::from(self.dsack.is_some())).min(room)
    }

    /// Start of the duplicate range that the next SACK option reports; `None` if it reports none.
    pub fn dsack_start(&self) -> Option<u64> {
        self.dsack.filter(|_| self.sack).map(|(start, _)| start)
    }

    /// Part of the advertised window that the peer has not used yet, in bytes.
    pub fn open_window(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// Cheap check: if false, [`Receiver::window_update_due`] is false too.
    #[inline(always)]
    pub fn could_be_updated(&self) -> bool {
        self.buffer.could_be_updated(self.open_window())
    }

    /// True if the application's read opened the window so far that the peer must be notified.
    pub fn window_update_due(&self, sizes: SegmentSizes, scale: u8) -> bool {
        self.buffer.is_update_due(self.filling(sizes, scale), self.fin_reached())
    }

    /// True if [`Receiver::take_next`] may accept the payload: the payload is synthetic and within the window, and
    /// neither out-of-order data nor a FIN has arrived.
    #[inline(always)]
    pub fn takes_next(&self, payload: &Payload) -> bool {
        let end = self.next + u64::from(payload.len());
        let counted = self.bytes.is_none() && payload.bytes().is_none() && self.placeholders.is_none();
        end <= self.edge && self.held.is_empty() && self.fin.is_none() && counted
    }

    /// Accepts `len` in-order bytes. This fast path has the same result as [`Receiver::accept`]. Call it only if
    /// [`Receiver::takes_next`] returned true.
    #[inline(always)]
    pub fn take_next(&mut self, len: u32) {
        self.settled = false;
        let before = self.next;
        self.next += u64::from(len);
        self.records.append(before, self.next);
        self.before_joining = (self.next, self.records.unread() + self.records.held());
        self.unread += u64::from(len);
    }

    /// Accepts the part of the payload that fits the window. `start` is the stream offset of the payload; `fin` is true
    /// if the stream ends after the payload.
    pub fn accept(&mut self, start: i64, payload: &Payload, fin: bool) -> Arrival {
        self.settled = false;
        let end = start + i64::from(payload.len());
        let brings_fin = fin && end >= self.next as i64 && end as u64 <= self.edge && self.fin.is_none();
        let waited = self.has_gaps();
        if brings_fin {
            self.fin = Some(end as u64);
        }
        let next = self.next as i64;
        if end <= next {
            // An empty segment at the next byte is an in-order FIN without data.
            if payload.is_empty() && end == next {
                return Arrival::InOrder { closed_gap: false, gaps_left: false };
            }
            if !payload.is_empty() {
                self.report_duplicate(start.max(0) as u64, end.max(0) as u64);
            }
            return Arrival::Duplicate;
        }
        // Cut off data after the FIN, and data beyond the window.
        let limit = self.fin.unwrap_or(u64::MAX).min(self.edge.max(self.next));
        let from = start.max(next) as u64;
        let to = (end as u64).min(limit);
        if to <= from {
            // A FIN without data has arrived behind a gap. Some stacks report its sequence number as a SACK block.
            if self.sack_fin && payload.is_empty() && self.fin == Some(to) && to > self.next {
                self.remember(to, to);
                return Arrival::OutOfOrder;
            }
            return Arrival::Duplicate;
        }
        if from > self.next {
            // The limit on out-of-order data is reached: drop the data, but still send a duplicate ACK.
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
        match self.advance(to) {
            // The FIN arrived with this data, so no gap before the FIN was open that this data could have closed.
            Arrival::InOrder { gaps_left, .. } if brings_fin && !waited => {
                Arrival::InOrder { closed_gap: false, gaps_left }
            }
            arrival => arrival,
        }
    }

    /// Fills the gap before a segment with placeholders, if the loss does not exceed the expected loss.
    pub fn put_placeholders(&mut self, now: Time, start: i64, payload: &Payload) {
        self.settled = false;
        let rtt = self.buffer.rounds.rtt();
        let Some(placeholders) = &mut self.placeholders else { return };
        let end = start + i64::from(payload.len());
        if payload.is_empty() || end <= self.next as i64 {
            return;
        }
        let start = start.max(0) as u64;
        if !placeholders.fills(now, rtt, start, end as u64, self.mss) || start <= self.next || start >= self.edge {
            return;
        }
        // Collect the gaps between the runs of out-of-order data before `start`.
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let mut reached = self.next;
        for (from, to) in self.held.touching(self.next, start).take_while(|(from, _)| *from < start) {
            gaps.push(reached..from);
            reached = to;
        }
        if reached < start {
            gaps.push(reached..start);
        }
        for gap in gaps {
            let len = (gap.end - gap.start) as u32;
            // If the stream has real contents, the placeholders are filled with zeros.
            if self.bytes.is_some() || payload.bytes().is_some() {
                self.keep_bytes(gap.start, gap.end, gap.start as i64, &Payload::real(vec![0; len as usize]));
            }
            self.advance(gap.end);
            if let Some(placeholders) = &mut self.placeholders {
                placeholders.note(gap);
            }
        }
    }

    /// True if the profile permits placeholders in the stream.
    #[inline]
    pub fn takes_placeholders(&self) -> bool {
        self.placeholders.is_some()
    }

    /// Returns the ranges of placeholders since the last call, as stream offsets.
    pub fn take_placeholders(&mut self) -> Vec<Range<u64>> {
        self.placeholders.as_mut().map_or_else(Vec::new, |placeholders| placeholders.take())
    }

    /// Records a discarded segment. If all data of the segment is old, the next ACK reports the data as a duplicate
    /// (DSACK).
    pub fn note_old(&mut self, start: i64, payload: &Payload) {
        let end = start + i64::from(payload.len());
        if end <= self.next as i64 {
            self.report_duplicate(start.max(0) as u64, end.max(0) as u64);
        }
    }

    /// Reads up to `limit` bytes. If the data is synthetic, the payload is synthetic too. A read may grow an automatic
    /// buffer.
    #[inline(always)]
    pub fn read(&mut self, now: Time, limit: u64, own_mss: u32) -> Payload {
        self.settled = false;
        let count = self.unread.min(limit);
        let from = self.next - self.unread;
        let first = self.records.first_end().map_or(count, |end| count.min(end.saturating_sub(from)));
        self.unread -= count;
        self.records.release(self.next - self.unread);
        if count > 0 {
            // tcp_rcv_space_adjust: Linux copies record by record and checks after each record whether the round trip
            // has ended. If the round trip ends during this read, only the first record counts for this round trip.
            self.buffer.rounds.on_read(first);
            self.buffer.tune(now, self.unread + count - first, u64::from(own_mss));
            self.buffer.rounds.on_read(count - first);
        }
        match &mut self.bytes {
            Some(bytes) => bytes.read(count as usize),
            None => Payload::virtual_len(count as u32),
        }
    }

    /// Returns at most `room` SACK blocks for the next ACK. A duplicate is reported only once (RFC 2883 section 4).
    #[cold]
    pub fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        // The last block must include the FIN's sequence number. Otherwise the sender would mark its last segment as
        // missing.
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

    /// Records an echoed timestamp. A full segment that echoes a new timestamp provides an RTT sample.
    #[inline(always)]
    pub fn sample_echo(&mut self, echo: u32, full: bool, rtt: impl FnOnce() -> Option<Duration>) {
        self.buffer.rounds.sample_echo(echo, full, rtt);
    }

    /// Records a received segment of `len` bytes. Returns true if the receive window grew.
    #[inline(always)]
    pub fn grow(&mut self, now: Time, arrival: Arrival, len: u32, sizes: SegmentSizes) -> bool {
        self.settled = false;
        let counts = match arrival {
            Arrival::InOrder { .. } => {
                self.buffer.rounds.time_window(now, self.before_joining.0, self.offered);
                true
            }
            Arrival::OutOfOrder => self.sack,
            // RFC 5681: without SACK, out-of-order data must not change the window; otherwise the ACK would not count
            // as a duplicate ACK.
            Arrival::Duplicate => false,
        };
        let in_order = arrival != Arrival::OutOfOrder;
        if !counts || !self.buffer.could_grow(len, in_order) {
            return false;
        }
        let mut filling = self.filling(sizes, 0);
        if in_order {
            // A segment that fills a gap is evaluated as if the gap were still open, because the out-of-order data is
            // still in separate records (captures of Linux 6.1).
            (filling.unread_records, filling.held_records) = (self.before_joining.1, 0);
        } else if filling.held_records > self.held_before.1 {
            // Exclude the segment itself, unless it was joined to an earlier record.
            (filling.held, filling.held_records) = self.held_before;
        }
        self.buffer.grow(len, in_order, filling)
    }

    /// Records the timestamp of an outgoing segment. In a buffer that grows by steps, the segment may begin a round
    /// trip.
    pub fn note_stamp(&mut self, stamp: u32) {
        self.buffer.begin_round(stamp);
    }

    /// FreeBSD: counts in-order bytes with the timestamp echo `echo`. Call only if no earlier data is missing.
    pub fn count_for_step(&mut self, echo: u32, len: u32) {
        self.settled = false;
        self.buffer.count(echo, len);
    }

    /// FreeBSD: resets the byte count of the round trip, because data was or is missing.
    #[inline]
    pub fn forget_step(&mut self) {
        self.buffer.forget_round();
    }

    /// Moves the next expected byte to `to`, and then past all out-of-order data that is now in order.
    fn advance(&mut self, to: u64) -> Arrival {
        let had_gaps = self.has_gaps();
        let before = self.next;
        self.next = to;
        self.records.append(before, to);
        self.before_joining = (to, self.records.unread() + self.records.held());
        if !self.held.is_empty() {
            let mut covered = false;
            while let Some((start, end)) = self.held.pop_reached(self.next) {
                self.next = self.next.max(end);
                self.held_octets -= end - start;
                // The segment overlaps data that was received out of order: report the overlap as a duplicate.
                if start < to {
                    self.extend_duplicate(start, to.min(end));
                }
                covered = true;
            }
            if covered {
                self.records.advance(self.next);
                let next = self.next;
                // Blocks below the acknowledgement number are no longer reported.
                self.recent.retain(|(start, _)| *start > next);
            }
        }
        self.unread += self.next - before;
        if self.bytes.is_some() {
            self.make_readable();
        }
        if self.fin_reached() {
            self.recent.clear();
        }
        let gaps_left = self.has_gaps();
        Arrival::InOrder { closed_gap: had_gaps && !gaps_left, gaps_left }
    }

    /// True if data, or a FIN without data, is stored behind a gap.
    fn has_gaps(&self) -> bool {
        !self.held.is_empty() || (self.sack_fin && self.fin.is_some_and(|fin| fin > self.next))
    }

    /// True if the limit on out-of-order data is reached. Deviation: the limit is in bytes; FreeBSD counts segments.
    fn is_full_of_held(&self) -> bool {
        let Some(limit) = self.reassembly_limit else { return false };
        self.held_octets >= u64::from(limit) * u64::from(self.mss)
    }

    /// Stores the bytes `[from, to)` behind a gap.
    fn hold(&mut self, from: u64, to: u64) -> Arrival {
        self.held_before = (self.held_octets, self.records.held());
        // Usual case: the segment extends or follows the last run.
        if self.held.append(from, to) {
            self.held_octets += to - from;
            self.records.hold(from, to);
            self.remember(from, to);
            return Arrival::OutOfOrder;
        }
        let (mut duplicate, mut covered) = (None, false);
        for (start, end) in self.held.touching(from, to) {
            let (first, last) = (from.max(start), to.min(end));
            if first < last {
                duplicate = Some((first, last));
                // Part of the segment was received before: report the last overlap as a duplicate.
            }
            if start <= from && to <= end {
                covered = true;
            }
        }
        if let Some((first, last)) = duplicate {
            self.report_duplicate(first, last);
        }
        if !covered {
            let joined = self.held.insert(from, to);
            let octets: u64 = joined.iter().map(|(start, end)| end - start).sum();
            let whole = joined.iter().fold((from, to), |all, run| (all.0.min(run.0), all.1.max(run.1)));
            self.held_octets = self.held_octets + (whole.1 - whole.0) - octets;
            self.records.hold(from, to);
        }
        self.remember(from, to);
        Arrival::OutOfOrder
    }

    /// Joins an out-of-order block with the stored SACK blocks that it touches. The joined block moves to the front of
    /// the SACK report.
    fn remember(&mut self, from: u64, to: u64) {
        let mut front = (from, to);
        if let Some(((start, end), others)) = self.recent.split_first_mut().filter(|((_, end), _)| *end == from) {
            // Usual case: the segment extends the block that grew last.
            if others.iter().all(|other| other.1 < *start || to < other.0) {
                *end = to;
                return;
            }
        }
        if let Some(at) = self.touched_block(from, to) {
            let (start, end) = self.recent.remove(at);
            front = (from.min(start), to.max(end));
            self.recent.retain(|&(start, end)| {
                let apart = end < front.0 || front.1 < start;
                if !apart {
                    front = (front.0.min(start), front.1.max(end));
                }
                apart
            });
        }
        self.recent.insert(0, front);
        // Linux's tp->selective_acks stores four blocks.
        self.recent.truncate(BLOCKS_REMEMBERED);
    }

    /// Position in the SACK report of the first block that `[from, to)` touches.
    fn touched_block(&self, from: u64, to: u64) -> Option<usize> {
        self.recent.iter().position(|&(start, end)| from <= end && start <= to)
    }

    /// True if this out-of-order segment would displace an unreported block. A delayed duplicate ACK must then be sent
    /// first.
    pub fn hides_a_block(&self, start: i64, payload: &Payload) -> bool {
        let end = start + i64::from(payload.len());
        start > self.next as i64
            && self.touched_block(start as u64, end as u64).unwrap_or(self.recent.len()) >= BLOCKS_EXPECTED
    }

    /// Adds the range `[start, end)` to the duplicate range to report, if the two ranges touch (Linux).
    fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.dsack {
            Some((from, to)) if start <= *to && *from <= end => (*from, *to) = ((*from).min(start), (*to).max(end)),
            Some(_) => {}
            None => self.report_duplicate(start, end),
        }
    }

    /// Stores a duplicate range, which the next ACK reports (RFC 2883).
    fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.report_duplicates && self.sack && end > start {
            self.dsack = Some((start, end));
        }
    }

    /// Stores the contents of `[from, to)` if they are real. `start` is the stream offset of the payload.
    #[inline]
    fn keep_bytes(&mut self, from: u64, to: u64, start: i64, payload: &Payload) {
        if let Some(real) = payload.bytes() {
            self.keep_real_bytes(from, to, start, real);
        }
    }

    fn keep_real_bytes(&mut self, from: u64, to: u64, start: i64, real: &[u8]) {
        let unread = self.unread as usize;
        let bytes = self.bytes.get_or_insert_with(|| {
            Box::new(RealBytes { ready: VecDeque::from(vec![0; unread]), held: BTreeMap::new() })
        });
        let part = &real[(from as i64 - start) as usize..(to as i64 - start) as usize];
        match bytes.held.get(&from) {
            Some(old) if old.len() >= part.len() => {}
            _ => drop(bytes.held.insert(from, part.to_vec())),
        }
    }

    /// Moves stored contents that are now in order to the readable bytes.
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
