//! The table of packet events.

use crate::catalogue::Name;
use crate::labels::NodeLabel;
use crate::results::{EventRow, EventTable};
use lopsided_core::{Bytes, Duration, Event, EventMask, NodeId, Observer, Packet, Time, Transport};
use std::sync::{Arc, Mutex, PoisonError};

/// An observer that stores all packet events. Clones share one log.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<(NodeId, EventRow)>>>);

impl EventLog {
    /// Returns the number of events recorded so far.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the stored events, sorted by time. Sorting is necessary because a link may report departures late.
    pub fn take(&self, places: &Places) -> EventTable {
        let mut rows = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // A stable sort keeps the order of events at one instant.
        rows.sort_by(|(_, a), (_, b)| a.time_s.total_cmp(&b.time_s));
        let mut table = EventTable::default();
        for (node, row) in rows {
            let (name, direction) = places.of(node);
            table.push(EventRow { node: name, direction, ..row });
        }
        table
    }
}

impl Observer for EventLog {
    fn mask(&self) -> EventMask {
        EventMask::PACKETS
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let row = match *event {
            Event::Sent(packet) => row(at, "sent", packet),
            Event::Received(packet) => row(at, "received", packet),
            Event::Enqueued { packet, backlog_packets, .. } => {
                EventRow { backlog_packets, ..row(at, "enqueued", packet) }
            }
            Event::Dequeued { packet, backlog_packets, sojourn, .. } => {
                let sojourn_ms = Duration::as_millis_f64(sojourn);
                EventRow { backlog_packets, sojourn_ms, ..row(at, "dequeued", packet) }
            }
            Event::Marked { packet, why } => EventRow { reason: why.name(), ..row(at, "marked", packet) },
            Event::Dropped { packet, why } => EventRow { reason: why.name(), ..row(at, "dropped", packet) },
            Event::Rewritten { packet, .. } => row(at, "rewritten", packet),
            Event::Absorbed { packet } => row(at, "absorbed", packet),
            // `TcpLog` records events inside TCP. The mask excludes all other events.
            _ => return,
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((node, row));
    }
}

fn row(at: Time, event: &'static str, packet: &Packet) -> EventRow {
    let (protocol, seq, ack, flags) = match packet.transport() {
        Transport::Tcp(header) => ("tcp", header.seq.get(), header.ack.get(), u32::from(header.flags.0)),
        Transport::Udp(_) => ("udp", 0, 0, 0),
        Transport::Other { .. } => ("other", 0, 0, 0),
    };
    EventRow {
        time_s: at.as_secs_f64(),
        node: Name::default(),
        direction: "",
        event,
        flow: packet.flow().0,
        packet: packet.id(),
        protocol,
        seq,
        ack,
        flags,
        payload_bytes: packet.payload().len(),
        size_bytes: Bytes::get(packet.size()) as u32,
        ecn: packet.ecn() as u32,
        backlog_packets: 0,
        sojourn_ms: f64::NAN,
        reason: "",
    }
}

/// Names of all nodes as they appear in tables, by node number.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<(Name, &'static str)>);

impl Places {
    pub fn new(labels: &[NodeLabel]) -> Places {
        let mut places: Vec<(Name, &str)> = Vec::with_capacity(labels.len());
        for label in labels {
            // The two directions of a link share one name.
            let before = places.last().map(|(name, _)| name).filter(|name| ***name == label.name);
            let name = before.cloned().unwrap_or_else(|| label.name.as_str().into());
            places.push((name, label.kind.direction()));
        }
        Places(places)
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a node's name and direction. The direction is empty for nodes outside of links.
    pub fn of(&self, node: NodeId) -> (Name, &'static str) {
        self.0[node.index()].clone()
    }
}
