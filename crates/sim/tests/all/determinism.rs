//! The same scenario and seed give the same run, whatever else goes on.

use crate::{BUSY, TWO_WAY, run, run_seed, scenario};
use lopsided_sim::{Controllers, Job, Monitor, RunOptions, RunResult, run_many};

/// Everything in a result, NaN and all.
fn text(result: &RunResult) -> String {
    format!("{result:?}")
}

#[test]
fn twice_the_same() {
    for scenario in [TWO_WAY, BUSY] {
        assert_eq!(text(&run(scenario)), text(&run(scenario)));
    }
}

#[test]
fn seeds_differ() {
    for scenario in [TWO_WAY, BUSY] {
        assert_ne!(run_seed(scenario, 1).digest, run_seed(scenario, 2).digest);
    }
}

#[test]
fn any_number_of_workers_gives_the_same_in_the_same_order() {
    let (two_way, busy) = (scenario(TWO_WAY), scenario(BUSY));
    let jobs: Vec<Job<'_>> =
        (0..6).map(|k| Job { scenario: if k % 2 == 0 { &two_way } else { &busy }, seed: k / 2 }).collect();
    let on = |workers: usize| -> Vec<String> {
        let monitor = Monitor::default();
        let results = run_many(&jobs, workers, &Controllers::default(), &monitor);
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

#[test]
fn watching_changes_nothing() {
    let plain = run(TWO_WAY);
    for record in
        ["interval = \"10 ms\"", "on_change = true", "interval = \"33 ms\"\non_change = true", "events = true"]
    {
        let watched = run(&format!("{TWO_WAY}\n[record]\n{record}"));
        assert_eq!(plain.digest, watched.digest, "{record}");
        assert_eq!(plain.flows.cwnd_mean_bytes, watched.flows.cwnd_mean_bytes, "{record}");
        // Sums of floats depend on where they were cut.
        for (before, after) in plain.flows.rtt_mean_ms.iter().zip(&watched.flows.rtt_mean_ms) {
            assert!((before / after - 1.0).abs() < 1e-12, "{record}");
        }
        assert_eq!(plain.events, watched.events, "{record}");
    }
}
