//! Policer detection as in Linux's BBR: two intervals in a row, each from loss to loss, with 20 % of the bytes lost and
//! about the same rate mean that a policer drops what exceeds that rate. BBR then sends at that rate for 48 rounds.

use crate::PathState;
use lopsided_core::{Duration, Time};

/// Shortest and longest interval, in rounds.
const ROUNDS_MIN: u32 = 4;
const ROUNDS_MAX: u32 = 16;
/// Least share of lost bytes among the delivered ones.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Rates within 1/8 or 4 kbit/s of each other count as equal.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_RATE: f64 = 4000.0 / 8.0;
/// Number of rounds that the rate is used.
const ROUNDS_OF_USE: u32 = 48;
const SHORTEST: Duration = Duration::from_millis(1);

/// Result of a sample.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    None,
    /// The rate was used long enough: probe again.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// Rate of the last interval in bytes per second, and whether it is in use.
    rate: Option<f64>,
    in_use: bool,
    rounds: u32,
    begun: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The policed rate; `None` if there is none.
    pub fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.in_use)
    }

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
            // An interval begins with a loss: the bucket is empty.
            if !lost {
                return Judgement::None;
            }
            self.begin(now, path);
            self.sampling = true;
        }
        if app_limited {
            *self = Policer::default();
            return Judgement::None;
        }
        self.rounds += u32::from(round_start);
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

    fn end(&mut self, now: Time, path: &PathState) {
        let delivered = path.delivered.get().saturating_sub(self.delivered);
        let lost = path.lost.get().saturating_sub(self.lost);
        let span = now.saturating_since(self.begun);
        if delivered == 0 || (lost as f64) < LOSS_SHARE * delivered as f64 || span < SHORTEST {
            return;
        }
        let rate = delivered as f64 / span.as_secs_f64();
        if let Some(last) = self.rate {
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
