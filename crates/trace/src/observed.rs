//! Flow statistics at hosts during a run, as captures at these hosts would show them, without writing files.

use crate::flow::{FlowSummary, FlowTable};
use lopsided_core::{Event, EventMask, NodeId, Observer, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An observer that computes flow statistics at hosts. Clones share the statistics: pass one clone to the run and read
/// the results from another clone.
///
/// # Examples
///
/// ```
/// use lopsided_core::NodeId;
/// use lopsided_trace::HostTracer;
///
/// let tracer = HostTracer::at([NodeId(0), NodeId(1)]);
/// // A run would get `tracer.clone()` as one of its observers here.
/// assert_eq!(tracer.flows().len(), 2, "one entry for each host");
/// ```
#[derive(Clone, Debug, Default)]
pub struct HostTracer {
    tables: Arc<Mutex<Vec<(NodeId, FlowTable)>>>,
}

/// The flows that one host sent or received.
#[derive(Clone, Debug)]
pub struct HostFlows {
    /// The host.
    pub host: NodeId,
    /// One summary for each direction that carried data.
    pub flows: Vec<FlowSummary>,
}

impl HostTracer {
    /// Creates an observer of these hosts.
    pub fn at(hosts: impl IntoIterator<Item = NodeId>) -> HostTracer {
        let tables = hosts.into_iter().map(|host| (host, FlowTable::default())).collect();
        HostTracer { tables: Arc::new(Mutex::new(tables)) }
    }

    /// Returns the flows so far at each host, in the order given to [`HostTracer::at`].
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
