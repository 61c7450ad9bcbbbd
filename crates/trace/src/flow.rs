//! What a capture says of its TCP flows: retransmissions, round trip times, outstanding data and goodput, seen from
//! where it was taken.
//!
//! Round trip times are meaningful for a capture at the sender: one for each acknowledgement that advances, from the
//! sending of the newest segment that it covers; none for one that also covers a retransmission (Karn's rule: what it
//! answers is not known). These are tcptrace's "RTT samples" without those of SYN and FIN; packets, elapsed time,
//! retransmitted packets and the most outstanding data are its own too (compared with tcptrace 6.6.7). Its means of
//! outstanding data are over packets, here over time. Left out: selective acknowledgements, and segments that were lost
//! before the point of capture.

use lopsided_capture::Flight;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Duration, FlowId, Packet, Seq, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// One direction of a connection: from the sender of its data to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    pub src: IpAddr,
    pub src_port: u16,
    pub dst: IpAddr,
    pub dst_port: u16,
}

impl FlowKey {
    pub(crate) fn reverse(self) -> FlowKey {
        FlowKey { src: self.dst, src_port: self.dst_port, dst: self.src, dst_port: self.src_port }
    }
}

/// What was seen of one direction of a connection.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    pub key: FlowKey,
    /// The flow that its packets belong to in a run; in a file packets belong to none, and this is the first.
    pub flow: FlowId,
    /// Packets of any kind in this direction, and back.
    pub packets: u64,
    pub packets_back: u64,
    /// From the first packet of the connection to its last, in either direction.
    pub elapsed: Duration,
    /// Segments with data, and the octets they carried, retransmissions included.
    pub data_segments: u64,
    pub data_bytes: u64,
    /// Segments that began before the highest octet seen.
    pub retransmitted_segments: u64,
    pub retransmitted_bytes: u64,
    /// Octets that the receiver acknowledged.
    pub acked_bytes: u64,
    /// From the first segment with data to the last acknowledgement of new data.
    pub active: Duration,
    pub rtt: RttSummary,
    pub outstanding: OutstandingSummary,
    /// Mean receive window that the sender of the data offers, over its packets after the SYN, in octets
    /// (tcptrace's "avg win adv").
    pub window_mean_bytes: f64,
    /// The same of the receiver.
    pub window_back_mean_bytes: f64,
}

/// Data sent and not yet acknowledged: the most, and its mean over the connection's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutstandingSummary {
    pub max_bytes: u64,
    pub max_at: Time,
    pub mean_bytes: f64,
}

impl FlowSummary {
    /// Acknowledged octets over the active time, in bits per second.
    pub fn goodput_bps(&self) -> f64 {
        if self.active.is_zero() { 0.0 } else { self.acked_bytes as f64 * 8.0 / self.active.as_secs_f64() }
    }
}

/// The round trip times of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttSummary {
    pub samples: u64,
    pub min: Duration,
    pub max: Duration,
    sum_ms: f64,
    sum_of_squares_ms2: f64,
}

impl RttSummary {
    fn take(&mut self, rtt: Duration) {
        self.min = if self.samples == 0 { rtt } else { self.min.min(rtt) };
        self.max = self.max.max(rtt);
        self.samples += 1;
        self.sum_ms += rtt.as_millis_f64();
        self.sum_of_squares_ms2 += rtt.as_millis_f64() * rtt.as_millis_f64();
    }

    pub fn mean_ms(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum_ms / self.samples as f64 }
    }

    pub fn std_ms(&self) -> f64 {
        if self.samples == 0 {
            return 0.0;
        }
        let mean = self.mean_ms();
        (self.sum_of_squares_ms2 / self.samples as f64 - mean * mean).max(0.0).sqrt()
    }
}

/// The flows of a capture, fed packet by packet in order of time.
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: BTreeMap<FlowKey, Flow>,
}

impl FlowTable {
    /// Takes in the next packet; other packets than TCP's say nothing here.
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        let Some(header) = packet.tcp() else { return };
        let key =
            FlowKey { src: packet.src(), src_port: header.src_port, dst: packet.dst(), dst_port: header.dst_port };
        if header.flags.has(Flags::ACK) {
            if let Some(flow) = self.flows.get_mut(&key.reverse()) {
                flow.acked(at, header.ack);
            }
        }
        let flow = self.flows.entry(key).or_insert_with(|| Flow::new(at, packet.flow(), header));
        flow.seen(at, header);
        if !packet.payload().is_empty() {
            flow.sent(at, header, packet.payload().len());
        }
    }

    /// One summary for each direction that carried data, in order of addresses and ports.
    pub fn summaries(&self) -> Vec<FlowSummary> {
        let with_data = self.flows.iter().filter(|(_, flow)| flow.data_segments > 0);
        with_data.map(|(key, flow)| flow.summary(*key, self.flows.get(&key.reverse()))).collect()
    }
}

