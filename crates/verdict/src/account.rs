//! The measurements of a run on which the verdict's sentences are based.

use lopsided_app::DatagramConfig;
use lopsided_core::Dir;
use lopsided_scenario::Scenario;
use lopsided_sim::{RunResult, SampleTable};

/// Measurements of one flow. A value that was not measured is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowFacts {
    /// Name of the flow.
    pub name: String,
    /// Name that all copies of the flow share if the scenario sets `count`.
    pub group: String,
    /// `down`, `up`, or empty if the path crosses links in both directions.
    pub direction: String,
    /// True if the flow sends datagrams, for example a call.
    pub is_datagrams: bool,
    /// Time of the flow's start, in seconds.
    pub start_s: f64,
    /// Time of the flow's end, in seconds.
    pub stop_s: f64,
    /// Bytes delivered to the receiving application.
    pub delivered_bytes: u64,
    /// Mean goodput in bit/s.
    pub goodput_bps: f64,
    /// Smallest RTT in milliseconds; one-way delay for datagrams.
    pub rtt_min_ms: f64,
    /// Mean RTT in milliseconds.
    pub rtt_mean_ms: f64,
    /// 95th percentile of the RTT in milliseconds.
    pub rtt_p95_ms: f64,
    /// Number of completed transfers.
    pub transfers: u64,
    /// Mean duration of a transfer in seconds.
    pub completion_s: f64,
    /// Longest duration of a transfer in seconds.
    pub completion_max_s: f64,
    /// Number of data packets sent, including retransmissions.
    pub data_segments_out: u64,
    /// Number of packets that were lost or dropped.
    pub lost_packets: u64,
}

/// Measurements of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFacts {
    /// Name of the link.
    pub link: String,
    /// `down` or `up`.
    pub direction: String,
    /// Kind of the queue that feeds the link, such as `fifo`.
    pub queue: String,
    /// Mean queueing delay in milliseconds; NaN if no packet was sent.
    pub sojourn_mean_ms: f64,
}

/// The measurements of a run that sentences need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowFacts>,
    /// The link directions, in the scenario's order, `down` before `up`.
    pub links: Vec<LinkFacts>,
    /// Number of rows in the table of samples. Without samples, the goodput over a part of the run is unknown.
    pub samples: usize,
}

impl Account {
    /// Collects the measurements of a simulated run.
    pub fn of(scenario: &Scenario, result: &RunResult) -> Account {
        let (flows, links) = (&result.flows, &result.links);
        let flow = |row: usize| FlowFacts {
            name: flows.name[row].clone(),
            group: flows.group[row].to_string(),
            direction: flows.direction[row].to_owned(),
            is_datagrams: scenario.flows[row].app.get::<DatagramConfig>().is_some(),
            start_s: flows.start_s[row],
            stop_s: flows.stop_s[row],
            delivered_bytes: flows.delivered_bytes[row],
            goodput_bps: flows.goodput_bps[row],
            rtt_min_ms: flows.rtt_min_ms[row],
            rtt_mean_ms: flows.rtt_mean_ms[row],
            rtt_p95_ms: flows.rtt_p95_ms[row],
            transfers: flows.transfers[row],
            completion_s: flows.completion_s[row],
            completion_max_s: flows.completion_max_s[row],
            data_segments_out: flows.data_segments_out[row],
            lost_packets: flows.lost_packets[row],
        };
        let link = |row: usize| LinkFacts {
            link: links.link[row].to_string(),
            direction: links.direction[row].to_owned(),
            // Each link has two rows, `down` before `up`.
            queue: scenario.graph.links[row / 2].dir(Dir::BOTH[row % 2]).queue.kind().to_owned(),
            sojourn_mean_ms: links.sojourn_mean_ms[row],
        };
        Account {
            flows: (0..flows.name.len()).map(flow).collect(),
            links: (0..links.link.len()).map(link).collect(),
            samples: result.samples.time_s.len(),
        }
    }
}

/// Returns a flow's mean goodput in bit/s between two times. Values between two samples are interpolated.
pub(crate) fn goodput_between(samples: &SampleTable, flow: usize, start_s: f64, stop_s: f64) -> f64 {
    let rows: Vec<usize> = (0..samples.flow.len()).filter(|row| samples.flow[*row] as usize == flow).collect();
    let time_s: Vec<f64> = rows.iter().map(|row| samples.time_s[*row]).collect();
    let delivered: Vec<f64> = rows.iter().map(|row| samples.delivered_bytes[*row] as f64).collect();
    mean_goodput(&time_s, &delivered, start_s, stop_s)
}

/// Returns the mean goodput in bit/s between two times. `delivered` contains the bytes delivered up to each time of
/// `time_s`, in seconds. Values between these times are interpolated.
pub fn mean_goodput(time_s: &[f64], delivered: &[f64], start_s: f64, stop_s: f64) -> f64 {
    (delivered_at(time_s, delivered, stop_s) - delivered_at(time_s, delivered, start_s)) * 8.0 / (stop_s - start_s)
}

/// Returns the number of bytes delivered up to a time: 0 before the first sample, and constant after the last.
fn delivered_at(time_s: &[f64], delivered: &[f64], at: f64) -> f64 {
    match time_s.partition_point(|time| *time < at) {
        0 => time_s.first().filter(|time| **time == at).map_or(0.0, |_| delivered[0]),
        next if next == time_s.len() => delivered[next - 1],
        next => {
            let (start, from) = (time_s[next - 1], delivered[next - 1]);
            from + (delivered[next] - from) / (time_s[next] - start) * (at - start)
        }
    }
}
