//! Runs scenarios: a single scenario, or several scenarios in parallel on several threads.

use crate::build::build;
use crate::cores::CoresUsed;
use crate::error::{BuildError, MOST_EVENTS, RunError};
use crate::event_log::EventLog;
use crate::host::Host;
use crate::monitor::Monitor;
use crate::observe::{Recorded, Recorder};
use crate::options::{Passage, RunOptions, Watched};
use crate::results::RunResult;
use crate::simulation::Simulation;
use crate::tcp_log::TcpLog;
use lopsided_core::{EventMask, NodeId, Time};
use lopsided_net::{Network, Progress};
use lopsided_scenario::Scenario;
use lopsided_tcp::RunControllers;
use std::convert::Infallible;
use std::ops::{ControlFlow, Deref};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of events between two checks for cancellation: a few milliseconds of work.
const SLICE: u64 = 1 << 16;
/// A run counts as stuck after this number of consecutive events at one instant.
const STUCK: u64 = 1 << 20;

/// Runs a scenario once.
///
/// # Errors
/// Returns an error if the scenario cannot be built, if `monitor` cancels the run, or if the run fails.
///
/// # Examples
///
/// ```
/// use lopsided_scenario::Scenario;
/// use lopsided_sim::{Monitor, RunOptions};
///
/// let text = r#"
///     [scenario]
///     duration = "2 s"
///     [link]
///     rtt = "20 ms"
///     down.rate = "2400 kbit/s"
///     up.rate = "196 kbit/s"
///     [[flow]]
///     direction = "down"
/// "#;
/// let scenario = Scenario::parse(text, "adsl.toml", &[]).unwrap();
/// let result = lopsided_sim::run(&scenario, 1, RunOptions::default(), &Monitor::default()).unwrap();
/// assert!(result.conservation.holds());
/// assert!(result.flows.goodput_bps[0] > 1e6);
/// ```
pub fn run(scenario: &Scenario, seed: u64, options: RunOptions, monitor: &Monitor) -> Result<RunResult, RunError> {
    monitor.expect(scenario.duration);
    Run::new(scenario, seed, options)?.finish(monitor)
}

/// A run in progress. `S` is a reference to the scenario: `&Scenario`, or `Arc<Scenario>` if the run must own the
/// scenario.
///
/// ```
/// use lopsided_core::{Duration, Time};
/// use lopsided_scenario::Scenario;
/// use lopsided_sim::{Advanced, Monitor, Run, RunOptions};
/// use std::sync::Arc;
///
/// let text = r#"
///     [scenario]
///     duration = "10 s"
///     [link]
///     rtt = "20 ms"
///     down.rate = "2400 kbit/s"
///     up.rate = "196 kbit/s"
///     [[flow]]
///     direction = "down"
///     [record]
///     interval = "100 ms"
/// "#;
/// let scenario = Arc::new(Scenario::parse(text, "adsl.toml", &[]).unwrap());
/// let monitor = Monitor::default();
/// let mut run = Run::new(scenario, 1, RunOptions::default()).unwrap();
/// let half = Time::ZERO + Duration::from_secs(5);
/// while run.advance(half, 1000, &monitor).unwrap() == Advanced::Paused {
///     // 1000 more events were handled: look at the series so far, or give up the run.
///     assert!(run.now() <= half);
/// }
/// assert_eq!(run.recorded().samples.time_s.len(), 50);
/// assert_eq!(run.finish(&monitor).unwrap().duration_s, 10.0);
/// ```
#[derive(Debug)]
pub struct Run<S> {
    scenario: S,
    seed: u64,
    simulation: Simulation,
    observer: Recorder,
    /// Maximum number of threads for this run.
    cores: usize,
    ended: bool,
    /// See [`RunOptions::watched`].
    watched: Option<Watched>,
}

/// The reason why [`Run::advance`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// The run has reached the requested time.
    Reached,
    /// The run has handled the requested number of events.
    Paused,
    /// The run has reached its end.
    Ended,
}

