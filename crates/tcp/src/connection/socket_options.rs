//! Socket options that an application may change during a connection (socket(7), tcp(7)).

use super::Connection;
use crate::cc::Controller;
use crate::receive::ack_policy::AckPolicy;
use lopsided_core::tcp_event::State;
use lopsided_core::{BitRate, Bytes, Duration, Time};

impl Connection {
    /// True sends short segments at once (TCP_NODELAY); false restores the profile's rule. Turning it on sends waiting
    /// data now, even if the socket is corked.
    pub fn set_nodelay(&mut self, on: bool) {
        self.send.hold.set_nodelay(on);
    }

    /// True holds short segments until they are full, or for an RTO if nothing is outstanding (TCP_CORK).
    pub fn set_cork(&mut self, on: bool) {
        self.send.hold.set_cork(on);
    }

    /// Fixes the size of the send buffer, which then no longer follows the window (SO_SNDBUF). Data beyond the new size
    /// stays.
    pub fn set_send_buffer(&mut self, size: Bytes) {
        self.send.set_buffer(size);
        self.tell_readiness();
    }

    /// Fixes the size of the receive buffer, which then no longer grows (SO_RCVBUF). The window scale stays that of the
    /// handshake, and an offered window is not taken back.
    pub fn set_receive_buffer(&mut self, size: Bytes) {
        self.recv.set_buffer(size);
    }

    /// Limits the rate of data (SO_MAX_PACING_RATE). A congestion control without pacing is then paced as in Linux:
    /// twice its window per round trip in the first half of slow start, 1.2 windows later.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.send.set_max_pacing_rate(rate);
    }

    /// Replaces the congestion control; window and threshold are kept (TCP_CONGESTION). The ECN mode of the handshake
    /// stays.
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

    /// Replaces the rule for acknowledgements.
    pub fn set_ack_policy(&mut self, policy: Box<dyn AckPolicy>) {
        self.acks.set_policy(policy);
    }

    /// How long data may stay unacknowledged, or a closed window unanswered, before the connection fails
    /// (TCP_USER_TIMEOUT, RFC 5482). `None`: 15 retransmissions or probes.
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.flight.user_timeout = timeout;
    }
}
