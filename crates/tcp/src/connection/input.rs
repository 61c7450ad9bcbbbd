//! The arrival of segments (RFC 9293 section 3.10.7): the handshake, what fits the connection and what is answered for
//! not fitting (RFC 5961, RFC 7323), then acknowledgement, data and FIN.

use crate::ecn::{AceFeedback, Feedback};
use crate::receive::Arrival;
use crate::send::AckInfo;
use crate::{ConnEvent, Connection, State};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Bytes, Duration, Ecn, Payload, Time};

/// How long the end that closes first remembers the connection: Linux's and FreeBSD's 60 s.
const TIME_WAIT: Duration = Duration::from_secs(60);
/// Segments without data that do not fit are answered no oftener, lest two ends that disagree answer each other for
/// ever (Linux's tcp_invalid_ratelimit).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);
impl Connection {
    /// A segment of this connection arrived. Segments that do not fit the connection are answered or ignored as RFC
    /// 9293 and RFC 5961 say.
    pub fn handle_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        self.send.counters.segments_in += 1;
        match self.state {
            State::Closed => {}
            State::Listen => self.on_segment_in_listen(now, header, ecn),
            State::SynSent => self.on_segment_in_syn_sent(now, header, ecn),
            _ => self.on_segment(now, header, payload, ecn),
        }
    }

    fn on_segment_in_listen(&mut self, now: Time, header: &TcpHeader, ecn: Ecn) {
        if header.flags.has(Flags::RST) {
            return;
        }
        if header.flags.has(Flags::ACK) {
            self.pending_rst = Some(header.ack);
            return;
        }
        if !header.flags.has(Flags::SYN) {
            return;
        }
        self.negotiate(header, now);
        self.agree_with_syn(header, ecn);
        self.state = State::SynReceived;
        self.handshake.syn_due = true;
    }

    fn on_segment_in_syn_sent(&mut self, now: Time, header: &TcpHeader, ecn: Ecn) {
        let has_ack = header.flags.has(Flags::ACK);
        let acks_syn = has_ack && header.ack == self.send.first_data_seq;
        if header.flags.has(Flags::RST) {
            if acks_syn {
                self.finish(Some(ConnEvent::Reset));
            }
            return;
        }
        if has_ack && !acks_syn {
            self.pending_rst = Some(header.ack);
            return;
        }
        if !header.flags.has(Flags::SYN) || !acks_syn {
            return;
        }
        self.negotiate(header, now);
        self.agree_with_syn_ack(header, ecn);
        self.establish(now, header);
        if self.send.buffer.len() > 0 {
            self.acks.ack_now();
        } else {
            // The stack answers before the application hears of it and can write: this ACK carries no data.
            self.pending_old_ack = Some((self.recv.ack(), self.ecn_echo));
        }
    }

    /// Settles the options from the peer's SYN: what both offer holds.
    fn negotiate(&mut self, syn: &TcpHeader, now: Time) {
        let options = &syn.options;
        let profile = &self.send.profile;
        let sack = profile.sack && options.sack_permitted;
        self.timestamps = profile.timestamps && options.timestamps.is_some();
        self.scaling = profile.window_scaling && options.window_scale.is_some();
        self.snd_wscale = if self.scaling { options.window_scale.unwrap_or(0).min(14) } else { 0 };
        if !self.scaling {
            self.rcv_wscale = 0;
        }
        self.send.max_peer_window = 65_535 << self.snd_wscale;
        self.ts_recent = options.timestamps.map_or(0, |timestamps| timestamps.value);
        let peer = u32::from(options.mss.unwrap_or(536)).max(64);
        self.send.mss = peer.min(u32::from(self.mss_option)) - if self.timestamps { 12 } else { 0 };
        // The initial window is one of segments of the size that holds.
        let window = profile.initial_window(Bytes::new(u64::from(self.send.mss)));
        self.send.controller.on_idle(now, window);
        self.send.sack = sack;
        self.acks.compresses = sack;
        self.recv.open(syn.seq, sack);
        self.last_ack_sent = self.recv.ack();
        // The window in a SYN is never scaled.
        self.send.open(u64::from(syn.window), syn.seq, syn.ack);
    }

    /// A SYN that was sent once gives the first round-trip time, one sent again only by the timestamp it echoes; else
    /// the timeout starts from a value for the unknown (RFC 6298 rule 5.7).
    fn sample_handshake(&mut self, now: Time, header: &TcpHeader) {
        let once = self.handshake.sent_at.filter(|_| !self.handshake.resent).map(|sent_at| now - sent_at);
        let sample = once.or_else(|| {
            let echo = header.options.timestamps.filter(|_| self.timestamps)?.echo;
            self.send.undo.rtt_of_echo(now, echo)
        });
        match sample {
            Some(rtt) => {
                self.send.rtt.update_min(now, rtt);
                self.send.rtt.sample(rtt, 0, 0);
                if !self.timestamps {
                    // No other will come that times what this end receives.
                    self.recv.sample_rtt(rtt);
                }
            }
            None => self.send.rtt.fall_back(),
        }
        if self.handshake.retries > 1 {
            // RFC 5681 section 3.1; as the first timeout is short (RFC 6298), one loss is forgiven.
            self.send.controller.on_idle(now, Bytes::new(u64::from(self.send.mss)));
        }
    }

    fn establish(&mut self, now: Time, header: &TcpHeader) {
        self.sample_handshake(now, header);
        self.handshake.deadline = Time::MAX;
        self.handshake.syn_due = false;
        if !header.flags.has(Flags::SYN) {
            self.send.open(u64::from(header.window) << self.snd_wscale, header.seq, header.ack);
            self.check_handshake_ack(header);
        }
        self.recv.establish(now, self.send.mss);
        self.send.controller.on_feedback_agreed(self.ecn);
        self.send.start_controller(now);
        if self.state < State::Established {
            self.state = if self.send.closed { State::FinWait1 } else { State::Established };
        }
        self.events.push_back(ConnEvent::Established);
    }

    fn on_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        let start = self.recv.offset(header.seq);
        if !self.is_acceptable(now, header, start, payload) {
            return;
        }
        if header.flags.has(Flags::RST) {
            // Only the exact next octet resets; another in the window is challenged (RFC 5961 section 3.2).
            if start != self.recv.rcv_nxt() {
                self.challenge(now);
            } else if self.state == State::TimeWait {
                self.finish(None);
            } else {
                self.finish(Some(ConnEvent::Reset));
            }
            return;
        }
        if header.flags.has(Flags::SYN) {
            self.on_repeated_syn(now, header);
            return;
        }
        if !header.flags.has(Flags::ACK) {
            return;
        }
        self.note_timestamp(header, start);
        if self.awaits_ack_of_syn() {
            if header.ack != self.send.first_data_seq {
                self.pending_rst = Some(header.ack);
                return;
            }
            self.establish(now, header);
        }
        if self.ecn == Feedback::Accurate {
            self.count_codepoint(header, payload, ecn);
        }
        if !self.on_ack(now, header, payload) {
            return;
        }
        if !payload.is_empty() || header.flags.has(Flags::FIN) {
            self.on_data(now, header, start, payload, ecn);
        }
    }

    /// SYN-RECEIVED, which a close by the application does not end.
    fn awaits_ack_of_syn(&self) -> bool {
        self.state == State::SynReceived || (self.state == State::FinWait1 && self.handshake.deadline != Time::MAX)
    }

    /// RFC 9293 section 3.10.7.4 first check, and PAWS (RFC 7323 section 5.3).
    fn is_acceptable(&mut self, now: Time, header: &TcpHeader, start: i64, payload: &Payload) -> bool {
        if let Some(timestamps) = header.options.timestamps {
            if self.timestamps
                && !header.flags.has(Flags::RST)
                && (timestamps.value.wrapping_sub(self.ts_recent) as i32) < 0
            {
                // An old duplicate, or hostile: an ACK tells a live peer where we are.
                if payload.is_empty() {
                    self.challenge(now)
                } else {
                    self.on_old_data(start, payload)
                }
                return false;
            }
        }
        let next = self.recv.rcv_nxt();
        let end =
            start + i64::from(payload.len()) + i64::from(header.flags.has(Flags::FIN) || header.flags.has(Flags::SYN));
        let edge = next.max(self.recv.next() as i64 + self.recv.open_window() as i64);
        // Behind the window, or wholly before it: the peer may have missed our last ACK.
        let outside = start > edge || (end < next) || (end == next && start < next && !payload.is_empty());
        if outside {
            if !header.flags.has(Flags::RST) {
                if payload.is_empty() { self.challenge(now) } else { self.on_old_data(start, payload) }
            }
            // An acknowledgement below the window edge still counts.
            return start <= edge
                && header.flags.has(Flags::ACK)
                && payload.is_empty()
                && !header.flags.has(Flags::RST)
                && !header.flags.has(Flags::SYN);
        }
        true
    }

    fn on_old_data(&mut self, start: i64, payload: &Payload) {
        self.send.counters.duplicates_received += 1;
        self.recv.note_old(start, payload);
        self.acks.ack_now();
    }

    fn on_repeated_syn(&mut self, now: Time, header: &TcpHeader) {
        if self.awaits_ack_of_syn() && self.recv.offset(header.seq) == -1 {
            self.handshake.syn_due = true;
        } else {
            if let (true, Some(received)) = (header.flags.has(Flags::ACK), &mut self.accurate) {
                // The ACK of the SYN/ACK was lost: the next one says again how that arrived.
                received.answer_handshake(received.syn_arrived_as);
            }
            // RFC 5961 section 4.2.
            self.challenge(now);
        }
    }

    /// Answers a segment without data that does not fit with an ACK, so that a peer that is alive learns where we are.
    fn challenge(&mut self, now: Time) {
        if self.last_challenge.is_none_or(|last| now.saturating_since(last) >= CHALLENGE_INTERVAL) {
            self.last_challenge = Some(now);
            self.acks.ack_now();
        }
    }

    fn note_timestamp(&mut self, header: &TcpHeader, start: i64) {
        if let Some(timestamps) = header.options.timestamps {
            if self.timestamps
                && start <= self.recv.offset(self.last_ack_sent)
                && (timestamps.value.wrapping_sub(self.ts_recent) as i32) >= 0
            {
                self.ts_recent = timestamps.value;
            }
        }
    }

    /// True if the segment's data should be looked at.
    fn on_ack(&mut self, now: Time, header: &TcpHeader, payload: &Payload) -> bool {
        let expected = self.send.first_data_seq + self.send.una as u32;
        let ack = self.send.una as i64 + i64::from(header.ack.get().wrapping_sub(expected.get()) as i32);
        if ack > self.send.nxt as i64 {
            // It acknowledges what was never sent.
            self.challenge(now);
            return false;
        }
        if ack < self.send.una as i64 - self.send.max_snd_wnd.max(65_535) as i64 {
            // Older than any that may still be on its way (RFC 5961 section 5).
            self.challenge(now);
            return false;
        }
        let old = ack < self.send.una as i64;
        let timestamps = if self.timestamps { header.options.timestamps } else { None };
        let info = AckInfo {
            seq: header.seq,
            ack_number: header.ack,
            ack: (ack.max(self.send.una as i64)) as u64,
            window: u64::from(header.window) << self.snd_wscale,
            sack: header.options.sack.as_slice(),
            echo: timestamps.map(|timestamps| timestamps.echo),
            forward_ms: timestamps.map(|timestamps| timestamps.value.wrapping_sub(timestamps.echo)),
            ecn_echo: header.flags.has(Flags::ECE) && matches!(self.ecn, Feedback::Classic | Feedback::DctcpEcho),
            counts: (self.ecn == Feedback::Accurate).then(|| AceFeedback::of(header)),
            has_data: old || !payload.is_empty() || header.flags.has(Flags::FIN),
        };
        self.send.handle_ack(now, &info);
        if self.send.fin_acked {
            self.on_fin_acked(now);
        }
        true
    }

    fn on_fin_acked(&mut self, now: Time) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.finish(Some(ConnEvent::Closed)),
            _ => {}
        }
    }

    fn on_data(&mut self, now: Time, header: &TcpHeader, start: i64, payload: &Payload, ecn: Ecn) {
        self.send.counters.data_segments_in += 1;
        if self.ecn == Feedback::DctcpEcho {
            self.note_mark(ecn == Ecn::Ce);
        } else if self.ecn == Feedback::Classic {
            if header.flags.has(Flags::CWR) {
                self.ecn_echo = false;
                // The peer's window may be down to a segment or two: it should not wait.
                self.acks.ack_now();
            }
            if ecn == Ecn::Ce {
                self.ecn_echo = true;
                self.acks.ack_now();
            }
        }
        let full = payload.len() >= self.acks.segment();
        let timestamps = header.options.timestamps.filter(|timestamps| self.timestamps && timestamps.echo != 0 && full);
        if let Some(echo) = timestamps.map(|timestamps| timestamps.echo) {
            if let Some(rtt) = self.send.undo.rtt_of_echo(now, echo) {
                self.recv.sample_echo(echo, rtt);
            }
        }
        let before = self.recv.next();
        let arrival = self.recv.accept(start, payload, header.flags.has(Flags::FIN));
        match arrival {
            Arrival::Duplicate => self.send.counters.duplicates_received += 1,
            Arrival::OutOfOrder => self.send.counters.out_of_order_received += 1,
            Arrival::InOrder { .. } => {}
        }
        self.send.counters.bytes_received += Bytes::new(self.recv.next() - before);
        if self.recv.grow(arrival, payload.len(), self.send.mss) {
            self.acks.enter_quickack();
        }
        let window = self.recv.open_window();
        let rtt = self.recv.rtt().or(self.send.rtt.srtt());
        self.acks.on_data(now, payload.len(), arrival, rtt, self.send.rtt.rto(), window);
        self.acks.note_push(payload.len(), header.flags.has(Flags::PSH));
        if self.recv.fin_reached() {
            self.on_fin(now);
        }
    }

    fn count_codepoint(&mut self, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        let Some(received) = &mut self.accurate else { return };
        if received.take(ecn, payload.len()) {
            self.acks.ack_now();
        }
        if !self.feedback_seen {
            self.feedback_seen = true;
            if AceFeedback::of(header).is_zeroed() {
                self.data_codepoint = Ecn::NotEct;
            }
        }
    }

    /// The mark came or went: what is owed for the segments before is acknowledged apart, with the echo that was
    /// theirs.
    fn note_mark(&mut self, marked: bool) {
        if marked != self.ecn_echo {
            if self.acks.is_pending() {
                self.pending_old_ack = Some((self.recv.ack(), self.ecn_echo));
                self.acks.on_ack_sent();
            }
            self.ecn_echo = marked;
        }
    }

    fn on_fin(&mut self, now: Time) {
        self.acks.ack_now();
        if self.peer_closed {
            if self.state == State::TimeWait {
                self.time_wait = now + TIME_WAIT;
            }
            return;
        }
        self.peer_closed = true;
        self.events.push_back(ConnEvent::PeerClosed);
        match self.state {
            State::SynReceived | State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.time_wait = now + TIME_WAIT;
        self.events.push_back(ConnEvent::Closed);
    }
}
