//! Reads the network: the access line, a dumbbell, or any graph of hosts, routers and links.

use super::line::{self, Defaults, FAST, PLAIN, read_list, resolve_delays, resolve_line};
use super::part::{Line, read_family, read_part};
use super::preset;
use super::read::{Layers, read, require};
use crate::error::{Place, Report, did_you_mean, quote};
use crate::graph::{Graph, LinkSpec, MediumSpec, NodeRef};
use crate::presets;
use crate::schema::entry_name;
use crate::topology::{DumbbellPart, TopologyLinkPart};
use crate::tree::{Node, Table, Value};
use crate::value;
use lopsided_core::Duration;
use lopsided_link::{LinkConfig, MEDIA, MediumConfig};
use lopsided_spec::{self as spec, Scalar};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The graph, and other data that is needed to read the flows.
#[derive(Debug, Default)]
pub(super) struct Network {
    pub graph: Graph,
    /// All nodes by name.
    nodes: BTreeMap<String, NodeRef>,
    link_names: BTreeSet<String>,
    /// Position in the file, and dotted path, of each link's table.
    pub link_places: Vec<(Place, String)>,
    /// The host pairs: senders and receivers of flows with `direction = "down"`. `None` if each flow must name its
    /// hosts.
    pub ends: Option<(Vec<usize>, Vec<usize>)>,
    /// True if the network is missing or incomplete, so that errors about unknown hosts would be misleading.
    pub broken: bool,
}

pub(super) fn resolve_network(file: &Layers<'_>, report: &mut Report<'_>) -> Network {
    let mut network = Network::default();
    match (file.has("link"), file.has("topology")) {
        // `[link]` and `[topology]` each describe the whole network, so only one of them is allowed.
        (true, true) => {
            let help = "a scenario has one network: remove one of them".to_owned();
            report.problem(
                file.below("topology").place,
                "topology",
                "[link] and [topology] exclude each other",
                Some(help),
            );
            network.broken = true;
        }
        (true, false) => network.access_line(file, report),
        (false, true) => network.topology(&file.below("topology"), report),
        (false, false) => {
            let help = "add [link] with rtt, and [link.down] and [link.up] with rate".to_owned();
            report.problem(
                Place::TOP,
                "link",
                "the network is missing: there is neither [link] nor [topology]",
                Some(help),
            );
            network.broken = true;
        }
    }
    if file.has("lan") && !file.has("link") {
        let help = "in a topology, declare each link with [[topology.link]]".to_owned();
        report.problem(file.below("lan").place, "lan", "[lan] is only allowed with [link]", Some(help));
    }
    network
}

impl Network {
    pub(super) fn host(&self, name: &str) -> Option<usize> {
        match self.nodes.get(name) {
            Some(NodeRef::Host(index)) => Some(*index),
            _ => None,
        }
    }

    /// Returns the error message and the advice for an unknown host.
    pub(super) fn unknown_host(&self, name: &str) -> (String, String) {
        if self.nodes.contains_key(name) {
            return (format!("{} is a router, not a host", quote(name)), "use the name of a host".to_owned());
        }
        (format!("there is no host {}", quote(name)), did_you_mean(name, self.graph.hosts.iter().map(String::as_str)))
    }

    fn access_line(&mut self, file: &Layers<'_>, report: &mut Report<'_>) {
        let own = file.below("link");
        let preset = read(&own, "preset", |node| value::choice(node, "preset", &presets::names()), report);
        let link = match preset.and_then(preset::link) {
            Some(keys) => own.clone().over(&Layers::one(keys, "link", own.place)),
            None => own,
        };
        let server = self.add_host("server");
        let client = self.add_host("client");
        let (mut from, mut to, mut beyond) = (server, client, Duration::ZERO);
        let lan = file.below("lan");
        if !lan.is_empty() {
            from = self.add_router("r1");
            to = self.add_router("r2");
            let (down, up) = resolve_delays(&lan, FAST, report);
            // A round trip crosses each of the two LAN links once in each direction.
            beyond = (down + up) * 2;
        }
        let defaults = Defaults { delay_required: true, base_rtt_beyond: Some(beyond), ..PLAIN };
        self.add_line("link", from, to, &link, defaults, report);
        if !lan.is_empty() {
            self.add_line("server-r1", server, from, &lan, FAST, report);
            self.add_line("r2-client", to, client, &lan, FAST, report);
        }
        self.ends = Some((vec![0], vec![1]));
    }

