//! Runs a QUIC download with TLS between two quinn-proto endpoints over a line, and checks the goodput.
//!
//!     cargo run -p lopsided-line --example quinn

use bytes::BytesMut;
use lopsided_line::{Delivery, Dir, Ecn, Line, LineConfig, Side, Time};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, Transmit,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

const BYTES: usize = 2_000_000;

/// One endpoint with at most one connection.
struct Host {
    side: Side,
    peer: SocketAddr,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The instant that represents [`Time::ZERO`]. quinn-proto uses the instants that the caller passes, and reads no
    /// clock.
    epoch: Instant,
}

impl Host {
    fn new(line: &Line, side: Side, server: Option<ServerConfig>, epoch: Instant) -> Host {
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), true, None);
        Host { side, peer: line.address(side.peer()), endpoint, connection: None, epoch }
    }

    fn instant(&self, now: Time) -> Instant {
        self.epoch + std::time::Duration::from_nanos(now.as_nanos())
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    fn receive(&mut self, now: Time, delivery: Delivery, line: &mut Line) {
        let (instant, mut reply) = (self.instant(now), Vec::new());
        let ecn = EcnCodepoint::from_bits(delivery.ecn as u8);
        let datagram = BytesMut::from(delivery.datagram.as_slice());
        match self.endpoint.handle(instant, self.peer, None, ecn, datagram, &mut reply) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection().expect("the event belongs to the connection").handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, instant, &mut reply, None);
                self.connection = Some(accepted.expect("the server accepts the client"));
            }
            Some(DatagramEvent::Response(transmit)) => self.send(now, &transmit, &reply, line),
            None => {}
        }
    }

    fn send(&self, now: Time, transmit: &Transmit, datagrams: &[u8], line: &mut Line) {
        // quinn-proto may return several datagrams of the same size in one buffer.
        let ecn = transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
        for datagram in datagrams[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size)) {
            line.send_ecn(now, self.side, datagram, ecn);
        }
    }

    /// Handles expired timers, sends the connection's packets, and returns the time of the connection's next timer.
    fn drive(&mut self, now: Time, line: &mut Line) -> Option<Time> {
        let instant = self.instant(now);
        let (handle, mut connection) = self.connection.take()?;
        if connection.poll_timeout().is_some_and(|timeout| timeout <= instant) {
            connection.handle_timeout(instant);
        }
        let mut datagrams = Vec::new();
        while let Some(transmit) = connection.poll_transmit(instant, 1, &mut datagrams) {
            self.send(now, &transmit, &datagrams, line);
            datagrams.clear();
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        let timeout = connection.poll_timeout();
        self.connection = Some((handle, connection));
        timeout.map(|timeout| Time::from_nanos((timeout - self.epoch).as_nanos() as u64))
    }
}

fn configurations() -> (ServerConfig, ClientConfig) {
    let certified = rcgen::generate_simple_self_signed(["server.test".to_owned()]).expect("a valid name");
    let key = PrivatePkcs8KeyDer::from(certified.key_pair.serialize_der());
    let certificate = certified.cert.der().clone();
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .expect("the key belongs to the certificate");
    let server =
        ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).expect("TLS 1.3 has QUIC's cipher suite")));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a valid certificate");
    (server, ClientConfig::with_root_certificates(Arc::new(roots)).expect("TLS 1.3 has QUIC's cipher suite"))
}

#[expect(clippy::disallowed_methods, reason = "quinn-proto needs one instant as its reference")]
pub fn main() {
    let config = LineConfig::preset("docsis31-1000-35")
        .set("link.down.rate", "20 Mbit/s")
        .queue(Dir::Down, "{ kind = \"fq_codel\", limit = \"10240 packets\" }")
        .queue(Dir::Up, "50 packets");
    let mut line = Line::new(config).expect("a valid line");
    let (server, client) = configurations();
    let epoch = Instant::now();
    let mut hosts = [Host::new(&line, Side::Client, None, epoch), Host::new(&line, Side::Server, Some(server), epoch)];
    let peer = hosts[0].peer;
    let opened = hosts[0].endpoint.connect(epoch, client, peer, "server.test").expect("a valid name");
    hosts[0].connection = Some(opened);

    let (mut sent, mut received, mut now) = (0, 0, Time::ZERO);
    let mut stream: Option<StreamId> = None;
    while received < BYTES {
        if let Some(connection) = hosts[1].connection() {
            while let Some(event) = connection.poll() {
                if let Event::Connected = event {
                    stream = connection.streams().open(quinn_proto::Dir::Uni);
                }
            }
            if let Some(stream) = stream {
                while let Ok(written) = connection.send_stream(stream).write(&[7; 16384][..16384.min(BYTES - sent)]) {
                    sent += written;
                    if sent == BYTES {
                        break;
                    }
                }
            }
        }
        if let Some(connection) = hosts[0].connection() {
            while let Some(event) = connection.poll() {
                match event {
                    Event::Stream(StreamEvent::Readable { id }) => received += read(connection, id),
                    Event::Stream(StreamEvent::Opened { .. }) => {
                        if let Some(id) = connection.streams().accept(quinn_proto::Dir::Uni) {
                            received += read(connection, id);
                        }
                    }
                    Event::ConnectionLost { reason } => panic!("the connection was lost: {reason}"),
                    _ => {}
                }
            }
        }
        let timers = hosts.each_mut().map(|host| host.drive(now, &mut line));
        let mut arrived = false;
        // An arriving packet may cause an answer at the same time, so advance the time only if no packet has arrived.
        while let Some(delivery) = line.poll(now) {
            arrived = true;
            hosts[delivery.side as usize].receive(now, delivery, &mut line);
        }
        if !arrived {
            let next = timers.into_iter().flatten().chain(line.next_wakeup()).min();
            now = next.expect("a timer is armed while data is missing").max(now);
        }
    }
    let goodput = 8e-6 * BYTES as f64 / now.as_secs_f64();
    println!("quinn-proto: {goodput:.2} Mbit/s of 20 Mbit/s, {} packets dropped", line.dropped());
    assert!((10.0..20.0).contains(&goodput), "{goodput} Mbit/s");
}

/// Reads all data that has arrived in order, and returns the number of bytes.
fn read(connection: &mut Connection, id: StreamId) -> usize {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return 0 };
    let mut length = 0;
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        length += chunk.bytes.len();
    }
    let _ = chunks.finalize();
    length
}
