//! Estimates the bottleneck of one direction: rate, buffer size and queue discipline.
//!
//! While a queue contains packets, its link sends without a pause. The bytes that the host sent or received in such a
//! period determine the rate. The rate is unknown if the link was never busy for long. The buffer size is unknown if no
//! packet was lost.

use crate::connection::{Connection, Vantage};
use crate::direction::Direction;
use crate::discipline::Discipline;
use crate::load::{Loads, Towards};
use crate::sketch::Sketch;
use crate::timeline::{Bin, Spread};
use std::net::IpAddr;

/// A link counts as busy if the queueing delay is at least `BUSY_MS` milliseconds and at least the share `BUSY_SHARE`
/// of the minimum RTT.
const BUSY_MS: f64 = 2.5;
const BUSY_SHARE: f64 = 0.05;
/// Shortest busy period from which a rate is computed, in nanoseconds.
const ENOUGH: u64 = 300_000_000;
/// Minimum number of bytes in a busy period from which a rate is computed. Each end of the period is uncertain by
/// several packets.
const ENOUGH_OCTETS: f64 = 100_000.0;
/// A rate is rejected if the link carried more than `MORE` times this rate for `LONG` nanoseconds.
const MORE: f64 = 1.1;
const LONG: u64 = 5_000_000_000;
/// If a bin contains fewer samples of the queueing delay than this number, it counts as busy only at 4 times the usual
/// minimum delay.
const SAMPLES: u32 = 4;
/// The rate of the link is this quantile of the rates of all busy periods, weighted by duration.
const UPPER: f64 = 0.85;
/// Minimum number of losses from which the queue discipline can be inferred.
const LOSSES: u64 = 3;
/// First sign of a drop-tail queue: the delays at losses are similar. Their 25 % quantile is at least this fraction of
/// their 90 % quantile.
const ALIKE: f64 = 0.8;
/// In addition, the first sign requires that 98 % of all delays are below this multiple of the delay at losses.
const LONGER: f64 = 1.15;
/// The queueing delay may exceed these bounds by the transmission time of this number of full packets. The delay at a
/// loss is measured on the next packet, when one packet has already left. The RTT behind another delay can contain one
/// more packet, because the receiver acknowledges two segments at once.
const PACKETS_LONGER: f64 = 2.0;
/// Second sign of a drop-tail queue: a wall, which is the most frequent queueing delay at a loss. At least this share
/// of the losses occurs at the wall.
const WALL_LOSSES: f64 = 0.3;
/// The wall is at least this fraction of the longest delay at a loss.
const TOP: f64 = 0.9;
/// Bounds of the 98 % quantile of all delays, as multiples of the wall.
const WALL: (f64, f64) = (0.9, 1.05);
/// Third sign of a drop-tail queue: its limit is a number of packets. At least this share of the losses occurs at the
/// same number of queued packets.
const PACKETS_ALIKE: f64 = 0.5;
/// The most frequent number of queued packets at a loss is at least this fraction of the largest number at a loss.
const PACKETS_TOP: f64 = 0.85;
/// Strongest sign of a drop-tail queue: at least this share of the losses occurs at the same number of queued packets,
/// which is also close to the largest number at a loss (see `PACKETS_TOP`; one packet more is allowed). The queueing
/// delay is not compared, because it varies if ACKs fill places of a buffer that is counted in packets.
const PACKETS_ALWAYS: f64 = 0.8;
/// This sign requires at least this number of packets. An AQM can drop every packet that finds a shorter queue.
const PACKETS_LEAST: f64 = 4.0;
/// The strongest, second and third signs require at least this number of episodes of losses. The overshoot of slow start alone
/// reaches a long queue under an AQM too, because the AQM needs time to react.
const EPISODES: u64 = 4;
/// Sign of an AQM: at least `OVERSHOT_LOSSES` losses occur at a queueing delay above this multiple of the usual delay at
/// the first loss of an episode. A drop-tail queue that reached this length without a loss would not drop below it.
/// The first multiple is for queues of data. In a queue of ACKs and data, the delay of a full buffer varies by itself.
const OVERSHOT: [f64; 2] = [2.5, 8.0];
const OVERSHOT_LOSSES: f64 = 2.0;
/// Sign of an AQM in a queue of data: after the first loss of an episode, the queue usually grows to this multiple of its
/// length at the loss (median over the episodes). A drop-tail queue of five packets or more cannot grow as much, because
/// a loss shows that it is full (see `PACKETS_LONGER`).
const GROWS: f64 = 1.45;
/// Sign of an AQM in a queue of ACKs and data: the largest number of queued packets at the first loss of an episode is
/// at least this multiple of the 90 % quantile, in at least `SPIKE_EPISODES` episodes. A full drop-tail queue always
/// holds about as many packets. The first multiple is for captures near the sender, where the number includes packets
/// that the queue dropped.
const SPIKE: [f64; 2] = [3.0, 1.6];
const SPIKE_EPISODES: u64 = 8;
/// Sign of an AQM in a queue of ACKs and data: at the first losses of episodes, neither the number of packets nor the
/// queueing delay is similar. A full drop-tail queue holds a constant number of packets or of bytes. The 25 % quantile
/// is less than this fraction of the 90 % quantile, in at least `VARIED_EPISODES` episodes. The numbers are wrong by
/// several packets, so the 90 % quantile must be at least `VARIED_PACKETS`.
const VARIED: f64 = 0.5;
const VARIED_EPISODES: u64 = 6;
const VARIED_PACKETS: f64 = 40.0;
/// If ACKs and data share a queue in front of the point of capture, the number of packets that each packet found is known.
/// A drop-tail queue is full at a loss: its length is the `FULL_QUANTILE` of the numbers at losses. The queue is an AQM
/// if the `LENGTH_QUANTILE` of the numbers that all packets found exceeds this length by more than the larger of
/// `FULL_SHARE` and `FULL_PACKETS`. Otherwise the queue is drop-tail if at least `FULL_LOSSES` of the losses occur within
/// this distance of the full length. The other losses are of segments that were retransmitted at other times.
const FULL_QUANTILE: f64 = 0.75;
const LENGTH_QUANTILE: f64 = 0.995;
const FULL_SHARE: f64 = 0.1;
const FULL_PACKETS: f64 = 2.5;
const FULL_LOSSES: f64 = 0.4;
/// Stronger sign of a drop-tail queue: from the median to the 90 % quantile, the numbers of packets at losses differ from
/// the full length by at most the larger of this number of packets and this share.
const ALIKE_PACKETS: f64 = 1.2;
const ALIKE_SHARE: f64 = 0.05;
/// Number of packets of a buffer below which an error of one packet is too large.
const SHORT: f64 = 10.0;
/// Varying delays at losses indicate an AQM only if at least this share of the packets carries data.
const MIXED: f64 = 0.5;
/// ACKs change the delay of a full buffer noticeably if the share of data packets is below this value.
const SHARED: f64 = 0.8;
/// Size in bytes of the IPv4 header plus a TCP header with timestamps.
const HEADERS: u32 = 52;
/// Bytes of data in a full segment. With segmentation offload (TSO) a captured record can be larger.
const FULL: u32 = 1448;
/// Smallest share of retransmitted segments that indicates a policer.
const POLICED: f64 = 0.01;

