//! A host: TCP connections and datagrams at one address, and the applications that use them.
//!
//! # How a host works
//!
//! - Each application belongs to one end of one flow and has an [`AppSlot`]. Each connection has a slot in
//!   [`HostSockets`]. Applications and connections share one sequence of numbers: applications first, then connections.
//! - `timers` stores one time per application and per connection. A time may be too early, but never too late.
//! - `ready` is a stack of the applications and connections that may have packets to send.
//! - After each segment or timeout of a connection, `visit` notifies its application. If several packets arrive over a link
//!   at the same time, the applications are notified after the last of these packets.
//!
//! # Shortcuts
//!
//! Most hosts have one connection, and most segments need no response. These shortcuts must not change the result:
//!
//! - `latest` is the connection of the last segment.
//! - `goes_on` is true if the connection on top of `ready` will send a full-size segment next ([`Next::Full`]).
//! - A received segment pushes its connection to `ready` only if the connection may have a response to send.
//!
//! # Errors
//!
//! A segment without a socket is dropped with the reason `no_socket` and answered with a reset (RFC 9293, section
//! 3.10.7.1).
//!
//! Left out: forwarding, all other ICMP messages, and the processing time of a real host.

mod connection_factory;
mod flow_meter;
mod foreign;
mod interface;
mod known_paths;
mod path_mtu;
mod ports;
mod sockets;

pub(crate) use connection_factory::ConnectionFactory;
pub(crate) use flow_meter::{DatagramCounts, FlowMeter};
pub(crate) use interface::{Interface, TxRing};
pub(crate) use ports::{FIRST_SERVICE, MAX_SERVICES};
pub(crate) use sockets::AppSlot;

use crate::meter::Moments;

use lopsided_app::{Application, CloseReason, SocketEvent, SocketId};
use lopsided_core::packet::{Addresses, AroundTcp, Delivered, Flags, TcpHeader, UdpHeader};
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{
    Bytes, Count, Cx, DropReason, Event, EventMask, FlowId, IpHeader, NewPacket, Node, Packet, Payload, Port,
    TcpEndpoint, Time, Transport,
};
use lopsided_net::Routes;
use lopsided_tcp::{ConnError, ConnEvent, Connection, Endpoint, Expired, Next, Outgoing, Segment, State, refuse};
use ports::Owner;
use sockets::{Conn, HostSockets, Io, addresses};
use std::net::IpAddr;

/// A reset that waits to be sent, with its IP header.
#[derive(Debug)]
struct PendingRst {
    flow: FlowId,
    ip: IpHeader,
    header: TcpHeader,
}

/// A host with its applications and sockets. The comment at the start of this file explains how a host works.
#[derive(Debug)]
pub struct Host {
    addr: IpAddr,
    /// Routing table; `None` for a host with a single port, which is the usual case.
    routes: Option<Box<Routes>>,
    /// The applications, in the order of their slots in `sockets`.
    apps: Vec<Box<dyn Application>>,
    sockets: HostSockets,
    /// The connection of the last received segment.
    latest: u32,
    /// True if the connection on top of `ready` will send a full-size segment next.
    goes_on: bool,
    /// `None` for most hosts.
    rare: Option<Box<Rare>>,
}

/// State that few hosts need.
#[derive(Debug, Default)]
struct Rare {
    /// Resets to send in response to segments without a connection.
    pending_rsts: Vec<PendingRst>,
    /// The last observed window of each application; `None` unless changes of windows are recorded.
    windows: Option<Vec<Option<Window>>>,
    /// The interface; `None` if packets enter the link immediately.
    interface: Option<Box<Interface>>,
    /// Connections whose applications are notified after the last packet that arrives at this time.
    postponed: Vec<u32>,
    /// True if another packet arrives at the same time as the packet that the host handles now.
    another_arrives: bool,
}

impl Rare {
    /// True if applications are notified only after the last packet that arrives at this time.
    fn postpones(&self) -> bool {
        self.another_arrives || !self.postponed.is_empty()
    }

