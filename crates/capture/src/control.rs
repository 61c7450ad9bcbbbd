//! Infers the congestion control of a sender. Every known congestion control is replayed with the ACKs of the capture.
//! The most probable congestion control is the one whose window best matches the sender's flight size.
//!
//! [`Fit`] contains the errors of the windows after losses and between losses. BBR is recognized by other indicators.
//! Left out: reductions after ECN marks.

use crate::replay::{Compared, replay};
use crate::steps::{Loss, Step};
use lopsided_core::Duration;
use lopsided_tcp::ByteCounting;
use std::f64::consts::PI;

/// The congestion controls that are replayed, with their prior weights: those of Linux, Compound of earlier versions of
/// Windows, and LEDBAT, which some systems use for downloads in the background.
///
/// A larger weight of LEDBAT would give its name to captures of H-TCP. With this weight, 111 of 180 simulated views of
/// LEDBAT and Compound are right, and 2,075 of 2,250 views of the others. With a weight of 0.03 for LEDBAT, 93 and 2,077.
const KNOWN: [(&str, f64); 14] = [
    ("reno", 1.5),
    ("cubic", 2.0),
    ("bic", 1.0),
    ("highspeed", 1.0),
    ("htcp", 1.0),
    ("westwood", 1.0),
    ("vegas", 1.0),
    ("scalable", 1.0),
    ("hybla", 1.0),
    ("illinois", 1.0),
    ("yeah", 1.0),
    ("veno", 0.3),
    ("compound", 0.1),
    ("ledbat", 0.2),
];

/// Prior weights of a Reno that grows once per ACK (4.4BSD, RFC 5681). The first weight is for senders with a small
/// initial window, the second for all other senders.
///
/// Linux has started with 10 segments since 2011 (RFC 6928), so a smaller initial window indicates another stack.
const ONCE_PER_ACK: [f64; 2] = [3.0, 0.2];
/// Initial window of Linux in segments.
const LINUX_START: u32 = 10;