/// The bottleneck of one direction. Values that the capture does not show are NaN.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    /// Rate in bit/s, including IP headers.
    pub rate_bps: f64,
    /// Total duration of the busy periods from which the rate was computed, in nanoseconds.
    pub busy: u64,
    /// Buffer size in ms: the queueing delay when the buffer is full.
    pub buffer_ms: f64,
    /// Longest queueing delay in ms (98 % quantile over the bins): a lower bound for the buffer size.
    pub longest_wait_ms: f64,
    /// The way in which the bottleneck treats packets that exceed its capacity.
    pub discipline: Discipline,
}

impl Bottleneck {
    /// Returns the buffer size in bytes; NaN if the rate or the buffer size in ms is unknown.
    pub fn buffer_bytes(&self) -> f64 {
        self.buffer_ms * self.rate_bps / 8e3
    }
}

/// Returns the bottleneck of the data that end `sender` (0 or 1) of the connection sends.
pub fn of_data(connection: &Connection, sender: usize, loads: &Loads) -> Bottleneck {
    let data = &connection.directions[sender];
    let floor_ms = floor_ms(connection, sender);
    let (rate_bps, busy) = rate(connection, sender, loads, floor_ms, false);
    let longest_wait_ms = longest(data, |bin| bin.data_wait_ms);
    let (host, way) = busier(connection, sender, 1 - sender, loads);
    // Most packets in the queue are ACKs.
    let is_mixed = loads.data_share(host, way) < MIXED;
    let (at_loss, share) = data.losses().wait_ms.mode().unwrap_or((f64::NAN, 0.0));
    // The delay was measured on the segment after the lost segment. When the later segment arrived, one packet had
    // already left the queue, so the full buffer is one packet larger.
    let place = f64::from(data.largest.min(FULL) + HEADERS) * 8e3 / rate_bps;
    let place_ms = if place.is_nan() { 0.0 } else { place };
    let shared = loads.lengths(host, way).filter(|_| loads.data_share(host, way) < SHARED);
    let (by_length, full) =
        shared.map_or((Discipline::Unknown, None), |all| by_length(&data.losses().hole_packets, all));
    let by_occupancy = data.occupancy.as_ref().and_then(|occupancy| occupancy.discipline(rate_bps));
    let by_delay = discipline(data, longest_wait_ms, place_ms, is_mixed).map(|found| (found, None));
    let (discipline, full) = match by_delay.or(by_occupancy) {
        Some(found) => found,
        None if by_length == Discipline::DropTail && is_usually_full(&data.losses().hole_packets) => (by_length, full),
        None if !is_mixed || has_spike(data, connection.vantage(sender)) || varies(data) => (Discipline::Aqm, None),
        None => (by_length, full),
    };
    // Near the receiver, the packets before the point of capture include the packet in transmission. Elsewhere, the number
    // is uncertain by one packet, so a short buffer is unknown. Without the line's rate, the number is NaN.
    let is_at_receiver = connection.vantage(sender) == Vantage::Receiver;
    let is_uncertain = |packets: f64| packets.is_nan() || packets < SHORT && !is_at_receiver;
    let at_loss = match full_packets(data) {
        _ if full.is_some_and(is_uncertain) => f64::NAN,
        _ if full.is_some() && !place.is_nan() => full.map_or(f64::NAN, |packets| packets * place),
        // In a mixture of data and ACKs the queueing delay varies, so return the delay of a buffer that is full of
        // data.
        Some(packets) if share < least_alike(data, loads.data_share(host, way)) && !place.is_nan() => {
            (packets + 1.0) * place
        }
        _ if place.is_nan() => at_loss,
        _ => at_loss + place,
    };
    let buffer_ms = if discipline == Discipline::DropTail { at_loss } else { f64::NAN };
    Bottleneck { rate_bps, busy, buffer_ms, longest_wait_ms, discipline }
}

