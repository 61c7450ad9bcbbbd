//! The keys of a scenario file, table by table. A line here is the documentation that editors show.

use super::{Key, Kind, Shape, TableShape};
use crate::framing;
use crate::names::{CONGESTION_CONTROLS, PROFILES, QUEUES};

const fn value(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, shape: Shape::Value(kind), doc, default }
}

const fn table(name: &'static str, shape: &'static TableShape, default: &'static str, doc: &'static str) -> Key {
    Key { name, shape: Shape::Table(shape), doc, default }
}

const fn other(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, default: "" }
}

pub(crate) static FILE: TableShape = TableShape {
    name: "scenario file",
    doc: "A lopsided scenario: a network, the flows that cross it, and what is recorded.",
    shorthand: None,
    keys: &[
        table("scenario", &SCENARIO, "", "What the experiment is called and how long it runs."),
        table(
            "link",
            &ACCESS_LINE,
            "",
            "An access line between the hosts `server` and `client`: `down` runs from server to client. Use either this or [topology].",
        ),
        table(
            "lan",
            &LINE,
            "",
            "With [link] only: links between each host and its router (r1 at the server, r2 at the client). Without it the hosts sit at the ends of the line.",
        ),
        table("topology", &TOPOLOGY, "", "Any network of hosts, routers and links. Use either this or [link]."),
        table(
            "stack",
            &STACK,
            "",
            "The TCP of every host: a profile and what is changed in it. The more specific setting wins key by key: [stack], [host.NAME.stack], a flow's stack, its sender_stack and receiver_stack.",
        ),
        other("host", Shape::Map(&HOST), "Settings of single hosts: [host.client.stack]."),
        other("flow", Shape::Tables(&FLOW), "The flows, in the order of the result tables."),
        table("record", &RECORD, "", "What is written down during the run."),
        table(
            "fairness",
            &FAIRNESS,
            "",
            "Where it is there, even empty, the metrics of fairness are made of every run.",
        ),
        other(
            "sweep",
            Shape::Sweep,
            "Axes to vary: a dotted key with a list of values or a range such as \"5..50:5 packets\", or a name with a list of tables of overrides. `repeat` runs each point with that many seeds.",
        ),
    ],
};

static SCENARIO: TableShape = TableShape {
    name: "scenario",
    doc: "What the experiment is called and how long it runs.",
    shorthand: None,
    keys: &[
        value(
            "name",
            Kind::Name,
            "",
            "A short name of letters, digits, - and _. Default: the file's name without .toml.",
        ),
        value("title", Kind::Text, "", "A line that says what is shown."),
        value("duration", Kind::Duration, "", "How long the run lasts, such as \"240 s\" or \"4 min\". Required."),
        value("seed", Kind::Count, "1", "Seed of everything random. Repetition k runs with seed + k."),
    ],
};

/// The keys that a direction and a link share; a link's hold for both of its directions.
macro_rules! line_keys {
    ($($more:expr),* $(,)?) => {
        &[
            $($more,)*
            value("rate", Kind::Rate, "", "Bits per second on the wire, such as \"2.4 Mbit/s\" or \"196 kbit/s\"; \"unlimited\" for an infinitely fast line. Required."),
            value("delay", Kind::Duration, "0 s", "One-way propagation delay, such as \"10 ms\"."),
            table("framing", &FRAMING, "none", "Octets a packet takes on the wire: a kind such as \"ethernet\" or \"pppoe-llcsnap\", or a table."),
            table("queue", &QUEUE, "50 packets", "The queue before the line: a limit such as \"50 packets\", or a table. [lan] and a dumbbell's access links default to 1000 packets."),
            table("shaper", &SHAPER, "", "A token bucket in place of the plain serializer: a burst such as \"1600 B\", or a table."),
            table("loss", &LOSS, "", "Packets lost on the line: a probability such as \"1 %\", or a table."),
        ]
    };
}

static DIRECTION: TableShape =
    TableShape { name: "direction", doc: "One direction of a link.", shorthand: None, keys: line_keys!() };

pub(crate) static ACCESS_LINE: TableShape = TableShape {
    name: "access line",
    doc: "An access line. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
    shorthand: None,
    keys: line_keys!(
        value(
            "rtt",
            Kind::Duration,
            "",
            "Base round-trip time, split evenly over the directions, such as \"20 ms\". This or delays are required."
        ),
        table("down", &DIRECTION, "", "From server to client."),
        table("up", &DIRECTION, "", "From client to server."),
    ),
};

