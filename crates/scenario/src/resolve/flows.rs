//! Reads the flows: the sender, the receiver, start and stop times, the application, and the TCP settings of both ends.

use super::line::read_list;
use super::network::Network;
use super::part::{Line, read_part};
use super::read::{Layers, read};
use super::stack::{congestion_control, resolve_stack};
use crate::error::{Place, Report, quote};
use crate::flow::FlowPart;
use crate::graph::{Hop, Routes};
use crate::model::FlowSpec;
use crate::schema::entry_name;
use crate::tree::{self, Node, Table};
use crate::units::format_span;
use crate::value;
use lopsided_core::{Dir, Duration, Time};
use lopsided_tcp::StackConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of flows. A larger number is assumed to be a typing error.
const MOST_FLOWS: usize = 100_000;

/// The flows of a scenario, as three parallel lists: the settings of each flow, the position of its table in the file,
/// and the links on the path of its data.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub specs: Vec<FlowSpec>,
    pub places: Vec<Place>,
    pub paths: Vec<Vec<Hop>>,
}

/// Data that is needed to read each flow.
struct Common<'a, 't> {
    file: &'a Layers<'t>,
    network: &'a Network,
    /// The valid values of `cc`.
    controllers: &'a [&'a str],
    routes: Routes<'a>,
    duration: Duration,
    /// For each direction, the index of the host pair that the next flow uses.
    next_pair: [usize; 2],
    names: BTreeSet<String>,
    known_paths: BTreeMap<(usize, usize), Option<Vec<Hop>>>,
}

pub(super) fn resolve_flows(
    file: &Layers<'_>,
    network: &Network,
    controllers: &[&str],
    duration: Duration,
    report: &mut Report<'_>,
) -> Flows {
    let mut flows = Flows::default();
    let items: &[Node] = match file.get("flow") {
        Some((Node { value: tree::Value::List(items), .. }, _)) => items,
        _ => &[],
    };
    if items.is_empty() {
        let help = "add [[flow]] with direction = \"down\"".to_owned();
        report.problem(Place::TOP, "flow", "the scenario has no flow", Some(help));
    }
    let mut common = Common {
        file,
        network,
        controllers,
        routes: network.graph.routes(),
        duration,
        next_pair: [0, 0],
        names: BTreeSet::new(),
        known_paths: BTreeMap::new(),
    };
    for (index, item) in items.iter().enumerate() {
        if let Some(table) = item.table() {
            let layers = Layers::one(table, &format!("flow.{}", index + 1), item.place);
            common.resolve_group(&layers, &entry_name(index, item), &mut flows, report);
        }
    }
    flows
}

