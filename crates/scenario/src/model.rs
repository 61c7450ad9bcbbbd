//! A resolved scenario: plain data with every default filled in, and a type for every quantity.
//!
//! The only exception is [`StackConfig`]: it contains only the TCP settings that the scenario sets.

use crate::graph::Graph;
use crate::measured::{FairnessSpec, RecordSpec};
use crate::transport::TransportConfig;
use lopsided_app::{AppConfig, Side};
use lopsided_core::{Dir, Duration, Time};
use lopsided_spec::ValueType::Packets;
use lopsided_spec::{Key, Part, key};
use lopsided_tcp::StackConfig;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One experiment: a network, its flows, the duration, and the data to record.
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
    /// A short name. The default is the file's name without folder and extension.
    pub name: String,
    /// A title for display; `None` if the scenario has no title.
    pub title: Option<String>,
    /// Duration of the run in virtual time.
    pub duration: Duration,
    /// The seed of the first repetition. Repetition `k` (from 0) runs with `seed + k`.
    pub seed: u64,
    /// The network.
    pub graph: Graph,
    /// The interfaces with a delay, a queue or a ring, by index in [`Graph::hosts`].
    pub interfaces: BTreeMap<usize, InterfaceSpec>,
    /// The flows. `count = 20` in the file creates 20 entries. A [`lopsided_core::FlowId`] is an index into this list.
    pub flows: Vec<FlowSpec>,
    /// The records that the run keeps.
    pub record: RecordSpec,
    /// Settings of the fairness metrics; `None` if the scenario does not request them.
    pub fairness: Option<FairnessSpec>,
}

/// The network interface of a host, before the link. A full interface rejects packets and notifies the host's TCP
/// (Linux: `NET_XMIT_CN`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSpec {
    /// Delay of each packet in the interface.
    pub delay: Duration,
    /// Maximum number of packets in the interface; `None` for no limit.
    pub limit: Option<u32>,
    /// Maximum number of packets that the network card holds until the link has sent them; `None` for no limit.
    pub ring: Option<u32>,
}

impl Part for InterfaceSpec {
    const NAME: &'static str = "interface";
    const TEXT: &'static str = "The network interface of a host, like netem on Linux: packets of the host wait here before they reach the link. If the interface is full, it rejects the packet and notifies TCP, which reduces its window; the packet is not lost.";
    const SHORTHAND: Option<&'static str> = Some("delay");
    const KEYS: &'static [Key<InterfaceSpec>] = &[
        key("delay", |interface| &mut interface.delay, "Delay of each packet in the interface, such as \"100 ms\"."),
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
    /// The unique name. If `count` creates several copies, their names are `group.1` to `group.N`.
    pub name: String,
    /// Name of the flow's group: all copies made by `count`, by default under the flow's name in the file.
    pub group: String,
    /// The host that sends the data: an index into [`Graph::hosts`].
    pub from: usize,
    /// The host that receives the data: an index into [`Graph::hosts`].
    pub to: usize,
    /// The direction in which the path crosses each link; `None` if the path crosses links in both directions.
    pub direction: Option<Dir>,
    /// Start time without jitter. A flow whose start time is at or after the end of the run does not start.
    pub start: Time,
    /// Upper bound of the random delay that is added to `start`. The delay comes from the random stream
    /// `flow/NAME/start`.
    pub start_jitter: Duration,
    /// Time at which the application stops; at most the end of the run.
    pub stop: Time,
    /// The application.
    pub app: AppConfig,
    /// The transport protocol.
    pub transport: TransportConfig,
    /// TCP settings of the end that sends the data.
    pub from_stack: Arc<StackConfig>,
    /// TCP settings of the end that receives the data.
    pub to_stack: Arc<StackConfig>,
}

impl FlowSpec {
    /// Returns the end that listens for the connection.
    pub fn listener(&self) -> Side {
        self.app.listener(self.transport.opening())
    }
}