    fn topology(&mut self, topology: &Layers<'_>, report: &mut Report<'_>) {
        // The dumbbell is read first, so that its nodes get the lowest numbers.
        if topology.has("dumbbell") {
            self.dumbbell(&topology.below("dumbbell"), report);
        }
        self.named_nodes(topology, "hosts", report);
        self.named_nodes(topology, "routers", report);
        self.media(topology, report);
        if let Some((Node { value: Value::List(links), .. }, path)) = topology.get("link") {
            for (index, item) in links.iter().enumerate() {
                if let Some(table) = item.table() {
                    self.named_link(index, item, table, &format!("{path}.{}", index + 1), report);
                }
            }
        }
        if self.graph.hosts.is_empty() && !self.broken {
            let help = "add hosts = [\"server\", \"client\"], or [topology.dumbbell]".to_owned();
            report.problem(topology.place, "topology.hosts", "the topology has no hosts", Some(help));
            self.broken = true;
        }
    }

    fn dumbbell(&mut self, dumbbell: &Layers<'_>, report: &mut Report<'_>) {
        let before = report.count();
        let DumbbellPart { pairs } = read_part(dumbbell, Line::default(), report);
        self.broken |= report.count() > before;
        require(dumbbell, "bottleneck", "{ rate = \"100 Mbit/s\", delay = \"18 ms\" }", report);
        let (left, right) = (dumbbell.below("left"), dumbbell.below("right"));
        let access = dumbbell.below("access");
        if access.is_empty() && (left.is_empty() || right.is_empty()) {
            require(dumbbell, "access", "{ rate = \"1 Gbit/s\", delay = \"1 ms\" }", report);
        }
        if self.broken {
            return;
        }
        let (r1, r2) = (self.add_router("r1"), self.add_router("r2"));
        if dumbbell.has("bottleneck") {
            // All pairs of a dumbbell have the same base RTT, so limits in BDP are well defined.
            let beyond = [&left, &right].map(|side| resolve_delays(&side.clone().over(&access), FAST, report));
            let beyond = beyond.into_iter().fold(Duration::ZERO, |sum, (down, up)| sum + down + up);
            let defaults = Defaults { base_rtt_beyond: Some(beyond), ..PLAIN };
            self.add_line("bottleneck", r1, r2, &dumbbell.below("bottleneck"), defaults, report);
        }
        let lefts: Vec<NodeRef> = (1..=pairs).map(|number| self.add_host(&format!("left{number}"))).collect();
        let rights: Vec<NodeRef> = (1..=pairs).map(|number| self.add_host(&format!("right{number}"))).collect();
        let index_of = |nodes: &[NodeRef]| nodes.iter().filter_map(|node| node.host()).collect::<Vec<usize>>();
        self.ends = Some((index_of(&lefts), index_of(&rights)));
        if access.is_empty() && (left.is_empty() || right.is_empty()) {
            return;
        }
        let left = left.over(&access);
        let right = right.over(&access);
        // Resolve these lines once and share them, because a dumbbell can have 50,000 pairs.
        let (left_down, left_up) = shared(resolve_line(&left, FAST, report));
        let (right_down, right_up) = shared(resolve_line(&right, FAST, report));
        for (number, (host, other)) in (1..=pairs).zip(lefts.into_iter().zip(rights)) {
            let name = format!("left{number}-r1");
            self.add_link(
                LinkSpec { name, from: host, to: r1, down: left_down.clone(), up: left_up.clone(), one_way: false },
                &left,
            );
            let name = format!("r2-right{number}");
            self.add_link(
                LinkSpec { name, from: r2, to: other, down: right_down.clone(), up: right_up.clone(), one_way: false },
                &right,
            );
        }
    }

    fn named_nodes(&mut self, topology: &Layers<'_>, key: &str, report: &mut Report<'_>) {
        for (name, node) in read_list(topology, key, value::name, report) {
            let path = format!("topology.{key}");
            if self.nodes.contains_key(&name) {
                report.problem(node.place, &path, format!("another node has the name {}", quote(&name)), None);
            // Reject a dot in the name of a node, because names with a dot are reserved for the copies of flows.
            } else if name.contains('.') {
                report.problem(
                    node.place,
                    &path,
                    format!("the name {} contains a dot, which is not allowed", quote(&name)),
                    None,
                );
            } else if key == "hosts" {
                self.add_host(&name);
            } else {
                self.add_router(&name);
            }
        }
    }

