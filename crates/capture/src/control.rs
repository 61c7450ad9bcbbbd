//! Guesses the congestion control of a sender from its flight size: by how much the flight falls after a loss, how it
//! grows until the next loss, whether it dips at intervals to probe the path, and whether it stays flat without a loss.
//!
//! The guess is coarse. Congestion controls that look alike in a capture share a name: `reno` includes HighSpeed, YeAH
//! and Illinois on paths where these halve the flight and grow by one segment per round trip. Left out: reductions
//! after ECN marks.

/// Maximum number of factors, shapes and dips that are kept.
const MOST: usize = 64;
/// Maximum number of flight sizes that are kept between two reductions.
const MOST_FLIGHTS: usize = 64;
/// A flight below this share of the largest flight since the previous dip counts as a dip.
const DIP: f64 = 0.25;
/// Dips that are at most this many nanoseconds apart count as one.
const DIP_APART: u64 = 2_000_000_000;

/// The features by which a congestion control is recognised.
struct Known {
    name: &'static str,
    /// Flight after a loss divided by the flight before.
    factor: f64,
    /// Share of the growth between two losses that is reached at half of the time: below 0.5 if growth accelerates,
    /// above 0.5 if growth slows down. `None` if the share depends on the window.
    shape: Option<f64>,
    /// Prior weight: how common the congestion control is.
    weight: f64,
}

/// The known controls. Factors are up to 0.02 below the nominal ones, because windows are rounded down to whole
/// segments.
const KNOWN: [Known; 5] = [
    Known { name: "reno", factor: 0.49, shape: Some(0.52), weight: 1.0 },
    Known { name: "cubic", factor: 0.68, shape: Some(0.60), weight: 2.0 },
    Known { name: "bic", factor: 0.78, shape: None, weight: 0.4 },
    // H-TCP's window grows with the square of the time since the last loss (Leith and Shorten, 2004).
    Known { name: "htcp", factor: 0.49, shape: Some(0.20), weight: 0.3 },
    Known { name: "scalable", factor: 0.86, shape: None, weight: 0.2 },
];
/// Prior weight of Westwood. Its factor depends on the path: see `westwood_factor`.
const WESTWOOD_WEIGHT: f64 = 0.15;
/// Prior weight of Hybla, which on long paths grows by more than one segment per round trip.
const HYBLA_WEIGHT: f64 = 0.5;
/// Hybla's reference round trip in ms (Caini and Firrincieli, 2004).
const HYBLA_MS: f64 = 25.0;
/// Standard deviations of a measured factor, of a shape, and of the natural logarithm of growth.
const FACTOR_SPREAD: f64 = 0.035;
const SHAPE_SPREAD: f64 = 0.18;
const GROWTH_SPREAD: f64 = 0.5;
/// Likelihood that the sender runs a congestion control that is not listed here.
const UNKNOWN: f64 = 0.05;
/// A median factor above this means that losses do not reduce the flight, as with BBR.
const NOT_REDUCED: f64 = 1.2;
/// Round trips per reduction above which a flat flight indicates a delay-based congestion control.
const CALM: f64 = 75.0;
/// A flight counts as flat if its largest value is at most this many times its smallest value.
const FLAT: f64 = 1.2;

/// Features of one sender's congestion control, collected while the capture is read.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Flight after each loss divided by the flight before.
    factors: Vec<f64>,
    /// Shape of the growth as in [`Known::shape`], one value for each period between losses.
    shapes: Vec<f64>,
    /// Growth of the flight in segments per round trip, one for each period between losses.
    growths: Vec<f64>,
    reductions: u32,
    /// Flight in bytes when the latest loss recovery began, until the first round trip after recovery is over.
    before: Option<u32>,
    /// During the first round trip after loss recovery: when recovery ended, and the largest flight since, in bytes.
    after: Option<(u64, u32)>,
    /// Time and flight in bytes since the latest recovery: every `stride`-th of `seen` values.
    flights: Vec<(u64, u32)>,
    /// The latest round trip in nanoseconds, and bytes of a full segment.
    rtt: u64,
    mss: u32,
    stride: u64,
    seen: u64,
    in_repair: bool,
    largest: u32,
    dips: Vec<u64>,
}

