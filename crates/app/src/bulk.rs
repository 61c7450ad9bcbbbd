//! One-way transfers over one connection at a time: a sender that always has more, sends a fixed size again and again,
//! or sends in bursts; and a receiver that reads everything at once.
//!
//! Leaves out: a reader that is slow, and data with a meaning beyond its length.

mod asker;
mod config;

pub use asker::Asker;
pub use config::{BulkConfig, OnOffConfig, TransferConfig};

use crate::{Application, OnReady, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};
use lopsided_tcp::State;

/// As much as an application that always has more offers at once: more than any send buffer takes.
const PLENTY: u64 = u64::MAX;
/// The most that is written at once, as iperf3 does: where a write ends decides which segments carry PSH.
pub(crate) const WRITE: u64 = 128 << 10;
/// Between attempts to find a free port.
const RETRY: Duration = Duration::from_secs(1);

/// What the sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Always more, until the flow stops, from so long after the connection was opened.
    Bulk { wait: Duration, wait_jitter: Duration },
    /// `size` octets, on a new connection each time, with `pause` between the end of one and the start of the next.
    Bytes {
        size: Bytes,
        /// How often in all; `None`: until the flow stops.
        repeat: Option<u32>,
        pause: Duration,
    },
    /// Always more for `on`, then silence for `off`, and again, on one connection.
    OnOff { on: Duration, off: Duration },
}

impl Transfer {
    /// The size of one transfer, where there are transfers that end.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Transfer::Bytes { size, .. } => Some(*size),
            Transfer::Bulk { .. } | Transfer::OnOff { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until `next`: between transfers, or for want of a port.
    Waiting,
    Sending,
    /// Connected, with nothing to say until `next`.
    Silent,
    Ended,
}

/// The application that sends.
#[derive(Debug)]
pub struct Sender {
    transfer: Transfer,
    phase: Phase,
    socket: Option<SocketId>,
    next: Option<Time>,
    /// Octets still to be written.
    left: u64,
    attempts: u32,
    /// Waits for an [`Asker`] to open the connection and to ask.
    answers: bool,
}

impl Sender {
    pub fn new(transfer: Transfer) -> Sender {
        Sender { transfer, phase: Phase::Waiting, socket: None, next: None, left: 0, attempts: 0, answers: false }
    }

    /// A sender that answers an [`Asker`].
    pub fn answering(transfer: Transfer) -> Sender {
        Sender { answers: true, ..Sender::new(transfer) }
    }

    fn begin(&mut self, io: &mut dyn Sockets) {
        self.prepare(io);
        if self.transfer.size().is_some() {
            io.report(Report::Begun);
        }
        self.socket = io.connect();
        if self.socket.is_none() {
            self.phase = Phase::Waiting;
            self.next = Some(io.now() + RETRY);
        }
    }

    /// The octets of the next transfer, and when they begin.
    fn prepare(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        self.phase = Phase::Sending;
        self.attempts += 1;
        let wait = match self.transfer {
            Transfer::Bulk { wait, wait_jitter } => wait + Duration::from_nanos(io.rng().below(wait_jitter.as_nanos())),
            _ => Duration::ZERO,
        };
        if !wait.is_zero() {
            self.phase = Phase::Silent;
        }
        (self.left, self.next) = match self.transfer {
            Transfer::Bytes { size, .. } => (size.get(), None),
            Transfer::OnOff { on, .. } => (PLENTY, Some(now + on)),
            Transfer::Bulk { .. } if !wait.is_zero() => (0, Some(now + wait)),
            Transfer::Bulk { .. } => (PLENTY, None),
        };
    }

    fn write(&mut self, socket: SocketId, io: &mut dyn Sockets) {
        loop {
            let len = self.left.min(io.writable(socket)).min(WRITE);
            if len == 0 {
                break;
            }
            let written = io.write(socket, &Payload::virtual_len(len as u32));
            if written == 0 {
                break;
            }
            self.left -= if self.left == PLENTY { 0 } else { written };
        }
        // A FIN needs a connection to end.
        if self.left == 0 && self.transfer.size().is_some() && io.state(socket) == Some(State::Established) {
            io.close(socket);
        }
    }

