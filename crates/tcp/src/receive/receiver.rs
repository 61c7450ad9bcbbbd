//! The receiver: received and missing data, SACK reports, and the advertised window.

use super::ack_policy::Arrival;
use super::answer_window::AnswerWindow;
use super::filling::{Filling, SegmentSizes};
use super::offered_window::OfferedWindow;
use super::placeholders::Placeholders;
use super::reassembly::Reassembly;
use super::sack_report::SackReport;
use crate::profile::Profile;
use lopsided_core::packet::{SackBlock, SackBlocks};
use lopsided_core::{Bytes, Duration, Payload, Seq, Time};
use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Receiver {
    /// Sequence number of the peer's first data byte (offset 0).
    origin: Seq,
    data: Reassembly,
    window: OfferedWindow,
    report: SackReport,
    /// Stream offset of the peer's FIN; `None` until it arrives.
    fin: Option<u64>,
    /// True if a FIN without data that arrives out of order is reported as a SACK block.
    sack_fin: bool,
    /// Maximum amount of out-of-order data, in full segments; `None` for no limit.
    reassembly_limit: Option<u32>,
    placeholders: Option<Box<Placeholders>>,
    /// Payload of a full segment, in bytes.
    mss: u32,
}

impl Receiver {
    pub fn new(profile: &Profile, mss: u32) -> Receiver {
        Receiver {
            origin: Seq::new(0),
            data: Reassembly::default(),
            window: OfferedWindow::new(profile, mss),
            report: SackReport::new(profile.dsack),
            fin: None,
            sack_fin: profile.sack_fin,
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
        self.report.agree(sack);
    }

    /// Computes the window of the SYN-ACK, a whole number of segments. `mss` is the segment size without timestamps.
    pub fn answer_with(&mut self, mss: u32) {
        self.window.answer_with(mss);
    }

    /// The last advertised window, in bytes. Before any data arrives, it is the window of the SYN.
    pub fn offered(&self) -> u64 {
        self.window.offered()
    }

    /// Computes the window of a SYN and records the window as advertised. The window in a SYN is never scaled (RFC 7323
    /// section 2.2).
    pub fn syn_window(&mut self) -> u16 {
        self.window.offer_in_syn(self.data.next())
    }

    /// Ends the handshake with the negotiated segment sizes.
    pub fn establish(&mut self, now: Time, sizes: SegmentSizes, scale: u8) {
        self.mss = sizes.agreed;
        self.data.expect(sizes.agreed);
        let filling = self.filling(sizes, scale);
        self.window.buffer_mut().establish(now, filling);
    }

    #[inline]
    fn filling(&self, sizes: SegmentSizes, scale: u8) -> Filling {
        let held = self.data.held();
        Filling {
            unread: self.data.unread(),
            unread_records: self.data.unread_records(),
            held: held.octets,
            held_records: held.records,
            sizes,
            offered: self.window.offered(),
            open: self.open_window(),
            scale,
        }
    }

    pub fn next(&self) -> u64 {
        self.data.next()
    }

    /// The acknowledgement number to send. It includes the FIN if all data before the FIN has arrived.
    pub fn ack(&self) -> Seq {
        self.origin + self.next() as u32 + u32::from(self.fin_reached())
    }

    /// True if the FIN and all data before it have arrived.
    pub fn fin_reached(&self) -> bool {
        self.fin == Some(self.next())
    }

    /// RCV.NXT as a stream offset: the next expected byte, or one more after the FIN.
    pub fn rcv_nxt(&self) -> i64 {
        self.next() as i64 + i64::from(self.fin_reached())
    }

    pub fn unread(&self) -> u64 {
        self.data.unread()
    }

    pub fn space(&self) -> u64 {
        self.window.buffer().space()
    }

    /// Sets a fixed size of the buffer.
    pub fn set_buffer(&mut self, size: Bytes) {
        self.window.buffer_mut().set_size(size);
    }

    pub fn window_threshold(&self) -> u64 {
        self.window.buffer().threshold()
    }

    pub fn rtt(&self) -> Option<Duration> {
        self.window.rtt()
    }

    /// Converts a sequence number near `next` to a stream offset; negative before the first data byte.
    pub fn offset(&self, seq: Seq) -> i64 {
        let expected = self.origin + self.next() as u32;
        self.next() as i64 + i64::from(seq.get().wrapping_sub(expected.get()) as i32)
    }

    /// The window field of the header if the window has not changed since it was last advertised; otherwise `None`.
    #[inline(always)]
    pub fn settled_window(&self, scale: u8) -> Option<u16> {
        self.window.settled(scale)
    }

    /// Sets the estimated size of the peer's full segments to `len` bytes.
    #[cold]
    pub fn measure(&mut self, len: u32) {
        self.window.buffer_mut().measure(len);
    }

    /// Marks the window as changed. Called if the segment sizes change.
    pub fn note_sizes(&mut self) {
        self.window.data_changed();
    }

    /// Computes the window, records the window as advertised, and returns the header field.
    pub fn offer_window(&mut self, sizes: SegmentSizes, scale: u8) -> u16 {
        let filling = self.filling(sizes, scale);
        self.window.offer(self.data.next(), filling)
    }

    /// The window that [`Receiver::offer_window`] would record as advertised, in bytes.
    pub fn next_window(&self, sizes: SegmentSizes, scale: u8) -> u64 {
        self.window.units(self.filling(sizes, scale)) << scale
    }

    /// Returns how an ACK would change the window if it is sent before the application reads the new data.
    #[inline(always)]
    pub fn answer_window(&self, sizes: SegmentSizes, scale: u8) -> AnswerWindow {
        let held = self.data.held();
        let (octets, records) = (self.data.unread() + held.octets, self.data.unread_records() + held.records);
        let usual = self.window.buffer().usual_answer(octets, records, self.window.offered(), scale);
        debug_assert!(usual.is_none_or(|answer| answer == self.closer_answer_window(sizes, scale)));
        usual.unwrap_or_else(|| self.closer_answer_window(sizes, scale))
    }

    /// The slow path of [`Receiver::answer_window`].
    #[inline(never)]
    fn closer_answer_window(&self, sizes: SegmentSizes, scale: u8) -> AnswerWindow {
        self.window.buffer().answer_window(self.filling(sizes, scale))
    }

    /// Stores the window of an ACK that is due before the application reads the new data.
    #[inline(always)]
    pub fn note_ack_due(&mut self, sizes: SegmentSizes, scale: u8) {
        let filling = self.filling(sizes, scale);
        self.window.note_ack_due(filling);
    }

    /// True if the next ACK carries a SACK block.
    #[inline(always)]
    pub fn has_sack_to_send(&self) -> bool {
        self.report.is_due()
    }

    /// Number of SACK blocks in the next segment if at most `room` fit.
    #[inline]
    pub fn sack_count(&self, room: usize) -> usize {
        self.report.count(room)
    }

    /// Start of the duplicate range that the next SACK option reports; `None` if it reports none.
    pub fn dsack_start(&self) -> Option<u64> {
        self.report.duplicate_start()
    }

    /// Part of the advertised window that the peer has not used yet, in bytes.
    pub fn open_window(&self) -> u64 {
        self.window.open(self.data.next())
    }

    /// Cheap check: if false, [`Receiver::window_update_due`] is false too.
    #[inline(always)]
    pub fn could_be_updated(&self) -> bool {
        self.window.buffer().could_be_updated(self.open_window())
    }

    /// True if the application's read opened the window so far that the peer must be notified.
    pub fn window_update_due(&self, sizes: SegmentSizes, scale: u8) -> bool {
        let open = self.window.open_after_ack(self.next());
        self.window.buffer().is_update_due(Filling { open, ..self.filling(sizes, scale) }, self.fin_reached())
    }

    /// True if an ACK is due whose window was computed before the application read the new data.
    pub fn is_ack_due(&self) -> bool {
        self.window.is_ack_due()
    }

    /// True if [`Receiver::take_next`] may accept the payload: the payload is synthetic and within the window, and
    /// neither out-of-order data nor a FIN has arrived.
    #[inline(always)]
    pub fn takes_next(&self, payload: &Payload) -> bool {
        let end = self.next() + u64::from(payload.len());
        let counted = self.data.is_synthetic() && payload.bytes().is_none() && self.placeholders.is_none();
        end <= self.window.edge() && self.data.is_in_order() && self.fin.is_none() && counted
    }

    /// Accepts `len` in-order bytes. This fast path has the same result as [`Receiver::accept`]. Call it only if
    /// [`Receiver::takes_next`] returned true.
    #[inline(always)]
    pub fn take_next(&mut self, len: u32) {
        self.window.data_changed();
        self.data.append(self.data.next() + u64::from(len));
    }

    /// Accepts the part of the payload that fits the window. `start` is the stream offset of the payload; `fin` is true
    /// if the stream ends after the payload.
    pub fn accept(&mut self, start: i64, payload: &Payload, fin: bool) -> Arrival {
        self.window.data_changed();
        let end = start + i64::from(payload.len());
        let brings_fin = fin && end >= self.next() as i64 && end as u64 <= self.window.edge() && self.fin.is_none();
        let waited = self.has_gaps();
        if brings_fin {
            self.fin = Some(end as u64);
        }
        let next = self.next() as i64;
        if end <= next {
            // An empty segment at the next byte is an in-order FIN without data.
            if payload.is_empty() && end == next {
                return Arrival::InOrder { closed_gap: false, gaps_left: false };
            }
            if !payload.is_empty() {
                self.report.report_duplicate(start.max(0) as u64, end.max(0) as u64);
            }
            return Arrival::Duplicate;
        }
        // Cut off data after the FIN, and data beyond the window.
        let limit = self.fin.unwrap_or(u64::MAX).min(self.window.edge().max(self.next()));
        let from = start.max(next) as u64;
        let to = (end as u64).min(limit);
        if to <= from {
            // A FIN without data has arrived behind a gap. Some stacks report its sequence number as a SACK block.
            if self.sack_fin && payload.is_empty() && self.fin == Some(to) && to > self.next() {
                self.report.remember(to, to);
                return Arrival::OutOfOrder;
            }
            return Arrival::Duplicate;
        }
        if from > self.next() {
            // The limit on out-of-order data is reached: drop the data, but still send a duplicate ACK.
            if self.is_full_of_held() {
                return Arrival::OutOfOrder;
            }
            self.data.keep_bytes(from, to, start, payload);
            self.data.hold(from, to, &mut self.report);
            return Arrival::OutOfOrder;
        }
        self.data.keep_bytes(from, to, start, payload);
        if start < next {
            self.report.report_duplicate(start.max(0) as u64, self.next());
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
        self.window.data_changed();
        let rtt = self.window.rtt();
        let Some(placeholders) = &mut self.placeholders else { return };
        let end = start + i64::from(payload.len());
        if payload.is_empty() || end <= self.data.next() as i64 {
            return;
        }
        let start = start.max(0) as u64;
        let (next, edge) = (self.data.next(), self.window.edge());
        if !placeholders.fills(now, rtt, start, end as u64, self.mss) || start <= next || start >= edge {
            return;
        }
        for gap in self.data.gaps_before(start) {
            let len = (gap.end - gap.start) as u32;
            // If the stream has real contents, the placeholders are filled with zeros.
            if !self.data.is_synthetic() || payload.bytes().is_some() {
                self.data.keep_bytes(gap.start, gap.end, gap.start as i64, &Payload::real(vec![0; len as usize]));
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
        if end <= self.next() as i64 {
            self.report.report_duplicate(start.max(0) as u64, end.max(0) as u64);
        }
    }

    /// Reads up to `limit` bytes. If the data is synthetic, the payload is synthetic too. A read may grow an automatic
    /// buffer.
    #[inline(always)]
    pub fn read(&mut self, now: Time, limit: u64, own_mss: u32) -> Payload {
        let read = self.data.read(limit);
        let buffer = self.window.buffer_mut();
        if read.octets > 0 {
            // tcp_rcv_space_adjust: Linux copies record by record and checks after each record whether the round trip
            // has ended. If the round trip ends during this read, only the first record counts for this round trip.
            let others = read.octets - read.first_record;
            buffer.rounds.on_read(read.first_record);
            buffer.tune(now, self.data.unread() + others, u64::from(own_mss));
            buffer.rounds.on_read(others);
        }
        self.data.contents(read.octets)
    }

    /// Returns at most `room` SACK blocks for the next ACK. A duplicate is reported only once (RFC 2883 section 4).
    #[cold]
    pub fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        // The last block must include the FIN's sequence number. Otherwise the sender would mark its last segment as
        // missing.
        let fin_at = |end: u64| u32::from(self.fin == Some(end));
        for range in self.report.take(room) {
            blocks.push(SackBlock {
                start: self.origin + range.start as u32,
                end: self.origin + range.end as u32 + fin_at(range.end),
            });
        }
        blocks
    }

    /// Records an echoed timestamp. A full segment that echoes a new timestamp provides an RTT sample.
    #[inline(always)]
    pub fn sample_echo(&mut self, echo: u32, full: bool, rtt: impl FnOnce() -> Option<Duration>) {
        self.window.measured().rounds.sample_echo(echo, full, rtt);
    }

    /// Records a received segment of `len` bytes. Returns true if the receive window grew.
    #[inline(always)]
    pub fn grow(&mut self, now: Time, arrival: Arrival, len: u32, sizes: SegmentSizes) -> bool {
        self.window.data_changed();
        let counts = match arrival {
            Arrival::InOrder { .. } => {
                let (end, offered) = (self.data.before_joining().end, self.window.offered());
                self.window.measured().rounds.time_window(now, end, offered);
                true
            }
            Arrival::OutOfOrder => self.report.is_agreed(),
            // RFC 5681: without SACK, out-of-order data must not change the window; otherwise the ACK would not count
            // as a duplicate ACK.
            Arrival::Duplicate => false,
        };
        let in_order = arrival != Arrival::OutOfOrder;
        if !counts || !self.window.buffer().could_grow(len, in_order) {
            return false;
        }
        let mut filling = self.filling(sizes, 0);
        if in_order {
            // A segment that fills a gap is evaluated as if the gap were still open, because the out-of-order data is
            // still in separate records (captures of Linux 6.1).
            (filling.unread_records, filling.held_records) = (self.data.before_joining().records, 0);
        } else if filling.held_records > self.data.held_before().records {
            // Exclude the segment itself, unless it was joined to an earlier record.
            let before = self.data.held_before();
            (filling.held, filling.held_records) = (before.octets, before.records);
        }
        self.window.buffer_mut().grow(len, in_order, filling)
    }

    /// Records the timestamp of an outgoing segment. In a buffer that grows by steps, the segment may begin a round
    /// trip.
    pub fn note_stamp(&mut self, stamp: u32) {
        self.window.measured().begin_round(stamp);
    }

    /// FreeBSD: counts in-order bytes with the timestamp echo `echo`. Call only if no earlier data is missing.
    pub fn count_for_step(&mut self, echo: u32, len: u32) {
        self.window.buffer_mut().count(echo, len);
    }

    /// FreeBSD: resets the byte count of the round trip, because data was or is missing.
    #[inline]
    pub fn forget_step(&mut self) {
        self.window.measured().forget_round();
    }

    /// Moves the next expected byte to `to`, and then past all out-of-order data that is now in order.
    fn advance(&mut self, to: u64) -> Arrival {
        let had_gaps = self.has_gaps();
        self.data.advance(to, &mut self.report);
        if self.fin_reached() {
            self.report.complete();
        }
        let gaps_left = self.has_gaps();
        Arrival::InOrder { closed_gap: had_gaps && !gaps_left, gaps_left }
    }

    /// True if data, or a FIN without data, is stored behind a gap.
    fn has_gaps(&self) -> bool {
        !self.data.is_in_order() || (self.sack_fin && self.fin.is_some_and(|fin| fin > self.next()))
    }

    /// True if the limit on out-of-order data is reached. Deviation: the limit is in bytes; FreeBSD counts segments.
    fn is_full_of_held(&self) -> bool {
        let Some(limit) = self.reassembly_limit else { return false };
        self.data.held().octets >= u64::from(limit) * u64::from(self.mss)
    }

    /// True if this out-of-order segment would displace an unreported block. A delayed duplicate ACK must then be sent
    /// first.
    pub fn hides_a_block(&self, start: i64, payload: &Payload) -> bool {
        let end = start + i64::from(payload.len());
        start > self.next() as i64 && self.report.hides_a_block(start as u64, end as u64)
    }
}
