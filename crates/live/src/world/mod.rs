//! A scenario on real packets: its whole path here, in real time, and its hosts in network namespaces, each end of the
//! path a TUN device.
//!
//! The hosts' part is played by an **agent**, another process: it makes the namespaces and the devices, hands the
//! devices over, and then drives the flows through the kernel's TCP. The two agree on the instant at which the run
//! begins:
//!
//! ```text
//! agent   a message for each device, with the device; then two for each passage, the host's end before the path's
//! here    "ready": the network is built
//! agent   the instant of the beginning, as nanoseconds of CLOCK_MONOTONIC
//! here    "over": the run has come to its end
//! ```
//!
//! The kernel closes a process' descriptors as it ends, however that comes about: so each side notices the other's
//! death, and with the agent go namespaces and devices. Hosts that the agent does not play are the simulator's own,
//! with its TCP.
//!
//! Where both ends of a flow are such hosts no kernel would see its packets. So these hosts have a **passage**: a
//! namespace whose kernel forwards between two devices, one towards the host and one towards the path. Every packet is
//! written to the one as octets and read from the other.

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

/// Why there is no result.
#[derive(Debug)]
pub enum WorldError {
    Build(BuildError),
    /// The agent ended before the run did; it says itself why.
    AgentGone,
    /// It said something else than was agreed.
    Misunderstood(String),
    Device(io::Error),
    Run(RunError),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Build(error) => error.fmt(f),
            WorldError::AgentGone => write!(f, "the agent that plays the hosts has ended"),
            WorldError::Misunderstood(what) => write!(f, "the agent that plays the hosts said {what:?}"),
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

/// The talk with the agent.
#[derive(Debug)]
pub struct Talk {
    here: Channel,
    agents: Option<Channel>,
}

impl Talk {
    /// # Errors
    /// If this process may have no more descriptors.
    pub fn new() -> io::Result<Talk> {
        let (here, agents) = Channel::pair()?;
        Ok(Talk { here, agents: Some(agents) })
    }

    /// The agent's end, for the agent to inherit.
    pub fn agents_end(&self) -> Option<RawFd> {
        self.agents.as_ref().map(|channel| channel.as_fd().as_raw_fd())
    }

    /// The agent has its end: this process forgets it, so that the agent's death is noticed.
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

/// What a run on real packets gives.
#[derive(Debug)]
pub struct Carried {
    /// Of the path, and of the ends that were simulated.
    pub result: RunResult,
    pub pumped: Pumped,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Of the flows that the kernel sends.
    pub trips: Vec<Trip>,
}

/// Carries the scenario's packets from its beginning to its end. The agent plays the hosts that have `devices`, and
/// makes a passage for each of the hosts `passages`.
///
/// # Errors
/// If the scenario cannot be built, the agent ends early, or a device fails.
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
    options.observers.push(Box::new(trips.clone()));
    let outside = |host: &usize| Outside { host: *host, addresses: Vec::new(), takes_the_rest: false };
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
        let _hurry = Hurry::begin();
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
    // It keeps its devices until now.
    let _ = talk.here.send(b"over", None);
    Ok(Carried { result: result.map_err(WorldError::Run)?, pumped, refused, trips: trips.take() })
}
