//! Policer detection as in Linux's BBR (bbr_lt_bw_sampling). A measurement interval begins and ends with a loss. Two
//! consecutive intervals with 20 % loss and similar rates indicate a policer. BBR then sends at the mean of the two
//! rates for 48 rounds.

use crate::PathState;
use lopsided_core::{Duration, Time};

/// Minimum length of an interval, in rounds.
const ROUNDS_MIN: u32 = 4;
/// Maximum length of an interval, in rounds.
const ROUNDS_MAX: u32 = 16;
/// Minimum loss in an interval, as a fraction of the delivered bytes.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Rates that differ by at most this fraction count as equal.
const SAME_SHARE: f64 = 1.0 / 8.0;
/// Rates that differ by at most this amount count as equal, in bytes per second (4 kbit/s).
const SAME_RATE: f64 = 4000.0 / 8.0;
/// Number of rounds for which the policer's rate is used.
const ROUNDS_OF_USE: u32 = 48;
/// Minimum duration of an interval.
const SHORTEST: Duration = Duration::from_millis(1);

/// The result of processing an ACK.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Continue as before.
    None,
    /// The policer's rate was used for [`ROUNDS_OF_USE`] rounds, so BBR probes again.
    Over,
}

/// State of the policer detection.
#[derive(Debug, Default)]
pub(super) struct Policer {
    /// True while an interval is being measured.
    sampling: bool,
    /// Rate of the last interval, in bytes per second.
    rate: Option<f64>,
    /// True if BBR uses the rate as its bandwidth.
    in_use: bool,
    /// Number of rounds since the interval began, or since BBR began to use the rate.
    rounds: u32,
    /// Start of the interval.
    begun: Time,
    /// Number of bytes delivered before the interval began.
    delivered: u64,
    /// Number of bytes lost before the interval began.
    lost: u64,
}

impl Policer {
    /// Returns the rate of the policer in bytes per second; `None` if no policer is detected.
    pub fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.in_use)
    }

    /// Processes an ACK. `probing` is true if BBR is in ProbeBW.
    pub fn watch(
        &mut self,
        now: Time,
        lost: bool,
        app_limited: bool,
        round_start: bool,
        probing: bool,
        path: &PathState,
    ) -> Judgement {
        if self.in_use {
            self.rounds += u32::from(probing && round_start);
            if self.rounds < ROUNDS_OF_USE {
                return Judgement::None;
            }
            *self = Policer::default();
            return Judgement::Over;
        }
        if !self.sampling {
            // Begin an interval at a loss, because the token bucket of a policer is then empty.
            if !lost {
                return Judgement::None;
            }
            self.begin(now, path);
            self.sampling = true;
        }
        // The rate of an application-limited sender does not show the rate of a policer.
        if app_limited {
            *self = Policer::default();
            return Judgement::None;
        }
        self.rounds += u32::from(round_start);
        // bbr_lt_bw_sampling: an interval that is too long is discarded.
        if self.rounds > ROUNDS_MAX {
            *self = Policer::default();
        } else if self.rounds >= ROUNDS_MIN && lost {
            self.end(now, path);
        }
        Judgement::None
    }

    fn begin(&mut self, now: Time, path: &PathState) {
        self.begun = now;
        self.delivered = path.delivered.get();
        self.lost = path.lost.get();
        self.rounds = 0;
    }

    /// Ends the interval and compares its rate with the rate of the last interval.
    fn end(&mut self, now: Time, path: &PathState) {
        let delivered = path.delivered.get().saturating_sub(self.delivered);
        let lost = path.lost.get().saturating_sub(self.lost);
        let span = now.saturating_since(self.begun);
        if delivered == 0 || (lost as f64) < LOSS_SHARE * delivered as f64 || span < SHORTEST {
            return;
        }
        let rate = delivered as f64 / span.as_secs_f64();
        if let Some(last) = self.rate {
            // Two consecutive intervals with similar rates indicate a policer.
            let apart = (rate - last).abs();
            if apart <= SAME_SHARE * last || apart <= SAME_RATE {
                self.rate = Some((rate + last) / 2.0);
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(now, path);
    }
}
