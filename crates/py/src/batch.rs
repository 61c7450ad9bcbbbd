//! Executes runs on separate threads. Python waits for each result in short intervals, and handles signals in between.

use crate::captures::Points;
use crate::controller::CustomController;
use crate::error::Failure;
use crate::queue;
use crate::scenario::Scenario;
use crate::steps::Prepared;
use crate::tables;
use crate::traces::{self, Seen};
use lopsided_sim::{Monitor, RunResult};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Runs in progress. Results arrive in the order in which the runs finish. If the batch is dropped, the remaining runs
/// stop.
#[pyclass(frozen, module = "lopsided._native")]
pub(crate) struct Batch {
    work: Arc<Work>,
    /// The channel is bounded, so that workers pause if Python does not take results quickly enough.
    done: Mutex<Receiver<(usize, Outcome)>>,
    /// True if runs call Python code.
    calls_python: bool,
}

struct Work {
    jobs: Vec<Job>,
    next: AtomicUsize,
    monitors: Vec<Arc<Monitor>>,
    /// Threads that may be executing user code, by Python's thread identifiers.
    within_python: Mutex<Vec<u64>>,
}

struct Job {
    scenario: Arc<lopsided_scenario::Scenario>,
    seed: u64,
    own: Arc<Vec<CustomController>>,
    capture: Option<Points>,
    cores: usize,
}

/// Maximum time to wait for user code after all other work has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

type Outcome = Result<(RunResult, Vec<Seen>), Failure>;

#[pymethods]
impl Batch {
    /// Starts the jobs, each a pair `(scenario, seed)`, on `workers` threads. `capture` contains a folder and the
    /// points of capture for all jobs. Each run may use up to `cores` cores. More than one core is permitted only if no
    /// run calls Python code, because the additional threads are not attached to the Python interpreter.
    #[new]
    #[pyo3(signature = (jobs, workers, capture = None, cores = 1))]
    fn new(
        jobs: Vec<(Py<Scenario>, u64)>,
        workers: usize,
        capture: Option<(PathBuf, bool, bool)>,
        cores: usize,
    ) -> Batch {
        let capture = capture.map(|(folder, hosts, links)| Points { folder, hosts, links });
        let jobs: Vec<Job> = jobs
            .into_iter()
            .map(|(scenario, seed)| Job {
                scenario: Arc::clone(&scenario.get().resolved),
                seed,
                own: Arc::clone(&scenario.get().own),
                capture: capture.clone(),
                cores,
            })
            .collect();
        // More threads than jobs would be idle.
        let workers = workers.clamp(1, jobs.len().max(1));
        let monitors = jobs.iter().map(|_| Arc::default()).collect();
        let calls_python = queue::any_registered() || jobs.iter().any(|job| !job.own.is_empty());
        let work = Arc::new(Work { jobs, next: AtomicUsize::new(0), monitors, within_python: Mutex::default() });
        // If the channel is full, the workers wait until Python takes results.
        let (sender, receiver) = sync_channel(workers);
        for _ in 0..workers {
            let (work, sender) = (Arc::clone(&work), sender.clone());
            std::thread::spawn(move || {
                if calls_python {
                    // Attach the thread to the interpreter once, because each later call into Python then takes much
                    // less time.
                    Python::attach(|py| {
                        let ident = python_ident(py);
                        work.within_python().extend(ident);
                        py.detach(|| work.carry_out(&sender));
                        work.within_python().retain(|other| Some(*other) != ident);
                    });
                } else {
                    work.carry_out(&sender);
                }
            });
        }
        Batch { work, done: Mutex::new(receiver), calls_python }
    }

    /// Waits up to `seconds` for the next finished run. Returns `(number of the job, its results)`, or `None` on a
    /// timeout.
    fn wait<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<(usize, Bound<'py, PyAny>)>> {
        let timeout = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        // Release the interpreter while waiting, so that signal handlers and other threads can run.
        let received = py.detach(|| self.done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(timeout));
        match received {
            Ok((number, Ok((result, seen)))) => {
                let traces = traces::of_run(&self.work.jobs[number].scenario, &seen);
                Ok(Some((number, tables::to_python(py, &result, &traces)?.into_any())))
            }
            Ok((_, Err(failure))) => Err(failure.into()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::Bug("no run is left to wait for".to_owned()).into()),
        }
    }

    /// Stops the runs. Returns true if all threads end within `seconds`.
    fn stop(&self, py: Python<'_>, seconds: f64) -> bool {
        self.cancel();
        let until = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        py.detach(|| self.drain(until))
    }

    /// Returns the threads that may be executing user code, by the identifiers of `threading.get_ident`.
    fn within_python(&self) -> Vec<u64> {
        self.work.within_python().clone()
    }

    /// Returns the completed share of all work, from 0 to 1.
    fn fraction(&self) -> f64 {
        let jobs = self.work.jobs.len().max(1) as f64;
        self.work.monitors.iter().map(|monitor| monitor.fraction()).sum::<f64>() / jobs
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.cancel();
        if self.calls_python {
            // During the interpreter's shutdown, a thread that enters the interpreter would crash the process.
            Python::try_attach(|py| py.detach(|| self.drain(DRAIN_TIMEOUT)));
        }
    }
}

impl Batch {
    fn cancel(&self) {
        // Mark all jobs as taken, so that the workers end after their current run.
        self.work.next.store(self.work.jobs.len(), Ordering::Relaxed);
        self.work.monitors.iter().for_each(|monitor| monitor.cancel());
    }

    /// Waits until the threads have ended. Returns false if user code keeps a thread busy for longer than `timeout`.
    fn drain(&self, timeout: Duration) -> bool {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match done.recv_timeout(timeout) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }
}

/// Returns Python's identifier of this thread.
fn python_ident(py: Python<'_>) -> Option<u64> {
    py.import("threading").and_then(|module| module.call_method0("get_ident")?.extract()).ok()
}

impl Work {
    fn within_python(&self) -> MutexGuard<'_, Vec<u64>> {
        self.within_python.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_out(&self, done: &SyncSender<(usize, Outcome)>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { return };
            // A panic must end only this run. It is reported to Python as an error.
            let outcome = catch_unwind(AssertUnwindSafe(|| run(job, &self.monitors[number])))
                .unwrap_or_else(|panic| Err(Failure::Bug(panic_message(&*panic))));
            if done.send((number, outcome)).is_err() {
                return; // The batch was dropped.
            }
        }
    }
}

fn run(job: &Job, monitor: &Arc<Monitor>) -> Outcome {
    Prepared::open(&job.scenario, &job.own, job.seed, job.capture.as_ref(), job.cores, monitor)?.finish()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
