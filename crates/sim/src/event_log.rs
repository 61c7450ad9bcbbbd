//! The table of every packet event.

use crate::labels::{NodeKind, NodeLabel};
use crate::results::{EventRow, EventTable, NodeRow, NodeTable};
use lopsided_core::{Bytes, Duration, Event, EventMask, NodeId, Observer, Packet, Time, Transport};
use std::sync::{Arc, Mutex, PoisonError};

/// A watcher that keeps everything. Its clones are one log.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog(Arc<Mutex<Vec<EventRow>>>);

impl EventLog {
    /// What was kept, by time: a link may report what left it a little late.
    pub fn take(&self) -> EventTable {
        let mut rows = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        let mut table = EventTable::default();
        rows.into_iter().for_each(|row| table.push(row));
        table
    }
}

impl Observer for EventLog {
    fn mask(&self) -> EventMask {
        EventMask::ALL
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let row = match *event {
            Event::Sent(packet) => row(at, node, "sent", packet),
            Event::Received(packet) => row(at, node, "received", packet),
            Event::Enqueued { packet, backlog_packets, .. } => {
                EventRow { backlog_packets, ..row(at, node, "enqueued", packet) }
            }
            Event::Dequeued { packet, backlog_packets, sojourn, .. } => {
                let sojourn_ms = Duration::as_millis_f64(sojourn);
                EventRow { backlog_packets, sojourn_ms, ..row(at, node, "dequeued", packet) }
            }
            Event::Marked { packet, why } => EventRow { reason: why.name(), ..row(at, node, "marked", packet) },
            Event::Dropped { packet, why } => EventRow { reason: why.name(), ..row(at, node, "dropped", packet) },
            Event::Rewritten { packet, .. } => row(at, node, "rewritten", packet),
            Event::Absorbed { packet } => row(at, node, "absorbed", packet),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }
}

fn row(at: Time, node: NodeId, event: &'static str, packet: &Packet) -> EventRow {
    let (protocol, seq, ack, flags) = match packet.transport() {
        Transport::Tcp(header) => ("tcp", header.seq.get(), header.ack.get(), u32::from(header.flags.0)),
        Transport::Udp(_) => ("udp", 0, 0, 0),
        Transport::Other { .. } => ("other", 0, 0, 0),
    };
    EventRow {
        time_s: at.as_secs_f64(),
        node: node.0,
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

/// The table of nodes.
pub(crate) fn nodes(labels: &[NodeLabel]) -> NodeTable {
    let mut table = NodeTable::default();
    for label in labels {
        let (kind, direction) = match label.kind {
            NodeKind::Host => ("host", ""),
            NodeKind::Router => ("router", ""),
            NodeKind::Link(dir) => ("link", dir.name()),
            NodeKind::Middlebox(dir) => ("middlebox", dir.name()),
        };
        table.push(NodeRow { node: label.node.0, name: label.name.clone(), kind, direction });
    }
    table
}
