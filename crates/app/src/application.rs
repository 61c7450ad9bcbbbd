//! The contract between an application and the host that runs it.

use lopsided_core::{Bytes, Payload, Rng, Time};
use lopsided_rdra::Step;
use lopsided_tcp::{State, TcpInfo};
use std::fmt::Debug;
use std::ops::Range;

/// A connection of one application, or a stream of one where the transport has streams, numbered by its host. The number is free for another connection once
/// [`SocketEvent::Closed`] was told, or the application aborted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// What happened to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The handshake of a connection that this application opened is complete.
    Connected,
    /// A peer opened a connection to this application.
    Accepted,
    /// There may be data to read, or room to write: told after each segment and timeout that could have brought either.
    Ready,
    /// The peer sends no more: everything before its FIN is readable.
    PeerClosed,
    /// The connection is over, and this is the last that is told of it.
    Closed(CloseReason),
}

/// What an application does on hearing that a socket is [ready](SocketEvent::Ready).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReady {
    /// Anything: it is told.
    #[default]
    Acts,
    /// It writes, and nothing where there is no room to write: it is told where there is.
    Writes,
    /// It reads all there is and does nothing with it: its host may do so in its place.
    Drains,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed and acknowledged.
    Normal,
    /// The peer refused or reset it.
    Reset,
    /// Repeated retransmissions were never answered.
    TimedOut,
}

/// What an application tells those who measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A transfer begins now. Its other end tells [`Report::Delivered`].
    Begun,
    /// The last octet of the transfer that began last has been read, `size` octets in all.
    Delivered { size: Bytes },
    /// Something that began at `start` is complete now: one object of `size` octets, or a page of several.
    Completed { what: &'static str, start: Time, size: Bytes },
    /// A step of the controller of a fetch over several connections.
    Fetching(Step),
}

/// One end of a flow. Every method may act through `io`; none blocks.
pub trait Application: Debug + Send {
    /// The flow begins: the scenario's start with its jitter has come.
    fn on_start(&mut self, io: &mut dyn Sockets);

    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets);

    /// A datagram arrived on the flow's own pair of ports. `sent_at` is when its sender handed it to the network.
    fn on_datagram(&mut self, _payload: &Payload, _sent_at: Time, _io: &mut dyn Sockets) {}

    /// The time of [`Application::next_timeout`] has come. A call before it does nothing.
    fn on_timeout(&mut self, _io: &mut dyn Sockets) {}

    /// The same for as long as it exists: a host asks once.
    fn on_ready(&self) -> OnReady {
        OnReady::Acts
    }

    /// When to call `on_timeout`; `None` for never. Re-read after every call of the others.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The scenario ends the flow before the run ends.
    fn on_stop(&mut self, _io: &mut dyn Sockets) {}
}

/// What an application can reach: the sockets of its flow and nothing else.
pub trait Sockets {
    fn now(&self) -> Time;

    /// The application's own random numbers, keyed by its flow and side.
    fn rng(&mut self) -> &mut Rng;

    /// Opens a connection to the other end of the flow. `None`: the host has no free port now.
    fn connect(&mut self) -> Option<SocketId>;

    /// Opens another stream on the connection of a socket, as a socket of its own. `None` if the transport has no streams:
    /// open another connection instead.
    fn open_stream(&mut self, of: SocketId) -> Option<SocketId> {
        let _ = of;
        None
    }

    /// Appends the payload, as far as the send buffer has room; gives how many octets it took. Zero for a socket that
    /// is closed or unknown.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u64;

    /// Octets that `write` would take now.
    fn writable(&self, socket: SocketId) -> u64;

    /// Everything that can be read.
    fn read(&mut self, socket: SocketId) -> Payload;

    /// The ranges of what was read since the last call, as places in the peer's stream, that were never received: zeros
    /// stand for them. Only a stack with `placeholders` has any.
    fn placeholders(&mut self, socket: SocketId) -> Vec<Range<u64>> {
        let _ = socket;
        Vec::new()
    }

    /// Sends a FIN behind what was written.
    fn close(&mut self, socket: SocketId);

    /// Ends the connection with a reset. Nothing more is told of it, not even [`SocketEvent::Closed`].
    fn abort(&mut self, socket: SocketId);

    /// `None`: there is no such socket.
    fn state(&self, socket: SocketId) -> Option<State>;

    /// What the TCP of this end says of itself, as Linux's TCP_INFO.
    fn info(&self, socket: SocketId) -> Option<TcpInfo>;

    /// Sends a datagram to the other end of the flow.
    fn send_datagram(&mut self, payload: Payload);

    fn report(&mut self, report: Report);
}

/// Which end of a flow: data flows from `From` to `To`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    From,
    To,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::From => Side::To,
            Side::To => Side::From,
        }
    }
}

/// The two applications of a flow.
#[derive(Debug)]
pub struct AppPair {
    /// At the sender of data.
    pub from: Box<dyn Application>,
    /// At the receiver of data.
    pub to: Box<dyn Application>,
    /// Which of the two waits for the other to begin.
    pub listener: Side,
    /// They exchange datagrams rather than connections.
    pub datagrams: bool,
}
