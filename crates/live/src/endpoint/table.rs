//! The connections and listening sockets of one address, without I/O and without a clock.
//!
//! A table does the work that a kernel does outside of the TCP state machines. It assigns packets to connections,
//! answers packets without a socket with a reset (RFC 9293, section 3.10.7.1), and keeps closed sockets until their
//! connections have ended. Left out: path-MTU discovery and fragments.

use lopsided_core::packet::Addresses;
use lopsided_core::{FlowId, IpHeader, NewPacket, Packet, Time, Transport, wire};
use lopsided_tcp::{ConnConfig, Connection, Endpoint, Listener, Segment, State, refuse};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Key of a connection: the local port and the peer.
pub(super) type Ends = (u16, Endpoint);

/// Maximum number of pending RSTs. The limit bounds the work that a flood of packets to a closed port causes.
const MOST_PENDING_RSTS: usize = 64;

/// A connection; `orphaned` is true once its application has dropped the socket.
#[derive(Debug)]
struct Held {
    connection: Connection,
    orphaned: bool,
}

/// Packet counters of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Received packets that are not IP packets, are fragments, or have a wrong checksum.
    pub malformed: u64,
    /// Received packets that are for another address or carry a protocol other than TCP.
    pub foreign: u64,
    /// Received packets that were answered with a reset.
    pub refused: u64,
}

#[derive(Debug)]
pub(super) struct Table {
    address: IpAddr,
    connections: BTreeMap<Ends, Held>,
    listeners: BTreeMap<u16, Listener>,
    /// Connections that may have packets to send.
    ready: Vec<Ends>,
    ready_listeners: Vec<u16>,
    pending_rsts: VecDeque<(Ends, Segment)>,
    pub counts: PacketCounts,
}

impl Table {
    pub fn new(address: IpAddr) -> Table {
        Table {
            address,
            connections: BTreeMap::new(),
            listeners: BTreeMap::new(),
            ready: Vec::new(),
            ready_listeners: Vec::new(),
            pending_rsts: VecDeque::new(),
            counts: PacketCounts::default(),
        }
    }

    /// Opens a connection. Returns false if the connection already exists.
    pub fn connect(&mut self, config: ConnConfig) -> bool {
        let ends = (config.local.port, config.remote);
        let Entry::Vacant(place) = self.connections.entry(ends) else { return false };
        let mut connection = Connection::connect(config);
        connection.watch_readiness();
        place.insert(Held { connection, orphaned: false });
        self.ready.push(ends);
        true
    }

