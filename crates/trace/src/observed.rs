//! What captures at hosts would say of their flows, without writing any.

use crate::flow::{FlowSummary, FlowTable};
use lopsided_core::{Event, EventMask, NodeId, Observer, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Watches hosts while a run goes on. Clones share what they see: give one to the run and read the other.
#[derive(Clone, Debug, Default)]
pub struct HostTracer {
    tables: Arc<Mutex<Vec<(NodeId, FlowTable)>>>,
}

/// What was seen at one host.
#[derive(Clone, Debug)]
pub struct HostFlows {
    pub host: NodeId,
    pub flows: Vec<FlowSummary>,
}

impl HostTracer {
    pub fn at(hosts: impl IntoIterator<Item = NodeId>) -> HostTracer {
        let tables = hosts.into_iter().map(|host| (host, FlowTable::default())).collect();
        HostTracer { tables: Arc::new(Mutex::new(tables)) }
    }

    /// The flows up to now, host by host.
    pub fn flows(&self) -> Vec<HostFlows> {
        self.lock().iter().map(|(host, table)| HostFlows { host: *host, flows: table.summaries() }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(NodeId, FlowTable)>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for HostTracer {
    fn mask(&self) -> EventMask {
        EventMask::HOSTS
    }

    fn record(&mut self, at: Time, node: NodeId, event: &Event<'_>) {
        let (Event::Sent(packet) | Event::Received(packet)) = event else { return };
        if let Some((_, table)) = self.lock().iter_mut().find(|(host, _)| *host == node) {
            table.observe(at, packet);
        }
    }
}
