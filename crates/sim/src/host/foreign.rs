//! Flows over a transport other than the host's TCP ("foreign" transports): see [`lopsided_app::Transport`].
//!
//! Hosts without such flows never run this code.

use super::Host;
use super::sockets::{FOREIGN, Io, addresses};
use crate::host::ports::Owner;
use lopsided_app::{SocketEvent, SocketId, TransportInfo};
use lopsided_core::packet::Delivered;
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{
    Cx, DropReason, Duration, Event, EventMask, IpHeader, NewPacket, Packet, Port, TcpEndpoint, Time,
    Transport as Header,
};
use lopsided_tcp::{Connection, Counters, Endpoint, TcpInfo};

impl Host {
    /// Passes a TCP segment without a connection to a foreign transport, or answers it with a reset.
    #[cold]
    pub(super) fn handle_unmatched(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let Header::Tcp(header) = packet.transport() else { return cx.drop(packet, DropReason::NoSocket) };
        if let Some(app) = self.foreign_app(header.dst_port) {
            let packet = cx.deliver(packet);
            self.take_foreign(&packet, app, cx.now());
            return cx.recycle(packet);
        }
        // Clone the header, because `refuse` also needs the whole packet.
        let header = header.clone();
        self.refuse(&packet, &header);
        cx.drop(packet, DropReason::NoSocket);
    }

    /// Returns the application whose foreign transport owns this port.
    fn foreign_app(&self, port: u16) -> Option<u32> {
        match self.sockets.ports.owner(port)? {
            Owner::Service(app) | Owner::Datagrams(app) => {
                self.sockets.apps[app as usize].foreign.is_some().then_some(app)
            }
            Owner::Connection(_) => None,
        }
    }

    /// Passes a packet to a foreign transport.
    pub(super) fn take_foreign(&mut self, packet: &Delivered, app: u32, now: Time) {
        let slot = &mut self.sockets.apps[app as usize];
        let Some(transport) = slot.foreign.as_deref_mut() else { return };
        let port = match packet.transport() {
            Header::Udp(header) => header.src_port,
            Header::Tcp(header) => header.src_port,
            Header::Other { .. } => 0,
        };
        // The listening end sends its replies to the source of the first packet.
        slot.remote.get_or_insert(Endpoint { addr: packet.src(), port });
        transport.handle_packet(now, packet);
        self.notify_foreign(app, now);
        self.sockets.ready.push(app);
    }

    /// Lets a foreign transport handle its timeout, if the timeout is due.
    #[cold]
    pub(super) fn wake_foreign(&mut self, app: u32, now: Time) {
        if let Some(transport) = self.sockets.apps[app as usize].foreign.as_deref_mut() {
            transport.handle_timeout(now);
        }
        self.notify_foreign(app, now);
    }

    /// Notifies the application of the events of its sockets, and reads its next timeout.
    fn notify_foreign(&mut self, app: u32, now: Time) {
        // The application may use its sockets in response, which can cause further events.
        while let Some((socket, event)) = self.next_event(app) {
            let socket = SocketId(socket.0 | FOREIGN);
            let mut io = Io { sockets: &mut self.sockets, app, now, polled: None };
            self.apps[app as usize].on_event(socket, event, &mut io);
        }
        self.sockets.lower(app as usize, self.apps[app as usize].next_timeout());
    }

    fn next_event(&mut self, app: u32) -> Option<(SocketId, SocketEvent)> {
        self.sockets.apps[app as usize].foreign.as_deref_mut()?.poll_event()
    }

    /// Returns the next packet of a foreign transport.
    pub(super) fn next_foreign(&mut self, app: u32, cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        let now = cx.now();
        // Calls of the application may have caused further events.
        self.notify_foreign(app, now);
        let slot = &mut self.sockets.apps[app as usize];
        let transport = slot.foreign.as_deref_mut()?;
        let Some(datagram) = transport.poll_transmit(now) else {
            if slot.sends {
                match transport.cwnd() {
                    // The transport has nothing more to send, so its window has its final value for this instant.
                    Some(cwnd) => slot.meter.path_mut().cwnd.set(now, cwnd),
                    None => slot.meter.path_mut().cwnd.pause(now),
                }
            }
            if self.sockets.trace != TcpEventMask::NONE {
                self.publish_foreign(app, cx);
            }
            return None;
        };
        let remote = slot.remote?;
        let addresses = addresses(self.addr, remote.addr);
        let ip = IpHeader { dscp: slot.dscp, ..IpHeader::new(addresses) }.with_ecn(datagram.ecn);
        let flow = slot.flow;
        let packet = cx.originate(NewPacket::new(flow, ip, datagram.header, datagram.payload));
        Some((self.port(addresses), packet))
    }

    /// Passes the events that occurred inside a foreign transport to the observers.
    #[cold]
    fn publish_foreign(&mut self, app: u32, cx: &mut Cx<'_>) {
        let slot = &mut self.sockets.apps[app as usize];
        let (Some(transport), Some(remote), Some(port)) = (slot.foreign.as_deref_mut(), slot.remote, slot.port) else {
            return;
        };
        // Both ends report the opener's port, so that users can match the events of both ends.
        let opener_port = if slot.opens { port } else { remote.port };
        let endpoint = TcpEndpoint { flow: slot.flow, opener_port, sends: slot.sends };
        while let Some(TimedTcpEvent { at, event }) = transport.poll_trace() {
            cx.at(at).trace(EventMask::TCP, || Event::Tcp { endpoint, event });
        }
    }

    /// Arms the timer of a foreign transport.
    #[inline]
    pub(super) fn lower_foreign(&mut self, app: u32) {
        if let Some(transport) = self.sockets.apps[app as usize].foreign.as_deref() {
            let due = transport.poll_timeout();
            self.sockets.lower(app as usize, due);
        }
    }

    /// Returns the states of the application's live connections, oldest first.
    pub(crate) fn infos(&self, app: usize, now: Time) -> Vec<TransportInfo> {
        match &self.sockets.apps[app].foreign {
            Some(transport) => transport.connections(now),
            None => self.connections(app).map(|connection| info_of(connection, now)).collect(),
        }
    }

    /// Returns the counters of an application, summed over all connections including ended ones.
    pub(crate) fn total(&self, app: usize, now: Time) -> Counters {
        let slot = &self.sockets.apps[app];
        let past = match &slot.foreign {
            Some(transport) => transport.past().0,
            None => slot.meter.past.as_ref().map_or(Counters::default(), |past| past.counters),
        };
        self.infos(app, now).iter().fold(past, |sum, info| sum + info.counters)
    }

    /// Returns the smoothed RTT of the connection that ended last.
    pub(crate) fn last_srtt(&self, app: usize) -> Option<Duration> {
        let slot = &self.sockets.apps[app];
        match &slot.foreign {
            Some(transport) => transport.past().1,
            None => slot.meter.past.as_ref()?.last_srtt,
        }
    }
}

fn info_of(connection: &Connection, now: Time) -> TransportInfo {
    let info: TcpInfo = connection.info(now);
    TransportInfo {
        state: info.ca_state.name(),
        cwnd: info.snd_cwnd,
        ssthresh: info.snd_ssthresh,
        srtt: info.srtt,
        rttvar: info.rttvar,
        rto: info.rto,
        in_flight: info.in_flight,
        snd_wnd: info.snd_wnd,
        rcv_space: info.rcv_space,
        counters: info.counters,
    }
}
