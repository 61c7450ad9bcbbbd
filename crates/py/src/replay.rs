//! Replays captured packets through one direction of a link.

use crate::error::Failure;
use crate::scenario::Scenario;
use lopsided_core::{Dir, Duration, FlowId, NewPacket, Time, wire};
use lopsided_link::{Replayed, replay_at_instants};
use pyo3::prelude::*;

/// An arrival: time in nanoseconds, number of the flow, and first bytes of the packet from the IP header on.
type Arrival = (u64, u32, Vec<u8>);

/// The fate of a packet: departure time and position, time and reason of its drop, and true if the packet was marked.
type Fate = (Option<(u64, u32)>, Option<(u64, &'static str)>, bool);

/// Replays captured packets through a direction of a link, and returns the fate of each packet. If `instants` is given,
/// only the queue discipline runs, and one packet is dequeued at each of these times. Otherwise the link sends each
/// packet as soon as possible.
#[pyfunction]
#[pyo3(signature = (scenario, link, direction, arrivals, *, instants = None, credit_ns = 0, seed = 1))]
#[allow(clippy::too_many_arguments, reason = "the interface to Python, where each argument has a keyword")]
pub(crate) fn replay(
    py: Python<'_>,
    scenario: &Scenario,
    link: &str,
    direction: &str,
    arrivals: Vec<Arrival>,
    instants: Option<Vec<u64>>,
    credit_ns: u64,
    seed: u64,
) -> PyResult<Vec<Fate>> {
    let usage = |what: String| PyErr::from(Failure::Usage(what));
    let found = scenario.resolved.graph.links.iter().find(|spec| spec.name == link);
    let spec = found.ok_or_else(|| usage(format!("there is no link {link:?}")))?;
    let dir = match direction {
        "down" => Dir::Down,
        "up" => Dir::Up,
        other => return Err(usage(format!("a direction is \"down\" or \"up\", not {other:?}"))),
    };
    let packets = arrivals.iter().map(read).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let (config, role) = (spec.dir(dir), format!("{link}/{direction}"));
    // Release Python's global lock, because the replay uses no Python objects.
    let played = py.detach(|| match instants {
        None => lopsided_link::replay(config, seed, &role, packets, Duration::from_nanos(credit_ns)),
        Some(instants) => {
            let instants: Vec<Time> = instants.into_iter().map(Time::from_nanos).collect();
            replay_at_instants(config, seed, &role, packets, &instants)
        }
    });
    Ok(played.map_err(|error| usage(error.to_string()))?.iter().map(fate).collect())
}

fn read((at, flow, octets): &Arrival) -> Result<(Time, NewPacket), String> {
    let packet = wire::parse_captured(octets).map_err(|error| format!("a packet cannot be parsed: {error}"))?;
    let new = packet.to_new().with_flow(FlowId(*flow));
    Ok((Time::from_nanos(*at), new))
}

fn fate(replayed: &Replayed) -> Fate {
    let left = replayed.left.map(|(at, place)| (at.as_nanos(), place));
    (left, replayed.dropped.map(|(at, why)| (at.as_nanos(), why.name())), replayed.marked)
}