pub(crate) static LINE: TableShape = TableShape {
    name: "line",
    doc: "A link. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
    shorthand: None,
    keys: line_keys!(
        value("rtt", Kind::Duration, "", "Base round-trip time, split evenly over the directions."),
        table("down", &DIRECTION, "", "From the first end to the second: towards the client."),
        table("up", &DIRECTION, "", "From the second end to the first: away from the client."),
    ),
};

pub(crate) static TOPOLOGY_LINK: TableShape = TableShape {
    name: "topology link",
    doc: "A link between two nodes. Keys beside `down` and `up` hold for both directions unless a direction says otherwise.",
    shorthand: None,
    keys: line_keys!(
        value("between", Kind::Pair, "", "Two nodes: `down` runs from the first to the second, `up` back. Required."),
        value("name", Kind::Name, "", "Default: the two nodes' names joined by -."),
        value("rtt", Kind::Duration, "", "Base round-trip time, split evenly over the directions."),
        table("down", &DIRECTION, "", "From the first node to the second."),
        table("up", &DIRECTION, "", "From the second node to the first."),
    ),
};

static FRAMING: TableShape = TableShape {
    name: "framing",
    doc: "How many octets a packet takes on the wire.",
    shorthand: Some("kind"),
    keys: &[
        value(
            "kind",
            Kind::Choice(framing::KINDS),
            "none",
            "A named framing. Names of ADSL and VDSL2 are those of Linux's cake and tc stab.",
        ),
        value("overhead", Kind::Size, "0 B", "Octets per packet: beyond the kind's where one is named."),
        value("minimum", Kind::Size, "0 B", "The smallest frame, overhead included; shorter ones are padded."),
        value(
            "cells",
            Kind::Choice(&["none", "atm", "ptm"]),
            "none",
            "In place of a kind: none, atm (53 octets for each begun 48) or ptm (65 for 64).",
        ),
    ],
};

static QUEUE: TableShape = TableShape {
    name: "queue",
    doc: "A queue discipline and what it may hold.",
    shorthand: Some("limit"),
    keys: &[
        value(
            "kind",
            Kind::Choice(QUEUES),
            QUEUES[0],
            "The discipline: fifo; red (random early detection, as tc-red); step (marks all packets above a threshold, as DCTCP wants).",
        ),
        table(
            "limit",
            &LIMIT,
            "50 packets",
            "\"50 packets\", a size such as \"75 kB\" (IP octets), a time at the line's rate such as \"200 ms\", \"1 BDP\" (with [link]), or bins.",
        ),
        value(
            "drop",
            Kind::Choice(&["tail", "front"]),
            "tail",
            "Of fifo: what goes when the queue is full: the newcomer (tail) or the oldest (front).",
        ),
        value(
            "min",
            Kind::Limit,
            "a third of max",
            "Of red: the average queue from which some packets are marked or dropped.",
        ),
        value("max", Kind::Limit, "a quarter of the limit", "Of red: the average queue from which all packets are."),
        value("probability", Kind::Probability, "0.02", "Of red: the probability where the average reaches max."),
        value("avpkt", Kind::Size, "1000 B", "Of red: the size of a usual packet."),
        value(
            "burst",
            Kind::Count,
            "(2 min + max) / 3",
            "Of red: so many packets may come at once into the empty queue before any is picked; sets the weight.",
        ),
        value(
            "weight",
            Kind::Probability,
            "",
            "Of red, in place of a burst: the share of each new sample in the average; 1 for none.",
        ),
        value(
            "bandwidth",
            Kind::Rate,
            "the line's",
            "Of red: how fast packets leave, by which the average falls while the queue is empty.",
        ),
        value("ecn", Kind::Flag, "false", "Of red: mark packets that are capable of ECN in place of dropping them."),
        value(
            "harddrop",
            Kind::Flag,
            "false",
            "Of red with ecn: from max on drop, as RFC 3168 section 7 wants, not mark.",
        ),
        value(
            "gentle",
            Kind::Flag,
            "false",
            "Of red: from max to twice max the probability rises to 1 (Floyd 2000); Linux has no such slope.",
        ),
        value(
            "threshold",
            Kind::Limit,
            "",
            "Of step: a packet is marked that finds more than this waiting, such as \"20 packets\" or \"30 kB\", or that has waited longer than this, such as \"1 ms\". Required.",
        ),
        value(
            "marks",
            Kind::Choice(&["ect", "ect1"]),
            "ect",
            "Of step: which packets may be marked: all that are capable of ECN, or those of ECT(1) alone, which ask for low latency (RFC 9331).",
        ),
    ],
};

