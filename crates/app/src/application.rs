//! The interface between an application and the host that runs it.

use lopsided_core::{Bytes, Payload, Rng, Time};
use lopsided_rdra::Step;
use lopsided_tcp::{State, TcpInfo};
use std::fmt::Debug;
use std::ops::Range;

/// Number that identifies a socket between an application and its host. A socket is a connection, or one stream of a
/// connection if the transport has streams.
///
/// The host may assign the number again after [`SocketEvent::Closed`] or an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

/// An event on one socket, reported to the application that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The handshake of a connection that this application opened is complete.
    Connected,
    /// A peer opened a connection to this application.
    Accepted,
    /// The socket may have data to read or free space to write.
    Ready,
    /// The peer will send no more data. All data before its FIN can be read.
    PeerClosed,
    /// The connection has ended. This is the last event of the socket.
    Closed(CloseReason),
}

/// The application's reaction to [`SocketEvent::Ready`]. The host uses the reaction to skip calls that would have no
/// effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReady {
    /// The application may do anything, so the host must call it each time.
    #[default]
    Acts,
    /// The application only writes. The host calls it only if the buffer has free space.
    Writes,
    /// The application reads all data and ignores the contents. The host may therefore discard the data without calling
    /// the application.
    Drains,
}

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both directions were closed and acknowledged.
    Normal,
    /// The peer refused or reset the connection.
    Reset,
    /// The connection was aborted after repeated retransmissions without an ACK.
    TimedOut,
}

/// A measurement that an application reports to its host. The host adds it to the tables of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A transfer begins at the time of the report. The application at the other end reports [`Report::Delivered`].
    Begun,
    /// The application has read the last byte of the current transfer.
    Delivered {
        /// Size of the whole transfer.
        size: Bytes,
    },
    /// An operation, such as the download of an object or a page, is complete.
    Completed {
        /// Kind of the operation, such as `object`, `page` or `connect`.
        what: &'static str,
        /// Time at which the operation began.
        start: Time,
        /// Bytes that the operation delivered.
        size: Bytes,
    },
    /// One step of the controller that fetches an object over several connections.
    Fetching(Step),
}

/// One end of a flow, as a state machine. The host calls its methods on events, and the application acts through `io`.
/// No method blocks.
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
    /// Starts the application. The host calls this method once, at the start time of the flow plus jitter.
    fn on_start(&mut self, io: &mut dyn Sockets);

    /// Handles an event on one of this application's sockets.
    fn on_event(&mut self, socket: SocketId, event: SocketEvent, io: &mut dyn Sockets);

    /// Handles a datagram that arrived on the flow's ports. `sent_at` is the time at which the peer's host sent it.
    fn on_datagram(&mut self, _payload: &Payload, _sent_at: Time, _io: &mut dyn Sockets) {}

    /// Handles the timeout that [`Application::next_timeout`] returned. A call before that time must have no effect.
    fn on_timeout(&mut self, _io: &mut dyn Sockets) {}

    /// Returns the application's reaction to [`SocketEvent::Ready`]. The value must be constant, because the host reads
    /// it only once.
    fn on_ready(&self) -> OnReady {
        OnReady::Acts
    }

    /// Returns the time of the next [`Application::on_timeout`]; `None` for no timeout. The host reads the time again
    /// after each call.
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Handles the end of the flow at the `stop` time of the scenario. Not called if the run ends first.
    fn on_stop(&mut self, _io: &mut dyn Sockets) {}
}

/// The services that an application may use: the sockets of its own flow, the time, and random numbers.
///
/// The host implements this trait. See [`Application`] for an example of its use.
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
    /// Returns the current virtual time.
    fn now(&self) -> Time;

    /// Returns the application's own random number generator, which is seeded from the flow and the side.
    fn rng(&mut self) -> &mut Rng;

    /// Opens a connection to the other end of the flow. Returns `None` if the host has no free port.
    fn connect(&mut self) -> Option<SocketId>;

    /// Opens another stream on the connection of the socket `of`, and returns its socket. Returns `None` if the
    /// transport has no streams.
    fn open_stream(&mut self, of: SocketId) -> Option<SocketId> {
        let _ = of;
        None
    }

    /// Appends the part of the payload that fits into the send buffer, and returns the length of this part in bytes.
    /// Returns 0 if the socket is closed or unknown.
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u64;

    /// Returns the number of bytes that [`Sockets::write`] would accept.
    fn writable(&self, socket: SocketId) -> u64;

    /// Removes all readable data from the receive buffer and returns it.
    fn read(&mut self, socket: SocketId) -> Payload;

    /// Returns the byte ranges that never arrived and were read as zeros since the last call. Always empty unless the
    /// stack's setting `placeholders` is on.
    fn placeholders(&mut self, socket: SocketId) -> Vec<Range<u64>> {
        let _ = socket;
        Vec::new()
    }

    /// Sends a FIN after the data written so far.
    fn close(&mut self, socket: SocketId);

    /// Ends the connection with a reset. No further event follows, not even [`SocketEvent::Closed`].
    fn abort(&mut self, socket: SocketId);

    /// Returns the state of the connection; `None` if the socket does not exist.
    fn state(&self, socket: SocketId) -> Option<State>;

    /// Returns the state of the connection as Linux reports it in `TCP_INFO`; `None` if the socket does not exist.
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
    /// Returns the opposite end.
    pub fn other(self) -> Side {
        match self {
            Side::From => Side::To,
            Side::To => Side::From,
        }
    }
}

/// The two applications of a flow, one at each end.
#[derive(Debug)]
pub struct AppPair {
    /// The application at the data sender.
    pub from: Box<dyn Application>,
    /// The application at the data receiver.
    pub to: Box<dyn Application>,
    /// The side that listens for the connection.
    pub listener: Side,
    /// True if the applications exchange datagrams instead of opening connections.
    pub datagrams: bool,
}