impl<'t> Common<'_, 't> {
    fn resolve_group(&mut self, flow: &Layers<'t>, group_name: &str, flows: &mut Flows, report: &mut Report<'_>) {
        let part: FlowPart = read_part(flow, Line::default(), report);
        // A count of 0 was already reported as an error. Continue with 1 to find further errors.
        let count = part.count.max(1) as usize;
        if flows.specs.len() + count > MOST_FLOWS {
            let message = format!("too many flows: at most {MOST_FLOWS} are allowed");
            report.problem(flow.place_of("count"), "flow.count", message, None);
            return;
        }
        let stop = self.resolve_times(flow, &part, report);
        let (senders, receivers) = self.resolve_ends(flow, &part, report);
        if senders.is_empty() || receivers.is_empty() {
            // No flow uses these stacks. They are read only to report errors in them.
            for key in ["stack", "sender_stack", "receiver_stack"] {
                let _ = resolve_stack(&flow.below(key), self.controllers, report);
            }
            let _ = read(flow, "cc", |node| congestion_control(node, self.controllers), report);
        }
        self.refuse_stack_keys(flow, &part, report);
        let mut stacks: BTreeMap<(usize, bool), Arc<StackConfig>> = BTreeMap::new();
        for copy in 0..count {
            let name = if count > 1 { format!("{group_name}.{}", copy + 1) } else { group_name.to_owned() };
            // A name identifies a random stream and a row of results, so it must be unique.
            if !self.names.insert(name.clone()) {
                let message = format!("another flow has the name {}", quote(&name));
                report.problem(
                    flow.place_of("name"),
                    flow.path(),
                    message,
                    Some("give this flow another `name`".to_owned()),
                );
            }
            let (Some(from), Some(to)) = (pick(&senders, copy), pick(&receivers, copy)) else { continue };
            let Some(path) = self.path(flow, from, to, report) else { continue };
            let mut stack = |host: usize, sends: bool, report: &mut Report<'_>| {
                stacks.entry((host, sends)).or_insert_with(|| Arc::new(self.stack(flow, host, sends, report))).clone()
            };
            let (from_stack, to_stack) = (stack(from, true, report), stack(to, false, report));
            // All copies have the same transport and application, so check only the first copy.
            if copy == 0 {
                if let Err(fault) = part.transport.check_flow(&part.app, &from_stack.cc) {
                    let path = format!("{}.{}", flow.path(), fault.key);
                    report.problem(flow.place_of(fault.key), &path, fault.message, fault.help);
                }
            }
            flows.specs.push(FlowSpec {
                name,
                group: part.group.clone().unwrap_or_else(|| group_name.to_owned()),
                from,
                to,
                direction: common_direction(&path),
                start: Time::ZERO + part.start + part.start_spacing * copy as u64,
                start_jitter: part.start_jitter,
                stop: Time::ZERO + stop,
                app: part.app.clone(),
                transport: part.transport.clone(),
                from_stack,
                to_stack,
            });
            flows.places.push(flow.place);
            flows.paths.push(path);
        }
    }

    /// Reports TCP settings in a flow that does not use TCP. Settings in `[stack]` and `[host]` may belong to other flows.
    fn refuse_stack_keys(&self, flow: &Layers<'_>, part: &FlowPart, report: &mut Report<'_>) {
        let Some(known) = part.transport.stack_keys() else { return };
        let kind = part.transport.kind();
        for table in ["stack", "sender_stack", "receiver_stack"] {
            let stack = flow.below(table);
            let keys = StackConfig::keys();
            for key in keys.iter().map(|key| key.name).filter(|key| stack.has(key) && !known.contains(key)) {
                let message = format!("`{key}` is a TCP setting, but this flow has transport = \"{kind}\"");
                let help = format!("remove it: with this transport, `stack` may only have {}", known.join(", "));
                report.problem(stack.place_of(key), &format!("{}.{key}", stack.path()), message, Some(help));
            }
        }
    }

    /// Returns the time at which the flow's application stops. Reports an error if the flow would never start.
    fn resolve_times(&self, flow: &Layers<'_>, part: &FlowPart, report: &mut Report<'_>) -> Duration {
        let (start, last) = (part.start, part.last_start());
        if flow.has("start_spacing") && !flow.has("count") {
            let (place, path) = (flow.place_of("start_spacing"), format!("{}.start_spacing", flow.path()));
            let help = "it separates the copies of a flow: set `count`, or use `start`".to_owned();
            report.problem(place, &path, "`start_spacing` has no effect without `count`", Some(help));
        }
        // No application runs longer than the scenario.
        let stop = part.stop.unwrap_or(self.duration).min(self.duration);
        if last >= self.duration {
            let key = if start >= self.duration { "start" } else { "start_spacing" };
            let message = match key {
                "start" => format!(
                    "the flow starts at {}, but the run ends at {}",
                    format_span(start),
                    format_span(self.duration)
                ),
                _ => format!(
                    "the last copy starts at {}, but the run ends at {}",
                    format_span(last),
                    format_span(self.duration)
                ),
            };
            report.problem(flow.place_of(key), &format!("{}.{key}", flow.path()), message, None);
        } else if last >= stop && flow.has("stop") {
            let message = format!("the flow stops at {}, but starts at {}", format_span(stop), format_span(last));
            report.problem(flow.place_of("stop"), &format!("{}.stop", flow.path()), message, None);
        }
        stop
    }

    /// Returns the senders and receivers that the copies of a flow use in turn; empty lists after an error.
    fn resolve_ends(
        &mut self,
        flow: &Layers<'_>,
        part: &FlowPart,
        report: &mut Report<'_>,
    ) -> (Vec<usize>, Vec<usize>) {
        let (nothing, count) = ((Vec::new(), Vec::new()), part.count.max(1) as usize);
        if self.network.broken {
            return nothing;
        }
        if flow.has("direction") {
            if let Some(key) = ["from", "to"].into_iter().find(|key| flow.has(key)) {
                let help = "use either `direction`, or `from` and `to`".to_owned();
                report.problem(
                    flow.place_of(key),
                    flow.path(),
                    format!("`{key}` and `direction` exclude each other"),
                    Some(help),
                );
                return nothing;
            }
            let Some((downstream, upstream)) = &self.network.ends else {
                let help = "add from = \"HOST\" and to = \"HOST\" instead".to_owned();
                report.problem(
                    flow.place_of("direction"),
                    flow.path(),
                    "`direction` is only allowed with [link] or [topology.dumbbell]",
                    Some(help),
                );
                return nothing;
            };
            let (senders, receivers, side) = match part.direction {
                Some(Dir::Down) => (downstream, upstream, 0),
                Some(Dir::Up) => (upstream, downstream, 1),
                None => return nothing,
            };
            // Flows of one direction use the host pairs in turn. Each direction starts with the first pair.
            let first = self.next_pair[side];
            self.next_pair[side] = first + count;
            let turned = |hosts: &[usize]| -> Vec<usize> {
                (0..count.min(hosts.len())).map(|copy| hosts[(first + copy) % hosts.len()]).collect()
            };
            return (turned(senders), turned(receivers));
        }
        for key in ["from", "to"] {
            if !flow.has(key) {
                let known = if self.network.ends.is_some() { "direction = \"down\", or " } else { "" };
                let help = format!("add {known}`from` and `to` with names of hosts");
                report.problem(flow.place, flow.path(), "the flow has no sender and no receiver", Some(help));
                return nothing;
            }
        }
        (self.hosts(flow, "from", report), self.hosts(flow, "to", report))
    }

    fn hosts(&self, flow: &Layers<'_>, key: &str, report: &mut Report<'_>) -> Vec<usize> {
        let named = read_list(flow, key, value::text, report);
        if named.is_empty()
            && flow.get(key).is_some_and(|(node, _)| matches!(&node.value, tree::Value::List(list) if list.is_empty()))
        {
            report.problem(flow.place_of(key), flow.path(), format!("`{key}` must name at least one host"), None);
        }
        let mut hosts = Vec::with_capacity(named.len());
        for (name, node) in named {
            match self.network.host(&name) {
                Some(host) => hosts.push(host),
                None => {
                    let (message, help) = self.network.unknown_host(&name);
                    report.problem(node.place, &format!("{}.{key}", flow.path()), message, Some(help));
                }
            }
        }
        hosts
    }

    fn path(&mut self, flow: &Layers<'_>, from: usize, to: usize, report: &mut Report<'_>) -> Option<Vec<Hop>> {
        let hosts = &self.network.graph.hosts;
        if from == to {
            let message = format!("sender and receiver are the same host {}", quote(&hosts[from]));
            report.problem(flow.place_of("to"), flow.path(), message, None);
            return None;
        }
        let routes = &self.routes;
        // Paths are cached, because 100,000 flows may share a few host pairs.
        let path = self.known_paths.entry((from, to)).or_insert_with(|| routes.path(from, to));
        if path.is_none() {
            let message = format!("there is no path from {} to {}", quote(&hosts[from]), quote(&hosts[to]));
            let help = "hosts do not forward packets: connect the two hosts through routers".to_owned();
            report.problem(flow.place, flow.path(), message, Some(help));
        }
        path.clone()
    }

    /// Reads the TCP settings of one end from four tables. The most specific table comes first: this end of the flow,
    /// both ends of the flow, the host, `[stack]`.
    fn stack(&self, flow: &Layers<'t>, host: usize, sends: bool, report: &mut Report<'_>) -> StackConfig {
        let own_host = match self.file.get("host") {
            Some((Node { value: tree::Value::Table(hosts), .. }, _)) => {
                hosts.get(&self.network.graph.hosts[host]).and_then(Node::table)
            }
            _ => None,
        };
        let own_host = own_host.map(|table: &Table| {
            let path = format!("host.{}", self.network.graph.hosts[host]);
            Layers::one(table, &path, flow.place).below("stack")
        });
        let this_end = flow.below(if sends { "sender_stack" } else { "receiver_stack" });
        // `[stack]`, the table for all hosts, is the least specific.
        let general = own_host.unwrap_or(Layers::none(flow.place)).over(&self.file.below("stack"));
        let both_ends = flow.below("stack");
        let mut spec = resolve_stack(&this_end.clone().over(&both_ends).over(&general), self.controllers, report);
        // `cc` in a flow is short for `stack.cc` at both ends.
        if let Some(cc) = read(flow, "cc", |node| congestion_control(node, self.controllers), report) {
            if both_ends.has("cc") {
                let help = "`cc` is short for stack.cc".to_owned();
                report.problem(flow.place_of("cc"), flow.path(), "`cc` is given twice", Some(help));
            }
            // A `cc` in the table of this end takes precedence over the flow's `cc`.
            if !this_end.has("cc") {
                spec.cc = cc.to_owned();
            }
        }
        spec
    }
}

fn pick(hosts: &[usize], copy: usize) -> Option<usize> {
    if hosts.is_empty() { None } else { Some(hosts[copy % hosts.len()]) }
}

fn common_direction(path: &[Hop]) -> Option<Dir> {
    let first = path.first()?.dir;
    path.iter().all(|hop| hop.dir == first).then_some(first)
}
