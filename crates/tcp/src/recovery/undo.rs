//! Taking back a reduction that was not needed: Eifel by timestamps (RFC 3522, 4015), DSACK (RFC 3708), F-RTO (RFC
//! 5682) and 4.4BSD's early-ACK rule.

use super::{CaState, Reduction};
use crate::send::{AckOutcome, Sender};
use lopsided_core::{Duration, Time};

/// What the sender remembers of the retransmissions of one recovery.
#[derive(Debug, Default)]
pub(crate) struct UndoState {
    /// Where the recovery began; `None` when there is nothing to undo.
    pub marker: Option<u64>,
    /// Retransmissions that no DSACK has shown to be duplicates yet.
    pub unconfirmed: u32,
    retransmitted: bool,
    /// The timestamp clock's value at the first retransmission.
    first_stamp: Option<u32>,
    /// 4.4BSD: an ACK before this instant was for the original; and the recovery that the timeout broke off.
    pub early_until: Option<Time>,
    pub interrupted_recovery: Option<u64>,
    clock_offset: u32,
}

impl UndoState {
    pub fn with_clock(offset: u32) -> UndoState {
        UndoState { clock_offset: offset, ..UndoState::default() }
    }

    /// The timestamp clock: milliseconds (RFC 7323 section 5.4 asks for 1 ms to 1 s).
    pub fn clock(&self, now: Time) -> u32 {
        self.clock_offset.wrapping_add((now.as_nanos() / 1_000_000) as u32)
    }

    /// The round-trip time that an echoed value of the clock tells, at least its grain; `None` for an echo of the
    /// future or of hours ago, which no live peer sends.
    pub fn rtt_of_echo(&self, now: Time, echo: u32) -> Option<Duration> {
        const HOURS: u32 = 1 << 24;
        let millis = self.clock(now).wrapping_sub(echo);
        (millis < HOURS).then(|| Duration::from_millis(u64::from(millis.max(1))))
    }

    /// A recovery begins, while `out` earlier retransmissions are still in the network.
    pub fn begin(&mut self, una: u64, out: u32) {
        self.marker = Some(una);
        self.unconfirmed = out;
        self.retransmitted = out > 0;
    }

    pub fn forget_stamp(&mut self) {
        self.first_stamp = None;
    }

    pub fn forget(&mut self) {
        self.marker = None;
        self.first_stamp = None;
        self.early_until = None;
        self.interrupted_recovery = None;
        self.retransmitted = false;
    }

    pub fn on_retransmit(&mut self, now: Time) {
        let stamp = self.clock(now);
        self.first_stamp.get_or_insert(stamp);
        self.unconfirmed += 1;
        self.retransmitted = true;
    }

    /// Eifel: the ACK answers a segment sent before the first retransmission.
    pub fn echo_is_older(&self, echo: Option<u32>) -> bool {
        match (echo, self.first_stamp) {
            (Some(echo), Some(stamp)) if echo != 0 => (echo.wrapping_sub(stamp) as i32) < 0,
            _ => false,
        }
    }

    pub fn all_retransmissions_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmitted && self.unconfirmed == 0
    }
}

impl Sender {
    /// Whether the evidence says that the reduction was not needed.
    pub(crate) fn undo_is_due(&self, echo: Option<u32>) -> bool {
        let rules = self.profile.undo;
        self.undo.marker.is_some()
            && ((rules.dsack && self.undo.all_retransmissions_were_duplicates())
                || (rules.timestamps && self.undo.echo_is_older(echo)))
    }

    /// Puts back the window and takes the loss marks off.
    pub(crate) fn undo_reduction(&mut self, now: Time) {
        self.controller.on_undo(now);
        self.reduction = None;
        self.scoreboard.unmark_lost();
        self.undo.forget();
        self.cwr_due = false;
        self.counters.undos += 1;
    }

    /// An ACK after a timeout: was the timeout needed (F-RTO, Eifel), and is the repair complete?
    pub(crate) fn progress_after_timeout(&mut self, now: Time, outcome: &AckOutcome) {
        let recovered = self.una >= self.recovery_point;
        if outcome.una_advanced {
            let early = self.undo.early_until.is_some_and(|until| now < until);
            self.undo.early_until = None;
            if early || self.undo_is_due(outcome.echo) {
                self.undo_timeout(now);
                return;
            }
        }
        if self.frto {
            if outcome.original_delivered {
                // Step 3b: data that was never sent again arrived.
                self.undo_timeout(now);
                return;
            }
            if self.nxt > self.recovery_point {
                if outcome.sacked || outcome.duplicate {
                    // Step 3a: the loss was real.
                    self.frto = false;
                }
            } else if outcome.una_advanced && !recovered {
                self.recovery_point = self.nxt;
                // Step 2b: new data first, if there is any that the peer's window takes.
                if self.stream_end() > self.nxt && self.una + self.snd_wnd > self.nxt {
                    self.defer_retransmits = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.finish_repair(now, outcome);
            self.duplicates = 0;
            self.set_ca_state(CaState::Open);
        } else if !self.sack && outcome.una_advanced {
            self.scoreboard.mark_first_lost();
        }
    }

    fn undo_timeout(&mut self, now: Time) {
        let interrupted = self.undo.interrupted_recovery;
        self.undo_reduction(now);
        self.frto = false;
        self.duplicates = 0;
        self.rtt.forget_backoff();
        match interrupted {
            Some(recovery_point) if recovery_point > self.una => {
                self.recovery_point = recovery_point;
                self.reduction =
                    (!self.controller.owns_recovery()).then(|| Reduction::held(self.controller.cwnd().get()));
                self.set_ca_state(CaState::Recovery);
            }
            _ => self.set_ca_state(CaState::Open),
        }
    }

    /// 4.4BSD: half the smoothed RTT in which an ACK must be the original's.
    pub(crate) fn early_ack_window(&self) -> Duration {
        self.rtt.srtt().unwrap_or(Duration::ZERO) / 2
    }
}
