//! What captures say of their flows: of a file, or at the hosts of a run.

use crate::error::Failure;
use lopsided_core::Observer;
use lopsided_scenario::Scenario;
use lopsided_sim::{NodeKind, NodeLabel, node_labels};
use lopsided_trace::{FlowSummary, FlowTable, Observing, read};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// The watcher of a run's hosts.
pub(crate) struct Observed(Observing);

/// One flow as one host sees it: the host's name, and what it sees.
pub(crate) type Seen = (String, FlowSummary);

impl Observed {
    /// `None` where the scenario asks for no traces.
    pub(crate) fn of(scenario: &Scenario) -> Option<Observed> {
        let hosts = hosts(scenario).into_iter().map(|label| label.node);
        scenario.record.traces.then(|| Observed(Observing::at(hosts)))
    }

    pub(crate) fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.0.clone())
    }

    /// What each host saw of the flows that it sends: a capture at the other end says little of round trips.
    pub(crate) fn seen(&self, scenario: &Scenario) -> Vec<Seen> {
        let labels = hosts(scenario);
        let mut seen = Vec::new();
        for (place, (label, observed)) in labels.into_iter().zip(self.0.flows()).enumerate() {
            let own = observed.flows.into_iter().filter(|flow| scenario.flows[flow.flow.0 as usize].from == place);
            seen.extend(own.map(|flow| (label.name.clone(), flow)));
        }
        seen
    }
}

fn hosts(scenario: &Scenario) -> Vec<NodeLabel> {
    node_labels(scenario).into_iter().filter(|label| label.kind == NodeKind::Host).collect()
}

/// The rows of a run's table.
pub(crate) fn of_run<'py>(py: Python<'py>, scenario: &Scenario, seen: &[Seen]) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for (host, flow) in seen {
        let row = PyDict::new(py);
        row.set_item("host", host)?;
        row.set_item("flow", &scenario.flows[flow.flow.0 as usize].name)?;
        measures(&row, flow)?;
        rows.append(row)?;
    }
    Ok(rows)
}

/// What a capture says of its TCP flows: a dictionary for each direction of a connection that carried data; and how many packets were
/// read, and passed over.
#[pyfunction]
pub(crate) fn trace<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(Bound<'py, PyList>, u64, u64)> {
    let failed = |what: String| Failure::Trace { file: path.display().to_string(), what };
    let (done, flows) = py.detach(|| {
        let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
        let mut table = FlowTable::default();
        let done = read(BufReader::new(file), |at, packet| table.observe(at, packet));
        done.map(|done| (done, table.summaries())).map_err(|error| failed(error.to_string()))
    })?;
    let rows = PyList::empty(py);
    for flow in &flows {
        let row = PyDict::new(py);
        row.set_item("from", flow.key.src.to_string())?;
        row.set_item("from_port", flow.key.src_port)?;
        row.set_item("to", flow.key.dst.to_string())?;
        row.set_item("to_port", flow.key.dst_port)?;
        measures(&row, flow)?;
        rows.append(row)?;
    }
    Ok((rows, done.packets, done.passed_over))
}

fn measures(row: &Bound<'_, PyDict>, flow: &FlowSummary) -> PyResult<()> {
    row.set_item("elapsed_s", flow.elapsed.as_secs_f64())?;
    row.set_item("packets", flow.packets)?;
    row.set_item("packets_back", flow.packets_back)?;
    row.set_item("data_packets", flow.data_segments)?;
    row.set_item("data_bytes", flow.data_bytes)?;
    row.set_item("retransmitted_packets", flow.retransmitted_segments)?;
    row.set_item("retransmitted_bytes", flow.retransmitted_bytes)?;
    row.set_item("acked_bytes", flow.acked_bytes)?;
    row.set_item("goodput_bps", flow.goodput_bps())?;
    let rtt = (flow.rtt.samples > 0).then_some(flow.rtt);
    row.set_item("rtt_count", flow.rtt.samples)?;
    row.set_item("rtt_mean_ms", rtt.map(|rtt| rtt.mean_ms()))?;
    row.set_item("rtt_std_ms", rtt.map(|rtt| rtt.std_ms()))?;
    row.set_item("rtt_min_ms", rtt.map(|rtt| rtt.min.as_millis_f64()))?;
    row.set_item("rtt_max_ms", rtt.map(|rtt| rtt.max.as_millis_f64()))?;
    row.set_item("outstanding_mean_bytes", flow.outstanding.mean_bytes)?;
    row.set_item("outstanding_max_bytes", flow.outstanding.max_bytes)?;
    row.set_item("outstanding_max_s", flow.outstanding.max_at.as_secs_f64())
}
