//! Counts the packets and bytes that one end of a connection sends and receives, by parsing the packets.

use crate::frames::{self, Frame, PacketKind};
use lopsided_core::Bytes;
use lopsided_core::tcp_event::TcpEvent;
use lopsided_tcp::Counters;
use std::collections::VecDeque;

/// The counters of one connection at one end.
#[derive(Debug, Default)]
pub(super) struct PacketCounts {
    counters: LinkCounters,
    /// Retransmissions that the endpoint has not fetched yet.
    events: Vec<TcpEvent>,
    /// Packet number and stream bytes of each unacknowledged 1-RTT packet, in order. Lost packets stay in the list,
    /// because they may be acknowledged late.
    sent: VecDeque<(u64, u32)>,
    /// Largest 1-RTT packet number sent.
    largest_sent: Option<u64>,
    /// Largest 1-RTT packet number received.
    largest_received: Option<u64>,
    /// For each stream, its ID and the highest offset sent so far.
    edges: Vec<(u64, u64)>,
}

/// The counters, and the UDP payload bytes exchanged before the peer's address is validated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCounters {
    pub sums: Counters,
    /// UDP payload bytes sent, counted up to `HANDSHAKE_OCTETS`.
    pub bytes_unvalidated: u64,
    /// UDP payload bytes received, counted up to `HANDSHAKE_OCTETS`.
    pub bytes_before: u64,
}

/// Value at which the two counters of UDP payload bytes stop. Only the anti-amplification limit uses these counters,
/// and this limit ends with the handshake.
const HANDSHAKE_OCTETS: u64 = 1 << 20;
/// A packet is expected to stay unacknowledged if its number is this far below an acknowledged number.
const OLD: u64 = 1 << 16;
/// Maximum number of events kept for the endpoint.
const MOST_EVENTS: usize = 1 << 12;

impl PacketCounts {
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Returns the retransmissions since the last call.
    pub fn take_events(&mut self) -> Vec<TcpEvent> {
        std::mem::take(&mut self.events)
    }

    /// Counts a datagram that is sent.
    pub fn sent(&mut self, datagram: &[u8]) {
        self.counters.bytes_unvalidated =
            (self.counters.bytes_unvalidated + datagram.len() as u64).min(HANDSHAKE_OCTETS);
        for packet in frames::packets(datagram) {
            self.counters.sums.segments_out += 1;
            let number = packet.number(self.largest_sent);
            let (mut octets, mut again, mut eliciting, mut acks) = (0, 0, false, false);
            for frame in packet.frames() {
                eliciting |= frame.is_ack_eliciting();
                acks |= matches!(frame, Frame::Ack { .. });
                if let Frame::Stream { id, offset, len, .. } = frame {
                    octets += len;
                    let repeated = self.advance(id, offset, len);
                    again += repeated;
                    if repeated > 0 && self.events.len() < MOST_EVENTS {
                        self.events.push(TcpEvent::Retransmitted { start: offset, len: repeated as u32, probe: false });
                    }
                }
            }
            if octets > 0 {
                self.counters.sums.data_segments_out += 1;
                self.counters.sums.bytes_sent += Bytes::new(octets);
                self.counters.sums.bytes_retransmitted += Bytes::new(again);
                self.counters.sums.retransmits += u64::from(again > 0);
            }
            self.counters.sums.pure_acks_out += u64::from(acks && !eliciting);
            // Store only 1-RTT packets, because only their ACKs are evaluated.
            if packet.kind == PacketKind::OneRtt {
                self.largest_sent = Some(number);
                if octets > 0 {
                    self.sent.push_back((number, octets as u32));
                }
            }
        }
    }

