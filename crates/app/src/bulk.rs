//! One-way transfers that use one connection at a time: continuous, repeated with a fixed size, or in bursts. The
//! receiver reads all data immediately.
//!
//! Left out: receivers that read slowly, and data with contents.

mod asker;
mod config;

pub use asker::Asker;
pub use config::{BulkConfig, OnOffConfig, TransferConfig};

use crate::{Application, OnReady, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};
use lopsided_tcp::State;

/// Number of bytes that an unlimited sender offers in one call. It exceeds the free space of any send buffer.
const PLENTY: u64 = u64::MAX;
/// Size of the largest single write in bytes, as in iperf3. The last segment of a write carries PSH.
pub(crate) const WRITE: u64 = 128 << 10;
/// Time until the next attempt if the host has no free port.
const RETRY: Duration = Duration::from_secs(1);

/// The pattern in which a [`Sender`] sends.
///
/// # Examples
///
/// ```
/// use lopsided_app::Transfer;
/// use lopsided_core::{Bytes, Duration};
///
/// let repeated = Transfer::Bytes { size: Bytes::new(100_000), repeat: Some(3), pause: Duration::from_secs(1) };
/// assert_eq!(repeated.size(), Some(Bytes::new(100_000)));
///
/// let bursts = Transfer::OnOff { on: Duration::from_secs(1), off: Duration::from_secs(2) };
/// assert_eq!(bursts.size(), None, "bursts have a duration, not a size");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Unlimited data until the flow stops.
    Bulk {
        /// Time from the opening of the connection to the first byte.
        wait: Duration,
        /// Upper bound of a random time that is added to `wait`.
        wait_jitter: Duration,
    },
    /// A fixed number of bytes, with a new connection for each transfer.
    Bytes {
        /// Size of one transfer.
        size: Bytes,
        /// Number of transfers, or `None` to repeat until the flow stops.
        repeat: Option<u32>,
        /// Time between the end of a transfer and the start of the next.
        pause: Duration,
    },
    /// Unlimited data for the time `on`, then silence for the time `off`, repeated on one connection.
    OnOff {
        /// Duration of a burst.
        on: Duration,
        /// Duration of the silence after a burst.
        off: Duration,
    },
}

impl Transfer {
    /// Returns the size of one transfer; `None` if the transfer does not end.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Transfer::Bytes { size, .. } => Some(*size),
            Transfer::Bulk { .. } | Transfer::OnOff { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no connection before the time `next`. The sender waits for its next transfer, or the host had no free
    /// port.
    Waiting,
    Sending,
    /// The connection is open, but the sender has nothing to send before the time `next`.
    Silent,
    Ended,
}

/// The sending application of a one-way transfer.
#[derive(Debug)]
pub struct Sender {
    transfer: Transfer,
    phase: Phase,
    socket: Option<SocketId>,
    /// End of the current phase; `None` if the phase has no fixed end.
    next: Option<Time>,
    /// Number of bytes that remain to be written.
    left: u64,
    attempts: u32,
    /// True if an [`Asker`] opens the connection and requests the data.
    answers: bool,
}

impl Sender {
    /// Creates a sender that opens the connection itself.
    pub fn new(transfer: Transfer) -> Sender {
        Sender { transfer, phase: Phase::Waiting, socket: None, next: None, left: 0, attempts: 0, answers: false }
    }

    /// Creates a sender that waits until an [`Asker`] opens a connection and sends a request.
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

    /// Prepares the next transfer: sets the phase, the end of the phase, and the number of bytes to write.
    fn prepare(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        self.phase = Phase::Sending;
        self.attempts += 1;
        // Each transfer has a new jitter, so that repeated flows do not stay synchronized.
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
        while self.left > 0 {
            // A write that is longer than the free space fills the buffer, as `send` does on Linux.
            let len = self.left.min(WRITE);
            let written = io.write(socket, &Payload::virtual_len(len as u32));
            // `PLENTY` means no limit, so a write does not reduce it.
            self.left -= if self.left == PLENTY { 0 } else { written };
            if written < len {
                break;
            }
        }
        // Before the connection is established, no FIN can be sent.
        if self.left == 0 && self.transfer.size().is_some() && io.state(socket) == Some(State::Established) {
            io.close(socket);
        }
    }

    /// Handles the end of the connection, whether normal or not.
    fn end(&mut self, now: Time) {
        self.socket = None;
        if self.phase == Phase::Ended {
            return;
        }
        self.left = 0;
        self.next = None;
        // If an asker requests the data, the asker opens the next connection and counts the repetitions.
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
            // A new connection of the asker replaces the previous connection.
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
                // Data that is already in the send buffer is still sent.
                self.left = 0;
                self.phase = Phase::Silent;
                self.next = Some(now + off);
            }
            (Phase::Silent, Transfer::OnOff { .. } | Transfer::Bulk { .. }) => {
                self.left = PLENTY;
                self.phase = Phase::Sending;
                self.next = match self.transfer {
                    Transfer::OnOff { on, .. } => Some(now + on),
                    // A bulk transfer waits only before its first byte.
                    _ => None,
                };
                if let Some(socket) = self.socket {
                    self.write(socket, io);
                }
            }
            _ => self.next = None,
        }
    }

    /// Returns the reaction to [`SocketEvent::Ready`]. The host must also call a sender with a fixed size after its
    /// last byte, because the sender then closes the connection.
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

/// The receiving application of a one-way transfer. It reads all data immediately.
#[derive(Debug)]
pub struct Receiver {
    /// Size of one transfer; `None` if the transfer does not end.
    size: Option<Bytes>,
    /// For each open connection, the number of bytes read. Empty if the transfer does not end.
    read: Vec<(SocketId, u64)>,
}

impl Receiver {
    /// Creates a receiver of transfers of this size; `None` for a transfer that does not end.
    pub fn new(size: Option<Bytes>) -> Receiver {
        Receiver { size, read: Vec::new() }
    }

    /// Counts the bytes read, and reports the transfer when its last byte is read.
    fn count(&mut self, socket: SocketId, octets: u64, size: Bytes, io: &mut dyn Sockets) {
        let Some((_, read)) = self.read.iter_mut().find(|(of, _)| *of == socket) else { return };
        let before = *read;
        *read += octets;
        // Report the transfer in the read that reaches its size, so that it is reported only once.
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
        // Without a size the receiver counts no bytes, so the host may discard the data itself.
        if self.size.is_some() { OnReady::Acts } else { OnReady::Drains }
    }
}
