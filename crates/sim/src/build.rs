//! From a scenario to a world: nodes, wires, routes, applications.
//!
//! Node numbers: first the hosts in the scenario's order, then the routers, then each link's two directions, down before up.

mod link;
mod stack;

use crate::host::{AppSlot, Dialer, FIRST_SERVICE, FlowMeter, Host, Interface, MAX_SERVICES, Remote};
use crate::router::{Router, Routes, address};
use crate::run::RunOptions;
use crate::world::{Station, Wire, World};
use lopsided_app::{AppConfig, AppError, FlowContext, Side};
use lopsided_core::{Accounting, Dir, Duration, FlowId, NodeId, Port, Rng, Time};
use lopsided_scenario::{FlowSpec, Graph, Hop, InterfaceSpec, NodeRef, Scenario, Transfer};
use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

/// Why a scenario cannot be run. The scenario crate refuses most of this when it reads a file; one made in code may hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// A flow names a host that is not there.
    NoHost {
        flow: String,
    },
    NoPath {
        flow: String,
        from: String,
        to: String,
    },
    UnknownProfile {
        flow: String,
        profile: String,
    },
    UnknownController {
        flow: String,
        cc: String,
    },
    Link {
        link: String,
        what: String,
    },
    NoApplication {
        flow: String,
        what: String,
    },
    /// More flows end at one host, or more links at one node, than there are ports.
    TooMany {
        what: &'static str,
        at: String,
        limit: usize,
    },
    TooLong {
        limit: Duration,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoHost { flow } => write!(f, "flow {flow:?} names a host that does not exist"),
            BuildError::NoPath { flow, from, to } => write!(f, "flow {flow:?} has no path between {from:?} and {to:?}"),
            BuildError::UnknownProfile { flow, profile } => {
                write!(f, "flow {flow:?} asks for the unknown stack profile {profile:?}")
            }
            BuildError::UnknownController { flow, cc } => {
                write!(
                    f,
                    "flow {flow:?} asks for the congestion control {cc:?}, which is not built in and was not given"
                )
            }
            BuildError::NoApplication { flow, what } => write!(f, "flow {flow:?}: {what}"),
            BuildError::Link { link, what } => write!(f, "link {link:?}: {what}"),
            BuildError::TooMany { what, at, limit } => write!(f, "more than {limit} {what} at {at:?}"),
            BuildError::TooLong { limit } => {
                write!(f, "a network of this size can be simulated for at most {} s", limit.as_secs_f64())
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// What a node of the world is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub node: NodeId,
    pub name: String,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Host,
    Router,
    /// One direction of a link.
    Link(Dir),
}

/// The nodes of the scenario's world in the order of their numbers.
pub fn node_labels(scenario: &Scenario) -> Vec<NodeLabel> {
    let graph = &scenario.graph;
    let hosts = graph.hosts.iter().map(|name| (name.clone(), NodeKind::Host));
    let routers = graph.routers.iter().map(|name| (name.clone(), NodeKind::Router));
    let links = graph.links.iter().flat_map(|link| Dir::BOTH.map(|dir| (link.name.clone(), NodeKind::Link(dir))));
    let all = hosts.chain(routers).chain(links).enumerate();
    all.map(|(number, (name, kind))| NodeLabel { node: NodeId(number as u32), name, kind }).collect()
}

/// Where each flow's receiving application listens.
pub fn receivers(scenario: &Scenario) -> Vec<(IpAddr, u16)> {
    let mut services = vec![0; scenario.graph.hosts.len()];
    let place = |flow: &FlowSpec| {
        let before = services[flow.to];
        services[flow.to] += 1;
        (address(flow.to).into(), FIRST_SERVICE + before)
    };
    scenario.flows.iter().map(place).collect()
}

/// A world ready to run, and where to find in it what the results report on.
#[derive(Debug)]
pub(crate) struct Simulation {
    pub world: World,
    pub flows: Vec<FlowSite>,
    /// Directions of links.
    pub links: usize,
    first_link: usize,
}

impl Simulation {
    /// The node of a link's direction: down and up of the first link, then of the next.
    pub fn link_node(&self, link: usize) -> NodeId {
        NodeId((self.first_link + link) as u32)
    }
}

/// Where a flow's two applications are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowSite {
    pub source: AppSite,
    pub sink: AppSite,
    /// The start with its jitter.
    pub start: Time,
    pub stop: Time,
    /// The two applications exchange datagrams rather than connections.
    pub datagrams: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AppSite {
    pub host: usize,
    pub app: usize,
}

pub(crate) use stack::Stack;

/// Builds the world of the scenario for one seed.
pub(crate) fn build(scenario: &Scenario, seed: u64, options: RunOptions) -> Result<Simulation, BuildError> {
    let net = Net::new(&scenario.graph)?;
    let tables = routing_tables(scenario, &net)?;
    let mut hosts: Vec<Host> = (0..net.hosts)
        .map(|host| {
            let several = net.outlets[host].len() > 1;
            let interface = scenario.interfaces.get(&host).map(|spec| interface(spec, scenario, &net.outlets[host]));
            Ok(Host::new(address(host), several.then(|| tables[host].clone()), interface.transpose()?))
        })
        .collect::<Result<_, BuildError>>()?;
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (number, spec) in scenario.flows.iter().enumerate() {
        flows.push(place_flow(FlowId(number as u32), spec, scenario.duration, seed, &options, &mut hosts)?);
    }
    let mut stations: Vec<Station> = hosts.into_iter().map(|host| Station::Host(Box::new(host))).collect();
    stations.extend(tables.into_iter().skip(net.hosts).map(|routes| Station::Router(Router::new(routes))));
    let audit = options.audit_queues || cfg!(debug_assertions);
    for spec in &scenario.graph.links {
        for dir in Dir::BOTH {
            stations.push(Station::Link(Box::new(link::build(spec, dir, seed, audit)?)));
        }
    }
    let mut wires = net.wires();
    for placed in options.middleboxes {
        if placed.link >= scenario.graph.links.len() {
            return Err(no_link(placed.link));
        }
        let link = net.link_node(Hop { link: placed.link, dir: placed.dir }).index();
        let inlet = Wire { node: NodeId(stations.len() as u32), port: Port(0) };
        let onward = std::mem::replace(&mut wires[link][0], inlet);
        stations.push(Station::Middlebox(placed.node));
        wires.push(vec![onward]);
    }
    let mut accounting = Accounting::new(stations.len());
    options.observers.into_iter().for_each(|observer| accounting.subscribe(observer));
    let world = World::new(stations, wires, accounting);
    if Time::ZERO + scenario.duration > world.horizon() {
        return Err(BuildError::TooLong { limit: world.horizon() - Time::ZERO });
    }
    Ok(Simulation { world, flows, links: 2 * scenario.graph.links.len(), first_link: net.first_link() })
}

/// A host's interface. Only of the one link behind it can a ring foretell what it sends.
fn interface(spec: &InterfaceSpec, scenario: &Scenario, outlets: &[Hop]) -> Result<Interface, BuildError> {
    let ring = match (spec.ring, outlets) {
        (None, _) => None,
        (Some(places), &[hop]) => {
            let link = &scenario.graph.links[hop.link];
            Some(link::ring(places, link.dir(hop.dir)).ok_or_else(|| no_ring(&link.name))?)
        }
        (Some(_), _) => return Err(no_ring("of a host with several")),
    };
    Ok(Interface::new(spec.delay, spec.limit, ring))
}

fn no_ring(link: &str) -> BuildError {
    let what = "a ring needs one link with a rate and without a shaper behind the interface".to_owned();
    BuildError::Link { link: link.to_owned(), what }
}

/// The graph with its nodes numbered and each node's links at hand.
struct Net<'a> {
    graph: &'a Graph,
    hosts: usize,
    /// For each host, then each router: its links as crossed when leaving it, by port.
    outlets: Vec<Vec<Hop>>,
    /// For each link, the port at its `from` and at its `to`.
    ports: Vec<(Port, Port)>,
}