/// Smallest full segment, in bytes, for which a congestion control is inferred. Interactive applications send smaller
/// segments.
const LEAST_MSS: u32 = 200;
/// Minimum number of steps from which a congestion control is inferred: eight round trips.
const ENOUGH: usize = 64;
/// Minimum number of comparisons: losses, and round trips without a loss.
const ENOUGH_COMPARED: usize = 3;
/// Distributions of the difference between the flight and the window of the true congestion control: after losses
/// (`REDUCTION`) and between losses (`GROWTH`).
///
/// The values were fitted to simulated captures (parts `design` and `wide` of `reference/analyze`): they maximize the
/// probability of the congestion control that each capture really used. Behind an AQM, several losses in one recovery
/// reduce the flight further, so large differences are more frequent after losses.
const REDUCTION: Noise = Noise { equal: 0.6, by_one: 0.2, scale: 0.02, anywhere: 0.01, weight: 0.5, most: 4.0 };
const GROWTH: Noise = Noise { equal: 0.4, by_one: 0.3, scale: 0.02, anywhere: 0.01, weight: 1.3, most: 4.0 };
/// If the windows of a congestion control match after and between losses, with mean errors below `UNDISTURBED`, the
/// comparisons of this capture have no common errors. Then up to `MOST_UNDISTURBED` comparisons count as evidence.
const UNDISTURBED: f64 = 0.4;
const MOST_UNDISTURBED: f64 = 40.0;
/// Natural logarithm of the weight of a congestion control that is not listed, followed by its expected mean error per
/// reduction and per period.
const UNLISTED: f64 = -5.0;
const UNLISTED_REDUCTION: f64 = 2.5;
const UNLISTED_GROWTH: f64 = 2.0;
/// BBR does not follow the windows of a congestion control that reacts to losses: no simulated view of BBR (198) matches
/// one of them with errors below `MATCHES` and `DIFFERS` in at least `FOLLOWS` losses and periods. No view (189) matches
/// one of them in at least `FOLLOWS` losses with an error below `EXACTLY`.
const MATCHES: f64 = 1.0;
const DIFFERS: f64 = 0.5;
const FOLLOWS: usize = 4;
const EXACTLY: f64 = 0.3;
/// Minimum width in segments of the uniform distribution over all flights (`Noise::anywhere`). For larger windows, the
/// width is the window.
const LEAST_RANGE: f64 = 10.0;
/// Natural logarithm of BBR's weight before its indicators are added.
const BBR: f64 = -7.0;
/// A congestion control is named if it is about as probable as all other congestion controls together. Scalable and YeAH
/// have the same windows while the queue is short. Both are then slightly less probable than 50 %.
const NAMED: f64 = 0.49;
/// If the log contains an indicator of BBR, the indicator's value is added to the logarithm of BBR's weight.
const FALLS_SIGN: f64 = 5.0;
const PROBES_SIGN: f64 = 3.0;
const JUMPS_SIGN: f64 = 8.0;
const PACING_SIGN: f64 = 8.0;
/// The first value is for one probe of the RTT, the second for more probes.
const QUIET_SIGN: [f64; 2] = [3.0, 6.0];
/// An indicator of BBR: the flight falls without a loss in at least this share of the round trips.
const FALLS: f64 = 0.1;
/// A decrease of the flight counts if it exceeds both this share of the flight and two segments.
const FALL: f64 = 0.1;
/// A flight is level if it varies by at most one segment or by this share for `LEVEL_STEPS` steps, which are three round
/// trips.
const LEVEL: f64 = 0.035;
const LEVEL_STEPS: usize = 24;
/// A level flight jumps if it grows by at least this share and by at least two segments within `JUMP_STEPS` steps. BBR
/// probes for bandwidth with a gain of 1.25.
const JUMP: f64 = 0.18;
const JUMP_STEPS: usize = 10;
/// Jumps are counted only if the level flight is at least this number of segments.
const LEAST_LEVEL: f64 = 8.0;
/// BBR is indicated by at least two jumps, and at least one jump in this number of round trips without a loss. BBR
/// version 1 probes once in eight round trips.
const ROUNDS_PER_JUMP: usize = 60;
/// A flight below this share of the largest flight since the previous dip counts as a dip.
const DIP: f64 = 0.25;
/// Two dips count as one dip if they are at most this many microseconds apart.
const DIP_APART_US: u32 = 2_000_000;
/// Period of BBR's ProbeRTT: 10 s (version 1) or 5 s (version 3).
const PROBES_S: std::ops::RangeInclusive<f64> = 4.5..=11.5;
/// A probe of the RTT: without a loss, BBR reduces its flight from at least `QUIET_FROM` segments to `QUIET` segments, for at
/// least 200 ms (`bbr_probe_rtt_mode_ms`). It then restores at least half of the flight within two round trips. The start
/// and the end of this time are uncertain by a step, so `QUIET_US` microseconds suffice. BBR does not probe more often
/// than every `QUIET_APART_US` microseconds.
const QUIET: f64 = 4.2;
const QUIET_FROM: f64 = 8.0;
const QUIET_US: u32 = 150_000;
const QUIET_APART_US: u32 = 4_500_000;
/// Number of steps per round trip. A [`Step`] is a group of ACKs.
const ROUND: usize = 8;

/// The match between a congestion control and the capture. Both errors are 0 for a perfect match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Name of the congestion control.
    pub name: &'static str,
    /// Mean error of the windows after losses: the negative natural logarithm of the probability of the difference,
    /// relative to the probability of equal windows; 0 without losses.
    pub reduction: f64,
    /// Number of losses that were compared.
    pub reductions: usize,
    /// Mean error of the windows between losses, by the same formula; 0 without periods between losses.
    pub growth: f64,
    /// Number of periods between losses that were compared.
    pub periods: usize,
    /// Probability that the sender uses this congestion control, from 0 to 1.
    pub probability: f64,
}

