//! quinn-proto as one of lopsided's transports: one end of a flow.
//!
//! A socket is a bidirectional stream. The socket that opens a connection uses the connection's first stream. A client
//! closes a connection when none of its sockets is open.
//!
//! Written data stays in the socket until quinn accepts it. Received data is read from quinn immediately, so flow
//! control never waits for the application.

mod clock;
mod congestion;
mod counts;
mod crypto;
#[cfg(feature = "noq")]
mod rates;
mod settings;
mod sockets;
mod stack;
mod transport;

use crate::config::{CcSource, QuicConfig};
use bytes::{Bytes, BytesMut};
pub use clock::Clock;
use clock::{from_std, lock};
use congestion::{Source, Watched, WatchingFactory};
use counts::PacketCounts;
pub use crypto::forged_packet;
use crypto::{HandshakeSizes, LocalAcks, PlainConfig, PlainTokenKey, SeededHmac};
use lopsided_app::{CloseReason, SocketEvent, SocketId, TransportEnd, TransportInfo};
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimedTcpEvent};
use lopsided_core::{Bytes as Octets, Duration, Ecn, Payload, Rng, Time};
use lopsided_tcp::{Counters, State};
use settings::transport_config;
use stack::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, NoneTokenStore, ServerConfig, StreamEvent, StreamId,
    TimeSource, VarInt, set_ids,
};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// RFC 9000, section 18.2: default of max_ack_delay.
const USUAL_MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Generates connection IDs of 8 bytes from the flow's own random stream.
struct SeededIds(Rng);

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_u64().to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        crate::frames::CID_LEN
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// A time of day that is constant. Only tokens contain it.
struct Epoch;

