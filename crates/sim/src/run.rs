//! Runs scenarios: one, or many on several threads.

use crate::build::build;
use crate::cores::Cores;
use crate::error::{BuildError, RunError};
use crate::event_log::EventLog;
use crate::host::Host;
use crate::monitor::Monitor;
use crate::observe::Recorder;
use crate::options::{Passage, RunOptions};
use crate::results::RunResult;
use crate::simulation::Simulation;
use crate::tcp_log::TcpLog;
use lopsided_core::Time;
use lopsided_net::{Network, Progress};
use lopsided_scenario::Scenario;
use lopsided_tcp::RunControllers;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Events between two looks at the monitor: some milliseconds of work.
const SLICE: u64 = 1 << 16;
/// So many events without time moving on mean that it never will.
const STUCK: u64 = 1 << 20;

/// Runs the scenario once.
pub fn run(scenario: &Scenario, seed: u64, options: RunOptions, monitor: &Monitor) -> Result<RunResult, RunError> {
    monitor.expect(scenario.duration);
    Prepared::new(scenario, seed, options)?.finish(monitor)
}

/// A run about to begin: its world is built.
#[derive(Debug)]
pub struct Prepared<'a> {
    scenario: &'a Scenario,
    seed: u64,
    simulation: Simulation,
    observer: Recorder,
    cores: Option<Cores>,
}

impl<'a> Prepared<'a> {
    pub fn new(scenario: &'a Scenario, seed: u64, mut options: RunOptions) -> Result<Prepared<'a>, BuildError> {
        let log = EventLog::default();
        if scenario.record.events {
            options.observers.push(Box::new(log.clone()));
        }
        let tcp_log = TcpLog::default();
        if scenario.record.tcp_events {
            options.observers.push(Box::new(tcp_log.clone()));
        }
        let (cores, pays_from) = (options.cores, options.cores_from_events);
        let simulation = build(scenario, seed, options)?;
        let observer = Recorder::new(scenario, log, tcp_log);
        let cores = Cores::of(scenario, &simulation, cores, pays_from);
        Ok(Prepared { scenario, seed, simulation, observer, cores })
    }

    /// Where packets leave and come back, in the order of [`RunOptions::passages`].
    pub fn passages(&self) -> Vec<Passage> {
        self.simulation.passages.clone()
    }

    /// Runs on another's clock: `pump` is given the network and an instant, and must have brought it there when it
    /// returns, or, where it breaks off, to the instant at which the run ends early. Samples between two intervals
    /// ([record] on_change) are not taken.
    ///
    /// # Errors
    /// If the run cannot be accounted for.
    pub fn finish_on(
        mut self,
        mut pump: impl FnMut(&mut Network<Host>, Time) -> ControlFlow<()>,
    ) -> Result<RunResult, RunError> {
        let end = Time::ZERO + self.scenario.duration;
        loop {
            let next = self.observer.next().map_or(end, |next| next.min(end));
            let went_on = pump(&mut self.simulation.network, next);
            let now = self.simulation.network.now();
            assert!(went_on.is_break() || now == next, "the pump stopped early");
            self.observer.gather(&mut self.simulation);
            self.observer.observe(now, &mut self.simulation);
            if went_on.is_break() || next == end {
                return self.result(now);
            }
        }
    }

    /// Runs to the end in virtual time.
    pub fn finish(mut self, monitor: &Monitor) -> Result<RunResult, RunError> {
        let end = Time::ZERO + self.scenario.duration;
        loop {
            let next = self.observer.next().map_or(end, |next| next.min(end));
            self.simulation.network.promise_unseen(next);
            match &mut self.cores {
                None => run_until(next, &mut self.simulation, &mut self.observer, monitor)?,
                Some(cores) => run_on_cores(next, cores, &mut self.simulation, &mut self.observer, monitor)?,
            }
            self.observer.observe(next, &mut self.simulation);
            if next == end {
                return self.result(end);
            }
        }
    }

    fn result(self, end: Time) -> Result<RunResult, RunError> {
        let mut result = self.observer.finish(self.scenario, self.seed, end, self.simulation);
        result.cores = self.cores.map(Cores::used);
        let conservation = result.conservation;
        if conservation.holds() { Ok(result) } else { Err(RunError::Unbalanced { conservation }) }
    }
}

/// Lets the world go on to `until`, a slice at a time.
fn run_until(
    until: Time,
    simulation: &mut Simulation,
    observer: &mut Recorder,
    monitor: &Monitor,
) -> Result<(), RunError> {
    let mut stuck = 0;
    loop {
        let before = simulation.network.now();
        let handled = simulation.network.events();
        let progress = simulation.network.run(until, SLICE);
        let now = simulation.network.now();
        observer.gather(simulation);
        monitor.advance(now - before);
        if monitor.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if progress == Progress::Reached {
            return Ok(());
        }
        stuck = if now == before { stuck + simulation.network.events() - handled } else { 0 };
        if stuck >= STUCK {
            return Err(RunError::Stuck { at: now });
        }
    }
}

/// The same on several cores where that pays, a stretch at a time.
fn run_on_cores(
    until: Time,
    cores: &mut Cores,
    simulation: &mut Simulation,
    observer: &mut Recorder,
    monitor: &Monitor,
) -> Result<(), RunError> {
    while simulation.network.now() < until {
        let (before, handled) = (simulation.network.now(), simulation.network.events());
        let next = cores.stretch_from(before).min(until);
        match cores.run(simulation, next, STUCK, monitor) {
            Some(ended) => {
                ended?;
                observer.gather(simulation);
                monitor.advance(next - before);
            }
            None => run_until(next, simulation, observer, monitor)?,
        }
        cores.took(next - before, simulation.network.events() - handled);
    }
    Ok(())
}

/// One run of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    pub scenario: &'a Scenario,
    pub seed: u64,
}

/// Runs the jobs on `workers` threads; the results come in the order of the jobs and do not depend on the number of
/// workers.
pub fn run_many(
    jobs: &[Job<'_>],
    workers: usize,
    controllers: &RunControllers,
    monitor: &Monitor,
) -> Vec<Result<RunResult, RunError>> {
    for job in jobs {
        monitor.expect(job.scenario.duration);
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((place, job)) = take(jobs, &next) {
                    let options = RunOptions { controllers: controllers.clone(), ..RunOptions::default() };
                    let prepared = Prepared::new(job.scenario, job.seed, options);
                    let result = prepared.map_err(RunError::from).and_then(|prepared| prepared.finish(monitor));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, 'j>(jobs: &'a [Job<'j>], next: &AtomicUsize) -> Option<(usize, &'a Job<'j>)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(place).map(|job| (place, job))
}
