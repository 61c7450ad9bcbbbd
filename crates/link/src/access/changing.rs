//! Lines whose rate changes: by a given schedule, or randomly every few seconds, as when a satellite system reallocates
//! its beams.
//!
//! A packet that is being sent when the rate changes continues at the new rate. A rate of zero is an outage in which
//! packets wait.
//!
//! Starlink reallocates its beams every 15 s (Mohan et al., "A Multifaceted Look at Starlink Performance", WWW 2024).
//! Rate and delay change at these times. Their distributions are not published, so this model uses uniform
//! distributions.

use super::AccessKind;
use crate::shaper::{Shaper, scaled_bits};
use lopsided_core::{BitRate, Bytes, Duration, Rng, Time};
use lopsided_spec::{Fault, Key, Part, key, part_value};

/// A rate, and the time at which it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// Time at which the rate takes effect, relative to the start of the schedule.
    pub at: Duration,
    /// The rate; `None`: an outage.
    pub rate: Option<BitRate>,
}

impl RateStep {
    /// Returns the rate in bit/s; 0 for an outage.
    fn bps(&self) -> u64 {
        self.rate.map_or(0, |rate| rate.as_bps())
    }
}

impl Default for RateStep {
    fn default() -> RateStep {
        RateStep { at: Duration::ZERO, rate: None }
    }
}

impl Part for RateStep {
    const NAME: &'static str = "rate step";
    const TEXT: &'static str = "A rate, and the time from which it applies.";
    const KEYS: &'static [Key<RateStep>] = &[
        key("at", |step: &mut Self| &mut step.at, "Time at which this step begins."),
        key(
            "rate",
            |step: &mut Self| &mut step.rate,
            "Rate of the line during this step. At \"0 bit/s\" packets wait.",
        )
        .required("\"5 Mbit/s\"")
        .none_word("0 bit/s"),
    ];
}

part_value!(RateStep);

/// Settings of a line whose rate follows a schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatesConfig {
    /// The rates in order of time. The first starts at 0.
    pub steps: Vec<RateStep>,
    /// Length of the schedule. The schedule restarts after this time. `None`: the last rate stays in force.
    pub repeat: Option<Duration>,
}

impl Part for RatesConfig {
    const NAME: &'static str = "rates";
    const TEXT: &'static str = "A rate that changes at given times.";
    const KEYS: &'static [Key<RatesConfig>] = &[
        key(
            "steps",
            |rates: &mut Self| &mut rates.steps,
            "The rates in order: [{ rate = \"20 Mbit/s\" }, { at = \"10 s\", rate = \"5 Mbit/s\" }]. The first \
             step begins at 0 s.",
        )
        .required("[{ rate = \"20 Mbit/s\" }, { at = \"10 s\", rate = \"5 Mbit/s\" }]"),
        key(
            "repeat",
            |rates| &mut rates.repeat,
            "Time after which the steps begin again. Default: the last step applies until the end.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.steps.first().is_none_or(|first| !first.at.is_zero()) {
            return Err(Fault::new("steps", "the first step must begin at 0 s"));
        }
        if self.steps.windows(2).any(|pair| pair[0].at >= pair[1].at) {
            return Err(Fault::new("steps", "the times of the steps must ascend"));
        }
        let end = self.steps.last().map_or(Duration::ZERO, |last| last.at);
        if self.repeat.is_some_and(|repeat| repeat <= end) {
            return Err(Fault::new("repeat", "`repeat` must be later than the last step"));
        }
        // Without `repeat`, the last rate is in force forever, so it must be above 0. With `repeat`, one rate above 0
        // is enough.
        let stays = self.repeat.map_or(self.steps.len() - 1, |_| 0);
        if self.steps[stays..].iter().all(|step| step.bps() == 0) {
            return Err(Fault::new("steps", "the rate stays at zero, so packets would wait forever"));
        }
        check_most(self.steps.iter().filter_map(|step| step.rate))
    }
}

fn check_most(mut rates: impl Iterator<Item = BitRate>) -> Result<(), Fault> {
    match rates.any(|rate| rate.as_bps() > 10_000_000_000_000) {
        true => Err(Fault::new("", "a rate must be at most 10 Tbit/s")),
        false => Ok(()),
    }
}

impl AccessKind for RatesConfig {
    fn build(&self, _rate: Option<BitRate>, _rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
        self.check()?;
        Ok(Box::new(ChangingRate::new(Schedule::Listed { config: self.clone(), next: 0, lap: Time::ZERO })))
    }
}

/// Settings of a line whose rate and delay are periodically drawn at random.
#[derive(Clone, Debug, PartialEq)]
pub struct ReallocationConfig {
    /// Time between two reallocations.
    pub period: Duration,
    /// Lower end of the uniform distribution of rates.
    pub low: BitRate,
    /// Upper end of the uniform distribution of rates.
    pub high: BitRate,
    /// Duration of the outage at the start of each period; 0 for no outage.
    pub gap: Duration,
    /// Maximum addition to the propagation delay. The addition is drawn uniformly for each period.
    pub delay_spread: Duration,
}

impl Default for ReallocationConfig {
    fn default() -> ReallocationConfig {
        ReallocationConfig {
            period: Duration::from_secs(15),
            low: BitRate::from_bps(0),
            high: BitRate::from_bps(0),
            gap: Duration::ZERO,
            delay_spread: Duration::ZERO,
        }
    }
}

