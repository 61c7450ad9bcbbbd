//! A host: TCP connections and datagram ends behind one address, and the applications that use them.
//!
//! Leaves out: forwarding, RST for segments that belong to no connection (they are lost with the reason `no_socket`), and the
//! time that a real host takes to run.

mod counters;
mod interface;
mod ports;
mod tcp;
mod udp;

pub(crate) use counters::add_counters;
pub(crate) use interface::{Interface, Ring};
pub(crate) use ports::{FIRST_SERVICE, MAX_SERVICES};
pub(crate) use tcp::{Dialer, Meter, TcpSink, TcpSource, TcpSourceSpec};
pub(crate) use udp::{UdpSink, UdpSource};

use crate::agenda::Agenda;
use crate::meter::Moments;
use crate::router::Routes;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, DropReason, Ecn, FlowId, Ipv4Addr, Node, Packet, Payload, Port, Time, Transport};
use lopsided_tcp::Connection;
use ports::{Owner, Ports};

/// The time to live of what hosts send, as Linux has it.
const TTL: u8 = 64;

/// An application, at one end of one flow.
#[derive(Debug)]
pub(crate) enum App {
    TcpSource(Box<TcpSource>),
    TcpSink(Box<TcpSink>),
    UdpSource(Box<UdpSource>),
    UdpSink(Box<UdpSink>),
}

impl App {
    fn due(&self) -> Option<Time> {
        match self {
            App::TcpSource(source) => source.due(),
            App::UdpSource(source) => source.due(),
            App::TcpSink(_) | App::UdpSink(_) => None,
        }
    }
}

/// The far end of a connection or datagram flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remote {
    pub addr: Ipv4Addr,
    pub port: u16,
}

/// A connection and where it belongs.
#[derive(Debug)]
struct Conn {
    connection: Connection,
    app: u32,
    flow: FlowId,
    local_port: u16,
    remote: Remote,
}

/// What an application wants of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    /// A new connection to its peer.
    Connect,
}

#[derive(Debug)]
pub struct Host {
    addr: Ipv4Addr,
    /// Which port leads where; `None` for the usual host with one.
    routes: Option<Routes>,
    apps: Vec<(FlowId, App)>,
    conns: Vec<Option<Box<Conn>>>,
    free: Vec<u32>,
    ports: Ports,
    /// One time for each application, then one for each connection. A time may be earlier than the true one, never later:
    /// a timer that moved away is looked at when the old time comes, which costs less than moving it with every segment.
    timers: Agenda,
    /// Applications and connections, numbered as in `timers`, that may have something to send.
    ready: Vec<u32>,
    sent_packets: u64,
    /// The connection that the last segment was for.
    latest: u32,
    /// `None` for the usual host, whose packets reach the link at once.
    interface: Option<Box<Interface>>,
}

impl Host {
    pub(crate) fn new(addr: Ipv4Addr, routes: Option<Routes>, interface: Option<Interface>) -> Host {
        Host {
            addr,
            routes,
            apps: Vec::new(),
            conns: Vec::new(),
            free: Vec::new(),
            ports: Ports::default(),
            timers: Agenda::new(1),
            ready: Vec::new(),
            sent_packets: 0,
            latest: 0,
            interface: interface.map(Box::new),
        }
    }

    /// Adds the receiving application of a flow; gives its place and its port. `None`: the host has no port left.
    pub(crate) fn add_sink(&mut self, flow: FlowId, sink: App) -> Option<(usize, u16)> {
        let app = self.apps.len();
        let port = self.ports.serve(app as u32)?;
        self.apps.push((flow, sink));
        Some((app, port))
    }

    /// Adds the sending application of a flow; gives its place. `None`: the host has no port left.
    pub(crate) fn add_source(&mut self, flow: FlowId, mut source: App) -> Option<usize> {
        let app = self.apps.len();
        if let App::UdpSource(source) = &mut source {
            source.header.src_port = self.ports.go_out(Ports::NO_CONNECTION)?;
        }
        self.timers.reserve(app + 1);
        self.timers.set(app, source.due());
        self.apps.push((flow, source));
        Some(app)
    }

    pub(crate) fn app(&self, app: usize) -> &App {
        &self.apps[app].1
    }

    pub(crate) fn app_mut(&mut self, app: usize) -> &mut App {
        &mut self.apps[app].1
    }

    /// Ends the interval over which the flow's round trips (or one-way times) are counted, and begins the next.
    pub(crate) fn take_delays(&mut self, app: usize) -> Moments {
        match &mut self.apps[app].1 {
            App::TcpSource(source) => {
                let conn = source.current.and_then(|slot| self.conns[slot as usize].as_deref_mut());
                if let Some(conn) = conn {
                    source.meter.absorb(&mut conn.connection);
                }
                source.meter.rtt.take_interval()
            }
            App::UdpSink(sink) => sink.one_way.take_interval(),
            App::TcpSink(_) | App::UdpSource(_) => Moments::default(),
        }
    }

    pub(crate) fn connection(&self, slot: u32) -> Option<&Connection> {
        self.conns.get(slot as usize)?.as_deref().map(|conn| &conn.connection)
    }