    /// Reads the shared media. Routing treats a medium as a router.
    fn media(&mut self, topology: &Layers<'_>, report: &mut Report<'_>) {
        let Some((Node { value: Value::List(media), .. }, path)) = topology.get("medium") else { return };
        for (index, item) in media.iter().enumerate() {
            let Some(table) = item.table() else { continue };
            let path = format!("{path}.{}", index + 1);
            let layers = Layers::one(table, &path, item.place);
            let part = read_family(&MEDIA, &layers, Line::default(), report);
            // This fails only if an error was reported when the part was read.
            let Ok(medium) = MediumConfig::from_value(spec::Value::Part(part)) else { continue };
            let name = medium.settings().name.clone();
            if self.nodes.contains_key(&name) || name.contains('.') {
                let message =
                    format!("{} cannot be the name of a medium: it is already used, or contains a dot", quote(&name));
                report.problem(layers.place_of("name"), &path, message, None);
                continue;
            }
            // The medium becomes the next router.
            self.graph.media.push(MediumSpec { router: self.graph.routers.len(), medium });
            self.add_router(&name);
        }
    }

    fn named_link(&mut self, index: usize, item: &Node, table: &Table, path: &str, report: &mut Report<'_>) {
        let link = Layers::one(table, path, item.place);
        let part: TopologyLinkPart = read_part(&link, Line::default(), report);
        require(&link, "between", "[\"server\", \"client\"]", report);
        // Read these before the link's ends, so that errors in both are reported.
        let (down, up) = shared(resolve_line(&link, PLAIN, report));
        let Some((from, to)) = self.link_ends(&link, report) else { return };
        let name = part.name.unwrap_or_else(|| entry_name(index, item));
        if self.link_names.contains(&name) {
            let help = "give this link another `name`".to_owned();
            report.problem(link.place, path, format!("another link has the name {}", quote(&name)), Some(help));
            return;
        }
        self.add_link(LinkSpec { name, from, to, down, up, one_way: part.one_way }, &link);
    }

    fn link_ends(&self, link: &Layers<'_>, report: &mut Report<'_>) -> Option<(NodeRef, NodeRef)> {
        let (node, path) = link.get("between")?;
        let ends = match &node.value {
            Value::List(ends) if ends.len() == 2 => ends,
            _ => {
                let help = "write between = [\"server\", \"client\"]".to_owned();
                report.problem(node.place, &path, "`between` must name two nodes", Some(help));
                return None;
            }
        };
        let mut find = |end: &Node| {
            let name = match value::text(end) {
                Ok(name) => name,
                Err(error) => {
                    report.problem(end.place, &path, error.message, error.help);
                    return None;
                }
            };
            let found = self.nodes.get(&name).copied();
            if found.is_none() {
                let help = did_you_mean(&name, self.nodes.keys().map(String::as_str));
                report.problem(end.place, &path, format!("there is no host or router {}", quote(&name)), Some(help));
            }
            found
        };
        // Look up both ends before returning, so that errors in both are reported.
        let (from, to) = (find(&ends[0]), find(&ends[1]));
        // Unknown nodes are both `None` and therefore equal, but they were already reported.
        if from.is_some() && from == to {
            report.problem(node.place, &path, "a link needs two different nodes", None);
            return None;
        }
        from.zip(to)
    }

    fn add_host(&mut self, name: &str) -> NodeRef {
        let node = NodeRef::Host(self.graph.hosts.len());
        self.graph.hosts.push(name.to_owned());
        self.nodes.insert(name.to_owned(), node);
        node
    }

    fn add_router(&mut self, name: &str) -> NodeRef {
        let node = NodeRef::Router(self.graph.routers.len());
        self.graph.routers.push(name.to_owned());
        self.nodes.insert(name.to_owned(), node);
        node
    }

    fn add_line(
        &mut self,
        name: &str,
        from: NodeRef,
        to: NodeRef,
        layers: &Layers<'_>,
        defaults: line::Defaults,
        report: &mut Report<'_>,
    ) {
        let (down, up) = shared(resolve_line(layers, defaults, report));
        self.add_link(LinkSpec { name: name.to_owned(), from, to, down, up, one_way: false }, layers);
    }

    fn add_link(&mut self, link: LinkSpec, layers: &Layers<'_>) {
        self.link_names.insert(link.name.clone());
        self.graph.links.push(link);
        self.link_places.push((layers.place, layers.path().to_owned()));
    }
}

/// Moves the settings of both directions into shared memory, so that several links can use them.
fn shared((down, up): (LinkConfig, LinkConfig)) -> (Arc<LinkConfig>, Arc<LinkConfig>) {
    (Arc::new(down), Arc::new(up))
}
