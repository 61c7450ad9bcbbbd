//! The length of a queue that ACKs and data share behind the point of capture, from the queueing delays of data.
//!
//! Near the sender, a capture shows the packets that arrive at the queue, but not the packets that the queue drops. Data
//! with a queueing delay of `W` finds `W` times the line's rate in the queue, in bytes. This amount, divided by the mean
//! size of the packets in the queue, is the number of packets. The packets that arrived since the departing packet
//! arrived show the mean size, because dropped ACKs and dropped data change the mean size only a little.
//!
//! The line's rate is constant and often unknown, so all lengths are relative to the rate.

use crate::discipline::Discipline;
use crate::load::{Hosts, Loads};
use crate::sketch::Sketch;
use std::collections::VecDeque;

/// Maximum number of data segments whose departures from the queue are stored.
const MOST: usize = 256;
/// Minimum numbers of losses and of episodes of losses from which the discipline is inferred.
const LOSSES: u64 = 6;
const EPISODES: u64 = 4;
/// The spread of lengths is their 90 % quantile divided by their 25 % quantile. A full drop-tail queue always holds about
/// the same number of packets. The queue is drop-tail if the spread at all losses or at the first losses of episodes is
/// at most `ALIKE`, and neither exceeds `DIFFERENT`. In addition, the 90 % quantile of all lengths, divided by the median
/// length at a loss, must be within `LONGEST`.
const ALIKE: f64 = 1.4;
const DIFFERENT: f64 = 2.0;
const LONGEST: std::ops::RangeInclusive<f64> = 0.7..=1.5;
/// The queue is an AQM if both spreads exceed `VARIED`, and the median length at a loss is at least `USUAL` times the
/// median of all lengths. If losses seem to occur in short queues, most dropped packets are ACKs, and the lengths are
/// inaccurate.
const VARIED: f64 = 1.6;
const USUAL: f64 = 0.8;

/// The lengths that data found in a queue of ACKs and data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    /// Lengths that delivered data found.
    all: Sketch,
    /// Lengths at losses.
    at_loss: Sketch,
    /// Lengths at the first loss of each episode.
    at_episode: Sketch,
    /// Arrival at the queue and departure of delivered data, in nanoseconds of the file's clock.
    departures: VecDeque<(u64, u64)>,
}

impl Occupancy {
    /// Records delivered data that arrived at the queue at `at` and was queued for `wait` nanoseconds.
    pub(crate) fn delivered(&mut self, loads: &Loads, hosts: Hosts, at: u64, wait: u64) {
        if let Some(length) = self.length(loads, hosts, at, wait) {
            self.all.add(length);
        }
        if self.departures.len() == MOST {
            self.departures.pop_front();
        }
        self.departures.push_back((at, at.saturating_add(wait)));
    }

    /// Records a loss. The next delivered segment arrived at the queue at `at` and was queued for `wait` nanoseconds.
    pub(crate) fn lost(&mut self, loads: &Loads, hosts: Hosts, at: u64, wait: u64, is_first: bool) {
        let Some(length) = self.length(loads, hosts, at, wait) else { return };
        self.at_loss.add(length);
        if is_first {
            self.at_episode.add(length);
        }
    }

    /// Returns the relative length of the queue at `at`. `None` if the packets in the queue are unknown.
    fn length(&self, loads: &Loads, hosts: Hosts, at: u64, wait: u64) -> Option<f64> {
        // Packets that arrived before the latest departed segment have departed too.
        let departed = self.departures.partition_point(|(_, departure)| *departure <= at);
        let since = departed.checked_sub(1).map_or(at.saturating_sub(wait), |place| self.departures[place].0);
        // Segments of one burst have the same capture time, and some of them may still be in the queue.
        let (packets, bytes) = loads.packets_between(hosts, since.min(at).saturating_sub(1), at)?;
        (packets > 0).then(|| wait as f64 * packets as f64 / bytes as f64)
    }

    /// Returns the discipline that the lengths show; `None` if they do not show it. See `ALIKE`. Also returns the length
    /// of a full drop-tail queue in packets; NaN if `rate_bps`, the line's rate in bit/s, is NaN.
    pub(crate) fn discipline(&self, rate_bps: f64) -> Option<(Discipline, Option<f64>)> {
        if self.at_loss.count() < LOSSES || self.at_episode.count() < EPISODES {
            return None;
        }
        let spread = |of: &Sketch| of.quantile(0.9) / of.quantile(0.25);
        let (one, other) = (spread(&self.at_loss), spread(&self.at_episode));
        let (usual, high, full) = (self.all.quantile(0.5), self.all.quantile(0.9), self.at_loss.quantile(0.5));
        if one.min(other) <= ALIKE && one.max(other) <= DIFFERENT && LONGEST.contains(&(high / full)) {
            // From nanoseconds per byte to packets. When the segment after the lost segment arrived, one packet had already
            // left the queue.
            Some((Discipline::DropTail, Some(full * rate_bps / 8e9 + 1.0)))
        } else {
            (one.min(other) > VARIED && full >= USUAL * usual).then_some((Discipline::Aqm, None))
        }
    }

    /// Frees the memory that only an open connection needs.
    pub(crate) fn close(&mut self) {
        self.departures = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the discipline for losses at these lengths. Delivered data found the lengths 1 to 20.
    fn of(losses: &[u32]) -> Option<Discipline> {
        let mut found = Occupancy::default();
        (1..=20).for_each(|length| found.all.add(f64::from(length)));
        for length in losses {
            found.at_loss.add(f64::from(*length));
            found.at_episode.add(f64::from(*length));
        }
        found.discipline(f64::NAN).map(|(discipline, _)| discipline)
    }

    #[test]
    fn losses_at_the_same_length_are_of_a_drop_tail_queue_unless_the_queue_is_often_longer() {
        assert_eq!(of(&[18, 20, 19, 20, 22, 20]), Some(Discipline::DropTail));
        assert_eq!(of(&[8, 9, 8, 10, 9, 8]), None);
        assert_eq!(of(&[18, 20, 19]), None);
    }

    #[test]
    fn losses_at_varying_lengths_are_of_an_aqm_unless_they_seem_to_occur_in_short_queues() {
        assert_eq!(of(&[6, 20, 9, 14, 11, 18]), Some(Discipline::Aqm));
        assert_eq!(of(&[3, 20, 7, 12, 5, 16]), None);
    }
}
