//! A resolved scenario: plain data in which every default is filled and every quantity is a type.
//!
//! What only a TCP stack can know stays open: a `None` in a [`StackSpec`] means "as the profile says".

use crate::graph::Graph;
use crate::measured::{FairnessSpec, RecordSpec};
use lopsided_app::AppConfig;
use lopsided_core::{Bytes, Dir, Duration, Time};
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
    /// The hosts whose interface is more than a plug, by their place in [`Graph::hosts`].
    pub interfaces: BTreeMap<usize, InterfaceSpec>,
    /// One entry for each flow: a `count = 20` in the file is 20 entries here. A [`lopsided_core::FlowId`] is a place in this list.
    pub flows: Vec<FlowSpec>,
    pub record: RecordSpec,
    /// The metrics of fairness, where they are asked for.
    pub fairness: Option<FairnessSpec>,
}

/// A host's own interface: what it sends waits there before it reaches the link. A packet for which there is no room is refused, and
/// the host's TCP notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceSpec {
    pub delay: Duration,
    /// Packets that may wait; `None`: any number.
    pub limit: Option<u32>,
    /// Packets that the network card takes before the link has sent them; `None`: any number.
    pub ring: Option<u32>,
}

/// One flow of data from a host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Unique. Copies made by `count` are named `group.1` to `group.N`.
    pub name: String,
    /// What the file called it before `count` multiplied it: flows that belong together.
    pub group: String,
    /// The sender of data: a place in [`Graph::hosts`].
    pub from: usize,
    /// The receiver of data: a place in [`Graph::hosts`].
    pub to: usize,
    /// `Down` or `Up` where every link on the path is crossed in that direction, else `None`.
    pub direction: Option<Dir>,
    /// Start without jitter. An instant at or after the run's end never comes.
    pub start: Time,
    /// The world adds a uniform draw from zero to this to `start`, from the stream of role `flow/NAME/start`.
    pub start_jitter: Duration,
    /// The application stops here, at the latest when the run ends.
    pub stop: Time,
    pub app: AppConfig,
    /// The stack of the sender of data.
    pub from_stack: StackSpec,
    /// The stack of the receiver of data.
    pub to_stack: StackSpec,
}

/// An end of a connection: a stack profile and what is changed in it. `None`: as the profile says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSpec {
    /// One of [`crate::PROFILES`].
    pub profile: String,
    /// One of [`crate::CONGESTION_CONTROLS`].
    pub cc: String,
    pub sack: Option<bool>,
    pub dsack: Option<bool>,
    pub timestamps: Option<bool>,
    pub window_scaling: Option<bool>,
    pub ecn: Option<EcnSpec>,
    /// Alternative back-off with ECN (RFC 8511).
    pub abe: Option<bool>,
    pub rack: Option<bool>,
    pub fack: Option<bool>,
    pub tlp: Option<bool>,
    pub prr: Option<bool>,
    pub rate_halving: Option<bool>,
    pub frto: Option<bool>,
    pub limited_transmit: Option<bool>,
    /// Appropriate byte counting (RFC 3465): the limit L in segments; zero: count ACKs instead.
    pub abc: Option<u32>,
    pub delayed_ack: Option<DelayedAck>,
    pub initial_window: Option<Window>,
    /// The threshold of slow start that the host remembers of the destination.
    pub remembered_threshold: Option<Window>,
    pub min_rto: Option<Duration>,
    /// Upper bound of the congestion window.
    pub max_window: Option<Window>,
    /// The MSS option's value: the MTU less 40. TCP options come out of it (RFC 6691).
    pub mss: Option<u16>,
    pub send_buffer: Option<Buffer>,
    pub receive_buffer: Option<Buffer>,
}

impl StackSpec {
    /// A profile as it is, with the given congestion control.
    pub fn new(profile: &str, cc: &str) -> StackSpec {
        StackSpec {
            profile: profile.to_owned(),
            cc: cc.to_owned(),
            sack: None,
            dsack: None,
            timestamps: None,
            window_scaling: None,
            ecn: None,
            abe: None,
            rack: None,
            fack: None,
            tlp: None,
            prr: None,
            rate_halving: None,
            frto: None,
            limited_transmit: None,
            abc: None,
            delayed_ack: None,
            initial_window: None,
            remembered_threshold: None,
            min_rto: None,
            max_window: None,
            mss: None,
            send_buffer: None,
            receive_buffer: None,
        }
    }
}

/// How a host uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnSpec {
    Off,
    /// Where the peer asks for it (Linux's default).
    Accept,
    /// RFC 3168, asked for and given.
    On,
    /// RFC 9768, falling back to RFC 3168.
    Accurate,
}

impl EcnSpec {
    /// As scenarios write it.
    pub fn name(self) -> &'static str {
        match self {
            EcnSpec::Off => "off",
            EcnSpec::Accept => "accept",
            EcnSpec::On => "on",
            EcnSpec::Accurate => "accurate",
        }
    }
}

/// When a receiver holds its ACK back (RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    Off,
    /// An ACK at the latest for every `segments`-th full segment or after `timeout`; `None`: as the profile says.
    On { segments: Option<u32>, timeout: Option<Duration> },
}

/// A window, in full segments or octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Segments(u32),
    Bytes(Bytes),
}

/// The size of a socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Grown by the stack as its profile says.
    Auto,
    Fixed(Bytes),
}
