//! The line: a simulated network with one port at each side.

use crate::config::{LineConfig, LineError};
use lopsided_core::packet::{IpHeader, UdpHeader};
use lopsided_core::wire::{self, Malformed};
use lopsided_core::{Dir, Duration, Ecn, FlowId, NewPacket, NodeId, Observer, Packet, Payload, Time, Transport};
use lopsided_net::{NetNode, Network};
use lopsided_scenario::Scenario;
use lopsided_sim::{Host, NodeKind, Outside, Run, RunOptions, address, node_labels};
use lopsided_trace::{Capture, Tap};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

/// Duration of the scenario that a line runs: 100 years, because the caller determines when a line stops.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// The UDP port number that both sides use.
const PORT: u16 = 4433;

/// One side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The subscriber's side. It receives packets from the direction `down`, and sends packets to the direction `up`.
    Client,
    /// The network beyond the access line.
    Server,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub fn peer(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    fn host(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// A datagram that left the line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The time at which the datagram arrives.
    pub at: Time,
    /// The side at which the datagram arrives.
    pub side: Side,
    /// The ECN field at the arrival: [`Ecn::Ce`] if a queue marked the datagram.
    pub ecn: Ecn,
    /// The payload passed to [`Line::send`], or the whole IP packet passed to [`Line::send_ip`].
    pub datagram: Vec<u8>,
}

/// A line in virtual time.
///
/// Times must not decrease. A driver sends its datagrams, polls until `None`, and advances its time to the earliest of
/// [`Line::next_wakeup`] and its own timers.
///
/// # Examples
///
/// ```
/// use lopsided_line::{Dir, Line, LineConfig, Side, Time};
///
/// // A buffer of 2 packets has no room for 10 datagrams sent at once.
/// let mut line = Line::new(LineConfig::new("10 Mbit/s", "1 Mbit/s", "20 ms").queue(Dir::Up, "2 packets"))?;
/// for number in 0..10_u8 {
///     line.send(Time::ZERO, Side::Client, &[number; 1200]);
/// }
/// let mut arrived = Vec::new();
/// while let Some(now) = line.next_wakeup() {
///     arrived.extend(line.poll(now).map(|delivery| delivery.datagram[0]));
/// }
/// assert_eq!(arrived, [0, 1, 2]);
/// assert_eq!(line.dropped(), 7);
/// # Ok::<(), lopsided_line::LineError>(())
/// ```
#[derive(Debug)]
pub struct Line {
    network: Network<Host>,
    /// Node and address of each [`Side`].
    ends: [(NodeId, IpAddr); 2],
    arrived: VecDeque<Delivery>,
    capture: Option<Capture>,
}

impl Line {
    /// Builds the line at time zero.
    ///
    /// # Errors
    /// Returns an error if a setting is missing or wrong, or if the scenario has no hosts `client` and `server` with
    /// routes between them.
    pub fn new(config: LineConfig) -> Result<Line, LineError> {
        let mut scenario = config.parse()?;
        let ends = [host(&scenario, Side::Client)?, host(&scenario, Side::Server)?];
        let routes = scenario.graph.routes();
        if routes.path(ends[0], ends[1]).is_none() || routes.path(ends[1], ends[0]).is_none() {
            return Err(LineError::NoRoute("no route leads from client to server and back".to_owned()));
        }
        // The endpoints of the line replace the hosts of the scenario, so no flow of the scenario may run.
        scenario.flows.clear();
        scenario.duration = FOREVER;
        // Disable periodic samples, because a line may run for so long that the samples would fill the memory.
        scenario.record.interval = None;
        let capture = config.capture.map(|out| capture(&scenario, out));
        let outside = ends.map(|host| Outside {
            host,
            // A packet from the client may have any destination, so the server receives packets to all unknown
            // addresses.
            takes_the_rest: host == ends[Side::Server as usize],
            ..Outside::default()
        });
        let observers = capture.iter().map(|capture| Box::new(capture.clone()) as Box<dyn Observer>).collect();
        let options = RunOptions { outside: outside.to_vec(), observers, ..RunOptions::default() };
        let network = Run::new(&scenario, config.seed, options).map_err(LineError::Build)?.into_network();
        let ends = ends.map(|host| (NodeId(host as u32), address(host)));
        Ok(Line { network, ends, arrived: VecDeque::new(), capture })
    }

    /// Sends a datagram without ECN at one side, as a UDP packet over IPv4 with 28 bytes of headers.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call, or if the datagram is longer than 65,507 bytes.
    pub fn send(&mut self, now: Time, side: Side, datagram: &[u8]) {
        self.send_ecn(now, side, datagram, Ecn::NotEct);
    }

    /// Like [`Line::send`], with an ECN codepoint. A mark sets [`Ecn::Ce`], unless the codepoint is [`Ecn::NotEct`].
    ///
    /// # Panics
    /// Under the same conditions as [`Line::send`].
    pub fn send_ecn(&mut self, now: Time, side: Side, datagram: &[u8], ecn: Ecn) {
        assert!(datagram.len() <= 65_507, "a UDP datagram over IPv4 has at most 65,507 bytes, not {}", datagram.len());
        let (IpAddr::V4(src), IpAddr::V4(dst)) = (self.address(side).ip(), self.address(side.peer()).ip()) else {
            unreachable!("hosts of a scenario have IPv4 addresses")
        };
        let header = Transport::Udp(UdpHeader { src_port: PORT, dst_port: PORT });
        let ip = IpHeader::v4(src, dst).with_ecn(ecn);
        self.inject(now, side, NewPacket::new(FlowId(0), ip, header, Payload::real(datagram.to_vec())));
    }

    /// Sends a whole IP packet of any protocol at one side. Only ECN marks and the TTL change. A packet from the server
    /// must be addressed to the client.
    ///
    /// # Errors
    /// Returns an error if `packet` is not exactly one IPv4 or IPv6 packet.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call.
    pub fn send_ip(&mut self, now: Time, side: Side, packet: &[u8]) -> Result<(), Malformed> {
        let new = wire::read_foreign(FlowId(0), packet)?;
        self.inject(now, side, new);
        Ok(())
    }

    fn inject(&mut self, now: Time, side: Side, new: NewPacket) {
        self.advance(now);
        self.network.inject(now, self.ends[side as usize].0, new);
        self.collect();
    }

    /// Returns the next datagram that arrives at or before `now`, in order of arrival. `None` if there is no such
    /// datagram.
    ///
    /// # Panics
    /// If `now` is earlier than in a previous call. A call never panics if a datagram that has already arrived is
    /// waiting, because the call returns this datagram.
    pub fn poll(&mut self, now: Time) -> Option<Delivery> {
        // Fast path: this datagram has already arrived, so the network need not be advanced.
        if self.arrived.front().is_some_and(|first| first.at <= now) {
            return self.arrived.pop_front();
        }
        self.advance(now);
        self.arrived.pop_front()
    }

    /// Returns the time at which [`Line::poll`] should be called next; `None` if the line is empty. The call at this
    /// time may still return `None`.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        let arrived = self.arrived.front().map(|first| first.at);
        arrived.or_else(|| self.network.next_time())
    }

    /// Returns the time up to which the line has processed events. If a datagram has already arrived, [`Line::poll`]
    /// returns this datagram and processes no events.
    #[must_use]
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// Returns the address and UDP port of a side, as used in captures and by [`Line::send_ip`].
    #[must_use]
    pub fn address(&self, side: Side) -> SocketAddr {
        SocketAddr::new(self.ends[side as usize].1, PORT)
    }

    /// Returns the number of packets that queues dropped or links lost, in both directions.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.network.accounting().nodes().iter().map(|node| node.dropped_total().packets).sum()
    }

    /// Returns the number of packets that queues marked with ECN, in both directions.
    #[must_use]
    pub fn marked(&self) -> u64 {
        self.network.accounting().nodes().iter().map(|node| node.marked_total().packets).sum()
    }

    /// Returns a checksum over all events in the line. Two lines with the same configuration, seed and calls have the
    /// same digest.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.network.accounting().digest()
    }

    /// Completes the capture and returns its number of packets. Returns 0 if [`LineConfig::pcapng`] was not called.
    ///
    /// # Errors
    /// Returns an error if the capture could not be written.
    pub fn finish(mut self) -> io::Result<u64> {
        let Some(capture) = self.capture.take() else { return Ok(0) };
        // Make all links report their past departures to the capture. A link otherwise reports a departure only in the
        // next call of the link.
        let links: Vec<NodeId> = (0..).map(NodeId).zip(self.network.nodes()).filter_map(link).collect();
        for link in links {
            self.network.with_link(link, |link, cx| {
                link.sync(cx);
            });
        }
        capture.finish()
    }

    /// Processes all events up to `now`, each at its own time.
    fn advance(&mut self, now: Time) {
        assert!(now >= self.network.now(), "time goes back from {:?} to {now:?}", self.network.now());
        while let Some(due) = self.network.next_time().filter(|due| *due <= now) {
            // Advance to one event time per step, because `collect` stores the current time in each delivery.
            self.network.advance(due);
            self.collect();
        }
        self.network.advance(now);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some((edge, packet)) = self.network.poll_egress() {
            let side = if edge == self.ends[Side::Client as usize].0 { Side::Client } else { Side::Server };
            let datagram = contents(&packet);
            self.arrived.push_back(Delivery { at: self.network.now(), side, ecn: packet.ecn(), datagram });
            self.network.recycle(packet);
        }
    }
}

