//! The segments that a connection sends (SYNs, data, probes, acknowledgements and resets) and their headers.

use super::Connection;
use super::segment::{Outgoing, Segment};
use super::urgent::OldAck;
use crate::ecn::OptionFit;
use crate::sender::{Next, Piece, PieceKind};
use lopsided_core::packet::{AccEcnOption, Flags, MAX_TCP_OPTIONS, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::tcp_event::{AckReason, State, TcpEvent, TcpEventMask, TimerKind};
use lopsided_core::{Seq, Time};

impl Connection {
    /// Returns the next segment to send; `None` if nothing is due. Call it until it returns `None`.
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        let mut header = TcpHeader::default();
        let outgoing = self.write_segment(now, &mut header)?;
        Some(Segment::of(header, outgoing))
    }

    /// Like [`Connection::poll_segment`], but writes the TCP header into `header`. If the function returns `None`, the
    /// content of `header` is unspecified.
    #[inline]
    pub fn write_segment(&mut self, now: Time, header: &mut TcpHeader) -> Option<Outgoing> {
        self.send.flight.trace.set_now(now);
        if self.has_urgent() {
            return self.write_urgent(now, header);
        }
        self.forget_old_path(now);
        if !self.may_send_data() {
            return self.write_ack(now, header);
        }
        // No data is left to send, so skip the more expensive `poll`.
        if self.send.is_done(now) {
            let outgoing = self.write_ack(now, header)?;
            let next = if self.acks.due().is_none() { Next::Nothing } else { Next::Open };
            return Some(Outgoing { next, ..outgoing });
        }
        let full = self.full_segment();
        if let Some(piece) = self.send.poll(now, full) {
            self.clock = now;
            let outgoing = self.write_data(now, &piece, header);
            // Do not announce a full segment while an ACK is due: `write_full_segment` would skip the ACK.
            let ack_is_due = self.acks.due().is_some() || self.answer.is_some();
            let next = if ack_is_due { Next::Open } else { self.send.predict_next(now, full) };
            return Some(Outgoing { next, ..outgoing });
        }
        self.write_ack(now, header)
    }

    /// Writes the full segment that the last [`Next::Full`] announced. Call this function at the same instant, before
    /// any other function of the connection.
    #[inline]
    #[doc(hidden)]
    pub fn write_full_segment(&mut self, now: Time, header: &mut TcpHeader) -> Outgoing {
        let piece = self.send.send_full(now);
        let outgoing = self.write_data(now, &piece, header);
        Outgoing { next: self.send.follows_full(now), ..outgoing }
    }

    /// Predicts the result of [`Connection::write_segment`] without building the segment. Returns [`Next::Open`] if
    /// there is no simple prediction. If the result is [`Next::Nothing`], also records the limit that stops the sender.
    #[inline(always)]
    #[doc(hidden)]
    pub fn predict_segment(&mut self, now: Time) -> Next {
        let only_data = self.acks.due().is_none()
            && self.answer.is_none()
            && !self.has_urgent()
            && self.limits.known.is_none()
            && self.may_send_data()
            && self.send.flight.trace.is_off();
        if !only_data {
            return Next::Open;
        }
        let next =
            if self.send.is_done(now) { Next::Nothing } else { self.send.predict_next(now, self.full_segment()) };
        debug_assert!(next != Next::Nothing || self.poll_segment(now).is_none(), "poll_segment returned a segment");
        next
    }

    /// Like [`Connection::write_segment`], but for an interface whose queue is full. As in Linux, a data segment that
    /// the interface refuses does not count as sent, and the congestion window is reduced once.
    #[cold]
    #[doc(hidden)]
    pub fn write_segment_without_data(&mut self, now: Time, header: &mut TcpHeader) -> Option<Outgoing> {
        self.send.flight.trace.set_now(now);
        if self.has_urgent() {
            return self.write_urgent(now, header);
        }
        if self.may_send_data() {
            let full = self.full_segment();
            self.send.refuse(now, full);
        }
        self.write_ack(now, header)
    }

    /// True if a segment must be sent before any data. This is rarely the case.
    #[inline]
    fn has_urgent(&self) -> bool {
        self.urgent.is_some() || self.handshake.is_syn_due()
    }

    #[cold]
    fn write_urgent(&mut self, now: Time, header: &mut TcpHeader) -> Option<Outgoing> {
        let segment = self.urgent_segment(now)?;
        self.forget_urgent();
        Some(segment.write(header))
    }

    /// Frees the boxed `Urgent` if it contains no segment to send.
    pub(super) fn forget_urgent(&mut self) {
        self.urgent = self.urgent.take().filter(|urgent| !urgent.is_empty());
    }

    /// Returns the next segment that must be sent before data, in order of precedence.
    fn urgent_segment(&mut self, now: Time) -> Option<Segment> {
        // Send the prepared ACK first: it was built before the last arriving segment was processed.
        if let Some(prepared) = self.urgent.as_mut().and_then(|urgent| urgent.prepared.take()) {
            return Some(prepared);
        }
        if self.handshake.is_syn_due() {
            return Some(self.syn(now));
        }
        let urgent = self.urgent.as_mut()?;
        if std::mem::take(&mut urgent.reset) {
            // Linux's tcp_send_active_reset reads the clock, so the timestamp is the current time.
            self.clock = now;
            return Some(self.rare_covering(now, Flags::RST.with(Flags::ACK)));
        }
        if let Some(seq) = urgent.refused.take() {
            return Some(self.refusal(seq));
        }
        if let Some(old) = urgent.old_ack.take() {
            return Some(self.old_ack(now, old));
        }
        std::mem::take(&mut urgent.keepalive).then(|| self.window_probe(now))
    }

    /// Writes an ACK if one is due.
    #[inline(always)]
    fn write_ack(&mut self, now: Time, header: &mut TcpHeader) -> Option<Outgoing> {
        let why = match self.answer {
            Some(answer) => answer.why,
            None => self.acks.due()?,
        };
        self.write_due_ack(now, why, header)
    }

    fn write_due_ack(&mut self, now: Time, why: AckReason, header: &mut TcpHeader) -> Option<Outgoing> {
        if self.state < State::Established || self.state == State::Closed {
            return None;
        }
        self.counters_mut().pure_acks_out += 1;
        self.write_header(now, Flags::ACK, 0, Covers::All, header);
        // Only a duplicate ACK, which is sent for out-of-order data, can request a retransmission.
        if why == AckReason::OutOfOrder && self.acks.asks_retransmit() {
            header.flags = header.flags.with(Flags::FAST_RETRANSMIT);
        }
        if self.state != State::Established {
            self.repeat_fin(header);
        }
        self.trace_ack(header.ack, why);
        Some(Outgoing { ecn: self.ecn.codepoint(false), ..Outgoing::BARE })
    }

    /// Sets FIN on an ACK, for stacks that repeat the FIN until it is acknowledged.
    #[cold]
    fn repeat_fin(&self, header: &mut TcpHeader) {
        let flight = &self.send.flight;
        // Repeat the FIN only if it was sent and is not acknowledged. A FIN that was never sent follows the data.
        let fin = self.send.fin_offset().filter(|fin| (flight.una()..flight.nxt()).contains(fin));
        if let Some(fin) = fin.filter(|_| flight.profile.ack_repeats_fin) {
            header.flags = header.flags.with(Flags::FIN);
            header.seq = self.send.seq(fin);
        }
    }

    /// Builds an ACK of the data received so far. The ACK is sent before all other segments.
    #[cold]
    pub(super) fn prepare_ack(&mut self, now: Time, why: AckReason) {
        self.counters_mut().pure_acks_out += 1;
        let segment = self.rare_covering(now, Flags::ACK);
        self.trace_ack(segment.header.ack, why);
        self.urgent_mut().prepared = Some(segment);
    }

    #[inline]
    fn trace_ack(&mut self, ack: Seq, why: AckReason) {
        self.send.flight.trace.emit(TcpEventMask::ACK, || TcpEvent::AckSent { ack, why });
    }

    /// True if the handshake is complete and the state permits sending data.
    #[inline]
    pub(super) fn may_send_data(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck)
            && !self.send.flight.timers.is_set(TimerKind::Handshake)
    }

    /// Builds a window probe: a segment without data, whose sequence number is one below the oldest unacknowledged
    /// byte.
    #[cold]
    fn window_probe(&mut self, now: Time) -> Segment {
        let mut segment = self.rare_covering(now, Flags::ACK);
        segment.header.seq = self.send.seq(self.send.flight.una()) - 1;
        self.trace_ack(segment.header.ack, AckReason::WindowProbe);
        segment
    }

    /// Writes the header of a data segment into `header` and returns the segment.
    #[inline(always)]
    fn write_data(&mut self, now: Time, piece: &Piece, header: &mut TcpHeader) -> Outgoing {
        if piece.kind == PieceKind::WindowProbe {
            return self.window_probe(now).write(header);
        }
        let mut flags = Flags::ACK;
        // RFC 3168 section 6.1.2: the first new data after a window reduction, whatever its cause, carries CWR.
        if piece.reduced && self.ecn.is_echoed() {
            flags = flags.with(Flags::CWR);
        }
        if self.send.is_pushed(piece.start, piece.len) {
            flags = flags.with(Flags::PSH);
        }
        if piece.fin {
            flags = flags.with(Flags::FIN);
        }
        self.counters_mut().data_segments_out += 1;
        let payload = self.send.payload(piece.start, piece.len);
        self.write_header(now, flags, piece.len, Covers::All, header);
        header.seq = self.send.seq(piece.start);
        if !payload.is_empty() {
            self.acks.on_data_sent(now);
        }
        let ecn = self.ecn.codepoint(piece.kind == PieceKind::New && !payload.is_empty());
        Outgoing { payload, ecn, next: Next::Open }
    }

    /// Builds a segment without data that acknowledges all received data. Not used on the hot path.
    fn rare_covering(&mut self, now: Time, flags: Flags) -> Segment {
        self.bare_segment(now, flags, Covers::All)
    }

    #[cold]
    fn bare_segment(&mut self, now: Time, flags: Flags, covers: Covers) -> Segment {
        let mut header = TcpHeader::default();
        self.write_header(now, flags, 0, covers, &mut header);
        Segment { ecn: self.ecn.codepoint(false), ..Segment::bare(header) }
    }

    /// Builds the ACK that was pending when the CE mark changed (RFC 8257 section 3.2). The ACK does not cover data
    /// that arrived after the change.
    fn old_ack(&mut self, now: Time, old: OldAck) -> Segment {
        self.counters_mut().pure_acks_out += 1;
        let echo = self.ecn.echo();
        self.ecn.set_echo(old.echo);
        let mut segment = self.bare_segment(now, Flags::ACK, Covers::Some);
        self.ecn.set_echo(echo);
        segment.header.ack = old.ack;
        self.last_ack_sent = old.ack;
        self.trace_ack(old.ack, old.why);
        segment
    }

    /// Builds the reset that answers an unacceptable acknowledgement (RFC 9293 section 3.10.7.3):
    /// `<SEQ=SEG.ACK><CTL=RST>`.
    fn refusal(&mut self, seq: Seq) -> Segment {
        self.counters_mut().segments_out += 1;
        Segment::bare(TcpHeader {
            src_port: self.local.port,
            dst_port: self.remote.port,
            seq,
            ack: Seq::default(),
            flags: Flags::RST,
            window: 0,
            options: TcpOptions::default(),
        })
    }

    // Header fields and options.

    /// Maximum number of SACK blocks in a header: 3 with timestamps, 4 without.
    #[inline]
    fn most_sack_blocks(&self) -> usize {
        if self.options.timestamps { 3 } else { 4 }
    }

    /// Maximum number of SACK blocks in a segment with `len` bytes of data.
    fn sack_room(&self, len: u32) -> usize {
        self.most_sack_blocks().min((self.option_space(len).saturating_sub(4) / 8) as usize)
    }

    /// Space for SACK blocks and the accurate-ECN option in a segment with `len` bytes of data, in bytes.
    fn option_space(&self, len: u32) -> u32 {
        (self.mss() + self.limits.reserved).saturating_sub(len)
    }

    /// Fits the accurate-ECN option and up to `blocks` SACK blocks into a segment with `space` bytes for options other
    /// than timestamps. Returns `None` if the segment carries no accurate-ECN option.
    fn fit_ecn_option(&self, space: u32, blocks: usize) -> Option<OptionFit> {
        let sack = sack_len(blocks);
        let timestamps = if self.options.timestamps { 12 } else { 0 };
        let room = space.min(MAX_TCP_OPTIONS - timestamps).saturating_sub(sack);
        self.ecn.fit_option(room, blocks)
    }

    /// Payload of a full segment with the options in force, in bytes (RFC 9293 section 3.7.1).
    #[inline]
    pub(super) fn full_segment(&self) -> u64 {
        let mut blocks = self.recv.sack_count(self.most_sack_blocks());
        let mut options = self.acks.option_room();
        if self.ecn.is_accurate() {
            if let Some(fit) = self.fit_ecn_option(MAX_TCP_OPTIONS, blocks) {
                blocks = fit.sack_blocks;
                options += AccEcnOption::padded_len_of(fit.counters);
            }
        }
        options = (options + sack_len(blocks)).saturating_sub(self.limits.reserved);
        u64::from(self.mss().saturating_sub(options).max(1))
    }

    /// Writes the header of a segment with `len` bytes of data.
    #[inline(always)]
    fn write_header(&mut self, now: Time, flags: Flags, len: u32, covers: Covers, header: &mut TcpHeader) {
        let window = match self.answer {
            Some(answer) => answer.window,
            None => self.offered_window(),
        };
        // Fill the options in place, because a header is too large to be moved for every segment.
        let options = &mut header.options;
        options.restart(self.timestamp());
        if let Some(stamps) = options.timestamps {
            self.recv.note_stamp(stamps.value);
        }
        let mut sack_room = if self.recv.has_sack_to_send() { Some(self.sack_room(len)) } else { None };
        let mut report = None;
        // After close(2) and the acknowledgement of the FIN, Linux keeps only a time-wait socket, which does not count
        // marks (tcp_time_wait).
        let counts = !(self.orphaned && matches!(self.state, State::FinWait2 | State::TimeWait));
        if self.ecn.is_accurate() && counts {
            let blocks = sack_room.map_or(0, |room| self.recv.sack_count(room));
            let fit = self.fit_ecn_option(self.option_space(len), blocks);
            if let (Some(fit), Some(room)) = (fit, &mut sack_room) {
                *room = fit.sack_blocks;
            }
            let dsack = self.recv.dsack_start().filter(|_| sack_room > Some(0));
            report = self.ecn.report(fit.map(|fit| fit.counters), dsack);
        }
        if sack_room == Some(0) {
            // A full-sized retransmission leaves no space for SACK blocks. The ACK stays due, so that a later segment
            // carries the SACK blocks.
        } else {
            if let Some(room) = sack_room {
                options.set_sack(self.recv.sack_blocks(room));
            }
            // `answer` was already counted as a sent ACK. An ACK that has become due since then stays due, and a later
            // segment carries it.
            if covers == Covers::All && self.answer.take().is_none() {
                self.acks.on_ack_sent(now, &mut self.send.flight.timers);
            }
        }
        self.counters_mut().segments_out += 1;
        let mut flags = if self.ecn.echo() { flags.with(Flags::ECE) } else { flags };
        if let Some((option, bits)) = report {
            options.set_accurate_ecn(option);
            flags = flags.with(bits);
        }
        // Add the ACK policy's options last, and only if space is left in the header and in the segment.
        let most = self.acks.option_room();
        if most > 0 {
            let sender = self.sender_view(len > 0);
            let taken = options.len() - if options.timestamps.is_some() { 12 } else { 0 };
            if options.len() + most <= MAX_TCP_OPTIONS && taken + most <= self.option_space(len) {
                options.set_other(self.acks.options(now, &sender));
            }
        }
        (header.src_port, header.dst_port) = (self.local.port, self.remote.port);
        header.seq = self.send.seq(self.send.flight.nxt());
        header.ack = self.recv.ack();
        (header.flags, header.window) = (flags, window);
        self.last_ack_sent = header.ack;
    }

    /// Builds a SYN or SYN-ACK and arms the handshake timer.
    fn syn(&mut self, now: Time) -> Segment {
        self.clock = now;
        let again = self.handshake.on_sent(now);
        self.counters_mut().retransmits += u64::from(again);
        let rto = self.send.flight.rtt.rto();
        let deadline = self.send.flight.profile.grain.deadline(now, rto);
        self.send.flight.timers.set(TimerKind::Handshake, deadline);
        self.counters_mut().segments_out += 1;
        // A SYN-ACK confirms only options that the SYN offered.
        let answer = self.state != State::SynSent;
        let (flags, sack_permitted, ack) = if answer {
            let bits = self.ecn.syn_ack_flags(self.handshake.retries_before());
            self.ecn.note_syn_ack_resent(self.handshake.resent());
            (Flags::SYN.with(Flags::ACK).with(bits), self.send.flight.sack(), self.recv.ack())
        } else {
            let flags = Flags::SYN.with(self.ecn.syn_flags(self.handshake.retries()));
            (flags, self.send.flight.profile.sack, Seq::default())
        };
        let options = TcpOptions::default()
            .with_mss(Some(self.options.mss_option))
            .with_window_scale(self.options.scaling.then_some(self.options.rcv_wscale))
            .with_sack_permitted(sack_permitted)
            .with_timestamps(self.timestamp());
        // A SYN never carries the accurate-ECN option (RFC 9768 section 3.2.3), and a retransmitted SYN-ACK omits it.
        let first = !self.handshake.is_resent();
        let accurate_ecn = if first { self.ecn.option_for_syn_ack() } else { None };
        let options = options.with_accurate_ecn(accurate_ecn);
        let header = TcpHeader {
            src_port: self.local.port,
            dst_port: self.remote.port,
            seq: self.send.seq(0) - 1,
            ack,
            flags,
            window: self.recv.syn_window(),
            options,
        };
        self.last_ack_sent = header.ack;
        Segment { ecn: self.ecn.handshake_codepoint(), ..Segment::bare(header) }
    }

    /// Returns the timestamps option of the next segment; `None` if timestamps are not negotiated.
    fn timestamp(&self) -> Option<Timestamps> {
        let value = || self.send.flight.clock.value(self.clock);
        self.options.timestamps.then(|| Timestamps { value: value(), echo: self.ts_recent })
    }
}

/// Returns the length in bytes of a SACK option with `blocks` blocks, including padding.
fn sack_len(blocks: usize) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u32 }
}

/// The part of the received data that a segment acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// The segment acknowledges all received data.
    All,
    /// The segment acknowledges only a part of the received data. The ACK of the rest stays due.
    Some,
}