/// Returns the bottleneck of the ACKs for the data of `sender` (0 or 1). Its buffer size and discipline are unknown.
pub fn of_acks(connection: &Connection, sender: usize, loads: &Loads) -> Bottleneck {
    let data = &connection.directions[sender];
    let [from, to] = [1 - sender, sender].map(|end| connection.ends[end].address);
    // Data on the same line shows the rate more exactly than ACKs do.
    let line = loads.line(from, to);
    let (rate_bps, busy) = line.unwrap_or_else(|| rate(connection, sender, loads, floor_ms(connection, sender), true));
    let longest_wait_ms = longest(data, |bin| bin.ack_wait_ms);
    Bottleneck { rate_bps, busy, buffer_ms: f64::NAN, longest_wait_ms, discipline: Discipline::Unknown }
}

/// Returns the rate and the busy time of the link that carries `sender`'s data; `None` if the link was never busy for
/// long enough.
pub(crate) fn line(connection: &Connection, sender: usize, loads: &Loads) -> Option<(f64, u64)> {
    // A busy period contains at least this amount of data, so skip connections with less data.
    let carries = connection.directions[sender].acked_bytes as f64 >= ENOUGH_OCTETS;
    let found = carries.then(|| rate(connection, sender, loads, floor_ms(connection, sender), false));
    found.filter(|(rate_bps, _)| rate_bps.is_finite())
}

