//! One end of a TCP connection (RFC 9293): the states and the calls of its host.
//!
//! The host calls `handle_segment` and `handle_timeout` as things happen, `write`, `read` and `close` for its
//! application, then takes segments from `poll_segment` until there is none, and re-reads `poll_timeout`. What arriving
//! segments do is in `input`, what is sent is decided in `output`.

mod input;
mod output;
mod state;

pub use state::{ConnEvent, State};

use crate::ecn::{AccEcnReceiver, Feedback, Offer};
use crate::receive::{AckPolicy, Receiver, window_scale};
use crate::send::Sender;
use crate::{ConnConfig, Counters, Endpoint, Profile, RttStats, TcpInfo};
use lopsided_core::{Bytes, Ecn, Payload, Seq, Time};
use std::collections::VecDeque;

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
    /// What this end is ready for, what was agreed, and the codepoint of new data.
    pub(crate) ecn_offer: Offer,
    pub(crate) ecn: Feedback,
    pub(crate) data_codepoint: Ecn,
    /// An arriving packet was marked: echo it until the peer says that it slowed down (RFC 3168 section 6.1.3).
    pub(crate) ecn_echo: bool,
    /// The last data segment was not a retransmission.
    pub(crate) sent_new: bool,
    /// The acknowledgement that is owed from before a mark came or went (RFC 8257 section 3.2).
    pub(crate) pending_old_ack: Option<(Seq, bool)>,
    /// The counts of accurate feedback; and whether the peer's first was checked.
    pub(crate) accurate: Option<Box<AccEcnReceiver>>,
    pub(crate) feedback_seen: bool,
    /// The peer's timestamp to echo, and the acknowledgement last sent, which decides when it may change (RFC 7323
    /// section 4.3).
    pub(crate) ts_recent: u32,
    pub(crate) last_ack_sent: Seq,
    pub(crate) handshake: Handshake,
    pub(crate) time_wait: Time,
    pub(crate) reset_due: bool,
    /// A segment that acknowledged what this end never sent is refused with a reset from that number (RFC 9293 section
    /// 3.10.7).
    pub(crate) pending_rst: Option<Seq>,
    /// When a segment without data was last answered for not fitting (RFC 5961 section 7: such answers are throttled).
    pub(crate) last_challenge: Option<Time>,
    pub(crate) events: VecDeque<ConnEvent>,
    pub(crate) peer_closed: bool,
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
    pub fn connect(config: ConnConfig) -> Connection {
        let mut connection = Connection::new(config, State::SynSent);
        connection.handshake.syn_due = true;
        connection.recv.open(Seq::default(), false);
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
        let offer = Offer::new(&profile, &*config.controller);
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
            ecn_offer: offer,
            ecn: Feedback::None,
            data_codepoint: Ecn::NotEct,
            ecn_echo: false,
            sent_new: false,
            pending_old_ack: None,
            accurate: None,
            feedback_seen: false,
            ts_recent: 0,
            last_ack_sent: Seq::default(),
            handshake: Handshake { syn_due: false, sent_at: None, resent: false, retries: 0, deadline: Time::MAX },
            time_wait: Time::MAX,
            reset_due: false,
            pending_rst: None,
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
        Counters { lost_retransmits: self.send.scoreboard.lost_retransmits(), ..self.send.counters }
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
            ca_state: send.ca_state,
            retransmits: send.consecutive_timeouts,
            backoff: send.rtt.backoff(),
            snd_wscale: self.snd_wscale,
            rcv_wscale: self.rcv_wscale,
            rto: send.rtt.rto(),
            ato: self.acks.ato(),
            snd_mss: Bytes::new(u64::from(send.mss)),
            rcv_mss: Bytes::new(u64::from(self.acks.segment())),
            unacked: send.scoreboard.segments(),
            sacked: send.scoreboard.sacked_segments(),
            lost: send.scoreboard.lost_segments(),
            retrans: send.scoreboard.retrans_out(),
            in_flight: Bytes::new(send.in_flight()),
            srtt: send.rtt.srtt(),
            rttvar: send.rtt.rttvar(),
            min_rtt: send.rtt.min_rtt(),
            snd_cwnd: Bytes::new(send.cwnd()),
            snd_ssthresh: send.controller.ssthresh(),
            snd_wnd: Bytes::new(send.snd_wnd),
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
        self.send.write(payload, len as u32);
        len
    }

    /// Takes up to `limit` octets that arrived in order.
    pub fn read(&mut self, now: Time, limit: u64) -> Payload {
        let payload = self.recv.read(limit);
        if !payload.is_empty() {
            self.recv.tune(now, self.send.mss);
            if self.recv.window_update_due(self.send.mss) {
                self.acks.ack_now();
            }
            if self.recv.unread() == 0 {
                self.acks.on_all_read();
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

    /// Does what is due by `now`; nothing if nothing is. False if it was at most that a segment has been paced for long
    /// enough: there is something to send, but nothing for an application to see.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        if self.send.pacing.next <= now {
            self.send.pacing.holding = false;
        }
        if self.poll_timeout().is_none_or(|due| now < due) {
            return false;
        }
        self.acks.on_timeout(now, self.send.rtt.rto());
        if self.send.deadline.at <= now && !self.send.on_loss_timer(now) {
            self.finish(Some(ConnEvent::TimedOut));
        }
        if self.handshake.deadline <= now {
            self.on_handshake_timeout();
        }
        if self.time_wait <= now {
            self.finish(None);
        }
        true
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

    pub(crate) fn finish(&mut self, event: Option<ConnEvent>) {
        self.state = State::Closed;
        self.stop_timers();
        self.events.extend(event);
    }

    fn stop_timers(&mut self) {
        self.send.deadline = crate::timers::Deadline::UNSET;
        self.acks.on_ack_sent();
        self.handshake.deadline = Time::MAX;
        self.handshake.syn_due = false;
        self.time_wait = Time::MAX;
    }
}
