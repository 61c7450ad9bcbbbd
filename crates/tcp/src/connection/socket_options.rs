//! Socket options that an application may change during a connection (socket(7), tcp(7)).

use super::Connection;
use crate::cc::Controller;
use crate::receive::ack_policy::AckPolicy;
use lopsided_core::tcp_event::State;
use lopsided_core::{BitRate, Bytes, Duration, Time};

impl Connection {
    /// If `on`, short segments are sent at once (TCP_NODELAY), and waiting data is sent now, even if the socket is
    /// corked. Otherwise the profile's rule applies.
    pub fn set_nodelay(&mut self, on: bool) {
        self.send.hold.set_nodelay(on);
    }

    /// If `on`, short segments are held until they are full, or for an RTO if nothing is outstanding (TCP_CORK).
    pub fn set_cork(&mut self, on: bool) {
        self.send.hold.set_cork(on);
    }

    /// Fixes the size of the send buffer, which then no longer follows the window (SO_SNDBUF). Buffered data beyond the
    /// new size stays.
    pub fn set_send_buffer(&mut self, size: Bytes) {
        self.send.set_buffer(size);
        self.tell_readiness();
    }

    /// Fixes the size of the receive buffer, which then no longer grows (SO_RCVBUF). The window scale stays that of the
    /// handshake, and an offered window is never reduced.
    pub fn set_receive_buffer(&mut self, size: Bytes) {
        self.recv.set_buffer(size);
    }

    /// Limits the rate of data (SO_MAX_PACING_RATE). A congestion control without a pacing rate is then paced as in
    /// Linux: 2 windows per round trip in the first half of slow start, 1.2 windows later.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.send.set_max_pacing_rate(rate);
    }

    /// Replaces the congestion control (TCP_CONGESTION). Window and threshold are kept. The negotiated ECN feedback
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

    /// Replaces the acknowledgement policy.
    pub fn set_ack_policy(&mut self, policy: Box<dyn AckPolicy>) {
        self.acks.set_policy(policy);
    }

    /// Sets the time after which the connection fails if data stays unacknowledged or a closed window unanswered
    /// (TCP_USER_TIMEOUT, RFC 5482). With `None` it fails after 15 retransmissions or probes.
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.flight.user_timeout = timeout;
    }
}