    /// Adds a listener. Returns false if the port already has a listener.
    pub fn listen(&mut self, port: u16, listener: Listener) -> bool {
        match self.listeners.entry(port) {
            Entry::Vacant(place) => {
                place.insert(listener);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Removes the oldest connection from the accept queue of the port; `None` if the queue is empty.
    pub fn accept(&mut self, port: u16) -> Option<Ends> {
        let mut connection = self.listeners.get_mut(&port)?.accept()?;
        connection.watch_readiness();
        let ends = (port, connection.remote());
        self.connections.insert(ends, Held { connection, orphaned: false });
        self.ready.push(ends);
        Some(ends)
    }

    /// Closes the listener of the port.
    pub fn close_listener(&mut self, port: u16) {
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.close();
            self.ready_listeners.push(port);
        }
    }

    /// Calls `act` on a connection, then schedules the connection for sending.
    pub fn with<T>(&mut self, ends: Ends, act: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let held = self.connections.get_mut(&ends)?;
        self.ready.push(ends);
        Some(act(&mut held.connection))
    }

    pub fn connection(&self, ends: Ends) -> Option<&Connection> {
        self.connections.get(&ends).map(|held| &held.connection)
    }

    /// Closes a connection whose application has dropped the socket. Written data is still delivered.
    pub fn close(&mut self, ends: Ends, now: Time) {
        if let Some(held) = self.connections.get_mut(&ends) {
            held.orphaned = true;
            held.connection.close(now);
            self.ready.push(ends);
        }
    }

    /// Resets every open connection.
    pub fn abort_all(&mut self) {
        for (ends, held) in &mut self.connections {
            held.connection.abort();
            self.ready.push(*ends);
        }
        for (port, listener) in &mut self.listeners {
            listener.close();
            self.ready_listeners.push(*port);
        }
    }

    /// Returns the number of connections that need further packets from their peers before they can close.
    pub fn under_way(&self) -> usize {
        let over = |held: &&Held| matches!(held.connection.state(), State::Closed | State::TimeWait);
        self.connections.values().filter(|held| !over(held)).count()
    }

    /// Processes a packet that arrived. Returns true if an application may be affected.
    pub fn handle_packet(&mut self, now: Time, octets: &[u8]) -> bool {
        self.counts.received += 1;
        let Ok(packet) = wire::parse(octets) else {
            // RFC 9293, section 3.1: a receiver must check the checksum.
            self.counts.malformed += 1;
            return false;
        };
        let (Some(header), true) = (packet.tcp(), packet.dst() == self.address) else {
            self.counts.foreign += 1;
            return false;
        };
        let peer = Endpoint { addr: packet.src(), port: header.src_port };
        let ends = (header.dst_port, peer);
        if let Some(held) = self.connections.get_mut(&ends) {
            held.connection.handle_segment(now, header, &packet.payload(), packet.ecn());
            let has_events = clear_events(&mut held.connection);
            self.ready.push(ends);
            return has_events;
        }
        if let Some(listener) = self.listeners.get_mut(&header.dst_port) {
            let before = listener.acceptable();
            listener.handle_segment(now, peer, header, &packet.payload(), packet.ecn());
            self.ready_listeners.push(header.dst_port);
            return listener.acceptable() > before;
        }
        if let Some(segment) =
            refuse(header, packet.payload().len()).filter(|_| self.pending_rsts.len() < MOST_PENDING_RSTS)
        {
            self.counts.refused += 1;
            self.pending_rsts.push_back((ends, segment));
        }
        false
    }

    /// Processes all timers that expire by `now`. Returns true if an application may be affected.
    pub fn handle_timeouts(&mut self, now: Time) -> bool {
        let mut any = false;
        for (ends, held) in &mut self.connections {
            if held.connection.poll_timeout().is_some_and(|due| due <= now) {
                held.connection.handle_timeout(now);
                any |= clear_events(&mut held.connection);
                // An expired timer may have produced a segment to send.
                self.ready.push(*ends);
            }
        }
        for (port, listener) in &mut self.listeners {
            if listener.poll_timeout().is_some_and(|due| due <= now) {
                listener.handle_timeout(now);
                self.ready_listeners.push(*port);
            }
        }
        any
    }

    /// Returns the time at which the next timer expires and [`Table::handle_timeouts`] must be called; `None` if no
    /// timer is armed.
    pub fn next_timeout(&self) -> Option<Time> {
        let connections = self.connections.values().filter_map(|held| held.connection.poll_timeout());
        let listeners = self.listeners.values().filter_map(Listener::poll_timeout);
        connections.chain(listeners).min()
    }

    /// Returns the next packet to send; `None` if there is none.
    pub fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        if let Some(((_, peer), segment)) = self.pending_rsts.pop_front() {
            return Some(self.packet(peer.addr, segment));
        }
        while let Some(&ends) = self.ready.last() {
            if let Some(held) = self.connections.get_mut(&ends) {
                if let Some(segment) = held.connection.poll_segment(now) {
                    return Some(self.packet(ends.1.addr, segment));
                }
                // An orphaned connection has no socket that could remove it later, so remove it here.
                if held.connection.is_finished() && held.orphaned {
                    self.connections.remove(&ends);
                }
            }
            self.ready.pop();
        }
        while let Some(&port) = self.ready_listeners.last() {
            if let Some(listener) = self.listeners.get_mut(&port) {
                if let Some((peer, segment)) = listener.poll_segment(now) {
                    return Some(self.packet(peer.addr, segment));
                }
                if listener.is_finished() {
                    self.listeners.remove(&port);
                }
            }
            self.ready_listeners.pop();
        }
        None
    }

    fn packet(&mut self, to: IpAddr, Segment { header, payload, ecn, .. }: Segment) -> Vec<u8> {
        self.counts.sent += 1;
        let addresses = Addresses::new(self.address, to).expect("both ends have the same IP version");
        let ip = IpHeader::new(addresses).with_ecn(ecn);
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), payload);
        wire::encode(&Packet::unbooked(self.counts.sent, Time::ZERO, new))
    }
}