impl Fit {
    /// Computes the errors of a congestion control from its comparisons, which are in chronological order.
    fn of(name: &'static str, found: &[Compared]) -> Fit {
        let (reductions, errors): (Vec<_>, Vec<_>) = split(found);
        Fit {
            name,
            reduction: mean(&reductions),
            reductions: reductions.len(),
            growth: mean(&errors),
            periods: errors.len(),
            probability: 0.0,
        }
    }

    /// Returns the natural logarithm of the likelihood. `is_undisturbed` is true if comparisons have no common errors.
    fn log_likelihood(&self, is_undisturbed: bool) -> f64 {
        -self.evidence(self.reduction, self.growth, is_undisturbed)
    }

    /// Returns the sum of errors that average `reduction` after losses and `growth` between losses, each weighted by the
    /// evidence in the comparisons.
    fn evidence(&self, reduction: f64, growth: f64, is_undisturbed: bool) -> f64 {
        let after = reduction * REDUCTION.evidence(self.reductions, is_undisturbed);
        after + growth * GROWTH.evidence(self.periods, is_undisturbed)
    }

    /// Returns true if the windows match after losses and between losses. See `FOLLOWS`.
    fn is_followed(&self) -> bool {
        let matches = self.periods >= FOLLOWS && self.reduction < MATCHES && self.growth < DIFFERS;
        self.reductions >= FOLLOWS && (matches || self.reduction < EXACTLY)
    }

    /// Returns the natural logarithm of the likelihood of a congestion control that is not listed.
    fn log_likelihood_of_unlisted(&self, is_undisturbed: bool) -> f64 {
        UNLISTED - self.evidence(UNLISTED_REDUCTION, UNLISTED_GROWTH, is_undisturbed)
    }
}

/// The distribution of the difference between the flight and the window of the true congestion control.
struct Noise {
    /// Probability of equal windows.
    equal: f64,
    /// Probability of a difference of one segment.
    by_one: f64,
    /// Width of the Cauchy distribution of the other differences: this share of the window, plus half a segment.
    scale: f64,
    /// Share of the other differences that is distributed uniformly over all flights, instead of as a Cauchy
    /// distribution.
    anywhere: f64,
    /// Independent evidence in one comparison. Below 1, because successive comparisons have common errors.
    weight: f64,
    /// Maximum number of comparisons that count as evidence. See also `UNDISTURBED`.
    most: f64,
}

impl Noise {
    /// Returns the evidence in a number of comparisons.
    fn evidence(&self, count: usize, is_undisturbed: bool) -> f64 {
        let most = if is_undisturbed { MOST_UNDISTURBED } else { self.most };
        self.weight * (count as f64).min(most)
    }

    /// Returns the error of a window: see [`Fit::reduction`].
    fn error(&self, compared: &Compared) -> f64 {
        let window = compared.window.floor().max(1.0);
        let difference = (compared.flight - window).abs();
        libm::log(self.density(0.0, window) / self.density(difference, window))
    }

    fn density(&self, difference: f64, window: f64) -> f64 {
        let near = match difference {
            small if small < 0.5 => self.equal,
            one if one < 1.5 => self.by_one / 2.0,
            _ => 0.0,
        };
        let width = 0.5 + self.scale * window;
        let far = 1.0 / (PI * width * (1.0 + (difference / width) * (difference / width)));
        let anywhere = 1.0 / window.max(LEAST_RANGE);
        near + (1.0 - self.equal - self.by_one) * ((1.0 - self.anywhere) * far + self.anywhere * anywhere)
    }
}

/// Returns the error of each reduction, and the mean error of each period between losses.
fn split(found: &[Compared]) -> (Vec<f64>, Vec<f64>) {
    let (mut reductions, mut periods) = (Vec::new(), Vec::new());
    let mut period: Vec<&Compared> = Vec::new();
    for compared in found {
        if compared.rounds <= 1.0 {
            periods.extend(period_error(&period));
            period.clear();
        }
        if compared.rounds == 0.0 {
            reductions.push(REDUCTION.error(compared));
        } else {
            period.push(compared);
        }
    }
    periods.extend(period_error(&period));
    (reductions, periods)
}

