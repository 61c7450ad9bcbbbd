//! The sockets of a host (connections and datagrams), and the interface through which applications use them.

use super::connection_factory::ConnectionFactory;
use super::flow_meter::{Counted, FlowMeter};
use super::known_paths::KnownPaths;
use super::ports::Ports;
use lopsided_app::{OnReady, Report, SocketId, Sockets, Transport};
use lopsided_core::packet::Addresses;
use lopsided_core::tcp_event::TcpEventMask;
use lopsided_core::{FlowId, IpHeader, Payload, Rng, Time};
use lopsided_net::EventQueue;
use lopsided_tcp::{Connection, Endpoint, State, TcpInfo};
use std::collections::VecDeque;
use std::net::{IpAddr, Shutdown};
use std::ops::Range;

/// A connection, its application, and its addresses.
#[derive(Debug)]
pub(crate) struct Conn {
    /// The state machine.
    pub connection: Connection,
    /// Index of the application.
    pub app: u32,
    /// The flow.
    pub flow: FlowId,
    /// IP header of all segments, except for the ECN field.
    pub ip: IpHeader,
    /// True until the application is notified of the connection's end.
    pub live: bool,
    /// The part of this connection's statistics that the flow's meter has already counted.
    pub counted: Counted,
    /// Ranges that the application has read as placeholders for lost data, and that it has not queried yet.
    pub placeholders: Vec<Range<u64>>,
}

impl Conn {
    /// Updates the measurements after an event of the connection. Returns true if the application must be notified.
    #[inline(always)]
    pub fn pass_on(&mut self, of_app: &mut AppSlot, now: Time) -> bool {
        // Only the data sender measures windows and RTTs.
        if self.live && of_app.sends {
            of_app.meter.watch(now, &self.connection, &mut self.counted);
        }
        if of_app.on_ready == OnReady::Acts || self.connection.has_events() {
            return true;
        }
        let open = self.live && self.connection.state() != State::SynSent;
        match of_app.on_ready {
            // Most receiving applications only read and discard the data, so the host reads the data without calling
            // the application.
            OnReady::Drains if open => {
                of_app.meter.delivered_bytes += self.read(now).1;
                false
            }
            // A sending application is notified only if it can write.
            _ => open && self.connection.writable() > 0,
        }
    }

    /// Reads all available data. Returns the data and the number of delivered bytes, which excludes placeholders.
    #[inline(always)]
    pub fn read(&mut self, now: Time) -> (Payload, u64) {
        let read = self.connection.read(now, u64::from(u32::MAX)).unwrap_or(Payload::EMPTY);
        // A placeholder is a range of zeros that replaces lost data. The application may repair the range later.
        let missing = if self.connection.takes_placeholders() { self.note_placeholders() } else { 0 };
        let delivered = u64::from(read.len()) - missing;
        (read, delivered)
    }

    /// Stores the ranges that were read as placeholders, and returns their total length in bytes.
    #[cold]
    fn note_placeholders(&mut self) -> u64 {
        let missing = self.connection.take_placeholders();
        let octets = missing.iter().map(|range| range.end - range.start).sum();
        self.placeholders.extend(missing);
        octets
    }
}

/// The state that the host stores for one application.
#[derive(Debug)]
pub(crate) struct AppSlot {
    pub flow: FlowId,
    /// The DSCP of all packets of the application.
    pub dscp: u8,
    /// True if this application sends the flow's data. RTTs and congestion windows are measured only at that end.
    pub sends: bool,
    /// The reaction of the application when one of its sockets is ready.
    pub on_ready: OnReady,
    /// The remote end. Its port is known in advance only at the end that opens the connection.
    pub remote: Option<Endpoint>,
    /// Creates connections; `None` for datagrams.
    pub factory: Option<ConnectionFactory>,
    /// The flow's transport, if it is not the host's TCP.
    pub foreign: Option<Box<dyn Transport>>,
    /// True if this end opens the flow's connections.
    pub opens: bool,
    /// The local port of datagrams, or the listening port.
    pub port: Option<u16>,
    /// The live connections, in the order in which they were opened.
    pub live: Vec<u32>,
    /// All existing connections that this end accepted, with their remote ends. Empty if this end opens connections.
    pub accepted: Vec<(Endpoint, u32)>,
    /// Datagrams that wait to be sent; `None` before the first.
    #[expect(clippy::box_collection, reason = "few applications send datagrams")]
    pub datagrams: Option<Box<VecDeque<Payload>>>,
    /// Random number generator of the application.
    pub rng: Rng,
    /// Start time of the flow; `None` once the flow has started.
    pub start: Option<Time>,
    /// Stop time of the flow; `None` once the flow has stopped.
    pub stop: Option<Time>,
    /// Measurements of the flow at this end.
    pub meter: FlowMeter,
}

