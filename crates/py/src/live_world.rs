//! Executes runs with real hosts. The network path runs on a Rust thread. Python starts the agent, the process that
//! provides the hosts.

use crate::captures::{Captures, Points};
use crate::error::Failure;
use crate::scenario::Scenario;
use crate::tables;
use crate::traces::{self, Observed, Seen};
use lopsided_live::world::{Carried, Device, End, Talk, Trip, WorldError, carry};
use lopsided_sim::RunOptions;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

type Outcome = Result<(Carried, Vec<Seen>), Failure>;

/// A network path that waits for its agent, and then forwards packets until the end of the scenario.
#[pyclass(frozen, module = "lopsided._native")]
pub(crate) struct LivePath {
    scenario: Arc<lopsided_scenario::Scenario>,
    talk: Mutex<Option<Talk>>,
    seed: u64,
    devices: Vec<Device>,
    passages: Vec<usize>,
    capture: Option<Points>,
    thread: Mutex<Option<JoinHandle<Outcome>>>,
}

#[pymethods]
impl LivePath {
    /// For each network device, `devices` contains the index of its host, and the ends of flows behind it as pairs
    /// `(flow, True if this end sends)`. `passages` contains the simulated hosts whose packets pass through a kernel
    /// before they enter the path.
    #[new]
    #[pyo3(signature = (scenario, seed, devices, passages, capture = None))]
    #[allow(clippy::type_complexity)]
    fn new(
        scenario: &Scenario,
        seed: u64,
        devices: Vec<(usize, Vec<(u32, bool)>)>,
        passages: Vec<usize>,
        capture: Option<(PathBuf, bool, bool)>,
    ) -> PyResult<LivePath> {
        let end = |(flow, sends)| End { flow, sends };
        let device = |(host, ends): (usize, Vec<_>)| Device { host, ends: ends.into_iter().map(end).collect() };
        Ok(LivePath {
            scenario: Arc::clone(&scenario.resolved),
            talk: Mutex::new(Some(Talk::new().map_err(|error| Failure::Live(error.to_string()))?)),
            seed,
            devices: devices.into_iter().map(device).collect(),
            passages,
            capture: capture.map(|(folder, hosts, links)| Points { folder, hosts, links }),
            thread: Mutex::new(None),
        })
    }

    /// Returns the file descriptor of the channel between path and agent. The agent inherits the descriptor.
    fn descriptor(&self) -> Option<i32> {
        locked(&self.talk).as_ref().and_then(Talk::agents_end)
    }

    /// Starts the thread of the path. Call this after the agent has started.
    fn begin(&self) {
        if let Some(mut talk) = locked(&self.talk).take() {
            // Close this process's copy of the agent's end. Otherwise the path could not detect that the agent has
            // exited.
            talk.agent_started();
            let (scenario, seed, devices) = (Arc::clone(&self.scenario), self.seed, self.devices.clone());
            let (passages, capture) = (self.passages.clone(), self.capture.clone());
            let work = move || run(&scenario, seed, &devices, &passages, capture.as_ref(), &talk);
            *locked(&self.thread) = Some(std::thread::spawn(work));
        }
    }

    /// Waits for the end of the run. Returns the tables of the run, the RTTs of the kernel's flows, and a dictionary of
    /// counts. Returns `None` if the agent ended early.
    #[allow(clippy::type_complexity)]
    fn finish<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyDict>, Bound<'py, PyBytes>, Bound<'py, PyDict>)>> {
        drop(locked(&self.talk).take());
        let Some(thread) = locked(&self.thread).take() else { return Ok(None) };
        let bug = || Failure::Bug("the thread of the path panicked".to_owned());
        let outcome = py.detach(|| thread.join()).map_err(|_| bug())?;
        let (carried, seen) = match outcome {
            // The agent reports its own error, which is more specific.
            Err(Failure::AgentGone) => return Ok(None),
            other => other?,
        };
        let found = tables::to_python(py, &carried.result, &traces::of_run(&self.scenario, &seen))?;
        let octets: Vec<u8> = carried.trips.iter().flat_map(words).collect();
        Ok(Some((found, PyBytes::new(py, &octets), facts(py, &carried)?)))
    }
}

fn run(
    scenario: &lopsided_scenario::Scenario,
    seed: u64,
    devices: &[Device],
    passages: &[usize],
    capture: Option<&Points>,
    talk: &Talk,
) -> Outcome {
    let captures = capture.map(|points| Captures::open(scenario, points)).transpose()?;
    let observed = Observed::of(scenario);
    let mut observers = captures.as_ref().map(Captures::observers).unwrap_or_default();
    observers.extend(observed.as_ref().map(Observed::observer));
    let options = RunOptions { observers, ..RunOptions::default() };
    let carried = carry(scenario, seed, options, devices, passages, talk).map_err(failure)?;
    captures.as_ref().map_or(Ok(()), Captures::finish)?;
    Ok((carried, observed.map(|observed| observed.seen(scenario)).unwrap_or_default()))
}

fn failure(error: WorldError) -> Failure {
    match error {
        WorldError::AgentGone => Failure::AgentGone,
        WorldError::Build(error) => Failure::Usage(error.to_string()),
        WorldError::Run(error) => Failure::Run(error),
        error => Failure::Live(error.to_string()),
    }
}

fn words(trip: &Trip) -> impl Iterator<Item = u8> {
    let Trip { flow, at_ns, took_ns } = *trip;
    [u64::from(flow), at_ns, took_ns].into_iter().flat_map(u64::to_ne_bytes)
}

fn facts<'py>(py: Python<'py>, carried: &Carried) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    let pumped = &carried.pumped;
    for (name, share) in [("late_p50_us", 0.5), ("late_p99_us", 0.99), ("late_max_us", 1.0)] {
        facts.set_item(name, pumped.lateness.quantile(share).map(|late| late.as_secs_f64() * 1e6))?;
    }
    facts.set_item("received_packets", pumped.received)?;
    facts.set_item("sent_packets", pumped.sent)?;
    facts.set_item("malformed_packets", pumped.malformed)?;
    facts.set_item("refused_packets", carried.refused)?;
    Ok(facts)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