/// Returns the minimum RTT of the whole path in ms.
fn floor_ms(connection: &Connection, sender: usize) -> f64 {
    connection.halves(sender).into_iter().flatten().sum::<u64>() as f64 * 1e-6
}

/// Returns the host that has more bytes in the capture: `from` as a sender, or `to` as a receiver. Also returns the
/// direction of these bytes, relative to the host.
fn busier(connection: &Connection, from: usize, to: usize, loads: &Loads) -> (IpAddr, Towards) {
    let (from, to) = (connection.ends[from].address, connection.ends[to].address);
    let at_source = loads.total(from, Towards::Network) > loads.total(to, Towards::Host);
    if at_source { (from, Towards::Network) } else { (to, Towards::Host) }
}

/// Returns the rate in bit/s and the busy time in ns of the data's link. `backwards` selects the link of the ACKs.
fn rate(connection: &Connection, sender: usize, loads: &Loads, floor_ms: f64, backwards: bool) -> (f64, u64) {
    let Some(timeline) = &connection.directions[sender].timeline else { return (f64::NAN, 0) };
    let bound = BUSY_MS.max(BUSY_SHARE * floor_ms);
    let mut periods: Vec<(u64, u64)> = Vec::new();
    let mut run: Option<(u64, u64)> = None;
    for (place, bin) in timeline.bins().iter().enumerate().chain([(timeline.bins().len(), &Bin::default())]) {
        let at = timeline.begin() + place as u64 * timeline.width();
        let is_last = place == timeline.bins().len();
        match (is_busy(bin, backwards, bound), run) {
            (Some(true), None) => run = Some((at, at + timeline.width())),
            (Some(true), Some((since, _))) => run = Some((since, at + timeline.width())),
            // A bin without samples does not end a busy period of the ACK link, because ACKs can be rare while this
            // link is busy. Such a bin ends a busy period of the data link, because the queue may have emptied.
            (None, _) if backwards && !is_last => {}
            (_, Some((since, until))) => {
                run = None;
                // Exclude the first and the last bin, because the queue may have filled or emptied during them.
                let (since, until) = (since + timeline.width(), until.saturating_sub(timeline.width()));
                if until >= since + ENOUGH.max(3 * timeline.width()) {
                    periods.push((since, until));
                }
            }
            _ => {}
        }
    }
    // Most connections are short. Return before the expensive sum over the host's traffic.
    if periods.is_empty() {
        return (f64::NAN, 0);
    }
    let (from, to) = if backwards { (1 - sender, sender) } else { (sender, 1 - sender) };
    let (host, way) = busier(connection, from, to, loads);
    let mut runs: Vec<(u64, f64)> = Vec::new();
    for (since, until) in periods {
        let octets = loads.between(host, way, since, until);
        if backwards || octets >= ENOUGH_OCTETS {
            runs.push((until - since, octets * 8e9 / (until - since) as f64));
        }
    }
    let busy = runs.iter().map(|(time, _)| time).sum();
    let rate_bps = weighted(runs, UPPER);
    let carried_bps = loads.fastest(host, way, LONG) * 8.0;
    if carried_bps > MORE * rate_bps { (f64::NAN, 0) } else { (rate_bps, busy) }
}

