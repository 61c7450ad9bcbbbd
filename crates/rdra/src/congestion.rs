//! Congestion detection at the receiver: decides for each hole in the arriving data whether a queue or the channel
//! caused the loss.
//!
//! Havey 2015 treats every hole as a sign of congestion. But a queue grows before it overflows, and responses then take
//! longer. Therefore, a hole is attributed to the channel if responses are as fast as the fastest response so far (as
//! in TCP Veno, Fu and Liew 2003).
//!
//! A short queue can overflow without a measurable delay. An overflow is assumed if at least 3 streams have holes
//! within one round trip, and this is unlikely to be a coincidence. The channel's holes are modelled as a Poisson
//! variable, whose mean follows from the proportion of round trips without a hole.
//!
//! A round-trip sample is the time from a request to the first byte of its response. Queue detection uses the smallest
//! of the latest samples; all other computations use their median. A pause until the sender's timer expires counts as a
//! hole, unlike in Havey 2015.

use lopsided_core::{Duration, Time};
use lopsided_spec::Choice;
use std::collections::VecDeque;

/// The rule that decides which holes count as congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// A hole counts only if there is a queue, or if several streams have holes at about the same time.
    #[default]
    Queued,
    /// Every hole counts (the rule of Havey 2015).
    Every,
}

/// The cause of a hole, or of a pause that counts as a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A loss on the channel, which is not congestion.
    Channel,
    /// Congestion: the round-trip time showed a queue.
    Queue,
    /// Congestion: several streams had holes at the same time, and a coincidence is unlikely.
    Together,
    /// Congestion, because [`Detection::Every`] counts every hole.
    Every,
    /// Congestion that needs no further reduction, because the window was already reduced less than one round trip ago.
    Answered,
}

impl Loss {
    /// Returns the name of the cause, as used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Channel => "channel",
            Loss::Queue => "queue",
            Loss::Together => "together",
            Loss::Every => "every",
            Loss::Answered => "answered",
        }
    }
}

impl Choice for Detection {
    const WORDS: &'static [(&'static str, Detection)] = &[("queued", Detection::Queued), ("every", Detection::Every)];
}

/// Number of round-trip samples to store.
const RECENT: usize = 8;
/// A queue is detected if the latest round trip exceeds the shortest round trip by more than 1 / `QUEUE_PART`.
const QUEUE_PART: u64 = 8;
/// In addition, the latest round trip must exceed the shortest round trip by more than this time.
const LEAST_QUEUE: Duration = Duration::from_millis(2);
/// Minimum number of streams with a hole in the same round trip for an overflow.
const TOGETHER: usize = 3;
/// If the probability of a coincidence is below this value, holes on several streams count as an overflow.
const BY_CHANCE: f64 = 0.01;
/// Minimum number of round trips until a sender's timer expires (RFC 8985, section 7.2).
const REPAIR_RTTS: u64 = 2;
/// Round-trip time that is assumed until the first response.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

/// The state of the detection.
#[derive(Debug)]
pub(crate) struct Detector {
    how: Detection,
    /// The latest round-trip samples.
    recent: VecDeque<Duration>,
    /// The shortest round trip so far; `None` before the first response.
    least: Option<Duration>,
    /// Time of each stream's last hole.
    holes: Vec<Option<Time>>,
    rounds: Rounds,
}

/// The latest round trips, at most 64, each with a bit that is set if a hole occurred in the round trip.
#[derive(Debug, Default)]
struct Rounds {
    /// Start of the current round trip.
    began: Time,
    /// One bit for each completed round trip, set if the round trip contained a hole. The lowest bit is the latest
    /// round trip.
    with_hole: u64,
    /// Number of completed round trips, at most 64.
    over: u32,
    /// True if a hole has occurred in the current round trip.
    has_hole: bool,
}

impl Detector {
    pub fn new(how: Detection, streams: usize) -> Detector {
        Detector { how, recent: VecDeque::new(), least: None, holes: vec![None; streams], rounds: Rounds::default() }
    }

    /// Handles arriving data.
    pub fn arrived(&mut self, now: Time) {
        self.rounds.advance(now, self.rtt());
    }

    /// Adds a round-trip sample: the time from a request to the first byte of its response.
    pub fn sample(&mut self, rtt: Duration) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// Returns the current round-trip time: the median of the latest samples.
    pub fn rtt(&self) -> Duration {
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(UNKNOWN_RTT)
    }

    /// Returns the shortest round trip so far; `None` before the first response.
    pub fn least_rtt(&self) -> Option<Duration> {
        self.least
    }

    /// Returns true if a pause on a stream shows that the sender's timer expired. `last` is the time of the arrival
    /// before the pause.
    pub fn is_repair(&self, stream: usize, last: Time, pause: Duration) -> bool {
        // If the loss left a hole, it was already counted.
        let untold = self.holes[stream].is_none_or(|hole| hole < last);
        self.least.is_some() && untold && pause > self.rtt().saturating_mul(REPAIR_RTTS)
    }

    /// Returns the cause of a new hole on a stream.
    pub fn judge(&mut self, now: Time, stream: usize) -> Loss {
        self.holes[stream] = Some(now);
        self.rounds.has_hole = true;
        match self.how {
            Detection::Every => Loss::Every,
            Detection::Queued if self.sees_queue() => Loss::Queue,
            Detection::Queued if self.holes_together(now) => Loss::Together,
            Detection::Queued => Loss::Channel,
        }
    }

    /// Returns true if the round-trip time shows a queue.
    fn sees_queue(&self) -> bool {
        let least = self.least.unwrap_or(Duration::MAX);
        // The bound is a fraction of the round trip on long paths, and a fixed time on short paths.
        let part = Duration::from_nanos(least.as_nanos() / QUEUE_PART);
        let latest = self.recent.iter().min().copied().unwrap_or_default();
        latest.saturating_sub(least) > part.max(LEAST_QUEUE)
    }

