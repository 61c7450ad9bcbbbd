//! Measurements for both BBR versions: rounds, maxima over rounds, ACK aggregation, and the pacing rate. Section
//! numbers refer to draft-ietf-ccwg-bbr-06.

use super::{Acked, PathState};
use lopsided_core::{BitRate, Duration, Time};
use std::ops::RangeInclusive;

/// Pacing rate as a share of the bandwidth. It is below 1, so that the queue stays short (section 5.6.2).
const PACING_MARGIN: f64 = 0.99;

/// Packet-timed round trips (section 5.5.1).
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Number of rounds so far.
    pub count: u64,
    /// True if the last ACK began a round.
    pub start: bool,
    /// The round ends with the ACK of a segment that was sent after at least this number of bytes had been delivered.
    end: u64,
}

impl Rounds {
    /// Processes an ACK.
    pub fn update(&mut self, ack: &Acked, path: &PathState) {
        self.start = ack.rate.delivered.get() > 0 && ack.rate.prior_delivered.get() >= self.end;
        if self.start {
            self.count += 1;
            self.restart(path.delivered.get());
        }
    }

    /// Restarts the current round at `delivered` delivered bytes.
    pub fn restart(&mut self, delivered: u64) {
        self.end = delivered;
    }
}

/// The exact maximum over the last `N` rounds.
#[derive(Debug)]
pub(super) struct MaxOf<const N: usize> {
    /// The last `N` rounds, each with its number and its maximum. A round is stored at the index `number % N`.
    maxima: [(u64, f64); N],
    max: f64,
}

impl<const N: usize> Default for MaxOf<N> {
    fn default() -> MaxOf<N> {
        MaxOf { maxima: [(0, 0.0); N], max: 0.0 }
    }
}

impl<const N: usize> MaxOf<N> {
    /// The maximum.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Adds a value of the round `round`. The round must not be lower than in the last call.
    pub fn add(&mut self, round: u64, value: f64) {
        let place = &mut self.maxima[(round % N as u64) as usize];
        if place.0 == round {
            if value > place.1 {
                place.1 = value;
                self.max = self.max.max(value);
            }
            return;
        }
        *place = (round, value);
        let recent = self.maxima.iter().filter(|(at, _)| at + N as u64 > round);
        self.max = recent.fold(0.0, |max, (_, value)| max.max(*value));
    }

    /// Discards all stored values and adds `value` for the round `round`.
    pub fn reset(&mut self, round: u64, value: f64) {
        *self = MaxOf::default();
        self.add(round, value);
    }
}

/// The data that was sent with ProbeRTT's small window. The delivery rate of this data is lower than the bandwidth of
/// the path (MarkConnectionAppLimited in section 5.3.4.3).
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    /// The delivered byte counts at the time the first segment was sent, and after the last segment was delivered.
    octets: Option<RangeInclusive<u64>>,
}

impl HeldBack {
    /// Extends the range by `in_flight` bytes, which were sent when `delivered` bytes had been delivered.
    pub fn extend(&mut self, delivered: u64, in_flight: u64) {
        let first = self.octets.as_ref().map_or(delivered, |octets| *octets.start());
        self.octets = Some(first..=delivered.saturating_add(in_flight));
    }

    /// True if a segment belongs to this data. `prior_delivered` is the delivered count when the segment was sent.
    pub fn covers(&self, prior_delivered: u64) -> bool {
        self.octets.as_ref().is_some_and(|octets| octets.contains(&prior_delivered))
    }
}

/// ACK aggregation: the number of acknowledged bytes that exceeds the bandwidth (section 5.5.9). A shared medium, for
/// example, may deliver several ACKs at once.
#[derive(Debug, Default)]
pub(super) struct AckEpoch {
    begun: Time,
    /// Number of bytes or segments acknowledged since the epoch began.
    acked: u64,
}

impl AckEpoch {
    /// Begins an epoch.
    pub fn restart(&mut self, now: Time) {
        self.begun = now;
        self.acked = 0;
    }

    /// Adds `delivered` bytes or segments. Returns the excess over the expected total of this epoch. `expected` returns
    /// the amount that the bandwidth delivers in a given time. An epoch ends when the total falls to the expected total
    /// or reaches `limit`.
    pub fn extra(&mut self, now: Time, delivered: u64, expected: impl FnOnce(Duration) -> u64, limit: u64) -> u64 {
        let mut expected = expected(now.saturating_since(self.begun));
        if self.acked <= expected || self.acked.saturating_add(delivered) >= limit {
            self.restart(now);
            expected = 0;
        }
        self.acked = self.acked.saturating_add(delivered);
        self.acked.saturating_sub(expected)
    }
}

/// The pacing rate (section 5.6.2).
#[derive(Debug, Default)]
pub(super) struct Pacer {
    /// The rate in bytes per second.
    pub rate: f64,
    /// True once the rate has been computed from an RTT.
    seen_rtt: bool,
}

impl Pacer {
    /// Sets the rate before the first bandwidth sample: one window per RTT, or per millisecond if no RTT is known.
    pub fn guess(&mut self, window: u64, srtt: Option<Duration>, gain: f64) {
        let rtt = srtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        self.start(gain * PACING_MARGIN * window as f64 / rtt.as_secs_f64(), srtt.is_some());
    }

    /// Sets the first rate, in bytes per second. `of_rtt` is true if it was computed from an RTT.
    pub fn start(&mut self, rate: f64, of_rtt: bool) {
        self.seen_rtt |= of_rtt;
        self.rate = rate;
    }

