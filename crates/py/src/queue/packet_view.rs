//! A packet in the form that a queue discipline in Python receives.

use lopsided_core::{Packet, Transport};
use lopsided_queue::PacketKind;
use lopsided_spec::Choice;
use pyo3::prelude::*;

/// A packet that is being enqueued or is in the queue. The header fields have their values at the time of arrival.
#[pyclass(frozen, get_all, eq, module = "lopsided._native")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketView {
    /// Identifier of the packet, unique within the run.
    pub(crate) id: u64,
    /// Index of the flow in the scenario.
    flow: u32,
    /// Size of the IP packet in bytes.
    size_bytes: u64,
    payload_bytes: u32,
    /// `not_ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    dscp: u8,
    /// `tcp`, `udp` or `other`.
    protocol: &'static str,
    /// `ack`, `data` or `control`.
    kind: &'static str,
    /// Source port; `None` if the packet is neither TCP nor UDP.
    src_port: Option<u16>,
    /// Destination port; `None` if the packet is neither TCP nor UDP.
    dst_port: Option<u16>,
    /// Sequence number; `None` if the packet is not TCP.
    seq: Option<u32>,
    /// Acknowledgement number; `None` if the packet is not TCP.
    ack: Option<u32>,
}

impl PacketView {
    pub(super) fn of(packet: &Packet) -> PacketView {
        let (protocol, ports, numbers) = match packet.transport() {
            Transport::Tcp(tcp) => ("tcp", Some((tcp.src_port, tcp.dst_port)), Some((tcp.seq.get(), tcp.ack.get()))),
            Transport::Udp(udp) => ("udp", Some((udp.src_port, udp.dst_port)), None),
            Transport::Other { .. } => ("other", None, None),
        };
        PacketView {
            id: packet.id(),
            flow: packet.flow().0,
            size_bytes: packet.size().get(),
            payload_bytes: packet.payload().len(),
            ecn: packet.ecn().word(),
            dscp: packet.dscp(),
            protocol,
            kind: PacketKind::of(packet).word(),
            src_port: ports.map(|(src, _)| src),
            dst_port: ports.map(|(_, dst)| dst),
            seq: numbers.map(|(seq, _)| seq),
            ack: numbers.map(|(_, ack)| ack),
        }
    }
}

#[pymethods]
impl PacketView {
    fn __repr__(&self) -> String {
        format!("PacketView(id={}, flow={}, kind={:?}, size_bytes={})", self.id, self.flow, self.kind, self.size_bytes)
    }
}
