//! Code shared by all stages that delay ACKs: connections, and plain ACKs that wait for their departure times.
//!
//! An ACK is plain if it has no data, no flag except ACK, no SACK blocks and no counts of ECN marks. Any other segment
//! is forwarded at once, after the waiting ACKs of its connection.

use crate::{Outlet, Stage};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Count, Cx, NewPacket, Packet, Payload, Seq, Time, Transport};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::net::IpAddr;

/// A connection and direction: address and port of the ACK sender, then address and port of the ACK receiver.
pub(crate) type Connection = ((IpAddr, u16), (IpAddr, u16));

/// Decides which plain ACKs a kind of stage forwards, holds or drops.
pub(crate) trait Rule: Debug + Send {
    /// The state of a connection.
    type Stream: Debug + Send;

    /// Creates the state of a connection when an ACK arrives. This ACK is forwarded at once. `None` if a later ACK
    /// creates the state.
    fn begin(&self, header: &TcpHeader, now: Time) -> Option<Self::Stream>;

    /// True if `take` must handle this plain ACK. Otherwise the ACK is forwarded at once.
    fn takes(stream: &Self::Stream, header: &TcpHeader) -> bool;

    /// Forwards, holds or drops the ACK.
    fn take(&mut self, stream: &mut Self::Stream, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>);

    /// Updates the state for an ACK that is forwarded at once. No packet of the connection waits at this time.
    fn passes(stream: &mut Self::Stream, header: &TcpHeader, now: Time);

    /// Handles the departure of waiting ACKs. `number` is the acknowledgement number of the last departing ACK.
    fn went_on(_stream: &mut Self::Stream, _number: Seq) {}

    /// Calls `out` with the name and value of each quantity of the stage.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A plain ACK.
#[derive(Debug)]
pub(crate) struct Ack {
    pub connection: Connection,
    pub header: TcpHeader,
    pub packet: Packet,
}

/// True if the segment is a plain ACK.
pub(crate) fn is_plain(packet: &Packet, header: &TcpHeader) -> bool {
    let options = &header.options;
    packet.payload().is_empty()
        && header.flags == Flags::ACK
        && options.sack().is_empty()
        && options.accurate_ecn().is_none()
        && options.other().is_empty()
        // If the header was not parsed completely, the rest may contain more information.
        && packet.is_read_whole()
}

/// Creates a copy of an ACK with a different acknowledgement number and window.
pub(crate) fn inserted(packet: &Packet, header: &TcpHeader, number: Seq, window: u16, cx: &mut Cx<'_>) -> Packet {
    let header = TcpHeader { ack: number, window, ..header.clone() };
    cx.originate(NewPacket::new(packet.flow(), packet.ip(), Transport::Tcp(header), Payload::EMPTY))
}

/// A stage that applies a rule to plain ACKs.
#[derive(Debug)]
pub(crate) struct HeldAcks<R: Rule> {
    rule: R,
    streams: BTreeMap<Connection, R::Stream>,
    waiting: Waiting,
}

impl<R: Rule> HeldAcks<R> {
    pub fn new(rule: R) -> HeldAcks<R> {
        HeldAcks { rule, streams: BTreeMap::new(), waiting: Waiting::default() }
    }