/// Removes all pending events of the connection. Returns true if there were any.
fn clear_events(connection: &mut Connection) -> bool {
    let mut any = false;
    while connection.poll_event().is_some() {
        any = true;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::{Bytes, Payload};
    use lopsided_tcp::Profile;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn endpoint(last: u8, port: u16) -> Endpoint {
        Endpoint { addr: IpAddr::from([192, 0, 2, last]), port }
    }

    fn config(local: Endpoint, remote: Endpoint) -> ConnConfig {
        ConnConfig::new(local, remote, 7, Bytes::new(1500), Profile::linux_6_1(), "cubic").expect("built in")
    }

    /// Exchanges packets between the two tables until neither has a packet to send.
    fn carry(now: Time, one: &mut Table, other: &mut Table) {
        loop {
            let mut any = false;
            while let Some(packet) = one.poll_packet(now) {
                other.handle_packet(now, &packet);
                any = true;
            }
            while let Some(packet) = other.poll_packet(now) {
                one.handle_packet(now, &packet);
                any = true;
            }
            if !any {
                return;
            }
        }
    }

    #[test]
    fn the_server_reads_the_octets_that_the_client_wrote() {
        let (here, there) = (endpoint(1, 40_000), endpoint(2, 80));
        let (mut client, mut server) = (Table::new(here.addr), Table::new(there.addr));
        assert!(server.listen(80, Listener::new(4, move |peer| config(there, peer))));
        assert!(client.connect(config(here, there)));
        let now = Time::ZERO;
        let sent: Vec<u8> = (0..9000u32).map(|place| (place * 31 / 7) as u8).collect();
        client
            .with((40_000, there), |connection| connection.write(&Payload::real(sent.clone())))
            .expect("it is there")
            .expect("the buffer has free space");
        carry(now, &mut client, &mut server);
        let ends = server.accept(80).expect("a connection");
        assert_eq!(ends, (80, here));
        let got = server.with(ends, |connection| connection.read(now, 1 << 20)).expect("it is there").expect("data");
        assert_eq!(got.bytes(), Some(&sent[..]));
        client.close((40_000, there), now);
        carry(now, &mut client, &mut server);
        server.close(ends, now);
        carry(now, &mut client, &mut server);
        assert!(server.connection(ends).is_none(), "a closed connection is removed");
        assert_eq!((client.under_way(), client.counts.malformed), (0, 0));
    }

    #[test]
    fn a_connection_to_a_closed_port_is_refused_and_damaged_packets_are_counted() {
        let (here, there) = (endpoint(1, 40_000), endpoint(2, 81));
        let (mut client, mut server) = (Table::new(here.addr), Table::new(there.addr));
        assert!(client.connect(config(here, there)));
        let mut spoiled = client.poll_packet(Time::ZERO).expect("a SYN");
        let whole = spoiled.clone();
        spoiled[25] ^= 1;
        server.handle_packet(Time::ZERO, &spoiled);
        server.handle_packet(Time::ZERO, &whole);
        carry(Time::ZERO, &mut client, &mut server);
        let error =
            client.connection((40_000, there)).expect("a failed connection is stored until it is closed").error();
        assert_eq!(error, Some(lopsided_tcp::ConnError::Refused));
        assert_eq!((server.counts.malformed, server.counts.refused), (1, 1));
    }

    /// Returns an IPv4 packet with one byte changed, as a hostile network could do. Recomputes the checksums if
    /// `repaired` is true.
    fn altered(packet: &[u8], place: usize, by: u8, repaired: bool) -> Vec<u8> {
        let mut packet = packet.to_vec();
        let place = place % packet.len();
        packet[place] ^= by;
        if repaired && packet.len() >= 40 {
            packet[10..12].fill(0);
            packet[36..38].fill(0);
            let of_ip = checksum(&[&packet[..20]]);
            let length = ((packet.len() - 20) as u16).to_be_bytes();
            let of_tcp = checksum(&[&packet[12..20], &[0, 6], &length, &packet[20..]]);
            packet[10..12].copy_from_slice(&of_ip);
            packet[36..38].copy_from_slice(&of_tcp);
        }
        packet
    }

    /// Returns the Internet checksum (RFC 1071). All parts except the last must have an even length.
    fn checksum(parts: &[&[u8]]) -> [u8; 2] {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let mut sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!(sum as u16)).to_be_bytes()
    }

    /// Packets that are injected after a packet of the transfer, or that replace it.
    #[derive(Clone, Debug)]
    struct Attack {
        /// Number of packets that pass unchanged before the attack.
        after: usize,
        place: usize,
        by: u8,
        instead: bool,
        noise: Vec<u8>,
    }

    fn attacks() -> impl Strategy<Value = Vec<Attack>> {
        let attack = (0usize..12, any::<usize>(), 1u8.., any::<bool>(), vec(any::<u8>(), 0..90));
        let one = attack.prop_map(|(after, place, by, instead, noise)| Attack { after, place, by, instead, noise });
        vec(one, 1..40)
    }

    /// Transfers 60,000 bytes between two tables under attack. Returns the bytes written and read, and both tables.
    fn attacked(attacks: &[Attack], repaired: bool) -> (Vec<u8>, Vec<u8>, Table, Table) {
        let (here, there) = (endpoint(1, 40_000), endpoint(2, 80));
        let (mut client, mut server) = (Table::new(here.addr), Table::new(there.addr));
        assert!(server.listen(80, Listener::new(4, move |peer| config(there, peer))));
        assert!(client.connect(config(here, there)));
        let sent: Vec<u8> = (0..60_000u32).map(|place| (place * 31 / 7) as u8).collect();
        let (mut written, mut got, mut accepted, mut now) = (0, Vec::new(), None, Time::ZERO);
        let (mut attacks, mut left) = (attacks.iter(), 0);
        let mut next = attacks.next();
        for _ in 0..20_000 {
            if got.len() == sent.len() {
                break;
            }
            let rest = Payload::real(sent[written..].to_vec());
            if let Some(Ok(count)) = client.with((40_000, there), |connection| connection.write(&rest)) {
                written += count as usize;
            }
            let (mut any, ways) = (false, [true, false]);
            for up in ways {
                let (from, to) = if up { (&mut client, &mut server) } else { (&mut server, &mut client) };
                while let Some(packet) = from.poll_packet(now) {
                    any = true;
                    let attack = next.filter(|attack| left >= attack.after);
                    left = if attack.is_some() { 0 } else { left + 1 };
                    if let Some(Attack { place, by, noise, .. }) = attack {
                        to.handle_packet(now, &altered(&packet, *place, *by, repaired));
                        to.handle_packet(now, noise);
                        next = attacks.next();
                    }
                    if !attack.is_some_and(|attack| attack.instead) {
                        to.handle_packet(now, &packet);
                    }
                }
            }
            accepted = accepted.or_else(|| server.accept(80));
            let read = accepted.and_then(|ends| server.with(ends, |connection| connection.read(now, 1 << 20)));
            if let Some(Ok(payload)) = read {
                got.extend(payload.bytes().expect("real octets"));
            } else if !any {
                // Nothing is in flight, so advance to the next timer.
                let Some(due) = client.next_timeout().into_iter().chain(server.next_timeout()).min() else { break };
                now = now.max(due);
                client.handle_timeouts(now);
                server.handle_timeouts(now);
            }
        }
        (sent, got, client, server)
    }

    proptest! {
        #[test]
        fn damaged_packets_and_noise_only_delay_a_transfer(attacks in attacks()) {
            let (sent, got, client, server) = attacked(&attacks, false);
            prop_assert!(client.counts.malformed + server.counts.malformed > 0);
            prop_assert!(got == sent, "{} of {} octets", got.len(), sent.len());
        }

        /// Forged packets may end the connection or inject data, but never cause a panic or open a connection.
        #[test]
        fn forged_packets_never_panic_or_open_a_connection(attacks in attacks()) {
            let (sent, got, client, server) = attacked(&attacks, true);
            prop_assert!(got.len() <= sent.len() + 90);
            prop_assert_eq!(client.connections.len(), 1);
            prop_assert!(server.connections.len() <= 2);
        }
    }
}