impl TimeSource for Epoch {
    fn now(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
}

/// One end of a QUIC flow.
pub struct QuicEndpoint {
    config: QuicConfig,
    clock: Clock,
    endpoint: Endpoint,
    client: ClientConfig,
    plain: Arc<PlainConfig>,
    controllers: Arc<WatchingFactory>,
    local_port: u16,
    remote: Option<SocketAddr>,
    opens: bool,
    drains: bool,
    /// The connections, indexed by quinn's handles.
    connections: Vec<Option<Box<Link>>>,
    sockets: Vec<Option<Socket>>,
    free_sockets: Vec<u32>,
    events: VecDeque<(SocketId, SocketEvent)>,
    /// Packets of the latest batch that the host has not fetched yet.
    outbox: VecDeque<(Vec<u8>, Ecn)>,
    /// Index of the next connection to poll for packets.
    sending: usize,
    /// Received packets that wait for the processor or for the end of their batch.
    inbox: VecDeque<(Payload, Option<EcnCodepoint>)>,
    /// Time at which to process the inbox.
    inbox_due: Option<Time>,
    /// Time at which the processor finishes its current work.
    busy_until: Time,
    buffer: Vec<u8>,
    past: Counters,
    past_srtt: Option<Duration>,
    cwnd: Option<u64>,
    rtts: Vec<Duration>,
    /// The kinds of events that an observer receives.
    listened: TcpEventMask,
    /// Events that the observer has not fetched yet.
    traced: VecDeque<TimedTcpEvent>,
}

/// One connection of the endpoint.
struct Link {
    handle: ConnectionHandle,
    connection: Connection,
    /// True if this end opened the connection.
    client: bool,
    established: bool,
    /// True once the connection is closed or lost. Its sockets then receive no more events.
    over: bool,
    watched: Arc<Mutex<Watched>>,
    local_acks: Arc<Mutex<LocalAcks>>,
    /// The ACK behaviour in force.
    acks: LocalAck,
    /// True if the ACK behaviour in force is final.
    acks_settled: bool,
    arrivals: Arrivals,
    counts: PacketCounts,
    /// Number of bytes that quinn accepted from the connection's sockets.
    written: u64,
    /// The latest reason why the sender was limited, as reported to observers.
    limit: Option<Limit>,
    state: State,
    /// Sockets that wait for the peer to permit another stream, oldest first.
    waiting: VecDeque<u32>,
    open_sockets: u32,
    /// True if the connection must be polled for packets.
    touched: bool,
    timeout: Option<Time>,
}

/// The ACK behaviour of a receiver.
#[derive(Clone, Copy, Debug)]
struct LocalAck {
    packets: u64,
    delay_us: u64,
    reordering: u64,
}

impl LocalAck {
    /// Returns true if the two behaviours differ by at most 20 %. A delay derived from the RTT varies with every
    /// sample.
    fn is_near(self, other: LocalAck) -> bool {
        let near = |a: u64, b: u64| a.abs_diff(b) * 5 <= b;
        near(self.packets, other.packets) && near(self.delay_us, other.delay_us) && self.reordering == other.reordering
    }
}

/// Measures the largest number of packets received within one RTT.
#[derive(Debug, Default)]
struct Arrivals {
    /// Start of the current RTT.
    since: Time,
    /// Number of packets received before the start of the current RTT.
    before: u64,
    /// The largest number of packets that arrived within one RTT so far.
    most: u64,
}

impl Arrivals {
    fn note(&mut self, now: Time, rtt: Duration, received: u64) {
        if now >= self.since + rtt {
            self.most = self.most.max(received - self.before);
            (self.since, self.before) = (now, received);
        }
    }
}

/// A stream of a connection, which may not be open yet.
struct Socket {
    link: usize,
    stream: Option<StreamId>,
    /// True if this socket opened the connection.
    opener: bool,
    queue: VecDeque<Bytes>,
    queued: u64,
    /// Number of bytes that quinn accepted.
    written: u64,
    inbox: Vec<u8>,
    /// Number of bytes that the application can read. `inbox` stays empty if the application discards contents.
    readable: u64,
    /// True once the application has closed its sending direction.
    closing: bool,
    /// True once the FIN was passed to quinn.
    finished: bool,
    /// True once all data and the FIN are acknowledged.
    sent_all: bool,
    /// True once the peer's FIN was read.
    received_all: bool,
    /// True if the peer opened the stream and the event `Accepted` has not been queued yet.
    fresh: bool,
    /// True once the event `Closed` was queued.
    ended: bool,
}

impl fmt::Debug for QuicEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicEndpoint")
            .field("local_port", &self.local_port)
            .field("remote", &self.remote)
            .field("connections", &self.connections.iter().flatten().count())
            .finish_non_exhaustive()
    }
}

