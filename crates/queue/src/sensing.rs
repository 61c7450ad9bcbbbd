//! Active sensing: packets that a discipline sends through its own queue and over the link, and that the far end
//! returns. They measure the delay of all queues on the path, including those below IP (Havey 2015 sections 4.3.2, 5.2
//! and 6.2).
//!
//! A sensing packet has the IP header of a packet of the flow, so that it takes the flow's path through every
//! classifier, and a timestamp of 8 bytes as its payload: 28 bytes in IPv4. One follows each fourth data packet. The
//! far end swaps the addresses ([`turn`]), and the packet returns as any other of that direction.
//!
//! **Deviations.** The dissertation does not say how it marks sensing packets. Here they have protocol 253, which RFC
//! 3692 reserves for experiments, and the top bit of the timestamp says that the packet has turned, so that no second
//! far end turns it again.
//!
//! **Hostile input.** A packet counts only if its timestamp is outstanding; any other passes on. At most 4,096 are
//! outstanding: beyond that the oldest count as lost.

use crate::PacketKind;
use lopsided_core::packet::Addresses;
use lopsided_core::{Cx, Duration, Ecn, IpHeader, NewPacket, Packet, Payload, Time, Transport};
use lopsided_spec::Choice;
use std::collections::VecDeque;

/// The protocol of sensing packets (RFC 3692 section 2.1).
pub const SENSING_PROTOCOL: u8 = 253;
/// Packets with data for each sensing packet.
const PACKETS_FOR_EACH: u32 = 4;
/// The most outstanding sensing packets.
const MOST_OUT: usize = 4096;
/// In a timestamp: the packet has turned at the far end.
const TURNED: u64 = 1 << 63;

/// Where a discipline's sensing packets turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// At the far end of the discipline's own link.
    Link,
    /// At the first stage of kind `reflector` on their way, which may be several links away.
    Stage,
}

impl Choice for FarEnd {
    const WORDS: &'static [(&'static str, FarEnd)] = &[("link", FarEnd::Link), ("stage", FarEnd::Stage)];
}

/// Text of the far end's key, in every discipline that senses.
pub(crate) const FAR_END: &str = "Where sensing packets turn: at the far end of this link, or at the next stage of kind reflector on their way, \
                                  which may stand behind other links.";
/// Text of the smoothing's key.
pub(crate) const SMOOTHING: &str = "How round trips are smoothed: as RFC 6298 says, or as the dissertation prints it, with RTTVAR in the place of SRTT.";

/// Treatment of the link's own delay without any queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseDelay {
    /// The smallest sample so far is subtracted from every sample: the rest is queueing delay, which the text speaks
    /// of.
    #[default]
    Subtract,
    /// Samples are taken as they are, as the algorithm is written. On a link of some length there is always bloat.
    Keep,
}

impl Choice for BaseDelay {
    const WORDS: &'static [(&'static str, BaseDelay)] = &[("subtract", BaseDelay::Subtract), ("keep", BaseDelay::Keep)];
}

/// Text of the base delay's key.
pub(crate) const BASE_DELAY: &str = "What becomes of the link's own delay in a sample: the shortest one so far is taken off (subtract), or the \
                                     sample counts whole (keep).";

/// The timestamp of a sensing packet, with [`TURNED`].
fn stamp(packet: &Packet) -> Option<u64> {
    if *packet.transport() != (Transport::Other { protocol: SENSING_PROTOCOL }) {
        return None;
    }
    Some(u64::from_be_bytes(packet.payload().bytes()?.try_into().ok()?))
}

/// True for a sensing packet, outbound or returning.
pub fn is_sensing(packet: &Packet) -> bool {
    stamp(packet).is_some()
}

/// Returns a sensing packet to its sender at the far end of a link. False, without a change, for any other packet and
/// for one that has turned.
pub fn turn(packet: &mut Packet, cx: &mut Cx<'_>) -> bool {
    let Some(stamp) = stamp(packet).filter(|stamp| stamp & TURNED == 0) else { return false };
    let home = Addresses::new(packet.dst(), packet.src()).expect("both are of one version");
    cx.rewrite(packet, |editor| {
        editor.set_addresses(home) && editor.set_payload(Payload::real((stamp | TURNED).to_be_bytes().to_vec()))
    })
}

/// Creates sensing packets and recognizes them when they return. `owner` is the queue that a packet belongs to.
#[derive(Debug, Default)]
pub(crate) struct Sensor {
    /// Outstanding packets by timestamp.
    out: VecDeque<(u64, u32)>,
    base_delay: BaseDelay,
    /// The shortest round trip so far.
    shortest: Option<Duration>,
    newest: u64,
    made: Option<NewPacket>,
    sent: u64,
    came_home: u64,
    given_up: u64,
}

