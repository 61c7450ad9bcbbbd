//! Statistics of the TCP flows in a capture, as seen at the point of capture: retransmissions, RTT, outstanding data
//! and goodput.
//!
//! RTTs are meaningful if the capture was taken at the sender. Each ACK of new data produces one sample, measured from
//! the newest segment that the ACK covers (Karn's algorithm).
//!
//! The results equal those of tcptrace 6.6.7, with two exceptions. SYN and FIN produce no RTT samples, and the mean of
//! outstanding data is an average over time instead of over packets.
//!
//! Left out: selective acknowledgements, and segments that were lost before the point of capture.

use lopsided_capture::Flight;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Duration, FlowId, Packet, Seq, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// One direction of a connection: addresses and ports. The source is the sender of the direction's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// IP address of the sender.
    pub src: IpAddr,
    /// Port of the sender.
    pub src_port: u16,
    /// IP address of the receiver.
    pub dst: IpAddr,
    /// Port of the receiver.
    pub dst_port: u16,
}

impl FlowKey {
    pub(crate) fn reverse(self) -> FlowKey {
        FlowKey { src: self.dst, src_port: self.dst_port, dst: self.src, dst_port: self.src_port }
    }
}

/// Statistics of one direction of a connection.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Addresses and ports of the direction.
    pub key: FlowKey,
    /// The simulated flow to which the packets belong. Packets that were read from a file always belong to flow 0.
    pub flow: FlowId,
    /// Number of packets of any kind in this direction.
    pub packets: u64,
    /// Number of packets of any kind in the opposite direction.
    pub packets_back: u64,
    /// Time from the first to the last packet of the connection, in either direction.
    pub elapsed: Duration,
    /// Number of segments with data, including retransmissions.
    pub data_segments: u64,
    /// Payload bytes of the segments with data, including retransmissions.
    pub data_bytes: u64,
    /// Number of segments with data that start below the highest sequence number so far.
    pub retransmitted_segments: u64,
    /// Payload bytes of the retransmitted segments.
    pub retransmitted_bytes: u64,
    /// Number of bytes that the receiver acknowledged.
    pub acked_bytes: u64,
    /// Time from the first segment with data to the last ACK of new data.
    pub active: Duration,
    /// Round-trip times.
    pub rtt: RttSummary,
    /// Data that was sent but not yet acknowledged.
    pub outstanding: OutstandingSummary,
    /// Mean receive window of the data sender, without SYNs, in bytes (tcptrace's "avg win adv").
    pub window_mean_bytes: f64,
    /// Mean receive window that the data receiver advertised, over its packets except SYNs, in bytes.
    pub window_back_mean_bytes: f64,
}

/// Data that was sent but not yet acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutstandingSummary {
    /// The maximum.
    pub max_bytes: u64,
    /// Time at which the maximum was first reached.
    pub max_at: Time,
    /// Mean over the connection's elapsed time, in bytes.
    pub mean_bytes: f64,
}

impl FlowSummary {
    /// Returns the acknowledged bytes divided by the active time, in bit/s; 0 if the active time is 0.
    pub fn goodput_bps(&self) -> f64 {
        if self.active.is_zero() { 0.0 } else { self.acked_bytes as f64 * 8.0 / self.active.as_secs_f64() }
    }
}

/// RTT statistics of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttSummary {
    /// Number of samples.
    pub samples: u64,
    /// Minimum RTT; 0 without samples.
    pub min: Duration,
    /// Maximum RTT; 0 without samples.
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

    /// Returns the mean RTT in milliseconds; 0 without samples.
    pub fn mean_ms(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.sum_ms / self.samples as f64 }
    }

    /// Returns the standard deviation of the RTT in milliseconds; 0 without samples.
    pub fn std_ms(&self) -> f64 {
        if self.samples == 0 {
            return 0.0;
        }
        let mean = self.mean_ms();
        // Rounding can make the variance slightly negative.
        (self.sum_of_squares_ms2 / self.samples as f64 - mean * mean).max(0.0).sqrt()
    }
}

