//! Sensing packets (delay probes) in whole runs: with a reflector at different places, and without a reflector. Also
//! checks the load that they add.

use crate::run;
use lopsided_core::DropReason;
use lopsided_sim::RunResult;

const DISPLACED: &str = include_str!("../../../../scenarios/displacement.toml");

fn line(queue: &str) -> String {
    format!(
        r#"
        [scenario]
        duration = "20 s"
        [link]
        rtt = "40 ms"
        down = {{ rate = "20 Mbit/s", queue = {queue} }}
        up = {{ rate = "5 Mbit/s", queue = {queue} }}
        [[flow]]
        direction = "down"
        [[flow]]
        direction = "up"
    "#
    )
}

/// Returns the last value of a quantity for one direction of a node.
fn last(result: &RunResult, node: &str, direction: &str, quantity: &str) -> f64 {
    let parts = &result.parts;
    let is_it = |&row: &usize| {
        &*parts.node[row] == node && &*parts.quantity[row] == quantity && parts.direction[row] == direction
    };
    let row = (0..parts.value.len()).rev().find(is_it);
    parts.value[row.unwrap_or_else(|| panic!("there is no {quantity} of {node} {direction}"))]
}

#[test]
fn each_direction_senses_its_own_link_by_default() {
    let banded = r#"{ kind = "prio", bands = [{ kind = "fifo" }, { kind = "asqm" }] }"#;
    for queue in [r#"{ kind = "asqm" }"#, r#"{ kind = "bdp" }"#, banded] {
        let result = run(&line(queue));
        assert!(result.conservation.holds(), "{queue}: {}", result.conservation);
        for direction in ["down", "up"] {
            let [sent, returned] = ["sensing_sent_packets", "sensing_returned_packets"]
                .map(|quantity| last(&result, "link", direction, quantity));
            assert!(
                sent > 1000.0 && returned > 0.9 * sent,
                "{queue} {direction}: {returned} of {sent} sensing packets returned"
            );
        }
    }
}

/// Havey 2015, section 5.4.2: the standing queue is below the IP layer, where CoDel cannot measure it.
#[test]
fn asqm_shortens_a_queue_that_codel_cannot_measure() {
    let asqm = run(DISPLACED);
    let codel = run(&DISPLACED.replace(r#"{ kind = "asqm", far_end = "stage" }"#, r#"{ kind = "codel" }"#));
    let mean = |result: &RunResult| result.flows.rtt_mean_ms.iter().sum::<f64>() / 3.0;
    assert!(mean(&asqm) < 150.0 && mean(&codel) > 500.0, "{} and {} ms", mean(&asqm), mean(&codel));
    assert!(asqm.conservation.holds());
    let sum = |result: &RunResult| result.flows.goodput_bps.iter().sum::<f64>();
    assert!(sum(&asqm) > 0.98 * sum(&codel), "{} and {} bit/s", sum(&asqm), sum(&codel));
}

#[test]
fn sensing_packets_take_less_than_half_a_percent() {
    let result = run(DISPLACED);
    let sensed: f64 =
        (1..=3).map(|modem| 28.0 * last(&result, &format!("modem{modem}"), "down", "sensing_sent_packets")).sum();
    let goodput: f64 = result.flows.goodput_bps.iter().sum();
    let share = sensed * 8.0 / (goodput * 30.0);
    assert!((0.0040..0.0050).contains(&share), "sensing packets are {share} of the delivered data");
}

/// Without a reflector, sensing packets reach the flow's receiver, which does not support them.
#[test]
fn without_a_reflector_a_sensing_queue_acts_like_drop_tail() {
    let lost = run(&line(r#"{ kind = "asqm", far_end = "stage" }"#));
    let plain = run(&line(r#"{ kind = "fifo", limit = "1000 packets" }"#));
    assert!(lost.conservation.holds());
    assert!(lost.drops.reason.iter().any(|reason| *reason == DropReason::NoSocket.name()));
    assert!(lost.drops.reason.iter().all(|reason| *reason != DropReason::Early.name()));
    let share = lost.flows.goodput_bps[0] / plain.flows.goodput_bps[0];
    assert!((0.9..1.1).contains(&share), "goodput is {share} times that with a drop-tail queue");
}

#[test]
fn a_line_that_loses_sensing_packets_can_still_be_sensed() {
    let result = run(&line(r#"{ kind = "asqm" }"#).replace("rtt = \"40 ms\"", "rtt = \"40 ms\"\nloss = \"5 %\""));
    assert!(result.conservation.holds());
    let [sent, returned] =
        ["sensing_sent_packets", "sensing_returned_packets"].map(|q| last(&result, "link", "down", q));
    assert!(returned > 0.8 * sent && returned < sent, "{returned} of {sent}");
}

#[test]
fn a_medium_cannot_be_sensed() {
    let radio = include_str!("../../../../scenarios/polled-radio.toml");
    let scenario = crate::scenario(&radio.replace("queue = \"30 packets\"", "queue = { kind = \"asqm\" }"));
    let options = lopsided_sim::RunOptions::default();
    let error = lopsided_sim::run(&scenario, 1, options, &lopsided_sim::Monitor::default()).unwrap_err().to_string();
    assert!(error.contains("no far end"), "{error}");
}
