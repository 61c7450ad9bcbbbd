//! One end of a flow over smoltcp's TCP: a device whose frames are lopsided's packets, one interface and one socket.
//!
//! Left out: several connections, counters other than bytes, and the congestion window, which smoltcp does not expose.

use lopsided_app::{
    CloseReason, Datagram, SocketEvent, SocketId, Transport, TransportEnd, TransportInfo, TransportSettings,
};
use lopsided_core::{Bytes, Duration, Ecn, Packet, Payload, Time, wire};
use lopsided_spec::{Fault, Key, Part, key};
use lopsided_tcp::{Counters, State};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Settings of `transport = "smoltcp"` in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoltcp {
    /// Size of the send buffer and of the receive buffer, in bytes each.
    pub buffer: Bytes,
}

impl Default for Smoltcp {
    fn default() -> Smoltcp {
        Smoltcp { buffer: Bytes::new(64 << 10) }
    }
}

impl Part for Smoltcp {
    const NAME: &'static str = "smoltcp";
    const TEXT: &'static str = "smoltcp's TCP.";
    const KEYS: &'static [Key<Smoltcp>] =
        &[key("buffer", |smoltcp| &mut smoltcp.buffer, "The send buffer and the receive buffer of a connection.")];

    fn check(&self) -> Result<(), Fault> {
        if self.buffer < Bytes::new(1500) {
            return Err(Fault::new("buffer", "this must hold a packet: at least 1500 B"));
        }
        Ok(())
    }
}

impl TransportSettings for Smoltcp {
    fn build(&self, end: &TransportEnd) -> Result<Option<Box<dyn Transport>>, String> {
        Ok(Some(Box::new(Endpoint::new(self, end)?)))
    }

    fn check_flow(&self, _app: &lopsided_app::AppConfig, cc: &str) -> Result<(), Fault> {
        if control(cc).is_some() { Ok(()) } else { Err(Fault::new("cc", "smoltcp has reno and cubic")) }
    }
}

fn control(cc: &str) -> Option<tcp::CongestionControl> {
    match cc {
        "reno" => Some(tcp::CongestionControl::Reno),
        "cubic" => Some(tcp::CongestionControl::Cubic),
        _ => None,
    }
}

