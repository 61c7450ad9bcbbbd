//! The narrowest point of one direction: its rate, its buffer, and what it does with packets that do not fit.
//!
//! A queue that never empties for the length of a bin means that the line worked all of that time; the octets that the
//! host received or sent meanwhile, over all connections, give the line's rate. A direction that was never that busy
//! says nothing about its rate, and one that lost nothing nothing about its buffer.

use crate::connection::Connection;
use crate::direction::Direction;
use crate::load::{Loads, Towards};
use crate::sketch::Sketch;
use crate::timeline::{Bin, Spread};

/// A queue of this many milliseconds, or this share of the smallest round trip, counts as busy.
const BUSY_MS: f64 = 2.5;
const BUSY_SHARE: f64 = 0.05;
/// Nanoseconds for which a line must be busy before its rate counts.
const ENOUGH: u64 = 300_000_000;
/// Octets that cross a busy line before its rate counts: ACKs acknowledge several packets at once.
const ENOUGH_OCTETS: f64 = 100_000.0;
/// A bin with fewer waiting times shows only if they are long that its queue never emptied.
const SAMPLES: u32 = 4;
/// The rate is the one that this share of the busy time does not exceed.
const UPPER: f64 = 0.85;
/// Losses that are needed before the discipline counts.
const LOSSES: u64 = 3;
/// In a drop-tail buffer waits at losses differ by less than this factor from each other.
const ALIKE: f64 = 0.8;
/// In a drop-tail buffer 98 % of the packets wait at most this many times as long as at losses.
const LONGER: f64 = 1.15;
/// Octets of the headers of IPv4 and TCP with timestamps.
const HEADERS: u32 = 52;
/// Octets of data in a full segment. A record of a network card that cuts segments holds more.
const FULL: u32 = 1448;
/// Share of segments that pass again at a policer, at least.
const POLICED: f64 = 0.01;

/// The treatment of packets that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Drops what finds the buffer full.
    DropTail,
    /// Drops or marks before the buffer is full.
    Aqm,
    /// Drops what exceeds the rate, without a queue.
    Policer,
    /// The capture does not show it.
    Unknown,
}

impl Discipline {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Discipline::DropTail => "drop_tail",
            Discipline::Aqm => "aqm",
            Discipline::Policer => "policer",
            Discipline::Unknown => "unknown",
        }
    }
}

/// The bottleneck of one direction; NaN for what the capture does not show.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    /// Its rate, in bit/s of IP packets.
    pub rate_bps: f64,
    /// Nanoseconds for which it was busy without a break.
    pub busy: u64,
    /// Its buffer in ms: how long packets wait when it is full.
    pub buffer_ms: f64,
    /// The longest wait that was seen, in ms: the buffer is at least this large.
    pub longest_wait_ms: f64,
    /// Its treatment of packets that do not fit.
    pub discipline: Discipline,
}

impl Bottleneck {
    /// Its buffer in octets.
    pub fn buffer_bytes(&self) -> f64 {
        self.buffer_ms * self.rate_bps / 8e3
    }
}

/// The bottleneck on the way of the data of one end.
pub fn of_data(connection: &Connection, sender: usize, loads: &Loads) -> Bottleneck {
    let data = &connection.directions[sender];
    let floor_ms = floor_ms(connection, sender);
    let (rate_bps, busy) = rate(connection, sender, loads, floor_ms, false);
    let longest_wait_ms = longest(data, |bin| bin.data_wait_ms);
    let discipline = discipline(data, longest_wait_ms);
    let at_loss = data.wait_at_loss_ms.mode().map_or(f64::NAN, |(wait, _)| wait);
    // A segment behind a lost one found a place free that the lost one did not.
    let place = f64::from(data.largest.min(FULL) + HEADERS) * 8e3 / rate_bps;
    let at_loss = if place.is_nan() { at_loss } else { at_loss + place };
    let buffer_ms = if discipline == Discipline::DropTail { at_loss } else { f64::NAN };
    Bottleneck { rate_bps, busy, buffer_ms, longest_wait_ms, discipline }
}

/// The bottleneck on the way of the ACKs for the data of one end. Its buffer and discipline show only in data of the
/// other end.
pub fn of_acks(connection: &Connection, sender: usize, loads: &Loads) -> Bottleneck {
    let data = &connection.directions[sender];
    let (rate_bps, busy) = rate(connection, sender, loads, floor_ms(connection, sender), true);
    let longest_wait_ms = longest(data, |bin| bin.ack_wait_ms);
    Bottleneck { rate_bps, busy, buffer_ms: f64::NAN, longest_wait_ms, discipline: Discipline::Unknown }
}

