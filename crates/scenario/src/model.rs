//! A resolved scenario: plain data with every default filled in, and a type for every quantity.
//!
//! The one exception is a [`StackConfig`]: it holds only the settings that the scenario gives. All others come from its
//! profile.

use crate::graph::Graph;
use crate::measured::{FairnessSpec, RecordSpec};
use crate::transport::TransportConfig;
use lopsided_app::{AppConfig, Side};
use lopsided_core::{Dir, Duration, Time};
use lopsided_spec::ValueType::Packets;
use lopsided_spec::{Key, Part, key};
use lopsided_tcp::StackConfig;
use std::collections::BTreeMap;

/// One experiment: a network, the flows in it, the duration, and what is recorded.
///
/// # Examples
///
/// ```
/// use lopsided_scenario::Scenario;
///
/// let text = r#"
///     [scenario]
///     duration = "10 s"
///     [link]
///     rtt = "20 ms"
///     down.rate = "10 Mbit/s"
///     up.rate = "1 Mbit/s"
///     [[flow]]
///     direction = "down"
///     count = 3
/// "#;
/// let scenario = Scenario::parse(text, "three.toml", &[]).unwrap();
/// assert_eq!((scenario.name.as_str(), scenario.flows.len()), ("three", 3));
/// // The general form reads back to an equal scenario.
/// assert_eq!(Scenario::parse(&scenario.to_toml(), "three.toml", &[]).unwrap(), scenario);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A short name. If the file gives none, the file's name without its folder and ending.
    pub name: String,
    /// A title to display.
    pub title: Option<String>,
    /// How long the run lasts.
    pub duration: Duration,
    /// The seed of the first repetition; repetition `k` (from 0) runs with `seed + k`.
    pub seed: u64,
    /// The network.
    pub graph: Graph,
    /// The host interfaces with a delay, a queue or a ring, by the index of the host in [`Graph::hosts`].
    pub interfaces: BTreeMap<usize, InterfaceSpec>,
    /// One entry for each flow: `count = 20` in the file makes 20 entries. A [`lopsided_core::FlowId`] is an index into
    /// this list.
    pub flows: Vec<FlowSpec>,
    /// The records that the run keeps.
    pub record: RecordSpec,
    /// Settings of the fairness metrics; `None` if the scenario does not request them.
    pub fairness: Option<FairnessSpec>,
}

/// The network interface of a host. Packets wait in it before they reach the link. It rejects packets while it is full,
/// and notifies the host's TCP (Linux: `NET_XMIT_CN`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSpec {
    /// How long each packet waits.
    pub delay: Duration,
    /// Maximum number of waiting packets; `None` for no limit.
    pub limit: Option<u32>,
    /// Maximum number of packets that the network card holds until the link has sent them; `None` for no limit.
    pub ring: Option<u32>,
}

impl Part for InterfaceSpec {
    const NAME: &'static str = "interface";
    const TEXT: &'static str = "The network interface of a host, as with netem on Linux: packets of the host wait here before they reach the \
        link. TCP is notified when the interface is full: the packet is rejected, not lost, and the window is reduced.";
    const SHORTHAND: Option<&'static str> = Some("delay");
    const KEYS: &'static [Key<InterfaceSpec>] = &[
        key("delay", |interface| &mut interface.delay, "How long each packet waits, such as \"100 ms\"."),
        key(
            "limit",
            |interface: &mut Self| &mut interface.limit,
            "Maximum number of waiting packets, such as \"1000 packets\".",
        )
        .typed(Packets)
        .default_text("no limit"),
        key(
            "ring",
            |interface: &mut Self| &mut interface.ring,
            "Maximum number of packets in the transmit ring of the network card, such as \"64 packets\". Further packets wait in the interface.",
        )
        .typed(Packets)
        .default_text("no limit"),
    ];
}

/// One flow of data from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// The unique name. Copies that `count` makes are named `group.1` to `group.N`.
    pub name: String,
    /// The flow's group, by default its name in the file. Copies that `count` makes share it.
    pub group: String,
    /// The host that sends the data: an index into [`Graph::hosts`].
    pub from: usize,
    /// The host that receives the data: an index into [`Graph::hosts`].
    pub to: usize,
    /// The direction in which the path crosses all of its links; `None` if the directions differ.
    pub direction: Option<Dir>,
    /// Start without jitter. A flow that would start at the end of the run or later does not start.
    pub start: Time,
    /// A random time from zero to this is added to `start`, drawn from the random stream `flow/NAME/start`.
    pub start_jitter: Duration,
    /// When the application stops, at the latest at the end of the run.
    pub stop: Time,
    /// The application.
    pub app: AppConfig,
    /// The transport protocol.
    pub transport: TransportConfig,
    /// TCP settings of the sender of data.
    pub from_stack: StackConfig,
    /// TCP settings of the receiver of data.
    pub to_stack: StackConfig,
}

impl FlowSpec {
    /// The end that waits for the other end to open the connection.
    pub fn listener(&self) -> Side {
        self.app.listener(self.transport.opening())
    }
}
