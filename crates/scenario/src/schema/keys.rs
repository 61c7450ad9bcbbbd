//! The keys of a scenario file, table by table. A line here is the documentation that editors show.

use crate::measured::{FairnessSpec, RecordSpec};
use crate::names::{CONGESTION_CONTROLS, PROFILES};
use lopsided_app::APPS;
use lopsided_link::LinkConfig;
use lopsided_spec::ValueType::{
    self, DepthOrTime, Family, Flag, Free, Integer, List, Map, Name, Names, OneOrMore, Packets, Part, Size, Text, Time,
    Window, Word,
};
use lopsided_spec::{KeyInfo, PartInfo};

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
            value("scenario", Part(scenario), "", "What the experiment is called and how long it runs."),
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

pub(crate) fn scenario() -> PartInfo {
    PartInfo {
        name: "scenario",
        text: "What the experiment is called and how long it runs.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value(
                "name",
                Name,
                "",
                "A short name of letters, digits, - and _. Default: the file's name without .toml.",
            ),
            value("title", Text, "", "A line that says what is shown."),
            value("duration", Time, "", "How long the run lasts, such as \"240 s\" or \"4 min\". Required."),
            value("seed", Integer, "1", "Seed of everything random. Repetition k runs with seed + k."),
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
    PartInfo {
        name: "topology link",
        text: "A link between two nodes. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: line_keys([
            value("between", Names, "", "Two nodes: `down` runs from the first to the second, `up` back. Required."),
            value("name", Name, "", "Default: the two nodes' names joined by -."),
            value("rtt", Time, "", "Base round-trip time, split evenly over the directions."),
            value("down", Part(direction), "", "From the first node to the second."),
            value("up", Part(direction), "", "From the second node to the first."),
        ]),
    }
}

/// A limit as a table; its value is one [`lopsided_spec::Amount`].
pub(crate) fn limit() -> PartInfo {
    PartInfo {
        name: "queue limit",
        text: "How much a queue may hold.",
        shorthand: Some("amount"),
        exclusive: &[&["amount", "bins"]],
        make: None,
        keys: vec![
            value(
                "amount",
                DepthOrTime,
                "50 packets",
                "Packets, a size (IP octets), a time at the line's rate such as \"200 ms\", or \"1 BDP\" (with [link]).",
            ),
            value(
                "bins",
                Integer,
                "",
                "In place of an amount: so many memory cells; a packet takes as many whole ones as it needs.",
            ),
            value("size", Size, "", "The size of a bin, such as \"512 B\"."),
        ],
    }
}

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
                "dumbbell",
                Part(dumbbell),
                "",
                "Pairs of hosts left1, left2, ... and right1, right2, ... at routers r1 and r2 joined by the link `bottleneck`. More hosts, routers and links may be added to it.",
            ),
        ],
    }
}

pub(crate) fn dumbbell() -> PartInfo {
    PartInfo {
        name: "dumbbell",
        text: "Hosts leftN and rightN at two routers with one bottleneck; down runs from left to right.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value("pairs", Integer, "", "How many hosts on each side. Required."),
            value("access", Part(line), "", "The links between hosts and routers on both sides."),
            value("left", Part(line), "", "What differs on the left."),
            value("right", Part(line), "", "What differs on the right."),
            value("bottleneck", Part(line), "", "The link between r1 and r2. Required."),
        ],
    }
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
                Part(interface),
                "",
                "What this host's own interface does to the packets that it sends.",
            ),
        ],
    }
}

pub(crate) fn interface() -> PartInfo {
    PartInfo {
        name: "interface",
        text: "A host's own interface, as with netem on it: what the host sends waits here before it reaches the link. TCP notices when there is no room: the packet is refused, not lost, and the window comes down.",
        shorthand: Some("delay"),
        exclusive: &[],
        make: None,
        keys: vec![
            value("delay", Time, "0 s", "How long each packet waits, such as \"100 ms\"."),
            value("limit", Packets, "", "How many packets may wait, such as \"1000 packets\". Default: any number."),
            value(
                "ring",
                Packets,
                "",
                "How many packets the network card takes before the link has sent them, such as \"64 packets\": the others wait on. Default: any number.",
            ),
        ],
    }
}

