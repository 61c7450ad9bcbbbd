//! The endpoint's implementation of [`Transport`].

use super::QuicEndpoint;
use super::clock::lock;
use super::stack::{EcnCodepoint, VarInt};
use bytes::Bytes;
use lopsided_app::{Datagram, SocketEvent, SocketId, Transport, TransportInfo};
use lopsided_core::packet::UdpHeader;
use lopsided_core::tcp_event::{TcpEventMask, TimedTcpEvent};
use lopsided_core::{Duration, Ecn, Packet, Payload, Time, Transport as Header};
use lopsided_tcp::{Counters, State};
use std::net::SocketAddr;

/// Maximum number of bytes that a socket stores before quinn accepts them.
const SOCKET_BUFFER: u64 = 256 << 10;
/// Contents of virtual payloads.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

impl Transport for QuicEndpoint {
    fn connect(&mut self, now: Time) -> Option<SocketId> {
        let remote = self.remote.filter(|_| self.opens)?;
        let connected = self.endpoint.connect(self.clock.instant(now), self.client.clone(), remote, "lopsided");
        let (handle, connection) = connected.ok()?;
        let link = self.add_link(handle, connection, true);
        let socket = self.add_socket(link, None, true);
        Some(SocketId(socket))
    }

    fn open_stream(&mut self, _now: Time, of: SocketId) -> Option<SocketId> {
        let link = self.socket(of)?.link;
        self.connections.get(link)?.as_deref().filter(|link| !link.over)?;
        Some(SocketId(self.add_socket(link, None, false)))
    }

    fn write(&mut self, _now: Time, socket: SocketId, payload: &Payload) -> u64 {
        let room = self.writable(socket);
        let Some(of) = self.sockets.get_mut(socket.0 as usize).and_then(Option::as_mut) else { return 0 };
        let taken = u64::from(payload.len()).min(room);
        match payload.bytes() {
            Some(octets) => of.queue.push_back(Bytes::copy_from_slice(&octets[..taken as usize])),
            // QUIC sends actual bytes, so a payload without contents is sent as zeros.
            None => {
                let mut left = taken as usize;
                while left > 0 {
                    let len = left.min(ZEROS.len());
                    of.queue.push_back(Bytes::from_static(&ZEROS[..len]));
                    left -= len;
                }
            }
        }
        of.queued += taken;
        self.flush(socket.0);
        taken
    }

    fn writable(&self, socket: SocketId) -> u64 {
        self.socket(socket).filter(|of| !of.closing && !of.sent_all).map_or(0, |of| SOCKET_BUFFER - of.queued)
    }

    fn read(&mut self, _now: Time, socket: SocketId) -> Payload {
        let Some(of) = self.sockets.get_mut(socket.0 as usize).and_then(Option::as_mut) else { return Payload::EMPTY };
        let octets = std::mem::take(&mut of.readable);
        match std::mem::take(&mut of.inbox) {
            // The contents were discarded on arrival, so only the length is returned.
            inbox if inbox.is_empty() => Payload::virtual_len(octets as u32),
            inbox => Payload::real(inbox),
        }
    }

    fn close(&mut self, _now: Time, socket: SocketId) {
        let Some(of) = self.sockets.get_mut(socket.0 as usize).and_then(Option::as_mut) else { return };
        let unused = of.stream.is_none() && of.queue.is_empty();
        of.closing = true;
        if unused {
            // Nothing was sent, so there is no stream to end.
            self.remove_socket(socket.0);
        } else {
            self.flush(socket.0);
        }
    }

    fn abort(&mut self, now: Time, socket: SocketId) {
        let Some(of) = self.socket(socket) else { return };
        let (place, stream, opener) = (of.link, of.stream, of.opener);
        self.remove_socket(socket.0);
        let Some(link) = self.connections.get_mut(place).and_then(Option::as_deref_mut) else { return };
        link.touched = true;
        // Aborting the socket that opened the connection closes the whole connection.
        if opener && !link.over {
            link.over = true;
            link.connection.close(self.clock.instant(now), VarInt::from_u32(1), Bytes::new());
        } else if let Some(id) = stream {
            // An error means that this direction has already ended.
            let _ = link.connection.send_stream(id).reset(VarInt::from_u32(1));
            let _ = link.connection.recv_stream(id).stop(VarInt::from_u32(1));
        }
    }