    /// True if the host must be polled after every segment.
    fn needs_poll(&self) -> bool {
        self.interface.is_some() || self.windows.is_some()
    }
}

impl Host {
    pub(crate) fn new(addr: IpAddr, routes: Option<Routes>, interface: Option<Interface>) -> Host {
        Host {
            addr,
            routes: routes.map(Box::new),
            apps: Vec::new(),
            sockets: HostSockets::new(),
            latest: 0,
            goes_on: false,
            rare: interface.map(|interface| Box::new(Rare { interface: Some(Box::new(interface)), ..Rare::default() })),
        }
    }

    #[inline]
    fn interface(&self) -> Option<&Interface> {
        self.rare.as_ref()?.interface.as_deref()
    }

    /// Interrupts the run whenever the state or the window of a sender changes.
    pub(crate) fn watch_windows(&mut self) {
        self.rare.get_or_insert_default().windows = Some(Vec::new());
    }

    /// Selects the events inside connections that the host publishes. Applies to connections that are created from now
    /// on.
    pub(crate) fn listen_to(&mut self, kinds: TcpEventMask) {
        self.sockets.trace = kinds;
        for transport in self.sockets.apps.iter_mut().filter_map(|slot| slot.foreign.as_deref_mut()) {
            transport.listen_to(kinds);
        }
    }

    /// Reserves a listening port for the next application. Returns `None` if the host has no free port.
    pub(crate) fn serve(&mut self) -> Option<u16> {
        self.sockets.ports.serve(self.apps.len() as u32)
    }

    /// Reserves a source port for datagrams of the next application. Returns `None` if the host has no free port.
    pub(crate) fn open_datagrams(&mut self) -> Option<u16> {
        self.sockets.ports.go_out_with_datagrams(self.apps.len() as u32)
    }

    /// Adds an application, and returns its index.
    pub(crate) fn add_app(&mut self, app: Box<dyn Application>, mut slot: AppSlot) -> usize {
        if let Some(transport) = slot.foreign.as_deref_mut().filter(|_| self.sockets.trace != TcpEventMask::NONE) {
            transport.listen_to(self.sockets.trace);
        }
        let place = self.apps.len();
        // Applications have the lowest numbers in `timers`, so all applications are added before the first connection.
        self.sockets.timers.reserve(place + 1);
        self.sockets.timers.set(place, slot.next_edge());
        // Most hosts have one application, so allocate no room for more.
        self.sockets.apps.reserve_exact(usize::from(place == 0));
        self.sockets.apps.push(slot);
        self.apps.reserve_exact(usize::from(place == 0));
        self.apps.push(app);
        place
    }

    pub(crate) fn flow_meter(&self, app: usize) -> &FlowMeter {
        &self.sockets.apps[app].meter
    }

    pub(crate) fn flow_meter_mut(&mut self, app: usize) -> &mut FlowMeter {
        &mut self.sockets.apps[app].meter
    }

    /// Returns the live connections of an application.
    pub(crate) fn connections(&self, app: usize) -> impl Iterator<Item = &Connection> {
        let live = self.sockets.apps[app].live.iter();
        live.filter_map(|slot| self.sockets.conn(*slot)).map(|conn| &conn.connection)
    }

    /// Returns the number of data segments that arrived at the application's connections, including duplicates.
    pub(crate) fn data_segments_in(&self, app: usize, now: Time) -> u64 {
        let slot = &self.sockets.apps[app];
        if slot.foreign.is_some() {
            return self.total(app, now).data_segments_in;
        }
        let existing = slot.accepted.iter().map(|(_, conn)| *conn).chain(slot.live.iter().copied());
        let mut existing: Vec<u32> = existing.collect();
        // A live connection that this end accepted is in both lists. Count it once.
        existing.sort_unstable();
        existing.dedup();
        let counted = existing.into_iter().filter_map(|conn| self.sockets.conn(conn));
        let past = slot.meter.past.as_ref().map_or(0, |past| past.segments_in);
        past + counted.map(|conn| conn.connection.counters().data_segments_in).sum::<u64>()
    }

