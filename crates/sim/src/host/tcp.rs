//! The applications on TCP: one that sends as its flow's transfer says, and one that reads everything at once.

use super::{Remote, Wish, add_counters};
use crate::build::Stack;
use crate::meter::{Delays, Level};
use lopsided_core::{Bytes, Duration, Ipv4Addr, Payload, Rng, Time};
use lopsided_scenario::Transfer;
use lopsided_tcp::{ConnConfig, ConnEvent, Connection, Counters, Endpoint, State};

/// As much as an application that always has more offers at once: more than any send buffer takes.
const PLENTY: u64 = u64::MAX;
/// Between attempts to find a free port.
const RETRY: Duration = Duration::from_secs(1);

/// Makes the connections of one end of a flow.
#[derive(Debug)]
pub(crate) struct Dialer {
    pub local: Ipv4Addr,
    pub stack: Stack,
    /// Initial sequence numbers.
    pub numbers: Rng,
}

impl Dialer {
    pub fn config(&mut self, local_port: u16, remote: Remote) -> ConnConfig {
        let Stack { profile, make_controller, mtu } = &self.stack;
        let local = Endpoint { addr: self.local, port: local_port };
        let remote = Endpoint { addr: remote.addr, port: remote.port };
        let iss = self.numbers.next_u64() as u32;
        ConnConfig::with(local, remote, iss, *mtu, profile.clone(), &**make_controller)
    }
}

#[derive(Debug)]
pub(crate) struct TcpSourceSpec {
    pub to: Remote,
    pub dialer: Dialer,
    pub transfer: Transfer,
    pub start: Time,
    /// When the application is told to stop, if that is before the run ends.
    pub stop: Option<Time>,
}

/// What the application is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Until `next`: before the start, or between transfers.
    QueuedPacket,
    Sending,
    /// Connected, with nothing to say until `next`.
    Silent,
    Ended,
}

/// An application that sends.
#[derive(Debug)]
pub(crate) struct TcpSource {
    spec: TcpSourceSpec,
    stage: Stage,
    /// The connection it is using, from its start until both ends have closed.
    pub current: Option<u32>,
    next: Option<Time>,
    /// Octets still to be written.
    left: u64,
    attempts: u32,
    /// Starts of transfers that nobody has asked for yet.
    begun: Vec<Time>,
    pub meter: Meter,
}

/// What is measured at the sender over all its connections.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub rtt: Delays,
    pub cwnd: Level,
    /// Of the connections that are over.
    pub past: Counters,
    pub last_srtt: Option<Duration>,
    /// How much of the connection's own statistic is counted in `rtt`'s histogram: samples and their sum.
    counted: (u64, u64),
}

impl TcpSource {
    pub fn new(spec: TcpSourceSpec) -> TcpSource {
        TcpSource {
            stage: Stage::QueuedPacket,
            current: None,
            next: Some(spec.start),
            left: 0,
            attempts: 0,
            begun: Vec::new(),
            meter: Meter::default(),
            spec,
        }
    }

    pub fn remote(&self) -> Remote {
        self.spec.to
    }

    pub fn config(&mut self, local_port: u16) -> ConnConfig {
        self.spec.dialer.config(local_port, self.spec.to)
    }

    pub fn take_begun(&mut self) -> Vec<Time> {
        std::mem::take(&mut self.begun)
    }

    pub fn due(&self) -> Option<Time> {
        match self.spec.stop {
            Some(stop) if self.stage != Stage::Ended => Some(self.next.map_or(stop, |next| next.min(stop))),
            _ => self.next,
        }
    }

    /// Its time has come: the flow starts, pauses, goes on or stops.
    pub fn handle_timeout(&mut self, now: Time, connection: Option<&mut Connection>) -> Wish {
        if self.stage != Stage::Ended && self.spec.stop.is_some_and(|stop| now >= stop) {
            self.stop(connection);
            return Wish::Nothing;
        }
        if self.next.is_none_or(|next| now < next) {
            return Wish::Nothing;
        }
        match (self.stage, self.spec.transfer) {
            (Stage::QueuedPacket, transfer) => {
                self.begin(now, transfer);
                return Wish::Connect;
            }
            (Stage::Sending, Transfer::OnOff { off, .. }) => {
                self.left = 0;
                self.stage = Stage::Silent;
                self.next = Some(now + off);
            }
            (Stage::Silent, Transfer::OnOff { on, .. }) => {
                self.left = PLENTY;
                self.stage = Stage::Sending;
                self.next = Some(now + on);
                if let Some(connection) = connection {
                    self.write(connection);
                }
            }
            _ => self.next = None,
        }
        Wish::Nothing
    }

    fn begin(&mut self, now: Time, transfer: Transfer) {
        self.stage = Stage::Sending;
        self.attempts += 1;
        (self.left, self.next) = match transfer {
            Transfer::Bytes { size, .. } => (size.get(), None),
            Transfer::OnOff { on, .. } => (PLENTY, Some(now + on)),
            Transfer::Bulk | Transfer::Udp { .. } => (PLENTY, None),
        };
        if matches!(transfer, Transfer::Bytes { .. }) {
            self.begun.push(now);
        }
    }

    fn stop(&mut self, connection: Option<&mut Connection>) {
        self.stage = Stage::Ended;
        self.next = None;
        self.left = 0;
        if let Some(connection) = connection {
            connection.close();
        }
    }

    pub fn connected(&mut self, slot: u32, now: Time, connection: &Connection) {
        self.current = Some(slot);
        self.meter.counted = (0, 0);
        self.meter.cwnd.set(now, connection.cwnd().get());
    }

    /// There was no port to connect from: tries again later.
    pub fn not_connected(&mut self, now: Time) {
        self.stage = Stage::QueuedPacket;
        self.next = Some(now + RETRY);
    }