    fn state(&self, socket: SocketId) -> Option<State> {
        let of = self.socket(socket)?;
        let link = self.connections.get(of.link)?.as_deref()?;
        Some(match (link.established, of.closing, of.received_all) {
            (false, ..) => State::SynSent,
            (true, false, false) => State::Established,
            (true, false, true) => State::CloseWait,
            (true, true, _) => State::FinWait1,
        })
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let Header::Udp(header) = packet.transport() else { return };
        let data = packet.payload();
        // A server learns its peer's address from the first packet.
        self.remote.get_or_insert(SocketAddr::new(packet.src(), header.src_port));
        let ecn = match packet.ecn() {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        // Process the packet now, unless it must wait for the processor or for its batch.
        let idle = self.inbox.is_empty() && self.config.receive_wait.is_zero() && self.busy_until <= now;
        if idle {
            self.work(now);
            self.take_packet(now, &data, ecn);
        } else {
            self.inbox.push_back((data, ecn));
            self.inbox_due.get_or_insert(now + self.config.receive_wait);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.take_inbox(now);
        for place in 0..self.connections.len() {
            let Some(link) = self.connections[place].as_deref_mut() else { continue };
            if link.timeout.is_some_and(|due| due <= now) {
                link.timeout = None;
                link.connection.handle_timeout(self.clock.instant(now));
                link.touched = true;
                self.serve(place, now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.busy_until > now {
            return None;
        }
        if self.outbox.is_empty() {
            self.close_idle(now);
            if !self.fill_outbox(now) {
                self.note_cwnd();
                return None;
            }
        }
        let (octets, ecn) = self.outbox.pop_front()?;
        self.work(now);
        let remote = self.remote?;
        let header = Header::Udp(UdpHeader { src_port: self.local_port, dst_port: remote.port() });
        Some(Datagram { header, payload: Payload::real(octets), ecn })
    }

    fn poll_timeout(&self) -> Option<Time> {
        let links = self.connections.iter().flatten();
        let timers = links.clone().filter_map(|link| link.timeout).min();
        // If there are packets to send, the host must call again when the processor is free.
        let waits = !self.outbox.is_empty() || links.clone().any(|link| link.touched);
        let processor = (waits && self.busy_until > Time::ZERO).then_some(self.busy_until);
        let inbox = self.inbox_due.map(|due| due.max(self.busy_until));
        [timers, processor, inbox].into_iter().flatten().min()
    }

    fn poll_event(&mut self) -> Option<(SocketId, SocketEvent)> {
        let (socket, event) = self.events.pop_front()?;
        if matches!(event, SocketEvent::Closed(_)) {
            self.remove_socket(socket.0);
        }
        Some((socket, event))
    }

    fn connections(&self, _now: Time) -> Vec<TransportInfo> {
        self.connections.iter().flatten().filter(|link| !link.over).map(|link| link.info()).collect()
    }

    fn past(&self) -> (Counters, Option<Duration>) {
        let over = self.connections.iter().flatten().filter(|link| link.over);
        let sum = over.fold(self.past, |sum, link| sum + link.info().counters);
        (sum, self.past_srtt)
    }

    fn cwnd(&self) -> Option<u64> {
        self.cwnd
    }

    fn listen_to(&mut self, kinds: TcpEventMask) {
        self.listened = kinds;
        self.controllers.listen();
    }

    fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        self.traced.pop_front()
    }

    fn take_rtts(&mut self, each: &mut dyn FnMut(Duration)) {
        self.rtts.drain(..).for_each(&mut *each);
        for link in self.connections.iter().flatten() {
            lock(&link.watched).rtts.drain(..).for_each(&mut *each);
        }
    }
}