/// The flows of a capture. Pass each packet in order of time.
///
/// # Examples
///
/// ```
/// use lopsided_core::packet::{Flags, TcpHeader, TcpOptions};
/// use lopsided_core::{Duration, FlowId, IpHeader, NewPacket, Packet, Payload, Seq, Time, Transport};
/// use lopsided_trace::FlowTable;
///
/// let packet = |from: u8, to: u8, (seq, ack): (u32, u32), len| {
///     let header = TcpHeader {
///         src_port: 5000 + u16::from(from),
///         dst_port: 5000 + u16::from(to),
///         seq: Seq::new(seq),
///         ack: Seq::new(ack),
///         flags: Flags::ACK,
///         window: 65535,
///         options: TcpOptions::default(),
///     };
///     let ip = IpHeader::v4([10, 0, 0, from].into(), [10, 0, 0, to].into());
///     Packet::unbooked(0, Time::ZERO, NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(len)))
/// };
/// let after = |ms| Time::ZERO + Duration::from_millis(ms);
/// let mut flows = FlowTable::default();
/// flows.observe(after(0), &packet(1, 2, (1000, 500), 1448));
/// flows.observe(after(30), &packet(2, 1, (500, 2448), 0));
///
/// let summaries = flows.summaries();
/// assert_eq!(summaries.len(), 1, "only one direction carried data");
/// assert_eq!(summaries[0].acked_bytes, 1448);
/// assert_eq!(summaries[0].rtt.mean_ms(), 30.0);
/// ```
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: BTreeMap<FlowKey, Flow>,
}

impl FlowTable {
    /// Adds a packet. Packets of protocols other than TCP are ignored.
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        let Some(header) = packet.tcp() else { return };
        let key =
            FlowKey { src: packet.src(), src_port: header.src_port, dst: packet.dst(), dst_port: header.dst_port };
        // An ACK belongs to the data of the opposite direction.
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

    /// Returns one summary for each direction that carried data, sorted by addresses and ports.
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
    /// Integral of the outstanding bytes over time up to `changed_at`, in byte nanoseconds, without rounding.
    area: u128,
    changed_at: Time,
    /// Shift count of the window scale option; `None` if the SYN did not contain the option.
    scale: Option<u8>,
    /// Sum of the window fields of all packets except SYNs, and the number of these packets.
    windows: (u64, u64),
}

impl Flow {
    fn new(at: Time, flow: FlowId, header: &TcpHeader) -> Flow {
        // A SYN occupies one sequence number.
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
            area: 0,
            changed_at: at,
            scale: header.options.window_scale(),
            windows: (0, 0),
        }
    }

    fn seen(&mut self, at: Time, header: &TcpHeader) {
        self.packets += 1;
        self.last_seen = at;
        // RFC 7323, section 2.2: the window of a SYN is never scaled, so the mean excludes SYNs.
        if !header.flags.has(Flags::SYN) {
            self.windows.0 += u64::from(header.window);
            self.windows.1 += 1;
        }
    }

    /// Returns the mean receive window that this end advertises, in bytes.
    fn window_mean_bytes(&self, other: Option<&Flow>) -> f64 {
        let shift = match (self.scale, other.and_then(|other| other.scale)) {
            // RFC 7323, section 2.2: windows are scaled only if both SYNs contain the option; section 2.3 limits the
            // shift to 14.
            (Some(scale), Some(_)) => scale.min(14),
            _ => 0,
        };
        if self.windows.1 == 0 { 0.0 } else { self.windows.0 as f64 * f64::from(1u32 << shift) / self.windows.1 as f64 }
    }

    /// Adds the time since the last change to the integral. Must be called before the outstanding data changes.
    fn settle(&mut self, at: Time) {
        let since = at.saturating_since(self.changed_at).as_nanos();
        self.area += u128::from(self.flight.outstanding()) * u128::from(since);
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
        // As in tcptrace, the elapsed time covers both directions.
        let first = back.map_or(self.first_seen, |back| back.first_seen.min(self.first_seen));
        let last = back.map_or(self.last_seen, |back| back.last_seen.max(self.last_seen));
        let elapsed = last.saturating_since(first);
        let mean_bytes = if elapsed.is_zero() { 0.0 } else { self.area as f64 / elapsed.as_nanos() as f64 };
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