/// Returns the mean error of a period between two losses; `None` without comparisons. A single comparison counts half.
fn period_error(period: &[&Compared]) -> Option<f64> {
    let errors = period.iter().map(|compared| GROWTH.error(compared));
    (!period.is_empty()).then(|| errors.sum::<f64>() / period.len().max(2) as f64)
}

/// The most probable congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// Name of the congestion control as in a scenario (`reno`, `cubic`, `bbr`, ...), or `unknown`.
    pub name: &'static str,
    /// Probability of the named congestion control, from 0 to 1. For `unknown`: the probability that the sender uses no
    /// known congestion control; or, if the best fit is less probable than 49 %, 1 minus the probability of the best
    /// fit.
    pub probability: f64,
    /// Median ratio of the flight after a loss to the flight before it; NaN without a loss.
    pub factor: f64,
}

/// Returns the most probable congestion control of a sender's log of ACKs, and the fits of all congestion controls,
/// best fit first.
///
/// - `mss`: payload of a full segment in bytes.
/// - `start`: segments in the initial window; 0 if unknown.
/// - `handshake`: RTT of the handshake on the whole path; `None` if unknown.
/// - `pacing`: share of the time in which the sender paced; 0 if unknown.
///
/// # Examples
///
/// ```
/// use lopsided_capture::guess;
///
/// // Nothing can be inferred from an empty log.
/// assert_eq!(guess(&[], 1448, 10, None, 0.0).0.name, "unknown");
/// ```
pub fn guess(steps: &[Step], mss: u32, start: u32, handshake: Option<Duration>, pacing: f64) -> (Guess, Vec<Fit>) {
    let factor = median(&factors(steps));
    let unknown = Guess { name: "unknown", probability: 1.0, factor };
    let signs = bbr_signs(steps, mss, pacing);
    if mss < LEAST_MSS || steps.len() < ENOUGH && pacing <= 0.5 {
        return (unknown, Vec::new());
    }
    let mut fits: Vec<Fit> = Vec::new();
    let mut priors: Vec<f64> = Vec::new();
    let mut compared = 0;
    let once = ONCE_PER_ACK[usize::from(start == 0 || start >= LINUX_START)];
    let linux = KNOWN.into_iter().map(|(name, prior)| (name, ByteCounting::Delivered, prior));
    for (name, counting, prior) in linux.chain([("reno", ByteCounting::AcksThroughThreshold, once)]) {
        let found = replay(name, counting, steps, mss, handshake).unwrap_or_default();
        compared = compared.max(found.len());
        fits.push(Fit::of(name, &found));
        priors.push(prior);
    }
    let is_undisturbed = fits.iter().any(|fit| fit.reduction.max(fit.growth) < UNDISTURBED);
    let weight = |(fit, prior): (&Fit, f64)| libm::log(prior) + fit.log_likelihood(is_undisturbed);
    let mut weights: Vec<f64> = fits.iter().zip(priors).map(weight).collect();
    let enough = compared >= ENOUGH_COMPARED;
    if !enough {
        // Without comparisons every congestion control would fit, so list none.
        (fits, weights) = (Vec::new(), Vec::new());
    }
    let unlisted = fits.iter().map(|fit| fit.log_likelihood_of_unlisted(is_undisturbed));
    let unlisted = unlisted.fold(UNLISTED, f64::min);
    // Without an indicator, BBR is one of many congestion controls that are not replayed.
    let may_be_bbr = signs > 0.0 && !fits.iter().any(Fit::is_followed);
    weights.push(if may_be_bbr { BBR + signs } else { f64::NEG_INFINITY });
    fits.push(Fit { name: "bbr", reduction: 0.0, reductions: 0, growth: 0.0, periods: 0, probability: 0.0 });
    let most = weights.iter().copied().fold(unlisted, f64::max);
    let total = weights.iter().map(|weight| libm::exp(weight - most)).sum::<f64>() + libm::exp(unlisted - most);
    for (fit, weight) in fits.iter_mut().zip(weights) {
        fit.probability = libm::exp(weight - most) / total;
    }
    fits.sort_by(|one, other| other.probability.total_cmp(&one.probability));
    // Reno was replayed twice, with two rules for counting ACKs. Keep the better fit, and add up the two probabilities.
    if let Some(worse) = fits.iter().rposition(|fit| fit.name == "reno").filter(|_| enough) {
        let worse = fits.remove(worse);
        fits.iter_mut().filter(|fit| fit.name == "reno").for_each(|fit| fit.probability += worse.probability);
        fits.sort_by(|one, other| other.probability.total_cmp(&one.probability));
    }
    let best = fits[0];
    let unlisted = libm::exp(unlisted - most) / total;
    if best.probability <= unlisted {
        return (Guess { probability: unlisted, ..unknown }, fits);
    }
    if best.probability < NAMED {
        return (Guess { probability: 1.0 - best.probability, ..unknown }, fits);
    }
    (Guess { name: best.name, probability: best.probability, factor }, fits)
}

