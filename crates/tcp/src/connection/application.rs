//! The functions that the application calls: write, read, shutdown, close and abort (RFC 9293 section 3.9.1, RFC 1122
//! section 4.2.2.13).

use super::Connection;
use super::conn_event::{ConnError, ConnEvent, ReadError, Readiness, WriteError};
use super::input::TIME_WAIT;
use lopsided_core::tcp_event::{AckReason, State, TimerKind};
use lopsided_core::{Payload, Time};
use std::collections::VecDeque;
use std::net::Shutdown;
use std::ops::Range;

impl Connection {
    /// Number of bytes that have arrived in order and that the application has not read yet.
    pub fn readable(&self) -> u64 {
        self.recv.unread()
    }

    /// Number of bytes that fit into the send buffer now.
    #[inline]
    pub fn writable(&self) -> u64 {
        if self.send.is_closed() || self.state > State::CloseWait { 0 } else { self.send.room() }
    }

    /// The error that ended the connection; `None` if the connection has not failed. Unlike SO_ERROR, this call does
    /// not clear the error.
    pub fn error(&self) -> Option<ConnError> {
        self.error
    }

    /// Enables [`ConnEvent::Readable`] and [`ConnEvent::Writable`]. An event is reported once after each incomplete
    /// read or write. As in Linux, `Writable` is reported when 1/3 of the send buffer is free.
    pub fn watch_readiness(&mut self) {
        self.readiness = Readiness { watched: true, reader_waits: true, writer_waits: false };
        self.report_readiness();
    }

    /// Queues as much of the payload as fits into the send buffer. Returns the number of queued bytes; 0 if the buffer
    /// is full.
    ///
    /// # Errors
    ///
    /// Returns an error if this end has closed its direction or the connection has failed.
    pub fn write(&mut self, payload: &Payload) -> Result<u64, WriteError> {
        if self.send.is_closed() || self.state > State::CloseWait {
            return Err(self.error.map_or(WriteError::Closed, WriteError::Failed));
        }
        if self.may_send_data() {
            self.send.complete_short_segment();
        }
        let wanted = u64::from(payload.len());
        let len = wanted.min(self.send.room_for(wanted));
        if len > 0 {
            self.send.write(payload, len as u32);
        }
        self.readiness.writer_waits = len < wanted;
        Ok(len)
    }

    /// Returns the ranges of stream offsets that this end acknowledged although their data has not arrived
    /// (`placeholders` of the profile). Each range is returned once. A read returns zeros for these ranges.
    pub fn take_placeholders(&mut self) -> Vec<Range<u64>> {
        self.recv.take_placeholders()
    }

    /// True if the profile may create placeholders.
    #[inline]
    pub fn takes_placeholders(&self) -> bool {
        self.recv.takes_placeholders()
    }

    /// Reads up to `limit` bytes that arrived in order.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no unread data: [`ReadError::Failed`] if the connection has failed,
    /// [`ReadError::Ended`] if no more data can arrive (for example after the peer's FIN), otherwise
    /// [`ReadError::Blocked`].
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
                if self.recv.is_ack_due() {
                    // Linux sends the ACK when the data arrives. The window update of the read is a second ACK.
                    self.settle_answer(now);
                }
                self.acks.ack_now(AckReason::WindowUpdate);
            }
            if self.acks.awaits_read() {
                // Linux's tcp_cleanup_rbuf may acknowledge a short segment once the application has read all data.
                let all = self.recv.unread() == 0;
                self.acks.on_read(now, all, self.ack_context(), &mut self.send.flight.timers);
                if self.peer_closed {
                    // The application probably closes the connection next. As in Linux's tcp_cleanup_rbuf, send the ACK
                    // first.
                    self.answer_before_close(now);
                }
            }
        }
        Ok(payload)
    }

    /// Returns the reason why no data can be read.
    #[cold]
    fn nothing_to_read(&self) -> ReadError {
        match self.error {
            Some(error) => ReadError::Failed(error),
            None if self.peer_closed || self.read_shut || self.state == State::Closed => ReadError::Ended,
            None => ReadError::Blocked,
        }
    }

    /// Closes one direction or both, like shutdown(2). `Write` sends a FIN after the written data. `Read` sends
    /// nothing. After `Both`, arriving data is answered with a reset.
    pub fn shutdown(&mut self, how: Shutdown) {
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            self.read_shut = true;
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            self.shut_write();
        }
    }

    /// Closes the connection, like close(2). Written data is still delivered, followed by a FIN. Unread data, and data
    /// that arrives later, causes a reset. This end waits 60 s for the peer's FIN (Linux's tcp_fin_timeout).
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

    /// Closes the sending direction: a FIN follows the data that was written.
    fn shut_write(&mut self) {
        let may_send = self.may_send_data();
        match self.state {
            // Data that was written before the handshake completes is still delivered.
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

    /// Aborts the connection and sends the peer a reset.
    pub fn abort(&mut self) {
        // RFC 9293 section 3.10.5: if both directions are closed, the connection ends without a reset.
        let resets = matches!(
            self.state,
            State::SynReceived | State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait
        );
        self.urgent_mut().reset = resets;
        self.forget_urgent();
        self.set_state(State::Closed);
        self.stop_timers();
    }

    /// True if [`Connection::poll_event`] has an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Removes and returns the oldest event for the application.
    pub fn poll_event(&mut self) -> Option<ConnEvent> {
        let event = self.events.pop_front();
        // Free the memory, because most connections have only one event until they are closed.
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        event
    }

    /// Reports `Readable` or `Writable` if the application waits for that event and the event is due.
    #[inline]
    pub(super) fn report_readiness(&mut self) {
        if self.readiness.watched {
            self.report_waiting();
        }
    }

    #[cold]
    fn report_waiting(&mut self) {
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