    /// The connection is over, well or not.
    fn end(&mut self, now: Time) {
        self.socket = None;
        if self.phase == Phase::Ended {
            return;
        }
        self.left = 0;
        self.next = None;
        if self.answers {
            self.phase = Phase::Waiting;
            return;
        }
        self.phase = Phase::Ended;
        if let Transfer::Bytes { repeat, pause, .. } = self.transfer {
            if repeat.is_none_or(|times| self.attempts < times) {
                self.phase = Phase::Waiting;
                self.next = Some(now + pause);
            }
        }
    }
}

impl Application for Sender {
    fn on_start(&mut self, io: &mut dyn Sockets) {
        if !self.answers {
            self.begin(io);
        }
    }

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        if self.answers && event == SocketEvent::Accepted && self.phase != Phase::Ended {
            self.socket = Some(socket);
            self.prepare(io);
        }
        if self.socket != Some(socket) {
            return;
        }
        match event {
            SocketEvent::Ready => self.write(socket, io),
            SocketEvent::Closed(_) => self.end(io.now()),
            SocketEvent::Connected | SocketEvent::Accepted | SocketEvent::PeerClosed => {}
        }
    }

    fn on_timeout(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        match (self.phase, self.transfer) {
            (Phase::Waiting, _) if !self.answers => self.begin(io),
            (Phase::Sending, Transfer::OnOff { off, .. }) => {
                self.left = 0;
                self.phase = Phase::Silent;
                self.next = Some(now + off);
            }
            (Phase::Silent, Transfer::OnOff { .. } | Transfer::Bulk { .. }) => {
                self.left = PLENTY;
                self.phase = Phase::Sending;
                self.next = match self.transfer {
                    Transfer::OnOff { on, .. } => Some(now + on),
                    _ => None,
                };
                if let Some(socket) = self.socket {
                    self.write(socket, io);
                }
            }
            _ => self.next = None,
        }
    }

    /// What ends closes behind what it wrote last.
    fn on_ready(&self) -> OnReady {
        if self.transfer.size().is_some() { OnReady::Acts } else { OnReady::Writes }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.next
    }

    fn on_stop(&mut self, io: &mut dyn Sockets) {
        self.phase = Phase::Ended;
        self.next = None;
        self.left = 0;
        if let Some(socket) = self.socket {
            io.close(socket);
        }
    }
}

/// The application that reads everything at once.
#[derive(Debug)]
pub struct Receiver {
    /// The size of one transfer, where the flow makes transfers.
    size: Option<Bytes>,
    /// Octets read of each open connection; only where there are transfers.
    read: Vec<(SocketId, u64)>,
}

impl Receiver {
    pub fn new(size: Option<Bytes>) -> Receiver {
        Receiver { size, read: Vec::new() }
    }

    /// Tells when a transfer's last octet was read.
    fn count(&mut self, socket: SocketId, octets: u64, size: Bytes, io: &mut dyn Sockets) {
        let Some((_, read)) = self.read.iter_mut().find(|(of, _)| *of == socket) else { return };
        let before = *read;
        *read += octets;
        if before < size.get() && *read >= size.get() {
            io.report(Report::Delivered { size });
        }
    }
}

impl Application for Receiver {
    fn on_start(&mut self, _io: &mut dyn Sockets) {}

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
        match event {
            SocketEvent::Ready => {
                let octets = u64::from(io.read(socket).len());
                if let Some(size) = self.size.filter(|_| octets > 0) {
                    self.count(socket, octets, size, io);
                }
            }
            SocketEvent::PeerClosed => io.close(socket),
            SocketEvent::Accepted if self.size.is_some() => self.read.push((socket, 0)),
            SocketEvent::Closed(_) => self.read.retain(|(of, _)| *of != socket),
            SocketEvent::Accepted | SocketEvent::Connected => {}
        }
    }

    fn on_ready(&self) -> OnReady {
        if self.size.is_some() { OnReady::Acts } else { OnReady::Drains }
    }
}
