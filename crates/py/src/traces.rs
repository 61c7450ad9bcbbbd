//! Statistics of flows in captures, either from a file or measured at the hosts of a run.

use crate::columns::columns;
use crate::error::Failure;
use lopsided_core::Observer;
use lopsided_scenario::Scenario;
use lopsided_sim::{Name, NodeKind, NodeLabel, node_labels, table};
use lopsided_trace::{FlowSummary, FlowTable, HostTracer, RoundTrips, read};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// Observer that collects the statistics at all hosts of a run.
pub(crate) struct Observed(HostTracer);

/// Statistics of one flow at one host, with the name of the host.
pub(crate) type Seen = (String, FlowSummary);

impl Observed {
    /// Returns the observer; `None` if the scenario does not request traces.
    pub(crate) fn of(scenario: &Scenario) -> Option<Observed> {
        let hosts = hosts(scenario).into_iter().map(|label| label.node);
        scenario.record.traces.then(|| Observed(HostTracer::at(hosts)))
    }

    pub(crate) fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.0.clone())
    }

    /// Returns the statistics of each flow at its sending host, because a capture at this host shows the RTTs.
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

table! {
    /// Statistics of a capture at each sending host, with one row for each flow. The table is written only if the
    /// scenario requests it (`[record] traces = true`). Counts, elapsed time, RTTs and outstanding data are equal to
    /// the values of tcptrace.
    TraceTable of TraceRow as "traces" {
        /// The sending host, which is the point of capture.
        host: Name [Text "host"],
        /// The flow's name.
        flow: Name [Text "flow"],
        /// Time between the first and the last packet of the connection, in either direction.
        elapsed_s: f64 [Second "elapsed"],
        /// Packets of any kind from the sender.
        packets: u64 [Count "packets"],
        /// Packets of any kind to the sender.
        packets_back: u64 [Count "packets back"],
        /// Packets with data, retransmissions included.
        data_packets: u64 [Count "data packets"],
        /// Payload of the packets with data, including retransmissions.
        data_bytes: u64 [Byte "data"],
        /// Data packets that start below the highest sequence number seen so far.
        retransmitted_packets: u64 [Count "retransmitted packets"],
        /// Payload of the retransmitted packets.
        retransmitted_bytes: u64 [Byte "retransmitted"],
        /// Payload that the receiver acknowledged.
        acked_bytes: u64 [Byte "acked"],
        /// Acknowledged payload divided by the time from the first data to the last ACK of new data.
        goodput_bps: f64 [BitPerSecond "goodput"],
        /// Number of RTT samples. A sample is the time from a data packet to the ACK that covers it. Retransmitted data gives no sample (Karn's rule).
        rtt_count: u64 [Count "RTT samples"],
        /// Mean RTT.
        rtt_mean_ms: f64 [Millisecond "RTT mean"],
        /// Standard deviation of the RTT.
        rtt_std_ms: f64 [Millisecond "RTT std"],
        /// Smallest RTT.
        rtt_min_ms: f64 [Millisecond "RTT min"],
        /// Largest RTT.
        rtt_max_ms: f64 [Millisecond "RTT max"],
        /// Time average of the outstanding data, which is sent but not yet acknowledged.
        outstanding_mean_bytes: f64 [Byte "outstanding mean"],
        /// Largest amount of outstanding data.
        outstanding_max_bytes: u64 [Byte "outstanding max"],
        /// Time at which the outstanding data first reached its maximum.
        outstanding_max_s: f64 [Second "outstanding max at"],
        /// Mean receive window that the sender of the data advertises, over all its packets except SYNs.
        window_mean_bytes: f64 [Byte "window mean"],
        /// Mean receive window that the receiver of the data advertises.
        window_back_mean_bytes: f64 [Byte "window mean back"],
    }
}

table! {
    /// The two ends of each connection in a capture file.
    EndTable of EndRow as "ends" {
        /// Address of the sender of the data.
        from: String [Text "from"],
        /// Port of the sender.
        from_port: u32 [Label "port"],
        /// Address of the receiver.
        to: String [Text "to"],
        /// Port of the receiver.
        to_port: u32 [Label "port"],
    }
}

