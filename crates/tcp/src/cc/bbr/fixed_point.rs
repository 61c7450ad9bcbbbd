//! Linux's units: a bandwidth is in segments per microsecond times 2^24, a gain is in units of 1/256, times are in
//! whole microseconds, and divisions round down.
//!
//! The maximum over rounds stores its best three candidates (Kathleen Nichols' windowed filter).

use lopsided_core::{Bytes, Duration, Time};

/// One segment per microsecond.
pub(super) const BW_UNIT: u64 = 1 << 24;
/// A gain of one.
pub(super) const UNIT: u64 = 256;
const MICROSECONDS: u64 = 1_000_000;
/// Pacing rate as a percentage of the bandwidth.
const PACING_PERCENT: u64 = 99;

/// Returns the bandwidth at which `octets` bytes are delivered in `interval`, in fixed point.
pub(super) fn bandwidth(octets: Bytes, mss: u64, interval: Duration) -> u64 {
    octets.get() / mss * BW_UNIT / microseconds(interval).max(1)
}

/// Returns the number of whole segments that the bandwidth delivers in the given time.
pub(super) fn delivered_in(bandwidth: u64, time: Duration) -> u64 {
    (u128::from(bandwidth) * u128::from(microseconds(time)) / u128::from(BW_UNIT)) as u64
}

/// Converts bytes per second to a bandwidth.
pub(super) fn from_octets_per_second(rate: f64, mss: u64) -> u64 {
    (rate / mss as f64 / MICROSECONDS as f64 * BW_UNIT as f64) as u64
}

/// Returns the pacing rate for a bandwidth and a gain, in bytes per second.
pub(super) fn pacing_rate(bandwidth: u64, mss: u64, gain: u64) -> u64 {
    let gained = (u128::from(bandwidth) * u128::from(mss) * u128::from(gain)) >> 8;
    let rate = (gained * u128::from(MICROSECONDS / 100 * PACING_PERCENT)) >> 24;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Returns `gain` times the bandwidth-delay product, in segments, rounded up.
pub(super) fn bdp(bandwidth: u64, min_rtt: Duration, gain: u64) -> u64 {
    let product = (u128::from(bandwidth) * u128::from(microseconds(min_rtt)) * u128::from(gain)) >> 8;
    u64::try_from(product.div_ceil(u128::from(BW_UNIT))).unwrap_or(u64::MAX)
}

/// Converts a duration to whole microseconds.
pub(super) fn microseconds(duration: Duration) -> u64 {
    duration.as_nanos() / 1000
}

/// The tick of the stack's clock, in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks(u64);

impl Ticks {
    pub fn new(tick: Duration) -> Ticks {
        Ticks(tick.as_nanos().max(1))
    }

    /// Rounds a time down to a tick.
    pub fn at(self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos() / self.0 * self.0)
    }
}

/// The maximum of a value over the last rounds.
#[derive(Debug, Default)]
pub(super) struct RunningMax {
    /// The three best values. Later entries are newer.
    best: [RoundValue; 3],
}

/// A value that was measured in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RoundValue {
    round: u64,
    value: u64,
}

impl RunningMax {
    pub fn max(&self) -> u64 {
        self.best[0].value
    }

    /// Adds the value of round `round` to the maximum over the last `window` rounds (Linux's minmax_running_max).
    pub fn add(&mut self, window: u64, round: u64, value: u64) {
        let new = RoundValue { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = round - first.round;
        if age > window {
            // The best value is too old, and the second value may be too old as well.
            (*first, *second, *third) = (*second, *third, new);
            if round - first.round > window {
                (*first, *second) = (*second, *third);
            }
        } else if second.round == first.round && age > window / 4 {
            // If 1/4 of the window has passed without a second candidate, the newest value becomes the second
            // candidate.
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_and_rates_match_linux() {
        let mss = 1448;
        // A window of ten segments, an RTT of 20 ms and Startup's gain: one segment every 700 us.
        let guess = bandwidth(Bytes::new(10 * mss), mss, Duration::from_millis(20));
        assert_eq!(guess, 10 * BW_UNIT / 20_000);
        let rate = pacing_rate(guess, mss, 739);
        assert_eq!(mss * 1_000_000_000 / rate, 699_877);
        assert_eq!(bdp(guess, Duration::from_millis(20), UNIT), 10);
        assert_eq!(bdp(guess, Duration::from_millis(20), 2 * UNIT), 20);
    }

    #[test]
    fn the_maximum_covers_the_last_ten_rounds() {
        let mut max = RunningMax::default();
        max.add(10, 1, 100);
        max.add(10, 1, 90);
        for round in 2..=11 {
            max.add(10, round, 50);
            assert_eq!(max.max(), 100, "in round {round}");
        }
        max.add(10, 12, 40);
        assert_eq!(max.max(), 50);
        max.add(10, 30, 10);
        assert_eq!(max.max(), 10, "rounds without a sample count too");
    }

    #[test]
    fn a_rate_in_bytes_is_converted_to_segments_per_microsecond() {
        // 500 segments of 1448 bytes per second.
        assert_eq!(from_octets_per_second(724_000.0, 1448), 500 * BW_UNIT / 1_000_000);
        assert_eq!(from_octets_per_second(1e9, 1000), BW_UNIT);
    }

    /// The windowed filter of Linux's lib/minmax.c keeps three candidates of different ages.
    #[test]
    fn the_second_and_third_candidates_are_renewed_as_the_window_passes() {
        let after = |samples: &[(u64, u64)]| {
            let mut max = RunningMax::default();
            samples.iter().for_each(|(round, value)| max.add(8, *round, *value));
            max.best.map(|best| (best.round, best.value))
        };
        // After more than a quarter of the window without another candidate, the newest value is the second one.
        assert_eq!([after(&[(10, 100)]), after(&[(10, 100), (12, 90)])], [[(10, 100); 3]; 2]);
        assert_eq!(after(&[(10, 100), (13, 90)]), [(10, 100), (13, 90), (13, 90)]);
        assert_eq!(after(&[(10, 100), (13, 90), (14, 90)]), [(10, 100), (14, 90), (14, 90)]);
        assert_eq!(after(&[(10, 100), (13, 90), (14, 95)]), [(10, 100), (14, 95), (14, 95)]);
        // After more than half of it, the newest value is the third one.
        assert_eq!(after(&[(10, 100), (13, 90), (14, 80)]), [(10, 100), (13, 90), (13, 90)]);
        assert_eq!(after(&[(10, 100), (13, 90), (15, 80)]), [(10, 100), (13, 90), (15, 80)]);
        assert_eq!(after(&[(10, 100), (13, 90), (15, 80), (16, 80)]), [(10, 100), (13, 90), (16, 80)]);
        assert_eq!(after(&[(10, 100), (13, 90), (15, 80), (16, 70)]), [(10, 100), (13, 90), (15, 80)]);
        // Values expire after the window.
        let expired = |round| after(&[(10, 100), (13, 50), (15, 40), (round, 30)]);
        assert_eq!(expired(18)[0], (10, 100));
        assert_eq!(expired(19), [(13, 50), (15, 40), (19, 30)]);
        assert_eq!(expired(22), [(15, 40), (22, 30), (22, 30)]);
        assert_eq!(expired(24), [(24, 30); 3]);
        assert_eq!(after(&[(10, 100), (12, 100)]), [(12, 100); 3]);
        // Without a sample for a whole window, all values have expired.
        assert_eq!(after(&[(10, 100), (18, 50)]), [(10, 100), (18, 50), (18, 50)]);
        assert_eq!(after(&[(10, 100), (19, 50)]), [(19, 50); 3]);
    }
}
