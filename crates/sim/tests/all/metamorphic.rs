//! Each test changes a scenario in a way whose effect on the result is known exactly.

use crate::{cell, run, scenario};
use lopsided_core::Duration;
use lopsided_scenario::Scenario;
use lopsided_sim::{FlowTable, Monitor, RunOptions, RunResult};

fn outcome(scenario: &Scenario) -> RunResult {
    lopsided_sim::run(scenario, 1, RunOptions::default(), &Monitor::default()).expect("it runs")
}

/// Returns the columns of a flow that contain no absolute times, as text.
fn conduct(flows: &FlowTable, flow: usize) -> String {
    let columns = flows
        .columns()
        .into_iter()
        .filter(|(name, _)| !["flow", "start_s", "stop_s", "direction", "from", "to"].contains(name));
    columns.map(|(name, column)| format!("{name}={} ", cell(&column, flow))).collect()
}

const DOWNLOADS: &str = r#"
    [scenario]
    duration = "30 s"
    [link]
    rtt = "50 ms"
    down = { rate = "4 Mbit/s", queue = "25 packets" }
    up = { rate = "500 kbit/s", queue = "15 packets" }
    [[flow]]
    name = "a"
    direction = "down"
    stop = "28 s"
    [[flow]]
    name = "b"
    direction = "up"
    start = "3 s"
    stop = "25 s"
"#;

#[test]
fn a_later_start_shifts_the_run_without_other_changes() {
    let now = scenario(DOWNLOADS);
    // The shift is a multiple of all time constants: Linux's tick (4 ms), the coarsest step of its timer wheel (256
    // ms), and the interval of the sums (100 ms).
    let shift = Duration::from_millis(51_200);
    let mut later = now.clone();
    later.duration += shift;
    for flow in &mut later.flows {
        flow.start += shift;
        flow.stop += shift;
    }
    let (now, later) = (outcome(&now), outcome(&later));
    for flow in 0..2 {
        assert_eq!(conduct(&now.flows, flow), conduct(&later.flows, flow));
    }
    assert_eq!(now.conservation, later.conservation);
}

#[test]
fn an_idle_node_changes_nothing() {
    let alone = scenario(DOWNLOADS);
    let mut joined = alone.clone();
    joined.graph.hosts.insert(0, "idle".to_owned());
    for link in &mut joined.graph.links {
        for end in [&mut link.from, &mut link.to] {
            if let lopsided_scenario::NodeRef::Host(host) = end {
                *host += 1;
            }
        }
    }
    for flow in &mut joined.flows {
        flow.from += 1;
        flow.to += 1;
    }
    let (alone, joined) = (outcome(&alone), outcome(&joined));
    for flow in 0..2 {
        assert_eq!(conduct(&alone.flows, flow), conduct(&joined.flows, flow));
    }
    assert_eq!(format!("{:?}", alone.links), format!("{:?}", joined.links));
}

#[test]
fn a_mirrored_line_gives_a_mirrored_result() {
    let mirrored = DOWNLOADS.replace("down", "DOWN").replace("up", "down").replace("DOWN", "up");
    let (here, there) = (run(DOWNLOADS), run(&mirrored));
    for flow in 0..2 {
        assert_eq!(conduct(&here.flows, flow), conduct(&there.flows, flow));
    }
    let backlogs = |result: &RunResult| result.links.mean_backlog_packets.clone();
    assert_eq!(backlogs(&here), backlogs(&there).into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn doubled_rates_and_halved_times_double_the_goodput() {
    // No part of this scenario has a fixed time constant, and all durations are even numbers of nanoseconds.
    let line = |rate: u32, unit: u32| {
        let text = format!(
            r#"
            [scenario]
            duration = "{d} ms"
            [link]
            delay = "{delay} us"
            down = {{ rate = "{down} kbit/s", queue = "7 packets" }}
            up = {{ rate = "{up} kbit/s", queue = "5 packets" }}
            [[flow]]
            name = "much"
            direction = "down"
            app = {{ kind = "udp", rate = "{much} kbit/s", size = "1000 B" }}
            stop = "{stop} ms"
            [[flow]]
            name = "little"
            direction = "down"
            app = {{ kind = "udp", rate = "{little} kbit/s", size = "100 B" }}
            [[flow]]
            name = "back"
            direction = "up"
            app = {{ kind = "udp", rate = "{back} kbit/s", size = "500 B" }}
            "#,
            d = 2_000 * unit,
            stop = 1_500 * unit,
            delay = 10_000 * unit,
            down = 1_000 * rate,
            up = 160 * rate,
            much = 1_100 * rate,
            little = 64 * rate,
            back = 200 * rate,
        );
        run(&text)
    };
    let (slow, fast) = (line(1, 2), line(2, 1));
    assert_eq!(slow.conservation, fast.conservation);
    assert!(slow.conservation.dropped.packets > 0, "the queue must overflow in this test");
    for flow in 0..3 {
        assert_eq!(slow.flows.delivered_bytes[flow], fast.flows.delivered_bytes[flow]);
        assert!((slow.flows.goodput_bps[flow] * 2.0 / fast.flows.goodput_bps[flow] - 1.0).abs() < 1e-12);
        assert!((slow.flows.rtt_mean_ms[flow] / 2.0 / fast.flows.rtt_mean_ms[flow] - 1.0).abs() < 1e-6);
    }
}
