//! The numbers that sentences are made of.

use lopsided_app::DatagramConfig;
use lopsided_core::Dir;
use lopsided_scenario::Scenario;
use lopsided_sim::{RunResult, SampleTable};

/// One flow of a run. Numbers that do not exist are NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowFacts {
    pub name: String,
    /// The name before `count` multiplied the flow.
    pub group: String,
    /// `down`, `up`, or empty if the path crosses links both ways.
    pub direction: String,
    /// The flow sends datagrams, as a call does.
    pub is_datagrams: bool,
    pub start_s: f64,
    pub stop_s: f64,
    pub delivered_bytes: u64,
    pub goodput_bps: f64,
    pub rtt_min_ms: f64,
    pub rtt_mean_ms: f64,
    pub rtt_p95_ms: f64,
    /// Number of transfers completed.
    pub transfers: u64,
    /// Mean time that a transfer took.
    pub completion_s: f64,
    pub completion_max_s: f64,
    pub data_segments_out: u64,
    pub lost_packets: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFacts {
    pub link: String,
    /// `down` or `up`.
    pub direction: String,
    /// The kind of the queue before the line, such as `fifo`.
    pub queue: String,
    /// Mean time that packets waited in the queue; NaN if none did.
    pub sojourn_mean_ms: f64,
}

/// A run as far as sentences need it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// In the scenario's order.
    pub flows: Vec<FlowFacts>,
    /// In the scenario's order, down before up.
    pub links: Vec<LinkFacts>,
    /// Number of samples of flows; without any, goodput over parts of the run is not known.
    pub samples: usize,
}

impl Account {
    /// The account of a simulated run.
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

/// Mean goodput of a flow in bit/s between two times, interpolated between its samples.
pub(crate) fn goodput_between(samples: &SampleTable, flow: usize, start_s: f64, stop_s: f64) -> f64 {
    let rows: Vec<usize> = (0..samples.flow.len()).filter(|row| samples.flow[*row] as usize == flow).collect();
    let time_s: Vec<f64> = rows.iter().map(|row| samples.time_s[*row]).collect();
    let delivered: Vec<f64> = rows.iter().map(|row| samples.delivered_bytes[*row] as f64).collect();
    mean_goodput(&time_s, &delivered, start_s, stop_s)
}

/// Mean goodput in bit/s between two times, of octets delivered since the beginning at each of the times `time_s`;
/// interpolated between them.
pub fn mean_goodput(time_s: &[f64], delivered: &[f64], start_s: f64, stop_s: f64) -> f64 {
    (delivered_at(time_s, delivered, stop_s) - delivered_at(time_s, delivered, start_s)) * 8.0 / (stop_s - start_s)
}

/// Octets delivered by a time: nothing before the first sample, and no more after the last.
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