/// Returns the sum of the evidence for BBR in a log.
fn bbr_signs(steps: &[Step], mss: u32, pacing: f64) -> f64 {
    let (rounds, falls) = falls(steps, f64::from(mss.max(1)));
    let share = f64::from(falls) / f64::from(rounds.max(1));
    let mut signs = 0.0;
    // Only BBR repeatedly reduces its window by 10 % without a loss.
    signs += if falls >= 2 && share >= FALLS { FALLS_SIGN } else { 0.0 };
    // Other congestion controls grow slowly after a level period, because they approach an earlier window.
    let (clean, jumps) = jumps(steps, f64::from(mss.max(1)));
    signs += if jumps >= 2 && jumps * ROUNDS_PER_JUMP >= clean { JUMPS_SIGN } else { 0.0 };
    let gaps = gaps_between_dips(steps);
    signs += if gaps.len() >= 2 && PROBES_S.contains(&median(&gaps)) { PROBES_SIGN } else { 0.0 };
    let probes = probes(steps, f64::from(mss.max(1)));
    signs += if probes > 0 { QUIET_SIGN[usize::from(probes > 1)] } else { 0.0 };
    signs + if pacing > 0.5 { PACING_SIGN } else { 0.0 }
}

/// Returns the number of probes of the RTT; 0 if they are too frequent. See `QUIET`.
fn probes(steps: &[Step], mss: f64) -> usize {
    let flight = |step: &Step| f64::from(step.flight_bytes) / mss;
    let most = |steps: &[Step]| steps.iter().map(flight).fold(0.0, f64::max);
    // A step without a segment has no flight.
    let is_quiet = |step: &Step| !step.repairs && !step.spoiled && step.loss.is_none() && flight(step) <= QUIET;
    let mut found: Vec<u32> = Vec::new();
    let mut place = 0;
    for run in steps.chunk_by(|one, other| is_quiet(one) == is_quiet(other)) {
        let (begin, end) = (place, place + run.len());
        place = end;
        let Some(first) = run.iter().find(|step| step.flight_bytes > 0).filter(|step| is_quiet(step)) else { continue };
        let until = steps.get(end).unwrap_or(&run[run.len() - 1]).at_us;
        let before = most(&steps[begin.saturating_sub(ROUND)..begin]);
        let after = most(&steps[end..steps.len().min(end + 2 * ROUND)]);
        let is_held = run.iter().filter(|step| step.flight_bytes > 0).count() > 1 && until - first.at_us >= QUIET_US;
        if is_held && before >= QUIET_FROM && after >= before / 2.0 {
            found.push(first.at_us);
        }
    }
    let are_apart = found.windows(2).all(|pair| pair[1] - pair[0] >= QUIET_APART_US);
    if are_apart { found.len() } else { 0 }
}