impl<S: Deref<Target = Scenario>> Run<S> {
    /// Builds the network of the scenario, at time zero.
    ///
    /// # Errors
    /// Returns an error if the scenario cannot be built.
    pub fn new(scenario: S, seed: u64, mut options: RunOptions) -> Result<Run<S>, BuildError> {
        let log = EventLog::default();
        if scenario.record.events {
            options.observers.push(Box::new(log.clone()));
        }
        let tcp_log = TcpLog::default();
        if scenario.record.tcp_events {
            options.observers.push(Box::new(tcp_log.clone()));
        }
        let (cores, watched) = (options.cores, options.watched);
        let simulation = build(&scenario, seed, options)?;
        let observer = Recorder::new(&scenario, log, tcp_log);
        let mut run = Run { scenario, seed, simulation, observer, cores, ended: false, watched };
        run.hear();
        Ok(run)
    }

    /// Returns the edges of each passage, in the order of [`RunOptions::passages`].
    pub fn passages(&self) -> Vec<Passage> {
        self.simulation.passages.clone()
    }

    /// Returns the edge of each outside host, in the order of [`RunOptions::outside`].
    pub fn edges(&self) -> &[NodeId] {
        &self.simulation.edges
    }

    /// Returns the virtual time that the run has reached.
    pub fn now(&self) -> Time {
        self.simulation.network.now()
    }

    /// Returns the virtual time at which the run ends.
    pub fn end(&self) -> Time {
        Time::ZERO + self.scenario.duration
    }

    /// Returns the number of events handled so far.
    pub fn events(&self) -> u64 {
        self.simulation.network.events()
    }

