//! Which congestion control a sender probably runs, from its flights: by how much they fall after a loss, how they grow
//! until the next one, whether they dip to probe the path, and whether they stop growing without any loss.
//!
//! A passive and coarse look: controls that act alike in a capture share a name. Left out: reductions after marks, and
//! the difference between controls that share a factor and a shape (`reno` includes all that halve and grow linearly).

/// Values of one kind that are kept.
const MOST: usize = 64;
/// Flights that are kept of the time between two reductions.
const MOST_FLIGHTS: usize = 64;
/// A flight below this share of the largest recent one is a dip.
const DIP: f64 = 0.25;
/// Nanoseconds between two dips of one probe.
const DIP_APART: u64 = 2_000_000_000;

/// Factor and shape that each control shows, with its weight among senders.
const KNOWN: [(&str, f64, f64, f64); 5] = [
    ("reno", 0.50, 0.58, 1.0),
    ("cubic", 0.70, 0.75, 3.0),
    ("bic", 0.82, 0.80, 0.3),
    ("scalable", 0.875, 0.45, 0.1),
    ("westwood", 0.35, 0.58, 0.1),
];
/// Standard deviation of a measured factor and shape.
const FACTOR_SPREAD: f64 = 0.06;
const SHAPE_SPREAD: f64 = 0.15;
/// Likelihood of a control that is not in the table.
const UNKNOWN: f64 = 0.05;

/// Traces of the control of one sender.
#[derive(Clone, Debug, Default)]
pub struct Control {
    factors: Vec<f64>,
    shapes: Vec<f64>,
    reductions: u32,
    before: Option<u32>,
    /// Since the last repair: when it ended, and the largest flight in the first round after.
    after: Option<(u64, u32)>,
    flights: Vec<(u64, u32)>,
    stride: u64,
    seen: u64,
    in_repair: bool,
    largest: u32,
    dips: Vec<u64>,
}

/// A guess at a control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// `reno`, `cubic`, `bic`, `scalable`, `westwood`, `bbr`, `delay-based` or `unknown`.
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
    pub(crate) fn flight(&mut self, at: u64, out: u32, rtt: u64, repairs: bool) {
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
        if habits.window < 0.2 || habits.rounds < 30.0 {
            return guess("unknown", 1.0);
        }
        if self.reductions == 0 {
            return if habits.window > 0.6 && habits.rounds > 100.0 {
                guess("delay-based", 0.6)
            } else {
                guess("unknown", 1.0)
            };
        }
        if self.factors.len() < 2 {
            return guess("unknown", 1.0);
        }
        let shape = median(&self.shapes);
        let likely = KNOWN.map(|(name, its_factor, its_shape, weight)| {
            let off = (factor - its_factor) / FACTOR_SPREAD;
            let bent = if shape.is_nan() { 0.0 } else { (shape - its_shape) / SHAPE_SPREAD };
            (name, weight * libm::exp(-0.5 * (off * off + bent * bent)))
        });
        let total: f64 = likely.iter().map(|(_, weight)| weight).sum::<f64>() + UNKNOWN;
        let best = likely.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        match best {
            Some((name, weight)) if *weight / total >= 0.5 => guess(name, weight / total),
            _ => guess("unknown", UNKNOWN / total),
        }
    }
}

/// The median; NaN without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { f64::NAN } else { sorted[sorted.len() / 2] }
}