    /// Returns the statistics of RTTs (or one-way delays) of the current interval, and starts the next interval.
    pub(crate) fn take_delays(&mut self, app: usize) -> Moments {
        let slot = &mut self.sockets.apps[app];
        if let Some(transport) = slot.foreign.as_deref_mut().filter(|_| slot.sends) {
            slot.meter.take_rtts(transport);
        } else if slot.sends {
            for live in &slot.live {
                if let Some(conn) = self.sockets.conns[*live as usize].as_deref_mut() {
                    slot.meter.absorb(&mut conn.connection, &mut conn.counted);
                }
            }
        }
        slot.meter.path.as_deref_mut().map_or_else(Moments::default, |path| path.rtt.take_interval())
    }

    /// Returns the connection of a segment. If the segment is a SYN for a listening port, creates the connection.
    #[inline]
    fn connection_for(&mut self, packet: &Packet, header: &TcpHeader, now: Time) -> Option<u32> {
        // Most segments belong to the connection of the previous segment.
        let belongs = |conn: &Conn| {
            // Compare the ports first, because comparing addresses takes longer.
            let (local, remote) = (conn.connection.local(), conn.connection.remote());
            local.port == header.dst_port && remote.port == header.src_port && packet.is_from(remote.addr)
        };
        if self.sockets.conn(self.latest).is_some_and(belongs) {
            return Some(self.latest);
        }
        let remote = Endpoint { addr: packet.src(), port: header.src_port };
        self.latest = self.look_up(header, remote, now)?;
        Some(self.latest)
    }