    /// The connection that the segment belongs to, or a new one if it asks for a service.
    #[inline]
    fn connection_for(&mut self, src: Ipv4Addr, header: &TcpHeader) -> Option<u32> {
        let remote = Remote { addr: src, port: header.src_port };
        // A host mostly has one connection, or hears from one several times in a row: then no table need be looked at.
        if let Some(Some(conn)) = self.conns.get(self.latest as usize) {
            if conn.local_port == header.dst_port && conn.remote == remote {
                return Some(self.latest);
            }
        }
        self.latest = self.look_up(header, remote)?;
        Some(self.latest)
    }

    fn look_up(&mut self, header: &TcpHeader, remote: Remote) -> Option<u32> {
        match self.ports.owner(header.dst_port)? {
            Owner::Connection(slot) => {
                let conn = self.conns.get(slot as usize)?.as_deref()?;
                (conn.remote == remote).then_some(slot)
            }
            Owner::Service(app) => {
                let (_, App::TcpSink(sink)) = &mut self.apps[app as usize] else { return None };
                if let Some(slot) = sink.connection_from(remote) {
                    return Some(slot);
                }
                let opens = header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK);
                opens.then(|| self.accept(app, header.dst_port, remote))
            }
        }
    }

    fn datagram_sink(&mut self, port: u16) -> Option<&mut UdpSink> {
        match self.ports.owner(port)? {
            Owner::Service(app) => match &mut self.apps[app as usize].1 {
                App::UdpSink(sink) => Some(sink),
                _ => None,
            },
            Owner::Connection(_) => None,
        }
    }

    fn accept(&mut self, app: u32, local_port: u16, remote: Remote) -> u32 {
        let slot = self.free_slot();
        let (flow, App::TcpSink(sink)) = &mut self.apps[app as usize] else { unreachable!("only sinks are services") };
        let connection = Connection::listen(sink.dialer.config(local_port, remote));
        sink.connected(remote, slot);
        self.conns[slot as usize] = Some(Box::new(Conn { connection, app, flow: *flow, local_port, remote }));
        slot
    }

    /// Opens the connection that the application wants.
    fn connect(&mut self, app: u32, now: Time) {
        let slot = self.free_slot();
        let (flow, App::TcpSource(source)) = &mut self.apps[app as usize] else { unreachable!("only sources connect") };
        let Some(local_port) = self.ports.go_out(slot) else {
            // Every port rests after a connection.
            self.free.push(slot);
            source.not_connected(now);
            return;
        };
        let remote = source.remote();
        let connection = Connection::connect(source.config(local_port));
        source.connected(slot, now, &connection);
        self.conns[slot as usize] = Some(Box::new(Conn { connection, app, flow: *flow, local_port, remote }));
        self.ready.push(self.number(slot));
    }

    fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.conns.push(None);
            self.timers.reserve(self.apps.len() + self.conns.len());
            self.conns.len() as u32 - 1
        })
    }

    /// A connection's number in `timers` and `ready`.
    fn number(&self, slot: u32) -> u32 {
        self.apps.len() as u32 + slot
    }

    /// Lets the application see what happened to its connection, and takes the connection away when it is over.
    fn serve(&mut self, slot: u32, now: Time) {
        let Some(conn) = self.conns[slot as usize].as_deref_mut() else { return };
        let app = conn.app as usize;
        match &mut self.apps[app].1 {
            App::TcpSource(source) => {
                source.serve(slot, now, &mut conn.connection);
                let due = source.due();
                lower(&mut self.timers, app, due);
            }
            App::TcpSink(sink) => sink.serve(slot, now, &mut conn.connection),
            App::UdpSource(_) | App::UdpSink(_) => {}
        }
    }

    /// A connection has nothing more to send: sets its timer, or clears it away.
    fn settle(&mut self, slot: u32, now: Time) {
        let number = self.number(slot) as usize;
        let Some(conn) = self.conns[slot as usize].as_deref() else { return };
        if !conn.connection.is_finished() {
            lower(&mut self.timers, number, conn.connection.poll_timeout());
            return;
        }
        self.timers.set(number, None);
        let mut conn = self.conns[slot as usize].take().expect("it was there");
        match &mut self.apps[conn.app as usize].1 {
            App::TcpSource(source) => {
                source.gone(slot, now, &mut conn.connection);
                let due = source.due();
                lower(&mut self.timers, conn.app as usize, due);
            }
            App::TcpSink(sink) => sink.gone(slot, &conn.connection),
            App::UdpSource(_) | App::UdpSink(_) => {}
        }
        self.ports.release(conn.local_port);
        self.free.push(slot);
    }

    fn wake_app(&mut self, app: u32, now: Time) {
        let wish = match &mut self.apps[app as usize].1 {
            App::TcpSource(source) => {
                let current = source.current;
                let conn = current.and_then(|slot| self.conns[slot as usize].as_deref_mut());
                let wish = source.handle_timeout(now, conn.map(|conn| &mut conn.connection));
                if let Some(slot) = current {
                    self.ready.push(self.apps.len() as u32 + slot);
                }
                wish
            }
            _ => Wish::Nothing,
        };
        if wish == Wish::Connect {
            self.connect(app, now);
        }
        self.ready.push(app);
    }

    fn wake_connection(&mut self, slot: u32, now: Time) {
        if let Some(conn) = self.conns[slot as usize].as_deref_mut() {
            if conn.connection.handle_timeout(now) {
                self.serve(slot, now);
            }
            self.ready.push(self.number(slot));
        }
    }

    /// What one of the applications or connections has to send, to an interface that has room or not.
    #[inline]
    fn next_packet(&mut self, room: bool, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let now = cx.now();
        while let Some(&number) = self.ready.last() {
            if let Some(slot) = number.checked_sub(self.apps.len() as u32) {
                if let Some(conn) = self.conns[slot as usize].as_deref_mut() {
                    if let Some((header, payload)) = conn.connection.poll_segment_for(now, room) {
                        let (flow, to, ecn) = (conn.flow, conn.remote.addr, conn.connection.ecn_codepoint(&payload));
                        return Some(self.packet(flow, to, ecn, Transport::Tcp(header), payload, cx));
                    }
                }
                self.ready.pop();
                self.settle(slot, now);
            } else {
                let (flow, app) = &mut self.apps[number as usize];
                if let App::UdpSource(source) = app {
                    if let Some(len) = source.poll(now) {
                        let (flow, to, header) = (*flow, source.to.addr, source.header);
                        let payload = Payload::virtual_len(len);
                        return Some(self.packet(flow, to, Ecn::NotEct, Transport::Udp(header), payload, cx));
                    }
                }
                self.ready.pop();
                lower(&mut self.timers, number as usize, app.due());
            }
        }
        None
    }

    /// Takes all that is to be sent into the interface, and gives what has waited there long enough.
    fn pass_interface(&mut self, mut interface: Box<Interface>, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        loop {
            let room = interface.has_room();
            let Some((port, packet)) = self.next_packet(room, cx) else { break };
            if room {
                interface.take(cx.now(), port, packet);
            } else {
                cx.originate(&packet);
                cx.drop(packet, DropReason::QueueFull);
            }
        }
        let given = interface.give(cx.now());
        self.interface = Some(interface);
        given
    }

    #[inline]
    fn packet(
        &mut self,
        flow: FlowId,
        to: Ipv4Addr,
        ecn: Ecn,
        transport: Transport,
        payload: Payload,
        cx: &mut Cx<'_>,
    ) -> (Port, Packet) {
        self.sent_packets += 1;
        let packet = Packet {
            id: u64::from(cx.node().0) << 40 | self.sent_packets,
            sent_at: cx.now(),
            flow,
            src: self.addr,
            dst: to,
            ecn,
            dscp: 0,
            ttl: TTL,
            transport,
            payload,
        };
        let port = self.routes.as_ref().map_or(Port(0), |routes| routes.to(to).expect("flows have routes"));
        (port, packet)
    }
}

