//! The interface between a host and a transport other than the host's own TCP, for example QUIC. A transport is one end
//! of a flow as a state machine.
//!
//! A host passes arriving packets, timeouts and the application's calls to the [`Transport`], and takes packets and
//! events from it. The host keeps time, owns the addresses and accounts for packets.
//!
//! A host calls in this order:
//!
//! 1. one input: [`Transport::handle_packet`], [`Transport::handle_timeout`], or a call of the application,
//! 2. [`Transport::poll_event`] until it returns `None`,
//! 3. [`Transport::poll_transmit`] until it returns `None`,
//! 4. [`Transport::poll_timeout`].
//!
//! The simulator's own TCP does not use this interface: the host calls [`lopsided_tcp::Connection`] directly.

use crate::{AppConfig, Opening, SocketEvent, SocketId};
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{Bytes, Duration, Ecn, Packet, Payload, Rng, Time, Transport as Header};
use lopsided_spec::{Fault, Part};
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Counters, StackConfig};
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};

/// The settings of a transport that a scenario can choose, including its keys.
///
/// # Examples
///
/// Settings without keys, which choose the host's own TCP. The data receiver opens the connection:
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
    /// Returns an error if this build does not contain the transport, or if no endpoint can be built with these
    /// settings. The error is a sentence for the author of the scenario.
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String>;

    /// Returns the end that opens the connection of a one-way transfer.
    fn opening(&self) -> Opening {
        Opening::Sender
    }

    /// Checks that the transport supports the flow's application and congestion control.
    ///
    /// # Errors
    /// Returns an error if a run with this flow would fail or would ignore one of its settings.
    fn check_flow(&self, _app: &AppConfig, _cc: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the keys of the TCP stack that this transport reads; `None` for all keys. All other keys are rejected.
    fn stack_keys(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Returns the size of the largest IP packet that an end with this stack sends.
    fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        stack.mtu()
    }

    /// Returns the size of the packet with which the data receiver opens a connection; `None` if it is no larger than
    /// an ACK.
    fn opening_packet(&self) -> Option<Bytes> {
        None
    }

    /// Returns true if middleboxes can read the transport's ACKs, as with TCP.
    fn shows_acks(&self) -> bool {
        true
    }
}

/// The parameters of one end of a flow.
#[derive(Clone)]
pub struct TransportEnd {
    /// True if this end opens connections; the other end waits for them.
    pub opens: bool,
    /// True if this end sends the flow's data.
    pub sends: bool,
    /// True if the application discards all data, so the transport need not store contents.
    pub drains: bool,
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end; always set at the end that opens connections.
    pub remote: Option<SocketAddr>,
    /// Random number generator for all random choices of the endpoint.
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

/// A packet that an endpoint sends. The host adds the IP addresses.
#[derive(Debug)]
pub struct Datagram {
    /// The transport header.
    pub header: Header,
    /// The data after the header.
    pub payload: Payload,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// The state of one connection, as shown in the tables of flows and samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransportInfo {
    /// The congestion state in TCP's terms: `open` or `recovery`.
    pub state: &'static str,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` before the first reduction.
    pub ssthresh: Option<Bytes>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Variation of the RTT.
    pub rttvar: Duration,
    /// Current retransmission timeout.
    pub rto: Duration,
    /// Number of bytes sent and not yet acknowledged.
    pub in_flight: Bytes,
    /// Number of bytes beyond the last acknowledged byte that the peer's flow control permits; 0 if unknown.
    pub snd_wnd: Bytes,
    /// Number of bytes that the application read in the last RTT; 0 if not measured.
    pub rcv_space: Bytes,
    /// Counters since the start of the connection.
    pub counters: Counters,
}

/// One end of a flow over a transport other than the host's own TCP. The transport chooses the numbers of its sockets,
/// which must be below 2^31.
///
/// # Examples
///
/// The calls of a host when a timeout is due. The repository's `examples/own-transport` implements the trait for
/// smoltcp.
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
    /// Opens a connection, and a socket on this connection. Returns `None` if no connection can be opened now.
    fn connect(&mut self, now: Time) -> Option<SocketId>;

    /// Opens a stream on a socket's connection; `None` without streams or if the socket is closed.
    fn open_stream(&mut self, _now: Time, _of: SocketId) -> Option<SocketId> {
        None
    }

    /// Accepts at most [`Transport::writable`] bytes of the payload, and returns the number of bytes accepted.
    fn write(&mut self, now: Time, socket: SocketId, payload: &Payload) -> u64;

    /// Returns the number of bytes that [`Transport::write`] would accept.
    fn writable(&self, socket: SocketId) -> u64;

    /// Removes all readable data from the receive buffer and returns it.
    fn read(&mut self, now: Time, socket: SocketId) -> Payload;

    /// Ends the sending direction after the data written so far.
    fn close(&mut self, now: Time, socket: SocketId);

    /// Aborts the socket. No further event of the socket follows.
    fn abort(&mut self, now: Time, socket: SocketId);

    /// Returns the state of the socket; `None` if the socket does not exist.
    fn state(&self, socket: SocketId) -> Option<lopsided_tcp::State>;

    /// Handles a packet that arrived for this end's port.
    fn handle_packet(&mut self, now: Time, packet: &Packet);

    /// Handles the timeout that [`Transport::poll_timeout`] returned. A call before that time must have no effect.
    fn handle_timeout(&mut self, now: Time);

    /// Returns the next packet to send; `None` if no packet may be sent now.
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram>;

    /// Returns the time at which to call [`Transport::handle_timeout`]; `None` for no timeout. If the time is in the
    /// past, the call is due now.
    fn poll_timeout(&self) -> Option<Time>;

    /// Returns the next event of any socket, in order. After [`SocketEvent::Closed`] the socket's number may be reused.
    fn poll_event(&mut self) -> Option<(SocketId, SocketEvent)>;

    /// Returns the states of the connections that have not ended, the oldest first.
    fn connections(&self, now: Time) -> Vec<TransportInfo>;

    /// Returns the summed counters of ended connections, and the smoothed RTT of the connection that ended last.
    fn past(&self) -> (Counters, Option<Duration>);

    /// Returns the sum of the congestion windows in bytes; `None` without a connection. Called after every packet.
    fn cwnd(&self) -> Option<u64>;

    /// Calls `each` with every RTT sample since the last call.
    fn take_rtts(&mut self, each: &mut dyn FnMut(Duration));

    /// Starts to record events of these kinds. [`Transport::poll_trace`] returns them.
    fn listen_to(&mut self, _kinds: TcpEventMask) {}

    /// Returns the next recorded event, in order. Returns `None` if there is no event or if [`Transport::listen_to`]
    /// was not called.
    fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        None
    }
}

impl TransportEnd {
    /// Returns the IP address of the other end; `None` if it is not yet known.
    pub fn remote_ip(&self) -> Option<IpAddr> {
        self.remote.map(|remote| remote.ip())
    }
}