    #[inline(never)]
    fn look_up(&mut self, header: &TcpHeader, remote: Endpoint, now: Time) -> Option<u32> {
        match self.sockets.ports.owner(header.dst_port)? {
            Owner::Connection(slot) => (self.sockets.conn(slot)?.connection.remote() == remote).then_some(slot),
            Owner::Service(app) => {
                let accepted = &self.sockets.apps[app as usize].accepted;
                if let Some((_, slot)) = accepted.iter().find(|(from, _)| *from == remote) {
                    return Some(*slot);
                }
                // Only a SYN opens a connection (RFC 9293, section 3.10.7.2).
                let opens = header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK);
                if opens { self.accept(app, header.dst_port, remote, now) } else { None }
            }
            Owner::Datagrams(_) => None,
        }
    }

    /// Creates a connection for a listening application. Returns `None` if the application uses datagrams.
    fn accept(&mut self, app: u32, local_port: u16, remote: Endpoint, now: Time) -> Option<u32> {
        let factory = self.sockets.apps[app as usize].factory.as_mut()?;
        // A new connection starts with the known path MTU of its destination, and with the metrics that earlier
        // connections stored.
        let path = self.sockets.paths.mtu(remote.addr, now);
        let remembered = self.sockets.paths.metrics(remote.addr);
        let connection = Connection::listen(factory.config(local_port, remote, path, remembered));
        let slot = self.sockets.free_slot();
        let accepted = &mut self.sockets.apps[app as usize].accepted;
        accepted.reserve_exact(usize::from(accepted.is_empty()));
        accepted.push((remote, slot));
        self.sockets.install(slot, app, connection, now);
        self.tell(app, SocketId(slot), SocketEvent::Accepted, now);
        Some(slot)
    }

    /// Notifies the application of an event on its socket.
    #[inline]
    fn tell(&mut self, app: u32, socket: SocketId, event: SocketEvent, now: Time) {
        let mut io = Io { sockets: &mut self.sockets, app, now, polled: Some(socket.0) };
        self.apps[app as usize].on_event(socket, event, &mut io);
    }

    /// Notifies the application of the events of its connection.
    #[inline(always)]
    fn visit(&mut self, slot: u32, now: Time) {
        let Some((conn, of_app)) = self.sockets.conn_and_app(slot) else { return };
        if conn.pass_on(of_app, now) {
            self.notify_ready(slot, now);
        }
    }

    /// Notifies the application that its connection is ready, after an event.
    fn notify_ready(&mut self, slot: u32, now: Time) {
        let Some(conn) = self.sockets.conn(slot) else { return };
        let app = conn.app;
        // Before the handshake completes, the application cannot act, because connect() of a real program would still
        // block.
        let (live, open) = (conn.live, conn.connection.state() != State::SynSent);
        if conn.connection.has_events() {
            self.visit_events(slot, app, open, now);
        } else if live && open {
            self.tell(app, SocketId(slot), SocketEvent::Ready, now);
        }
        // The application may have changed its timer.
        if live {
            self.sockets.lower(app as usize, self.apps[app as usize].next_timeout());
        }
    }

    /// Like [`Host::visit`], but after a timeout. This function is not inlined, because timers expire rarely.
    #[cold]
    fn visit_late(&mut self, slot: u32, now: Time) {
        self.visit(slot, now);
    }

    /// Notifies the application of the connection's events. `open` is false before the handshake completes.
    #[cold]
    fn visit_events(&mut self, slot: u32, app: u32, open: bool, now: Time) {
        let Some(conn) = self.sockets.conns[slot as usize].as_deref_mut() else { return };
        let mut happened = Happened::default();
        // Collect all events before any notification, so that the application sees the final state.
        while let Some(event) = conn.connection.poll_event() {
            happened.note(event);
        }
        if !conn.live {
            return;
        }
        // Report events in the order of a connection's life: connected, data, end of data, closed.
        if happened.connected {
            self.tell(app, SocketId(slot), SocketEvent::Connected, now);
        }
        if open && happened.closed.is_none() {
            self.tell(app, SocketId(slot), SocketEvent::Ready, now);
        }
        if happened.peer_closed {
            self.tell(app, SocketId(slot), SocketEvent::PeerClosed, now);
        }
        if let Some(reason) = happened.closed {
            self.notify_closed(app, slot, reason, now);
        }
    }

    fn notify_closed(&mut self, app: u32, slot: u32, reason: CloseReason, now: Time) {
        self.sockets.remember(slot, now);
        if self.sockets.end(slot, now) {
            self.tell(app, SocketId(slot), SocketEvent::Closed(reason), now);
        }
    }

    #[cold]
    fn look_at_windows(&mut self, cx: &mut Cx<'_>) {
        let at = cx.now();
        if let Some(mut seen) = self.rare.as_mut().and_then(|rare| rare.windows.take()) {
            let now: Vec<Option<Window>> = (0..self.apps.len()).map(|app| self.window(app, at)).collect();
            if now != seen {
                // An interrupt makes the recorder take a sample as soon as this event has been handled.
                cx.interrupt();
                seen = now;
            }
            self.rare.get_or_insert_default().windows = Some(seen);
        }
    }

    /// Returns the sum of the windows, and the state and threshold of the oldest connection.
    fn window(&self, app: usize, now: Time) -> Option<Window> {
        let infos = self.infos(app, now);
        let oldest = infos.first()?;
        Some((oldest.state, infos.iter().map(|info| info.cwnd).sum(), oldest.ssthresh))
    }

    /// Passes the events that occurred inside a connection to the observers.
    #[cold]
    fn publish_trace(&mut self, slot: u32, cx: &mut Cx<'_>) {
        let Some(conn) = self.sockets.conns[slot as usize].as_deref_mut() else { return };
        let of_app = &self.sockets.apps[conn.app as usize];
        let accepted = of_app.accepted.iter().any(|(_, accepted)| *accepted == slot);
        // Both ends report the opener's port, so that users can match the events of both ends.
        let opener_port = if accepted { conn.connection.remote() } else { conn.connection.local() }.port;
        let endpoint = TcpEndpoint { flow: conn.flow, opener_port, sends: of_app.sends };
        while let Some(TimedTcpEvent { at, event }) = conn.connection.poll_trace() {
            cx.at(at).trace(EventMask::TCP, || Event::Tcp { endpoint, event });
        }
    }

    /// Called when a connection has nothing more to send: arms its timer, or removes the connection if it is finished.
    #[inline(always)]
    fn settle(&mut self, slot: u32, now: Time) {
        let number = self.sockets.number(slot) as usize;
        let Some(conn) = self.sockets.conn(slot) else { return };
        if !conn.connection.is_finished() {
            let due = conn.connection.poll_timeout();
            return self.sockets.lower(number, due);
        }
        self.clear_away(slot, now);
    }

    /// Removes a finished connection.
    #[cold]
    fn clear_away(&mut self, slot: u32, now: Time) {
        let number = self.sockets.number(slot) as usize;
        let Some(app) = self.sockets.conn(slot).map(|conn| conn.app) else { return };
        self.sockets.timers.set(number, None);
        // This call has no effect if the application was already notified of the end.
        self.notify_closed(app, slot, CloseReason::Normal, now);
        let Some(conn) = self.sockets.conns[slot as usize].take() else { return };
        let of_app = &mut self.sockets.apps[app as usize];
        of_app.accepted.retain(|(_, accepted)| *accepted != slot);
        of_app.meter.past.get_or_insert_default().segments_in += conn.connection.counters().data_segments_in;
        // The port may be reused only now, after TIME-WAIT.
        self.sockets.ports.release(conn.connection.local().port);
        self.sockets.free.push(slot);
        self.sockets.lower(app as usize, self.apps[app as usize].next_timeout());
    }

    fn wake_app(&mut self, app: u32, now: Time) {
        let slot = &mut self.sockets.apps[app as usize];
        let starts = slot.start.take_if(|start| *start <= now).is_some();
        let stops = slot.stop.take_if(|stop| *stop <= now).is_some();
        // If the flow stops before it starts, the application never runs.
        if stops {
            slot.start = None;
        }
        let mut io = Io { sockets: &mut self.sockets, app, now, polled: None };
        let application = &mut self.apps[app as usize];
        if stops {
            application.on_stop(&mut io);
        } else if starts {
            application.on_start(&mut io);
        } else if application.next_timeout().is_some_and(|due| due <= now) {
            application.on_timeout(&mut io);
        }
        if self.sockets.apps[app as usize].foreign.is_some() {
            self.wake_foreign(app, now);
        }
        self.sockets.ready.push(app);
    }

    fn wake_connection(&mut self, slot: u32, now: Time) {
        if let Some(conn) = self.sockets.conn_mut(slot) {
            if conn.connection.handle_timeout(now) == Expired::Timer {
                self.visit_late(slot, now);
            }
            self.sockets.ready.push(self.sockets.number(slot));
        }
    }

    /// Returns the next packet. `room` is false if the interface is full. In this case, only segments without data are
    /// sent.
    #[inline]
    fn next_packet(&mut self, room: bool, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let now = cx.now();
        // The value of `goes_on` applies to this poll only.
        let goes_on = std::mem::take(&mut self.goes_on);
        // Poll the last entry until it has nothing more to send.
        while let Some(&number) = self.sockets.ready.last() {
            // Numbers below the number of applications are applications. All other numbers are connections.
            if let Some(slot) = number.checked_sub(self.apps.len() as u32) {
                if let Some(conn) = self.sockets.conn_mut(slot) {
                    let Conn { connection, flow, ip, .. } = conn;
                    let mut follows = Next::Open;
                    let packet = cx.originate_tcp(|header| {
                        let outgoing = match room {
                            // The previous call returned that a full-size segment follows, so all checks can be
                            // omitted.
                            true if goes_on => Some(connection.write_full_segment(now, header)),
                            true => connection.write_segment(now, header),
                            false => connection.write_segment_without_data(now, header),
                        };
                        let Outgoing { payload, ecn, next } = outgoing?;
                        follows = next;
                        Some(AroundTcp { flow: *flow, ip: ip.with_ecn(ecn), payload })
                    });
                    if let Some(packet) = packet {
                        let to = ip.addresses;
                        // The connection has nothing more to send, so skip its last poll. With observers the last poll
                        // is needed, because it publishes the events.
                        self.goes_on = follows == Next::Full;
                        if follows == Next::Nothing && self.sockets.trace == TcpEventMask::NONE {
                            self.sockets.ready.pop();
                            self.settle(slot, now);
                        }
                        return Some((self.port(to), packet));
                    }
                }
                self.sockets.ready.pop();
                if self.sockets.trace != TcpEventMask::NONE {
                    self.publish_trace(slot, cx);
                }
                self.settle(slot, now);
            } else {
                if let Some(packet) = self.next_datagram(number, cx) {
                    return Some(packet);
                }
                self.sockets.ready.pop();
                // The application has nothing to send: arm its timer and the timer of its transport.
                let edge = self.sockets.apps[number as usize].next_edge();
                self.sockets.lower(number as usize, edge);
                self.sockets.lower(number as usize, self.apps[number as usize].next_timeout());
                self.lower_foreign(number);
            }
        }
        if self.rare.is_none() { None } else { self.next_rst(cx) }
    }

    #[cold]
    fn refuse(&mut self, packet: &Packet, header: &TcpHeader) {
        if let Some(Segment { header, .. }) = refuse(header, packet.payload().len()) {
            let addresses = Addresses::new(self.addr, packet.src()).expect("a packet has one version of IP");
            let ip = IpHeader { dscp: packet.dscp(), ..IpHeader::new(addresses) };
            self.rare.get_or_insert_default().pending_rsts.push(PendingRst { flow: packet.flow(), ip, header });
        }
    }

    #[inline(never)]
    fn next_rst(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let PendingRst { flow, ip, header } = self.rare.as_mut()?.pending_rsts.pop()?;
        let port = self.port(ip.addresses);
        Some((port, cx.originate(NewPacket::new(flow, ip, Transport::Tcp(header), Payload::EMPTY))))
    }

    #[inline(never)]
    fn next_datagram(&mut self, app: u32, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let slot = &mut self.sockets.apps[app as usize];
        if slot.foreign.is_some() {
            return self.next_foreign(app, cx);
        }
        let (remote, src_port) = (slot.remote?, slot.port?);
        let payload = slot.datagrams.as_mut()?.pop_front()?;
        let header = UdpHeader { src_port, dst_port: remote.port };
        let addresses = addresses(self.addr, remote.addr);
        let ip = IpHeader { dscp: slot.dscp, ..IpHeader::new(addresses) };
        let packet = cx.originate(NewPacket::new(slot.flow, ip, Transport::Udp(header), payload));
        let counts = self.sockets.apps[app as usize].meter.datagrams.get_or_insert_default();
        counts.sent += 1;
        counts.bytes_sent += packet.size();
        Some((self.port(addresses), packet))
    }

    /// Moves all packets that are ready into the interface, and returns the next packet whose delay has passed.
    #[inline(never)]
    fn pass_interface(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let mut interface = self.rare.as_mut()?.interface.take()?;
        loop {
            let room = interface.has_room();
            // If the interface is full, the connection counts its data segment as rejected and reduces the window.
            let Some((port, packet)) = self.next_packet(room, cx) else { break };
            if room {
                interface.take(cx.now(), port, packet);
            } else {
                cx.trace(EventMask::HOSTS, || Event::Sent(&packet));
                cx.drop(packet, DropReason::QueueFull);
            }
        }
        let given = interface.give(cx.now());
        self.rare.get_or_insert_default().interface = Some(interface);
        given
    }

    /// Returns the port through which packets to the destination leave.
    #[inline(always)]
    fn port(&self, addresses: Addresses) -> Port {
        let to = |routes: &Routes| routes.to(addresses.dst()).expect("flows have routes");
        self.routes.as_deref().map_or(Port(0), to)
    }
}

