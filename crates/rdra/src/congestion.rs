//! Congestion detection at the receiver: finds holes in the arriving data, and decides whether a queue or the channel
//! caused them.
//!
//! A segment that arrives out of order reveals a hole before it. The paper counts every hole as congestion. But a queue
//! grows before it overflows, and the receiver detects the growth because answers to its requests take longer. A hole
//! is therefore attributed to the channel if answers take no longer than the shortest one did (as in TCP Veno, Fu and
//! Liew 2003).
//!
//! A queue can overflow without being long enough to be noticed. Such an overflow makes holes on several streams within
//! one round trip: at least 3, and more than are likely by chance. A channel loses single packets, so its holes are
//! nearly independent, and the number of holes that start in a round trip is a Poisson variable. Its mean follows from
//! the proportion of round trips without a hole. Overflows raise this mean only a little, because their holes occur
//! together.
//!
//! A round-trip sample is the time from a request to the first byte of its answer. The detection of a queue uses the
//! smallest of the latest samples, because a request that is lost and repeated makes a single sample too long;
//! everything else uses their median. A loss at the end of an answer leaves no hole: the sender waits for its timer, at
//! least 2 round trips. Such a pause counts as a hole (a rule of this crate; the paper has none).

use lopsided_core::{Duration, Time};
use lopsided_spec::Choice;
use std::collections::VecDeque;

/// The rule that decides which holes count as congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// Holes that coincide with a queue, or with holes on other streams.
    #[default]
    Queued,
    /// All holes (the paper's rule).
    Every,
}

/// The cause of a hole, or of a pause that counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Loss on the channel: no congestion.
    Channel,
    /// Congestion: there was a queue before the hole.
    Queue,
    /// Congestion: holes on more streams at the same time than are likely by chance.
    Together,
    /// Congestion, because the paper's rule counts every hole.
    Every,
    /// Congestion within one round trip after the last reduction, which already reacted to it.
    Answered,
}

impl Loss {
    /// Returns the word for the cause in tables.
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

/// Number of round-trip samples that are stored.
const RECENT: usize = 8;
/// Divisor of the shortest round trip. A queue is detected if the round trip exceeds the shortest one by more than this
/// part of it.
const QUEUE_PART: u64 = 8;
/// Smallest excess that counts as a queue.
const LEAST_QUEUE: Duration = Duration::from_millis(2);
/// Smallest number of streams with holes in one round trip that can indicate an overflow.
const TOGETHER: usize = 3;
/// Probability below which holes on several streams are not attributed to chance.
const BY_CHANCE: f64 = 0.01;
/// Smallest number of round trips before a sender's timer expires (RFC 8985, section 7.2).
const REPAIR_RTTS: u64 = 2;
/// Round trip that is assumed until the first answer.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

/// The state of the detection.
#[derive(Debug)]
pub(crate) struct Detector {
    how: Detection,
    /// The latest round-trip samples.
    recent: VecDeque<Duration>,
    /// The smallest round trip so far.
    least: Option<Duration>,
    /// Time of each stream's last hole.
    holes: Vec<Option<Time>>,
    rounds: Rounds,
}

/// The latest round trips, up to 64: whether each one had a hole.
#[derive(Debug, Default)]
struct Rounds {
    /// Start of the current round trip.
    began: Time,
    /// One bit for each completed round trip, set if it had a hole. The lowest bit is the latest.
    with_hole: u64,
    /// Number of completed round trips, at most 64.
    over: u32,
    /// True if the current round trip had a hole.
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

    /// Adds a sample: the time from a request to the first byte of its answer.
    pub fn sample(&mut self, rtt: Duration) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// Returns the current round trip: the median of the latest samples.
    pub fn rtt(&self) -> Duration {
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(UNKNOWN_RTT)
    }

    /// Returns the smallest round trip so far, or `None` before the first answer.
    pub fn least_rtt(&self) -> Option<Duration> {
        self.least
    }

    /// True if the `pause` after the stream's arrival at `last` shows that the sender's timer expired, because of a
    /// loss that made no hole.
    pub fn is_repair(&self, stream: usize, last: Time, pause: Duration) -> bool {
        // A loss that made a hole is counted already.
        let untold = self.holes[stream].is_none_or(|hole| hole < last);
        self.least.is_some() && untold && pause > self.rtt().saturating_mul(REPAIR_RTTS)
    }

    /// Attributes a new hole of a stream to a cause.
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

