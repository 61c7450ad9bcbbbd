//! Assigns packets to the classes of a discipline by rules over header fields, like those of `tc-flower(8)`.
//!
//! Not modelled: matches on addresses and on individual TCP flags.

use lopsided_core::{Ecn, Packet, Transport, packet::Flags};
use lopsided_spec::{Choice, Key, Part, key, part_value};

/// A list of rules. The first rule that matches decides.
///
/// # Examples
///
/// ```
/// use lopsided_queue::{Classifier, PacketKind, Rule};
///
/// let acks_first = Rule { class: 0, packet: Some(PacketKind::Ack), ..Rule::default() };
/// let classifier = Classifier { rules: vec![acks_first], default: 1 };
/// assert_eq!(classifier.highest_class(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classifier {
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// The class of a packet that no rule matches.
    pub default: usize,
}

/// A condition on a packet, and the class of packets that satisfy it. Each field that is `Some` must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The class of packets that match the rule, counted from 0.
    pub class: u32,
    /// Differentiated services codepoint (RFC 2474), from 0 to 63.
    pub dscp: Option<u32>,
    /// ECN field of the IP header (RFC 3168).
    pub ecn: Option<Ecn>,
    /// Number of the packet's flow in the scenario, counted from 0 ([`lopsided_core::FlowId`]).
    pub flow: Option<u32>,
    /// Transport protocol.
    pub protocol: Option<Protocol>,
    /// Source port.
    pub src_port: Option<u32>,
    /// Destination port.
    pub dst_port: Option<u32>,
    /// Type of the packet: data, ACK or control.
    pub packet: Option<PacketKind>,
}

impl Part for Rule {
    const NAME: &'static str = "rule";
    const TEXT: &'static str = "A condition on packet headers, and the class of the packets that match it.";
    const KEYS: &'static [Key<Rule>] = &[
        key("class", |rule| &mut rule.class, "The class of packets that match, counted from 0."),
        key("dscp", |rule| &mut rule.dscp, "The differentiated services codepoint (RFC 2474)."),
        key("ecn", |rule| &mut rule.ecn, "The ECN field of the IP header (RFC 3168)."),
        key(
            "flow",
            |rule| &mut rule.flow,
            "Number of the flow in the scenario, from 0; each copy made by `count` has its own number.",
        ),
        key("protocol", |rule| &mut rule.protocol, "The transport."),
        key("src_port", |rule| &mut rule.src_port, "Source port."),
        key("dst_port", |rule| &mut rule.dst_port, "Destination port."),
        key(
            "packet",
            |rule| &mut rule.packet,
            "Type of the packet: a pure ACK, data, or control (a TCP segment without payload that opens or ends a connection).",
        ),
    ];
}

part_value!(Rule);

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Choice for Protocol {
    const WORDS: &'static [(&'static str, Protocol)] = &[("tcp", Protocol::Tcp), ("udp", Protocol::Udp)];
}

/// The type of a packet: data, ACK or control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketKind {
    /// A pure TCP ACK: no payload, and neither SYN, FIN nor RST.
    Ack,
    /// A packet with payload, of any protocol.
    Data,
    /// A TCP segment without payload that opens or closes a connection.
    Control,
}

impl Choice for PacketKind {
    const WORDS: &'static [(&'static str, PacketKind)] =
        &[("ack", PacketKind::Ack), ("data", PacketKind::Data), ("control", PacketKind::Control)];
}

impl PacketKind {
    /// Returns the type of a packet.
    pub fn of(packet: &Packet) -> PacketKind {
        match packet.transport() {
            Transport::Tcp(_) if !packet.payload().is_empty() => PacketKind::Data,
            Transport::Tcp(header)
                if [Flags::SYN, Flags::FIN, Flags::RST].into_iter().any(|flag| header.flags.has(flag)) =>
            {
                PacketKind::Control
            }
            // No payload and no SYN, FIN or RST: a pure ACK.
            Transport::Tcp(_) => PacketKind::Ack,
            Transport::Udp(_) | Transport::Other { .. } => PacketKind::Data,
        }
    }
}

impl Classifier {
    /// Returns the class of a packet.
    pub fn classify(&self, packet: &Packet) -> usize {
        // As in tc, the first rule that matches decides.
        self.rules.iter().find(|rule| rule.matches(packet)).map_or(self.default, |rule| rule.class as usize)
    }

    /// Returns the highest class number in the rules and the default.
    pub fn highest_class(&self) -> usize {
        self.rules.iter().map(|rule| rule.class as usize).fold(self.default, usize::max)
    }
}

impl Rule {
    /// True if the packet matches all fields of the rule.
    pub fn matches(&self, packet: &Packet) -> bool {
        let (protocol, ports) = match packet.transport() {
            Transport::Tcp(header) => (Some(Protocol::Tcp), Some((header.src_port, header.dst_port))),
            Transport::Udp(header) => (Some(Protocol::Udp), Some((header.src_port, header.dst_port))),
            // A rule with a protocol or a port never matches a packet of another transport.
            Transport::Other { .. } => (None, None),
        };
        agrees(self.dscp, u32::from(packet.dscp()))
            && agrees(self.ecn, packet.ecn())
            && agrees(self.flow, packet.flow().0)
            && (self.protocol.is_none() || self.protocol == protocol)
            && (self.src_port.is_none() || self.src_port == ports.map(|(src, _)| u32::from(src)))
            && (self.dst_port.is_none() || self.dst_port == ports.map(|(_, dst)| u32::from(dst)))
            && agrees(self.packet, PacketKind::of(packet))
    }
}

/// True if `wanted` is `None` or equals the packet's field.
fn agrees<T: PartialEq>(wanted: Option<T>, found: T) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}
