//! Datagrams at a constant rate, and the end that counts them.

use super::Remote;
use crate::meter::Delays;
use lopsided_core::packet::{IPV4_HEADER, UDP_HEADER, UdpHeader};
use lopsided_core::{BitRate, Bytes, Duration, Packet, Time};

/// Sends a packet of one size every size / rate, the remainder carried, from `start` until just before `stop`.
#[derive(Debug)]
pub(crate) struct UdpSource {
    pub to: Remote,
    pub header: UdpHeader,
    next: Time,
    stop: Time,
    rate: BitRate,
    size: Bytes,
    carry: u64,
    pub sent_packets: u64,
}

impl UdpSource {
    /// `size` is that of the whole IP packet. The host fills in the source port.
    pub fn new(to: Remote, rate: BitRate, size: Bytes, start: Time, stop: Time) -> UdpSource {
        let header = UdpHeader { src_port: 0, dst_port: to.port };
        UdpSource { to, header, next: start, stop, rate, size, carry: 0, sent_packets: 0 }
    }

    /// The length of the payload of a datagram, if one is due.
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let (span, carry) = self.rate.time_to_send(self.size, self.carry);
        // A rate so high that packets are less than a nanosecond apart still moves on.
        self.next += span.max(Duration::from_nanos(1));
        self.carry = carry;
        self.sent_packets += 1;
        Some((self.size.get() as u32).saturating_sub(IPV4_HEADER + UDP_HEADER))
    }

    pub fn due(&self) -> Option<Time> {
        (self.next < self.stop).then_some(self.next)
    }

    pub fn sent_bytes(&self) -> Bytes {
        Bytes::new(self.sent_packets * self.size.get())
    }
}

/// What arrived of a datagram flow, and how long it took.
#[derive(Debug, Default)]
pub(crate) struct UdpSink {
    pub received_packets: u64,
    pub received_bytes: Bytes,
    pub one_way: Delays,
}

impl UdpSink {
    pub fn receive(&mut self, packet: &Packet, now: Time) {
        self.received_packets += 1;
        self.received_bytes += packet.size();
        self.one_way.add(now.saturating_since(packet.sent_at));
    }
}
