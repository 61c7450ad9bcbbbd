//! Counts the packets and bytes that one end of a connection sent and received, from the packets themselves.

use crate::frames::{self, Frame, PacketKind};
use lopsided_core::Bytes;
use lopsided_core::tcp_event::TcpEvent;
use lopsided_tcp::Counters;
use std::collections::VecDeque;

/// The counters of one connection at one end.
#[derive(Debug, Default)]
pub(super) struct PacketCounts {
    counters: LinkCounters,
    /// Retransmissions that the endpoint has not taken yet.
    events: Vec<TcpEvent>,
    /// Stream bytes of each 1-RTT packet from packet number `first` on; 0 after the packet is acknowledged.
    sent: VecDeque<u32>,
    first: u64,
    /// Largest 1-RTT packet number sent.
    largest_sent: Option<u64>,
    /// Largest 1-RTT packet number received.
    largest_received: Option<u64>,
    /// The end of the data sent on each stream: stream ID and offset.
    edges: Vec<(u64, u64)>,
}

/// The counters, and the UDP payload bytes exchanged before the peer's address is validated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCounters {
    pub sums: Counters,
    /// Bytes sent, up to a limit.
    pub bytes_unvalidated: u64,
    /// Bytes received, up to a limit.
    pub bytes_before: u64,
}

/// Limit of the bytes counted for anti-amplification, which matters only during the handshake.
const HANDSHAKE_OCTETS: u64 = 1 << 20;
/// Largest number of events kept for the endpoint.
const MOST_EVENTS: usize = 1 << 12;

impl PacketCounts {
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Retransmissions since the last call.
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
            // Only 1-RTT packets are stored, because only their ACKs are evaluated.
            if packet.kind == PacketKind::OneRtt {
                self.largest_sent = Some(number);
                self.note(number, octets as u32);
            }
        }
    }

    /// Records that a range is sent, and returns the number of its bytes that were sent before.
    fn advance(&mut self, id: u64, offset: u64, len: u64) -> u64 {
        let at = self.edges.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            // Only the 64 newest streams are kept: an older stream has ended.
            if self.edges.len() == 64 {
                self.edges.remove(0);
            }
            self.edges.push((id, 0));
            self.edges.len() - 1
        });
        let edge = &mut self.edges[at].1;
        // Bytes below the edge were sent before.
        let again = edge.saturating_sub(offset).min(len);
        *edge = (*edge).max(offset + len);
        again
    }

    fn note(&mut self, number: u64, octets: u32) {
        if self.sent.is_empty() {
            self.first = number;
        }
        let Some(ahead) = number.checked_sub(self.first).filter(|ahead| *ahead < 1 << 24) else { return };
        let at = ahead as usize;
        if at >= self.sent.len() {
            // Numbers without stream data count as acknowledged.
            self.sent.resize(at + 1, 0);
        }
        self.sent[at] = octets;
    }

    /// Counts a datagram that arrived.
    pub fn received(&mut self, datagram: &[u8]) {
        self.counters.bytes_before = (self.counters.bytes_before + datagram.len() as u64).min(HANDSHAKE_OCTETS);
        for packet in frames::packets(datagram) {
            self.counters.sums.segments_in += 1;
            let number = packet.number(self.largest_received);
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
        // Remove acknowledged packets from the front. Their numbers cannot be acknowledged again.
        while self.sent.len() > 1 && self.sent.front() == Some(&0) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    fn acked(&mut self, start: u64, end: u64) {
        let last = self.first + self.sent.len() as u64;
        for number in start.max(self.first)..(end.saturating_add(1)).min(last) {
            let octets = std::mem::take(&mut self.sent[(number - self.first) as usize]);
            self.counters.sums.bytes_acked += Bytes::new(u64::from(octets));
        }
        // A byte sent twice may be acknowledged twice, but must count once.
        let unique = self.counters.sums.bytes_sent.saturating_sub(self.counters.sums.bytes_retransmitted);
        self.counters.sums.bytes_acked = self.counters.sums.bytes_acked.min(unique);
    }
}
