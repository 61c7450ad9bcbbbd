//! What a capture says of its TCP flows: retransmissions, round trip times and goodput, seen from where it was taken.
//!
//! Round trip times are meaningful for a capture at the sender: one for each acknowledgement that advances, from the sending
//! of the newest segment that it covers; none for one that also covers a retransmission (Karn's rule: what it answers is not
//! known). Left out: selective acknowledgements, and segments that were lost before the point of capture.

use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{HostAddr, Packet, Seq, Span, Time, Transport};
use std::collections::{BTreeMap, VecDeque};

/// One direction of a connection: from the sender of its data to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    pub src: HostAddr,
    pub src_port: u16,
    pub dst: HostAddr,
    pub dst_port: u16,
}

impl FlowKey {
    fn reverse(self) -> FlowKey {
        FlowKey { src: self.dst, src_port: self.dst_port, dst: self.src, dst_port: self.src_port }
    }
}

/// What was seen of one direction of a connection.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    pub key: FlowKey,
    /// Segments with data, and the octets they carried, retransmissions included.
    pub data_segments: u64,
    pub data_bytes: u64,
    /// Segments that began before the highest octet seen.
    pub retransmitted_segments: u64,
    pub retransmitted_bytes: u64,
    /// Octets that the receiver acknowledged.
    pub acked_bytes: u64,
    /// From the first segment with data to the last acknowledgement of new data.
    pub active: Span,
    pub rtt: RttSummary,
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
    pub min: Span,
    pub max: Span,
    sum_ms: f64,
    sum_of_squares_ms2: f64,
}

impl RttSummary {
    fn take(&mut self, rtt: Span) {
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
        let Transport::Tcp(header) = &packet.transport else { return };
        let key = FlowKey { src: packet.src, src_port: header.src_port, dst: packet.dst, dst_port: header.dst_port };
        if header.flags.has(Flags::ACK)
            && let Some(flow) = self.flows.get_mut(&key.reverse())
        {
            flow.acked(at, header.ack);
        }
        if !packet.payload.is_empty() {
            self.flows.entry(key).or_insert_with(|| Flow::new(at, header)).sent(at, header, packet.payload.len());
        }
    }

    /// One summary for each direction that carried data, in order of addresses and ports.
    pub fn summaries(&self) -> Vec<FlowSummary> {
        self.flows.iter().map(|(key, flow)| flow.summary(*key)).collect()
    }
}

#[derive(Debug)]
struct Flow {
    first_at: Time,
    last_ack_at: Time,
    /// One past the highest octet seen.
    next: Seq,
    acked: Seq,
    acked_bytes: u64,
    /// Segments not yet covered by an acknowledgement, in order of sequence.
    in_flight: VecDeque<Segment>,
    data_segments: u64,
    data_bytes: u64,
    retransmitted_segments: u64,
    retransmitted_bytes: u64,
    rtt: RttSummary,
}

#[derive(Debug)]
struct Segment {
    start: Seq,
    end: Seq,
    sent_at: Time,
    retransmitted: bool,
}

impl Flow {
    fn new(at: Time, header: &TcpHeader) -> Flow {
        Flow {
            first_at: at,
            last_ack_at: at,
            next: header.seq,
            acked: header.seq,
            acked_bytes: 0,
            in_flight: VecDeque::new(),
            data_segments: 0,
            data_bytes: 0,
            retransmitted_segments: 0,
            retransmitted_bytes: 0,
            rtt: RttSummary::default(),
        }
    }

    fn sent(&mut self, at: Time, header: &TcpHeader, len: u32) {
        let (start, end) = (header.seq, header.seq + len);
        self.data_segments += 1;
        self.data_bytes += u64::from(len);
        if start.before(self.next) {
            self.retransmitted_segments += 1;
            self.retransmitted_bytes += u64::from(len);
            let again = self.in_flight.iter_mut().filter(|held| held.start.before(end) && start.before(held.end));
            again.for_each(|held| held.retransmitted = true);
        } else {
            self.in_flight.push_back(Segment { start, end, sent_at: at, retransmitted: false });
        }
        self.next = self.next.later_of(end);
    }

    fn acked(&mut self, at: Time, ack: Seq) {
        // A FIN takes a number of its own, which is not an octet of data.
        let ack = ack.earlier_of(self.next);
        if !ack.after(self.acked) {
            return;
        }
        self.acked_bytes += u64::from(ack.since(self.acked));
        self.acked = ack;
        self.last_ack_at = at;
        let covered = self.in_flight.iter().take_while(|segment| segment.end.at_or_before(ack)).count();
        let karn = self.in_flight.range(..covered).any(|segment| segment.retransmitted);
        if let Some(newest) = self.in_flight.drain(..covered).next_back()
            && !karn
        {
            self.rtt.take(at.saturating_since(newest.sent_at));
        }
    }

    fn summary(&self, key: FlowKey) -> FlowSummary {
        FlowSummary {
            key,
            data_segments: self.data_segments,
            data_bytes: self.data_bytes,
            retransmitted_segments: self.retransmitted_segments,
            retransmitted_bytes: self.retransmitted_bytes,
            acked_bytes: self.acked_bytes,
            active: self.last_ack_at.saturating_since(self.first_at),
            rtt: self.rtt,
        }
    }
}
