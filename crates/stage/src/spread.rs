//! Packets of several connections that each wait for a time of their own: what the stages that spread ACKs hold.

use crate::Outlet;
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Count, Packet, Seq, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// The sender of the ACKs, and their receiver.
pub(crate) type Connection = ((IpAddr, u16), (IpAddr, u16));

/// The connection of a TCP segment, and its header.
pub(crate) fn connection(packet: &Packet) -> Option<(Connection, &TcpHeader)> {
    let header = packet.tcp()?;
    Some((((packet.src(), header.src_port), (packet.dst(), header.dst_port)), header))
}

/// What waits. The packets of a connection go in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    waiting: BTreeMap<Connection, VecDeque<(Time, Packet)>>,
    /// When the first that waits of each connection goes on.
    deadlines: BTreeSet<(Time, Connection)>,
    held: Count,
}

impl Spread {
    /// The packet goes on at that time, which is no earlier than that of the one before of its connection.
    pub fn hold(&mut self, connection: Connection, time: Time, packet: Packet) {
        self.held.record(packet.size());
        let waiting = self.waiting.entry(connection).or_default();
        if waiting.is_empty() {
            self.deadlines.insert((time, connection));
        }
        waiting.push_back((time, packet));
    }

    /// When the last that waits of a connection goes on.
    pub fn last(&self, connection: Connection) -> Option<Time> {
        self.waiting.get(&connection)?.back().map(|(time, _)| *time)
    }

    /// Lets go what waits of a connection until then. Gives what the last of it acknowledges.
    pub fn release(&mut self, connection: Connection, until: Time, out: &mut Outlet) -> Option<Seq> {
        let waiting = self.waiting.get_mut(&connection)?;
        self.deadlines.remove(&(waiting.front()?.0, connection));
        let mut last = None;
        while let Some((time, packet)) = waiting.pop_front() {
            if time > until {
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

    /// A connection of which something waits that is due.
    pub fn due(&self, now: Time) -> Option<Connection> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, connection)| *connection)
    }

    /// All that waits of a connection, and when it would have gone on.
    pub fn take(&mut self, connection: Connection) -> Vec<(Time, Packet)> {
        let Some(waiting) = self.waiting.remove(&connection) else { return Vec::new() };
        waiting.front().into_iter().for_each(|(first, _)| _ = self.deadlines.remove(&(*first, connection)));
        waiting.iter().for_each(|(_, packet)| self.held.remove(packet.size()));
        waiting.into()
    }

    pub fn next(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub fn held(&self) -> Count {
        self.held
    }
}
