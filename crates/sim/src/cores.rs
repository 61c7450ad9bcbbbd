//! One run on several cores: its network in [`Parts`], wherever that is worth its while.
//!
//! How far the parts run on without a word of each other is the delay of the line that is cut; at the end of each such
//! window they wait for each other. That pays where much happens in a window, which the events of the latest stretch of
//! time tell. The others run on one core, and the result is the same.

use crate::error::RunError;
use crate::monitor::Monitor;
use crate::simulation::Simulation;
use lopsided_core::{Duration, NodeId, Time};
use lopsided_net::{Division, NetNode, Parts, Together};
use lopsided_scenario::Scenario;

/// A run is looked at so often, at least, whether parts pay.
const STRETCHES: u64 = 50;

/// What became of the wish to run on several cores.
#[derive(Clone, Debug, PartialEq)]
pub struct CoresUsed {
    /// Threads; 1 where parts were not worth it.
    pub cores: usize,
    /// The share of the simulated time in which they ran side by side.
    pub share: f64,
    /// In words: where the network was cut, or why it was not.
    pub why: String,
}

/// A run's cores.
#[derive(Debug)]
pub(crate) struct Cores {
    parts: Option<Parts<crate::host::Host>>,
    why: String,
    /// Events to a second of simulated time, in the latest stretch.
    pace: Option<f64>,
    stretch: Duration,
    pays_from: f64,
    side_by_side: Duration,
    all: Duration,
}

impl Cores {
    /// `None`: one core is wanted.
    pub fn of(scenario: &Scenario, simulation: &Simulation, most: usize, pays_from: f64) -> Option<Cores> {
        if most < 2 {
            return None;
        }
        let (division, why) = match divide(scenario, simulation, most) {
            Ok(division) => {
                let cut: Vec<&str> =
                    division.exits().chunks(2).map(|pair| simulation.labels[pair[0].index()].name.as_str()).collect();
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

    /// When it should be asked again.
    pub fn stretch_from(&self, now: Time) -> Time {
        now + self.stretch
    }

    /// Brings the network to `until` in parts, if that pays; else it is `None`, and the caller does.
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

    /// After a stretch of time with so many events.
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
    let mut work = vec![0; simulation.labels.len()];
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