impl Part for ReallocationConfig {
    const NAME: &'static str = "reallocation";
    const TEXT: &'static str = "A rate and a delay that are chosen at random every few seconds, as in Starlink.";
    const KEYS: &'static [Key<ReallocationConfig>] = &[
        key("period", |line: &mut Self| &mut line.period, "Time between two changes."),
        key("low", |line: &mut Self| &mut line.low, "Lowest rate.").required("\"100 Mbit/s\""),
        key(
            "high",
            |line: &mut Self| &mut line.high,
            "Highest rate. Each new rate is drawn uniformly between low and high.",
        )
        .required("\"250 Mbit/s\""),
        key("gap", |line: &mut Self| &mut line.gap, "Time at each change during which nothing is sent."),
        key(
            "delay_spread",
            |line: &mut Self| &mut line.delay_spread,
            "At each change, a random time from 0 to this value is added to the delay. Packets keep their order.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.low.as_bps() == 0 || self.low > self.high {
            return Err(Fault::new("low", "`low` must be above 0 and at most `high`"));
        }
        if self.gap >= self.period {
            return Err(Fault::new("gap", "`gap` must be shorter than `period`"));
        }
        check_most([self.high].into_iter())
    }
}

impl AccessKind for ReallocationConfig {
    fn build(&self, _rate: Option<BitRate>, rng: Rng) -> Result<Box<dyn Shaper>, Fault> {
        self.check()?;
        Ok(Box::new(ChangingRate::new(Schedule::Drawn { config: self.clone(), rng, number: 0, in_gap: false })))
    }
}

/// A schedule of rates, either listed in the scenario or drawn at random.
#[derive(Debug)]
enum Schedule {
    Listed { config: RatesConfig, next: usize, lap: Time },
    Drawn { config: ReallocationConfig, rng: Rng, number: u64, in_gap: bool },
}

/// An interval of constant rate and delay.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: Time,
    rate: u64,
    more_delay: Duration,
}

impl Schedule {
    /// Returns the interval that follows `last`.
    fn next(&mut self, last: Stretch) -> Stretch {
        match self {
            Schedule::Listed { config, next, lap } => {
                if *next == config.steps.len() {
                    *next = 0;
                    *lap = last.end;
                }
                let rate = config.steps[*next].bps();
                *next += 1;
                // The last rate stays in force until the schedule restarts, or forever without a restart.
                let end = config.steps.get(*next).map(|step| step.at).or(config.repeat);
                Stretch { end: end.map_or(Time::MAX, |end| *lap + end), rate, more_delay: Duration::ZERO }
            }
            Schedule::Drawn { config, rng, number, in_gap } => {
                let begins = Time::ZERO + config.period * *number;
                // A period starts with the outage. The delay changes together with the rate, at the end of the outage.
                if !*in_gap && !config.gap.is_zero() {
                    *in_gap = true;
                    return Stretch { end: begins + config.gap, rate: 0, ..last };
                }
                *in_gap = false;
                *number += 1;
                let rate = config.low.as_bps() + rng.below(config.high.as_bps() - config.low.as_bps() + 1);
                let more_delay = Duration::from_nanos(rng.below(config.delay_spread.as_nanos() + 1));
                Stretch { end: begins + config.period, rate, more_delay }
            }
        }
    }
}

/// A serializer whose rate changes over time.
#[derive(Debug)]
pub struct ChangingRate {
    schedule: Schedule,
    now: Stretch,
    free_at: Time,
    /// Capacity that the line did not use in the nanosecond of the last departure, in units of 10^-9 bit.
    unused: u64,
    /// Arrival time of the previous packet. No later packet arrives before this time, even if the delay has decreased.
    arrived: Time,
}

impl ChangingRate {
    fn new(mut schedule: Schedule) -> ChangingRate {
        let before = Stretch { end: Time::ZERO, rate: 0, more_delay: Duration::ZERO };
        let now = schedule.next(before);
        ChangingRate { schedule, now, free_at: Time::ZERO, unused: 0, arrived: Time::ZERO }
    }
}

impl Shaper for ChangingRate {
    fn needs_size(&self) -> bool {
        false
    }

    fn advance_idle(&mut self, _now: Time) {}

    fn advance_backlogged(&mut self, _now: Time, _wire: Bytes) {}

    fn ready_at(&mut self, _wire: Bytes) -> Time {
        self.free_at
    }

    fn transmit(&mut self, start: Time, wire: Bytes) -> Time {
        // A packet that follows without a gap first uses the rest of the nanosecond in which the previous packet ended.
        // Otherwise rounding up to whole nanoseconds would slow the line down.
        let credit = if start == self.free_at { self.unused } else { 0 };
        let mut unsent = u128::from(scaled_bits(wire).saturating_sub(credit));
        let mut at = start;
        loop {
            // Find the interval of constant rate that contains `at`.
            while self.now.end <= at {
                self.now = self.schedule.next(self.now);
            }
            let rate = u128::from(self.now.rate);
            let possible = rate * u128::from((self.now.end - at).as_nanos());
            // The rest of the packet fits into this interval.
            if unsent <= possible {
                let nanos = if rate == 0 { 0 } else { unsent.div_ceil(rate) };
                self.unused = (nanos * rate - unsent) as u64;
                self.free_at = at + Duration::from_nanos(nanos as u64);
                self.arrived = self.arrived.max(self.free_at + self.now.more_delay);
                return self.arrived;
            }
            // Send the bits that fit into this interval, and continue at the rate of the next interval.
            unsent -= possible;
            at = self.now.end;
        }
    }

    fn rate(&self) -> Option<BitRate> {
        match &self.schedule {
            Schedule::Listed { config, .. } => config.steps.iter().filter_map(|step| step.rate).max(),
            Schedule::Drawn { config, .. } => Some(config.high),
        }
    }
}