    /// Returns true if the recent holes on several streams indicate a queue overflow.
    fn holes_together(&self, now: Time) -> bool {
        let fresh = |hole: &Time| now.saturating_since(*hole) < self.rtt();
        // Do not count the new hole on this stream.
        let others = self.holes.iter().flatten().filter(|hole| fresh(hole)).count().saturating_sub(1);
        let expected = self.rounds.holes_each();
        // On a very lossy channel, every stream has a hole in nearly every round trip. Therefore holes on all streams
        // together always count as an overflow.
        let by_chance = at_least(others as u32, expected) > BY_CHANCE && others + 1 < self.holes.len();
        others + 1 >= TOGETHER && !by_chance
    }
}

impl Rounds {
    /// Starts the next round trip if the current round trip is over.
    fn advance(&mut self, now: Time, rtt: Duration) {
        // A round trip ends at the first arrival after one round-trip time.
        if now.saturating_since(self.began) < rtt {
            return;
        }
        self.with_hole = (self.with_hole << 1) | u64::from(self.has_hole);
        // `with_hole` has only 64 bits, so older round trips are no longer stored.
        self.over = (self.over + 1).min(u64::BITS);
        (self.began, self.has_hole) = (now, false);
    }

    /// Returns the mean number m of holes per round trip, computed from the proportion e^-m of round trips without a
    /// hole (Poisson).
    fn holes_each(&self) -> f64 {
        let with_hole = f64::from(self.with_hole.count_ones());
        // Add half a round trip without a hole, similar to Laplace's rule of succession, so that the logarithm is
        // finite.
        let without = (f64::from(self.over) - with_hole + 0.5) / (f64::from(self.over) + 0.5);
        -libm::log(without)
    }
}

/// Returns the probability that a Poisson variable with this mean is at least `least`.
fn at_least(least: u32, mean: f64) -> f64 {
    let mut term = libm::exp(-mean);
    let mut below = 0.0;
    for count in 1..=least {
        below += term;
        term *= mean / f64::from(count);
    }
    1.0 - below
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn after(samples: &[u64], how: Detection) -> Detector {
        let mut detector = Detector::new(how, 8);
        samples.iter().for_each(|sample| detector.sample(ms(*sample)));
        detector
    }

    #[test]
    fn a_loss_without_a_standing_queue_is_attributed_to_the_channel() {
        let now = Time::ZERO + ms(5000);
        let short = [100, 103, 101, 330, 104, 102, 105, 104, 103];
        assert_eq!(after(&short, Detection::Queued).judge(now, 0), Loss::Channel);
        assert_eq!(after(&short, Detection::Every).judge(now, 0), Loss::Every);
        let long = [100, 150, 140, 130, 120, 128, 127, 133, 140];
        assert_eq!(after(&long, Detection::Queued).judge(now, 0), Loss::Queue);
    }

    #[test]
    fn a_pause_of_two_round_trips_counts_as_a_repair() {
        let last = Time::ZERO + ms(1000);
        assert!(
            !Detector::new(Detection::Queued, 8).is_repair(0, last, ms(5000)),
            "there is no earlier round trip to compare with"
        );
        let mut detector = after(&[100, 120, 110], Detection::Queued);
        assert!(!detector.is_repair(0, last, ms(220)));
        assert!(detector.is_repair(0, last, ms(221)));
        detector.judge(last + ms(50), 0);
        assert!(!detector.is_repair(0, last, ms(221)), "the loss is already counted");
        assert!(detector.is_repair(1, last, ms(221)));
    }

    /// From a table of the Poisson distribution: P(X >= 3) = 0.0803 for a mean of 1.
    #[test]
    fn the_probability_is_that_of_a_poisson_distribution() {
        assert!((at_least(3, 1.0) - 0.0803).abs() < 1e-4);
        assert!((at_least(0, 2.0) - 1.0).abs() < 1e-12);
        assert!(at_least(1, 0.0).abs() < 1e-12);
    }

    /// Three holes within a round trip count as an overflow if holes are rare, and as chance if every second round trip
    /// has a hole. Six holes always count as an overflow.
    #[test]
    fn losses_that_coincide_by_chance_are_attributed_to_the_channel() {
        let mut detector = after(&[100; 8], Detection::Queued);
        let mut now = Time::ZERO + ms(1000);
        for round in 0..64 {
            if round % 2 == 0 {
                assert_eq!(detector.judge(now, 7), Loss::Channel, "a single loss");
            }
            now += ms(120);
            detector.arrived(now);
        }
        assert!((detector.rounds.holes_each() - libm::log(2.0)).abs() < 0.05);
        now += ms(1000);
        let seen = (0..6).map(|stream| detector.judge(now + ms(stream), stream as usize) == Loss::Together);
        assert_eq!(seen.collect::<Vec<bool>>(), [false, false, false, false, true, true]);
    }

    #[test]
    fn losses_on_several_streams_at_once_count_as_an_overflow() {
        let mut detector = after(&[100; 8], Detection::Queued);
        let start = Time::ZERO + ms(1000);
        assert_eq!(detector.judge(start, 0), Loss::Channel);
        assert_eq!(detector.judge(start + ms(10), 1), Loss::Channel);
        assert_eq!(detector.judge(start + ms(20), 1), Loss::Channel, "two losses on one stream count once");
        assert_eq!(detector.judge(start + ms(50), 2), Loss::Together);
        assert_eq!(detector.judge(start + ms(1000), 3), Loss::Channel, "long after the other losses");
    }
}