    /// Returns the time series recorded so far. Only [`Run::finish`] returns the tables of flows and links.
    pub fn recorded(&self) -> Recorded<'_> {
        self.observer.recorded()
    }

    /// Runs in virtual time until `until`, until the end of the run, or for about `budget` events. The division into
    /// slices does not change the result of the run.
    ///
    /// # Errors
    /// Returns an error if the run was cancelled, or if time no longer advances. After an error the run cannot be
    /// continued.
    pub fn advance(&mut self, until: Time, budget: u64, monitor: &Monitor) -> Result<Advanced, RunError> {
        let last = self.events().saturating_add(budget);
        self.steps(until, |run, stop, next| {
            // No sample is taken before `next`, so links may count the departures up to `next` in advance.
            run.simulation.network.promise_unseen(next);
            Ok(match run.run_until(stop, last, monitor)? {
                Progress::Paused => ControlFlow::Break(()),
                Progress::Reached => ControlFlow::Continue(()),
            })
        })
    }

    /// Runs to the end in virtual time and returns the results.
    ///
    /// # Errors
    /// Returns the errors of [`Run::advance`], and an error if a packet is unaccounted for.
    pub fn finish(mut self, monitor: &Monitor) -> Result<RunResult, RunError> {
        let end = self.end();
        let advanced = self.advance(end, u64::MAX, monitor)?;
        // The budget is unlimited and `until` is the end of the run, so the run cannot be paused.
        debug_assert_eq!(advanced, Advanced::Ended);
        self.result(end)
    }

    /// Runs on the caller's clock. `pump` advances the network to the given time. If `pump` returns `Break`, the run
    /// ends at the current time. `[record] on_change` has no effect.
    ///
    /// # Errors
    /// Returns an error if a packet is unaccounted for.
    pub fn finish_on(
        mut self,
        mut pump: impl FnMut(&mut Network<Host>, Time) -> ControlFlow<()>,
    ) -> Result<RunResult, RunError> {
        let advanced = self.steps(self.end(), |run, stop, _| {
            let went_on = pump(&mut run.simulation.network, stop);
            assert!(went_on.is_break() || run.now() == stop, "the pump stopped early");
            run.observer.gather(&mut run.simulation);
            Ok::<_, Infallible>(went_on)
        });
        let now = self.now();
        if advanced == Ok(Advanced::Paused) {
            self.observer.observe(now, &self.scenario, &mut self.simulation);
        }
        self.result(now)
    }

    /// Runs until `until` or until the end of the run, and takes each sample when it is due. `drive` receives two
    /// times. It must advance the network to the first one. The second one is the time of the next sample. If `drive`
    /// returns `Break`, the run pauses.
    fn steps<E>(
        &mut self,
        until: Time,
        mut drive: impl FnMut(&mut Self, Time, Time) -> Result<ControlFlow<()>, E>,
    ) -> Result<Advanced, E> {
        let end = self.end();
        while !self.ended {
            // Stop at the next sample, or at the end of the run.
            let next = self.observer.next().map_or(end, |next| next.min(end));
            let stop = next.min(until);
            if drive(self, stop, next)?.is_break() {
                return Ok(Advanced::Paused);
            }
            if stop == next {
                self.observer.observe(next, &self.scenario, &mut self.simulation);
                self.hear();
                // The last sample is taken at the end.
                self.ended = next == end;
            }
            if stop == until && !self.ended {
                return Ok(Advanced::Reached);
            }
        }
        Ok(Advanced::Ended)
    }

    /// Discards the measurements and returns the network at its current time. See [`RunOptions::outside`].
    pub fn into_network(self) -> Network<Host> {
        self.simulation.network
    }

    fn result(self, end: Time) -> Result<RunResult, RunError> {
        let used = (self.cores > 1).then(|| CoresUsed::of(&self.scenario, &self.simulation.network));
        let mut result = self.observer.finish(&self.scenario, self.seed, end, self.simulation);
        result.cores = used;
        let conservation = result.conservation;
        // A result with unaccounted packets would look valid, so return an error instead.
        if conservation.holds() { Ok(result) } else { Err(RunError::Unbalanced { conservation }) }
    }

    /// Selects the events that observers receive until the next sample.
    fn hear(&mut self) {
        let Some(Watched { from, to, hosts_before }) = self.watched else { return };
        let next = self.observer.next().unwrap_or(self.end());
        let kinds = match self.now() {
            now if now > to => EventMask::NONE,
            _ if next <= from && hosts_before => EventMask::HOSTS,
            _ if next <= from => EventMask::NONE,
            _ => EventMask::ALL,
        };
        self.simulation.network.hear(kinds);
    }

    /// Runs to `until`, or until the total number of events reaches `last`.
    fn run_until(&mut self, until: Time, last: u64, monitor: &Monitor) -> Result<Progress, RunError> {
        loop {
            let network = &mut self.simulation.network;
            let before = network.now();
            let left = last.saturating_sub(network.events());
            // Run in slices. After each slice, check for cancellation and for an endless loop of events.
            let progress = network.run(until, left.min(SLICE));
            let (now, events) = (network.now(), network.events());
            let (instant, at_instant) = network.instant();
            self.observer.gather(&mut self.simulation);
            monitor.advance(now - before);
            if self.observer.events() > MOST_EVENTS {
                return Err(RunError::TooManyEvents { at: now });
            }
            if monitor.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            if progress == Progress::Reached {
                return Ok(progress);
            }
            if at_instant >= STUCK {
                return Err(RunError::Stuck { at: instant });
            }
            if events >= last {
                return Ok(progress);
            }
        }
    }
}

/// One job of [`run_many`]: a scenario and a seed.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The seed.
    pub seed: u64,
}

/// Runs the jobs on `workers` threads. The results are in the order of the jobs.
pub fn run_many(
    jobs: &[Job<'_>],
    workers: usize,
    controllers: &RunControllers,
    monitor: &Monitor,
) -> Vec<Result<RunResult, RunError>> {
    for job in jobs {
        monitor.expect(job.scenario.duration);
    }
    // Jobs take different times, so each thread takes the next job as soon as it has finished the previous job.
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((place, job)) = take(jobs, &next) {
                    let options = RunOptions { controllers: controllers.clone(), ..RunOptions::default() };
                    let run = Run::new(job.scenario, job.seed, options);
                    let result = run.map_err(RunError::from).and_then(|run| run.finish(monitor));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Threads finish in any order, so restore the order of the jobs.
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, 'j>(jobs: &'a [Job<'j>], next: &AtomicUsize) -> Option<(usize, &'a Job<'j>)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(place).map(|job| (place, job))
}
