//! Scenarios created in code can contain errors that a file cannot contain. They must cause an error, never a panic.

use crate::{TWO_WAY, scenario};
use lopsided_core::{BitRate, Dir, Duration};
use lopsided_link::ShaperConfig;
use lopsided_queue::QueueConfig;
use lopsided_scenario::Scenario;
use lopsided_sim::{BuildError, Job, Monitor, RunControllers, RunError, RunOptions, RunResult, run_many};
use std::sync::Arc;

fn outcome(scenario: &Scenario) -> Result<RunResult, RunError> {
    lopsided_sim::run(scenario, 1, RunOptions::default(), &Monitor::default())
}

fn refused(change: impl FnOnce(&mut Scenario)) -> BuildError {
    let mut scenario = scenario(TWO_WAY);
    change(&mut scenario);
    match outcome(&scenario) {
        Err(RunError::Build(error)) => {
            assert!(!error.to_string().is_empty());
            error
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn invalid_scenarios_are_rejected() {
    let error = refused(|scenario| scenario.flows[0].from = 99);
    assert_eq!(error, BuildError::NoHost { flow: "download".to_owned() });
    let error = refused(|scenario| scenario.graph.links.clear());
    assert!(matches!(error, BuildError::NoPath { .. }), "{error}");
    let error = refused(|scenario| Arc::make_mut(&mut scenario.flows[1].to_stack).profile = "vms-4".to_owned());
    assert!(matches!(error, BuildError::UnknownProfile { .. }), "{error}");
    let error = refused(|scenario| Arc::make_mut(&mut scenario.flows[1].from_stack).cc = "hope".to_owned());
    assert!(matches!(error, BuildError::UnknownController { .. }), "{error}");
    let error = refused(|scenario| scenario.graph.links[0].dir_mut(Dir::Down).rate = Some(BitRate::from_bps(0)));
    assert!(matches!(error, BuildError::Link { .. }), "{error}");
    let error = refused(|scenario| {
        scenario.graph.links[0].dir_mut(Dir::Up).queue = QueueConfig::packets(0);
    });
    assert!(matches!(error, BuildError::Link { .. }), "{error}");
    let error = refused(|scenario| {
        let nothing = lopsided_core::Bytes::ZERO;
        scenario.graph.links[0].dir_mut(Dir::Up).shaper =
            Some(ShaperConfig { burst: nothing, interval: None, line_rate: None });
    });
    assert!(matches!(error, BuildError::Link { .. }), "{error}");
    let error = refused(|scenario| scenario.duration = Duration::MAX);
    assert!(matches!(error, BuildError::TooLong { .. }), "{error}");
}

#[test]
fn a_run_whose_clock_cannot_advance_is_reported_as_stuck() {
    let mut scenario = scenario(TWO_WAY);
    for link in &mut scenario.graph.links {
        for dir in Dir::BOTH {
            link.dir_mut(dir).rate = None;
            link.dir_mut(dir).delay = Duration::ZERO;
        }
    }
    let error = outcome(&scenario).expect_err("the clock cannot advance");
    assert!(matches!(error, RunError::Stuck { .. }), "{error}");
}

#[test]
fn a_cancelled_run_ends() {
    let monitor = Monitor::default();
    monitor.cancel();
    let scenario = scenario(TWO_WAY);
    let jobs = [Job { scenario: &scenario, seed: 1 }; 3];
    for result in run_many(&jobs, 2, &RunControllers::default(), &monitor) {
        assert_eq!(result.err(), Some(RunError::Cancelled));
    }
}

#[test]
fn a_run_without_flows_and_a_batch_without_jobs_succeed() {
    let mut idle = scenario(TWO_WAY);
    idle.flows.clear();
    let result = outcome(&idle).expect("it runs");
    assert_eq!((result.events, result.conservation.originated.packets), (0, 0));
    assert!(run_many(&[], 4, &RunControllers::default(), &Monitor::default()).is_empty());
}
