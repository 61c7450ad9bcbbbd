//! A packet as a discipline in Python sees it.

use lopsided_core::{Packet, Transport};
use lopsided_queue::PacketKind;
use lopsided_spec::Choice;
use pyo3::prelude::*;

/// A packet that is offered to a queue or waits in it: its header fields, as they were when it was offered.
#[pyclass(frozen, get_all, eq, module = "lopsided._native")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketView {
    /// Unique within the run.
    pub(crate) id: u64,
    /// The flow's place in the scenario, from 0.
    flow: u32,
    /// Of the IP packet.
    size_bytes: u64,
    payload_bytes: u32,
    /// `not_ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str,
    dscp: u8,
    /// `tcp`, `udp` or `other`.
    protocol: &'static str,
    /// `ack`, `data` or `control`.
    kind: &'static str,
    /// `None` without TCP or UDP.
    src_port: Option<u16>,
    dst_port: Option<u16>,
    /// `None` without TCP.
    seq: Option<u32>,
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
