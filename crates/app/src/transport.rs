//! The contract between a host and a transport other than the host's own TCP, for example QUIC: one end of a flow as a
//! state machine.
//!
//! A host gives each end of such a flow a [`Transport`]. The host passes the arriving packets of the flow's port, the
//! timeouts and the application's calls to the transport, and takes packets and events from it. The host keeps time,
//! owns the addresses and accounts for packets. Links, queues, digests, captures and tables treat these packets like
//! any other.
//!
//! A host calls in this order:
//!
//! 1. one input: [`Transport::handle_packet`], [`Transport::handle_timeout`], or a call of the application,
//! 2. [`Transport::poll_event`] until it returns `None`,
//! 3. [`Transport::poll_transmit`] until it returns `None`,
//! 4. [`Transport::poll_timeout`].
//!
//! The simulator's own TCP does not use this contract: its host drives [`lopsided_tcp::Connection`] directly.

use crate::{AppConfig, Opening, SocketEvent, SocketId};
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{Bytes, Duration, Ecn, Packet, Payload, Rng, Time, Transport as Header};
use lopsided_spec::{Fault, Part};
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Counters, StackConfig};
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};

/// A transport as a scenario chooses it: settings with keys of their own, from which the endpoints are built.
///
/// # Examples
///
/// Settings without keys that choose the host's own TCP, opened by the receiver of the data:
///
/// ```
/// use lopsided_app::{Opening, Transport, TransportEnd, TransportSettings};
/// use lopsided_spec::{Key, Part};
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Pulled;
///
/// impl Part for Pulled {
///     const NAME: &'static str = "pulled";
///     const TEXT: &'static str = "TCP, opened by the receiver.";
///     const KEYS: &'static [Key<Pulled>] = &[];
/// }
///
/// impl TransportSettings for Pulled {
///     fn build(&self, _end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
///         Ok(None)
///     }
///
///     fn opening(&self) -> Opening {
///         Opening::Receiver
///     }
/// }
///
/// assert!(Pulled.shows_acks());
/// ```
pub trait TransportSettings: Part {
    /// Builds one end of a flow. Returns `None` for the host's own TCP.
    ///
    /// # Errors
    /// If this build of the program or these settings cannot make the endpoint. The error is a sentence for the author
    /// of the scenario.
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String>;

    /// The end of a one-way transfer that opens the connection.
    fn opening(&self) -> Opening {
        Opening::Sender
    }

    /// Checks that the transport supports the flow's application and congestion control. The fault names a key of the
    /// flow.
    ///
    /// # Errors
    /// If a run with this flow would fail or would ignore one of its settings.
    fn check_flow(&self, _app: &AppConfig, _cc: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// The keys of TCP's stack that apply to this transport, or `None` if all do. A flow with another stack key is
    /// rejected.
    fn stack_keys(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Size of the largest IP packet that an end with this stack sends.
    fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        stack.mtu()
    }

    /// Size of the packet that the receiver of data must send to open a connection, if that packet is larger than an
    /// ACK.
    fn opening_packet(&self) -> Option<Bytes> {
        None
    }

    /// True if middleboxes can read the transport's ACKs, as they can read TCP's.
    fn shows_acks(&self) -> bool {
        true
    }
}

/// The facts from which one end of a flow is built.
#[derive(Clone)]
pub struct TransportEnd {
    /// True if this end opens connections; the other end waits for them.
    pub opens: bool,
    /// True if this end sends the flow's data.
    pub sends: bool,
    /// True if the application discards everything it reads, so the transport need not keep contents.
    pub drains: bool,
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end. Always set at the end that opens connections.
    pub remote: Option<SocketAddr>,
    /// Random stream for every random choice of the endpoint.
    pub rng: Rng,
    /// Name of the congestion control.
    pub cc: String,
    /// Builds a congestion controller of that name.
    pub make_controller: ControllerFactory,
    /// The TCP settings of this end. Other transports use the MTU and the DSCP.
    pub stack: StackConfig,
}

impl Debug for TransportEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransportEnd")
            .field("opens", &self.opens)
            .field("local", &self.local)
            .field("remote", &self.remote)
            .field("cc", &self.cc)
            .finish_non_exhaustive()
    }
}

