//! One run on several cores: the network is cut into [`Parts`] while that is faster.
//!
//! Each part runs ahead by the delay of the line that was cut, and then waits for the others. This pays where many
//! events fall into such a window, which is judged by the event rate of the latest stretch of time. Where it does not
//! pay, the run goes on on one core. The result is the same.

use crate::error::RunError;
use crate::monitor::Monitor;
use crate::simulation::Simulation;
use lopsided_core::{Duration, NodeId, Time};
use lopsided_net::{Division, NetNode, Parts, Together};
use lopsided_scenario::Scenario;

/// Stretches of a run: at the end of each it is decided anew whether parts pay.
const STRETCHES: u64 = 50;

/// What became of the wish to run on several cores.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresUsed {
    /// Threads; 1 where parts were not worth it.
    pub cores: usize,
    /// The share of the simulated time in which the parts ran side by side: 0 to 1.
    pub share: f64,
    /// In words: where the network was cut, or why it was not.
    pub why: String,
}

/// The parts of one run's network, and what decides whether they are used.
#[derive(Debug)]
pub(crate) struct Cores {
    parts: Option<Parts<crate::host::Host>>,
    why: String,
    /// Events in a second of simulated time, in the latest stretch.
    pace: Option<f64>,
    stretch: Duration,
    pays_from: f64,
    side_by_side: Duration,
    all: Duration,
}

impl Cores {
    /// `most` is the number of cores asked for, and `pays_from` the least number of events in a window with which parts
    /// are used. `None` if one core is asked for.
    pub fn of(scenario: &Scenario, simulation: &Simulation, most: usize, pays_from: f64) -> Option<Cores> {
        if most < 2 {
            return None;
        }
        let (division, why) = match divide(scenario, simulation, most) {
            Ok(division) => {
                let cut: Vec<_> = division.exits().chunks(2).map(|pair| simulation.places.of(pair[0]).0).collect();
                let why = format!("cut at {}, {} ms apart", cut.join(", "), division.lookahead().as_millis_f64());
                (Some(division), why)
            }
            Err(why) => (None, why.to_owned()),
        };
        Some(Cores {
            parts: division.map(|division| Parts::new(&simulation.network, division)),
            why,
            pace: None,
            stretch: (scenario.duration / STRETCHES).max(Duration::from_nanos(1)),
            pays_from,
            side_by_side: Duration::ZERO,
            all: Duration::ZERO,
        })
    }

    /// The end of the stretch that begins now.
    pub fn stretch_from(&self, now: Time) -> Time {
        now + self.stretch
    }

    /// Runs the network to `until` in parts. `None` if that does not pay: then the caller runs it.
    ///
    /// # Errors
    /// If the run was cancelled, or more than `stuck` events fell on one instant.
    pub fn run(
        &mut self,
        simulation: &mut Simulation,
        until: Time,
        stuck: u64,
        monitor: &Monitor,
    ) -> Option<Result<(), RunError>> {
        let parts = self.parts.as_mut()?;
        let in_a_window = self.pace? * parts.division().lookahead().as_secs_f64();
        if in_a_window < self.pays_from {
            return None;
        }
        self.side_by_side += until - simulation.network.now();
        let together = parts.run(&mut simulation.network, until, stuck, |_| !monitor.is_cancelled());
        Some(match together {
            Together::Reached => Ok(()),
            Together::Stopped => Err(RunError::Cancelled),
            Together::Stuck { at } => Err(RunError::Stuck { at }),
        })
    }

    /// Notes how many events a stretch of simulated time had.
    pub fn took(&mut self, stretch: Duration, events: u64) {
        self.all += stretch;
        if !stretch.is_zero() {
            self.pace = Some(events as f64 / stretch.as_secs_f64());
        }
    }

    pub fn used(self) -> CoresUsed {
        let share = if self.all.is_zero() { 0.0 } else { self.side_by_side.as_secs_f64() / self.all.as_secs_f64() };
        match self.parts {
            Some(parts) if share > 0.0 => CoresUsed { cores: parts.division().parts(), share, why: self.why },
            Some(_) => CoresUsed {
                cores: 1,
                share: 0.0,
                why: format!("too little happens at once to pay for it ({})", self.why),
            },
            None => CoresUsed { cores: 1, share: 0.0, why: self.why },
        }
    }
}

fn divide(scenario: &Scenario, simulation: &Simulation, most: usize) -> Result<Division, &'static str> {
    if scenario.record.on_change {
        return Err("samples at every change need one order of all events");
    }
    let network = &simulation.network;
    if network.accounting().mask() != lopsided_core::EventMask::NONE {
        return Err("captures and recorded events need one order of all events");
    }
    let mut work = vec![0; simulation.places.len()];
    for end in simulation.flows.iter().flat_map(|site| [site.source, site.sink]).flatten() {
        work[end.host.index()] += 1;
    }
    let lines: Vec<(NodeId, NodeId)> = (0..simulation.links / 2)
        .map(|line| (simulation.link_node(2 * line), simulation.link_node(2 * line + 1)))
        .collect();
    let delayed =
        |node: NodeId| matches!(network.node(node), NetNode::Link(link) if link.foretells() && !link.delay().is_zero());
    if !lines.iter().any(|(there, back)| delayed(*there) && delayed(*back)) {
        return Err("no line has a drop-tail queue and a delay in both directions");
    }
    Division::of(network, &lines, &work, most).ok_or("no such line is the only way between hosts on both of its sides")
}