impl QuicEndpoint {
    /// Builds one end of a flow with these settings.
    ///
    /// # Errors
    /// Returns an error if the congestion control cannot run over QUIC.
    pub fn new(config: &QuicConfig, end: &TransportEnd, clock: Clock) -> Result<QuicEndpoint, String> {
        let mut rng = end.rng.clone();
        let source = match (config.cc_source, end.cc.as_str()) {
            (CcSource::Lopsided, _) => Source::Ours(end.make_controller.clone()),
            (CcSource::Quinn, "reno" | "newreno") => Source::NewReno,
            (CcSource::Quinn, "cubic") => Source::Cubic,
            (CcSource::Quinn, "bbr") => Source::Bbr,
            (CcSource::Quinn, other) => return Err(format!("quinn has no congestion control {other:?}")),
        };
        let controllers = Arc::new(WatchingFactory::new(clock, source, u64::from(config.initial_window)));
        // Sizes of the handshake messages that rustls sends with one certificate chain and X25519.
        let sizes = HandshakeSizes {
            client_hello: 280,
            server_hello: 90,
            server_flight: config.server_flight.get() as usize,
            finished: 36,
        };
        let plain = Arc::new(PlainConfig::new(sizes));
        let transport = Arc::new(transport_config(config, end, controllers.clone()));
        let mut endpoint = EndpointConfig::new(Arc::new(SeededHmac(rng.next_u64())));
        // Seed every random source of quinn from the flow's own stream, so that runs are repeatable.
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_le_bytes()));
        endpoint.rng_seed(Some(seed));
        let ids = Mutex::new(Rng::for_role(rng.next_u64(), "quic/ids"));
        set_ids(&mut endpoint, move || Box::new(SeededIds(Rng::for_role(lock(&ids).next_u64(), "quic/id"))));
        let mut server = ServerConfig::new(plain.clone(), Arc::new(PlainTokenKey));
        server.transport_config(transport.clone()).time_source(Arc::new(Epoch));
        let mut client = ClientConfig::new(plain.clone());
        let first_ids = Mutex::new(Rng::for_role(rng.next_u64(), "quic/first ids"));
        client
            .transport_config(transport)
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&lock(&first_ids).next_u64().to_be_bytes())));
        let server = (!end.opens).then(|| Arc::new(server));
        Ok(QuicEndpoint {
            config: config.clone(),
            clock,
            endpoint: stack::endpoint(endpoint, server),
            client,
            plain,
            controllers,
            local_port: end.local.port(),
            remote: end.remote,
            opens: end.opens,
            drains: end.drains,
            connections: Vec::new(),
            sockets: Vec::new(),
            free_sockets: Vec::new(),
            events: VecDeque::new(),
            outbox: VecDeque::new(),
            sending: 0,
            inbox: VecDeque::new(),
            inbox_due: None,
            busy_until: Time::ZERO,
            buffer: Vec::with_capacity(2 << 10),
            past: Counters::default(),
            past_srtt: None,
            cwnd: None,
            rtts: Vec::new(),
            listened: TcpEventMask::NONE,
            traced: VecDeque::new(),
        })
    }

    fn add_link(&mut self, handle: ConnectionHandle, connection: Connection, client: bool) -> usize {
        let link = Link {
            handle,
            connection,
            client,
            established: false,
            over: false,
            watched: self.controllers.latest(),
            local_acks: self.plain.latest(),
            acks: LocalAck { packets: 2, delay_us: USUAL_MAX_ACK_DELAY.as_micros(), reordering: 1 },
            acks_settled: self.config.ack_frequency,
            arrivals: Arrivals::default(),
            counts: PacketCounts::default(),
            written: 0,
            limit: None,
            state: State::Closed,
            waiting: VecDeque::new(),
            open_sockets: 0,
            touched: true,
            timeout: None,
        };
        let place = handle.0;
        if self.connections.len() <= place {
            self.connections.resize_with(place + 1, || None);
        }
        self.connections[place] = Some(Box::new(link));
        self.sending = self.sending.min(place);
        place
    }

    /// Handles the pending events of a connection.
    fn serve(&mut self, place: usize, now: Time) {
        loop {
            let Some(link) = self.connections.get_mut(place).and_then(Option::as_deref_mut) else { return };
            // Endpoint events come first, because the endpoint's response may cause events of the connection.
            if let Some(event) = link.connection.poll_endpoint_events() {
                let drained = event.is_drained();
                if let Some(event) = self.endpoint.handle_event(link.handle, event) {
                    link.connection.handle_event(event);
                    link.touched = true;
                }
                if drained {
                    return self.forget(place, now);
                }
                continue;
            }
            let Some(event) = link.connection.poll() else { break };
            match event {
                Event::Connected => {
                    link.established = true;
                    let waiting: Vec<u32> = link.waiting.drain(..).collect();
                    let opener = self
                        .sockets
                        .iter()
                        .position(|socket| socket.as_ref().is_some_and(|socket| socket.link == place && socket.opener));
                    if let Some(opener) = opener {
                        self.events.push_back((SocketId(opener as u32), SocketEvent::Connected));
                        self.events.push_back((SocketId(opener as u32), SocketEvent::Ready));
                    }
                    waiting.into_iter().for_each(|socket| self.flush(socket));
                }
                Event::ConnectionLost { reason } => {
                    link.over = true;
                    let reason = match reason {
                        ConnectionError::TimedOut => CloseReason::TimedOut,
                        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => CloseReason::Normal,
                        _ => CloseReason::Reset,
                    };
                    self.end_sockets(place, reason);
                }
                // One event may announce several streams.
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(id) = self.accept_stream(place) {
                        let socket = self.add_socket(place, Some(id), false);
                        if let Some(socket) = self.sockets[socket as usize].as_mut() {
                            socket.fresh = true;
                        }
                        self.take_readable(place, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.take_readable(place, id),
                Event::Stream(StreamEvent::Writable { id }) => {
                    if let Some(socket) = self.socket_of(place, id) {
                        self.flush(socket);
                        self.events.push_back((SocketId(socket), SocketEvent::Ready));
                    }
                }
                Event::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. }) => {
                    if let Some(socket) = self.socket_of(place, id) {
                        if let Some(socket) = self.sockets[socket as usize].as_mut() {
                            socket.sent_all = true;
                        }
                        self.end_if_done(socket);
                    }
                }
                // The peer permits more streams, so open streams for the sockets that wait.
                Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => {
                    let waiting: Vec<u32> = link.waiting.drain(..).collect();
                    waiting.into_iter().for_each(|socket| self.flush(socket));
                }
                #[cfg(feature = "noq")]
                Event::HandshakeConfirmed | Event::Path(_) | Event::NatTraversal(_) => {}
                Event::HandshakeDataReady
                | Event::DatagramReceived
                | Event::DatagramsUnblocked
                | Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Available { .. }) => {}
            }
        }
        self.adapt_acks(place, now);
    }

    /// Adapts the receiver's ACK behaviour, unless the sender requests one.
    fn adapt_acks(&mut self, place: usize, now: Time) {
        let Some(link) = self.connections.get_mut(place).and_then(Option::as_deref_mut) else { return };
        if link.acks_settled || !link.established {
            return;
        }
        let config = &self.config;
        link.acks_settled = config.ack_start == 0 && config.ack_window_share == 0.0 && config.ack_delay_rtts == 0.0;
        let rtt = from_std(stack::rtt(&link.connection));
        let received = lock(&link.local_acks).received;
        let begun = received >= u64::from(config.ack_start);
        link.arrivals.note(now, rtt, received);
        let share = (link.arrivals.most as f64 * config.ack_window_share) as u64;
        // RFC 9000, section 13.2.2: at the start of a connection, send ACKs at least for every second packet.
        let packets = match begun {
            true => u64::from(config.ack_packets).max(share.min(u64::from(config.ack_packets_most))),
            false => u64::from(config.ack_packets.min(2)),
        };
        let delay = match begun && config.ack_delay_rtts > 0.0 {
            true => config.max_ack_delay.as_micros().min((rtt.as_micros() as f64 * config.ack_delay_rtts) as u64),
            false => config.max_ack_delay.as_micros(),
        };
        // quinn rejects delays below 1 ms, which is the resolution of its timers.
        let wanted =
            LocalAck { packets, delay_us: delay.max(1000), reordering: u64::from(config.reordering_threshold) };
        if !wanted.is_near(link.acks) {
            link.acks = wanted;
            lock(&link.local_acks).set(wanted.packets, wanted.delay_us, wanted.reordering);
        }
    }

    /// Removes a drained connection.
    fn forget(&mut self, place: usize, now: Time) {
        if self.listened != TcpEventMask::NONE {
            self.trace(place, now);
        }
        self.end_sockets(place, CloseReason::Normal);
        // A later connection may reuse this index, and must not inherit the sockets.
        for socket in self.sockets.iter_mut().flatten().filter(|socket| socket.link == place) {
            socket.link = usize::MAX;
        }
        let Some(mut link) = self.connections[place].take() else { return };
        self.rtts.append(&mut lock(&link.watched).rtts);
        self.past = link.add_to(self.past);
        self.past_srtt = Some(from_std(stack::rtt(&link.connection)));
    }

    /// Closes the client's connections that have no open sockets.
    fn close_idle(&mut self, now: Time) {
        for place in 0..self.connections.len() {
            let Some(link) = self.connections[place].as_deref_mut() else { continue };
            if link.client && link.open_sockets == 0 && !link.over {
                link.over = true;
                link.connection.close(self.clock.instant(now), VarInt::from_u32(0), Bytes::new());
                link.touched = true;
                self.serve(place, now);
            }
        }
    }

    /// Passes a received packet to quinn.
    fn take_packet(&mut self, now: Time, data: &Payload, ecn: Option<EcnCodepoint>) {
        let (Some(remote), Some(octets)) = (self.remote, data.bytes()) else { return };
        let instant = self.clock.instant(now);
        self.buffer.clear();
        let event = stack::handle(&mut self.endpoint, instant, remote, ecn, BytesMut::from(octets), &mut self.buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(link) = self.connections.get_mut(handle.0).and_then(Option::as_deref_mut) else { return };
                link.counts.received(octets);
                link.connection.handle_event(event);
                link.touched = true;
                self.serve(handle.0, now);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.buffer.clear();
                match self.endpoint.accept(incoming, instant, &mut self.buffer, None) {
                    Ok((handle, connection)) => {
                        let place = self.add_link(handle, connection, false);
                        self.serve(place, now);
                    }
                    Err(error) => {
                        if let Some(response) = error.response {
                            self.outbox.push_back((self.buffer[..response.size].to_vec(), Ecn::NotEct));
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(response)) => {
                self.outbox.push_back((self.buffer[..response.size].to_vec(), Ecn::NotEct));
            }
            None => {}
        }
    }

    /// Processes received packets that are due.
    fn take_inbox(&mut self, now: Time) {
        while self.inbox_due.is_some_and(|due| due.max(self.busy_until) <= now) {
            let Some((data, ecn)) = self.inbox.pop_front() else {
                self.inbox_due = None;
                break;
            };
            if self.inbox.is_empty() {
                self.inbox_due = None;
            }
            self.work(now);
            self.take_packet(now, &data, ecn);
        }
    }

    /// Accounts for the processor time of one packet.
    fn work(&mut self, now: Time) {
        if !self.config.packet_cpu.is_zero() {
            self.busy_until = self.busy_until.max(now) + self.config.packet_cpu;
        }
    }

    /// Moves the next batch of packets of any connection into the outbox. Returns false if no connection has packets to
    /// send.
    fn fill_outbox(&mut self, now: Time) -> bool {
        let (instant, most) = (self.clock.instant(now), self.config.gso_packets as usize);
        while self.sending < self.connections.len() {
            let place = self.sending;
            let Some(link) = self.connections[place].as_deref_mut().filter(|link| link.touched) else {
                self.sending += 1;
                continue;
            };
            self.buffer.clear();
            if let Some(transmit) = stack::poll_transmit(&mut link.connection, instant, most, &mut self.buffer) {
                let ecn = match transmit.ecn.filter(|_| self.config.ecn) {
                    Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                    Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                    Some(EcnCodepoint::Ce) => Ecn::Ce,
                    None => Ecn::NotEct,
                };
                let size = transmit.segment_size.unwrap_or(transmit.size);
                for packet in self.buffer[..transmit.size].chunks(size) {
                    link.counts.sent(packet);
                    self.outbox.push_back((packet.to_vec(), ecn));
                }
                return true;
            }
            // There is nothing more to send. Update the timer, then handle the events that the sending caused.
            link.touched = false;
            if self.listened != TcpEventMask::NONE {
                self.trace(place, now);
            }
            let Some(link) = self.connections[place].as_deref_mut() else { continue };
            link.timeout = link.connection.poll_timeout().map(|at| self.clock.time(at));
            self.serve(place, now);
            let again = self.connections[place].as_deref().is_some_and(|link| link.touched);
            self.sending += usize::from(!again);
        }
        self.sending = 0;
        false
    }

    /// Returns the reason why the connection sends no more packets now; `None` if no limit applies.
    fn limit_of(&self, place: usize, now: Time) -> Option<Limit> {
        let link = self.connections.get(place)?.as_deref()?;
        let counters = link.counts.counters();
        if !link.established {
            // RFC 9000, section 8.1: before address validation, a server may send at most 3 times the bytes that it
            // received.
            let blocked = !link.client && counters.bytes_unvalidated > 3 * counters.bytes_before;
            return blocked.then_some(Limit::AntiAmplification);
        }
        if self.busy_until > now {
            return Some(Limit::Processor);
        }
        let sent = counters.sums.bytes_sent.saturating_sub(counters.sums.bytes_retransmitted).get();
        let (queued, largest) = self
            .sockets
            .iter()
            .flatten()
            .filter(|socket| socket.link == place)
            .fold((0, 0), |(queued, largest), socket| (queued + socket.queued, socket.written.max(largest)));
        let watched = lock(&link.watched);
        let mtu = u64::from(link.connection.current_mtu());
        Some(if link.written > sent {
            if watched.in_flight + mtu >= watched.cwnd { Limit::Congestion } else { Limit::Pacing }
        } else if queued == 0 {
            Limit::Application
        } else if link.written.saturating_sub(counters.sums.bytes_acked.get()) >= self.config.send_window.get() {
            Limit::SendBuffer
        } else if largest >= link.written && self.config.connection_window.is_none() {
            Limit::StreamFlowControl
        } else {
            Limit::ConnectionFlowControl
        })
    }

    /// Passes a connection's events on to the observer.
    #[cold]
    fn trace(&mut self, place: usize, now: Time) {
        let limit = self.limit_of(place, now);
        let Some(link) = self.connections.get_mut(place).and_then(Option::as_deref_mut) else { return };
        let state = match (link.over, link.established, link.client) {
            (true, ..) => State::Closed,
            (false, true, _) => State::Established,
            (false, false, true) => State::SynSent,
            (false, false, false) => State::SynReceived,
        };
        let mut events = std::mem::take(&mut lock(&link.watched).events);
        events.extend(link.counts.take_events().into_iter().map(|event| TimedTcpEvent { at: now, event }));
        if state != link.state {
            events.push(TimedTcpEvent { at: now, event: TcpEvent::StateChanged { from: link.state, to: state } });
            link.state = state;
        }
        if limit != link.limit {
            link.limit = limit;
            if let Some(by) = limit {
                events.push(TimedTcpEvent { at: now, event: TcpEvent::Limited { by } });
            }
        }
        let listened = self.listened;
        self.traced.extend(events.into_iter().filter(|each| listened.has(each.event.kind())));
    }

    fn note_cwnd(&mut self) {
        let mut sum = None;
        for link in self.connections.iter().flatten().filter(|link| !link.over) {
            sum = Some(sum.unwrap_or(0) + lock(&link.watched).cwnd);
        }
        self.cwnd = sum;
    }
}

impl Link {
    fn info(&self) -> TransportInfo {
        let watched = lock(&self.watched);
        let rtt = from_std(stack::rtt(&self.connection));
        TransportInfo {
            state: if watched.in_recovery { "recovery" } else { "open" },
            cwnd: Octets::new(watched.cwnd),
            ssthresh: watched.ssthresh.map(Octets::new),
            srtt: self.established.then_some(rtt),
            // quinn does not expose its RTT variation, its probe timeout or its flow control windows.
            rttvar: Duration::ZERO,
            rto: Duration::ZERO,
            in_flight: Octets::new(watched.in_flight),
            snd_wnd: Octets::ZERO,
            rcv_space: Octets::ZERO,
            counters: Counters {
                fast_retransmits: watched.loss_reductions,
                ecn_reductions: watched.ecn_reductions,
                ..self.counts.counters().sums
            },
        }
    }

    /// Adds the counters of this connection to the counters of earlier connections.
    fn add_to(&mut self, past: Counters) -> Counters {
        past + self.info().counters
    }
}