impl AppSlot {
    /// Returns the time at which the host must next start or stop the application.
    pub fn next_edge(&self) -> Option<Time> {
        match (self.start, self.stop) {
            (Some(start), Some(stop)) => Some(start.min(stop)),
            (start, stop) => start.or(stop),
        }
    }
}

/// The sockets of all applications of a host.
#[derive(Debug)]
pub(crate) struct HostSockets {
    /// State of each application.
    pub apps: Vec<AppSlot>,
    /// Connections by slot; `None` for a free slot.
    pub conns: Vec<Option<Box<Conn>>>,
    /// Free slots.
    pub free: Vec<u32>,
    /// Owners of local ports.
    pub ports: Ports,
    /// Known path MTUs, and metrics of ended connections.
    pub paths: KnownPaths,
    /// One time for each application, then one for each connection. A time may be too early but never too late.
    pub timers: EventQueue,
    /// Applications and connections that may have packets to send, numbered as in `timers`.
    pub ready: Vec<u32>,
    /// The kinds of TCP events that observers receive.
    pub trace: TcpEventMask,
}

impl HostSockets {
    pub fn new() -> HostSockets {
        HostSockets {
            apps: Vec::new(),
            conns: Vec::new(),
            free: Vec::new(),
            ports: Ports::default(),
            paths: KnownPaths::default(),
            timers: EventQueue::new(1),
            ready: Vec::new(),
            trace: TcpEventMask::NONE,
        }
    }

    /// Returns the connection in a slot.
    pub fn conn(&self, slot: u32) -> Option<&Conn> {
        self.conns.get(slot as usize)?.as_deref()
    }

    /// Returns the connection in a slot.
    pub fn conn_mut(&mut self, slot: u32) -> Option<&mut Conn> {
        self.conns.get_mut(slot as usize)?.as_deref_mut()
    }

    /// Returns a connection and its application.
    #[inline(always)]
    pub fn conn_and_app(&mut self, slot: u32) -> Option<(&mut Conn, &mut AppSlot)> {
        let conn = self.conns.get_mut(slot as usize)?.as_deref_mut()?;
        let of_app = &mut self.apps[conn.app as usize];
        Some((conn, of_app))
    }

