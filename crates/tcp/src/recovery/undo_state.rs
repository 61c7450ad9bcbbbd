//! What the sender remembers of the retransmissions of one recovery, to find out whether they were needed.

use super::reduction::progress::Reduction;
use lopsided_core::Time;

#[derive(Debug, Default)]
pub(crate) struct UndoState {
    /// Where the recovery began; `None` when there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions that no DSACK has shown to be duplicates yet.
    unconfirmed: u32,
    retransmitted: bool,
    /// The timestamp clock's value at the first retransmission.
    first_stamp: Option<u32>,
    /// 4.4BSD: an ACK before this instant acknowledges the original segment. Beside it: the recovery that the timeout
    /// broke off.
    early_until: Option<Time>,
    interrupted: Option<Box<Interrupted>>,
}

/// A recovery that a timeout broke off: its point, and the window on its way down.
#[derive(Debug)]
pub(crate) struct Interrupted {
    pub point: u64,
    pub reduction: Option<Reduction>,
}

impl UndoState {
    /// A recovery begins, while `out` earlier retransmissions are still in the network.
    pub fn begin(&mut self, una: u64, out: u32) {
        self.marker = Some(una);
        self.unconfirmed = out;
        self.retransmitted = out > 0;
    }

    /// A timeout: `early_until` for 4.4BSD's rule, and the recovery that it broke off.
    pub fn on_timeout(&mut self, early_until: Option<Time>, interrupted: Option<Interrupted>) {
        self.early_until = early_until;
        self.interrupted = interrupted.map(Box::new);
    }

    pub fn forget_stamp(&mut self) {
        self.first_stamp = None;
    }

    pub fn forget(&mut self) {
        self.marker = None;
        self.first_stamp = None;
        self.early_until = None;
        self.interrupted = None;
        self.retransmitted = false;
    }

    /// A segment goes out again while the timestamp clock shows `stamp`.
    pub fn on_retransmit(&mut self, stamp: u32) {
        self.first_stamp.get_or_insert(stamp);
        self.unconfirmed += 1;
        self.retransmitted = true;
    }

    /// A DSACK reports `segments` that end at `end`.
    pub fn on_dsack(&mut self, end: i64, segments: u32) {
        if self.marker.is_some_and(|marker| end as u64 > marker) && end >= 0 {
            self.unconfirmed = self.unconfirmed.saturating_sub(segments);
        }
    }

    pub fn can_undo(&self) -> bool {
        self.marker.is_some()
    }

    pub fn first_stamp(&self) -> Option<u32> {
        self.first_stamp
    }

    pub fn take_early_until(&mut self) -> Option<Time> {
        self.early_until.take()
    }

    pub fn take_interrupted(&mut self) -> Option<Box<Interrupted>> {
        self.interrupted.take()
    }

    pub fn all_retransmissions_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmitted && self.unconfirmed == 0
    }
}

/// Eifel: the ACK answers a segment sent before the first retransmission, which had `first_stamp`.
pub(super) fn echo_is_older(echo: Option<u32>, first_stamp: Option<u32>) -> bool {
    match (echo, first_stamp) {
        (Some(echo), Some(stamp)) if echo != 0 => (echo.wrapping_sub(stamp) as i32) < 0,
        _ => false,
    }
}