#[derive(Debug)]
struct Flow {
    flow: FlowId,
    packets: u64,
    first_seen: Time,
    last_seen: Time,
    first_data_at: Option<Time>,
    last_ack_at: Time,
    flight: Flight,
    acked_bytes: u64,
    data_segments: u64,
    data_bytes: u64,
    retransmitted_segments: u64,
    retransmitted_bytes: u64,
    rtt: RttSummary,
    most: OutstandingSummary,
    /// Octets times seconds up to the last change.
    area: f64,
    changed_at: Time,
    /// The window scale option of the SYN.
    scale: Option<u8>,
    /// Sum of the window fields of all packets but SYNs, and the number of these packets.
    windows: (u64, u64),
}

impl Flow {
    fn new(at: Time, flow: FlowId, header: &TcpHeader) -> Flow {
        // A SYN takes a number of its own.
        let start = header.seq + u32::from(header.flags.has(Flags::SYN));
        Flow {
            flow,
            packets: 0,
            first_seen: at,
            last_seen: at,
            first_data_at: None,
            last_ack_at: at,
            flight: Flight::new(start),
            acked_bytes: 0,
            data_segments: 0,
            data_bytes: 0,
            retransmitted_segments: 0,
            retransmitted_bytes: 0,
            rtt: RttSummary::default(),
            most: OutstandingSummary::default(),
            area: 0.0,
            changed_at: at,
            scale: header.options.window_scale(),
            windows: (0, 0),
        }
    }

    fn seen(&mut self, at: Time, header: &TcpHeader) {
        self.packets += 1;
        self.last_seen = at;
        if !header.flags.has(Flags::SYN) {
            self.windows.0 += u64::from(header.window);
            self.windows.1 += 1;
        }
    }

    /// Mean window that this end offers. RFC 7323 section 2.2: windows are scaled only if both SYNs have the option.
    fn window_mean_bytes(&self, other: Option<&Flow>) -> f64 {
        let shift = match (self.scale, other.and_then(|other| other.scale)) {
            (Some(scale), Some(_)) => scale.min(14),
            _ => 0,
        };
        if self.windows.1 == 0 { 0.0 } else { self.windows.0 as f64 * f64::from(1u32 << shift) / self.windows.1 as f64 }
    }

    /// What is outstanding has been so since it last changed.
    fn settle(&mut self, at: Time) {
        self.area += f64::from(self.flight.outstanding()) * at.saturating_since(self.changed_at).as_secs_f64();
        self.changed_at = at;
    }

    fn sent(&mut self, at: Time, header: &TcpHeader, len: u32) {
        self.settle(at);
        self.first_data_at.get_or_insert(at);
        let (start, end) = (header.seq, header.seq + len);
        self.data_segments += 1;
        self.data_bytes += u64::from(len);
        if self.flight.sent(at, start, end).is_some() {
            self.retransmitted_segments += 1;
            self.retransmitted_bytes += u64::from(len);
        }
        let outstanding = u64::from(self.flight.outstanding());
        if outstanding > self.most.max_bytes {
            (self.most.max_bytes, self.most.max_at) = (outstanding, at);
        }
    }

    fn acked(&mut self, at: Time, ack: Seq) {
        self.settle(at);
        let Some(covered) = self.flight.acked_to(at, ack) else { return };
        self.acked_bytes += u64::from(covered.bytes);
        self.last_ack_at = at;
        if let Some(rtt) = covered.rtt {
            self.rtt.take(rtt);
        }
    }

    fn summary(&self, key: FlowKey, back: Option<&Flow>) -> FlowSummary {
        let first = back.map_or(self.first_seen, |back| back.first_seen.min(self.first_seen));
        let last = back.map_or(self.last_seen, |back| back.last_seen.max(self.last_seen));
        let elapsed = last.saturating_since(first);
        let mean_bytes = if elapsed.is_zero() { 0.0 } else { self.area / elapsed.as_secs_f64() };
        FlowSummary {
            key,
            flow: self.flow,
            packets: self.packets,
            packets_back: back.map_or(0, |back| back.packets),
            elapsed,
            data_segments: self.data_segments,
            data_bytes: self.data_bytes,
            retransmitted_segments: self.retransmitted_segments,
            retransmitted_bytes: self.retransmitted_bytes,
            acked_bytes: self.acked_bytes,
            active: self.last_ack_at.saturating_since(self.first_data_at.unwrap_or(self.last_ack_at)),
            rtt: self.rtt,
            outstanding: OutstandingSummary { mean_bytes, ..self.most },
            window_mean_bytes: self.window_mean_bytes(back),
            window_back_mean_bytes: back.map_or(0.0, |back| back.window_mean_bytes(Some(self))),
        }
    }
}
