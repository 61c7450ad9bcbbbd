//! A resolved scenario: plain data in which every default is filled and every quantity is a type.
//!
//! A [`StackConfig`] is the exception: it holds only what the scenario sets, and its profile says the rest.

use crate::graph::Graph;
use crate::measured::{FairnessSpec, RecordSpec};
use crate::transport::TransportConfig;
use lopsided_app::{AppConfig, Side};
use lopsided_core::{Dir, Duration, Time};
use lopsided_spec::ValueType::Packets;
use lopsided_spec::{Key, Part, key};
use lopsided_tcp::StackConfig;
use std::collections::BTreeMap;

/// One experiment: a network, the flows that cross it, how long, and what is written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name; the file's stem where the file gives none.
    pub name: String,
    /// A line for people.
    pub title: Option<String>,
    /// The run ends here.
    pub duration: Duration,
    /// The seed of the first repetition; repetition `k` (from 0) runs with `seed + k`.
    pub seed: u64,
    pub graph: Graph,
    /// The interfaces that have a delay, a queue or a ring, by their host's place in [`Graph::hosts`].
    pub interfaces: BTreeMap<usize, InterfaceSpec>,
    /// One entry for each flow: a `count = 20` in the file is 20 entries here. A [`lopsided_core::FlowId`] is a place
    /// in this list.
    pub flows: Vec<FlowSpec>,
    pub record: RecordSpec,
    /// The metrics of fairness, where they are asked for.
    pub fairness: Option<FairnessSpec>,
}

/// A host's own interface: packets wait in it before they reach the link. It refuses a packet for which it has no room,
/// and the host's TCP is told (Linux: `NET_XMIT_CN`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSpec {
    pub delay: Duration,
    /// Packets that may wait; `None`: any number.
    pub limit: Option<u32>,
    /// Packets that the network card takes before the link has sent them; `None`: any number.
    pub ring: Option<u32>,
}

impl Part for InterfaceSpec {
    const NAME: &'static str = "interface";
    const TEXT: &'static str = "A host's own interface, as with netem on it: what the host sends waits here before it reaches the \
        link. TCP notices when there is no room: the packet is refused, not lost, and the window comes down.";
    const SHORTHAND: Option<&'static str> = Some("delay");
    const KEYS: &'static [Key<InterfaceSpec>] = &[
        key("delay", |interface| &mut interface.delay, "How long each packet waits, such as \"100 ms\"."),
        key(
            "limit",
            |interface: &mut Self| &mut interface.limit,
            "How many packets may wait, such as \"1000 packets\".",
        )
        .typed(Packets)
        .default_text("any number"),
        key(
            "ring",
            |interface: &mut Self| &mut interface.ring,
            "How many packets the network card takes before the link has sent them, such as \"64 packets\": the others wait on.",
        )
        .typed(Packets)
        .default_text("any number"),
    ];
}

/// One flow of data from a host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Unique. Copies made by `count` are named `group.1` to `group.N`.
    pub name: String,
    /// The flow's name in the file; copies made by `count` share it.
    pub group: String,
    /// The sender of data: a place in [`Graph::hosts`].
    pub from: usize,
    /// The receiver of data: a place in [`Graph::hosts`].
    pub to: usize,
    /// `Down` or `Up` where every link on the path is crossed in that direction, else `None`.
    pub direction: Option<Dir>,
    /// Start without jitter. A flow that would start at or after the run's end does not start.
    pub start: Time,
    /// The world adds a uniform draw from zero to this to `start`, from the stream of role `flow/NAME/start`.
    pub start_jitter: Duration,
    /// The application stops here, at the latest when the run ends.
    pub stop: Time,
    pub app: AppConfig,
    pub transport: TransportConfig,
    /// The stack of the sender of data.
    pub from_stack: StackConfig,
    /// The stack of the receiver of data.
    pub to_stack: StackConfig,
}

impl FlowSpec {
    /// Which end waits for the other to open the connection.
    pub fn listener(&self) -> Side {
        self.app.listener(self.transport.opening())
    }
}