    /// Returns a free slot for a new connection.
    pub fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            // Most hosts have one connection, so allocate no room for more.
            self.conns.reserve_exact(usize::from(self.conns.is_empty()));
            self.conns.push(None);
            self.timers.reserve(self.apps.len() + self.conns.len());
            self.conns.len() as u32 - 1
        })
    }

    /// Returns a connection's number in `timers` and `ready`.
    pub fn number(&self, slot: u32) -> u32 {
        self.apps.len() as u32 + slot
    }

    /// Puts a new connection of the application into its slot.
    pub fn install(&mut self, slot: u32, app: u32, mut connection: Connection, now: Time) {
        let of_app = &mut self.apps[app as usize];
        let mut counted = Counted::default();
        if of_app.sends {
            of_app.meter.open(now, &connection, &mut counted);
        }
        // Select the events to trace before the first event of the connection.
        connection.listen_to(self.trace);
        of_app.live.reserve_exact(usize::from(of_app.live.is_empty()));
        of_app.live.push(slot);
        let flow = of_app.flow;
        let ip = IpHeader {
            dscp: of_app.dscp,
            ..IpHeader::new(addresses(connection.local().addr, connection.remote().addr))
        };
        let conn = Conn { connection, app, flow, ip, live: true, counted, placeholders: Vec::new() };
        self.conns[slot as usize] = Some(Box::new(conn));
    }

    /// Stores the metrics of an ended connection, for the next connection to the same destination (Linux:
    /// `tcp_metrics`).
    pub fn remember(&mut self, slot: u32, now: Time) {
        let Some(conn) = self.conns[slot as usize].as_deref().filter(|conn| conn.live) else { return };
        if conn.connection.saves_metrics() {
            conn.connection.leave_metrics(now, self.paths.metrics_mut(conn.connection.remote().addr));
        }
    }

    /// Marks a connection as ended. Called before its application is notified. Returns false if the connection was
    /// already marked.
    pub fn end(&mut self, slot: u32, now: Time) -> bool {
        let Some(conn) = self.conns[slot as usize].as_deref_mut().filter(|conn| conn.live) else { return false };
        // Set `live` first. Otherwise the application could end the connection a second time.
        conn.live = false;
        let of_app = &mut self.apps[conn.app as usize];
        of_app.live.retain(|live| *live != slot);
        if of_app.sends {
            of_app.meter.close(now, &mut conn.connection, &mut conn.counted, of_app.live.is_empty());
        }
        true
    }

    /// Moves a timer to an earlier time. A call with a later time has no effect.
    #[inline]
    pub fn lower(&mut self, number: usize, due: Option<Time>) {
        self.timers.lower(number, due);
    }
}

/// This bit of a socket's number marks the sockets of foreign transports.
pub(super) const FOREIGN: u32 = 1 << 31;

/// Returns the number that a foreign transport assigned to a socket; `None` for a socket of the host's TCP.
fn foreign_socket(socket: SocketId) -> Option<SocketId> {
    (socket.0 & FOREIGN != 0).then_some(SocketId(socket.0 & !FOREIGN))
}

/// Returns the addresses of a packet from one end of a flow to the other end.
pub(crate) fn addresses(from: IpAddr, to: IpAddr) -> Addresses {
    Addresses::new(from, to).expect("the ends of a flow have one version of IP")
}

/// The sockets of one application, as passed to the application during a call.
pub(crate) struct Io<'a> {
    pub sockets: &'a mut HostSockets,
    /// Index of the application.
    pub app: u32,
    /// The current time.
    pub now: Time,
    /// A connection that the host will poll next anyway.
    pub polled: Option<u32>,
}

impl Io<'_> {
    /// Returns the connection of a socket; `None` if the connection is not live or belongs to another application.
    #[inline]
    fn own(&mut self, socket: SocketId) -> Option<&mut Conn> {
        let app = self.app;
        self.sockets.conn_mut(socket.0).filter(|conn| conn.app == app && conn.live)
    }

    /// Returns the application's foreign transport and its socket number; `None` for the host's TCP.
    #[cold]
    fn foreign(&mut self, socket: SocketId) -> Option<(&mut dyn Transport, SocketId)> {
        let own = foreign_socket(socket)?;
        self.sockets.ready.push(self.app);
        let transport = self.sockets.apps[self.app as usize].foreign.as_deref_mut()?;
        Some((transport, own))
    }

    /// Like [`Io::foreign`], but read-only.
    #[cold]
    fn foreign_at(&self, socket: SocketId) -> Option<(&dyn Transport, SocketId)> {
        let own = foreign_socket(socket)?;
        Some((self.sockets.apps[self.app as usize].foreign.as_deref()?, own))
    }

    /// Adds the connection to the list of connections that may have packets to send.
    #[inline]
    fn touch(&mut self, socket: SocketId) {
        // `ready` may contain an entry twice. The only cost is one additional poll.
        if self.polled != Some(socket.0) {
            self.sockets.ready.push(self.sockets.number(socket.0));
        }
    }
}

