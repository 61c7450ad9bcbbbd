//! Installs the applications of flows on their hosts.

use crate::address::address;
use crate::error::BuildError;
use crate::host::{AppSlot, ConnectionFactory, FlowMeter, Host, MAX_SERVICES};
use crate::options::RunOptions;
use crate::simulation::{AppSite, FlowSite};
use crate::stack::Stacks;
use lopsided_app::{AppError, FlowContext, OnReady, Side, TransportEnd};
use lopsided_core::{Duration, FlowId, NodeId, Rng, Time};
use lopsided_scenario::FlowSpec;
use lopsided_tcp::{Endpoint, StackConfig};
use std::net::SocketAddr;

/// Installs the two applications of a flow on their hosts.
pub(super) fn place_flow<'a>(
    flow: FlowId,
    spec: &'a FlowSpec,
    duration: Duration,
    seed: u64,
    options: &RunOptions,
    stacks: &mut Stacks<'a>,
    hosts: &mut [Host],
) -> Result<FlowSite, BuildError> {
    let role = |part: &str| Rng::for_role(seed, &format!("flow/{}/{part}", spec.name));
    // Each flow has its own random stream, so that adding a flow does not change the start times of the other flows.
    let start = spec.start + Duration::from_nanos(role("start").below(spec.start_jitter.as_nanos()));
    let end = Time::ZERO + duration;
    let context =
        FlowContext { name: spec.name.clone(), start, stop: spec.stop.min(end), opening: spec.transport.opening() };
    let pair = spec.app.build(&context, &options.applications).map_err(|error| no_app(spec, &error))?;
    let (from_ready, to_ready) = (pair.from.on_ready(), pair.to.on_ready());
    let mut slot = |side: Side, port: Option<u16>, remote: Option<Endpoint>| -> Result<AppSlot, BuildError> {
        let (host, stack, name, on_ready) = match side {
            Side::From => (spec.from, &spec.from_stack, "from", from_ready),
            Side::To => (spec.to, &spec.to_stack, "to", to_ready),
        };
        let foreign = match (pair.datagrams, spec.transport.is_tcp(), port) {
            (false, false, Some(port)) => {
                let make_controller = stacks.stack(spec, stack)?.make_controller.clone();
                let end = TransportEnd {
                    opens: remote.is_some(),
                    sends: side == Side::From,
                    drains: on_ready == OnReady::Drains,
                    local: SocketAddr::new(address(host), port),
                    remote: remote.map(|remote| SocketAddr::new(remote.addr, remote.port)),
                    rng: role(&format!("{}/{name}", spec.transport.kind())),
                    cc: stack.cc.clone(),
                    make_controller,
                    stack: StackConfig::clone(stack),
                };
                spec.transport.build(&end).map_err(|what| no_transport(spec, what))?
            }
            _ => None,
        };
        let mut factory = || -> Result<ConnectionFactory, BuildError> {
            let isn_rng = role(&format!("numbers/{name}"));
            Ok(ConnectionFactory { local: address(host), stack: stacks.stack(spec, stack)?, isn_rng })
        };
        Ok(AppSlot {
            flow,
            dscp: stack.dscp(),
            sends: side == Side::From && !pair.datagrams,
            on_ready,
            remote,
            factory: if pair.datagrams || foreign.is_some() { None } else { Some(factory()?) },
            foreign,
            opens: remote.is_some(),
            port,
            live: Vec::new(),
            accepted: Vec::new(),
            datagrams: None,
            rng: role(&format!("app/{name}")),
            start: Some(start),
            stop: (spec.stop < end).then_some(spec.stop),
            meter: FlowMeter::default(),
        })
    };
    let host_of = |side: Side| if side == Side::From { spec.from } else { spec.to };
    // The listener is installed first, because the other end needs its port.
    let (waits, opens) = (pair.listener, pair.listener.other());
    let port = hosts[host_of(waits)].serve().ok_or_else(|| too_many(spec))?;
    let (waiting_app, opening_app) = match waits {
        Side::From => (pair.from, pair.to),
        Side::To => (pair.to, pair.from),
    };
    let is_here =
        |side: Side| options.outside.iter().all(|outside| outside.host != host_of(side) || outside.keeps_flows);
    let waiting = match is_here(waits) {
        true => Some(hosts[host_of(waits)].add_app(waiting_app, slot(waits, Some(port), None)?)),
        false => None,
    };
    let remote = Endpoint { addr: address(host_of(waits)), port };
    // A TCP connection gets an ephemeral port when it opens. Other transports use one port for the whole run.
    let local = match pair.datagrams || !spec.transport.is_tcp() {
        true => Some(hosts[host_of(opens)].open_datagrams().ok_or_else(|| too_many(spec))?),
        false => None,
    };
    let opening = match is_here(opens) {
        true => Some(hosts[host_of(opens)].add_app(opening_app, slot(opens, local, Some(remote))?)),
        false => None,
    };
    let (from, to) = if waits == Side::From { (waiting, opening) } else { (opening, waiting) };
    let site = |host: usize, app: Option<usize>| app.map(|app| AppSite { host: NodeId(host as u32), app });
    Ok(FlowSite {
        source: site(spec.from, from),
        sink: site(spec.to, to),
        start,
        stop: spec.stop.min(end),
        datagrams: pair.datagrams,
    })
}

fn no_app(spec: &FlowSpec, error: &AppError) -> BuildError {
    BuildError::NoApplication { flow: spec.name.clone(), what: error.to_string() }
}

fn no_transport(spec: &FlowSpec, what: String) -> BuildError {
    BuildError::NoApplication { flow: spec.name.clone(), what }
}

fn too_many(spec: &FlowSpec) -> BuildError {
    BuildError::TooMany { what: "flows", at: spec.name.clone(), limit: MAX_SERVICES }
}