impl<'a> Net<'a> {
    fn new(graph: &'a Graph) -> Result<Net<'a>, BuildError> {
        let hosts = graph.hosts.len();
        let mut net = Net { graph, hosts, outlets: vec![Vec::new(); hosts + graph.routers.len()], ports: Vec::new() };
        for (link, spec) in graph.links.iter().enumerate() {
            let from = net.attach(spec.from, Hop { link, dir: Dir::Down })?;
            let to = net.attach(spec.to, Hop { link, dir: Dir::Up })?;
            net.ports.push((from, to));
        }
        Ok(net)
    }

    fn attach(&mut self, at: NodeRef, hop: Hop) -> Result<Port, BuildError> {
        let node = self.number(at);
        let limit = usize::from(u16::MAX);
        let outlets = &mut self.outlets[node];
        if outlets.len() == limit {
            return Err(BuildError::TooMany { what: "links", at: self.graph.name(at).to_owned(), limit });
        }
        outlets.push(hop);
        Ok(Port(outlets.len() as u16 - 1))
    }

    fn number(&self, node: NodeRef) -> usize {
        match node {
            NodeRef::Host(host) => host,
            NodeRef::Router(router) => self.hosts + router,
        }
    }

    fn first_link(&self) -> usize {
        self.outlets.len()
    }

    fn link_node(&self, hop: Hop) -> NodeId {
        NodeId((self.first_link() + 2 * hop.link + usize::from(hop.dir == Dir::Up)) as u32)
    }

    /// The node that a hop leaves, and by which of its ports.
    fn origin(&self, hop: Hop) -> (usize, Port) {
        let (spec, (from, to)) = (&self.graph.links[hop.link], self.ports[hop.link]);
        match hop.dir {
            Dir::Down => (self.number(spec.from), from),
            Dir::Up => (self.number(spec.to), to),
        }
    }

    /// What hangs on each port of each node.
    fn wires(&self) -> Vec<Vec<Wire>> {
        let into_link = |hop: &Hop| Wire { node: self.link_node(*hop), port: Port(0) };
        let mut wires: Vec<Vec<Wire>> = self.outlets.iter().map(|hops| hops.iter().map(into_link).collect()).collect();
        for link in 0..self.graph.links.len() {
            for dir in Dir::BOTH {
                // A packet arrives where the opposite direction leaves.
                let (node, port) = self.origin(Hop { link, dir: dir.reverse() });
                wires.push(vec![Wire { node: NodeId(node as u32), port }]);
            }
        }
        wires
    }
}

/// The routes of hosts and routers that the flows need, both ways.
fn routing_tables(scenario: &Scenario, net: &Net<'_>) -> Result<Vec<Routes>, BuildError> {
    let graph = &scenario.graph;
    let paths = graph.routes();
    let mut tables = vec![Routes::default(); net.outlets.len()];
    for flow in &scenario.flows {
        if flow.from.max(flow.to) >= net.hosts {
            return Err(BuildError::NoHost { flow: flow.name.clone() });
        }
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let no_path = || BuildError::NoPath {
                flow: flow.name.clone(),
                from: graph.hosts[from].clone(),
                to: graph.hosts[to].clone(),
            };
            for hop in paths.path(from, to).ok_or_else(no_path)? {
                let (node, port) = net.origin(hop);
                tables[node].set(to, port);
            }
        }
    }
    Ok(tables)
}

