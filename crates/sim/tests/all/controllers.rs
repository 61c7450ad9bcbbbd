//! A run can use congestion controls that the caller of `run` provides.

use crate::{BUSY, run};
use lopsided_scenario::Scenario;
use lopsided_sim::{BuildError, Job, Monitor, RunControllers, RunError, RunOptions, run_many};
use lopsided_tcp::cc::{Reno, WindowController};

fn mine() -> RunControllers {
    let mut controllers = RunControllers::default();
    controllers
        .add("mine", |setup| Box::new(WindowController::new(setup, Reno::named("mine"))))
        .expect("the name is free");
    controllers
}

fn busy_with_mine() -> Scenario {
    let settings = [("stack.cc".to_owned(), "mine".to_owned())];
    Scenario::parse_with(BUSY, "test.toml", &settings, &mine().names()).expect("the scenario is valid")
}

#[test]
fn a_custom_reno_equals_the_built_in_reno() {
    let options = RunOptions { controllers: mine(), ..RunOptions::default() };
    let own = lopsided_sim::run(&busy_with_mine(), 1, options, &Monitor::default()).expect("it runs");
    assert_eq!(own.digest, run(BUSY).digest);
    assert_eq!(&*own.flows.cc[0], "mine");
}

#[test]
fn a_batch_of_runs_shares_custom_controllers() {
    let scenario = busy_with_mine();
    let jobs = [Job { scenario: &scenario, seed: 1 }; 2];
    for result in run_many(&jobs, 2, &mine(), &Monitor::default()) {
        assert_eq!(result.expect("it runs").digest, run(BUSY).digest);
    }
}

#[test]
fn a_run_without_a_named_custom_controller_is_rejected() {
    let outcome = lopsided_sim::run(&busy_with_mine(), 1, RunOptions::default(), &Monitor::default());
    let Err(RunError::Build(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error, BuildError::UnknownController { flow: "bulk".to_owned(), cc: "mine".to_owned() });
}

#[test]
fn a_controller_name_can_be_added_only_once() {
    for name in ["mine", "cubic"] {
        let error = mine().add(name, |setup| Box::new(WindowController::new(setup, Reno::named("other")))).unwrap_err();
        assert_eq!(error.name, name);
    }
}