/// Congestion state, congestion window and slow-start threshold. A change in any of these values triggers a sample.
type Window = (&'static str, Bytes, Option<Bytes>);

/// The events of one connection that occurred after its application was last notified.
#[derive(Default)]
struct Happened {
    connected: bool,
    peer_closed: bool,
    closed: Option<CloseReason>,
}

impl Happened {
    fn note(&mut self, event: ConnEvent) {
        match event {
            ConnEvent::Established => self.connected = true,
            ConnEvent::PeerClosed => self.peer_closed = true,
            ConnEvent::Closed => self.closed = Some(CloseReason::Normal),
            ConnEvent::Failed(ConnError::TimedOut) => self.closed = Some(CloseReason::TimedOut),
            ConnEvent::Failed(_) => self.closed = Some(CloseReason::Reset),
            // Readiness needs no flag, because the application is notified of readiness at each visit.
            _ => {}
        }
    }
}

impl Host {
    #[inline]
    fn take_segment(&mut self, packet: &Delivered, slot: u32, now: Time, postpones: bool) {
        let (Some((conn, of_app)), Some(header)) = (self.sockets.conn_and_app(slot), packet.tcp()) else { return };
        conn.connection.handle_segment(now, header, &packet.payload(), packet.ecn());
        if postpones && !conn.connection.has_events() && !conn.connection.is_finished() {
            self.postpone(slot);
        } else if conn.pass_on(of_app, now) {
            self.notify_ready(slot, now);
        }
        // Fast path: skip the poll if no other connection is ready and the segment needs no response. A host with an
        // interface, recorded windows or an observer of TCP events polls the connection after every segment.
        let alone = self.sockets.ready.is_empty()
            && !postpones
            && !self.rare.as_ref().is_some_and(|rare| rare.needs_poll())
            && self.sockets.trace == TcpEventMask::NONE;
        let number = self.sockets.number(slot);
        let Some(conn) = self.sockets.conn_mut(slot) else { return };
        let next = if alone { conn.connection.predict_segment(now) } else { Next::Open };
        if next != Next::Nothing {
            self.goes_on = next == Next::Full;
            self.sockets.ready.push(number);
        } else if conn.connection.is_finished() {
            self.clear_away(slot, now);
        } else {
            let due = conn.connection.poll_timeout();
            self.sockets.lower(number as usize, due);
        }
    }

    /// Handles an arriving packet. If `postpones` is true, an application is not notified of data or free space yet.
    #[inline]
    fn arrive(&mut self, packet: Packet, postpones: bool, cx: &mut Cx<'_>) {
        let now = cx.now();
        // Hosts do not forward packets.
        if !packet.is_to(self.addr) {
            return cx.drop(packet, DropReason::NoRoute);
        }
        match packet.transport() {
            Transport::Tcp(header) => {
                let Some(slot) = self.connection_for(&packet, header, now) else {
                    return self.handle_unmatched(packet, cx);
                };
                let packet = cx.deliver(packet);
                self.take_segment(&packet, slot, now, postpones);
                cx.recycle(packet);
            }
            &Transport::Udp(header) => {
                let Some(app) = self.datagram_app(header.dst_port) else {
                    return cx.drop(packet, DropReason::NoSocket);
                };
                let packet = cx.deliver(packet);
                self.take_datagram(&packet, header, app, now);
                cx.recycle(packet);
            }
            Transport::Other { .. } => self.take_message(packet, cx),
        }
    }

    /// Postpones the notification of the connection's application until all packets of this time have arrived.
    #[cold]
    fn postpone(&mut self, slot: u32) {
        let postponed = &mut self.rare.get_or_insert_default().postponed;
        if !postponed.contains(&slot) {
            postponed.push(slot);
        }
    }

    /// Ends the arrival of a packet that belongs to a group of packets. After the last packet, notifies the applications
    /// whose notification was postponed.
    #[cold]
    fn end_arrival(&mut self, now: Time) {
        let Some(rare) = &mut self.rare else { return };
        if std::mem::take(&mut rare.another_arrives) {
            return;
        }
        let mut postponed = std::mem::take(&mut rare.postponed);
        for slot in postponed.drain(..) {
            self.visit(slot, now);
            self.sockets.ready.push(self.sockets.number(slot));
        }
        // Keep the memory for the next group of packets.
        if let Some(rare) = &mut self.rare {
            rare.postponed = postponed;
        }
    }

    #[inline(never)]
    fn take_datagram(&mut self, packet: &Delivered, from: UdpHeader, app: u32, now: Time) {
        let slot = &mut self.sockets.apps[app as usize];
        if slot.foreign.is_some() {
            return self.take_foreign(packet, app, now);
        }
        let sent_at = packet.sent_at().expect("a datagram has this time");
        slot.meter.datagram_arrived(now, sent_at, packet);
        // The listening end sends its replies to the source of the first datagram.
        slot.remote.get_or_insert(Endpoint { addr: packet.src(), port: from.src_port });
        let mut io = Io { sockets: &mut self.sockets, app, now, polled: None };
        self.apps[app as usize].on_datagram(&packet.payload(), sent_at, &mut io);
        self.sockets.lower(app as usize, self.apps[app as usize].next_timeout());
    }

    /// Returns the application that receives datagrams at this port.
    fn datagram_app(&self, port: u16) -> Option<u32> {
        match self.sockets.ports.owner(port)? {
            Owner::Datagrams(app) => Some(app),
            Owner::Service(app) => self.sockets.apps[app as usize].factory.is_none().then_some(app),
            Owner::Connection(_) => None,
        }
    }
}

impl Node for Host {
    #[cold]
    fn expect_another(&mut self) {
        self.rare.get_or_insert_default().another_arrives = true;
    }

    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.goes_on = false;
        // A real host handles the packets that arrive together in one interrupt, before a program runs.
        let postpones = self.rare.as_ref().is_some_and(|rare| rare.postpones());
        self.arrive(packet, postpones, cx);
        if postpones {
            self.end_arrival(cx.now());
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.goes_on = false;
        // A timer may expire too early. The connection or application then only arms the timer again.
        while let Some((_, number)) = self.sockets.timers.first().filter(|(due, _)| *due <= now) {
            self.sockets.timers.set(number, None);
            match number.checked_sub(self.apps.len()) {
                None => self.wake_app(number as u32, now),
                Some(slot) => self.wake_connection(slot as u32, now),
            }
        }
    }

    /// Publishes a packet when it leaves the host. A packet in the interface has not entered the network yet.
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let given = if self.interface().is_none() { self.next_packet(true, cx) } else { self.pass_interface(cx) };
        match &given {
            Some((_, packet)) => cx.trace(EventMask::HOSTS, || Event::Sent(packet)),
            None if self.rare.is_some() => self.look_at_windows(cx),
            None => {}
        }
        given
    }

    #[inline]
    fn has_given_all(&self) -> bool {
        let quiet = |rare: &Rare| rare.pending_rsts.is_empty() && !rare.needs_poll();
        self.sockets.ready.is_empty() && self.rare.as_deref().is_none_or(quiet)
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        let timer = self.sockets.timers.first().map(|(due, _)| due);
        match self.interface().and_then(Interface::next) {
            None => timer,
            Some(next) => Some(timer.map_or(next, |due| due.min(next))),
        }
    }

    fn held(&self) -> Count {
        self.interface().map_or(Count::ZERO, Interface::held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 10,000 flows, each additional byte in one of these objects costs 20 kB. If you raise a limit, state the
    /// reason in the commit.
    #[test]
    fn the_objects_at_each_end_of_a_flow_stay_small() {
        assert!(size_of::<Conn>() <= 2448, "a connection takes {}", size_of::<Conn>());
        assert!(size_of::<AppSlot>() <= 240, "an application's place takes {}", size_of::<AppSlot>());
        assert!(size_of::<Host>() <= 280, "a host takes {}", size_of::<Host>());
    }
}