/// Returns the number of round trips in congestion avoidance, and the number of jumps of a level flight.
fn jumps(steps: &[Step], mss: f64) -> (usize, usize) {
    let (mut count, mut jumps) = (0, 0);
    for run in steps.split(|step| step.repairs || step.spoiled || step.slow_start) {
        count += run.len();
        // A step without a segment keeps the flight of the previous step.
        let mut latest = 0;
        let flights: Vec<f64> = run
            .iter()
            .map(|step| {
                latest = if step.flight_bytes > 0 { step.flight_bytes } else { latest };
                f64::from(latest) / mss
            })
            .collect();
        let mut place = LEVEL_STEPS;
        while place < flights.len() {
            let level = &flights[place - LEVEL_STEPS..place];
            let (low, high) =
                (level.iter().copied().fold(f64::MAX, f64::min), level.iter().copied().fold(0.0, f64::max));
            let next = &flights[place..flights.len().min(place + JUMP_STEPS)];
            let top = next.iter().copied().fold(0.0, f64::max);
            let is_level = low >= LEAST_LEVEL && high - low <= (LEVEL * high).max(1.0);
            if is_level && top - high >= (JUMP * high).max(2.0) {
                jumps += 1;
                place += JUMP_STEPS + LEVEL_STEPS;
            } else {
                place += 1;
            }
        }
    }
    (count / ROUND, jumps)
}

/// Returns the number of round trips in congestion avoidance, and the number of these in which the flight decreases.
fn falls(steps: &[Step], mss: f64) -> (u32, u32) {
    let (mut rounds, mut falls) = (0, 0);
    for run in steps.split(|step| step.repairs || step.spoiled || step.slow_start) {
        let flights: Vec<f64> = run.chunks_exact(ROUND).map(largest).collect();
        for pair in flights.windows(2) {
            rounds += 1;
            falls += u32::from(pair[0] - pair[1] > (FALL * pair[0]).max(2.0 * mss));
        }
    }
    (rounds, falls)
}

/// Returns the largest flight of the steps, in bytes.
fn largest(steps: &[Step]) -> f64 {
    f64::from(steps.iter().map(|step| step.flight_bytes).max().unwrap_or(0))
}

/// Returns the seconds between dips of the flight.
fn gaps_between_dips(steps: &[Step]) -> Vec<f64> {
    let (mut dips, mut most): (Vec<u32>, u32) = (Vec::new(), 0);
    let mut quiet = 0;
    for step in steps {
        quiet = if step.repairs || step.loss.is_some() { 0 } else { quiet + 1 };
        if step.repairs || step.slow_start || step.flight_bytes == 0 {
            continue;
        }
        most = most.max(step.flight_bytes);
        // The flight is small after a loss, with every congestion control.
        if quiet < 2 * ROUND {
            continue;
        }
        let is_apart = dips.last().is_none_or(|last| step.at_us - last > DIP_APART_US);
        if f64::from(step.flight_bytes) < DIP * f64::from(most) && is_apart {
            dips.push(step.at_us);
            most = step.flight_bytes;
        }
    }
    dips.windows(2).map(|pair| f64::from(pair[1] - pair[0]) * 1e-6).collect()
}

/// Returns, for each fast recovery, the flight in the second round trip after the recovery divided by the flight before
/// the loss.
fn factors(steps: &[Step]) -> Vec<f64> {
    let mut found = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let Some((Loss::Fast, before)) = step.loss else { continue };
        let Some(begin) = steps[place + 1..].iter().position(|step| !step.repairs) else { continue };
        let after = &steps[place + 1 + begin..];
        let quiet = after.iter().take(2 * ROUND).all(|step| !step.repairs && step.loss.is_none());
        if after.len() >= 2 * ROUND && quiet && before > 0 {
            found.push(largest(&after[ROUND..2 * ROUND]) / f64::from(before));
        }
    }
    found
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the median; NaN without values.
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