static LIMIT: TableShape = TableShape {
    name: "queue limit",
    doc: "How much a queue may hold.",
    shorthand: Some("amount"),
    keys: &[
        value("amount", Kind::Limit, "50 packets", "Packets, a size, a time at the line's rate, or BDP."),
        value(
            "bins",
            Kind::Count,
            "",
            "In place of an amount: so many memory cells; a packet takes as many whole ones as it needs.",
        ),
        value("size", Kind::Size, "", "The size of a bin, such as \"512 B\"."),
    ],
};

static SHAPER: TableShape = TableShape {
    name: "shaper",
    doc: "A token bucket that fills at the direction's rate.",
    shorthand: Some("burst"),
    keys: &[
        value(
            "burst",
            Kind::Size,
            "",
            "Bucket depth (Bc), in octets on the wire. With an interval it defaults to rate x interval, which may be less than a packet.",
        ),
        value(
            "interval",
            Kind::Duration,
            "",
            "Credit comes in lumps of rate x interval this often (Tc); without it, continuously.",
        ),
        value("line_rate", Kind::Rate, "unlimited", "The physical rate at which a burst leaves."),
    ],
};

static LOSS: TableShape = TableShape {
    name: "loss",
    doc: "How packets are lost on the line; all that is given applies.",
    shorthand: Some("random"),
    keys: &[
        value("random", Kind::Probability, "0", "Probability for each packet on its own: 0.01 or \"1 %\"."),
        table("gilbert", &GILBERT, "", "Bursts of loss: the Gilbert-Elliott model, stepped once per packet."),
        other("packets", Shape::List(Kind::Count), "These packets of the direction, counted from 1."),
        other("outages", Shape::List(Kind::Outage), "Times when nothing passes: [[\"10 s\", \"10.1 s\"]]."),
    ],
};

static GILBERT: TableShape = TableShape {
    name: "gilbert",
    doc: "The Gilbert-Elliott model: a good and a bad state.",
    shorthand: None,
    keys: &[
        value("to_bad", Kind::Probability, "", "Probability of going from good to bad. Required."),
        value("to_good", Kind::Probability, "", "Probability of going from bad to good. Required."),
        value("loss_bad", Kind::Probability, "1", "Loss probability in the bad state."),
        value("loss_good", Kind::Probability, "0", "Loss probability in the good state."),
    ],
};

static TOPOLOGY: TableShape = TableShape {
    name: "topology",
    doc: "A network: hosts send and receive, routers forward, links join them. Routing is static, by fewest links.",
    shorthand: None,
    keys: &[
        other("hosts", Shape::List(Kind::Name), "Names of the hosts."),
        other("routers", Shape::List(Kind::Name), "Names of the routers."),
        other("link", Shape::Tables(&TOPOLOGY_LINK), "The links."),
        table(
            "dumbbell",
            &DUMBBELL,
            "",
            "Pairs of hosts left1, left2, ... and right1, right2, ... at routers r1 and r2 joined by the link `bottleneck`. More hosts, routers and links may be added to it.",
        ),
    ],
};

pub(crate) static DUMBBELL: TableShape = TableShape {
    name: "dumbbell",
    doc: "Hosts leftN and rightN at two routers with one bottleneck; down runs from left to right.",
    shorthand: None,
    keys: &[
        value("pairs", Kind::Count, "", "How many hosts on each side. Required."),
        table("access", &LINE, "", "The links between hosts and routers on both sides."),
        table("left", &LINE, "", "What differs on the left."),
        table("right", &LINE, "", "What differs on the right."),
        table("bottleneck", &LINE, "", "The link between r1 and r2. Required."),
    ],
};