/// Moves a timer, unless it only moved away.
#[inline]
fn lower(timers: &mut Agenda, number: usize, due: Option<Time>) {
    if let Some(due) = due {
        if timers.get(number).is_none_or(|set| due < set) {
            timers.set(number, Some(due));
        }
    }
}

impl Node for Host {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        let now = cx.now();
        if packet.dst != self.addr {
            return cx.drop(packet, DropReason::NoRoute);
        }
        match &packet.transport {
            Transport::Tcp(header) => {
                let Some(slot) = self.connection_for(packet.src, header) else {
                    return cx.drop(packet, DropReason::NoSocket);
                };
                cx.deliver(&packet);
                let conn = self.conns[slot as usize].as_deref_mut().expect("it was just found");
                conn.connection.handle_segment(now, header, &packet.payload, packet.ecn);
                self.serve(slot, now);
                self.ready.push(self.number(slot));
            }
            Transport::Udp(header) => {
                let Some(sink) = self.datagram_sink(header.dst_port) else {
                    return cx.drop(packet, DropReason::NoSocket);
                };
                cx.deliver(&packet);
                sink.receive(&packet, now);
            }
            Transport::Other { .. } => cx.drop(packet, DropReason::NoSocket),
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        while let Some((_, number)) = self.timers.first().filter(|(due, _)| *due <= now) {
            self.timers.set(number, None);
            match number.checked_sub(self.apps.len()) {
                None => self.wake_app(number as u32, now),
                Some(slot) => self.wake_connection(slot as u32, now),
            }
        }
    }

    /// A packet is created as it leaves the host: what waits in the interface is not in the network yet.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let given = match self.interface.take() {
            None => self.next_packet(true, cx),
            Some(interface) => self.pass_interface(interface, cx),
        };
        if let Some((_, packet)) = &given {
            cx.originate(packet);
        }
        given
    }

    fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timers.first().map(|(due, _)| due);
        match self.interface.as_ref().and_then(|interface| interface.next()) {
            None => timer,
            Some(next) => Some(timer.map_or(next, |due| due.min(next))),
        }
    }
}
