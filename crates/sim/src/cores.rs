//! Runs one scenario on several cores while this is faster.
//!
//! The network is cut at lines into [`Parts`]. Each part runs ahead by the delay of the cut line, and then waits for
//! the other parts (see `lopsided_net::Parts`). The waiting costs time in every window, so several cores are faster
//! only if a window contains many events.
//!
//! The run is divided into 50 stretches. After each stretch, the event rate of that stretch decides whether the next
//! one runs in parts or on one core:
//!
//! events per second of simulated time × delay of the cut line ≥ `cores_from_events`
//!
//! The first stretch runs on one core, to measure the rate. The results do not depend on the decisions.
//!
//! Not divided are runs that record events or sample at every change, because these need one order of all events.

use crate::error::RunError;
use crate::monitor::Monitor;
use crate::simulation::Simulation;
use lopsided_core::{Duration, NodeId, Time};
use lopsided_net::{Division, NetNode, Parts, Together};
use lopsided_scenario::Scenario;

/// Number of stretches of a run. At the end of each it is decided whether to use parts.
const STRETCHES: u64 = 50;

/// The number of cores that a run used.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresUsed {
    /// Number of threads; 1 if the run was not divided.
    pub cores: usize,
    /// Share of the simulated time in which the parts ran in parallel, from 0 to 1.
    pub share: f64,
    /// Where the network was cut, or why it was not, in words.
    pub why: String,
}

/// The parts of a run's network, and the data for the decision whether to use them.
#[derive(Debug)]
pub(crate) struct Cores {
    /// The parts; `None` if the network cannot be cut.
    parts: Option<Parts<crate::host::Host>>,
    /// Where the network is cut, or why it is not.
    why: String,
    /// Events per second of simulated time in the latest stretch.
    pace: Option<f64>,
    /// Length of a stretch.
    stretch: Duration,
    /// Minimum number of events in a window to use parts.
    pays_from: f64,
    /// Simulated time that ran in parts.
    side_by_side: Duration,
    /// Simulated time in total.
    all: Duration,
}

impl Cores {
    /// Prepares a run on at most `most` cores. `pays_from` is the minimum number of events in a window to use parts.
    /// `None` if `most` is 1.
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

    /// The end of a stretch that begins now.
    pub fn stretch_from(&self, now: Time) -> Time {
        now + self.stretch
    }

    /// Runs the network to `until` in parts. `None` if one core is faster: the caller then runs it.
    ///
    /// # Errors
    /// If the run was cancelled, or if more than `stuck` events had the same time.
    pub fn run(
        &mut self,
        simulation: &mut Simulation,
        until: Time,
        stuck: u64,
        monitor: &Monitor,
    ) -> Option<Result<(), RunError>> {
        let parts = self.parts.as_mut()?;
        // Without a measured rate (the first stretch) one core runs.
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

    /// Records the number of events in a stretch.
    pub fn took(&mut self, stretch: Duration, events: u64) {
        self.all += stretch;
        if !stretch.is_zero() {
            self.pace = Some(events as f64 / stretch.as_secs_f64());
        }
    }

    /// The number of cores that the run used.
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
    // Hosts do most of the work, in proportion to their number of flow ends.
    let mut work = vec![0; simulation.places.len()];
    for end in simulation.flows.iter().flat_map(|site| [site.source, site.sink]).flatten() {
        work[end.host.index()] += 1;
    }
    let lines: Vec<(NodeId, NodeId)> = (0..simulation.links / 2)
        .map(|line| (simulation.link_node(2 * line), simulation.link_node(2 * line + 1)))
        .collect();
    let delayed =
        |node: NodeId| matches!(network.node(node), NetNode::Link(link) if link.foretells() && !link.delay().is_zero());
    // Only to give a better reason than `Division::of` can.
    if !lines.iter().any(|(there, back)| delayed(*there) && delayed(*back)) {
        return Err("no line has a drop-tail queue and a delay in both directions");
    }
    Division::of(network, &lines, &work, most).ok_or("no such line is the only way between hosts on both of its sides")
}
