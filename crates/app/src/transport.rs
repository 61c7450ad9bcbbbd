//! The contract between a host and a transport that is not the host's own TCP: one end of a flow as a state machine.
//!
//! A host gives each end of such a flow a [`Transport`]. It hands it the packets that arrive for the flow's port and its
//! timeouts, takes packets and events from it, and passes the application's calls on to it. The host keeps time, owns the
//! addresses, and does the accounting of packets. Everything above (links, queues, digests, captures, tables) sees packets
//! like any other.
//!
//! A host calls in this order: an input ([`Transport::handle_packet`], [`Transport::handle_timeout`], or a call of the
//! application), then [`Transport::poll_event`] until `None`, then [`Transport::poll_transmit`] until `None`, then
//! [`Transport::poll_timeout`].
//!
//! The simulator's own TCP does not go through this contract: its host drives [`lopsided_tcp::Connection`] directly.

use crate::{AppConfig, Opening, SocketEvent, SocketId};
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{Bytes, Duration, Ecn, Packet, Payload, Rng, Time, Transport as Header};
use lopsided_spec::{Fault, Part};
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{Counters, StackConfig};
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};

/// A transport as a scenario chooses it: settings with keys of their own, and the endpoint that is built from them.
pub trait TransportSettings: Part {
    /// Builds one end of a flow; `None` for the host's own TCP.
    ///
    /// # Errors
    /// If this build or these settings cannot make the endpoint: a sentence for the author of the scenario.
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String>;

    /// Which end of a one-way transfer opens the connection.
    fn opening(&self) -> Opening {
        Opening::Sender
    }

    /// What the transport cannot do of what a flow wants: an application, or a congestion control. The fault's key is one of
    /// the flow's.
    ///
    /// # Errors
    /// If a run with this flow would fail or ignore one of its settings.
    fn check_flow(&self, _app: &AppConfig, _cc: &str) -> Result<(), Fault> {
        Ok(())
    }

    /// The keys of TCP's stack that have a meaning for this transport; `None` for all. The others are refused on a flow.
    fn stack_keys(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The largest IP packet that an end with this stack sends.
    fn largest_packet(&self, stack: &StackConfig) -> Bytes {
        stack.mtu()
    }

    /// The packet that must pass from the receiver of data to its sender for a connection to be opened, if it is larger than
    /// an acknowledgement.
    fn opening_packet(&self) -> Option<Bytes> {
        None
    }

    /// Whether boxes in the network can read its acknowledgements, as they can read TCP's.
    fn shows_acks(&self) -> bool {
        true
    }
}

/// What one end of a flow is built from.
#[derive(Clone)]
pub struct TransportEnd {
    /// This end opens connections; the other waits for them.
    pub opens: bool,
    /// This end sends the flow's data.
    pub sends: bool,
    /// The application reads all there is and does nothing with it: contents need not be kept.
    pub drains: bool,
    pub local: SocketAddr,
    /// Known at the end that opens.
    pub remote: Option<SocketAddr>,
    /// For every random choice of the endpoint.
    pub rng: Rng,
    /// The congestion control's name, and what makes it.
    pub cc: String,
    pub make_controller: ControllerFactory,
    /// What the scenario says of this end's TCP: the MTU and the DSCP hold for other transports too.
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

/// A packet that an endpoint wants to send: all but the IP addresses, which are the host's.
#[derive(Debug)]
pub struct Datagram {
    pub header: Header,
    pub payload: Payload,
    pub ecn: Ecn,
}

/// The state of one connection, as the tables of flows and samples show it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransportInfo {
    /// The congestion state, in the words of TCP's: `open`, `recovery`.
    pub state: &'static str,
    pub cwnd: Bytes,
    pub ssthresh: Option<Bytes>,
    pub srtt: Option<Duration>,
    pub rttvar: Duration,
    pub rto: Duration,
    pub in_flight: Bytes,
    /// What the peer's flow control allows beyond what is acknowledged; zero if the endpoint does not know.
    pub snd_wnd: Bytes,
    /// What the application read in the last round trip; zero if the endpoint does not measure it.
    pub rcv_space: Bytes,
    pub counters: Counters,
}

/// One end of a flow over a transport of its own. Sockets are connections, or streams of one connection. Their numbers are
/// the endpoint's choice, below 2^31.
pub trait Transport: Debug + Send {
    /// Opens a connection and a socket on it. `None` if none can be opened now.
    fn connect(&mut self, now: Time) -> Option<SocketId>;

    /// Opens a stream on the connection of a socket; `None` if the transport has no streams or the socket is closed.
    fn open_stream(&mut self, _now: Time, _of: SocketId) -> Option<SocketId> {
        None
    }

    /// Takes as much of the payload as [`Transport::writable`] said; returns the number of octets.
    fn write(&mut self, now: Time, socket: SocketId, payload: &Payload) -> u64;

    /// Octets that a write would take now.
    fn writable(&self, socket: SocketId) -> u64;

    /// All that can be read.
    fn read(&mut self, now: Time, socket: SocketId) -> Payload;

    /// Ends the sending direction behind what was written.
    fn close(&mut self, now: Time, socket: SocketId);

    /// Ends the socket at once. Nothing more is told of it.
    fn abort(&mut self, now: Time, socket: SocketId);

    /// The socket can still send; `None` if there is no such socket.
    fn state(&self, socket: SocketId) -> Option<lopsided_tcp::State>;

    /// A packet for this end's port arrived.
    fn handle_packet(&mut self, now: Time, packet: &Packet);

    /// The time of [`Transport::poll_timeout`] has come. A call before it does nothing.
    fn handle_timeout(&mut self, now: Time);

    /// The next packet to send, if there is one.
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram>;

    /// When to call [`Transport::handle_timeout`]; `None` for never. A time in the past means now.
    fn poll_timeout(&self) -> Option<Time>;

    /// What happened to sockets, in order. After [`SocketEvent::Closed`] the number is free.
    fn poll_event(&mut self) -> Option<(SocketId, SocketEvent)>;

    /// The connections that are not over, the oldest first.
    fn connections(&self, now: Time) -> Vec<TransportInfo>;

    /// The counters of the connections that are over, and the smoothed RTT of the last of them.
    fn past(&self) -> (Counters, Option<Duration>);

    /// The sum of the congestion windows; `None` without a connection. Cheap: asked after every packet.
    fn cwnd(&self) -> Option<u64>;

    /// Takes the round-trip times of the packets acknowledged since the last call.
    fn take_rtts(&mut self, each: &mut dyn FnMut(Duration));

    /// From now on keeps events of these kinds until they are polled.
    fn listen_to(&mut self, _kinds: TcpEventMask) {}

    /// What happened inside the endpoint, in order; nothing before [`Transport::listen_to`].
    fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        None
    }
}

impl TransportEnd {
    /// The address of the other end, where a packet for it goes.
    pub fn remote_ip(&self) -> Option<IpAddr> {
        self.remote.map(|remote| remote.ip())
    }
}
