//! The RTT of a TCP connection, measured at a middlebox from the timestamps (RFC 7323) of both directions.
//!
//! The RTT is the sum of two halves: from the sender's timestamp to its echo in an ACK (far), and from the receiver's
//! timestamp to its echo in data (near).
//!
//! In each half, one timestamp is tracked at a time, so each half yields one sample per RTT (RFC 6298). A sender that
//! has no data to send delays its echo, so the near half is the minimum of the last 8 samples.
//!
//! Not measured: QUIC, and TCP without timestamps.

use crate::tools::sensing::{Estimate, Smoothing};
use lopsided_core::packet::{Flags, Timestamps};
use lopsided_core::{Duration, Packet, Time};

/// The measurement of one connection.
#[derive(Debug, Default)]
pub(crate) struct PassiveRtt {
    far: Half,
    near: Half,
    far_estimate: Estimate,
    near_estimate: Estimate,
    /// The latest samples of the near half.
    near_recent: [Option<Duration>; 8],
    /// Number of RTT samples of the near half so far.
    near_samples: usize,
}

/// The timestamp that is tracked to measure one half of the RTT (far or near).
#[derive(Debug, Default)]
struct Half {
    /// The tracked timestamp and the time at which it passed; `None` if no timestamp is tracked.
    watched: Option<(u32, Time)>,
}

impl Half {
    /// Time within which an echo must arrive. After this time, another timestamp is tracked.
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Handles a timestamp that passes. The timestamp is tracked if no other timestamp is being tracked.
    fn sent(&mut self, value: u32, now: Time) {
        if self.watched.is_none_or(|(_, since)| now.saturating_since(since) > Half::TIMEOUT) {
            self.watched = Some((value, now));
        }
    }

    /// Handles an echo that passes. If the echo covers the tracked timestamp, returns the time since this timestamp
    /// passed.
    fn echoed(&mut self, echo: u32, now: Time) -> Option<Duration> {
        let (value, since) = self.watched?;
        // Timestamps wrap around: a negative difference means an older timestamp.
        if (echo.wrapping_sub(value) as i32) < 0 {
            return None;
        }
        self.watched = None;
        let took = now.saturating_since(since);
        (took <= Half::TIMEOUT).then_some(took)
    }
}

/// Returns the timestamps of a segment, and true if the receiver answers the segment at once. `None` if the segment has
/// no timestamps.
fn timestamps(packet: &Packet) -> Option<(Timestamps, bool)> {
    let header = packet.tcp()?;
    let answered = !packet.payload().is_empty() || header.flags.has(Flags::SYN);
    Some((header.options.timestamps?, answered))
}

impl PassiveRtt {
    /// Handles a packet towards the receiver.
    pub fn forward(&mut self, packet: &Packet, smoothing: Smoothing, now: Time) {
        let Some((timestamps, answered)) = timestamps(packet) else { return };
        if let Some(sample) = self.near.echoed(timestamps.echo, now) {
            self.near_recent[self.near_samples % self.near_recent.len()] = Some(sample);
            self.near_samples += 1;
            // A sender that has no data to send delays its echo. The shortest sample is the closest to the path's
            // delay.
            let shortest = self.near_recent.iter().flatten().min().copied().unwrap_or(sample);
            self.near_estimate.update(shortest, smoothing, now);
        }
        // A pure ACK gets no answer, so its timestamp would be echoed only with later data.
        if answered {
            self.far.sent(timestamps.value, now);
        }
    }

    /// Handles a packet from the receiver.
    pub fn reverse(&mut self, packet: &Packet, smoothing: Smoothing, now: Time) {
        let Some((timestamps, _)) = timestamps(packet) else { return };
        if let Some(sample) = self.far.echoed(timestamps.echo, now) {
            self.far_estimate.update(sample, smoothing, now);
        }
        self.near.sent(timestamps.value, now);
    }

    /// Returns the whole round trip, or only the far half if the near half has no sample yet.
    pub fn get(&self, now: Time) -> Option<Duration> {
        let far = self.far_estimate.get(now)?;
        Some(far + self.near_estimate.latest().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::packet::{TcpHeader, TcpOptions};
    use lopsided_core::{FlowId, IpHeader, NewPacket, Payload, Seq, Transport};
    use std::net::Ipv4Addr;

    fn segment(value: u32, echo: u32, payload: u32) -> Packet {
        let options = TcpOptions::default().with_timestamps(Some(Timestamps { value, echo }));
        let header = TcpHeader {
            src_port: 1,
            dst_port: 2,
            seq: Seq::new(0),
            ack: Seq::new(0),
            flags: Flags::ACK,
            window: 0,
            options,
        };
        let ip = IpHeader::v4(Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let new = NewPacket::new(FlowId(0), ip, Transport::Tcp(header), Payload::virtual_len(payload));
        Packet::unbooked(1, Time::ZERO, new)
    }

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_rtt_is_the_sum_of_both_halves_without_idle_times_of_the_sender() {
        let mut rtt = PassiveRtt::default();
        let (mut sender, mut receiver) = (100, 900);
        for round in 0..50 {
            let start = 1000 * round;
            rtt.forward(&segment(sender, receiver, 1000), Smoothing::Rfc6298, at(start));
            // The delay to the receiver is 30 ms and to the sender 20 ms. In every 5th round the sender has no data for
            // 500 ms.
            receiver += 1;
            rtt.reverse(&segment(receiver, sender, 0), Smoothing::Rfc6298, at(start + 30));
            sender += 1;
            let idle = if round % 5 == 4 { 500 } else { 0 };
            rtt.forward(&segment(sender, receiver, 1000), Smoothing::Rfc6298, at(start + 50 + idle));
            rtt.reverse(&segment(receiver, sender, 0), Smoothing::Rfc6298, at(start + 80 + idle));
            sender += 1;
        }
        let found = rtt.get(at(50_000)).unwrap().as_millis_f64();
        assert!((found - 50.0).abs() < 1.0, "{found} ms");
        assert_eq!(rtt.get(at(70_000)), None, "the estimate has expired");
    }

    #[test]
    fn an_echo_of_an_unknown_timestamp_is_ignored() {
        let mut rtt = PassiveRtt::default();
        rtt.forward(&segment(500, 0, 1000), Smoothing::Rfc6298, at(0));
        rtt.reverse(&segment(7, 499, 0), Smoothing::Rfc6298, at(10));
        assert_eq!(rtt.get(at(10)), None);
    }
}
