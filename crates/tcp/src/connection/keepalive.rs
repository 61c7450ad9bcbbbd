//! Keep-alive probes to a peer that has been silent for a long time, as in Linux (RFC 9293 section 3.8.4).

use super::Connection;
use super::conn_event::ConnError;
use crate::config::KeepAlive;
use lopsided_core::tcp_event::{State, TimerKind};
use lopsided_core::{Duration, Time};

impl Connection {
    /// Enables keep-alive probes with the given times, or disables them with `None` (SO_KEEPALIVE).
    pub fn set_keepalive(&mut self, now: Time, keepalive: Option<KeepAlive>) {
        self.keepalive = keepalive.map(Box::new);
        self.send.flight.timers.stop(TimerKind::KeepAlive);
        if self.state > State::SynReceived {
            self.start_keepalive(now);
        }
    }

    /// Starts the keep-alive timer once the connection is established.
    pub(super) fn start_keepalive(&mut self, now: Time) {
        if let Some(KeepAlive { idle, .. }) = self.keepalive.as_deref().copied() {
            self.arm_keepalive(now, idle);
        }
    }

    /// Arms the keep-alive timer.
    fn arm_keepalive(&mut self, now: Time, after: Duration) {
        let deadline = self.send.flight.profile.grain.deadline(now, after);
        self.send.flight.timers.set(TimerKind::KeepAlive, deadline);
    }

    /// Handles the keep-alive timer: sends a probe to a silent peer, or ends the connection after too many unanswered
    /// probes.
    #[cold]
    pub(super) fn on_keepalive_timeout(&mut self, now: Time) {
        let Some(KeepAlive { idle, interval, probes }) = self.keepalive.as_deref().copied() else { return };
        if matches!(self.state, State::Closed | State::TimeWait) {
            return;
        }
        // The loss timers detect a dead peer while data is outstanding, and the persist timer while data waits for the
        // peer's window.
        if self.send.flight.outstanding() > 0 || self.send.unsent() > 0 {
            return self.arm_keepalive(now, idle);
        }
        let heard = self.last_data_recv.max(self.last_ack_recv).unwrap_or(Time::ZERO);
        let silent = now.saturating_since(heard);
        if silent < idle {
            return self.arm_keepalive(now, idle - silent);
        }
        if self.send.probes_out() >= probes {
            // As in tcp_keepalive_timer, reset a peer that answers no probe.
            self.urgent_mut().reset = true;
            self.fail(ConnError::TimedOut);
            return;
        }
        self.send.count_probe();
        self.urgent_mut().keepalive = true;
        self.arm_keepalive(now, interval);
    }
}