/// Returns true if the queue was never empty during the bin; `None` without a sample. `backwards` selects the ACK queue
/// instead of the data queue.
fn is_busy(bin: &Bin, backwards: bool, bound: f64) -> Option<bool> {
    let (wait, other) =
        if backwards { (bin.ack_wait_ms, bin.data_wait_ms) } else { (bin.data_wait_ms, bin.ack_wait_ms) };
    let enough = if wait.count >= SAMPLES { bound } else { 4.0 * bound };
    // If few ACKs arrive and they are delayed for long, the queueing delays of data and ACKs are hard to separate.
    let unsure = !backwards && wait.count < SAMPLES && other.most >= wait.least;
    (wait.count > 0).then(|| f64::from(wait.least) >= enough && !unsure)
}

/// Returns the weighted quantile `share` of (weight, value) pairs; NaN without values.
fn weighted(mut values: Vec<(u64, f64)>, share: f64) -> f64 {
    values.sort_by(|one, other| one.1.total_cmp(&other.1));
    let wanted = values.iter().map(|(weight, _)| *weight as f64).sum::<f64>() * share;
    let mut seen = 0.0;
    for (weight, value) in values {
        seen += weight as f64;
        if seen >= wanted {
            return value;
        }
    }
    f64::NAN
}

/// Returns the 98 % quantile over all bins of the longest queueing delay per bin, in ms.
fn longest(data: &Direction, wait: impl Fn(&Bin) -> Spread) -> f64 {
    let mut waits = Sketch::default();
    let bins = data.timeline.as_ref().map_or(&[][..], |timeline| timeline.bins());
    bins.iter().map(wait).filter(|wait| wait.count > 0).for_each(|wait| waits.add(f64::from(wait.most)));
    waits.quantile(0.98)
}

/// Returns the discipline of the queue that queueing delays show; `None` if they vary. `place_ms` is the transmission time
/// of a full packet, or 0 if unknown; `is_mixed` is true if most packets in the queue are ACKs.
fn discipline(data: &Direction, longest_ms: f64, place_ms: f64, is_mixed: bool) -> Option<Discipline> {
    // CE marks are set only by an AQM (RFC 3168, section 5).
    if data.ecn.0 + data.ecn.2 > 0 {
        return Some(Discipline::Aqm);
    }
    let losses = data.losses();
    let count = losses.wait_ms.count();
    if count < LOSSES {
        return Some(Discipline::Unknown);
    }
    let again = data.retransmitted_segments as f64 / data.data_segments.max(1) as f64;
    if longest_ms < BUSY_MS {
        return Some(if again >= POLICED { Discipline::Policer } else { Discipline::Unknown });
    }
    let episodes = losses.episode_wait_ms.count();
    if episodes >= EPISODES && is_always_full(data) {
        return Some(Discipline::DropTail);
    }
    let usual = losses.episode_wait_ms.quantile(0.5);
    let bound = OVERSHOT[usize::from(is_mixed)] * usual + PACKETS_LONGER * place_ms;
    if episodes >= EPISODES && losses.wait_ms.share_above(bound) * count as f64 >= OVERSHOT_LOSSES {
        return Some(Discipline::Aqm);
    }
    if episodes >= EPISODES && !is_mixed && losses.rise.quantile(0.5) >= GROWS {
        return Some(Discipline::Aqm);
    }
    // In a drop-tail queue, each loss occurs at the same queue length, which is also the maximum queue length. An AQM
    // drops packets at varying queue lengths, or at a length that the queue exceeds at other times.
    let (low, high) = (losses.wait_ms.quantile(0.25), losses.wait_ms.quantile(0.9));
    let most = data.data_wait_ms.quantile(0.98) - PACKETS_LONGER * place_ms;
    let is_alike = low >= ALIKE * high && most <= LONGER * high;
    let is_often = episodes >= EPISODES;
    (is_alike || is_often && (has_wall(data, place_ms) || full_packets(data).is_some())).then_some(Discipline::DropTail)
}