    /// True if the round trip shows a queue.
    fn sees_queue(&self) -> bool {
        let least = self.least.unwrap_or(Duration::MAX);
        // Two bounds: a part of the round trip for long paths, and a time for short ones.
        let part = Duration::from_nanos(least.as_nanos() / QUEUE_PART);
        let latest = self.recent.iter().min().copied().unwrap_or_default();
        latest.saturating_sub(least) > part.max(LEAST_QUEUE)
    }

    /// True if the current holes on several streams indicate an overflow.
    fn holes_together(&self, now: Time) -> bool {
        let fresh = |hole: &Time| now.saturating_since(*hole) < self.rtt();
        // The stream's own new hole is among them.
        let others = self.holes.iter().flatten().filter(|hole| fresh(hole)).count().saturating_sub(1);
        let expected = self.rounds.holes_each();
        // On a very lossy channel every stream has a hole in nearly every round trip. Holes on all streams at once
        // count as an overflow even there.
        let by_chance = at_least(others as u32, expected) > BY_CHANCE && others + 1 < self.holes.len();
        others + 1 >= TOGETHER && !by_chance
    }
}

impl Rounds {
    /// Ends the current round trip if it is over.
    fn advance(&mut self, now: Time, rtt: Duration) {
        // A round trip ends with the first arrival after its duration.
        if now.saturating_since(self.began) < rtt {
            return;
        }
        self.with_hole = (self.with_hole << 1) | u64::from(self.has_hole);
        // Older round trips have left the 64 bits of `with_hole`.
        self.over = (self.over + 1).min(u64::BITS);
        (self.began, self.has_hole) = (now, false);
    }

    /// Returns the mean number of holes in a round trip. With a Poisson mean m, a proportion e^-m of round trips has no
    /// hole.
    fn holes_each(&self) -> f64 {
        let with_hole = f64::from(self.with_hole.count_ones());
        // Half a round trip without a hole is added (Laplace's rule), so that the logarithm stays finite.
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
    fn a_hole_without_a_queue_is_the_channels() {
        let now = Time::ZERO + ms(5000);
        let short = [100, 103, 101, 330, 104, 102, 105, 104, 103];
        assert_eq!(after(&short, Detection::Queued).judge(now, 0), Loss::Channel);
        assert_eq!(after(&short, Detection::Every).judge(now, 0), Loss::Every);
        let long = [100, 150, 140, 130, 120, 128, 127, 133, 140];
        assert_eq!(after(&long, Detection::Queued).judge(now, 0), Loss::Queue);
    }

    #[test]
    fn a_pause_of_two_round_trips_is_a_repair() {
        let last = Time::ZERO + ms(1000);
        assert!(!Detector::new(Detection::Queued, 8).is_repair(0, last, ms(5000)), "nothing to compare with");
        let mut detector = after(&[100, 120, 110], Detection::Queued);
        assert!(!detector.is_repair(0, last, ms(220)));
        assert!(detector.is_repair(0, last, ms(221)));
        detector.judge(last + ms(50), 0);
        assert!(!detector.is_repair(0, last, ms(221)), "the hole was counted already");
        assert!(detector.is_repair(1, last, ms(221)));
    }

    /// From a table of the Poisson distribution: P(X >= 3) is 0.0803 for a mean of 1.
    #[test]
    fn chance_is_poissons() {
        assert!((at_least(3, 1.0) - 0.0803).abs() < 1e-4);
        assert!((at_least(0, 2.0) - 1.0).abs() < 1e-12);
        assert!(at_least(1, 0.0).abs() < 1e-12);
    }

    /// Three holes within a round trip are an overflow if holes are rare, and chance if every second round trip has
    /// one. Six holes are an overflow in both cases.
    #[test]
    fn holes_that_meet_by_chance_are_the_channels() {
        let mut detector = after(&[100; 8], Detection::Queued);
        let mut now = Time::ZERO + ms(1000);
        for round in 0..64 {
            if round % 2 == 0 {
                assert_eq!(detector.judge(now, 7), Loss::Channel, "one hole");
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
    fn holes_of_several_streams_at_once_are_an_overflow() {
        let mut detector = after(&[100; 8], Detection::Queued);
        let start = Time::ZERO + ms(1000);
        assert_eq!(detector.judge(start, 0), Loss::Channel);
        assert_eq!(detector.judge(start + ms(10), 1), Loss::Channel);
        assert_eq!(detector.judge(start + ms(20), 1), Loss::Channel, "one stream is one");
        assert_eq!(detector.judge(start + ms(50), 2), Loss::Together);
        assert_eq!(detector.judge(start + ms(1000), 3), Loss::Channel, "long after");
    }
}