fn floor_ms(connection: &Connection, sender: usize) -> f64 {
    connection.halves(sender).into_iter().flatten().sum::<u64>() as f64 * 1e-6
}

/// The rate, and for how long the line was busy.
fn rate(connection: &Connection, sender: usize, loads: &Loads, floor_ms: f64, backwards: bool) -> (f64, u64) {
    let Some(timeline) = &connection.directions[sender].timeline else { return (f64::NAN, 0) };
    let bound = BUSY_MS.max(BUSY_SHARE * floor_ms);
    let (from, to) = if backwards { (1 - sender, sender) } else { (sender, 1 - sender) };
    let (from, to) = (connection.ends[from].address, connection.ends[to].address);
    let at_source = loads.total(from, Towards::Network) > loads.total(to, Towards::Host);
    let (host, way) = if at_source { (from, Towards::Network) } else { (to, Towards::Host) };
    let mut runs: Vec<(u64, f64)> = Vec::new();
    let mut run: Option<(u64, u64)> = None;
    for (place, bin) in timeline.bins().iter().enumerate().chain([(timeline.bins().len(), &Bin::default())]) {
        let at = timeline.begin() + place as u64 * timeline.width();
        let is_last = place == timeline.bins().len();
        match (is_busy(bin, backwards, bound), run) {
            (Some(true), None) => run = Some((at, at + timeline.width())),
            (Some(true), Some((since, _))) => run = Some((since, at + timeline.width())),
            // ACKs may be few while their line is busy. Data is not: without a sample the queue may have emptied.
            (None, _) if backwards && !is_last => {}
            (_, Some((since, until))) => {
                run = None;
                // The queue may have filled or emptied within the first and the last bin.
                let (since, until) = (since + timeline.width(), until.saturating_sub(timeline.width()));
                if until >= since + ENOUGH.max(3 * timeline.width()) {
                    let octets = loads.between(host, way, since, until);
                    if backwards || octets >= ENOUGH_OCTETS {
                        runs.push((until - since, octets * 8e9 / (until - since) as f64));
                    }
                }
            }
            _ => {}
        }
    }
    let busy = runs.iter().map(|(time, _)| time).sum();
    (weighted(runs, UPPER), busy)
}

/// Whether the queue of the data (`backwards`: of the ACKs) never emptied in a bin; `None` if nothing timed it.
fn is_busy(bin: &Bin, backwards: bool, bound: f64) -> Option<bool> {
    let (wait, other) =
        if backwards { (bin.ack_wait_ms, bin.data_wait_ms) } else { (bin.data_wait_ms, bin.ack_wait_ms) };
    let enough = if wait.count >= SAMPLES { bound } else { 4.0 * bound };
    // While ACKs wait long, the few that come say little about the data.
    let unsure = !backwards && wait.count < SAMPLES && other.most >= wait.least;
    (wait.count > 0).then(|| f64::from(wait.least) >= enough && !unsure)
}

/// The value that this share of the weights does not exceed; NaN without values.
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

/// The wait that only the worst 2 % of bins exceed.
fn longest(data: &Direction, wait: impl Fn(&Bin) -> Spread) -> f64 {
    let mut waits = Sketch::default();
    let bins = data.timeline.as_ref().map_or(&[][..], |timeline| timeline.bins());
    bins.iter().map(wait).filter(|wait| wait.count > 0).for_each(|wait| waits.add(f64::from(wait.most)));
    waits.quantile(0.98)
}

fn discipline(data: &Direction, longest_ms: f64) -> Discipline {
    if data.ecn.0 + data.ecn.2 > 0 {
        return Discipline::Aqm;
    }
    let losses = data.wait_at_loss_ms.count();
    if losses < LOSSES {
        return Discipline::Unknown;
    }
    let again = data.retransmitted_segments as f64 / data.data_segments.max(1) as f64;
    if longest_ms < BUSY_MS {
        return if again >= POLICED { Discipline::Policer } else { Discipline::Unknown };
    }
    // A full buffer always holds the same, and no packet waits longer. An AQM drops at various lengths of its queue, or
    // at a length that the queue exceeds at other times.
    let (low, high) = (data.wait_at_loss_ms.quantile(0.25), data.wait_at_loss_ms.quantile(0.9));
    let always_alike = low >= ALIKE * high;
    let never_longer = data.data_wait_ms.quantile(0.98) <= LONGER * high;
    if always_alike && never_longer { Discipline::DropTail } else { Discipline::Aqm }
}
