//! Active sensing: a discipline sends small packets through its own queue and over the link, and the far end sends them
//! back. Their delay includes all queues on the path, even queues below IP (Havey 2015, sections 4.3.2, 5.2 and 6.2).
//!
//! A sensing packet consists of a copy of the flow's IP header and a timestamp of 8 bytes. Classifiers therefore assign
//! it to the class of the flow. The discipline sends one sensing packet after every 4th data packet. The far end swaps
//! the addresses of the packet ([`turn`]).
//!
//! **Deviations.** Sensing packets have protocol 253, which RFC 3692 reserves for experiments. The far end sets the top
//! bit of the timestamp, so that no other far end returns the packet a second time.
//!
//! **Hostile input.** A returned packet is ignored unless an outstanding sensing packet has the same timestamp. At most
//! 4,096 are outstanding.

use crate::PacketKind;
use lopsided_core::packet::Addresses;
use lopsided_core::{Cx, Duration, Ecn, IpHeader, NewPacket, Packet, Payload, Time, Transport};
use lopsided_spec::Choice;
use std::collections::VecDeque;

/// IP protocol number of sensing packets (RFC 3692, section 2.1).
pub const SENSING_PROTOCOL: u8 = 253;
/// Number of data packets after which a sensing packet is sent.
const PACKETS_FOR_EACH: u32 = 4;
/// Maximum number of outstanding sensing packets.
const MOST_OUT: usize = 4096;
/// Flag in the timestamp of a packet that the far end has sent back.
const TURNED: u64 = 1 << 63;

/// The far end, which sends a discipline's sensing packets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarEnd {
    /// The far end of the discipline's own link.
    Link,
    /// The first stage of kind `reflector` on the path of the sensing packets. It may be several links away.
    Stage,
}

impl Choice for FarEnd {
    const WORDS: &'static [(&'static str, FarEnd)] = &[("link", FarEnd::Link), ("stage", FarEnd::Stage)];
}

/// Description of the key that selects the far end, for all disciplines that send sensing packets.
pub(crate) const FAR_END: &str = "Node that returns the discipline's probe packets: the far end of this link (link), or the next reflector stage on their path, which may be several links away (stage).";
/// Description of the key that selects the smoothing.
pub(crate) const SMOOTHING: &str = "Smoothing of round-trip times: as in RFC 6298 (rfc6298), or as printed in the dissertation, where RTTVAR replaces the old SRTT (printed).";

/// Selects whether delay samples include the base delay, which is the delay of the link without a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseDelay {
    /// The smallest sample so far is subtracted, so that a sample is the queueing delay.
    #[default]
    Subtract,
    /// Samples include the base delay, as in the printed algorithm. A link with a long delay then always seems
    /// congested.
    Keep,
}

impl Choice for BaseDelay {
    const WORDS: &'static [(&'static str, BaseDelay)] = &[("subtract", BaseDelay::Subtract), ("keep", BaseDelay::Keep)];
}

/// Description of the key that selects how the base delay is treated.
pub(crate) const BASE_DELAY: &str = "How a delay sample treats the link's own delay: the shortest delay so far is subtracted from each sample (subtract), or the sample is used unchanged (keep).";

/// Returns the timestamp of a sensing packet, including the flag [`TURNED`]; `None` for any other packet.
fn stamp(packet: &Packet) -> Option<u64> {
    if *packet.transport() != (Transport::Other { protocol: SENSING_PROTOCOL }) {
        return None;
    }
    Some(u64::from_be_bytes(packet.payload().bytes()?.try_into().ok()?))
}

/// True if the packet is a sensing packet, in either direction.
pub fn is_sensing(packet: &Packet) -> bool {
    stamp(packet).is_some()
}

/// Sends a sensing packet back: swaps its addresses and sets `TURNED`. Returns false for any other packet.
pub fn turn(packet: &mut Packet, cx: &mut Cx<'_>) -> bool {
    let Some(stamp) = stamp(packet).filter(|stamp| stamp & TURNED == 0) else { return false };
    let home = Addresses::new(packet.dst(), packet.src()).expect("both addresses have the same IP version");
    cx.rewrite(packet, |editor| {
        editor.set_addresses(home) && editor.set_payload(Payload::real((stamp | TURNED).to_be_bytes().to_vec()))
    })
}

/// Creates sensing packets, and recognizes them when they return. `owner` is the number of the queue that a sensing
/// packet measures.
#[derive(Debug, Default)]
pub(crate) struct Sensor {
    /// Timestamp and owner of each outstanding packet, in the order of the timestamps.
    out: VecDeque<(u64, u32)>,
    base_delay: BaseDelay,
    /// The smallest round trip so far; `None` before the first sample.
    shortest: Option<Duration>,
    /// The largest timestamp so far.
    newest: u64,
    /// The sensing packet that the caller must create next; `None` if no sensing packet is due.
    made: Option<NewPacket>,
    /// Number of sensing packets sent.
    sent: u64,
    /// Number of sensing packets that returned.
    came_home: u64,
    /// Number of sensing packets that count as lost.
    given_up: u64,
}

/// Number of data packets since the last sensing packet.
#[derive(Debug, Default)]
pub(crate) struct SinceSensed(u32);

