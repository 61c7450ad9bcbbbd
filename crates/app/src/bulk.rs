//! One-way transfers over one connection at a time. The sender always has more to send, or sends a fixed size
//! repeatedly, or sends in bursts. The receiver reads everything at once.
//!
//! Left out: a slow reader, and data with contents.

mod asker;
mod config;

pub use asker::Asker;
pub use config::{BulkConfig, OnOffConfig, TransferConfig};

use crate::{Application, OnReady, Report, SocketEvent, SocketId, Sockets};
use lopsided_core::{Bytes, Duration, Payload, Time};
use lopsided_tcp::State;

/// Amount that a sender without a limit offers at once: more than any send buffer takes.
const PLENTY: u64 = u64::MAX;
/// Largest single write, as in iperf3. The end of a write decides which segment carries PSH.
pub(crate) const WRITE: u64 = 128 << 10;
/// Pause between two attempts to find a free port.
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
    /// Data without limit until the flow stops.
    Bulk {
        /// Time from the opening of the connection to the first byte.
        wait: Duration,
        /// A random time between 0 and this is added to `wait`.
        wait_jitter: Duration,
    },
    /// A fixed size, on a new connection each time.
    Bytes {
        /// Size of one transfer.
        size: Bytes,
        /// Number of transfers, or `None` to repeat until the flow stops.
        repeat: Option<u32>,
        /// Time between the end of a transfer and the start of the next.
        pause: Duration,
    },
    /// Data without limit for `on`, then silence for `off`, repeatedly on one connection.
    OnOff {
        /// Duration of a burst.
        on: Duration,
        /// Silence after a burst.
        off: Duration,
    },
}

impl Transfer {
    /// Size of one transfer, or `None` if the pattern has no transfers that end.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Transfer::Bytes { size, .. } => Some(*size),
            Transfer::Bulk { .. } | Transfer::OnOff { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between two transfers, or without a free port. Ends at `next`.
    Waiting,
    Sending,
    /// Connected, with nothing to send until `next`.
    Silent,
    Ended,
}

/// The sending application of a one-way transfer.
#[derive(Debug)]
pub struct Sender {
    transfer: Transfer,
    phase: Phase,
    socket: Option<SocketId>,
    /// End of the current phase, or `None` if the phase has no fixed end.
    next: Option<Time>,
    /// Bytes still to be written.
    left: u64,
    attempts: u32,
    /// True if an [`Asker`] opens the connection and requests the data.
    answers: bool,
}

impl Sender {
    /// A sender that opens the connection itself.
    pub fn new(transfer: Transfer) -> Sender {
        Sender { transfer, phase: Phase::Waiting, socket: None, next: None, left: 0, attempts: 0, answers: false }
    }

    /// A sender that waits for the connection and the request of an [`Asker`].
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

    /// Sets the phase, the remaining bytes and the end of the phase for the next transfer.
    fn prepare(&mut self, io: &mut dyn Sockets) {
        let now = io.now();
        self.phase = Phase::Sending;
        self.attempts += 1;
        // Draw the jitter for each transfer, so that repeated flows do not stay in step.
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
            // `PLENTY` means "no limit", so writes do not reduce it.
            self.left -= if self.left == PLENTY { 0 } else { written };
        }
        // Close only when the connection is established: before that there is no connection for a FIN to end.
        if self.left == 0 && self.transfer.size().is_some() && io.state(socket) == Some(State::Established) {
            io.close(socket);
        }
    }

    /// The connection is over, normally or not.
    fn end(&mut self, now: Time) {
        self.socket = None;
        if self.phase == Phase::Ended {
            return;
        }
        self.left = 0;
        self.next = None;
        // The asker opens the next connection and counts the repetitions.
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
            // A later connection of the asker replaces the former one.
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
                    // A bulk transfer waits only once, before its first byte.
                    _ => None,
                };
                if let Some(socket) = self.socket {
                    self.write(socket, io);
                }
            }
            _ => self.next = None,
        }
    }

    /// A transfer of a fixed size must also run after its last byte has entered the send buffer, because it then closes
    /// the connection.
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

/// The receiving application of a one-way transfer. It reads everything at once.
#[derive(Debug)]
pub struct Receiver {
    /// Size of one transfer, or `None` if the flow has no transfers that end.
    size: Option<Bytes>,
    /// Bytes read from each open connection. Empty if the flow has no transfers that end.
    read: Vec<(SocketId, u64)>,
}

impl Receiver {
    /// A receiver of transfers of this size, or of data without an end.
    pub fn new(size: Option<Bytes>) -> Receiver {
        Receiver { size, read: Vec::new() }
    }

    /// Adds to the bytes read, and reports the transfer when its last byte is read.
    fn count(&mut self, socket: SocketId, octets: u64, size: Bytes, io: &mut dyn Sockets) {
        let Some((_, read)) = self.read.iter_mut().find(|(of, _)| *of == socket) else { return };
        let before = *read;
        *read += octets;
        // Report once only, at the read that reaches the size.
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
        // Without a size there is nothing to count, so the host may discard the data itself.
        if self.size.is_some() { OnReady::Acts } else { OnReady::Drains }
    }
}
