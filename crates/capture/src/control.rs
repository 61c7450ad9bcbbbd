//! Which congestion control a sender probably runs, from its flights: by how much they fall after a loss, how they grow
//! until the next one, whether they dip to probe the path, and whether they stop growing without any loss.
//!
//! A passive and coarse look: controls that act alike in a capture share a name. Left out: reductions after marks, and
//! the difference between controls that share a factor and a shape: `reno` includes HighSpeed, YeAH and Illinois on paths
//! where they halve the flight and grow by a segment in a round trip.

/// Values of one kind that are kept.
const MOST: usize = 64;
/// Flights that are kept of the time between two reductions.
const MOST_FLIGHTS: usize = 64;
/// A flight below this share of the largest recent one is a dip.
const DIP: f64 = 0.25;
/// Nanoseconds between two dips of one probe.
const DIP_APART: u64 = 2_000_000_000;

/// The traces of a control.
struct Known {
    name: &'static str,
    /// Flight after a loss over the flight before.
    factor: f64,
    /// Growth at half of the time between two losses, from 0 to 1: below 0.5 it speeds up, above it slows down. `None`
    /// if it depends on the window.
    shape: Option<f64>,
    /// Its weight among senders.
    weight: f64,
}

/// Factors are 0.02 below those of the algorithms: windows are whole segments.
const KNOWN: [Known; 5] = [
    Known { name: "reno", factor: 0.49, shape: Some(0.52), weight: 1.0 },
    Known { name: "cubic", factor: 0.68, shape: Some(0.60), weight: 2.0 },
    Known { name: "bic", factor: 0.78, shape: None, weight: 0.4 },
    // H-TCP's increase grows with the square of the time since the last loss.
    Known { name: "htcp", factor: 0.49, shape: Some(0.20), weight: 0.3 },
    Known { name: "scalable", factor: 0.86, shape: None, weight: 0.2 },
];
/// Weight of Westwood, of which the factor depends on the path.
const WESTWOOD_WEIGHT: f64 = 0.15;
/// Weight of Hybla, which grows by more than one segment in a round trip on long paths.
const HYBLA_WEIGHT: f64 = 0.5;
/// Hybla's reference round trip in ms (Caini and Firrincieli, 2004).
const HYBLA_MS: f64 = 25.0;
/// Standard deviation of a measured factor and shape, and of the logarithm of growth.
const FACTOR_SPREAD: f64 = 0.035;
const SHAPE_SPREAD: f64 = 0.18;
const GROWTH_SPREAD: f64 = 0.5;
/// Likelihood of a control that is not in the table.
const UNKNOWN: f64 = 0.05;
/// A loss that does not reduce the flight: a control that models the path.
const NOT_REDUCED: f64 = 1.2;
/// Round trips without a reduction after which only a delay-based control still does not grow.
const CALM: f64 = 75.0;
/// A flight is flat if its largest value exceeds its smallest by less than this factor.
const FLAT: f64 = 1.2;

/// Traces of the control of one sender.
#[derive(Clone, Debug, Default)]
pub struct Control {
    factors: Vec<f64>,
    shapes: Vec<f64>,
    /// Segments by which the flight grew in a round trip, between reductions.
    growths: Vec<f64>,
    reductions: u32,
    before: Option<u32>,
    /// Since the last repair: when it ended, and the largest flight in the first round after.
    after: Option<(u64, u32)>,
    flights: Vec<(u64, u32)>,
    /// The latest round trip in nanoseconds, and octets of a segment.
    rtt: u64,
    mss: u32,
    stride: u64,
    seen: u64,
    in_repair: bool,
    largest: u32,
    dips: Vec<u64>,
}

/// A guess at a control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// `reno`, `cubic`, `bic`, `htcp`, `hybla`, `scalable`, `westwood`, `bbr`, `delay-based` or `unknown`.
    pub name: &'static str,
    /// Its probability, from 0 to 1.
    pub probability: f64,
    /// Flight after a reduction over the flight before, median; NaN without any.
    pub factor: f64,
}

/// Figures of the direction that a guess needs in addition.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Share of the time in which pacing held the sender back.
    pub pacing: f64,
    /// Share of the time in which the congestion window did, after slow start.
    pub window: f64,
    /// Round trips that the direction lasted.
    pub rounds: f64,
    /// The smallest round trip in ms.
    pub floor_ms: f64,
    /// The wait of data in ms when losses happened, median.
    pub wait_at_loss_ms: f64,
}

impl Habits {
    /// Westwood reduces the flight to what the path holds without a queue (Mascolo et al., 2001).
    fn westwood_factor(&self) -> f64 {
        self.floor_ms / (self.floor_ms + self.wait_at_loss_ms)
    }
}

impl Control {
    /// A repair begins with this flight.
    pub(crate) fn reduced(&mut self, flight: u32) {
        self.reductions += 1;
        self.end_of_growth();
        self.before = Some(flight);
        self.after = None;
    }

    /// The sender has this much out after a segment, outside slow start.
    pub(crate) fn flight(&mut self, at: u64, out: u32, rtt: u64, mss: u32, repairs: bool) {
        (self.rtt, self.mss) = (rtt, mss);
        if repairs {
            self.in_repair = true;
            return;
        }
        if self.in_repair {
            self.in_repair = false;
            self.after = Some((at, out));
            self.flights.clear();
            (self.stride, self.seen) = (1, 0);
        }
        if let Some((since, most)) = self.after {
            if at.saturating_sub(since) <= rtt {
                self.after = Some((since, most.max(out)));
            } else {
                self.end_of_round(most);
            }
        }
        self.remember(at, out);
        self.look_for_dip(at, out);
    }

