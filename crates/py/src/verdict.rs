//! Sentences about a run, from the simulator or from real hosts, and functions that format quantities for display.

use lopsided_verdict::{Account, FlowFacts, LinkFacts, units};
use pyo3::prelude::*;

/// A row of the table `flows`, with the kind of the flow's application.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FlowRow {
    name: String,
    group: String,
    direction: Option<String>,
    app: Option<String>,
    start_s: f64,
    stop_s: f64,
    delivered_bytes: u64,
    goodput_bps: Option<f64>,
    rtt_min_ms: Option<f64>,
    rtt_mean_ms: Option<f64>,
    rtt_p95_ms: Option<f64>,
    transfers: Option<u64>,
    completion_s: Option<f64>,
    completion_max_s: Option<f64>,
    data_segments_out: Option<u64>,
    lost_packets: Option<u64>,
}

/// A row of the table `links`, with the kind of the link's queue.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LinkRow {
    link: String,
    direction: String,
    queue: String,
    sojourn_mean_ms: Option<f64>,
}

/// Returns the sentences for the top of a run's report. `goodput` is a function that returns the mean goodput in bit/s
/// of a flow, given its index, between two times in seconds.
#[pyfunction]
pub(crate) fn verdict(
    flows: Vec<FlowRow>,
    links: Vec<LinkRow>,
    samples: usize,
    goodput: &Bound<'_, PyAny>,
) -> PyResult<Vec<String>> {
    account(flows, links, samples).sentences(|flow, start_s, stop_s| goodput.call1((flow, start_s, stop_s))?.extract())
}

/// Describes the changes from one run to another.
#[pyfunction]
pub(crate) fn difference(before: (Vec<FlowRow>, Vec<LinkRow>), after: (Vec<FlowRow>, Vec<LinkRow>)) -> Vec<String> {
    lopsided_verdict::difference(&account(before.0, before.1, 0), &account(after.0, after.1, 0))
}

fn account(flows: Vec<FlowRow>, links: Vec<LinkRow>, samples: usize) -> Account {
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let flow = |row: FlowRow| FlowFacts {
        name: row.name,
        group: row.group,
        direction: row.direction.unwrap_or_default(),
        is_datagrams: row.app.as_deref() == Some("udp"),
        start_s: row.start_s,
        stop_s: row.stop_s,
        delivered_bytes: row.delivered_bytes,
        goodput_bps: known(row.goodput_bps),
        rtt_min_ms: known(row.rtt_min_ms),
        rtt_mean_ms: known(row.rtt_mean_ms),
        rtt_p95_ms: known(row.rtt_p95_ms),
        transfers: row.transfers.unwrap_or(0),
        completion_s: known(row.completion_s),
        completion_max_s: known(row.completion_max_s),
        data_segments_out: row.data_segments_out.unwrap_or(0),
        lost_packets: row.lost_packets.unwrap_or(0),
    };
    let link = |row: LinkRow| LinkFacts {
        link: row.link,
        direction: row.direction,
        queue: row.queue,
        sojourn_mean_ms: known(row.sojourn_mean_ms),
    };
    Account { flows: flows.into_iter().map(flow).collect(), links: links.into_iter().map(link).collect(), samples }
}

/// Formats a rate, such as `2.07 Mbit/s`: see [`units::rate`].
#[pyfunction]
pub(crate) fn rate_text(bits_per_second: f64) -> String {
    units::rate(bits_per_second)
}

/// Formats a size, such as `74.3 kB`: see [`units::size`].
#[pyfunction]
pub(crate) fn size_text(octets: f64) -> String {
    units::size(octets)
}

/// Formats a time, such as `206 ms`: see [`units::millis`].
#[pyfunction]
pub(crate) fn millis_text(milliseconds: f64) -> String {
    units::millis(milliseconds)
}

/// Formats a share, such as `4.2 %`: see [`units::percent`].
#[pyfunction]
pub(crate) fn percent_text(share: f64) -> String {
    units::percent(share)
}
