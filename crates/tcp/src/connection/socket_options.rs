//! Socket options that an application may change during a connection (socket(7), tcp(7)).

use super::Connection;
use crate::cc::Controller;
use crate::receive::ack_policy::AckPolicy;
use lopsided_core::tcp_event::State;
use lopsided_core::{BitRate, Bytes, Duration, Time};

impl Connection {
    /// Sets TCP_NODELAY. If `on` is true, waiting short segments are sent at once, even if the socket is corked.
    /// If `on` is false, the profile's rule for short segments applies.
    pub fn set_nodelay(&mut self, on: bool) {
        self.send.hold.set_nodelay(on);
    }

    /// Sets TCP_CORK. If `on` is true, a short segment waits until it is full. While no data is outstanding, a short
    /// segment waits for at most one RTO.
    pub fn set_cork(&mut self, on: bool) {
        self.send.hold.set_cork(on);
    }

    /// Sets a fixed size of the send buffer (SO_SNDBUF). Data that is already in the buffer stays there.
    pub fn set_send_buffer(&mut self, size: Bytes) {
        self.send.set_buffer(size);
        self.report_readiness();
    }

    /// Sets a fixed size of the receive buffer (SO_RCVBUF). The window scale does not change, and a window that was
    /// already advertised is never reduced.
    pub fn set_receive_buffer(&mut self, size: Bytes) {
        self.recv.set_buffer(size);
    }

    /// Sets an upper limit on the sending rate (SO_MAX_PACING_RATE). A congestion control without a pacing rate is then
    /// paced as in Linux: at 2 windows per RTT while the window is below half of the slow-start threshold, otherwise at
    /// 1.2 windows per RTT.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.send.set_max_pacing_rate(rate);
    }

    /// Replaces the congestion control (TCP_CONGESTION). The new controller starts with the current window, slow-start
    /// threshold and ECN feedback.
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

    /// Turns the accurate-ECN option on or off (Linux's tcp_ecn_option, which also acts on open connections).
    pub fn set_ecn_option(&mut self, on: bool) {
        self.ecn.set_option(on);
    }

    /// Sets the time after which the connection fails if the peer neither acknowledges data nor answers window probes
    /// (TCP_USER_TIMEOUT, RFC 5482). With `None`, the connection fails after 15 retransmissions or probes.
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.send.flight.user_timeout = timeout;
    }
}
