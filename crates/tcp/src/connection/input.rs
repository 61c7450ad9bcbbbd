//! Processes arriving segments (RFC 9293 section 3.10.7): handshake, acceptability (RFC 5961, RFC 7323),
//! acknowledgement, data and FIN.

use super::conn_event::{ConnError, ConnEvent};
use super::urgent::OldAck;
use super::{Answer, Connection};
use crate::cc::Feedback;
use crate::ecn::AceFeedback;
use crate::receive::ack_policy::{Arrival, ArrivedData, PeerFeedback};
use crate::send::AckInfo;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::tcp_event::{AckReason, State, TimerKind};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Seq, Time};

/// Duration of TIME-WAIT, and the longest time that a closed socket waits for the peer's FIN: 60 s, as in Linux and
/// FreeBSD.
pub(super) const TIME_WAIT: Duration = Duration::from_secs(60);
/// Minimum time between two challenge ACKs (Linux's tcp_invalid_ratelimit).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// A segment that carries data or a FIN.
#[derive(Clone, Copy)]
pub(super) struct DataSegment<'a> {
    pub header: &'a TcpHeader,
    pub payload: &'a Payload,
    /// The ECN field of the segment's IP header.
    pub ecn: Ecn,
    /// Offset of the first byte in the peer's stream.
    pub start: i64,
}