impl Sockets for Io<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.sockets.apps[self.app as usize].rng
    }

    fn connect(&mut self) -> Option<SocketId> {
        let now = self.now;
        if let Some(transport) = &mut self.sockets.apps[self.app as usize].foreign {
            let socket = transport.connect(now)?;
            self.sockets.ready.push(self.app);
            return Some(SocketId(socket.0 | FOREIGN));
        }
        let remote = self.sockets.apps[self.app as usize].remote?;
        let slot = self.sockets.free_slot();
        let Some(local_port) = self.sockets.ports.go_out(slot) else {
            // No port is free: each port is in use or in TIME-WAIT.
            self.sockets.free.push(slot);
            return None;
        };
        let factory = self.sockets.apps[self.app as usize].factory.as_mut()?;
        let path = self.sockets.paths.mtu(remote.addr, self.now);
        let remembered = self.sockets.paths.metrics(remote.addr);
        let connection = Connection::connect(factory.config(local_port, remote, path, remembered));
        self.sockets.install(slot, self.app, connection, self.now);
        self.touch(SocketId(slot));
        Some(SocketId(slot))
    }

    fn open_stream(&mut self, of: SocketId) -> Option<SocketId> {
        let now = self.now;
        let (transport, of) = self.foreign(of)?;
        transport.open_stream(now, of).map(|socket| SocketId(socket.0 | FOREIGN))
    }

    #[inline]
    fn write(&mut self, socket: SocketId, payload: &Payload) -> u64 {
        let now = self.now;
        let Some(conn) = self.own(socket) else {
            return self.foreign(socket).map_or(0, |(transport, socket)| transport.write(now, socket, payload));
        };
        let written = conn.connection.write(payload).unwrap_or(0);
        self.touch(socket);
        written
    }

    #[inline]
    fn writable(&self, socket: SocketId) -> u64 {
        let conn = self.sockets.conn(socket.0).filter(|conn| conn.app == self.app && conn.live);
        match conn {
            Some(conn) => conn.connection.writable(),
            None => self.foreign_at(socket).map_or(0, |(transport, socket)| transport.writable(socket)),
        }
    }

    #[inline]
    fn read(&mut self, socket: SocketId) -> Payload {
        let now = self.now;
        let Some(conn) = self.own(socket) else {
            let Some((transport, socket)) = self.foreign(socket) else { return Payload::EMPTY };
            let read = transport.read(now, socket);
            self.sockets.apps[self.app as usize].meter.delivered_bytes += u64::from(read.len());
            return read;
        };
        let (read, delivered) = conn.read(now);
        self.sockets.apps[self.app as usize].meter.delivered_bytes += delivered;
        self.touch(socket);
        read
    }

    fn placeholders(&mut self, socket: SocketId) -> Vec<Range<u64>> {
        self.own(socket).map_or_else(Vec::new, |conn| std::mem::take(&mut conn.placeholders))
    }

    fn close(&mut self, socket: SocketId) {
        if let Some(conn) = self.own(socket) {
            // Close only the sending direction, so that the application can still read.
            conn.connection.shutdown(Shutdown::Write);
            self.touch(socket);
            return;
        }
        let now = self.now;
        if let Some((transport, socket)) = self.foreign(socket) {
            transport.close(now, socket);
        }
    }

    fn abort(&mut self, socket: SocketId) {
        if let Some(conn) = self.own(socket) {
            conn.connection.abort();
            // The application itself ended the connection, so it is not notified.
            self.sockets.end(socket.0, self.now);
            self.touch(socket);
            return;
        }
        let now = self.now;
        if let Some((transport, socket)) = self.foreign(socket) {
            transport.abort(now, socket);
        }
    }

    #[inline]
    fn state(&self, socket: SocketId) -> Option<State> {
        match self.sockets.conn(socket.0).filter(|conn| conn.app == self.app) {
            Some(conn) => Some(conn.connection.state()),
            None => self.foreign_at(socket).and_then(|(transport, socket)| transport.state(socket)),
        }
    }

    fn info(&self, socket: SocketId) -> Option<TcpInfo> {
        self.sockets.conn(socket.0).filter(|conn| conn.app == self.app).map(|conn| conn.connection.info(self.now))
    }

    fn send_datagram(&mut self, payload: Payload) {
        self.sockets.apps[self.app as usize].datagrams.get_or_insert_default().push_back(payload);
        self.sockets.ready.push(self.app);
    }

    fn report(&mut self, report: Report) {
        self.sockets.apps[self.app as usize].meter.report(self.now, report);
    }
}