/// Returns the discipline of a queue of ACKs and data, from the number of packets at losses and the numbers that all
/// packets found. Also returns the length of a full drop-tail queue in packets. See `FULL_QUANTILE`.
fn by_length(at_losses: &Sketch, all: &Sketch) -> (Discipline, Option<f64>) {
    let full = at_losses.quantile(FULL_QUANTILE);
    let distance = (FULL_SHARE * full).max(FULL_PACKETS);
    if at_losses.count() < LOSSES {
        (Discipline::Unknown, None)
    } else if all.quantile(LENGTH_QUANTILE) > full + distance {
        (Discipline::Aqm, None)
    } else if at_losses.share_above(full - distance) >= FULL_LOSSES {
        (Discipline::DropTail, Some(full))
    } else {
        (Discipline::Unknown, None)
    }
}

/// Returns true if the numbers of packets at losses are similar. See `ALIKE_PACKETS`.
fn is_usually_full(at_losses: &Sketch) -> bool {
    let full = at_losses.quantile(FULL_QUANTILE);
    let distance = (ALIKE_SHARE * full).max(ALIKE_PACKETS);
    at_losses.quantile(0.5) >= full - distance && at_losses.quantile(0.9) <= full + distance
}

/// Returns true if many packets are lost at the longest queueing delay, and many other packets have about this delay.
/// `place_ms` is the transmission time of a full packet.
fn has_wall(data: &Direction, place_ms: f64) -> bool {
    let most_ms = data.data_wait_ms.quantile(0.98);
    let at_losses = &data.losses().wait_ms;
    let Some((wall, share)) = at_losses.mode() else { return false };
    let at_top = wall >= TOP * at_losses.quantile(1.0);
    let bounds = WALL.0 * wall..=WALL.1 * wall + PACKETS_LONGER * place_ms;
    share >= WALL_LOSSES && at_top && bounds.contains(&most_ms)
}

/// Returns true if the queue sometimes holds many more packets at a loss than usual. See `SPIKE`.
fn has_spike(data: &Direction, vantage: Vantage) -> bool {
    let packets = &data.losses().episode_packets;
    let factor = SPIKE[usize::from(vantage != Vantage::Sender)];
    packets.count() >= SPIKE_EPISODES && packets.quantile(1.0) >= factor * packets.quantile(0.9)
}

/// Returns the most frequent number of queued packets at a loss, if the losses show a buffer with a limit in packets.
/// The number does not include the lost packet. See `PACKETS_ALIKE`.
fn full_packets(data: &Direction) -> Option<f64> {
    let losses = data.losses();
    let (packets, share) = losses.packets.mode()?;
    let (high, most) = (losses.wait_ms.quantile(0.9), data.data_wait_ms.quantile(0.98));
    let wait = losses.wait_ms.mode().map_or(f64::INFINITY, |(wait, _)| wait);
    let at_top = packets >= PACKETS_TOP * losses.packets.quantile(1.0);
    let is_full = share >= PACKETS_ALIKE && at_top && most <= LONGER * high && most >= ALIKE * wait;
    (is_full || is_always_full(data)).then_some(packets)
}

/// Returns true if nearly all losses occur at the same number of queued packets. See `PACKETS_ALWAYS`.
fn is_always_full(data: &Direction) -> bool {
    let (packets, share) = data.losses().packets.mode().unwrap_or((0.0, 0.0));
    share >= PACKETS_ALWAYS && packets >= (PACKETS_TOP * data.losses().packets.quantile(1.0) - 1.0).max(PACKETS_LEAST)
}

/// Returns the share of losses at the same queueing delay below which the number of packets shows the buffer size.
/// `data_share` is the share of data packets in the queue.
fn least_alike(data: &Direction, data_share: f64) -> f64 {
    if data_share < SHARED && is_always_full(data) { PACKETS_ALWAYS } else { PACKETS_ALIKE }
}

