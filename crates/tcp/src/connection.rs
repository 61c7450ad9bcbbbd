//! One end of a TCP connection (RFC 9293): the states, the arrival of segments, and the calls of its host.
//!
//! The host calls `handle_segment` and `handle_timeout` as things happen, `write`, `read` and `close` for its application, then takes
//! segments from `poll_segment` until there is none, and re-reads `poll_timeout`. What is sent is decided in [`crate::output`].

use crate::ack_policy::AckPolicy;
use crate::receiver::{Receiver, window_scale};
use crate::sender::{AckFacts, Sender};
use crate::{ConnConfig, Counters, EcnUse, Endpoint, Profile, RttStats, TcpInfo};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Bytes, Ecn, Payload, Seq, Span, Time};
use std::collections::VecDeque;

/// RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Listen => "listen",
            State::SynSent => "syn-sent",
            State::SynReceived => "syn-received",
            State::Established => "established",
            State::FinWait1 => "fin-wait-1",
            State::FinWait2 => "fin-wait-2",
            State::CloseWait => "close-wait",
            State::Closing => "closing",
            State::LastAck => "last-ack",
            State::TimeWait => "time-wait",
            State::Closed => "closed",
        }
    }
}

/// What the application should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnEvent {
    Established,
    /// The peer has sent all it will: everything before its FIN is readable.
    PeerClosed,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The peer refused or reset the connection.
    Reset,
    /// No answer to repeated retransmissions.
    TimedOut,
}

/// How long the end that closes first remembers the connection: Linux's and FreeBSD's 60 s.
const TIME_WAIT: Span = Span::from_secs(60);
/// Segments without data that do not fit are answered no oftener, lest two ends that disagree answer each other for ever (Linux's
/// tcp_invalid_ratelimit).
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);
/// Retransmissions of a SYN before the attempt is given up (Linux's tcp_syn_retries).
const SYN_RETRIES: u32 = 6;

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    pub(crate) local: Endpoint,
    pub(crate) remote: Endpoint,
    pub(crate) state: State,
    pub(crate) send: Sender,
    pub(crate) recv: Receiver,
    pub(crate) acks: AckPolicy,
    pub(crate) mss_option: u16,
    pub(crate) timestamps: bool,
    pub(crate) scaling: bool,
    pub(crate) snd_wscale: u8,
    pub(crate) rcv_wscale: u8,
    pub(crate) ecn: bool,
    /// An arriving packet was marked: echo it until the peer says that it slowed down (RFC 3168 section 6.1.3).
    pub(crate) ecn_echo: bool,
    /// The last data segment was not a retransmission.
    pub(crate) sent_new: bool,
    /// The receiver echoes each mark as it comes and goes (RFC 8257 section 3.2), and the acknowledgement that it owes from before a change.
    echoes_each_mark: bool,
    pub(crate) early_ack: Option<(Seq, bool)>,
    /// The peer's timestamp to echo, and the acknowledgement last sent, which decides when it may change (RFC 7323 section 4.3).
    pub(crate) ts_recent: u32,
    pub(crate) last_ack_sent: Seq,
    pub(crate) handshake: Handshake,
    pub(crate) time_wait: Time,
    pub(crate) reset_due: bool,
    /// A segment that acknowledged what this end never sent is refused with a reset from that number (RFC 9293 section 3.10.7).
    pub(crate) refusal: Option<Seq>,
    /// When a segment without data was last answered for not fitting (RFC 5961 section 7: such answers are throttled).
    last_challenge: Option<Time>,
    events: VecDeque<ConnEvent>,
    peer_closed: bool,
}

/// The exchange of SYNs.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub syn_due: bool,
    pub sent_at: Option<Time>,
    /// It was sent more than once, so that an answer may be to any of them (Karn's rule).
    pub resent: bool,
    pub retries: u32,
    pub deadline: Time,
}