fn contents(packet: &Packet) -> Vec<u8> {
    // Return the whole packet if it was sent with `send_ip`, and only the payload if it was sent with `send`.
    if packet.is_foreign() { wire::encode(packet) } else { packet.payload().bytes().unwrap_or_default().to_vec() }
}

fn link((node, kind): (NodeId, &NetNode<Host>)) -> Option<NodeId> {
    matches!(kind, NetNode::Link(_)).then_some(node)
}

fn host(scenario: &Scenario, side: Side) -> Result<usize, LineError> {
    let hosts = &scenario.graph.hosts;
    hosts.iter().position(|host| host == side.host()).ok_or_else(|| {
        LineError::NoRoute(format!("the scenario has no host {:?}; its hosts are {}", side.host(), hosts.join(", ")))
    })
}

fn capture(scenario: &Scenario, out: Box<dyn Write + Send>) -> Capture {
    let links = scenario.graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| (link, dir)));
    let labels = node_labels(scenario);
    let nodes = labels.iter().filter(|label| matches!(label.kind, NodeKind::Link(_)));
    let taps = links.zip(nodes).map(|((link, dir), label)| {
        Tap::link(format!("{} {}", link.name, dir.name()), label.node, link.dir(dir).rate).with_drops()
    });
    // A link reports a departure in its next call, at the latest when the packet arrives. The capture must therefore
    // wait for the longest delay of all links before it writes a packet.
    let lateness = scenario.graph.links.iter().map(|link| link.down.delay.max(link.up.delay)).max();
    Capture::new(out, taps.collect(), lateness.unwrap_or(Duration::ZERO).max(Duration::from_secs(1)))
}