impl Sensor {
    pub fn new(base_delay: BaseDelay) -> Sensor {
        Sensor { base_delay, ..Sensor::default() }
    }

    /// Handles a packet that enters the queue `owner`. After every 4th data packet, prepares a sensing packet.
    pub fn follow(&mut self, packet: &Packet, since: &mut SinceSensed, owner: u32, now: Time) {
        if PacketKind::of(packet) != PacketKind::Data || is_sensing(packet) {
            return;
        }
        since.0 += 1;
        if since.0 < PACKETS_FOR_EACH {
            return;
        }
        since.0 = 0;
        // Timestamps must be unique, even for packets that arrive in the same nanosecond.
        let stamp = now.as_nanos().max(self.newest + 1);
        self.newest = stamp;
        // Limit the memory use even if the link never sends sensing packets back.
        if self.out.len() == MOST_OUT {
            self.out.pop_front();
            self.given_up += 1;
        }
        self.out.push_back((stamp, owner));
        self.sent += 1;
        // Sensing packets are not ECN-capable, because no end host would react to a mark on them.
        let ip = IpHeader { ecn: Ecn::NotEct, ..packet.ip() };
        let transport = Transport::Other { protocol: SENSING_PROTOCOL };
        self.made = Some(NewPacket::new(packet.flow(), ip, transport, Payload::real(stamp.to_be_bytes().to_vec())));
    }

    /// Removes and returns the sensing packet that the caller must create; `None` if there is none.
    pub fn take_made(&mut self) -> Option<NewPacket> {
        self.made.take()
    }

    /// Returns the owner of a sensing packet that is on its way to the far end.
    pub fn owner(&self, packet: &Packet) -> Option<u32> {
        let place = self.out.binary_search_by_key(&stamp(packet)?, |(stamp, _)| *stamp).ok()?;
        Some(self.out[place].1)
    }

    /// Handles a packet from the opposite direction. If the packet is a sensing packet that the far end has sent back,
    /// returns its owner and its delay.
    pub fn come_home(&mut self, packet: &Packet, now: Time) -> Option<(u32, Duration)> {
        // Ignore packets without `TURNED`. They are sensing packets of another discipline, on the way to its far end.
        let stamp = stamp(packet).filter(|stamp| stamp & TURNED != 0)? & !TURNED;
        let place = self.out.binary_search_by_key(&stamp, |(stamp, _)| *stamp).ok()?;
        let (_, owner) = self.out.remove(place)?;
        self.came_home += 1;
        let took = now.saturating_since(Time::from_nanos(stamp));
        let shortest = self.shortest.map_or(took, |shortest| shortest.min(took));
        self.shortest = Some(shortest);
        Some((owner, if self.base_delay == BaseDelay::Subtract { took.saturating_sub(shortest) } else { took }))
    }

    /// Calls `out` with the numbers of sensing packets sent, returned and lost.
    pub fn gauges(&self, out: &mut dyn FnMut(&str, f64)) {
        out("sensing_sent_packets", self.sent as f64);
        out("sensing_returned_packets", self.came_home as f64);
        out("sensing_given_up_packets", self.given_up as f64);
    }
}

/// The formula that smooths round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// SRTT and RTTVAR of RFC 6298, section 2, with alpha 1/8 and beta 1/4.
    Rfc6298,
    /// Equations 4.5 and 6.2 of Havey 2015 as printed: `SRTT = (1 - alpha) * RTTVAR + alpha * R`.
    Printed,
}

impl Choice for Smoothing {
    const WORDS: &'static [(&'static str, Smoothing)] =
        &[("rfc6298", Smoothing::Rfc6298), ("printed", Smoothing::Printed)];
}

/// A smoothed RTT. It is valid for [`Estimate::LASTS`] after the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    smoothed: Option<i64>,
    /// RTTVAR of RFC 6298, the smoothed deviation from `smoothed`, in nanoseconds.
    variation: i64,
    /// Time of the last sample.
    sampled_at: Time,
}

impl Estimate {
    /// Time for which an estimate is valid after its last sample. The dissertation sets no limit, and an old estimate
    /// could make a discipline drop packets forever.
    pub const LASTS: Duration = Duration::from_secs(5);

    /// Adds a sample.
    pub fn update(&mut self, sample: Duration, smoothing: Smoothing, now: Time) {
        self.sampled_at = now;
        let sample = i64::try_from(sample.as_nanos()).unwrap_or(i64::MAX / 16);
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.variation) = (Some(sample), sample / 2);
            return;
        };
        // RFC 6298, section 2.3: RTTVAR is updated before SRTT.
        self.variation += ((smoothed - sample).abs() - self.variation) / 4;
        let base = match smoothing {
            Smoothing::Rfc6298 => smoothed,
            Smoothing::Printed => self.variation,
        };
        // RFC 6298, section 2.3: alpha is 1/8.
        self.smoothed = Some(base + (sample - base) / 8);
    }

    /// Returns the estimate, or `None` if it has expired.
    pub fn get(&self, now: Time) -> Option<Duration> {
        self.latest().filter(|_| now.saturating_since(self.sampled_at) <= Estimate::LASTS)
    }

    /// Returns the estimate, even if it has expired. `None` before the first sample.
    pub fn latest(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| Duration::from_nanos(smoothed as u64))
    }
}