pub(crate) fn stack() -> PartInfo {
    PartInfo {
        name: "stack",
        text: "The TCP of a host: a profile and what is changed in it. What is not given is as the profile says.",
        shorthand: Some("profile"),
        exclusive: &[],
        make: None,
        keys: vec![
            value("profile", Word(|| PROFILES.to_vec()), PROFILES[0], "The stack whose behaviour is taken."),
            value("cc", Word(|| CONGESTION_CONTROLS.to_vec()), CONGESTION_CONTROLS[0], "Congestion control."),
            value("sack", Flag, "", "Selective acknowledgements (RFC 2018)."),
            value("dsack", Flag, "", "Duplicate SACK (RFC 2883)."),
            value("timestamps", Flag, "", "Timestamps (RFC 7323)."),
            value("window_scaling", Flag, "", "Window scaling (RFC 7323)."),
            value(
                "ecn",
                Word(|| vec!["off", "accept", "on", "accurate"]),
                "",
                "Explicit congestion notification: on or true (RFC 3168), off or false, accept (only where the peer asks, as Linux does by default), accurate (RFC 9768). dctcp asks for it whatever is said here, prague for accurate.",
            ),
            value(
                "abe",
                Flag,
                "",
                "With reno, newreno or cubic: a mark costs less than a loss, 20 % or 15 % (RFC 8511).",
            ),
            value("rack", Flag, "", "RACK loss detection (RFC 8985)."),
            value(
                "fack",
                Flag,
                "",
                "FACK loss detection, by the distance to the highest SACK (Mathis and Mahdavi 1996). Without rack or fack: RFC 6675.",
            ),
            value("tlp", Flag, "", "Tail loss probes (RFC 8985)."),
            value("prr", Flag, "", "Proportional rate reduction (RFC 6937)."),
            value(
                "rate_halving",
                Flag,
                "",
                "Rate halving in recovery: a segment less for every second ACK. Without prr or rate_halving: down at once (RFC 6675).",
            ),
            value("frto", Flag, "", "F-RTO detection of spurious timeouts (RFC 5682)."),
            value("limited_transmit", Flag, "", "Limited transmit (RFC 3042)."),
            value("abc", Integer, "", "Appropriate byte counting (RFC 3465): the limit L in segments; 0 counts ACKs."),
            value("delayed_ack", Part(delayed_ack), "", "Delayed ACKs: \"on\", \"off\", or a table."),
            value("initial_window", Window, "", "The first congestion window, such as \"10 segments\"."),
            value(
                "remembered_threshold",
                Window,
                "",
                "Where the first slow start ends, as a host cache remembers it of the destination, such as \"20 kB\".",
            ),
            value("min_rto", Time, "", "The shortest retransmission timeout, such as \"200 ms\"."),
            value("max_window", Window, "", "Upper bound of the congestion window, such as \"64 KiB\"."),
            value(
                "mss",
                Size,
                "",
                "The MSS option, which is the MTU less 40; TCP options come out of it. This or mtu.",
            ),
            value("mtu", Size, "", "Largest IP packet, such as \"1500 B\". This or mss."),
            value("send_buffer", Size, "", "Send buffer: a size, or \"auto\" to let the stack grow it.")
                .none_word("auto"),
            value("receive_buffer", Size, "", "Receive buffer: a size, or \"auto\" to let the stack grow it.")
                .none_word("auto"),
        ],
    }
}

pub(crate) fn delayed_ack() -> PartInfo {
    PartInfo {
        name: "delayed ACK",
        text: "When a receiver holds its ACK back (RFC 5681 section 4.2).",
        shorthand: Some("mode"),
        exclusive: &[],
        make: None,
        keys: vec![
            value("mode", Word(|| vec!["on", "off"]), "on", "\"on\" or \"off\"."),
            value("segments", Integer, "", "An ACK at the latest for every such full segment; usually 2."),
            value("timeout", Time, "", "An ACK at the latest after this time, such as \"40 ms\"."),
        ],
    }
}

pub(crate) fn flow() -> PartInfo {
    PartInfo {
        name: "flow",
        text: "A flow of data from one host to another, or `count` equal ones.",
        shorthand: None,
        exclusive: &[],
        make: None,
        keys: vec![
            value(
                "name",
                Name,
                "",
                "Unique. Default: flow1, flow2, ... by place. Copies made by `count` are called name.1, name.2, ...",
            ),
            value("group", Name, "", "Flows that belong together. Default: the name."),
            value(
                "direction",
                Word(|| vec!["down", "up"]),
                "",
                "With [link]: down is server to client. With a dumbbell: down is left to right, each flow of a direction on the next pair. This, or from and to.",
            ),
            value("from", OneOrMore(&Name), "", "The sending host; of a list each copy takes the next."),
            value("to", OneOrMore(&Name), "", "The receiving host; of a list each copy takes the next."),
            value("start", Time, "0 s", "When the flow begins."),
            value("start_jitter", Time, "0 s", "A random time from 0 to this is added to the start."),
            value("start_spacing", Time, "0 s", "With `count`: each copy starts this much after the one before."),
            value("stop", Time, "", "When the application stops. Default: the end of the run."),
            value("count", Integer, "1", "So many equal flows."),
            value(
                "app",
                Family(&APPS),
                "bulk",
                "What the two ends do: a kind such as \"bulk\", a size such as \"10 MB\" to be sent once, or a table.",
            ),
            value(
                "cc",
                Word(|| CONGESTION_CONTROLS.to_vec()),
                "",
                "Congestion control of both ends: short for stack.cc.",
            ),
            value("stack", Part(stack), "", "The TCP of both ends of this flow."),
            value("sender_stack", Part(stack), "", "The TCP of this flow's sender of data."),
            value("receiver_stack", Part(stack), "", "The TCP of this flow's receiver of data."),
        ],
    }
}