    fn end_of_round(&mut self, most: u32) {
        self.after = None;
        if let Some(before) = self.before.take().filter(|before| *before > 0) {
            if self.factors.len() < MOST {
                self.factors.push(f64::from(most) / f64::from(before));
            }
        }
    }

    fn remember(&mut self, at: u64, out: u32) {
        self.stride = self.stride.max(1);
        if self.seen % self.stride == 0 {
            if self.flights.len() == MOST_FLIGHTS {
                let mut place = 0;
                self.flights.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
            self.flights.push((at, out));
        }
        self.seen += 1;
    }

    fn look_for_dip(&mut self, at: u64, out: u32) {
        self.largest = self.largest.max(out);
        let apart = self.dips.last().is_none_or(|last| at.saturating_sub(*last) > DIP_APART);
        if f64::from(out) < DIP * f64::from(self.largest) && apart && self.dips.len() < MOST {
            self.dips.push(at);
            self.largest = out;
        }
    }

    /// How far the flight had grown at half of the time between two reductions, from 0 to 1.
    fn end_of_growth(&mut self) {
        let (Some(first), Some(last)) = (self.flights.first(), self.flights.last()) else { return };
        let gained = f64::from(last.1) - f64::from(first.1);
        let middle = first.0 + (last.0 - first.0) / 2;
        let half = self.flights[self.flights.partition_point(|(at, _)| *at < middle)];
        if self.flights.len() >= MOST_FLIGHTS / 4 && gained > 0.1 * f64::from(last.1) && self.shapes.len() < MOST {
            self.shapes.push((f64::from(half.1) - f64::from(first.1)) / gained);
            let rounds = (last.0 - first.0) as f64 / self.rtt.max(1) as f64;
            self.growths.push(gained / f64::from(self.mss.max(1)) / rounds.max(1.0));
        }
    }

    /// The likeliest control.
    pub fn guess(&self, habits: &Habits) -> Guess {
        let factor = median(&self.factors);
        let guess = |name, probability| Guess { name, probability, factor };
        let gaps: Vec<f64> = self.dips.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect();
        let probes = gaps.len() >= 2 && (4.5..=11.5).contains(&median(&gaps));
        if habits.pacing > 0.5 {
            return guess("bbr", if probes { 0.95 } else { 0.7 });
        }
        if self.factors.len() >= 3 && factor > NOT_REDUCED {
            return guess("bbr", 0.8);
        }
        if habits.window < 0.2 || habits.rounds < 30.0 {
            return guess("unknown", 1.0);
        }
        if habits.rounds > CALM * f64::from(self.reductions + 1) && habits.window > 0.6 && self.is_flat() {
            return guess("delay-based", 0.6);
        }
        if self.factors.len() < 2 {
            return guess("unknown", 1.0);
        }
        let likely = self.likely(factor, habits);
        let total: f64 = likely.iter().map(|(_, weight)| weight).sum::<f64>() + UNKNOWN;
        let best = likely.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        match best {
            Some((name, weight)) if *weight / total >= 0.5 => guess(name, weight / total),
            _ => guess("unknown", UNKNOWN / total),
        }
    }

    /// The controls that reduce the flight, each with its likelihood.
    fn likely(&self, factor: f64, habits: &Habits) -> Vec<(&'static str, f64)> {
        let (shape, growth) = (median(&self.shapes), median(&self.growths));
        let near = |value: f64, right: f64, spread: f64| {
            let off = (value - right) / spread;
            if off.is_nan() { 1.0 } else { libm::exp(-0.5 * off * off) }
        };
        let by_factor = |right: f64| near(factor, right, FACTOR_SPREAD);
        let mut found: Vec<(&'static str, f64)> = KNOWN
            .iter()
            .map(|known| {
                let bent = known.shape.map_or(1.0, |right| near(shape, right, SHAPE_SPREAD));
                (known.name, known.weight * by_factor(known.factor) * bent)
            })
            .collect();
        found.push(("westwood", WESTWOOD_WEIGHT * by_factor(habits.westwood_factor())));
        // Hybla grows by the square of its round trip over the reference (section 3 of its paper); Reno by one.
        let longer = (habits.floor_ms / HYBLA_MS).max(1.0);
        let faster = longer * longer;
        if faster > 2.0 && growth > 0.0 {
            let of_hybla = near(libm::log(growth), libm::log(faster), GROWTH_SPREAD);
            let of_reno = near(libm::log(growth), 0.0, GROWTH_SPREAD);
            found.push(("hybla", HYBLA_WEIGHT * by_factor(0.5) * of_hybla));
            found.iter_mut().filter(|(name, _)| *name == "reno").for_each(|(_, weight)| *weight *= of_reno);
        }
        found
    }

    /// True if the flight hardly changed since the last repair, or the beginning.
    fn is_flat(&self) -> bool {
        let later = &self.flights[self.flights.len() / 2..];
        let bounds = later.iter().map(|(_, out)| *out);
        let (least, most) = (bounds.clone().min().unwrap_or(0), bounds.max().unwrap_or(0));
        later.len() >= MOST_FLIGHTS / 4 && f64::from(most) <= FLAT * f64::from(least)
    }
}

/// The median; NaN without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}