impl Connection {
    /// An active open: the SYN is the first segment of `poll_segment`.
    pub fn connect(config: ConnConfig, now: Time) -> Connection {
        let mut connection = Connection::new(config, State::SynSent);
        connection.handshake.syn_due = true;
        connection.recv.open(Seq::default(), false, now);
        connection
    }

    /// A passive open for the peer in `config`: it answers that peer's SYN.
    pub fn listen(config: ConnConfig) -> Connection {
        Connection::new(config, State::Listen)
    }

    fn new(config: ConnConfig, state: State) -> Connection {
        let mss_option = config.mss_option();
        let profile = config.profile;
        let mss = u32::from(mss_option) - if profile.timestamps { 12 } else { 0 };
        let rcv_wscale = if profile.window_scaling { window_scale(profile.receive_buffer) } else { 0 };
        let echoes_each_mark = config.controller.ecn_use() == EcnUse::EachMark;
        let mut send = Sender::new(profile.clone(), config.controller, config.iss, mss);
        send.undo = crate::recovery::UndoState::with_clock(config.timestamp_offset);
        Connection {
            local: config.local,
            remote: config.remote,
            state,
            recv: Receiver::new(&profile, u32::from(mss_option)),
            acks: AckPolicy::new(profile.ack),
            mss_option,
            timestamps: profile.timestamps,
            scaling: profile.window_scaling,
            snd_wscale: 0,
            rcv_wscale,
            ecn: profile.ecn || echoes_each_mark,
            ecn_echo: false,
            sent_new: false,
            echoes_each_mark,
            early_ack: None,
            ts_recent: 0,
            last_ack_sent: Seq::default(),
            handshake: Handshake { syn_due: false, sent_at: None, resent: false, retries: 0, deadline: Time::MAX },
            time_wait: Time::MAX,
            reset_due: false,
            refusal: None,
            last_challenge: None,
            events: VecDeque::new(),
            peer_closed: false,
            send,
        }
    }

    // What it is.

    pub fn state(&self) -> State {
        self.state
    }

    pub fn local(&self) -> Endpoint {
        self.local
    }

    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// Nothing will ever come from it again.
    pub fn is_finished(&self) -> bool {
        self.state == State::Closed && !self.reset_due
    }

    pub fn counters(&self) -> Counters {
        Counters { lost_retransmits: self.send.board.lost_retransmits(), ..self.send.counters }
    }

    /// Round-trip times of all segments so far.
    pub fn rtt_stats(&self) -> &RttStats {
        &self.send.rtt_stats
    }

    /// As [`Connection::rtt_stats`], and begins anew: for a statistic per interval.
    pub fn take_rtt_stats(&mut self) -> RttStats {
        std::mem::take(&mut self.send.rtt_stats)
    }

    pub fn profile(&self) -> &Profile {
        &self.send.profile
    }