static HOST: TableShape = TableShape {
    name: "host",
    doc: "Settings of one host.",
    shorthand: None,
    keys: &[
        table("stack", &STACK, "", "The TCP of this host."),
        table("interface", &INTERFACE, "", "What this host's own interface does to the packets that it sends."),
    ],
};

static INTERFACE: TableShape = TableShape {
    name: "interface",
    doc: "A host's own interface, as with netem on it: what the host sends waits here before it reaches the link. TCP notices when there is no room: the packet is refused, not lost, and the window comes down.",
    shorthand: Some("delay"),
    keys: &[
        value("delay", Kind::Duration, "0 s", "How long each packet waits, such as \"100 ms\"."),
        value("limit", Kind::Limit, "", "How many packets may wait, such as \"1000 packets\". Default: any number."),
        value(
            "ring",
            Kind::Limit,
            "",
            "How many packets the network card takes before the link has sent them, such as \"64 packets\": the others wait on. Default: any number.",
        ),
    ],
};

static STACK: TableShape = TableShape {
    name: "stack",
    doc: "The TCP of a host: a profile and what is changed in it. What is not given is as the profile says.",
    shorthand: Some("profile"),
    keys: &[
        value("profile", Kind::Choice(PROFILES), PROFILES[0], "The stack whose behaviour is taken."),
        value("cc", Kind::Choice(CONGESTION_CONTROLS), CONGESTION_CONTROLS[0], "Congestion control."),
        value("sack", Kind::Flag, "", "Selective acknowledgements (RFC 2018)."),
        value("dsack", Kind::Flag, "", "Duplicate SACK (RFC 2883)."),
        value("timestamps", Kind::Flag, "", "Timestamps (RFC 7323)."),
        value("window_scaling", Kind::Flag, "", "Window scaling (RFC 7323)."),
        value(
            "ecn",
            Kind::Ecn,
            "",
            "Explicit congestion notification: on or true (RFC 3168), off or false, accept (only where the peer asks, as Linux does by default), accurate (RFC 9768). dctcp asks for it whatever is said here, prague for accurate.",
        ),
        value(
            "abe",
            Kind::Flag,
            "",
            "With reno, newreno or cubic: a mark costs less than a loss, 20 % or 15 % (RFC 8511).",
        ),
        value("rack", Kind::Flag, "", "RACK loss detection (RFC 8985)."),
        value(
            "fack",
            Kind::Flag,
            "",
            "FACK loss detection, by the distance to the highest SACK (Mathis and Mahdavi 1996). Without rack or fack: RFC 6675.",
        ),
        value("tlp", Kind::Flag, "", "Tail loss probes (RFC 8985)."),
        value("prr", Kind::Flag, "", "Proportional rate reduction (RFC 6937)."),
        value(
            "rate_halving",
            Kind::Flag,
            "",
            "Rate halving in recovery: a segment less for every second ACK. Without prr or rate_halving: down at once (RFC 6675).",
        ),
        value("frto", Kind::Flag, "", "F-RTO detection of spurious timeouts (RFC 5682)."),
        value("limited_transmit", Kind::Flag, "", "Limited transmit (RFC 3042)."),
        value("abc", Kind::Count, "", "Appropriate byte counting (RFC 3465): the limit L in segments; 0 counts ACKs."),
        table("delayed_ack", &DELAYED_ACK, "", "Delayed ACKs: \"on\", \"off\", or a table."),
        value("initial_window", Kind::Window, "", "The first congestion window, such as \"10 segments\"."),
        value("min_rto", Kind::Duration, "", "The shortest retransmission timeout, such as \"200 ms\"."),
        value("max_window", Kind::Window, "", "Upper bound of the congestion window, such as \"64 KiB\"."),
        value(
            "mss",
            Kind::Size,
            "",
            "The MSS option, which is the MTU less 40; TCP options come out of it. This or mtu.",
        ),
        value("mtu", Kind::Size, "", "Largest IP packet, such as \"1500 B\". This or mss."),
        value("send_buffer", Kind::Buffer, "", "Send buffer: a size, or \"auto\" to let the stack grow it."),
        value("receive_buffer", Kind::Buffer, "", "Receive buffer: a size, or \"auto\" to let the stack grow it."),
    ],
};