impl Connection {
    /// Processes a segment of this connection. Unacceptable segments are answered or ignored according to RFC 9293 and
    /// RFC 5961.
    pub fn handle_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        self.send.flight.trace.set_now(now);
        self.clock = now;
        self.counters_mut().segments_in += 1;
        if !self.take_predicted(now, header, payload, ecn) {
            match self.state {
                State::Closed => return,
                State::Listen => return self.on_segment_in_listen(now, header, ecn),
                State::SynSent => return self.on_segment_in_syn_sent(now, header, ecn),
                _ => self.on_segment(now, header, payload, ecn),
            }
        }
        if self.send.flight.profile.ack.before_read {
            self.settle_answer(now);
        }
        self.report_readiness();
    }

    /// Stores the window of an ACK that is due now, if the stack sends this ACK before the application reads.
    pub(super) fn settle_answer(&mut self, now: Time) {
        let Some(why) = self.acks.due() else { return };
        if self.state >= State::Established && self.state != State::Closed {
            let window = self.offered_window();
            self.answer = Some(Answer { window, why });
            self.acks.on_ack_sent(now, &mut self.send.flight.timers);
        }
    }

    /// Processes a segment after the peer's SYN has arrived, that is, in all states but CLOSED, LISTEN and SYN-SENT.
    fn on_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        let start = self.recv.offset(header.seq);
        if !self.is_acceptable(now, header, start, payload) {
            return;
        }
        if header.flags.has(Flags::RST) {
            // RFC 5961 section 3.2: accept a reset only if it has exactly the next expected sequence number. Answer any
            // other reset in the window with a challenge ACK.
            if start != self.recv.rcv_nxt() {
                self.challenge(now);
            } else if self.state == State::TimeWait {
                self.finish(None);
            } else {
                self.fail(ConnError::Reset);
            }
            return;
        }
        if header.flags.has(Flags::SYN) {
            self.on_repeated_syn(now, header, ecn);
            return;
        }
        if !header.flags.has(Flags::ACK) {
            return;
        }
        let was_open = self.state == State::Established;
        let opens = self.awaits_ack_of_syn();
        if opens {
            // RFC 9293 section 3.10.7.4, SYN-RECEIVED: an unacceptable ACK is answered with a reset.
            if header.ack != self.send.seq(0) {
                self.urgent_mut().refused = Some(header.ack);
                return;
            }
            self.establish(now, header, payload.len());
        }
        // RFC 9768 section 3.2.2.5.1: a change of the ECN field requires an immediate ACK. A pure ACK is never
        // acknowledged.
        if self.ecn.is_accurate() && self.ecn.count(header, payload.len(), ecn) {
            self.acks.hasten(AckReason::Ecn);
        }
        if self.acks.option_room() > 0 {
            let options = header.options.other();
            let acked = self.newly_acked(header.ack);
            let feedback = PeerFeedback { ecn, flags: header.flags, options, len: payload.len(), acked };
            let sender = self.sender_view(false);
            self.acks.on_feedback(now, &feedback, &sender);
        }
        if !self.on_ack(now, header, payload, opens) {
            return;
        }
        // RFC 1122 section 4.2.2.13: data that the application will never read is answered with a reset.
        if self.read_shut && self.refuses_data(start, payload) {
            self.urgent_mut().refused = Some(header.ack);
            self.fail(ConnError::Reset);
            return;
        }
        if !payload.is_empty() || header.flags.has(Flags::FIN) {
            self.on_data(now, &DataSegment { header, payload, ecn, start });
        } else if was_open {
            self.note_echo(now, header, 0);
        }
    }

    /// True if the segment carries new data although the application has closed both directions (RFC 1122 section
    /// 4.2.2.13).
    #[cold]
    fn refuses_data(&self, start: i64, payload: &Payload) -> bool {
        let is_closed = matches!(self.state, State::FinWait1 | State::FinWait2);
        is_closed && start + i64::from(payload.len()) > self.recv.next() as i64
    }

    /// Checks acceptability (RFC 9293 section 3.10.7.4) and PAWS (RFC 7323 section 5.3), and answers a segment that
    /// fails.
    fn is_acceptable(&mut self, now: Time, header: &TcpHeader, start: i64, payload: &Payload) -> bool {
        if let Some(timestamps) = header.options.timestamps {
            if self.options.timestamps
                && !header.flags.has(Flags::RST)
                && (timestamps.value.wrapping_sub(self.ts_recent) as i32) < 0
            {
                // The segment is an old duplicate or an attack. The ACK informs a real peer of the data that this end
                // expects.
                if payload.is_empty() {
                    self.challenge(now)
                } else {
                    self.on_unacceptable(now, start, payload)
                }
                return false;
            }
        }
        let next = self.recv.rcv_nxt();
        let end =
            start + i64::from(payload.len()) + i64::from(header.flags.has(Flags::FIN) || header.flags.has(Flags::SYN));
        let edge = next.max(self.recv.next() as i64 + self.recv.open_window() as i64);
        // A segment is unacceptable if it begins beyond the window, or if it ends before the last ACK that this end
        // sent (the peer may have missed that ACK). A segment that ends exactly at the last ACK is acceptable: its data
        // is old, but its timestamp and its acknowledgement may be new.
        let outside = start > edge || end < self.recv.offset(self.last_ack_sent);
        if outside {
            if !header.flags.has(Flags::RST) {
                if payload.is_empty() { self.challenge(now) } else { self.on_unacceptable(now, start, payload) }
            }
            // A pure ACK with a sequence number before the window may still acknowledge new data.
            return start <= edge
                && header.flags.has(Flags::ACK)
                && payload.is_empty()
                && !header.flags.has(Flags::RST)
                && !header.flags.has(Flags::SYN);
        }
        true
    }

    /// Handles an unacceptable data segment: it ends before the last ACK, begins beyond the window, or has an old
    /// timestamp.
    fn on_unacceptable(&mut self, now: Time, start: i64, payload: &Payload) {
        self.counters_mut().duplicates_received += 1;
        let again = start < self.recv.next() as i64;
        self.recv.note_old(start, payload);
        self.ecn.note_duplicate(start);
        self.acks.on_unacceptable(now, again, self.ack_context(), &mut self.send.flight.timers);
    }

    /// Handles a SYN that arrives after the first SYN of the peer.
    fn on_repeated_syn(&mut self, now: Time, header: &TcpHeader, ecn: Ecn) {
        if self.awaits_ack_of_syn() && self.recv.offset(header.seq) == -1 {
            self.ecn.on_repeated_syn(header, ecn);
            self.handshake.request_syn();
        } else {
            if header.flags.has(Flags::ACK) {
                self.ecn.answer_handshake_again(ecn);
            }
            // RFC 5961 section 4.2: challenge a SYN instead of resetting the connection.
            self.challenge(now);
        }
    }

    /// Answers an unacceptable segment without data with a challenge ACK.
    fn challenge(&mut self, now: Time) {
        if self.last_challenge.is_none_or(|last| now.saturating_since(last) >= CHALLENGE_INTERVAL) {
            self.last_challenge = Some(now);
            self.acks.ack_now(AckReason::Challenge);
        }
    }

    /// Stores the timestamp that the next segment echoes (RFC 7323 section 4.3). Called only if the segment's
    /// acknowledgement is acceptable.
    #[inline(always)]
    pub(super) fn note_timestamp(&mut self, header: &TcpHeader) {
        let start = self.recv.offset(header.seq);
        if let Some(timestamps) = header.options.timestamps {
            if self.options.timestamps
                && start <= self.recv.offset(self.last_ack_sent)
                && (timestamps.value.wrapping_sub(self.ts_recent) as i32) >= 0
            {
                self.ts_recent = timestamps.value;
            }
        }
    }

    /// Converts an acknowledgement number to a stream offset. Sequence numbers wrap, so several offsets have the same
    /// number. Returns the offset that is nearest to the oldest unacknowledged byte.
    pub(super) fn ack_offset(&self, ack: Seq) -> i64 {
        let expected = self.send.seq(0) + self.send.flight.una() as u32;
        self.send.flight.una() as i64 + i64::from(ack.get().wrapping_sub(expected.get()) as i32)
    }

    /// Number of bytes that `ack` newly acknowledges; 0 if `ack` covers data that was never sent.
    fn newly_acked(&self, ack: Seq) -> u64 {
        let (ack, una) = (self.ack_offset(ack), self.send.flight.una() as i64);
        if ack > self.send.flight.nxt() as i64 { 0 } else { (ack - una).max(0) as u64 }
    }

    /// Processes the acknowledgement. Returns true if the segment's data must be processed afterwards.
    fn on_ack(&mut self, now: Time, header: &TcpHeader, payload: &Payload, opens: bool) -> bool {
        let ack = self.ack_offset(header.ack);
        if ack > self.send.flight.nxt() as i64 {
            // The segment acknowledges data that was never sent. RFC 9293 section 3.10.7.4 requires an answer. In
            // ESTABLISHED, Linux's tcp_ack drops the segment without an answer.
            if self.state != State::Established || self.send.flight.profile.answers_unsent_ack {
                self.challenge(now);
            }
            return false;
        }
        if ack < self.send.flight.una() as i64 - self.send.window.largest().max(65_535) as i64 {
            // RFC 5961 section 5: no segment in the network can still carry an acknowledgement this old.
            self.challenge(now);
            return false;
        }
        self.last_ack_recv = Some(now);
        // An old ACK may still carry new SACK blocks or data, but it does not count as a duplicate ACK.
        let old = ack < self.send.flight.una() as i64;
        let stamp = self.ts_recent;
        if !old {
            self.note_timestamp(header);
        }
        // Linux's FLAG_TS_PROGRESS. The segment that completes a passive open is excluded, because it carries no count
        // of marks.
        let newer = self.ts_recent != stamp && !opens;
        let timestamps = if self.options.timestamps { header.options.timestamps } else { None };
        let info = AckInfo {
            seq: header.seq,
            ack_number: header.ack,
            ack: (ack.max(self.send.flight.una() as i64)) as u64,
            window: u64::from(header.window) << self.options.snd_wscale,
            sack: header.options.sack().as_slice(),
            echo: timestamps.map(|timestamps| timestamps.echo),
            forward_ms: timestamps.map(|timestamps| timestamps.value.wrapping_sub(timestamps.echo)),
            ecn_echo: header.flags.has(Flags::ECE) && self.ecn.is_echoed(),
            counts: self.ecn.is_accurate().then(|| AceFeedback::of(header, newer)),
            asks_retransmit: header.flags.has(Flags::FAST_RETRANSMIT),
            has_data: old || !payload.is_empty() || header.flags.has(Flags::FIN),
        };
        self.send.handle_ack(now, &info);
        if self.send.recovery.take_answer_due() {
            self.answer_partial(now);
        }
        if self.send.is_fin_acked() {
            self.on_fin_acked(now);
        }
        true
    }

    /// Answers a partial acknowledgement with an immediate segment, as FreeBSD's tcp_sack_partialack.
    fn answer_partial(&mut self, now: Time) {
        let board = &self.send.flight.scoreboard;
        if board.retrans_bytes() == 0 && board.retransmit_pending() == 0 {
            self.prepare_ack(now, AckReason::Partial);
        } else {
            self.acks.ack_now(AckReason::Partial);
        }
    }

    /// Changes the state once the peer has acknowledged the FIN.
    fn on_fin_acked(&mut self, now: Time) {
        match self.state {
            State::FinWait1 => {
                self.set_state(State::FinWait2);
                // No application waits for the peer's FIN, so the wait is limited (tcp_fin_timeout).
                if self.orphaned {
                    self.send.flight.timers.set(TimerKind::TimeWait, now + TIME_WAIT);
                }
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.finish(Some(ConnEvent::Closed)),
            _ => {}
        }
    }

    /// Processes data and a FIN: ECN feedback, reassembly, and the decision whether to send an ACK.
    fn on_data(&mut self, now: Time, segment: &DataSegment<'_>) {
        let &DataSegment { header, payload, ecn, start } = segment;
        match self.ecn.feedback() {
            Feedback::DctcpEcho => {
                if header.flags.has(Flags::CWR) {
                    // The peer has reduced its window, possibly to one or two segments, and would stall if it had to
                    // wait for a delayed ACK (tcp_ecn_accept_cwr).
                    self.acks.ack_now(AckReason::Ecn);
                }
                // Routers drop packets that are not ECN-capable instead of marking them, so these packets leave the
                // echo unchanged (__tcp_ecn_check_ce).
                if ecn != Ecn::NotEct {
                    self.note_mark(now, ecn == Ecn::Ce);
                }
            }
            Feedback::Classic => {
                let (reduced, mark) = self.ecn.on_classic_data(header.flags, ecn);
                let marked = mark.is_some_and(|first| self.acks.on_mark(first));
                // The peer has reduced its window, possibly to one or two segments, and would stall if it had to wait
                // for a delayed ACK.
                if reduced || marked {
                    self.acks.ack_now(AckReason::Ecn);
                }
            }
            Feedback::None | Feedback::Accurate => {}
        }
        self.note_data(now, header, payload);
        // If the new block would displace a SACK block of the held duplicate ACK, send that ACK first (Linux's
        // tcp_sack_compress_send_ack).
        let prepared = self.acks.holds_duplicate() && self.recv.hides_a_block(start, payload);
        if prepared {
            self.prepare_ack(now, AckReason::OutOfOrder);
        }
        let before = self.recv.next();
        self.recv.put_placeholders(now, start, payload);
        let arrival = self.recv.accept(start, payload, header.flags.has(Flags::FIN));
        match arrival {
            Arrival::Duplicate => {
                self.counters_mut().duplicates_received += 1;
                self.ecn.note_duplicate(start);
            }
            Arrival::OutOfOrder => self.counters_mut().out_of_order_received += 1,
            Arrival::InOrder { .. } => {}
        }
        self.settle_arrival(now, segment, before, arrival, prepared);
        if self.recv.fin_reached() {
            // Prefer a delayed ACK, because this end probably sends data or a FIN soon; see `on_fin`.
            self.acks.withdraw_quick();
            self.on_fin(now);
        }
    }

    /// Counts an acceptable segment with data, even if the receiver does not store the data.
    #[inline(always)]
    pub(super) fn note_data(&mut self, now: Time, header: &TcpHeader, payload: &Payload) {
        self.counters_mut().data_segments_in += 1;
        self.last_data_recv = Some(now);
        self.note_echo(now, header, payload.len());
    }

    /// Takes an RTT sample for the receiver from the timestamp that the segment echoes. `len` is the length of the
    /// segment's data in bytes.
    #[inline(always)]
    pub(super) fn note_echo(&mut self, now: Time, header: &TcpHeader, len: u32) {
        let Some(stamps) = header.options.timestamps.filter(|_| self.options.timestamps) else { return };
        if stamps.echo != 0 {
            let (full, clock) = (len >= self.acks.rcv_mss(), self.send.flight.clock);
            self.recv.sample_echo(stamps.echo, full, || clock.rtt_of_echo(now, stamps.echo));
        }
    }

    /// Grows the receive window and decides whether to send an ACK. `before` is the next expected offset before this
    /// segment was processed. `prepared` is true if [`Connection::prepare_ack`] has built an ACK for this segment.
    #[inline(always)]
    pub(super) fn settle_arrival(
        &mut self,
        now: Time,
        segment: &DataSegment<'_>,
        before: u64,
        arrival: Arrival,
        prepared: bool,
    ) {
        let &DataSegment { header, payload, ecn, start } = segment;
        let measured = match arrival {
            Arrival::InOrder { .. } => true,
            Arrival::OutOfOrder => self.send.flight.profile.measures_held,
            Arrival::Duplicate => false,
        };
        if measured {
            let ends = header.flags.has(Flags::PSH) || header.flags.has(Flags::FIN);
            let (len, full) = (payload.len(), self.acks.rcv_mss());
            self.acks.measure(len, header.options.sack_len(), ends);
            // tcp_measure_rcv_mss reads a segment's memory size only if the segment is larger than the estimated MSS.
            // A shorter segment may reduce the estimated MSS, but its memory size is ignored.
            if len > full {
                self.recv.measure(len);
            }
        }
        let received = self.recv.next() - before;
        // FreeBSD sizes its receive buffer only from data that arrives while no earlier data is missing.
        if let (Arrival::InOrder { closed_gap: false, gaps_left: false }, Some(stamps)) =
            (arrival, header.options.timestamps)
        {
            self.recv.count_for_step(stamps.echo, payload.len());
        } else {
            self.recv.forget_step();
        }
        self.counters_mut().bytes_received += Bytes::new(received);
        let sizes = self.segment_sizes();
        let data = ArrivedData {
            arrival,
            end: (start + i64::from(payload.len())).max(0) as u64,
            len: payload.len(),
            advance: received,
            push: header.flags.has(Flags::PSH),
            window_opened: self.recv.grow(now, arrival, payload.len(), sizes),
            ecn,
        };
        if !prepared {
            self.acks.note_room(self.recv.answer_window(sizes, self.options.rcv_wscale));
            self.acks.on_data(now, &data, self.ack_context(), &mut self.send.flight.timers);
        }
        if self.acks.due().is_some() {
            self.recv.note_ack_due(sizes, self.options.rcv_wscale);
        }
    }

    /// Handles a change of the CE mark (DCTCP). Data that arrived before the change gets a separate ACK (RFC 8257
    /// section 3.2). The new data is acknowledged at once (Linux's dctcp_ece_ack_update).
    fn note_mark(&mut self, now: Time, marked: bool) {
        if marked != self.ecn.echo() {
            if self.acks.is_pending() {
                let (ack, echo) = (self.recv.ack(), self.ecn.echo());
                self.urgent_mut().old_ack = Some(OldAck { ack, echo, why: AckReason::Ecn });
                self.acks.on_ack_sent(now, &mut self.send.flight.timers);
            }
            self.ecn.set_echo(marked);
            self.acks.ack_now(AckReason::Ecn);
        }
    }

    /// Processes the peer's FIN once all data before it has arrived.
    fn on_fin(&mut self, now: Time) {
        // Prefer a delayed ACK: this end may soon send data or a FIN, and that segment carries the acknowledgement.
        if !self.peer_closed && matches!(self.state, State::SynReceived | State::Established) {
            self.acks.on_fin(now, self.ack_context(), &mut self.send.flight.timers);
        } else {
            self.acks.ack_now(AckReason::Fin);
        }
        if self.peer_closed {
            // RFC 9293 section 3.10.7.4: a repeated FIN restarts TIME-WAIT.
            if self.state == State::TimeWait {
                self.send.flight.timers.set(TimerKind::TimeWait, now + TIME_WAIT);
            }
            return;
        }
        self.answer_before_close(now);
        self.peer_closed = true;
        self.events.push_back(ConnEvent::PeerClosed);
        match self.state {
            State::SynReceived | State::Established => self.set_state(State::CloseWait),
            State::FinWait1 => self.set_state(State::Closing),
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    /// Builds a due ACK before the application is notified of the FIN, and after the application's last read, because
    /// the application may then close the connection. An ACK without one of the reasons below waits. This end will
    /// probably send a segment in response to the FIN, and this segment carries the ACK.
    pub(super) fn answer_before_close(&mut self, now: Time) {
        let at_once = |why: &AckReason| matches!(why, AckReason::GapFilled | AckReason::Count | AckReason::Pushed);
        if let Some(why) = self.acks.due().filter(at_once) {
            self.prepare_ack(now, why);
            self.acks.on_ack_sent(now, &mut self.send.flight.timers);
        }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.set_state(State::TimeWait);
        self.send.flight.timers.set(TimerKind::TimeWait, now + TIME_WAIT);
        self.events.push_back(ConnEvent::Closed);
    }
}