/// Frames that smoltcp has yet to receive, and frames that it has sent.
#[derive(Debug)]
struct Wire {
    mtu: usize,
    inbox: VecDeque<Vec<u8>>,
    outbox: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut frame = vec![0; len];
        let result = write(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received, Sent<'_>)> {
        let frame = self.inbox.pop_front()?;
        Some((Received(frame), Sent(&mut self.outbox)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Sent<'_>> {
        Some(Sent(&mut self.outbox))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

/// One end of a flow.
struct Endpoint {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    local: SocketAddr,
    remote: Option<SocketAddr>,
    /// Events that were reported to the application: connected, closed by the peer, ended.
    reported: (bool, bool, bool),
    opened: bool,
    events: VecDeque<SocketEvent>,
    timeout: Option<Time>,
    counters: Counters,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("local", &self.local).field("remote", &self.remote).finish_non_exhaustive()
    }
}

const ONLY: SocketId = SocketId(0);

/// smoltcp counts microseconds.
fn instant(at: Time) -> Instant {
    Instant::from_micros((at.as_nanos() / 1000) as i64)
}

impl Endpoint {
    fn new(config: &Smoltcp, end: &TransportEnd) -> Result<Endpoint, String> {
        let IpAddr::V4(address) = end.local.ip() else { return Err("this example knows IPv4 alone".to_owned()) };
        let mut wire = Wire { mtu: end.stack.mtu().get() as usize, inbox: VecDeque::new(), outbox: VecDeque::new() };
        let mut settings = Config::new(HardwareAddress::Ip);
        settings.random_seed = end.rng.clone().next_u64();
        let mut interface = Interface::new(settings, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // All addresses are on this link, so no routes are needed.
            addresses.push(IpCidr::new(IpAddress::Ipv4(address), 0)).expect("room for one address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; config.buffer.get() as usize]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_congestion_control(control(&end.cc).unwrap_or(tcp::CongestionControl::None));
        if !end.opens {
            socket.listen(end.local.port()).map_err(|error| error.to_string())?;
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Ok(Endpoint {
            wire,
            interface,
            sockets,
            handle,
            local: end.local,
            remote: end.remote,
            reported: (false, false, false),
            opened: false,
            events: VecDeque::new(),
            timeout: None,
            counters: Counters::default(),
        })
    }

    fn socket(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Lets smoltcp process packets and timers, and stores the time of its next timer.
    fn work(&mut self, now: Time) {
        self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
        let due = self.interface.poll_at(instant(now), &self.sockets);
        let earliest = now + Duration::from_micros(1);
        self.timeout = due.map(|at| Time::from_nanos(at.total_micros().max(0) as u64 * 1000).max(earliest));
    }

    /// Lets smoltcp process its input, then determines what has changed.
    fn poll(&mut self, now: Time) {
        self.work(now);
        let (opens, opened) = (self.remote.is_some(), self.opened);
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        let (state, can_read, can_write) = (socket.state(), socket.can_recv(), socket.can_send());
        let established = matches!(state, tcp::State::Established | tcp::State::CloseWait);
        if established && !self.reported.0 {
            self.reported.0 = true;
            self.opened = true;
            self.events.push_back(if opens { SocketEvent::Connected } else { SocketEvent::Accepted });
        }
        if can_read || can_write {
            self.events.push_back(SocketEvent::Ready);
        }
        if self.reported.0 && !socket.may_recv() && !can_read && !self.reported.1 {
            self.reported.1 = true;
            self.events.push_back(SocketEvent::PeerClosed);
        }
        let over = matches!(state, tcp::State::Closed | tcp::State::TimeWait) && (self.reported.0 || opened);
        if over && !self.reported.2 {
            self.reported.2 = true;
            self.events.push_back(SocketEvent::Closed(CloseReason::Normal));
        }
    }
}

impl Transport for Endpoint {
    fn connect(&mut self, now: Time) -> Option<SocketId> {
        let remote = self.remote.filter(|_| !self.opened)?;
        let IpAddr::V4(address) = remote.ip() else { return None };
        self.opened = true;
        let local = self.local.port();
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        socket.connect(self.interface.context(), (IpAddress::Ipv4(address), remote.port()), local).ok()?;
        self.poll(now);
        Some(ONLY)
    }

    fn write(&mut self, now: Time, _socket: SocketId, payload: &Payload) -> u64 {
        let zeros;
        let octets = match payload.bytes() {
            Some(octets) => octets,
            None => {
                let room = self.writable(ONLY).min(u64::from(payload.len()));
                zeros = vec![0; room as usize];
                &zeros
            }
        };
        let written = self.socket().send_slice(octets).unwrap_or(0) as u64;
        self.counters.bytes_sent += Bytes::new(written);
        self.work(now);
        written
    }

    fn writable(&self, _socket: SocketId) -> u64 {
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        if socket.may_send() { (socket.send_capacity() - socket.send_queue()) as u64 } else { 0 }
    }

    fn read(&mut self, now: Time, _socket: SocketId) -> Payload {
        let socket = self.socket();
        let mut octets = vec![0; socket.recv_queue()];
        let len = socket.recv_slice(&mut octets).unwrap_or(0);
        octets.truncate(len);
        self.counters.bytes_received += Bytes::new(len as u64);
        self.work(now);
        Payload::real(octets)
    }

    fn close(&mut self, now: Time, _socket: SocketId) {
        self.socket().close();
        self.work(now);
    }

    fn abort(&mut self, now: Time, _socket: SocketId) {
        self.socket().abort();
        self.reported.2 = true;
        self.work(now);
    }

    fn state(&self, _socket: SocketId) -> Option<State> {
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        Some(match socket.state() {
            tcp::State::Closed => State::Closed,
            tcp::State::Listen => State::Listen,
            tcp::State::SynSent => State::SynSent,
            tcp::State::SynReceived => State::SynReceived,
            tcp::State::Established => State::Established,
            tcp::State::FinWait1 => State::FinWait1,
            tcp::State::FinWait2 => State::FinWait2,
            tcp::State::CloseWait => State::CloseWait,
            tcp::State::Closing => State::Closing,
            tcp::State::LastAck => State::LastAck,
            tcp::State::TimeWait => State::TimeWait,
        })
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        self.counters.segments_in += 1;
        self.counters.data_segments_in += u64::from(packet.payload_len() > 0);
        self.wire.inbox.push_back(wire::encode(packet));
        self.poll(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.timeout.is_some_and(|due| due <= now) {
            self.poll(now);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.wire.outbox.is_empty() {
            self.work(now);
        }
        let frame = self.wire.outbox.pop_front()?;
        let packet = wire::parse(&frame).expect("smoltcp sends IP packets of TCP");
        self.counters.segments_out += 1;
        self.counters.data_segments_out += u64::from(packet.payload_len() > 0);
        Some(Datagram { header: packet.transport().clone(), payload: packet.payload(), ecn: Ecn::NotEct })
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timeout
    }

    fn poll_event(&mut self) -> Option<(SocketId, SocketEvent)> {
        self.events.pop_front().map(|event| (ONLY, event))
    }

    fn connections(&self, _now: Time) -> Vec<TransportInfo> {
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        if !socket.is_active() {
            return Vec::new();
        }
        vec![TransportInfo { state: "open", counters: self.counters, ..TransportInfo::default() }]
    }

    fn past(&self) -> (Counters, Option<Duration>) {
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        (if socket.is_active() { Counters::default() } else { self.counters }, None)
    }

    fn cwnd(&self) -> Option<u64> {
        None
    }

    fn take_rtts(&mut self, _each: &mut dyn FnMut(Duration)) {}
}