/// A packet that an endpoint wants to send. The host adds the IP addresses.
#[derive(Debug)]
pub struct Datagram {
    /// The transport header.
    pub header: Header,
    /// The data behind the header.
    pub payload: Payload,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// The state of one connection, as the tables of flows and samples show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransportInfo {
    /// The congestion state in TCP's words: `open` or `recovery`.
    pub state: &'static str,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold, or `None` before the first reduction.
    pub ssthresh: Option<Bytes>,
    /// Smoothed RTT, or `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Variation of the RTT.
    pub rttvar: Duration,
    /// Timeout of the next retransmission.
    pub rto: Duration,
    /// Bytes sent and not yet acknowledged.
    pub in_flight: Bytes,
    /// Bytes that the peer's flow control allows beyond the acknowledged ones; 0 if the endpoint cannot say.
    pub snd_wnd: Bytes,
    /// Bytes that the application read in the last RTT; 0 if the endpoint does not measure this.
    pub rcv_space: Bytes,
    /// Counters since the start of the connection.
    pub counters: Counters,
}

/// One end of a flow over a transport other than the host's own TCP. A socket is a connection, or one stream of a
/// connection. The endpoint chooses the sockets' numbers, below 2^31.
///
/// # Examples
///
/// The calls of a host when a timeout is due. `examples/own-transport` of the repository implements the trait for smoltcp.
///
/// ```
/// use lopsided_app::{Datagram, SocketEvent, SocketId, Transport};
/// use lopsided_core::Time;
///
/// fn on_timeout(end: &mut dyn Transport, now: Time) -> (Vec<(SocketId, SocketEvent)>, Vec<Datagram>, Option<Time>) {
///     end.handle_timeout(now);
///     let events = std::iter::from_fn(|| end.poll_event()).collect();
///     let datagrams = std::iter::from_fn(|| end.poll_transmit(now)).collect();
///     (events, datagrams, end.poll_timeout())
/// }
/// ```
pub trait Transport: Debug + Send {
    /// Opens a connection and a socket on it. Returns `None` if no connection can be opened now.
    fn connect(&mut self, now: Time) -> Option<SocketId>;

    /// Opens a stream on the connection of a socket. Returns `None` if the transport has no streams or the socket is
    /// closed.
    fn open_stream(&mut self, _now: Time, _of: SocketId) -> Option<SocketId> {
        None
    }

    /// Takes at most [`Transport::writable`] bytes of the payload, and returns the number of bytes taken.
    fn write(&mut self, now: Time, socket: SocketId, payload: &Payload) -> u64;

    /// Number of bytes that [`Transport::write`] would take now.
    fn writable(&self, socket: SocketId) -> u64;

    /// Returns all data that can be read now, and removes it from the receive buffer.
    fn read(&mut self, now: Time, socket: SocketId) -> Payload;

    /// Ends the sending direction after the data written so far.
    fn close(&mut self, now: Time, socket: SocketId);

    /// Ends the socket at once. No further event follows for it.
    fn abort(&mut self, now: Time, socket: SocketId);

    /// State of the socket, or `None` if there is no such socket.
    fn state(&self, socket: SocketId) -> Option<lopsided_tcp::State>;

    /// Handles a packet that arrived for this end's port.
    fn handle_packet(&mut self, now: Time, packet: &Packet);

    /// The time of [`Transport::poll_timeout`] has come. A call before that time must do nothing.
    fn handle_timeout(&mut self, now: Time);

    /// The next packet to send, or `None` if nothing may be sent now.
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram>;

    /// The time at which to call [`Transport::handle_timeout`], or `None` for never. A time in the past means now.
    fn poll_timeout(&self) -> Option<Time>;

    /// The next event on a socket, in order. The socket's number is free after [`SocketEvent::Closed`].
    fn poll_event(&mut self) -> Option<(SocketId, SocketEvent)>;

    /// State of the connections that are not over, the oldest first.
    fn connections(&self, now: Time) -> Vec<TransportInfo>;

    /// Counters of the connections that are over, and the last of their smoothed RTTs.
    fn past(&self) -> (Counters, Option<Duration>);

    /// Sum of the congestion windows in bytes, or `None` without a connection. Must be cheap: the host calls this after
    /// every packet.
    fn cwnd(&self) -> Option<u64>;

    /// Passes each RTT sample taken since the last call to `each`.
    fn take_rtts(&mut self, each: &mut dyn FnMut(Duration));

    /// Records events of these kinds from now on, until [`Transport::poll_trace`] takes them.
    fn listen_to(&mut self, _kinds: TcpEventMask) {}

    /// The next recorded event, in order. `None` before [`Transport::listen_to`].
    fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        None
    }
}

impl TransportEnd {
    /// IP address of the other end, to which its packets go.
    pub fn remote_ip(&self) -> Option<IpAddr> {
        self.remote.map(|remote| remote.ip())
    }
}