    /// The window that holds now.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.send.cwnd())
    }

    /// Octets in order that wait for the application.
    pub fn readable(&self) -> u64 {
        self.recv.unread()
    }

    /// Octets that the application may write now.
    pub fn writable(&self) -> u64 {
        if self.send.closed || self.state > State::CloseWait { 0 } else { self.send.room() }
    }

    pub fn info(&self) -> TcpInfo {
        let send = &self.send;
        TcpInfo {
            state: self.state,
            phase: send.phase,
            retransmits: send.consecutive_timeouts,
            backoff: send.rtt.backoff(),
            snd_wscale: self.snd_wscale,
            rcv_wscale: self.rcv_wscale,
            rto: send.rtt.rto(),
            ato: self.acks.ato(),
            snd_mss: Bytes::new(u64::from(send.mss)),
            rcv_mss: Bytes::new(u64::from(self.acks.segment())),
            unacked: send.board.segments(),
            sacked: send.board.sacked_segments(),
            lost: send.board.lost_segments(),
            retrans: send.board.retrans_segments(),
            in_flight: Bytes::new(send.in_flight()),
            srtt: send.rtt.srtt(),
            rttvar: send.rtt.rttvar(),
            min_rtt: send.rtt.min_rtt(),
            snd_cwnd: Bytes::new(send.cwnd()),
            snd_ssthresh: send.controller.ssthresh(),
            snd_wnd: Bytes::new(send.wnd),
            rcv_wnd: Bytes::new(self.recv.open_window()),
            rcv_space: Bytes::new(self.recv.space()),
            pacing_rate: send.controller.pacing_rate(),
            counters: self.counters(),
        }
    }

    // The application's calls.

    /// Queues as much of the payload as there is room for and returns how many octets that was.
    pub fn write(&mut self, payload: &Payload) -> u64 {
        let len = u64::from(payload.len()).min(self.writable());
        self.send.buffer.push(payload, len as u32);
        len
    }

    /// Takes up to `limit` octets that arrived in order.
    pub fn read(&mut self, now: Time, limit: u64) -> Payload {
        let payload = self.recv.read(limit);
        if !payload.is_empty() {
            self.recv.tune(now, self.send.mss);
            if self.recv.window_update_due(self.send.mss) {
                self.acks.demand();
            }
        }
        payload
    }

    /// No more will be written: a FIN follows what was.
    pub fn close(&mut self) {
        match self.state {
            // What was written before the handshake ends is still delivered.
            State::SynSent if self.send.buffer.len() > 0 => self.send.closed = true,
            State::Listen | State::SynSent => self.finish(None),
            State::SynReceived | State::Established => {
                self.send.closed = true;
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.send.closed = true;
                self.state = State::LastAck;
            }
            _ => {}
        }
    }

    /// Gives up at once and resets the peer.
    pub fn abort(&mut self) {
        // RFC 9293 section 3.10.5: an end that has no more to say or to hear goes without a word.
        self.reset_due = matches!(
            self.state,
            State::SynReceived | State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait
        );
        self.state = State::Closed;
        self.stop_timers();
    }

    pub fn poll_event(&mut self) -> Option<ConnEvent> {
        self.events.pop_front()
    }

    // Time.

    /// When `handle_timeout` is due; `None` for never.
    pub fn poll_timeout(&self) -> Option<Time> {
        let due = self
            .send
            .deadline
            .at
            .min(self.acks.poll_timeout())
            .min(self.handshake.deadline)
            .min(self.time_wait)
            .min(self.pacing_due());
        (due != Time::MAX).then_some(due)
    }

    /// Does what is due by `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Time) {
        self.acks.on_timeout(now, self.send.rtt.rto());
        if self.send.deadline.at <= now && !self.send.on_loss_timer(now) {
            self.finish(Some(ConnEvent::TimedOut));
        }
        if self.send.pacing.next <= now {
            self.send.pacing.holding = false;
        }
        if self.handshake.deadline <= now {
            self.on_handshake_timeout();
        }
        if self.time_wait <= now {
            self.finish(None);
        }
    }

    fn on_handshake_timeout(&mut self) {
        self.handshake.deadline = Time::MAX;
        self.handshake.retries += 1;
        if self.handshake.retries > SYN_RETRIES {
            self.finish(Some(ConnEvent::TimedOut));
            return;
        }
        self.send.rtt.back_off();
        self.handshake.syn_due = true;
    }

    // Segments.

    /// A segment of this connection arrived. Segments that do not fit the connection are answered or ignored as RFC 9293 and RFC 5961 say.
    pub fn handle_segment(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        self.send.counters.segments_in += 1;
        match self.state {
            State::Closed => {}
            State::Listen => self.on_segment_in_listen(now, header),
            State::SynSent => self.on_segment_in_syn_sent(now, header),
            _ => self.on_segment(now, header, payload, ecn),
        }
    }

    fn on_segment_in_listen(&mut self, now: Time, header: &TcpHeader) {
        if !header.flags.has(Flags::SYN) || header.flags.has(Flags::ACK) || header.flags.has(Flags::RST) {
            return;
        }
        self.negotiate(header, now);
        self.ecn &= header.flags.has(Flags::ECE) && header.flags.has(Flags::CWR);
        self.state = State::SynReceived;
        self.handshake.syn_due = true;
    }

    fn on_segment_in_syn_sent(&mut self, now: Time, header: &TcpHeader) {
        let has_ack = header.flags.has(Flags::ACK);
        let acks_syn = has_ack && header.ack == self.send.origin;
        if header.flags.has(Flags::RST) {
            if acks_syn {
                self.finish(Some(ConnEvent::Reset));
            }
            return;
        }
        if has_ack && !acks_syn {
            self.refusal = Some(header.ack);
            return;
        }
        if !header.flags.has(Flags::SYN) || !acks_syn {
            return;
        }
        self.negotiate(header, now);
        self.ecn &= header.flags.has(Flags::ECE) && !header.flags.has(Flags::CWR);
        self.establish(now, header);
        self.acks.demand();
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
        self.send.wnd_limit = 65_535 << self.snd_wscale;
        self.ts_recent = options.timestamps.map_or(0, |timestamps| timestamps.value);
        let peer = u32::from(options.mss.unwrap_or(536)).max(64);
        self.send.mss = peer.min(u32::from(self.mss_option)) - if self.timestamps { 12 } else { 0 };
        // The initial window is one of segments of the size that holds.
        let window = profile.initial_window(Bytes::new(u64::from(self.send.mss)));
        self.send.controller.on_idle(now, window);
        self.send.sack = sack;
        self.acks.compresses = sack;
        self.recv.open(syn.seq, sack, now);
        self.last_ack_sent = self.recv.ack();
        // The window in a SYN is never scaled.
        self.send.open(u64::from(syn.window), syn.seq, syn.ack);
    }

    /// A SYN that was sent once gives the first round-trip time, one sent again only by the timestamp it echoes; else the timeout starts
    /// from a value for the unknown (RFC 6298 rule 5.7).
    fn sample_handshake(&mut self, now: Time, header: &TcpHeader) {
        let once = self.handshake.sent_at.filter(|_| !self.handshake.resent).map(|sent_at| now - sent_at);
        let sample = once.or_else(|| {
            let echo = header.options.timestamps.filter(|_| self.timestamps)?.echo;
            let millis = self.send.undo.clock(now).wrapping_sub(echo);
            (millis < 1 << 24).then(|| Span::from_millis(u64::from(millis.max(1))))
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
        }
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
            if header.ack != self.send.origin {
                self.refusal = Some(header.ack);
                return;
            }
            self.establish(now, header);
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
        if let Some(timestamps) = header.options.timestamps
            && self.timestamps
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
        self.acks.demand();
    }

    fn on_repeated_syn(&mut self, now: Time, header: &TcpHeader) {
        if self.awaits_ack_of_syn() && self.recv.offset(header.seq) == -1 {
            self.handshake.syn_due = true;
        } else {
            // RFC 5961 section 4.2.
            self.challenge(now);
        }
    }

    /// Answers a segment without data that does not fit with an ACK, so that a peer that is alive learns where we are.
    fn challenge(&mut self, now: Time) {
        if self.last_challenge.is_none_or(|last| now.saturating_since(last) >= CHALLENGE_INTERVAL) {
            self.last_challenge = Some(now);
            self.acks.demand();
        }
    }

    fn note_timestamp(&mut self, header: &TcpHeader, start: i64) {
        if let Some(timestamps) = header.options.timestamps
            && self.timestamps
            && start <= self.recv.offset(self.last_ack_sent)
            && (timestamps.value.wrapping_sub(self.ts_recent) as i32) >= 0
        {
            self.ts_recent = timestamps.value;
        }
    }

    /// True if the segment's data should be looked at.
    fn on_ack(&mut self, now: Time, header: &TcpHeader, payload: &Payload) -> bool {
        let expected = self.send.origin + self.send.una as u32;
        let ack = self.send.una as i64 + i64::from(header.ack.get().wrapping_sub(expected.get()) as i32);
        if ack > self.send.nxt as i64 {
            // It acknowledges what was never sent.
            self.challenge(now);
            return false;
        }
        if ack < self.send.una as i64 - self.send.max_wnd.max(65_535) as i64 {
            // Older than any that may still be on its way (RFC 5961 section 5).
            self.challenge(now);
            return false;
        }
        let old = ack < self.send.una as i64;
        let timestamps = if self.timestamps { header.options.timestamps } else { None };
        let facts = AckFacts {
            seq: header.seq,
            ack_number: header.ack,
            ack: (ack.max(self.send.una as i64)) as u64,
            window: u64::from(header.window) << self.snd_wscale,
            sack: header.options.sack.as_slice(),
            echo: timestamps.map(|timestamps| timestamps.echo),
            forward_ms: timestamps.map(|timestamps| timestamps.value.wrapping_sub(timestamps.echo)),
            ecn_echo: self.ecn && header.flags.has(Flags::ECE),
            has_data: old || !payload.is_empty() || header.flags.has(Flags::FIN),
        };
        self.send.handle_ack(now, &facts);
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
        if self.ecn && self.echoes_each_mark {
            self.note_mark(ecn == Ecn::Experienced);
        } else if self.ecn {
            if header.flags.has(Flags::CWR) {
                self.ecn_echo = false;
                // The peer's window may be down to a segment or two: it should not wait.
                self.acks.demand();
            }
            if ecn == Ecn::Experienced {
                self.ecn_echo = true;
                self.acks.demand();
            }
        }
        if let Some(timestamps) = header.options.timestamps
            && self.timestamps
            && timestamps.echo != 0
            && payload.len() >= self.acks.segment()
        {
            let millis = self.send.undo.clock(now).wrapping_sub(timestamps.echo);
            if millis < 1 << 24 {
                self.recv.sample_rtt(Span::from_millis(u64::from(millis.max(1))));
            }
        }
        let before = self.recv.next();
        let arrival = self.recv.accept(start, payload, header.flags.has(Flags::FIN));
        match arrival {
            crate::ack_policy::Arrival::Duplicate => self.send.counters.duplicates_received += 1,
            crate::ack_policy::Arrival::OutOfOrder => self.send.counters.out_of_order_received += 1,
            crate::ack_policy::Arrival::InOrder { .. } => {}
        }
        self.send.counters.bytes_received += Bytes::new(self.recv.next() - before);
        let window = self.recv.open_window();
        let rtt = self.recv.rtt().or(self.send.rtt.srtt());
        self.acks.on_data(now, payload.len(), arrival, rtt, self.send.rtt.rto(), window);
        if self.recv.fin_reached() {
            self.on_fin(now);
        }
    }

    /// The mark came or went: what is owed for the segments before is acknowledged apart, with the echo that was theirs.
    fn note_mark(&mut self, marked: bool) {
        if marked != self.ecn_echo {
            if self.acks.is_pending() {
                self.early_ack = Some((self.recv.ack(), self.ecn_echo));
                self.acks.on_ack_sent();
            }
            self.ecn_echo = marked;
        }
    }

    fn on_fin(&mut self, now: Time) {
        self.acks.demand();
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

    fn finish(&mut self, event: Option<ConnEvent>) {
        self.state = State::Closed;
        self.stop_timers();
        self.events.extend(event);
    }

    fn stop_timers(&mut self) {
        self.send.deadline = crate::timer::Deadline::UNSET;
        self.acks.on_ack_sent();
        self.handshake.deadline = Time::MAX;
        self.handshake.syn_due = false;
        self.time_wait = Time::MAX;
    }
}
