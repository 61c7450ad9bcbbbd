//! Congestion detection at the receiver: holes in what arrives, and whether a queue or the channel made them.
//!
//! A segment that comes out of order shows a hole before it. The paper counts every hole as congestion. A queue that
//! overflows has first grown, and a receiver can see that: the answers to its requests take longer. So a hole while
//! answers take no longer than ever is put down to the channel (as in TCP Veno, Fu and Liew 2003), unless several
//! streams have holes within a round trip, as after an overflow of a queue too short to be seen: at least three, and
//! more than meet by chance. A channel loses packets one by one, so that its holes are as good as independent, and how
//! many begin in a round trip is a Poisson variable, whose mean the part of round trips without a hole tells. Overflows
//! do not raise it much, as their holes come together.
//!
//! The round trip is the time from a request to the first octet of its answer, of the latest few: the least where a
//! queue is looked for, as a single one may have been lost and sent again, else the middle one. A loss at the end of an
//! answer leaves no hole: there the sender waits for its timer, at least twice the round trip, and so long a pause
//! counts as a hole (ours; the paper does not say).

use lopsided_core::{Duration, Time};
use lopsided_spec::Choice;
use std::collections::VecDeque;

/// Which holes count as congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// Those that come with a queue, or on several streams at once.
    #[default]
    Queued,
    /// All (the paper's).
    Every,
}

/// What a hole, or a pause that tells of one, is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The channel's: no congestion.
    Channel,
    /// Congestion: a queue stands.
    Queue,
    /// Congestion: holes on more streams at once than meet by chance.
    Together,
    /// Congestion, as every hole is where the paper's rule is chosen.
    Every,
    /// Congestion that the window has answered to already, within the last round trip.
    Answered,
}

impl Loss {
    /// The word for it in tables.
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

/// The latest round trips of which the least is taken.
const RECENT: usize = 8;
/// A queue is seen where the round trip is longer than the shortest by this part of it, and by at least so much.
const QUEUE_PART: u64 = 8;
const LEAST_QUEUE: Duration = Duration::from_millis(2);
/// Fewer streams with holes within a round trip are no overflow.
const TOGETHER: usize = 3;
/// Holes that meet by chance less often than this do not meet by chance.
const BY_CHANCE: f64 = 0.01;
/// A sender's timers wait for so many round trips at least (RFC 8985 section 7.2).
const REPAIR_RTTS: u64 = 2;
/// Until an answer has come.
const UNKNOWN_RTT: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Detector {
    how: Detection,
    recent: VecDeque<Duration>,
    least: Option<Duration>,
    /// The last hole of each stream.
    holes: Vec<Option<Time>>,
    rounds: Rounds,
}

/// The latest round trips, up to 64, and in which of them holes were seen.
#[derive(Debug, Default)]
struct Rounds {
    began: Time,
    /// The lowest bit is the latest that is over.
    with_hole: u64,
    over: u32,
    /// Of the round trip that is under way.
    has_hole: bool,
}

impl Detector {
    pub fn new(how: Detection, streams: usize) -> Detector {
        Detector { how, recent: VecDeque::new(), least: None, holes: vec![None; streams], rounds: Rounds::default() }
    }

    /// Something arrived.
    pub fn arrived(&mut self, now: Time) {
        self.rounds.advance(now, self.rtt());
    }

    /// An answer took so long to begin.
    pub fn sample(&mut self, rtt: Duration) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(rtt);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// The round trip now: the middle one of the latest.
    pub fn rtt(&self) -> Duration {
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(UNKNOWN_RTT)
    }

    pub fn least_rtt(&self) -> Option<Duration> {
        self.least
    }

    /// A stream on which something came at `last` and then only after a pause: whether a sender's timer must have run
    /// out between, without a hole that told of it.
    pub fn is_repair(&self, stream: usize, last: Time, pause: Duration) -> bool {
        let untold = self.holes[stream].is_none_or(|hole| hole < last);
        self.least.is_some() && untold && pause > self.rtt().saturating_mul(REPAIR_RTTS)
    }

    /// A stream has a new hole: what it is taken for.
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

    fn sees_queue(&self) -> bool {
        let least = self.least.unwrap_or(Duration::MAX);
        let part = Duration::from_nanos(least.as_nanos() / QUEUE_PART);
        let latest = self.recent.iter().min().copied().unwrap_or_default();
        latest.saturating_sub(least) > part.max(LEAST_QUEUE)
    }

    fn holes_together(&self, now: Time) -> bool {
        let fresh = |hole: &Time| now.saturating_since(*hole) < self.rtt();
        let others = self.holes.iter().flatten().filter(|hole| fresh(hole)).count().saturating_sub(1);
        let expected = self.rounds.holes_each();
        // Of a hard channel every stream has holes in each round trip; all of them at once are an overflow still.
        let by_chance = at_least(others as u32, expected) > BY_CHANCE && others + 1 < self.holes.len();
        others + 1 >= TOGETHER && !by_chance
    }
}

impl Rounds {
    fn advance(&mut self, now: Time, rtt: Duration) {
        if now.saturating_since(self.began) < rtt {
            return;
        }
        self.with_hole = (self.with_hole << 1) | u64::from(self.has_hole);
        self.over = (self.over + 1).min(u64::BITS);
        (self.began, self.has_hole) = (now, false);
    }

    /// Holes in a round trip, on average: of Poisson's mean m a part e^-m of round trips has none.
    fn holes_each(&self) -> f64 {
        let with_hole = f64::from(self.with_hole.count_ones());
        // Half a round trip without a hole is added (Laplace), as there will be one.
        let without = (f64::from(self.over) - with_hole + 0.5) / (f64::from(self.over) + 0.5);
        -libm::log(without)
    }
}

/// How probable it is that a Poisson variable of this mean is `least` or more.
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
        assert!(!detector.is_repair(0, last, ms(221)), "the hole told of it");
        assert!(detector.is_repair(1, last, ms(221)));
    }

    /// Poisson's table: P(X >= 3) of mean 1 is 0.0803.
    #[test]
    fn chance_is_poissons() {
        assert!((at_least(3, 1.0) - 0.0803).abs() < 1e-4);
        assert!((at_least(0, 2.0) - 1.0).abs() < 1e-12);
        assert!(at_least(1, 0.0).abs() < 1e-12);
    }

    /// Three holes within a round trip are an overflow where holes are rare, and chance where every second round trip
    /// has one; six are an overflow there too.
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