/// Packets with data since the last sensing packet.
#[derive(Debug, Default)]
pub(crate) struct SinceSensed(u32);

impl Sensor {
    pub fn new(base_delay: BaseDelay) -> Sensor {
        Sensor { base_delay, ..Sensor::default() }
    }

    /// A packet of this owner enters the queue: the fourth with data is followed by a sensing packet.
    pub fn follow(&mut self, packet: &Packet, since: &mut SinceSensed, owner: u32, now: Time) {
        if PacketKind::of(packet) != PacketKind::Data || is_sensing(packet) {
            return;
        }
        since.0 += 1;
        if since.0 < PACKETS_FOR_EACH {
            return;
        }
        since.0 = 0;
        // Unique, also if several packets arrive in one nanosecond.
        let stamp = now.as_nanos().max(self.newest + 1);
        self.newest = stamp;
        if self.out.len() == MOST_OUT {
            self.out.pop_front();
            self.given_up += 1;
        }
        self.out.push_back((stamp, owner));
        self.sent += 1;
        let ip = IpHeader { ecn: Ecn::NotEct, ..packet.ip() };
        let transport = Transport::Other { protocol: SENSING_PROTOCOL };
        self.made = Some(NewPacket::new(packet.flow(), ip, transport, Payload::real(stamp.to_be_bytes().to_vec())));
    }

    /// The sensing packet that was made last, once.
    pub fn take_made(&mut self) -> Option<NewPacket> {
        self.made.take()
    }

    /// The owner of an outbound sensing packet.
    pub fn owner(&self, packet: &Packet) -> Option<u32> {
        let place = self.out.binary_search_by_key(&stamp(packet)?, |(stamp, _)| *stamp).ok()?;
        Some(self.out[place].1)
    }

    /// Processes a packet of the other direction: if it is outstanding, returns its owner and its delay, minus the base
    /// delay.
    pub fn come_home(&mut self, packet: &Packet, now: Time) -> Option<(u32, Duration)> {
        let stamp = stamp(packet).filter(|stamp| stamp & TURNED != 0)? & !TURNED;
        let place = self.out.binary_search_by_key(&stamp, |(stamp, _)| *stamp).ok()?;
        let (_, owner) = self.out.remove(place)?;
        self.came_home += 1;
        let took = now.saturating_since(Time::from_nanos(stamp));
        let shortest = self.shortest.map_or(took, |shortest| shortest.min(took));
        self.shortest = Some(shortest);
        Some((owner, if self.base_delay == BaseDelay::Subtract { took.saturating_sub(shortest) } else { took }))
    }

    /// Number of packets sent, returned and given up.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("sensing_sent_packets", self.sent as f64);
        out("sensing_returned_packets", self.came_home as f64);
        out("sensing_given_up_packets", self.given_up as f64);
    }
}

/// How samples of a round trip become an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// SRTT and RTTVAR of RFC 6298 section 2, with alpha 1/8 and beta 1/4.
    Rfc6298,
    /// As eqs 4.5 and 6.2 are printed: `SRTT = (1 - alpha) * RTTVAR + alpha * R`.
    Printed,
}

impl Choice for Smoothing {
    const WORDS: &'static [(&'static str, Smoothing)] =
        &[("rfc6298", Smoothing::Rfc6298), ("printed", Smoothing::Printed)];
}

/// A smoothed RTT. It is unknown after [`Estimate::LASTS`] without a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    smoothed: Option<i64>,
    variation: i64,
    heard_at: Time,
}

impl Estimate {
    /// So long an estimate is believed without a new sample. The dissertation does not say; without a bound a link that
    /// returns no sensing packet any more would be punished for its last sample for ever.
    pub const LASTS: Duration = Duration::from_secs(5);

    pub fn update(&mut self, sample: Duration, smoothing: Smoothing, now: Time) {
        self.heard_at = now;
        let sample = i64::try_from(sample.as_nanos()).unwrap_or(i64::MAX / 16);
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.variation) = (Some(sample), sample / 2);
            return;
        };
        self.variation += ((smoothed - sample).abs() - self.variation) / 4;
        let base = match smoothing {
            Smoothing::Rfc6298 => smoothed,
            Smoothing::Printed => self.variation,
        };
        self.smoothed = Some(base + (sample - base) / 8);
    }

    pub fn get(&self, now: Time) -> Option<Duration> {
        self.latest().filter(|_| now.saturating_since(self.heard_at) <= Estimate::LASTS)
    }

    /// However old it is.
    pub fn latest(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| Duration::from_nanos(smoothed as u64))
    }
}
