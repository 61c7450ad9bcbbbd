//! The opening of a connection: arriving SYNs, the negotiated options, and the SYN timeout (RFC 9293 sections 3.10.7.2
//! and 3.10.7.3).

use super::Connection;
use super::conn_event::{ConnError, ConnEvent};
use super::handshake::{SYN_ACK_RETRIES, SYN_RETRIES};
use super::urgent::OldAck;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::tcp_event::{AckReason, State, TimerKind};
use lopsided_core::{Bytes, Ecn, Time};

impl Connection {
    /// Answers a SYN in LISTEN (RFC 9293 section 3.10.7.2).
    pub(super) fn on_segment_in_listen(&mut self, now: Time, header: &TcpHeader, ecn: Ecn) {
        if header.flags.has(Flags::RST) {
            return;
        }
        // This end has sent nothing in LISTEN, so an acknowledgement is unacceptable and is answered with a reset.
        if header.flags.has(Flags::ACK) {
            self.urgent_mut().refused = Some(header.ack);
            return;
        }
        if !header.flags.has(Flags::SYN) {
            return;
        }
        self.negotiate(header, now);
        self.ecn.agree_with_syn(header, ecn);
        self.set_state(State::SynReceived);
        self.handshake.request_syn();
    }

    /// Processes the answer to the SYN in SYN-SENT (RFC 9293 section 3.10.7.3). Simultaneous open is not implemented.
    pub(super) fn on_segment_in_syn_sent(&mut self, now: Time, header: &TcpHeader, ecn: Ecn) {
        let has_ack = header.flags.has(Flags::ACK);
        let acks_syn = has_ack && header.ack == self.send.seq(0);
        if header.flags.has(Flags::RST) {
            // RFC 9293, section 3.10.7.3: a reset counts only if it acknowledges the SYN.
            if acks_syn {
                self.fail(ConnError::Refused);
            }
            return;
        }
        if has_ack && !acks_syn {
            self.urgent_mut().refused = Some(header.ack);
            return;
        }
        if !header.flags.has(Flags::SYN) || !acks_syn {
            return;
        }
        self.negotiate(header, now);
        self.ecn.agree_with_syn_ack(header, ecn);
        self.establish(now, header, 0);
        if self.send.has_unsent_data() {
            self.acks.ack_now(AckReason::Handshake);
        } else {
            // The stack sends this ACK before it notifies the application, so the ACK cannot carry data.
            let why = AckReason::Handshake;
            let ack = OldAck { ack: self.recv.ack(), echo: self.ecn.echo(), why };
            self.urgent_mut().old_ack = Some(ack);
        }
    }

    /// Sets the negotiated options from the peer's SYN. An option is in force only if both ends offer it.
    pub(super) fn negotiate(&mut self, syn: &TcpHeader, now: Time) {
        let options = &syn.options;
        let profile = &self.send.flight.profile;
        let sack = profile.sack && options.sack_permitted();
        self.options.timestamps = profile.timestamps && options.timestamps.is_some();
        self.options.scaling = profile.window_scaling && options.window_scale().is_some();
        // RFC 7323 section 2.3: a shift above 14 is treated as 14.
        self.options.snd_wscale = if self.options.scaling { options.window_scale().unwrap_or(0).min(14) } else { 0 };
        if !self.options.scaling {
            self.options.rcv_wscale = 0;
        }
        self.send.window.set_limit(65_535 << self.options.snd_wscale);
        self.ts_recent = options.timestamps.map_or(0, |timestamps| timestamps.value);
        // RFC 9293 section 3.7.1: assume 536 bytes if the SYN has no MSS option.
        let peer = u32::from(options.mss().unwrap_or(536)).max(64);
        let mss = peer.min(u32::from(self.options.mss_option)) - if self.options.timestamps { 12 } else { 0 };
        let mss = self.limit_segments(mss);
        // The initial window is a number of segments of the negotiated size.
        let window = self.send.flight.profile.initial_window(Bytes::new(u64::from(mss)));
        self.send.flight.controller.limit_window(now, window);
        self.send.agree(mss, sack);
        self.recv.open(syn.seq, sack);
        if self.state == State::Listen {
            self.recv.answer_with(self.own_mss());
        }
        self.acks.agree(sack, mss, self.recv.offered());
        self.last_ack_sent = self.recv.ack();
        // The window in a SYN is never scaled (RFC 7323 section 2.2).
        self.send.open(u64::from(syn.window), syn.seq, syn.ack);
    }