/// Returns true if neither the number of packets nor the queueing delay is similar at the first losses of episodes. See
/// `VARIED`.
fn varies(data: &Direction) -> bool {
    let (packets, wait) = (&data.losses().episode_packets, &data.losses().episode_wait_ms);
    let is_wide = |of: &Sketch| of.quantile(0.25) < VARIED * of.quantile(0.9);
    let is_enough = wait.count() >= VARIED_EPISODES && packets.quantile(0.9) >= VARIED_PACKETS;
    is_enough && is_wide(packets) && is_wide(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a direction in which each episode has one loss, at the given queueing delays in ms and numbers of packets.
    fn with_losses(losses: impl Iterator<Item = (f64, f64)>) -> Direction {
        let mut data = Direction::default();
        for (wait_ms, packets) in losses {
            let losses = data.losses.get_or_insert_default();
            losses.wait_ms.add(wait_ms);
            losses.episode_wait_ms.add(wait_ms);
            losses.packets.add(packets);
            losses.episode_packets.add(packets);
            data.data_wait_ms.add(wait_ms);
        }
        data
    }

    /// Returns 20 queueing delays between 20 and 60 ms, because ACKs fill a part of the buffer.
    fn delays() -> impl Iterator<Item = f64> {
        (0..20).map(|number| 20.0 + 2.0 * f64::from(number))
    }

    fn of(data: &Direction) -> Discipline {
        discipline(data, 60.0, 2.0, false).unwrap_or(Discipline::Aqm)
    }

    #[test]
    fn losses_at_the_same_number_of_packets_are_of_a_drop_tail_queue_although_the_delay_varies() {
        assert_eq!(of(&with_losses(delays().map(|wait| (wait, 31.0)))), Discipline::DropTail);
        assert_eq!(of(&with_losses(delays().map(|wait| (wait, wait)))), Discipline::Aqm);
    }

    #[test]
    fn losses_at_a_number_of_packets_that_other_losses_exceed_are_of_an_aqm() {
        let discipline_at = |packets: f64, others: &[(f64, f64)]| {
            let mut data = with_losses(delays().map(|wait| (wait, packets)).chain(others.iter().copied()));
            // The queue is often longer without a loss.
            (0..10).for_each(|_| data.data_wait_ms.add(100.0));
            of(&data)
        };
        assert_eq!(discipline_at(10.0, &[]), Discipline::DropTail);
        assert_eq!(discipline_at(10.0, &[(60.0, 40.0)]), Discipline::Aqm);
        assert_eq!(discipline_at(2.0, &[]), Discipline::Aqm);
    }

    #[test]
    fn a_queue_varies_if_neither_packets_nor_delays_are_alike_at_the_first_losses() {
        let wide = || delays().map(|wait| 5.0 * wait - 90.0);
        assert!(varies(&with_losses(wide().map(|wait| (wait, wait)))));
        assert!(!varies(&with_losses(wide().map(|wait| (wait, 100.0)))));
        assert!(!varies(&with_losses(wide().map(|packets| (100.0, packets)))));
        assert!(!varies(&with_losses(wide().map(|wait| (wait, wait / 10.0)))));
        assert!(!varies(&with_losses(wide().step_by(4).map(|wait| (wait, wait)))));
    }

    #[test]
    fn the_number_of_packets_at_losses_shows_the_discipline_of_acks_and_data() {
        let sketch = |packets: &[u32]| {
            let mut sketch = Sketch::default();
            packets.iter().for_each(|packets| sketch.add(f64::from(*packets)));
            sketch
        };
        let lengths: Vec<u32> = (0..400).map(|number| number % 9).collect();
        // A segment was retransmitted in a short queue.
        let at_losses = sketch(&[8, 2, 8, 8]);
        assert_eq!(by_length(&at_losses, &sketch(&lengths)), (Discipline::DropTail, Some(8.0)));
        let longer: Vec<u32> = lengths.iter().map(|length| 2 * length).collect();
        assert_eq!(by_length(&at_losses, &sketch(&longer)).0, Discipline::Aqm);
        assert_eq!(by_length(&sketch(&[8, 8]), &sketch(&lengths)).0, Discipline::Unknown);
        assert!(is_usually_full(&at_losses) && !is_usually_full(&sketch(&[8, 5, 6, 8, 6, 7, 9, 12])));
        let varied = sketch(&[2, 1, 2, 3, 20, 20]);
        assert_eq!(by_length(&varied, &sketch(&lengths)).0, Discipline::Unknown);
    }
}