static DELAYED_ACK: TableShape = TableShape {
    name: "delayed ACK",
    doc: "When a receiver holds its ACK back (RFC 5681 section 4.2).",
    shorthand: Some("mode"),
    keys: &[
        value("mode", Kind::Switch, "on", "\"on\" or \"off\"."),
        value("segments", Kind::Count, "", "An ACK at the latest for every such full segment; usually 2."),
        value("timeout", Kind::Duration, "", "An ACK at the latest after this time, such as \"40 ms\"."),
    ],
};

static FLOW: TableShape = TableShape {
    name: "flow",
    doc: "A flow of data from one host to another, or `count` equal ones.",
    shorthand: None,
    keys: &[
        value(
            "name",
            Kind::Name,
            "",
            "Unique. Default: flow1, flow2, ... by place. Copies made by `count` are called name.1, name.2, ...",
        ),
        value("group", Kind::Name, "", "Flows that belong together. Default: the name."),
        value(
            "direction",
            Kind::Choice(&["down", "up"]),
            "",
            "With [link]: down is server to client. With a dumbbell: down is left to right, each flow of a direction on the next pair. This, or from and to.",
        ),
        other("from", Shape::OneOrList(Kind::Name), "The sending host; of a list each copy takes the next."),
        other("to", Shape::OneOrList(Kind::Name), "The receiving host; of a list each copy takes the next."),
        value("start", Kind::Duration, "0 s", "When the flow begins."),
        value("start_jitter", Kind::Duration, "0 s", "A random time from 0 to this is added to the start."),
        value("start_spacing", Kind::Duration, "0 s", "With `count`: each copy starts this much after the one before."),
        value("stop", Kind::Duration, "", "When the application stops. Default: the end of the run."),
        value("count", Kind::Count, "1", "So many equal flows."),
        table("transfer", &TRANSFER, "bulk", "What is sent: \"bulk\", a size such as \"10 MB\", or a table."),
        value("cc", Kind::Choice(CONGESTION_CONTROLS), "", "Congestion control of both ends: short for stack.cc."),
        table("stack", &STACK, "", "The TCP of both ends of this flow."),
        table("sender_stack", &STACK, "", "The TCP of this flow's sender of data."),
        table("receiver_stack", &STACK, "", "The TCP of this flow's receiver of data."),
    ],
};

static TRANSFER: TableShape = TableShape {
    name: "transfer",
    doc: "What an application sends.",
    shorthand: Some("size"),
    keys: &[
        value(
            "size",
            Kind::Amount,
            "bulk",
            "\"bulk\" (until the flow stops) or a size; with `udp` the size of the IP packets.",
        ),
        value("repeat", Kind::Repeat, "1", "With a size: how often, each time on a new connection; or \"forever\"."),
        value("pause", Kind::Duration, "0 s", "With `repeat`: from the end of a transfer to the start of the next."),
        value("on", Kind::Duration, "", "With `off`: send for so long."),
        value("off", Kind::Duration, "", "With `on`: then be silent for so long, and again."),
        value("udp", Kind::Rate, "", "Datagrams at this constant rate, IP headers counted, in place of TCP."),
    ],
};

static RECORD: TableShape = TableShape {
    name: "record",
    doc: "What is written down during the run. Summaries are always kept.",
    shorthand: None,
    keys: &[
        value("interval", Kind::SpanOrOff, "100 ms", "Samples of flows and queues this often; false for none."),
        value("on_change", Kind::Flag, "false", "A sample too whenever a flow's congestion state changes."),
        value("events", Kind::Flag, "false", "A table of every packet event: large."),
        value(
            "traces",
            Kind::Flag,
            "false",
            "A table of what a capture at each sending host would say, as tcptrace does.",
        ),
    ],
};

static FAIRNESS: TableShape = TableShape {
    name: "fairness",
    doc: "Who takes what from whom: Jain's index, shares, convergence time and harm. Needs samples ([record] interval).",
    shorthand: None,
    keys: &[
        value(
            "warmup",
            Kind::Duration,
            "",
            "Left out of the means after the last flow has begun. Default: a third of the time in which all are active.",
        ),
        value(
            "within",
            Kind::Probability,
            "20 %",
            "A flow has converged while its share is this near to its fair share, as a part of that.",
        ),
        value("hold", Kind::Duration, "5 s", "It must stay there for so long."),
        value("harm", Kind::Flag, "true", "Run each group of flows alone too, which harm is measured against."),
    ],
};
