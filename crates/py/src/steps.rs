//! Executes one run with its observers and user code, either to the end or in steps.

use crate::captures::{Captures, Points};
use crate::columns::columns;
use crate::controller::{self, CustomController, RunAbort};
use crate::error::Failure;
use crate::queue;
use crate::scenario::Scenario;
use crate::tables;
use crate::traces::{self, Observed, Seen};
use lopsided_core::{Duration, Time};
use lopsided_sim::{Advanced, Monitor, Run, RunError, RunOptions, RunResult};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Number of events between two checks for signals. A run handles this number of events in about 0.1 s.
const SLICE: u64 = 1 << 18;

/// A run in progress, with its observers and capture files.
pub(crate) struct Prepared {
    scenario: Arc<lopsided_scenario::Scenario>,
    run: Run<Arc<lopsided_scenario::Scenario>>,
    monitor: Arc<Monitor>,
    abort: Arc<RunAbort>,
    observed: Option<Observed>,
    captures: Option<Captures>,
}

impl Prepared {
    /// Builds the scenario's network, at time zero. `own` contains the user's congestion controls. `capture` selects
    /// the capture files; `None`: no files.
    pub(crate) fn open(
        scenario: &Arc<lopsided_scenario::Scenario>,
        own: &[CustomController],
        seed: u64,
        capture: Option<&Points>,
        cores: usize,
        monitor: &Arc<Monitor>,
    ) -> Result<Prepared, Failure> {
        let captures = capture.map(|points| Captures::open(scenario, points)).transpose()?;
        let observed = Observed::of(scenario);
        let mut observers = captures.as_ref().map(Captures::observers).unwrap_or_default();
        observers.extend(observed.as_ref().map(Observed::observer));
        let abort = Arc::new(RunAbort::new(Arc::clone(monitor)));
        let controllers = controller::controllers(own, &abort).map_err(|taken| Failure::Usage(taken.to_string()))?;
        let options = RunOptions { observers, controllers, cores, ..RunOptions::default() };
        monitor.expect(scenario.duration);
        let run = queue::within_run(&abort, || Run::new(Arc::clone(scenario), seed, options));
        let run = run.map_err(|error| explained(&abort, error.into()))?;
        Ok(Prepared { scenario: Arc::clone(scenario), run, monitor: Arc::clone(monitor), abort, observed, captures })
    }

    /// Runs to the end.
    pub(crate) fn finish(self) -> Result<(RunResult, Vec<Seen>), Failure> {
        let Prepared { scenario, run, monitor, abort, observed, captures } = self;
        let result = run.finish(&monitor).map_err(|error| explained(&abort, error))?;
        captures.as_ref().map_or(Ok(()), Captures::finish)?;
        Ok((result, observed.map(|observed| observed.seen(&scenario)).unwrap_or_default()))
    }
}

/// If an exception in user code cancelled the run, returns this exception, because it is more specific than
/// "cancelled".
fn explained(abort: &RunAbort, error: RunError) -> Failure {
    abort.take().map_or(Failure::Run(error), |raised| Failure::Controller(Box::new(raised)))
}

/// A run that executes in the calling thread and advances in steps of virtual time. It cannot be continued after an
/// error.
#[pyclass(unsendable, module = "lopsided._native")]
pub(crate) struct Steps(Option<Prepared>);

#[pymethods]
impl Steps {
    /// Builds the network of the scenario, at time zero.
    #[new]
    fn new(scenario: &Scenario, seed: u64) -> PyResult<Steps> {
        Ok(Steps(Some(Prepared::open(&scenario.resolved, &scenario.own, seed, None, 1, &Arc::default())?)))
    }

    /// Runs until `until_s` seconds of virtual time. Returns true at the end of the run.
    fn advance(&mut self, py: Python<'_>, until_s: f64) -> PyResult<bool> {
        let until = Time::ZERO + Duration::from_nanos((until_s.clamp(0.0, 1e9) * 1e9).round() as u64);
        loop {
            let Prepared { run, monitor, abort, .. } = self.open()?;
            match run.advance(until, SLICE, monitor).map_err(|error| explained(abort, error)) {
                Ok(Advanced::Paused) => py.check_signals()?,
                Ok(advanced) => return Ok(advanced == Advanced::Ended),
                Err(failure) => {
                    self.0 = None;
                    return Err(failure.into());
                }
            }
        }
    }

    /// Virtual time that the run has reached, in seconds.
    #[getter]
    fn now_s(&mut self) -> PyResult<f64> {
        Ok(self.open()?.run.now().as_secs_f64())
    }

    /// Returns the tables `samples` and `queues` as recorded so far.
    fn recorded<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let recorded = self.open()?.run.recorded();
        let tables = PyDict::new(py);
        tables.set_item("samples", columns(py, &recorded.samples.columns())?)?;
        tables.set_item("queues", columns(py, &recorded.queues.columns())?)?;
        Ok(tables)
    }

    /// Runs to the end and returns the results, as [`crate::batch::Batch`] does.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.advance(py, f64::MAX)?;
        let prepared = self.0.take().ok_or_else(over)?;
        let scenario = Arc::clone(&prepared.scenario);
        let (result, seen) = prepared.finish()?;
        tables::to_python(py, &result, &traces::of_run(&scenario, &seen))
    }
}

impl Steps {
    fn open(&mut self) -> Result<&mut Prepared, Failure> {
        self.0.as_mut().ok_or_else(over)
    }
}

fn over() -> Failure {
    Failure::Usage("this run is over: start another one".to_owned())
}
