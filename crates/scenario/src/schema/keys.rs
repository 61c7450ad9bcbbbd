//! Declarations of the keys of a scenario file, by table. Editors and the reference page show their texts.

use crate::flow::FlowPart;
use crate::head::Head;
use crate::measured::{FairnessSpec, RecordSpec};
use crate::model::InterfaceSpec;
use crate::presets;
use crate::topology::{DumbbellPart, TopologyLinkPart};
use lopsided_link::{LinkConfig, MEDIA};
use lopsided_spec::ValueType::{self, Family, Free, List, Map, Name, Names, OneOrMore, Part, Size, Time, Word};
use lopsided_spec::{KeyInfo, PartInfo};
use lopsided_tcp::{CONTROLLERS, PROFILES, StackConfig};

/// Declares a key. `default` describes the default in words; it is empty if there is no default.
fn value(name: &'static str, value_type: ValueType, default: &'static str, text: &'static str) -> KeyInfo {
    let key = KeyInfo::new(name, value_type, text);
    if default.is_empty() { key } else { key.default_text(default) }
}

pub(crate) fn file() -> PartInfo {
    PartInfo {
        name: "scenario file",
        text: "A scenario: a network, the flows that cross it, and the data that is recorded.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value("scenario", Part(PartInfo::of::<Head>), "", "Name, duration and seed of the experiment."),
            value(
                "link",
                Part(access_line),
                "",
                "An access line between the hosts `server` and `client`: `down` runs from server to client. Use either [link] or [topology].",
            ),
            value(
                "lan",
                Part(line),
                "",
                "With [link] only: links between each host and its router (r1 at the server, r2 at the client). Without this table, the hosts are at the ends of the line.",
            ),
            value(
                "topology",
                Part(topology),
                "",
                "Any network of hosts, routers and links. Use either [topology] or [link].",
            ),
            value(
                "stack",
                Part(stack),
                "",
                "The TCP of all hosts: a profile, and settings that differ from it. For each key, the last of these tables that sets the key applies: [stack], [host.NAME.stack], the flow's stack, the flow's sender_stack or receiver_stack.",
            ),
            value("host", Map(host), "", "Settings of individual hosts, such as [host.client.stack]."),
            value("flow", List(&Part(flow)), "", "The flows, in the order of the result tables."),
            value("record", Part(PartInfo::of::<RecordSpec>), "", "Data to record during the run."),
            value(
                "fairness",
                Part(PartInfo::of::<FairnessSpec>),
                "",
                "If this table exists, even if it is empty, the fairness metrics of every run are computed.",
            ),
            value(
                "sweep",
                Free,
                "",
                "Axes to vary. An axis is a dotted key with a list of values or a range such as \"5..50:5 packets\", or a name with a list of tables, each of which overrides some keys. `repeat` is the number of seeds for each point.",
            ),
        ],
    }
}

/// Returns the keys of a link direction. A link accepts the same keys, which then apply to both directions.
fn line_keys<const N: usize>(own: [KeyInfo; N]) -> Vec<KeyInfo> {
    own.into_iter().chain(direction().keys).collect()
}

fn direction() -> PartInfo {
    PartInfo::of::<LinkConfig>()
}

pub(crate) fn access_line() -> PartInfo {
    PartInfo {
        name: "access line",
        text: "An access line. Keys next to `down` and `up` apply to both directions, unless a direction sets the same key.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: line_keys([
            value(
                "preset",
                Word(presets::names),
                "",
                "A typical access line, by name; `lopsided list presets` prints all names. A key that you set overrides the same key of the preset. A key that the preset sets for one direction overrides a key that you set for both directions.",
            ),
            value(
                "rtt",
                Time,
                "",
                "Base round-trip time, split evenly over the directions, such as \"20 ms\". Either `rtt` or one-way delays are required.",
            ),
            value("down", Part(direction), "", "Direction from the server to the client."),
            value("up", Part(direction), "", "Direction from the client to the server."),
        ]),
    }
}

pub(crate) fn line() -> PartInfo {
    PartInfo {
        name: "line",
        text: "A link. Keys next to `down` and `up` apply to both directions, unless a direction sets the same key.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: line_keys([
            value("rtt", Time, "", "Base round-trip time, split evenly over the directions."),
            value("down", Part(direction), "", "Direction from the first end to the second end: towards the client."),
            value("up", Part(direction), "", "Direction from the second end to the first end: away from the client."),
        ]),
    }
}

