//! The receiver of a one-way transfer that opens the connection and requests the data, like the client of a download.

use super::{RETRY, Transfer};
use crate::{Application, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Payload, Time};

/// Size of a request in bytes, similar to a compressed HTTP request.
const REQUEST: u32 = 100;

/// Opens a connection, sends a request, and reads all data immediately. Can repeat the transfer after a pause, on a new
/// connection.
#[derive(Debug)]
pub struct Asker {
    transfer: Transfer,
    socket: Option<SocketId>,
    /// Time at which to open the next connection.
    next: Option<Time>,
    attempts: u32,
    /// Number of bytes of the current transfer that were read.
    read: u64,
    stopped: bool,
}

impl Asker {
    /// Creates an asker that requests transfers of this pattern from a [`Sender::answering`](super::Sender::answering).
    pub fn new(transfer: Transfer) -> Asker {
        Asker { transfer, socket: None, next: None, attempts: 0, read: 0, stopped: false }
    }

    fn begin(&mut self, io: &mut dyn Sockets) {
        (self.next, self.read) = (None, 0);
        self.socket = io.connect();
        let Some(socket) = self.socket else {
            self.next = Some(io.now() + RETRY);
            return;
        };
        self.attempts += 1;
        if self.transfer.size().is_some() {
            io.report(Report::Begun);
        }
        // The send buffer holds the request until the handshake is complete.
        io.write(socket, &Payload::virtual_len(REQUEST));
    }

    fn take(&mut self, socket: SocketId, io: &mut dyn Sockets) {
        let octets = u64::from(io.read(socket).len());
        let before = self.read;
        self.read += octets;
        if let Some(size) = self.transfer.size() {
            // Report the transfer in the read that reaches its size, so that it is reported only once.
            if before < size.get() && self.read >= size.get() {
                io.report(Report::Delivered { size });
            }
        }
    }
}

impl Application for Asker {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        self.begin(io);
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        if self.socket != Some(socket) {
            return;
        }
        match event {
            SocketEvent::Ready => self.take(socket, io),
            SocketEvent::PeerClosed => io.close(socket),
            SocketEvent::Closed(_) => {
                self.socket = None;
                if let Transfer::Bytes { repeat, pause, .. } = self.transfer {
                    if !self.stopped && repeat.is_none_or(|times| self.attempts < times) {
                        // The pause counts from the end of the previous transfer, not from its start.
                        self.next = Some(io.now() + pause);
                    }
                }
            }
            SocketEvent::Connected | SocketEvent::Accepted => {}
        }
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        if self.next.is_some_and(|next| next <= io.now()) {
            self.begin(io);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        (self.next, self.stopped) = (None, true);
        if let Some(socket) = self.socket {
            io.close(socket);
        }
    }
}