    /// Updates the state of a connection for a segment to which the rule does not apply.
    fn note(&mut self, connection: Connection, header: &TcpHeader, now: Time) {
        // The segment opens or closes the connection, so the stored state is outdated.
        if header.flags.0 & (Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0) != 0 {
            self.streams.remove(&connection);
        }
        // A segment that has no acknowledgement number or ends the connection neither creates nor updates a state.
        if !header.flags.has(Flags::ACK) || header.flags.has(Flags::FIN) || header.flags.has(Flags::RST) {
            return;
        }
        if let Some(stream) = self.streams.get_mut(&connection) {
            R::passes(stream, header, now);
        } else if let Some(stream) = self.rule.begin(header, now) {
            self.streams.insert(connection, stream);
        }
    }
}

impl<R: Rule> Stage for HeldAcks<R> {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return out.forward(packet) };
        let connection = ((packet.src(), header.src_port), (packet.dst(), header.dst_port));
        let (header, plain) = (header.clone(), is_plain(&packet, header));
        if let Some(stream) = self.streams.get_mut(&connection).filter(|stream| plain && R::takes(stream, &header)) {
            return self.rule.take(stream, Ack { connection, header, packet }, &mut self.waiting, out, cx);
        }
        // Packets of a connection stay in order, so forward the connection's waiting ACKs first.
        self.waiting.release(connection, Time::MAX, out);
        self.note(connection, &header, cx.now());
        out.forward(packet);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.waiting.next()
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        while let Some(connection) = self.waiting.due(cx.now()) {
            let last = self.waiting.release(connection, cx.now(), out);
            if let Some((stream, number)) = self.streams.get_mut(&connection).zip(last) {
                R::went_on(stream, number);
            }
        }
    }

    fn held(&self) -> Count {
        self.waiting.held()
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.rule.sample(out);
    }
}

/// The waiting ACKs. The ACKs of a connection leave in the order in which they arrived.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    waiting: BTreeMap<Connection, VecDeque<(Time, Packet)>>,
    /// Departure time of the first waiting ACK of each connection.
    deadlines: BTreeSet<(Time, Connection)>,
    held: Count,
}

impl Waiting {
    /// Holds a packet until `time`, not earlier than the connection's previous packet.
    pub fn hold(&mut self, connection: Connection, time: Time, packet: Packet) {
        self.held.record(packet.size());
        let waiting = self.waiting.entry(connection).or_default();
        if waiting.is_empty() {
            self.deadlines.insert((time, connection));
        }
        waiting.push_back((time, packet));
    }

    /// Returns the departure time of the connection's last waiting packet; `None` if no packet waits.
    pub fn last(&self, connection: Connection) -> Option<Time> {
        self.waiting.get(&connection)?.back().map(|(time, _)| *time)
    }

    /// Forwards the packets of a connection up to the departure time `until`. Returns the last forwarded
    /// acknowledgement number.
    pub fn release(&mut self, connection: Connection, until: Time, out: &mut Outlet) -> Option<Seq> {
        let waiting = self.waiting.get_mut(&connection)?;
        // The entry of a connection in `deadlines` is the departure time of its first waiting packet.
        self.deadlines.remove(&(waiting.front()?.0, connection));
        let mut last = None;
        while let Some((time, packet)) = waiting.pop_front() {
            if time > until {
                // This packet is now the first waiting packet, so its departure time is the new deadline.
                self.deadlines.insert((time, connection));
                waiting.push_front((time, packet));
                return last;
            }
            self.held.remove(packet.size());
            last = packet.tcp().map(|header| header.ack);
            out.forward(packet);
        }
        self.waiting.remove(&connection);
        last
    }

    /// Returns a connection whose first waiting packet must leave by `now`; `None` if there is no such connection.
    pub fn due(&self, now: Time) -> Option<Connection> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, connection)| *connection)
    }

    /// Removes and returns all waiting packets of a connection, each with its scheduled departure time.
    pub fn take(&mut self, connection: Connection) -> Vec<(Time, Packet)> {
        let Some(waiting) = self.waiting.remove(&connection) else { return Vec::new() };
        // No packet of the connection waits any more, so remove its deadline as well.
        waiting.front().into_iter().for_each(|(first, _)| _ = self.deadlines.remove(&(*first, connection)));
        waiting.iter().for_each(|(_, packet)| self.held.remove(packet.size()));
        waiting.into()
    }

    /// Returns the departure time of the next packet; `None` if no packet waits.
    pub fn next(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the number and total size of all waiting packets.
    pub fn held(&self) -> Count {
        self.held
    }
}
