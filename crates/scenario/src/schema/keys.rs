//! The keys of a scenario file, table by table. A line here is the documentation that editors show.

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

/// A key with its default in words, empty where there is none.
fn value(name: &'static str, value_type: ValueType, default: &'static str, text: &'static str) -> KeyInfo {
    let key = KeyInfo::new(name, value_type, text);
    if default.is_empty() { key } else { key.default_text(default) }
}

pub(crate) fn file() -> PartInfo {
    PartInfo {
        name: "scenario file",
        text: "A lopsided scenario: a network, the flows that cross it, and what is recorded.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value("scenario", Part(PartInfo::of::<Head>), "", "What the experiment is called and how long it runs."),
            value(
                "link",
                Part(access_line),
                "",
                "An access line between the hosts `server` and `client`: `down` runs from server to client. Use either this or [topology].",
            ),
            value(
                "lan",
                Part(line),
                "",
                "With [link] only: links between each host and its router (r1 at the server, r2 at the client). Without it the hosts sit at the ends of the line.",
            ),
            value(
                "topology",
                Part(topology),
                "",
                "Any network of hosts, routers and links. Use either this or [link].",
            ),
            value(
                "stack",
                Part(stack),
                "",
                "The TCP of every host: a profile and what is changed in it. The more specific setting wins key by key: [stack], [host.NAME.stack], a flow's stack, its sender_stack and receiver_stack.",
            ),
            value("host", Map(host), "", "Settings of single hosts: [host.client.stack]."),
            value("flow", List(&Part(flow)), "", "The flows, in the order of the result tables."),
            value("record", Part(PartInfo::of::<RecordSpec>), "", "What is written down during the run."),
            value(
                "fairness",
                Part(PartInfo::of::<FairnessSpec>),
                "",
                "Where it is there, even empty, the metrics of fairness are made of every run.",
            ),
            value(
                "sweep",
                Free,
                "",
                "Axes to vary: a dotted key with a list of values or a range such as \"5..50:5 packets\", or a name with a list of tables of overrides. `repeat` runs each point with that many seeds.",
            ),
        ],
    }
}

/// The keys of a direction, which a link has too: a link's hold for both of its directions.
fn line_keys<const N: usize>(own: [KeyInfo; N]) -> Vec<KeyInfo> {
    own.into_iter().chain(direction().keys).collect()
}

fn direction() -> PartInfo {
    PartInfo::of::<LinkConfig>()
}

pub(crate) fn access_line() -> PartInfo {
    PartInfo {
        name: "access line",
        text: "An access line. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: line_keys([
            value(
                "preset",
                Word(presets::names),
                "",
                "A line as it is sold, by name: `lopsided list presets` lists them. What is said beside it wins, key by key; what it says of a \
                 direction wins over what is said of both.",
            ),
            value(
                "rtt",
                Time,
                "",
                "Base round-trip time, split evenly over the directions, such as \"20 ms\". This or delays are required.",
            ),
            value("down", Part(direction), "", "From server to client."),
            value("up", Part(direction), "", "From client to server."),
        ]),
    }
}

pub(crate) fn line() -> PartInfo {
    PartInfo {
        name: "line",
        text: "A link. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: line_keys([
            value("rtt", Time, "", "Base round-trip time, split evenly over the directions."),
            value("down", Part(direction), "", "From the first end to the second: towards the client."),
            value("up", Part(direction), "", "From the second end to the first: away from the client."),
        ]),
    }
}

pub(crate) fn topology_link() -> PartInfo {
    let own = PartInfo::of::<TopologyLinkPart>();
    let ends = [
        value("between", Names, "", "Two nodes: `down` runs from the first to the second, `up` back. Required."),
        value("rtt", Time, "", "Base round-trip time, split evenly over the directions."),
        value("down", Part(direction), "", "From the first node to the second."),
        value("up", Part(direction), "", "From the second node to the first."),
    ];
    let keys = ends.into_iter().chain(own.keys).chain(direction().keys);
    PartInfo { make: None, keys: keys.collect(), ..own }
}

static MEDIUM: lopsided_spec::ValueType = Family(&MEDIA);

pub(crate) fn topology() -> PartInfo {
    PartInfo {
        name: "topology",
        text: "A network: hosts send and receive, routers forward, links join them. Routing is static, by fewest links.",
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
                "Media that several stations share. Each is a node; the links between it and others make those its stations.",
            ),
            value(
                "dumbbell",
                Part(dumbbell),
                "",
                "Pairs of hosts left1, left2, ... and right1, right2, ... at routers r1 and r2 joined by the link `bottleneck`. More hosts, routers and links may be added to it.",
            ),
        ],
    }
}

pub(crate) fn dumbbell() -> PartInfo {
    let own = PartInfo::of::<DumbbellPart>();
    let lines = [
        value("access", Part(line), "", "The links between hosts and routers on both sides."),
        value("left", Part(line), "", "What differs on the left."),
        value("right", Part(line), "", "What differs on the right."),
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
            value(
                "interface",
                Part(PartInfo::of::<InterfaceSpec>),
                "",
                "What this host's own interface does to the packets that it sends.",
            ),
        ],
    }
}

pub(crate) fn stack() -> PartInfo {
    let mut keys = vec![
        value("profile", Word(|| PROFILES.to_vec()), PROFILES[0], "The stack whose behaviour is taken."),
        value("cc", Word(|| CONTROLLERS.to_vec()), CONTROLLERS[0], "Congestion control."),
        value("mss", Size, "", "The MSS option, which is the MTU less 40; TCP options come out of it. This or mtu."),
        value("mtu", Size, "", "Largest IP packet, such as \"1500 B\". This or mss."),
    ];
    keys.extend(StackConfig::keys());
    PartInfo {
        name: "stack",
        text: "The TCP of a host: a profile and what is changed in it. What is not given is as the profile says.",
        shorthand: Some("profile"),
        exclusive: &[],
        make: None,
        keys,
    }
}

pub(crate) fn flow() -> PartInfo {
    let own = PartInfo::of::<FlowPart>();
    let ends = [
        value("from", OneOrMore(&Name), "", "The sending host; of a list each copy takes the next."),
        value("to", OneOrMore(&Name), "", "The receiving host; of a list each copy takes the next."),
        value("cc", Word(|| CONTROLLERS.to_vec()), "", "Congestion control of both ends: short for stack.cc."),
        value("stack", Part(stack), "", "The TCP of both ends of this flow."),
        value("sender_stack", Part(stack), "", "The TCP of this flow's sender of data."),
        value("receiver_stack", Part(stack), "", "The TCP of this flow's receiver of data."),
    ];
    // Its stacks are merged with those of other tables, and its ends are places in the network: not read as a part is.
    PartInfo { make: None, keys: own.keys.into_iter().chain(ends).collect(), ..own }
}
