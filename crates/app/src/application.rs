//! The contract between an application and the host that runs it.

use lopsided_core::{Bytes, Payload, Rng, Time};
use lopsided_rdra::Step;
use lopsided_tcp::{State, TcpInfo};
use std::fmt::Debug;
use std::ops::Range;

/// The number by which an application and its host refer to one socket: a connection, or one stream of a connection if
/// the transport has streams.
///
/// The host assigns the number. The host may use it for another socket after [`SocketEvent::Closed`], or after the
/// application aborted the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// An event on one socket, reported to the application that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The handshake of a connection that this application opened is complete.
    Connected,
    /// A peer opened a connection to this application.
    Accepted,
    /// The socket may have data to read or room to write. Reported after each segment and each timeout that may have
    /// changed this.
    Ready,
    /// The peer sends no more data: everything before its FIN is readable.
    PeerClosed,
    /// The connection is over. No further event follows for this socket.
    Closed(CloseReason),
}

/// How an application reacts to [`SocketEvent::Ready`]. A host uses this to skip calls without effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReady {
    /// It may do anything, so the host calls it each time.
    #[default]
    Acts,
    /// It only writes, and does nothing if the send buffer is full. The host calls it when there is room.
    Writes,
    /// It reads everything and ignores the contents. The host may read and discard the data itself.
    Drains,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed and acknowledged.
    Normal,
    /// The peer refused or reset the connection.
    Reset,
    /// The connection gave up after repeated retransmissions without an answer.
    TimedOut,
}

/// A measurement that an application reports to its host, which enters it into the tables of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A transfer begins now. The application at the other end reports [`Report::Delivered`].
    Begun,
    /// The application has read the last byte of the transfer that began most recently.
    Delivered {
        /// Size of the whole transfer.
        size: Bytes,
    },
    /// An object, a page or another operation is complete now.
    Completed {
        /// Kind of operation: `object`, `page`, `connect` and so on.
        what: &'static str,
        /// Time at which the operation began.
        start: Time,
        /// Bytes that the operation delivered.
        size: Bytes,
    },
    /// One step of the controller of a fetch over several connections.
    Fetching(Step),
}

/// One end of a flow, as a state machine: the host calls it on events, and it acts through `io`. No method blocks.
///
/// # Examples
///
/// ```
/// use lopsided_app::{Application, SocketEvent, SocketId, Sockets};
/// use lopsided_core::Payload;
///
/// /// Opens a connection, sends one greeting, and closes.
/// #[derive(Debug)]
/// struct Greeter;
///
/// impl Application for Greeter {
///     fn on_start(&mut self, io: &mut dyn Sockets) {
///         io.connect();
///     }
///
///     fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets) {
///         if event == SocketEvent::Connected {
///             io.write(socket, &Payload::real(b"hello".to_vec()));
///             io.close(socket);
///         }
///     }
/// }
///
/// assert_eq!(Greeter.next_timeout(), None);
/// ```
pub trait Application: Debug + Send {
    /// The flow begins. The host calls this once, at the scenario's start time plus its jitter.
    fn on_start(&mut self, io: &mut dyn Sockets);

    /// Handles an event on one of this application's sockets.
    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets);

    /// Handles a datagram that arrived on the flow's own pair of ports. `sent_at` is the time at which the peer's host
    /// sent the datagram.
    fn on_datagram(&mut self, _payload: &Payload, _sent_at: Time, _io: &mut dyn Sockets) {}

    /// The time of [`Application::next_timeout`] has come. A call before that time must do nothing.
    fn on_timeout(&mut self, _io: &mut dyn Sockets) {}

    /// How this application handles [`SocketEvent::Ready`]. The answer must not change: the host reads it once.
    fn on_ready(&self) -> OnReady {
        OnReady::Acts
    }

    /// The time at which to call [`Application::on_timeout`], or `None` for never. The host reads it again after each
    /// call of another method.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// The flow ends at the `stop` time of the scenario, before the run ends.
    fn on_stop(&mut self, _io: &mut dyn Sockets) {}
}

/// The services that an application may use: the sockets of its own flow, the time, and random numbers.
///
/// The host that runs the application implements this trait. See [`Application`] for an example of its use.
///
/// # Examples
///
/// A function that fills the send buffer of a socket, as an application does on [`SocketEvent::Ready`]:
///
/// ```
/// use lopsided_app::{SocketId, Sockets};
/// use lopsided_core::Payload;
///
/// fn fill(io: &mut dyn Sockets, socket: SocketId) -> u64 {
///     let room = u32::try_from(io.writable(socket)).unwrap_or(u32::MAX);
///     io.write(socket, &Payload::virtual_len(room))
/// }
/// ```
pub trait Sockets {
    /// The current time, since the start of the run.
    fn now(&self) -> Time;

    /// The application's own random stream, seeded by its flow and side.
    fn rng(&mut self) -> &mut Rng;

    /// Opens a connection to the other end of the flow. Returns `None` if the host has no free port now.
    fn connect(&mut self) -> Option<SocketId>;

    /// Opens another stream on the connection of `of`. The stream is a socket of its own. Returns `None` if the
    /// transport has no streams; open another connection then.
    fn open_stream(&mut self, of: SocketId) -> Option<SocketId> {
        let _ = of;
        None
    }

    /// Appends as much of the payload as the send buffer has room for, and returns the number of bytes taken. Returns 0
    /// if the socket is closed or unknown.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u64;

    /// Number of bytes that [`Sockets::write`] would take now.
    fn writable(&self, socket: SocketId) -> u64;

    /// Returns all data that can be read now, and removes it from the receive buffer.
    fn read(&mut self, socket: SocketId) -> Payload;

    /// The ranges of the data read since the last call that were never received. Each range is a position in the peer's
    /// stream, and the data read holds zeros there. Empty unless the stack has `placeholders`.
    fn placeholders(&mut self, socket: SocketId) -> Vec<Range<u64>> {
        let _ = socket;
        Vec::new()
    }

    /// Sends a FIN after the data written so far.
    fn close(&mut self, socket: SocketId);

    /// Ends the connection with a reset. No further event follows, not even [`SocketEvent::Closed`].
    fn abort(&mut self, socket: SocketId);

    /// State of the connection, or `None` if there is no such socket.
    fn state(&self, socket: SocketId) -> Option<State>;

    /// State of the connection as Linux reports it in `TCP_INFO`, or `None` if there is no such socket.
    fn info(&self, socket: SocketId) -> Option<TcpInfo>;

    /// Sends a datagram to the other end of the flow.
    fn send_datagram(&mut self, payload: Payload);

    /// Reports a measurement to the host.
    fn report(&mut self, report: Report);
}

/// One end of a flow. Data flows from `From` to `To`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that sends data.
    From,
    /// The end that receives data.
    To,
}

impl Side {
    /// The opposite end.
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
    /// The application at the sender of data.
    pub from: Box<dyn Application>,
    /// The application at the receiver of data.
    pub to: Box<dyn Application>,
    /// The side that waits for the other side to open a connection.
    pub listener: Side,
    /// True if the applications exchange datagrams instead of opening connections.
    pub datagrams: bool,
}