/// Puts a flow's two applications on their hosts: first the one that waits, whose port the other must know.
fn place_flow(
    flow: FlowId,
    spec: &FlowSpec,
    duration: Duration,
    seed: u64,
    options: &RunOptions,
    hosts: &mut [Host],
) -> Result<FlowSite, BuildError> {
    let role = |part: &str| Rng::for_role(seed, &format!("flow/{}/{part}", spec.name));
    let start = spec.start + Duration::from_nanos(role("start").below(spec.start_jitter.as_nanos()));
    let end = Time::ZERO + duration;
    let context = FlowContext { name: spec.name.clone(), start, stop: spec.stop.min(end) };
    let pair =
        app_config(&spec.transfer).build(&context, &options.applications).map_err(|error| no_app(spec, &error))?;
    let slot = |side: Side, port: Option<u16>, remote: Option<Remote>| -> Result<AppSlot, BuildError> {
        let (host, stack, name) = match side {
            Side::From => (spec.from, &spec.from_stack, "from"),
            Side::To => (spec.to, &spec.to_stack, "to"),
        };
        let dialer = || -> Result<Dialer, BuildError> {
            let numbers = role(&format!("numbers/{name}"));
            Ok(Dialer { local: address(host).into(), stack: Stack::new(spec, stack, &options.controllers)?, numbers })
        };
        Ok(AppSlot {
            flow,
            sends: side == Side::From && !pair.datagrams,
            remote,
            dialer: if pair.datagrams { None } else { Some(dialer()?) },
            port,
            live: Vec::new(),
            accepted: Vec::new(),
            datagrams: VecDeque::new(),
            rng: role(&format!("app/{name}")),
            start: Some(start),
            stop: (spec.stop < end).then_some(spec.stop),
            meter: FlowMeter::default(),
        })
    };
    let host_of = |side: Side| if side == Side::From { spec.from } else { spec.to };
    let (waits, opens) = (pair.listener, pair.listener.other());
    let port = hosts[host_of(waits)].serve().ok_or_else(|| too_many(spec))?;
    let (waiting_app, opening_app) = match waits {
        Side::From => (pair.from, pair.to),
        Side::To => (pair.to, pair.from),
    };
    let waiting = hosts[host_of(waits)].add_app(waiting_app, slot(waits, Some(port), None)?);
    let remote = Remote { addr: address(host_of(waits)).into(), port };
    let local = match pair.datagrams {
        true => Some(hosts[host_of(opens)].open_datagrams().ok_or_else(|| too_many(spec))?),
        false => None,
    };
    let opening = hosts[host_of(opens)].add_app(opening_app, slot(opens, local, Some(remote))?);
    let (from, to) = if waits == Side::From { (waiting, opening) } else { (opening, waiting) };
    Ok(FlowSite {
        source: AppSite { host: spec.from, app: from },
        sink: AppSite { host: spec.to, app: to },
        start,
        stop: spec.stop.min(end),
        datagrams: pair.datagrams,
    })
}

/// What the scenario says of a flow's application.
fn app_config(transfer: &Transfer) -> AppConfig {
    match *transfer {
        Transfer::Bulk => AppConfig::Transfer(lopsided_app::Transfer::Bulk),
        Transfer::Bytes { size, repeat, pause } => {
            AppConfig::Transfer(lopsided_app::Transfer::Bytes { size, repeat, pause })
        }
        Transfer::OnOff { on, off } => AppConfig::Transfer(lopsided_app::Transfer::OnOff { on, off }),
        Transfer::Udp { rate, size } => AppConfig::Datagrams { rate, size },
    }
}

fn no_app(spec: &FlowSpec, error: &AppError) -> BuildError {
    BuildError::NoApplication { flow: spec.name.clone(), what: error.to_string() }
}

fn no_link(link: usize) -> BuildError {
    BuildError::Link { link: link.to_string(), what: "there is none with this number for a middlebox".to_owned() }
}

fn too_many(spec: &FlowSpec) -> BuildError {
    BuildError::TooMany { what: "flows", at: spec.name.clone(), limit: MAX_SERVICES }
}