pub(crate) fn topology_link() -> PartInfo {
    let own = PartInfo::of::<TopologyLinkPart>();
    let ends = [
        value(
            "between",
            Names,
            "",
            "The two nodes of the link: `down` runs from the first to the second node, and `up` in the reverse direction. Required.",
        ),
        value("rtt", Time, "", "Base round-trip time, split evenly over the directions."),
        value("down", Part(direction), "", "Direction from the first node to the second node."),
        value("up", Part(direction), "", "Direction from the second node to the first node."),
    ];
    let keys = ends.into_iter().chain(own.keys).chain(direction().keys);
    PartInfo { make: None, keys: keys.collect(), ..own }
}

static MEDIUM: lopsided_spec::ValueType = Family(&MEDIA);

pub(crate) fn topology() -> PartInfo {
    PartInfo {
        name: "topology",
        text: "A network of hosts, routers and links. Packets take the route with the fewest links; routes do not change during a run.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value("hosts", List(&Name), "", "Names of the hosts."),
            value("routers", List(&Name), "", "Names of the routers."),
            value("link", List(&Part(topology_link)), "", "The links."),
            value(
                "medium",
                List(&MEDIUM),
                "",
                "Channels that several stations share. Each medium is a node. The nodes that have a link to a medium are its stations.",
            ),
            value(
                "dumbbell",
                Part(dumbbell),
                "",
                "A dumbbell: hosts left1, left2, ... at router r1, hosts right1, right2, ... at router r2, and the link `bottleneck` between the routers. You can add more hosts, routers and links.",
            ),
        ],
    }
}

pub(crate) fn dumbbell() -> PartInfo {
    let own = PartInfo::of::<DumbbellPart>();
    let lines = [
        value("access", Part(line), "", "The links between hosts and routers on both sides."),
        value(
            "left",
            Part(line),
            "",
            "Settings of the links on the left side. They override the settings in `access`.",
        ),
        value(
            "right",
            Part(line),
            "",
            "Settings of the links on the right side. They override the settings in `access`.",
        ),
        value("bottleneck", Part(line), "", "The link between r1 and r2. Required."),
    ];
    PartInfo { make: None, keys: own.keys.into_iter().chain(lines).collect(), ..own }
}

pub(crate) fn host() -> PartInfo {
    PartInfo {
        name: "host",
        text: "Settings of one host.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value("stack", Part(stack), "", "The TCP of this host."),
            value("interface", Part(PartInfo::of::<InterfaceSpec>), "", "The network interface of this host."),
        ],
    }
}

pub(crate) fn stack() -> PartInfo {
    let mut keys = vec![
        value("profile", Word(|| PROFILES.to_vec()), PROFILES[0], "The TCP implementation to imitate."),
        value("cc", Word(|| CONTROLLERS.to_vec()), CONTROLLERS[0], "Congestion control."),
        value(
            "mss",
            Size,
            "",
            "Value of the MSS option, which is the MTU minus 40 B. TCP options further reduce the payload of a segment. Use either `mss` or `mtu`.",
        ),
        value("mtu", Size, "", "Largest IP packet, such as \"1500 B\". Use either `mtu` or `mss`."),
    ];
    keys.extend(StackConfig::keys());
    PartInfo {
        name: "stack",
        text: "The TCP of a host: a profile, and the settings that differ from this profile.",
        shorthand: Some("profile"),
        exclusive: &[],
        make: None,
        keys,
    }
}

pub(crate) fn flow() -> PartInfo {
    let own = PartInfo::of::<FlowPart>();
    let ends = [
        value("from", OneOrMore(&Name), "", "The sending host. With a list, each copy of the flow uses the next host."),
        value("to", OneOrMore(&Name), "", "The receiving host. With a list, each copy of the flow uses the next host."),
        value("cc", Word(|| CONTROLLERS.to_vec()), "", "Congestion control of both ends. The same as `stack.cc`."),
        value("stack", Part(stack), "", "The TCP of both ends of this flow."),
        value("sender_stack", Part(stack), "", "The TCP of this flow's sender of data."),
        value("receiver_stack", Part(stack), "", "The TCP of this flow's receiver of data."),
    ];
    // `make` is `None`, because stacks are merged with other tables and ends are looked up in the network.
    PartInfo { make: None, keys: own.keys.into_iter().chain(ends).collect(), ..own }
}
