//! What a connection sends next: SYNs, what was lost, new data within the windows, probes and acknowledgements.

use crate::ecn::Feedback;
use crate::recovery::CaState;
use crate::timers::LossTimer;
use crate::{Connection, IdleRestart, Signal, State};
use lopsided_core::packet::{Flags, MAX_TCP_OPTIONS, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Seq, Time};

/// What the other options leave of a SYN's header.
const SYN_OPTION_ROOM: u32 = 20;

/// A piece of the stream to send.
struct Piece {
    start: u64,
    len: u32,
    fin: bool,
}

impl Connection {
    /// The next segment to send, or `None`. Call until it gives none.
    #[inline]
    pub fn poll_segment(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        self.poll_segment_for(now, true)
    }

    /// The next segment to send to an interface that has `room` or not. Where there is none, data is not sent: see
    /// [`Connection::refuse_data`]. What else is given then is lost.
    pub fn poll_segment_for(&mut self, now: Time, room: bool) -> Option<(TcpHeader, Payload)> {
        if self.handshake.syn_due {
            return Some(self.send_syn(now));
        }
        if self.reset_due {
            self.reset_due = false;
            return Some(self.send_flags(now, Flags::RST.with(Flags::ACK), 0));
        }
        if let Some(seq) = self.pending_rst.take() {
            return Some(self.refuse(seq));
        }
        if let Some((ack, echo)) = self.pending_old_ack.take() {
            return Some(self.send_early_ack(now, ack, echo));
        }
        if self.may_send_data() {
            if !room {
                self.refuse_data(now);
            } else if let Some(segment) = self.poll_data(now) {
                return Some(segment);
            }
        }
        if self.acks.is_due() && self.state >= State::Established && self.state != State::Closed {
            self.send.counters.pure_acks_out += 1;
            return Some(self.send_flags(now, Flags::ACK, 0));
        }
        None
    }

    /// The ECN bits for the IP header of the segment that `poll_segment` gave last: new data is ECN-capable once
    /// negotiated, ACKs and data sent again are not (RFC 3168 sections 6.1.4 and 6.1.5).
    pub fn ecn_codepoint(&self, payload: &Payload) -> Ecn {
        if self.sent_new && !payload.is_empty() { self.data_codepoint } else { Ecn::NotEct }
    }

    /// Pacing holds a segment until then.
    pub(crate) fn pacing_due(&self) -> Time {
        if self.send.pacing.holding { self.send.pacing.next } else { Time::MAX }
    }

