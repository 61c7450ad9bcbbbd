//! The table of events inside TCP endpoints.

use crate::catalogue::Name;
use crate::event_log::Places;
use crate::results::{TcpEventRow, TcpEventTable};
use lopsided_core::tcp_event::TcpEvent;
use lopsided_core::{Event, EventMask, NodeId, Observer, TcpEndpoint, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// An observer that stores all TCP events. Clones share one log.
#[derive(Debug, Clone, Default)]
pub(crate) struct TcpLog(Arc<Mutex<Vec<Entry>>>);

#[derive(Debug)]
struct Entry {
    at: Time,
    node: NodeId,
    endpoint: TcpEndpoint,
    event: TcpEvent,
}

impl TcpLog {
    /// Returns the number of events recorded so far.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the stored events, sorted by time.
    pub fn take(&self, places: &Places) -> TcpEventTable {
        let mut entries = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // The events of each connection are in order, but connections publish their events with different delays.
        entries.sort_by_key(|entry| entry.at);
        let mut table = TcpEventTable::default();
        entries.iter().for_each(|entry| table.push(row(entry, places)));
        table
    }
}

impl Observer for TcpLog {
    fn mask(&self) -> EventMask {
        EventMask::TCP
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let &Event::Tcp { endpoint, event } = event else { return };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Entry { at, node, endpoint, event });
    }
}

fn row(entry: &Entry, places: &Places) -> TcpEventRow {
    TcpEventRow::of(entry.at, places.of(entry.node).0, entry.endpoint, entry.event)
}

impl TcpEventRow {
    /// Converts an event to a row of `tcp_events`. `node` is the name of the host.
    pub fn of(at: Time, node: Name, endpoint: TcpEndpoint, event: TcpEvent) -> TcpEventRow {
        let blank = TcpEventRow {
            time_s: at.as_secs_f64(),
            node,
            flow: endpoint.flow.0,
            opener_port: u32::from(endpoint.opener_port),
            end: if endpoint.sends { "sender" } else { "receiver" },
            event: event.name(),
            from: "",
            to: "",
            reason: "",
            offset_bytes: None,
            length_bytes: None,
            segments: None,
            ack: None,
            cwnd_from_bytes: None,
            cwnd_to_bytes: None,
        };
        match event {
            TcpEvent::StateChanged { from, to } => TcpEventRow { from: from.name(), to: to.name(), ..blank },
            TcpEvent::CaState { from, to, why } => {
                TcpEventRow { from: from.name(), to: to.name(), reason: why.name(), ..blank }
            }
            TcpEvent::Lost { start, segments, rule } => TcpEventRow {
                reason: rule.name(),
                offset_bytes: Some(start),
                segments: Some(u64::from(segments)),
                ..blank
            },
            TcpEvent::CwndReduced { signal, from, to } => TcpEventRow {
                reason: signal.name(),
                cwnd_from_bytes: Some(from.get()),
                cwnd_to_bytes: Some(to.get()),
                ..blank
            },
            TcpEvent::Undone { by, cwnd } => {
                TcpEventRow { reason: by.name(), cwnd_to_bytes: Some(cwnd.get()), ..blank }
            }
            TcpEvent::Timer { kind } => TcpEventRow { reason: kind.name(), ..blank },
            TcpEvent::AckSent { ack, why } => {
                TcpEventRow { reason: why.name(), ack: Some(u64::from(ack.get())), ..blank }
            }
            TcpEvent::Limited { by } => TcpEventRow { reason: by.name(), ..blank },
            TcpEvent::Retransmitted { start, len, probe } => TcpEventRow {
                reason: if probe { "tail loss probe" } else { "" },
                offset_bytes: Some(start),
                length_bytes: Some(u64::from(len)),
                ..blank
            },
            TcpEvent::CcPhase { from, to } => TcpEventRow { from, to, ..blank },
            _ => blank,
        }
    }
}
