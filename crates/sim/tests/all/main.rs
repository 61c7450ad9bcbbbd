//! End-to-end tests: each parses a scenario, runs it and checks the tables of results.

mod applications;
mod bad_input;
mod conservation;
mod controllers;
mod determinism;
mod ecn;
mod interface;
mod media;
mod metamorphic;
mod network;
mod observing;
mod quic;
mod sensing;
mod sharing;
mod stack;
mod stages;
mod transfers;

use lopsided_scenario::Scenario;
use lopsided_sim::{Column, FlowTable, Monitor, RunOptions, RunResult};

/// Parses a scenario that must be valid.
fn scenario(text: &str) -> Scenario {
    match Scenario::parse(text, "test.toml", &[]) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    }
}

fn run(text: &str) -> RunResult {
    run_seed(text, 1)
}

fn run_seed(text: &str, seed: u64) -> RunResult {
    match lopsided_sim::run(&scenario(text), seed, RunOptions::default(), &Monitor::default()) {
        Ok(result) => result,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the row index of the flow with this name.
fn flow(flows: &FlowTable, name: &str) -> usize {
    flows.name.iter().position(|of_row| of_row == name).expect("the flow is in the table")
}

/// Returns a cell of a table as text.
fn cell(column: &Column<'_>, row: usize) -> String {
    match column {
        Column::U32(values) => values[row].to_string(),
        Column::U64(values) => values[row].to_string(),
        Column::F64(values) => values[row].to_string(),
        Column::Word(values) => values[row].to_owned(),
        Column::MaybeU64(values) => format!("{:?}", values[row]),
        Column::Name(values) => values[row].to_string(),
        Column::Text(values) => values[row].clone(),
    }
}

/// A download and an upload on an asymmetric line.
const TWO_WAY: &str = r#"
    [scenario]
    duration = "20 s"
    [link]
    rtt = "40 ms"
    down = { rate = "2400 kbit/s", queue = "20 packets" }
    up = { rate = "196 kbit/s", queue = "10 packets" }
    [[flow]]
    name = "download"
    direction = "down"
    start_jitter = "100 ms"
    [[flow]]
    name = "upload"
    direction = "up"
    start = "5 s"
    start_jitter = "100 ms"
"#;

/// Like [`TWO_WAY`], with every feature that uses random numbers or opens new connections.
const BUSY: &str = r#"
    [scenario]
    duration = "15 s"
    [link]
    rtt = "30 ms"
    down = { rate = "8 Mbit/s", queue = "30 packets", loss = "1 %" }
    up = { rate = "1 Mbit/s", queue = "20 packets", loss = { gilbert = { to_bad = 0.01, to_good = "30 %" } } }
    [lan]
    rate = "100 Mbit/s"
    [[flow]]
    name = "bulk"
    direction = "down"
    stop = "12 s"
    [[flow]]
    name = "pages"
    direction = "down"
    count = 3
    start_jitter = "1 s"
    app = { size = "60 kB", repeat = "forever", pause = "100 ms" }
    [[flow]]
    name = "video"
    direction = "down"
    app = { on = "1 s", off = "1 s" }
    [[flow]]
    name = "call"
    direction = "up"
    app = { kind = "udp", rate = "80 kbit/s", size = "200 B" }
    [record]
    interval = "100 ms"
"#;