    /// Takes the first RTT sample from the SYN or the echoed timestamp. Without a sample, RFC 6298 rule 5.7 sets the
    /// RTO.
    pub(super) fn sample_handshake(&mut self, now: Time, header: &TcpHeader) {
        let once = self.handshake.sent_once_at().map(|sent_at| now - sent_at);
        let sample = once.or_else(|| {
            let echo = header.options.timestamps.filter(|_| self.options.timestamps)?.echo;
            self.send.flight.clock.rtt_of_echo(now, echo)
        });
        match sample {
            Some(rtt) => {
                self.send.flight.rtt.update_min(now, rtt);
                if self.send.flight.profile.handshake_sample {
                    self.send.flight.rtt.sample(now, rtt, 0, 0);
                }
                if let Some(remembered) = self.send.flight.profile.remembered_rtt {
                    self.send.flight.rtt.start_from(remembered);
                }
            }
            None => self.send.flight.rtt.fall_back(),
        }
        if self.handshake.was_lost_twice() && !self.answers_first_syn(header) {
            // RFC 5681 section 3.1: if the SYN was lost, the initial window is one segment. The first SYN timeout is
            // only 1 s (RFC 6298) and often spurious, so a single retransmission does not count as a loss.
            self.send.flight.controller.limit_window(now, Bytes::new(u64::from(self.mss())));
        }
    }

    /// True if the peer echoes the first SYN's timestamp: Eifel detection (RFC 3522; Linux's
    /// tcp_try_undo_spurious_syn).
    fn answers_first_syn(&self, header: &TcpHeader) -> bool {
        let echo = header.options.timestamps.filter(|_| self.options.timestamps).map(|timestamps| timestamps.echo);
        let first = self.handshake.first_sent_at().map(|at| self.send.flight.clock.value(at));
        self.send.flight.profile.undo.timestamps && echo.is_some() && echo == first
    }

    /// Completes the handshake.
    pub(super) fn establish(&mut self, now: Time, header: &TcpHeader, len: u32) {
        self.sample_handshake(now, header);
        self.send.flight.timers.stop(TimerKind::Handshake);
        self.handshake.give_up();
        let mut marked = 0;
        // In a passive open, the ACK that completes the handshake carries the peer's first scaled window.
        if !header.flags.has(Flags::SYN) {
            self.send.open(u64::from(header.window) << self.options.snd_wscale, header.seq, header.ack);
            marked = self.ecn.check_handshake_ack(header, len);
        }
        if self.state == State::SynSent && self.handshake.retries() > 0 {
            self.send.recovery.after_lost_syn(&mut self.send.flight);
        }
        self.recv.establish(now, self.segment_sizes(), self.options.rcv_wscale);
        self.acks.on_established(now);
        self.send.flight.controller.on_feedback_agreed(self.ecn.feedback());
        if self.ecn.is_accurate() {
            self.send.expect_accurate_feedback(marked);
            self.reserve_for_ecn_option(now);
        }
        self.send.start_controller(now);
        if self.state < State::Established {
            self.set_state(if self.send.is_closed() { State::FinWait1 } else { State::Established });
        }
        self.start_keepalive(now);
        self.events.push_back(ConnEvent::Established);
    }

    /// True while this end waits for the ACK of its SYN-ACK.
    pub(super) fn awaits_ack_of_syn(&self) -> bool {
        self.state == State::SynReceived
            || (self.state == State::FinWait1 && self.send.flight.timers.is_set(TimerKind::Handshake))
    }

    /// Handles a timeout of the SYN or SYN-ACK.
    pub(super) fn on_handshake_timeout(&mut self) {
        self.counters_mut().timeouts += 1;
        // tcp_syn_linear_timeouts applies only to the SYN, not to the SYN-ACK.
        let linear = self.send.flight.profile.syn_linear_timeouts;
        let (retries, linear) =
            if self.awaits_ack_of_syn() { (SYN_ACK_RETRIES, 0) } else { (SYN_RETRIES + linear, linear) };
        if self.handshake.retry(retries) {
            if self.handshake.retries() > linear {
                self.send.flight.rtt.back_off();
            }
        } else {
            self.fail(ConnError::TimedOut);
        }
    }
}
