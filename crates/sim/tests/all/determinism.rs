//! The same scenario and seed produce the same result, regardless of slices, threads and observers.

use crate::{BUSY, TWO_WAY, run, run_seed, scenario};
use lopsided_core::{Duration, Event, EventMask, NodeId, Observer, Time};
use lopsided_sim::{Advanced, Job, Monitor, Run, RunControllers, RunOptions, RunResult, run_many};
use proptest::prelude::*;
use std::sync::Arc;

/// Returns a complete result as text. Text can be compared even if it contains NaN.
fn text(result: &RunResult) -> String {
    format!("{result:?}")
}

#[test]
fn the_same_seed_gives_the_same_result() {
    for scenario in [TWO_WAY, BUSY] {
        assert_eq!(text(&run(scenario)), text(&run(scenario)));
    }
}

#[test]
fn different_seeds_give_different_results() {
    for scenario in [TWO_WAY, BUSY] {
        assert_ne!(run_seed(scenario, 1).digest, run_seed(scenario, 2).digest);
    }
}

#[test]
fn results_and_their_order_do_not_depend_on_the_number_of_workers() {
    let (two_way, busy) = (scenario(TWO_WAY), scenario(BUSY));
    let jobs: Vec<Job<'_>> =
        (0..6).map(|k| Job { scenario: if k % 2 == 0 { &two_way } else { &busy }, seed: k / 2 }).collect();
    let on = |workers: usize| -> Vec<String> {
        let monitor = Monitor::default();
        let results = run_many(&jobs, workers, &RunControllers::default(), &monitor);
        assert!((monitor.fraction() - 1.0).abs() < 1e-9, "{}", monitor.fraction());
        results.into_iter().map(|result| text(&result.expect("it runs"))).collect()
    };
    let serial = on(1);
    let alone: Vec<String> = jobs.iter().map(|job| text(&run_job(job))).collect();
    assert_eq!(serial, alone);
    for workers in [2, 5] {
        assert_eq!(serial, on(workers), "{workers} workers");
    }
}

fn run_job(job: &Job<'_>) -> RunResult {
    lopsided_sim::run(job.scenario, job.seed, RunOptions::default(), &Monitor::default()).expect("it runs")
}

/// Runs a scenario in slices. A slice ends after a time or a number of events.
fn in_slices(text: &str, cores: usize, slices: &[(u64, u64)]) -> RunResult {
    let (scenario, monitor) = (Arc::new(scenario(text)), Monitor::default());
    // Hosts cannot advance independently if a queue on their path is audited.
    let options = RunOptions { cores, cores_from_events: 1.0, audit_queues: false, ..RunOptions::default() };
    let mut run = Run::new(Arc::clone(&scenario), scenario.seed, options).expect("the scenario is valid");
    for (span, budget) in slices.iter().cycle() {
        let until = run.now() + Duration::from_nanos(*span);
        let before = run.events();
        let advanced = run.advance(until, *budget, &monitor).expect("it runs");
        // On several cores the budget is checked only after each time window of the parallel engine.
        assert!(cores > 1 || run.events() - before <= *budget, "{} events for {budget}", run.events() - before);
        let recorded = run.recorded().samples.time_s.last().copied().unwrap_or(0.0);
        // No sample has a time in the future.
        assert!(recorded <= run.now().as_secs_f64());
        match advanced {
            Advanced::Reached => assert_eq!(run.now(), until),
            Advanced::Paused => assert!(run.now() <= until),
            Advanced::Ended => break,
        }
    }
    assert_eq!(run.now(), run.end());
    assert_eq!(run.advance(Time::ZERO, 1, &monitor), Ok(Advanced::Ended), "an ended run stays ended");
    run.finish(&monitor).expect("the run ends")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_run_in_slices_gives_the_result_of_an_uninterrupted_run(
        slices in prop::collection::vec((1_000_000..3_000_000_000u64, 1..50_000u64), 1..6),
        changes in any::<bool>(),
    ) {
        for text in [TWO_WAY, BUSY] {
            // Remove the scenario's own [record], which the text below replaces.
            let recorded = text.split("[record]").next().unwrap_or(text);
            let text = format!("{recorded}[record]\ninterval = \"70 ms\"\non_change = {changes}\n");
            let whole = in_slices(&text, 1, &[(1 << 50, u64::MAX)]);
            prop_assert_eq!(super::determinism::text(&in_slices(&text, 1, &slices)), super::determinism::text(&whole));
        }
    }

    #[test]
    fn a_run_in_slices_with_lookahead_or_several_cores_gives_the_same_result(
        slices in prop::collection::vec((10_000_000..700_000_000u64, 1_000..200_000u64), 1..6),
    ) {
        let whole = run(FAST).digest;
        for cores in [1, 2] {
            prop_assert_eq!(in_slices(FAST, cores, &slices).digest, whole);
        }
    }
}

