//! Which class of a discipline a packet belongs to: rules over header fields, as `tc-flower(8)` matches them.
//!
//! Leaves out: matches on addresses and on TCP flags one by one.

use lopsided_core::{Ecn, FlowId, Packet, Transport, packet::Flags};

/// Rules in order; the first that matches names the class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classifier {
    pub rules: Vec<Rule>,
    /// The class of a packet that no rule matches.
    pub default: usize,
}

/// A condition on a packet, and the class of those that meet it. Each field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub class: usize,
    /// The differentiated services codepoint (RFC 2474), from 0 to 63.
    pub dscp: Option<u8>,
    pub ecn: Option<Ecn>,
    pub flow: Option<FlowId>,
    /// The protocol number of the IP header: 6 for TCP, 17 for UDP.
    pub protocol: Option<u8>,
    pub src_port: Option<u16>,
    pub dst_port: Option<u16>,
    pub kind: Option<PacketKind>,
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A TCP segment that only acknowledges: no payload, no SYN, FIN or RST.
    Ack,
    /// Payload, of whatever protocol.
    Data,
    /// A TCP segment without payload that opens or ends a connection.
    Control,
}

impl PacketKind {
    pub fn of(packet: &Packet) -> PacketKind {
        match packet.transport() {
            Transport::Tcp(_) if !packet.payload().is_empty() => PacketKind::Data,
            Transport::Tcp(header)
                if [Flags::SYN, Flags::FIN, Flags::RST].into_iter().any(|flag| header.flags.has(flag)) =>
            {
                PacketKind::Control
            }
            Transport::Tcp(_) => PacketKind::Ack,
            Transport::Udp(_) | Transport::Other { .. } => PacketKind::Data,
        }
    }
}

impl Classifier {
    /// The class of this packet.
    pub fn classify(&self, packet: &Packet) -> usize {
        self.rules.iter().find(|rule| rule.matches(packet)).map_or(self.default, |rule| rule.class)
    }

    /// The highest class that any packet can be given.
    pub fn highest_class(&self) -> usize {
        self.rules.iter().map(|rule| rule.class).fold(self.default, usize::max)
    }
}

impl Rule {
    pub fn matches(&self, packet: &Packet) -> bool {
        let (protocol, ports) = match packet.transport() {
            Transport::Tcp(header) => (6, Some((header.src_port, header.dst_port))),
            Transport::Udp(header) => (17, Some((header.src_port, header.dst_port))),
            Transport::Other { protocol } => (*protocol, None),
        };
        agrees(self.dscp, packet.dscp())
            && agrees(self.ecn, packet.ecn())
            && agrees(self.flow, packet.flow())
            && agrees(self.protocol, protocol)
            && (self.src_port.is_none() || self.src_port == ports.map(|(src, _)| src))
            && (self.dst_port.is_none() || self.dst_port == ports.map(|(_, dst)| dst))
            && self.kind.is_none_or(|kind| kind == PacketKind::of(packet))
    }
}

fn agrees<T: PartialEq>(wanted: Option<T>, found: T) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}