    fn may_send_data(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck)
            && self.handshake.deadline == Time::MAX
    }

    /// The host's own interface has no room for what is due. As in Linux nothing counts as sent, so nothing needs to be
    /// sent again; the window comes down once for what is out now, as after a mark, and the next acknowledgement tries
    /// again, or the persist timer where none can come.
    fn refuse_data(&mut self, now: Time) {
        if self.next_to_retransmit().is_none() && self.next_new(now).is_none() {
            return;
        }
        let send = &mut self.send;
        if send.ca_state < CaState::Cwr {
            send.counters.local_reductions += 1;
            send.enter_cwr(now, Signal::Loss);
        }
        if send.outstanding() == 0 {
            send.arm_persist(now);
        }
    }

    fn poll_data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if self.send.scoreboard.is_empty() && self.send.nxt == self.send.stream_end() && !self.send.window_probe_due {
            return None;
        }
        if self.send.tlp_due {
            self.send.tlp_due = false;
            return self.send_tail_probe(now);
        }
        self.send.pacing.holding = self.send.pacing.next > now;
        if self.send.pacing.holding {
            self.send.note_cwnd_use(self.send.in_flight() >= self.send.cwnd());
            return None;
        }
        if let Some(number) = self.next_to_retransmit() {
            return Some(self.retransmit(now, number));
        }
        if self.send.window_probe_due {
            self.send.window_probe_due = false;
            return Some(self.send_window_probe(now));
        }
        self.restart_after_idle(now);
        let piece = self.next_new(now)?;
        Some(self.send_new(now, piece))
    }

    /// Lost data goes before new data, within the window.
    fn next_to_retransmit(&mut self) -> Option<u64> {
        let send = &mut self.send;
        if send.ca_state < CaState::Recovery || send.defer_retransmits || send.scoreboard.lost_segments() == 0 {
            return None;
        }
        let in_flight = send.in_flight();
        let number = send.scoreboard.next_to_retransmit()?;
        let (start, len) = (send.scoreboard.get(number).start, send.scoreboard.get(number).len());
        if start >= send.una + send.snd_wnd && number != send.scoreboard.first_number() {
            // The peer took back the window that it went into.
            return None;
        }
        (in_flight + len <= send.cwnd() || in_flight == 0 || send.owes_fast_retransmit()).then_some(number)
    }

    /// The next unsent piece, if both windows and the rule against small segments let it go.
    fn next_new(&mut self, now: Time) -> Option<Piece> {
        let full = self.full_segment();
        let send = &mut self.send;
        let end = send.buffer.end();
        let left = end.saturating_sub(send.nxt);
        let fin_left = send.closed && send.nxt <= end;
        if left == 0 && !fin_left {
            // With no room for another segment it is the window's end too.
            let full_window = send.in_flight() + full > send.cwnd();
            send.note_window_use(full_window);
            return None;
        }
        let window_left = (send.una + send.snd_wnd).saturating_sub(send.nxt);
        let len = left.min(full).min(window_left);
        let fin = fin_left && len == left;
        // A piece that fills neither a segment nor half the peer's buffer waits for more window (silly-window
        // avoidance, RFC 9293 section 3.8.6.2.1; a timer overrides it), and the end of what was written for what is out
        // (Nagle, section 3.7.4).
        let short = len < full && !fin && (len < send.max_snd_wnd / 2 || len == 0);
        if short && (len < left || send.holds_short_back()) {
            if send.outstanding() == 0 {
                send.arm_persist(now);
            }
            send.note_window_use(false);
            return None;
        }
        let in_flight = send.in_flight();
        if in_flight + len > send.cwnd() && in_flight > 0 {
            send.note_window_use(true);
            return None;
        }
        Some(Piece { start: send.nxt, len: len as u32, fin })
    }

    fn send_new(&mut self, now: Time, piece: Piece) -> (TcpHeader, Payload) {
        let full = self.full_segment() as u32;
        self.sent_new = true;
        let send = &mut self.send;
        let was_idle = send.scoreboard.is_empty();
        if was_idle {
            send.on_restart(now);
        }
        let end = piece.start + u64::from(piece.len) + u64::from(piece.fin);
        if piece.len < full {
            send.snd_sml = end;
        }
        let stamp = send.stamp(now, end - piece.start);
        send.scoreboard.push(piece.start, end, now, stamp);
        send.nxt = end;
        send.last_sent = Some(now);
        send.count_sent_in_reduction(u64::from(piece.len));
        send.arm_after_send(now, was_idle);
        send.pace(now, u64::from(piece.len));
        send.counters.bytes_sent += Bytes::new(u64::from(piece.len));
        // The first new data after a reduction, of whatever cause, says so (RFC 3168 section 6.1.2).
        let reduced = std::mem::take(&mut send.cwr_due) && matches!(self.ecn, Feedback::Classic | Feedback::DctcpEcho);
        self.data_segment(now, piece, if reduced { Flags::ACK.with(Flags::CWR) } else { Flags::ACK })
    }

    fn retransmit(&mut self, now: Time, number: u64) -> (TcpHeader, Payload) {
        let send = &mut self.send;
        if send.in_flight() == 0 {
            send.on_restart(now);
        }
        let stamp = send.stamp(now, send.scoreboard.get(number).len());
        send.scoreboard.retransmit(number, now, stamp);
        let sent = *send.scoreboard.get(number);
        send.undo.on_retransmit(now);
        send.count_sent_in_reduction(sent.len());
        send.pace(now, sent.len());
        send.counters.retransmits += 1;
        if number == send.scoreboard.first_number() && !send.deadline.is(LossTimer::Reorder) {
            send.arm(now, LossTimer::Rto, send.rtt.rto());
        }
        let fin = send.fin_offset().is_some_and(|fin| sent.end > fin);
        let len = (sent.len() - u64::from(fin)) as u32;
        send.counters.bytes_sent += Bytes::new(u64::from(len));
        self.sent_new = false;
        self.data_segment(now, Piece { start: sent.start, len, fin }, Flags::ACK)
    }

    /// RFC 8985 section 7.3: new data if there is any that fits, else the last segment again.
    fn send_tail_probe(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        let left = self.send.buffer.end().saturating_sub(self.send.nxt);
        let window_left = (self.send.una + self.send.snd_wnd).saturating_sub(self.send.nxt);
        let len = left.min(self.full_segment());
        if len > 0 && len <= window_left {
            let fin = self.send.closed && len == left;
            let segment = self.send_new(now, Piece { start: self.send.nxt, len: len as u32, fin });
            self.send.tlp = Some((self.send.nxt, false));
            // The probe has a whole timeout for its answer.
            self.send.arm(now, LossTimer::Rto, self.send.rtt.rto());
            return Some(segment);
        }
        let last = self.send.scoreboard.last_number()?;
        if self.send.scoreboard.get(last).is_sacked() {
            return None;
        }
        let segment = self.retransmit(now, last);
        self.send.tlp = Some((self.send.nxt, true));
        self.send.arm(now, LossTimer::Rto, self.send.rtt.rto());
        Some(segment)
    }

    /// What a window too small for a segment takes; else a segment that lies just below the window: the peer must
    /// answer with its window.
    fn send_window_probe(&mut self, now: Time) -> (TcpHeader, Payload) {
        let left = self.send.buffer.end().saturating_sub(self.send.nxt);
        let len = left.min(self.full_segment()).min(self.send.snd_wnd);
        if len > 0 && self.send.outstanding() == 0 {
            self.send.rtt.forget_backoff();
            let fin = self.send.closed && len == left;
            return self.send_new(now, Piece { start: self.send.nxt, len: len as u32, fin });
        }
        self.send.arm_persist(now);
        let mut segment = self.send_flags(now, Flags::ACK, 0);
        segment.0.seq = self.send.first_data_seq + self.send.una as u32 - 1;
        segment
    }

    /// After an idle time the old window says little of the path (RFC 5681 section 4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let send = &mut self.send;
        if !send.scoreboard.is_empty() || send.profile.idle_restart == IdleRestart::Never {
            return;
        }
        let (rto, idle) = (send.rtt.rto(), send.last_sent.map_or(Duration::ZERO, |last| now.saturating_since(last)));
        if idle > rto {
            let initial = send.profile.initial_window(Bytes::new(u64::from(send.mss)));
            let window = match send.profile.idle_restart {
                IdleRestart::Halving => {
                    let timeouts = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
                    initial.max(Bytes::new(send.controller.cwnd().get() >> timeouts.min(63)))
                }
                _ => initial,
            };
            send.controller.on_idle(now, window);
        }
    }

    fn data_segment(&mut self, now: Time, piece: Piece, mut flags: Flags) -> (TcpHeader, Payload) {
        if piece.start + u64::from(piece.len) == self.send.buffer.end() {
            flags = flags.with(Flags::PSH);
        }
        if piece.fin {
            flags = flags.with(Flags::FIN);
        }
        self.send.counters.data_segments_out += 1;
        let payload = self.send.buffer.slice(piece.start, piece.len);
        let (mut header, _) = self.send_flags(now, flags, piece.len);
        header.seq = self.send.first_data_seq + piece.start as u32;
        (header, payload)
    }

    /// How many SACK blocks fit a segment with `len` octets of data.
    fn sack_room(&self, len: u32) -> usize {
        let most = if self.timestamps { 3 } else { 4 };
        most.min((self.send.mss.saturating_sub(len + 4) / 8) as usize)
    }

    /// The octets of a full segment: the options of the moment count (RFC 9293 section 3.7.1).
    #[inline]
    fn full_segment(&self) -> u64 {
        u64::from(self.send.mss - self.recv.sack_option_len(if self.timestamps { 3 } else { 4 }))
    }

    /// The header of a segment with `len` octets of data, which acknowledges all there is.
    fn send_flags(&mut self, now: Time, flags: Flags, len: u32) -> (TcpHeader, Payload) {
        let window = self.recv.scaled_window(self.send.mss, self.rcv_wscale);
        let mut options = TcpOptions { timestamps: self.timestamp(now), ..TcpOptions::default() };
        let room = self.sack_room(len);
        if room == 0 && self.recv.sack_option_len(4) > 0 {
            // A full segment sent again has no room for what SACK reports: that stays due.
        } else {
            options.sack = self.recv.sack_blocks(room);
            self.acks.on_ack_sent();
        }
        self.send.counters.segments_out += 1;
        let flags = if self.ecn_echo { flags.with(Flags::ECE) } else { flags };
        let flags = match &mut self.accurate {
            None => flags,
            Some(received) => {
                let room =
                    (MAX_TCP_OPTIONS - options.len()).min(self.send.mss.saturating_sub(len + options.sack_len()));
                options.accurate_ecn = received.option(room);
                flags.with(received.flags())
            }
        };
        let header = TcpHeader {
            src_port: self.local.port,
            dst_port: self.remote.port,
            seq: self.send.first_data_seq + self.send.nxt as u32,
            ack: self.recv.ack(),
            flags,
            window,
            options,
        };
        self.last_ack_sent = header.ack;
        (header, Payload::EMPTY)
    }

    /// RFC 9293 section 3.10.7.3: `<SEQ=SEG.ACK><CTL=RST>`.
    fn refuse(&mut self, seq: Seq) -> (TcpHeader, Payload) {
        self.send.counters.segments_out += 1;
        let header = TcpHeader {
            src_port: self.local.port,
            dst_port: self.remote.port,
            seq,
            ack: Seq::default(),
            flags: Flags::RST,
            window: 0,
            options: TcpOptions::default(),
        };
        (header, Payload::EMPTY)
    }

    /// What was owed for the segments before a mark came or went (RFC 8257 section 3.2).
    fn send_early_ack(&mut self, now: Time, ack: Seq, echo: bool) -> (TcpHeader, Payload) {
        self.send.counters.pure_acks_out += 1;
        // What came since is not covered: its own acknowledgement stays due.
        let (later, acks) = (std::mem::replace(&mut self.ecn_echo, echo), self.acks.clone());
        let mut segment = self.send_flags(now, Flags::ACK, 0);
        (self.ecn_echo, self.acks) = (later, acks);
        segment.0.ack = ack;
        self.last_ack_sent = ack;
        segment
    }

    fn send_syn(&mut self, now: Time) -> (TcpHeader, Payload) {
        self.handshake.syn_due = false;
        self.handshake.resent = self.handshake.sent_at.is_some();
        self.handshake.sent_at.get_or_insert(now);
        self.handshake.deadline = self.send.profile.grain.deadline(now, self.send.rtt.rto());
        self.send.counters.segments_out += 1;
        let answer = self.state != State::SynSent;
        let mut flags = Flags::SYN;
        if answer {
            flags = flags.with(Flags::ACK);
        }
        flags = flags.with(self.syn_ecn_flags());
        let sack_permitted = if answer { self.send.sack } else { self.send.profile.sack };
        let options = TcpOptions {
            mss: Some(self.mss_option),
            window_scale: self.scaling.then_some(self.rcv_wscale),
            sack_permitted,
            timestamps: self.timestamp(now),
            // A SYN itself never carries the option (RFC 9768 section 3.2.3); an answer that is sent again does
            // without.
            accurate_ecn: match &mut self.accurate {
                Some(received) if !self.handshake.resent => received.option(SYN_OPTION_ROOM),
                _ => None,
            },
            ..TcpOptions::default()
        };
        let header = TcpHeader {
            src_port: self.local.port,
            dst_port: self.remote.port,
            seq: self.send.first_data_seq - 1,
            ack: if answer { self.recv.ack() } else { Seq::default() },
            flags,
            // Never scaled in a SYN.
            window: self.recv.window(self.send.mss).min(65_535) as u16,
            options,
        };
        self.last_ack_sent = header.ack;
        (header, Payload::EMPTY)
    }

    fn timestamp(&self, now: Time) -> Option<Timestamps> {
        self.timestamps.then(|| Timestamps { value: self.send.undo.clock(now), echo: self.ts_recent })
    }
}
