//! A scenario with real hosts: this process emulates the whole path in real time, and the hosts run in network
//! namespaces. Each end of the path is a TUN device.
//!
//! Another process, the **agent**, represents the hosts. It creates the namespaces and devices, and drives the flows
//! through the kernel's TCP. Both processes agree on the start time:
//!
//! ```text
//! agent          one message per device, carrying the device; then two per passage, the host's side before the path's
//! this process   "ready": the network is built
//! agent          the start time, as nanoseconds of CLOCK_MONOTONIC
//! this process   "over": the run has ended
//! ```
//!
//! Each process detects the death of the other process, and the namespaces and devices disappear with the agent. The
//! simulator runs all other hosts, with its own TCP.
//!
//! If both ends of a flow are the simulator's own hosts, they get a **passage**. A passage is a namespace whose kernel
//! forwards packets between two devices, so that a kernel processes the flow's packets.

mod ends;
mod ports;
mod round_trips;

pub use ends::{Device, End};
pub use round_trips::Trip;

use crate::linux::{Channel, Hurry, Tun};
use crate::{Clock, Pumped, pump};
use ends::Ends;
use lopsided_scenario::Scenario;
use lopsided_sim::{BuildError, Outside, Run, RunError, RunOptions, RunResult};
use round_trips::RoundTrips;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// The reason why a run failed.
#[derive(Debug)]
pub enum WorldError {
    /// The simulator cannot build the scenario.
    Build(BuildError),
    /// The agent exited before the end of the run. It reports the reason itself.
    AgentGone,
    /// The agent sent an unexpected message.
    Misunderstood(String),
    /// A device of the path failed.
    Device(io::Error),
    /// The run of the scenario failed.
    Run(RunError),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Build(error) => error.fmt(f),
            WorldError::AgentGone => write!(f, "the agent that represents the hosts has ended"),
            WorldError::Misunderstood(what) => write!(f, "the agent that represents the hosts sent {what:?}"),
            WorldError::Device(error) => write!(f, "a device of the path failed: {error}"),
            WorldError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WorldError {}

impl From<io::Error> for WorldError {
    fn from(error: io::Error) -> WorldError {
        WorldError::Device(error)
    }
}

/// The channel to the agent.
#[derive(Debug)]
pub struct Talk {
    here: Channel,
    agents: Option<Channel>,
}

impl Talk {
    /// Opens the channel.
    ///
    /// # Errors
    /// Returns an error if this process may not open more descriptors.
    pub fn new() -> io::Result<Talk> {
        let (here, agents) = Channel::pair()?;
        Ok(Talk { here, agents: Some(agents) })
    }

    /// Returns the agent's end of the channel, which the agent inherits. `None` after [`Talk::agent_started`].
    pub fn agents_end(&self) -> Option<RawFd> {
        self.agents.as_ref().map(|channel| channel.as_fd().as_raw_fd())
    }

    /// Closes this process's copy of the agent's end after the agent has inherited it.
    pub fn agent_started(&mut self) {
        self.agents = None;
    }

    fn hear(&self) -> Result<(Vec<u8>, Option<Tun>), WorldError> {
        let (message, device) = self.here.receive()?.ok_or(WorldError::AgentGone)?;
        Ok((message, device.map(Tun::from)))
    }

    fn devices(&self, count: usize) -> Result<Vec<Tun>, WorldError> {
        (0..count)
            .map(|_| match self.hear()? {
                (_, Some(tun)) => Ok(tun),
                (message, None) => Err(misunderstood(&message)),
            })
            .collect()
    }

    fn beginning(&self) -> Result<Clock, WorldError> {
        self.here.send(b"ready", None).map_err(|_| WorldError::AgentGone)?;
        let (message, _) = self.hear()?;
        let instant = std::str::from_utf8(&message).ok().and_then(|text| text.parse().ok());
        instant.map(Clock::starting_at).ok_or_else(|| misunderstood(&message))
    }
}

fn misunderstood(message: &[u8]) -> WorldError {
    WorldError::Misunderstood(String::from_utf8_lossy(message).into_owned())
}

/// The result of a run with real hosts.
#[derive(Debug)]
pub struct Carried {
    /// Measurements of the path, and of the simulated hosts.
    pub result: RunResult,
    /// Measurements of the pump, such as the lateness of packets.
    pub pumped: Pumped,
    /// Number of packets that the kernel rejected.
    pub refused: u64,
    /// RTT samples of the flows that the kernel sends; one-way delays for UDP.
    pub trips: Vec<Trip>,
}

/// Runs the scenario from its start to its end. The agent represents the hosts in `devices`, and creates a passage for
/// each host in `passages`.
///
/// # Errors
/// Returns an error if the scenario cannot be built, the agent ends early, or a device fails.
pub fn carry(
    scenario: &Scenario,
    seed: u64,
    mut options: RunOptions,
    devices: &[Device],
    passages: &[usize],
    talk: &Talk,
) -> Result<Carried, WorldError> {
    let mut hosts: Vec<usize> = devices.iter().map(|device| device.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let trips = RoundTrips::of(scenario, &hosts);
    // The kernel's TCP does not report its RTT samples, so measure RTTs where packets enter and leave the simulator.
    options.observers.push(Box::new(trips.clone()));
    let outside = |host: &usize| Outside { host: *host, ..Outside::default() };
    options.outside = hosts.iter().map(outside).collect();
    options.passages = passages.to_vec();
    let prepared = Run::new(scenario, seed, options).map_err(WorldError::Build)?;
    let passages = prepared.passages();
    trips.watch(scenario, &passages);
    let tuns = talk.devices(devices.len() + 2 * passages.len())?;
    let clock = talk.beginning()?;
    let mut ends = Ends::new(scenario, devices, &passages, tuns, &talk.here, clock);
    let mut pumped = Pumped::default();
    let mut failed = None;
    let result = {
        // Only this thread gets real-time priority, and only during the run.
        let _hurry = Hurry::begin();
        // The agent starts its flows at the same instant.
        clock.wait_for_start();
        prepared.finish_on(|network, until| match pump(network, &mut ends, until, &mut pumped) {
            Ok(went_on) => went_on,
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })
    };
    if let Some(error) = failed {
        return Err(error.into());
    }
    if ends.is_abandoned() {
        return Err(WorldError::AgentGone);
    }
    let refused = ends.refused();
    drop(ends);
    // The agent keeps its devices open until it receives this message.
    let _ = talk.here.send(b"over", None);
    Ok(Carried { result: result.map_err(WorldError::Run)?, pumped, refused, trips: trips.take() })
}
