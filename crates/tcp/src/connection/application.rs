//! What an application does with its connection: writing, reading, and the three ways to end (RFC 9293 section 3.9.1,
//! with the rules of RFC 1122 section 4.2.2.13 for data that nobody will read).

use super::Connection;
use super::conn_event::{ConnError, ConnEvent, ReadError, Readiness, WriteError};
use super::input::TIME_WAIT;
use lopsided_core::tcp_event::{AckReason, State, TimerKind};
use lopsided_core::{Payload, Time};
use std::net::Shutdown;
use std::ops::Range;

impl Connection {
    /// Octets in order that wait for the application.
    pub fn readable(&self) -> u64 {
        self.recv.unread()
    }

    /// Octets that the application may write now.
    pub fn writable(&self) -> u64 {
        if self.send.is_closed() || self.state > State::CloseWait { 0 } else { self.send.room() }
    }

    /// Why the connection failed, if it did (SO_ERROR, which asking does not clear).
    pub fn error(&self) -> Option<ConnError> {
        self.error
    }

    /// From now on [`ConnEvent::Readable`] and [`ConnEvent::Writable`] are among the events. Each is told once, to one
    /// who waits: a reader does after a read that gave less than it asked for and before its first, a writer after a
    /// write that was not taken whole. As in Linux a writer that filled the buffer hears of room when a third of it is
    /// free.
    pub fn watch_readiness(&mut self) {
        self.readiness = Readiness { watched: true, reader_waits: true, writer_waits: false };
        self.tell_readiness();
    }

    /// Queues as much of the payload as there is room for and returns how many octets that was: none where the
    /// application must wait.
    pub fn write(&mut self, payload: &Payload) -> Result<u64, WriteError> {
        if self.send.is_closed() || self.state > State::CloseWait {
            return Err(self.error.map_or(WriteError::Closed, WriteError::Failed));
        }
        let wanted = u64::from(payload.len());
        let len = wanted.min(self.send.room_for(wanted));
        self.send.write(payload, len as u32);
        self.readiness.writer_waits = len < wanted;
        Ok(len)
    }

    /// The ranges of the peer's stream that were not received and count as such (`placeholders` of the profile), since
    /// this was asked last. Where they were read, zeros stand for them.
    pub fn take_placeholders(&mut self) -> Vec<Range<u64>> {
        self.recv.take_placeholders()
    }

    /// Whether there can be such ranges.
    #[inline]
    pub fn takes_placeholders(&self) -> bool {
        self.recv.takes_placeholders()
    }

    /// Takes up to `limit` octets that arrived in order.
    pub fn read(&mut self, now: Time, limit: u64) -> Result<Payload, ReadError> {
        let unread = self.recv.unread();
        self.readiness.reader_waits = unread < limit;
        if unread == 0 && limit > 0 {
            return Err(self.nothing_to_read());
        }
        let payload = self.recv.read(now, limit, self.own_mss());
        if !payload.is_empty() {
            if self.recv.could_be_updated()
                && self.recv.window_update_due(self.segment_sizes(), self.options.rcv_wscale)
            {
                self.acks.ack_now(AckReason::WindowUpdate);
            }
            if self.acks.awaits_read() {
                let all = self.recv.unread() == 0;
                self.acks.on_read(now, all, self.ack_context(), &mut self.send.flight.timers);
            }
        }
        Ok(payload)
    }

    #[cold]
    fn nothing_to_read(&self) -> ReadError {
        match self.error {
            Some(error) => ReadError::Failed(error),
            None if self.peer_closed || self.read_shut || self.state == State::Closed => ReadError::Ended,
            None => ReadError::Blocked,
        }
    }

    /// Closes one direction or both, as shutdown(2). `Write`: a FIN follows what was written. `Read`: a reader hears of
    /// the end once nothing is left; the peer is told nothing. After `Both`, data that arrives is answered with a
    /// reset.
    pub fn shutdown(&mut self, how: Shutdown) {
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            self.read_shut = true;
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            self.shut_write();
        }
    }

    /// The application is gone, as after close(2): nothing more will be read or written. What was written is still
    /// delivered, with a FIN behind it. Data that it did not read, or that arrives from now on, is lost to it, so the
    /// peer gets a reset; and a peer that never closes its direction is waited for no longer than Linux's
    /// tcp_fin_timeout.
    pub fn close(&mut self, now: Time) {
        self.orphaned = true;
        if self.recv.unread() > 0 {
            self.abort();
            return;
        }
        self.shutdown(Shutdown::Both);
        if self.state == State::FinWait2 {
            self.send.flight.timers.set(TimerKind::TimeWait, now + TIME_WAIT);
        }
    }

    /// No more will be written: a FIN follows what was.
    fn shut_write(&mut self) {
        let may_send = self.may_send_data();
        match self.state {
            // What was written before the handshake ends is still delivered.
            State::SynSent if self.send.has_unsent_data() => self.send.close(may_send),
            State::Listen | State::SynSent => self.finish(None),
            State::SynReceived | State::Established => {
                self.send.close(may_send);
                self.set_state(State::FinWait1);
            }
            State::CloseWait => {
                self.send.close(may_send);
                self.set_state(State::LastAck);
            }
            _ => {}
        }
    }

    /// Gives up at once and resets the peer.
    pub fn abort(&mut self) {
        // RFC 9293 section 3.10.5: an end that has no more to say or to hear goes without a word.
        let resets = matches!(
            self.state,
            State::SynReceived | State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait
        );
        self.urgent_mut().reset = resets;
        self.forget_urgent();
        self.set_state(State::Closed);
        self.stop_timers();
    }

    /// Whether [`Connection::poll_event`] has something.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn poll_event(&mut self) -> Option<ConnEvent> {
        self.events.pop_front()
    }

    /// Tells those who wait of what there is for them now.
    #[inline]
    pub(super) fn tell_readiness(&mut self) {
        if self.readiness.watched {
            self.tell_waiting();
        }
    }

    #[cold]
    fn tell_waiting(&mut self) {
        if self.readiness.reader_waits && self.readable() > 0 {
            self.readiness.reader_waits = false;
            self.events.push_back(ConnEvent::Readable);
        }
        if self.readiness.writer_waits && self.writable() > 0 {
            self.readiness.writer_waits = false;
            self.events.push_back(ConnEvent::Writable);
        }
    }
}