    /// Something happened to a connection of its own: writes what there is room for, and goes on when it is over.
    #[inline]
    pub fn serve(&mut self, slot: u32, now: Time, connection: &mut Connection) {
        if self.current != Some(slot) {
            return;
        }
        self.meter.watch(now, connection);
        while let Some(event) = connection.poll_event() {
            if matches!(event, ConnEvent::Closed | ConnEvent::Reset | ConnEvent::TimedOut) {
                self.over(now, connection);
                return;
            }
        }
        self.write(connection);
    }

    fn write(&mut self, connection: &mut Connection) {
        // As one that waits for connect() to return.
        if connection.state() == State::SynSent {
            return;
        }
        let len = self.left.min(connection.writable()).min(u64::from(u32::MAX));
        if len > 0 {
            let written = connection.write(&Payload::virtual_len(len as u32));
            self.left -= if self.left == PLENTY { 0 } else { written };
        }
        // A FIN needs a connection to end.
        if self.left == 0 && self.ends_with_its_data() && connection.state() == State::Established {
            connection.close();
        }
    }

    fn ends_with_its_data(&self) -> bool {
        matches!(self.spec.transfer, Transfer::Bytes { .. })
    }

    /// The connection is over for the application, well or not.
    fn over(&mut self, now: Time, connection: &mut Connection) {
        self.current = None;
        self.meter.end(now, connection);
        if self.stage == Stage::Ended {
            return;
        }
        self.stage = Stage::Ended;
        self.left = 0;
        self.next = None;
        if let Transfer::Bytes { repeat, pause, .. } = self.spec.transfer {
            if repeat.is_none_or(|times| self.attempts < times) {
                self.stage = Stage::QueuedPacket;
                self.next = Some(now + pause);
            }
        }
    }

    /// A connection of its own is gone.
    pub fn gone(&mut self, slot: u32, now: Time, connection: &mut Connection) {
        if self.current == Some(slot) {
            self.over(now, connection);
        }
    }
}

impl Meter {
    /// Notes the window, and the round trips that the last segment ended. Those of segments acknowledged together go into the
    /// histogram as their mean: the moments are exact, the quantiles nearly.
    #[inline]
    fn watch(&mut self, now: Time, connection: &Connection) {
        self.cwnd.set(now, connection.cwnd().get());
        let stats = connection.rtt_stats();
        let (count, sum) = (stats.count - self.counted.0, stats.sum_ns - self.counted.1);
        if let Some(mean) = sum.checked_div(count) {
            self.counted = (stats.count, stats.sum_ns);
            self.rtt.count(Duration::from_nanos(mean), count as u32);
        }
    }

    fn end(&mut self, now: Time, connection: &mut Connection) {
        self.absorb(connection);
        self.cwnd.pause(now);
        self.past = add_counters(self.past, connection.counters());
        self.last_srtt = connection.info().srtt;
    }

    /// Takes over the connection's statistic of round trips.
    pub fn absorb(&mut self, connection: &mut Connection) {
        self.counted = (0, 0);
        self.rtt.absorb(&connection.take_rtt_stats());
    }
}

/// An application that reads everything at once.
#[derive(Debug)]
pub(crate) struct TcpSink {
    pub dialer: Dialer,
    /// The size of one transfer, where the flow makes transfers.
    size: Option<Bytes>,
    live: Vec<Live>,
    pub delivered_bytes: u64,
    /// Data segments that came over connections that are gone.
    past_packets: u64,
    /// Ends of transfers that nobody has asked for yet.
    done: Vec<Time>,
}

#[derive(Debug, Clone, Copy)]
struct Live {
    remote: Remote,
    slot: u32,
    octets: u64,
}

impl TcpSink {
    pub fn new(dialer: Dialer, transfer: Transfer) -> TcpSink {
        let size = match transfer {
            Transfer::Bytes { size, .. } => Some(size),
            _ => None,
        };
        TcpSink { dialer, size, live: Vec::new(), delivered_bytes: 0, past_packets: 0, done: Vec::new() }
    }

    #[inline]
    pub fn connection_from(&self, remote: Remote) -> Option<u32> {
        self.live.iter().find(|live| live.remote == remote).map(|live| live.slot)
    }

    pub fn connected(&mut self, remote: Remote, slot: u32) {
        self.live.push(Live { remote, slot, octets: 0 });
    }

    #[inline]
    pub fn serve(&mut self, slot: u32, now: Time, connection: &mut Connection) {
        let octets = u64::from(connection.read(now, u64::from(u32::MAX)).len());
        if octets > 0 {
            self.take(slot, now, octets);
        }
        while let Some(event) = connection.poll_event() {
            if event == ConnEvent::PeerClosed {
                connection.close();
            }
        }
    }

    fn take(&mut self, slot: u32, now: Time, octets: u64) {
        self.delivered_bytes += octets;
        let Some(size) = self.size else { return };
        let Some(live) = self.live.iter_mut().find(|live| live.slot == slot) else { return };
        let before = live.octets;
        live.octets += octets;
        if before < size.get() && live.octets >= size.get() {
            self.done.push(now);
        }
    }

    pub fn gone(&mut self, slot: u32, connection: &Connection) {
        self.past_packets += connection.counters().data_segments_in;
        self.live.retain(|live| live.slot != slot);
    }

    pub fn take_done(&mut self) -> Vec<Time> {
        std::mem::take(&mut self.done)
    }

    /// Data segments that came, repeated ones included.
    pub fn packets(&self, connections: impl Fn(u32) -> u64) -> u64 {
        self.past_packets + self.live.iter().map(|live| connections(live.slot)).sum::<u64>()
    }
}
