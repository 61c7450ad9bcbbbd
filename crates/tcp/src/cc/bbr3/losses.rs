//! Applies losses to the model (section 5.5.10). Too much loss in a probe sets the long-term bound. Between probes,
//! each round with a loss lowers the short-term bounds. Spurious losses are undone (section 5.5.11).

use super::Bbr3;
use super::model::{ShortTerm, State, UNBOUNDED, Undo};
use crate::cc::Lost;
use lopsided_core::Time;

/// Maximum share of lost bytes in a probe.
const LOSS_THRESHOLD: f64 = 0.02;
/// A round with loss reduces a bound to at least this fraction of its value.
const BETA: f64 = 0.7;

impl Bbr3 {
    // Between probes.

    /// Lowers the short-term bounds at the end of a round with a loss (BBRAdaptLowerBoundsFromCongestion).
    pub(super) fn adapt_to_round(&mut self) {
        if !self.latest.round_start {
            return;
        }
        if std::mem::take(&mut self.latest.lossy) && !self.state.accelerates() {
            let ShortTerm { bw, inflight } = self.short_term;
            let bw = if bw.is_finite() { bw } else { self.max_bw.max() };
            let inflight = if inflight == UNBOUNDED { self.cwnd } else { inflight };
            self.short_term = ShortTerm {
                bw: self.latest.bw.max(BETA * bw),
                inflight: self.latest.inflight.max((BETA * inflight as f64) as u64),
            };
        }
    }

    /// Records that the current round has a loss or a mark.
    pub(super) fn note_loss(&mut self) {
        if !self.latest.lossy {
            self.latest.end = self.delivered;
            self.begin_episode();
        }
        self.latest.lossy = true;
    }

    // In probes.

    /// True if the share of lost bytes exceeds the threshold. Without SACK, any loss exceeds the threshold.
    pub(super) fn is_too_much(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * LOSS_THRESHOLD || (lost > 0 && !self.sack)
    }

    /// Processes a lost segment, which may end a probe.
    pub(super) fn handle_lost_segment(&mut self, now: Time, lost: &Lost) {
        self.note_loss();
        self.latest.note_range(lost);
        let (in_flight, lost_since) = (lost.tx_in_flight.get(), lost.lost_since_sent.get());
        if self.probe.is_sample && self.is_too_much(lost_since, in_flight) {
            let at_loss = inflight_at_loss(in_flight, lost_since, lost.end.saturating_sub(lost.start));
            self.handle_inflight_too_high(now, at_loss, lost.app_limited);
        }
    }

    /// Processes an ECN mark. A mark during a probe ends the probe, as too much loss does.
    pub(super) fn handle_mark(&mut self, now: Time, in_flight: u64) {
        self.note_loss();
        if self.probe.is_sample {
            self.handle_inflight_too_high(now, in_flight, false);
        }
    }

    /// Sets the long-term bound and ends the probe (BBRHandleInflightTooHigh).
    fn handle_inflight_too_high(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        self.probe.too_high = true;
        self.probe.is_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max((self.target_inflight() as f64 * BETA) as u64);
        }
        if self.state == State::ProbeBwUp {
            self.undo.return_to = Some(State::ProbeBwUp);
            self.start_down(now);
        }
    }

    // Spurious losses.

    /// Begins a loss episode: saves the values that an undo restores.
    pub(super) fn begin_episode(&mut self) {
        self.save_window();
        if !self.undo.in_episode {
            self.undo =
                Undo { in_episode: true, saved: Some((self.short_term, self.inflight_longterm)), return_to: None };
        }
    }

    /// Undoes an episode of spurious losses: restores the saved values and the interrupted state.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_window();
        self.latest.lossy = false;
        self.full_pipe.begin(0.0);
        let Undo { saved, return_to, .. } = std::mem::take(&mut self.undo);
        if let Some((short_term, inflight_longterm)) = saved {
            // A bound may have risen since the losses, so never lower it here.
            self.short_term.bw = self.short_term.bw.max(short_term.bw);
            self.short_term.inflight = self.short_term.inflight.max(short_term.inflight);
            self.inflight_longterm = self.inflight_longterm.max(inflight_longterm);
        }
        match return_to {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}

/// Returns the number of bytes in flight at which the losses exceeded the threshold.
fn inflight_at_loss(in_flight: u64, lost: u64, size: u64) -> u64 {
    let before = in_flight.saturating_sub(size);
    let lost_before = lost.saturating_sub(size) as f64;
    let prefix = (LOSS_THRESHOLD * before as f64 - lost_before) / (1.0 - LOSS_THRESHOLD);
    before + prefix.max(0.0) as u64
}
