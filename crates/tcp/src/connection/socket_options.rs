//! What an application may change of its socket while the connection runs: the options of socket(7) and tcp(7).

use super::Connection;
use crate::cc::Controller;
use crate::receive::ack_policy::AckPolicy;
use lopsided_core::tcp_event::State;
use lopsided_core::{BitRate, Bytes, Duration, Time};

impl Connection {
    /// Whether short segments wait for nothing (TCP_NODELAY), rather than by the profile's rule. Once on, what waits
    /// goes now, even if it is corked.
    pub fn set_nodelay(&mut self, on: bool) {
        self.send.hold.set_nodelay(on);
    }

    /// Whether short segments wait until they are full, or for an RTO where nothing is out (TCP_CORK).
    pub fn set_cork(&mut self, on: bool) {
        self.send.hold.set_cork(on);
    }

    /// The send buffer is of this size from now on, and no longer follows the window (SO_SNDBUF). Octets beyond it that
    /// were written stay.
    pub fn set_send_buffer(&mut self, size: Bytes) {
        self.send.set_buffer(size);
        self.tell_readiness();
    }

    /// The receive buffer is of this size from now on, and no longer follows what is read (SO_RCVBUF). The window scale
    /// stays that of the handshake, and what was offered stays offered.
    pub fn set_receive_buffer(&mut self, size: Bytes) {
        self.recv.set_buffer(size);
    }

    /// Data leaves no faster than this (SO_MAX_PACING_RATE). A congestion control that does not pace by itself is paced
    /// as Linux does it: at twice its window a round trip in the first half of slow start, at 1.2 windows later.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.send.set_max_pacing_rate(rate);
    }

    /// Another congestion control takes over, with the window and the threshold that hold now (TCP_CONGESTION). What
    /// the handshake agreed on for ECN stays.
    pub fn set_controller(&mut self, now: Time, controller: Box<dyn Controller>) {
        if self.state < State::Established {
            self.send.flight.controller = controller;
            return;
        }
        let (cwnd, ssthresh) = (self.send.flight.controller.cwnd(), self.send.flight.controller.ssthresh());
        self.send.flight.controller = controller;
        self.send.flight.controller.on_feedback_agreed(self.ecn.feedback());
        self.send.start_controller(now);
        self.send.flight.controller.adopt(now, cwnd, ssthresh);
    }

    /// Another rule for when this end acknowledges.
    pub fn set_ack_policy(&mut self, policy: Box<dyn AckPolicy>) {
        self.acks.set_policy(policy);
    }

    /// How long data may stay unacknowledged, or a closed window unanswered, before the connection fails
    /// (TCP_USER_TIMEOUT, RFC 5482). `None`: fifteen retransmissions or probes.
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.flight.user_timeout = timeout;
    }
}