/// Downloads, an upload, web pages and a call over a fast line: many events happen within one propagation delay.
const FAST: &str = r#"
    [scenario]
    duration = "1500 ms"
    [link]
    rtt = "40 ms"
    down = { rate = "200 Mbit/s", queue = "300 packets" }
    up = { rate = "100 Mbit/s", queue = "200 packets" }
    [lan]
    rate = "1 Gbit/s"
    delay = "0.1 ms"
    [[flow]]
    name = "download"
    direction = "down"
    count = 3
    [[flow]]
    name = "upload"
    direction = "up"
    cc = "bbr"
    start = "200 ms"
    [[flow]]
    name = "pages"
    direction = "down"
    app = { kind = "transfer", size = "30 kB", pause = "20 ms" }
    [[flow]]
    name = "call"
    direction = "up"
    app = { kind = "udp", rate = "2 Mbit/s", size = "200 B" }
    [record]
    interval = "130 ms"
"#;

/// An observer of all packets.
struct Watcher;

impl Observer for Watcher {
    fn mask(&self) -> EventMask {
        EventMask::PACKETS
    }

    fn record(&mut self, _at: Time, _node: NodeId, _event: &Event<'_>) {}
}

#[test]
fn lookahead_gives_the_tables_of_a_run_in_global_event_order() {
    let with = |observers: Vec<Box<dyn Observer>>| {
        let options = RunOptions { observers, audit_queues: false, ..RunOptions::default() };
        let mut result = lopsided_sim::run(&scenario(FAST), 1, options, &Monitor::default()).expect("it runs");
        // Event counts are not compared, because they depend on the order in which hosts advance.
        result.events = 0;
        text(&result)
    };
    // With an observer, all events are handled in one global order, and each packet that enters a link is a separate
    // event.
    assert_eq!(with(Vec::new()), with(vec![Box::new(Watcher)]));
}

#[test]
fn results_do_not_depend_on_the_number_of_cores() {
    let on = |cores: usize, record: &str| {
        let scenario = scenario(&FAST.replace("interval = \"130 ms\"", record));
        // Hosts cannot advance independently if a queue on their path is audited.
        let options = RunOptions { cores, cores_from_events: 200.0, audit_queues: false, ..RunOptions::default() };
        let mut result = lopsided_sim::run(&scenario, 1, options, &Monitor::default()).expect("it runs");
        let used = result.cores.take();
        (text(&result), used)
    };
    for record in ["interval = \"130 ms\"", "interval = \"0 s\""] {
        let (alone, unasked) = on(1, record);
        assert_eq!(unasked, None);
        for cores in [2, 3] {
            let (result, used) = on(cores, record);
            let used = used.expect("several cores were requested");
            assert!((2..=cores).contains(&used.cores) && used.share > 0.5, "{used:?}");
            assert!(used.why.contains("20.2 ms"), "{used:?}");
            assert_eq!(result, alone, "{cores} cores");
        }
    }
    let (_, used) = on(2, "on_change = true");
    assert_eq!(
        used.map(|used| (used.cores, used.why)).unwrap().1,
        "samples at every change require one global order of events"
    );
}

#[test]
fn a_slow_line_uses_only_one_core() {
    let options = RunOptions { cores: 2, audit_queues: false, ..RunOptions::default() };
    let result = lopsided_sim::run(&scenario(TWO_WAY), 1, options, &Monitor::default()).expect("it runs");
    let used = result.cores.expect("several cores were requested");
    assert_eq!((used.cores, used.share), (1, 0.0), "{used:?}");
    assert_eq!(result.digest, run(TWO_WAY).digest);
}

#[test]
fn recording_does_not_change_the_result() {
    let plain = run(TWO_WAY);
    for record in
        ["interval = \"10 ms\"", "on_change = true", "interval = \"33 ms\"\non_change = true", "events = true"]
    {
        let watched = run(&format!("{TWO_WAY}\n[record]\n{record}"));
        assert_eq!(plain.digest, watched.digest, "{record}");
        assert_eq!(plain.flows.cwnd_mean_bytes, watched.flows.cwnd_mean_bytes, "{record}");
        // The terms of a floating-point sum are grouped differently, so allow for rounding.
        for (before, after) in plain.flows.rtt_mean_ms.iter().zip(&watched.flows.rtt_mean_ms) {
            assert!((before / after - 1.0).abs() < 1e-12, "{record}");
        }
        assert_eq!(plain.events, watched.events, "{record}");
    }
}