    /// True if the rate was set without an RTT sample and a sample exists now.
    pub fn must_guess_again(&self, srtt: Option<Duration>) -> bool {
        !self.seen_rtt && srtt.is_some()
    }

    /// Sets the rate to `gain` times the bandwidth. Until the pipe has been full once, the rate never falls.
    pub fn set(&mut self, bandwidth: f64, gain: f64, filled: bool) {
        let rate = bandwidth * gain * PACING_MARGIN;
        if filled || rate > self.rate {
            self.rate = rate;
        }
    }

    /// The pacing rate in bit/s.
    pub fn bit_rate(&self) -> BitRate {
        BitRate::from_bps((self.rate * 8.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_covers_the_last_ten_rounds() {
        let mut max = MaxOf::<10>::default();
        max.add(1, 100.0);
        max.add(1, 90.0);
        for round in 2..=10 {
            max.add(round, 50.0);
            assert_eq!(max.max(), 100.0, "in round {round}");
        }
        max.add(11, 40.0);
        assert_eq!(max.max(), 50.0);
        max.add(25, 10.0);
        assert_eq!(max.max(), 10.0, "rounds without a sample count too");
    }

    /// At 1,000 bytes per second, 500 bytes arrive early. Then no bytes arrive until the bandwidth has caught up.
    #[test]
    fn an_epoch_counts_early_bytes_and_ends_when_acks_fall_behind() {
        let mut epoch = AckEpoch::default();
        let mut extra = |ns, bytes| {
            let at = Time::from_nanos(ns);
            epoch.extra(at, bytes, |time| time.as_nanos() / 1_000_000, u64::MAX)
        };
        assert_eq!(extra(1, 500), 500);
        assert_eq!(extra(250_000_001, 0), 250);
        assert_eq!(extra(600_000_001, 100), 100, "a new epoch");
    }

    #[test]
    fn the_first_rate_is_one_window_per_round_trip_minus_one_percent() {
        let ms = Duration::from_millis;
        let mut pacer = Pacer::default();
        pacer.guess(10_000, None, 2.0);
        assert!((pacer.rate - 2.0 * 0.99 * 10_000_000.0).abs() < 1.0, "a round trip of 1 ms");
        assert!(pacer.must_guess_again(Some(ms(100))) && !pacer.must_guess_again(None));
        pacer.guess(10_000, Some(ms(100)), 2.0);
        assert!((pacer.rate - 2.0 * 0.99 * 100_000.0).abs() < 0.01);
        assert_eq!(pacer.bit_rate(), BitRate::from_bps((pacer.rate * 8.0) as u64));
        assert!(!pacer.must_guess_again(Some(ms(100))));
        pacer.guess(10_000, None, 2.0);
        assert!(!pacer.must_guess_again(Some(ms(100))), "an RTT was seen before");
    }

    #[test]
    fn the_rate_falls_only_once_the_pipe_has_been_full() {
        let mut pacer = Pacer { rate: 1000.0, ..Pacer::default() };
        pacer.set(400.0, 2.0, false);
        assert_eq!(pacer.rate, 1000.0);
        pacer.set(1000.0, 2.0, false);
        assert_eq!(pacer.rate, 1980.0);
        pacer.set(400.0, 0.5, true);
        assert_eq!(pacer.rate, 198.0);
    }

    #[test]
    fn a_round_ends_with_data_that_was_sent_after_it_began() {
        let ack = |delivered, prior| {
            let rate = crate::cc::RateSample {
                delivered: lopsided_core::Bytes::new(delivered),
                prior_delivered: lopsided_core::Bytes::new(prior),
                ..crate::cc::RateSample::default()
            };
            Acked { rate, ..crate::cc::harness::acked(1, Duration::ZERO) }
        };
        let path = |delivered| PathState {
            delivered: lopsided_core::Bytes::new(delivered),
            ..crate::cc::harness::path_state()
        };
        let mut rounds = Rounds::default();
        let mut started = |delivered, prior, total| {
            rounds.update(&ack(delivered, prior), &path(total));
            (rounds.start, rounds.count)
        };
        assert_eq!(started(100, 0, 1000), (true, 1));
        assert_eq!(started(100, 999, 1500), (false, 1));
        assert_eq!(started(0, 1000, 1500), (false, 1), "no sample");
        assert_eq!(started(100, 1000, 2000), (true, 2));
        assert_eq!(started(100, 1999, 2500), (false, 2));
    }

    #[test]
    fn a_reset_maximum_forgets_older_rounds() {
        let mut max = MaxOf::<3>::default();
        max.add(1, 100.0);
        max.reset(2, 40.0);
        assert_eq!(max.max(), 40.0);
        max.add(2, 60.0);
        max.add(4, 50.0);
        assert_eq!(max.max(), 60.0);
        max.add(5, 10.0);
        assert_eq!(max.max(), 50.0, "round 2 is three rounds ago");
    }

    #[test]
    fn held_back_data_is_a_range_of_delivered_bytes() {
        let mut held = HeldBack::default();
        assert!(!held.covers(0));
        held.extend(1000, 50);
        held.extend(1200, 30);
        assert_eq!([999, 1000, 1230, 1231].map(|prior| held.covers(prior)), [false, true, true, false]);
    }

    #[test]
    fn an_epoch_ends_at_its_limit() {
        let mut epoch = AckEpoch::default();
        let mut extra = |bytes| epoch.extra(Time::from_nanos(1), bytes, |_| 0, 1000);
        assert_eq!([extra(500), extra(400), extra(99), extra(1)], [500, 900, 999, 1]);
    }
}