    /// Records that a range of a stream is sent. Returns the number of bytes in the range that were sent before.
    fn advance(&mut self, id: u64, offset: u64, len: u64) -> u64 {
        let at = self.edges.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            // Keep only the 64 newest streams. Older streams are assumed to have ended.
            if self.edges.len() == 64 {
                self.edges.remove(0);
            }
            self.edges.push((id, 0));
            self.edges.len() - 1
        });
        let edge = &mut self.edges[at].1;
        // Bytes below the highest offset sent so far were sent before.
        let again = edge.saturating_sub(offset).min(len);
        *edge = (*edge).max(offset + len);
        again
    }

    /// Counts a datagram that arrived.
    pub fn received(&mut self, datagram: &[u8]) {
        self.counters.bytes_before = (self.counters.bytes_before + datagram.len() as u64).min(HANDSHAKE_OCTETS);
        for packet in frames::packets(datagram) {
            self.counters.sums.segments_in += 1;
            let number = packet.number(self.largest_received);
            // RFC 9000, section 12.3: each packet number space has its own numbers. Only the numbers of 1-RTT packets
            // are used.
            if packet.kind == PacketKind::OneRtt {
                self.largest_received = Some(self.largest_received.map_or(number, |largest| largest.max(number)));
            }
            let mut octets = 0;
            for frame in packet.frames() {
                match frame {
                    Frame::Stream { len, .. } => octets += len,
                    Frame::Ack { blocks, .. } if packet.kind == PacketKind::OneRtt => {
                        blocks.for_each(|(start, end)| self.acked(start, end));
                    }
                    _ => {}
                }
            }
            if octets > 0 {
                self.counters.sums.data_segments_in += 1;
                self.counters.sums.bytes_received += Bytes::new(octets);
            }
        }
    }

    fn acked(&mut self, start: u64, end: u64) {
        // Each ACK repeats old ranges, so the cost must depend only on the packets that it acknowledges for the first time.
        let from = self.sent.partition_point(|(number, _)| *number < start);
        let to = self.sent.partition_point(|(number, _)| *number <= end);
        if from == to {
            return;
        }
        let octets = self.sent.drain(from..to).map(|(_, octets)| u64::from(octets)).sum();
        self.counters.sums.bytes_acked += Bytes::new(octets);
        // A byte that was sent twice may be acknowledged twice, but must be counted once.
        let unique = self.counters.sums.bytes_sent.saturating_sub(self.counters.sums.bytes_retransmitted);
        self.counters.sums.bytes_acked = self.counters.sums.bytes_acked.min(unique);
        while self.sent.front().is_some_and(|(number, _)| number + OLD < end) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::put_varint;
    use crate::quinn::forged_packet;

    /// Returns a packet with 100 bytes of a stream, and an ACK of this packet and of all earlier packets except the
    /// first.
    fn data_and_ack(number: u32) -> (Vec<u8>, Vec<u8>) {
        let mut data = vec![0x0e, 0];
        put_varint(&mut data, 100 * u64::from(number));
        data.extend([0x40, 100]);
        data.resize(data.len() + 100, 0);
        let mut ack = vec![0x02];
        for value in [u64::from(number), 0, 0, u64::from(number - 1)] {
            put_varint(&mut ack, value);
        }
        let packet = |frames: &[u8]| forged_packet(PacketKind::OneRtt, true, &[7; frames::CID_LEN], number, frames);
        (packet(&data), packet(&ack))
    }

    /// Only the lost packet and the packets in flight are stored, so the cost of an ACK does not grow with the flow.
    #[test]
    fn a_lost_packet_does_not_keep_acknowledged_packets() {
        let mut counts = PacketCounts::default();
        let lost = [0x0e, 0, 0, 1, 0];
        counts.sent(&forged_packet(PacketKind::OneRtt, true, &[7; frames::CID_LEN], 0, &lost));
        for number in 1..2000 {
            let (data, ack) = data_and_ack(number);
            counts.sent(&data);
            counts.received(&ack);
            assert_eq!(counts.sent.len(), 1, "{number}: only the lost packet is stored");
        }
        let sums = counts.counters().sums;
        assert_eq!((sums.bytes_acked.get(), sums.bytes_sent.get()), (1999 * 100, 1999 * 100 + 1));
    }
}