/// Returns the table `traces` of a run.
pub(crate) fn of_run(scenario: &Scenario, seen: &[Seen]) -> TraceTable {
    let mut table = TraceTable::default();
    for (host, flow) in seen {
        let name = scenario.flows[flow.flow.0 as usize].name.as_str();
        table.push(TraceRow { host: host.as_str().into(), flow: name.into(), ..row(flow) });
    }
    table
}

/// The flows of a capture: ends, measurements, packets read, packets skipped, and true if the file is truncated.
type CaptureTables<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>, u64, u64, bool);

/// Reads the TCP flows of a capture. Returns one row per direction of a connection that carried data.
#[pyfunction]
pub(crate) fn trace<'py>(py: Python<'py>, path: PathBuf) -> PyResult<CaptureTables<'py>> {
    let failed = |what: String| Failure::Trace { file: path.display().to_string(), what };
    // Release Python's global lock, because reading the file uses no Python objects.
    let (done, flows) = py.detach(|| {
        let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
        let mut table = FlowTable::default();
        let done = read(BufReader::new(file), |at, packet| table.observe(at, packet));
        done.map(|done| (done, table.summaries())).map_err(|error| failed(error.to_string()))
    })?;
    let (mut ends, mut table) = (EndTable::default(), TraceTable::default());
    for flow in &flows {
        ends.push(EndRow {
            from: flow.key.src.to_string(),
            from_port: flow.key.src_port.into(),
            to: flow.key.dst.to_string(),
            to_port: flow.key.dst_port.into(),
        });
        table.push(row(flow));
    }
    Ok((columns(py, &ends.columns())?, columns(py, &table.columns())?, done.packets, done.passed_over, done.cut))
}

/// Returns the RTT samples of TCP data in a capture that was taken at the sender. `ports` maps the port of each flow's
/// receiver to the flow's number. Each row contains the flow's number, the time of the ACK on the capture's clock, and
/// the RTT, both in nanoseconds.
#[pyfunction]
pub(crate) fn round_trips(py: Python<'_>, path: PathBuf, ports: BTreeMap<u16, u32>) -> PyResult<Vec<(u32, u64, u64)>> {
    let failed = |what: String| Failure::Trace { file: path.display().to_string(), what };
    let found = py.detach(|| {
        let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
        let mut trips = RoundTrips::of(ports);
        let done = read(BufReader::new(file), |at, packet| trips.observe(at, packet));
        done.map(|_| trips.found()).map_err(|error| failed(error.to_string()))
    })?;
    Ok(found.into_iter().map(|trip| (trip.flow, trip.at.as_nanos(), trip.took.as_nanos())).collect())
}

/// Returns a flow's row in the table `traces`, for a flow in a capture file or in a run.
fn row(flow: &FlowSummary) -> TraceRow {
    // Without samples the RTT is undefined: report NaN instead of 0.
    let timed = |value: f64| if flow.rtt.samples > 0 { value } else { f64::NAN };
    TraceRow {
        host: Name::default(),
        flow: Name::default(),
        elapsed_s: flow.elapsed.as_secs_f64(),
        packets: flow.packets,
        packets_back: flow.packets_back,
        data_packets: flow.data_segments,
        data_bytes: flow.data_bytes,
        retransmitted_packets: flow.retransmitted_segments,
        retransmitted_bytes: flow.retransmitted_bytes,
        acked_bytes: flow.acked_bytes,
        goodput_bps: flow.goodput_bps(),
        rtt_count: flow.rtt.samples,
        rtt_mean_ms: timed(flow.rtt.mean_ms()),
        rtt_std_ms: timed(flow.rtt.std_ms()),
        rtt_min_ms: timed(flow.rtt.min.as_millis_f64()),
        rtt_max_ms: timed(flow.rtt.max.as_millis_f64()),
        outstanding_mean_bytes: flow.outstanding.mean_bytes,
        outstanding_max_bytes: flow.outstanding.max_bytes,
        outstanding_max_s: flow.outstanding.max_at.as_secs_f64(),
        window_mean_bytes: flow.window_mean_bytes,
        window_back_mean_bytes: flow.window_back_mean_bytes,
    }
}