/// The most probable congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// `reno`, `cubic`, `bic`, `htcp`, `hybla`, `scalable`, `westwood`, `bbr`, `delay-based` or `unknown`.
    pub name: &'static str,
    /// Probability of the named congestion control, from 0 to 1.
    pub probability: f64,
    /// Median of the flight after a loss divided by the flight before; NaN without a loss.
    pub factor: f64,
}

/// Further measurements of the direction of data that [`Control::guess`] needs.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Share of the time in which pacing limited the sender, from 0 to 1.
    pub pacing: f64,
    /// Share of the time in which the congestion window limited the sender after slow start, from 0 to 1.
    pub window: f64,
    /// Duration of the transfer in round trips.
    pub rounds: f64,
    /// Smallest round trip of the whole path in ms.
    pub floor_ms: f64,
    /// Median time in ms that data waited in queues when losses happened.
    pub wait_at_loss_ms: f64,
}

impl Habits {
    /// Westwood reduces the window to the bandwidth-delay product of the path without a queue (Mascolo et al., 2001).
    fn westwood_factor(&self) -> f64 {
        self.floor_ms / (self.floor_ms + self.wait_at_loss_ms)
    }
}

impl Control {
    /// Records the beginning of a loss recovery, with the flight in bytes at that time.
    pub(crate) fn reduced(&mut self, flight: u32) {
        self.reductions += 1;
        self.end_of_growth();
        self.before = Some(flight);
        self.after = None;
    }

    /// Records the flight `out` in bytes after a segment, outside slow start. `repairs` is true during loss recovery,
    /// `rtt` is the latest round trip in nanoseconds, `mss` the bytes of a full segment.
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
        // The largest flight of one full round trip: right after recovery the flight is not yet at its new size.
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

    /// The first round trip after loss recovery is over. Its largest flight yields a reduction factor.
    fn end_of_round(&mut self, most: u32) {
        self.after = None;
        if let Some(before) = self.before.take().filter(|before| *before > 0) {
            if self.factors.len() < MOST {
                self.factors.push(f64::from(most) / f64::from(before));
            }
        }
    }

    /// Stores every `stride`-th flight. If the list is full, every second entry is removed and the stride doubles.
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

    /// Records a dip of the flight. BBR reduces its flight to four segments to measure the smallest round trip
    /// (ProbeRTT).
    fn look_for_dip(&mut self, at: u64, out: u32) {
        self.largest = self.largest.max(out);
        let apart = self.dips.last().is_none_or(|last| at.saturating_sub(*last) > DIP_APART);
        if f64::from(out) < DIP * f64::from(self.largest) && apart && self.dips.len() < MOST {
            self.dips.push(at);
            self.largest = out;
        }
    }

    /// A period of growth ends with a loss. Records its shape and its growth per round trip.
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

    /// Returns the most probable congestion control, or `unknown`.
    pub fn guess(&self, habits: &Habits) -> Guess {
        let factor = median(&self.factors);
        let guess = |name, probability| Guess { name, probability, factor };
        let gaps: Vec<f64> = self.dips.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect();
        // BBR probes for the smallest round trip every 10 s (version 1) or every 5 s (version 3).
        let probes = gaps.len() >= 2 && (4.5..=11.5).contains(&median(&gaps));
        if habits.pacing > 0.5 {
            return guess("bbr", if probes { 0.95 } else { 0.7 });
        }
        if self.factors.len() >= 3 && factor > NOT_REDUCED {
            return guess("bbr", 0.8);
        }
        // The flight shows the congestion window only while the window limits the sender.
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
            // A guess below 50 % would be wrong more often than right.
            Some((name, weight)) if *weight / total >= 0.5 => guess(name, weight / total),
            _ => guess("unknown", UNKNOWN / total),
        }
    }

    /// Returns the loss-based congestion controls with their likelihoods.
    fn likely(&self, factor: f64, habits: &Habits) -> Vec<(&'static str, f64)> {
        let (shape, growth) = (median(&self.shapes), median(&self.growths));
        let near = |value: f64, right: f64, spread: f64| {
            let off = (value - right) / spread;
            // A feature that the capture does not show is neutral.
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
        // Segments per round trip: (RTT / reference RTT) squared for Hybla (section 3 of its paper), 1 for Reno.
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

    /// True if the flight hardly changed in the later half of the values since the latest loss recovery, or since the
    /// beginning.
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
