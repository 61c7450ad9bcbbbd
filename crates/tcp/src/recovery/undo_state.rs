//! The state from which [`super::undo`] determines whether the retransmissions of a recovery were spurious.

use super::reduction::progress::Reduction;
use lopsided_core::Time;

#[derive(Debug, Default)]
pub(crate) struct UndoState {
    /// First unacknowledged offset at the start of the recovery; `None` if there is nothing to undo.
    marker: Option<u64>,
    /// Number of retransmissions that no DSACK has reported as duplicates so far.
    unconfirmed: u32,
    /// True if a segment was retransmitted in this recovery.
    retransmitted: bool,
    /// Value of the timestamp clock at the first retransmission; `None` before the first retransmission.
    first_stamp: Option<u32>,
    /// 4.4BSD: an ACK that arrives before this time must be caused by the original segment.
    early_until: Option<Time>,
    /// The recovery that the timeout interrupted; `None` if there was none.
    interrupted: Option<Box<Interrupted>>,
}

/// A recovery that a timeout interrupted: its recovery point and its reduction.
#[derive(Debug)]
pub(crate) struct Interrupted {
    pub point: u64,
    pub reduction: Option<Box<Reduction>>,
}

impl UndoState {
    /// Starts to track a recovery that begins at the offset `una` while `out` earlier retransmissions are outstanding.
    pub fn begin(&mut self, una: u64, out: u32) {
        self.marker = Some(una);
        self.unconfirmed = out;
        self.retransmitted = out > 0;
    }

    /// Records a timeout: the deadline of 4.4BSD's early-ACK rule, and the recovery that the timeout interrupted.
    pub fn on_timeout(&mut self, early_until: Option<Time>, interrupted: Option<Interrupted>) {
        self.early_until = early_until;
        self.interrupted = interrupted.map(Box::new);
    }

    /// Deletes the timestamp of the first retransmission.
    pub fn forget_stamp(&mut self) {
        self.first_stamp = None;
    }

    /// Deletes the state of the recovery. After this call, the recovery cannot be undone.
    pub fn forget(&mut self) {
        self.marker = None;
        self.first_stamp = None;
        self.early_until = None;
        self.interrupted = None;
        self.retransmitted = false;
    }

    /// Records a retransmission that carries the timestamp `stamp`.
    pub fn on_retransmit(&mut self, stamp: u32) {
        self.first_stamp.get_or_insert(stamp);
        self.unconfirmed += 1;
        self.retransmitted = true;
    }

    /// Records a DSACK for `segments` segments whose last byte is before the offset `end`.
    pub fn on_dsack(&mut self, end: i64, segments: u32) {
        if self.marker.is_some_and(|marker| end as u64 > marker) && end >= 0 {
            self.unconfirmed = self.unconfirmed.saturating_sub(segments);
        }
    }

    /// True if the reduction can still be undone.
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

    /// True if DSACKs reported every retransmission of the recovery as a duplicate (RFC 3708).
    pub fn all_retransmissions_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmitted && self.unconfirmed == 0
    }
}

/// True if the ACK echoes a timestamp older than `first_stamp`, the timestamp of the first retransmission (Eifel, RFC
/// 3522).
pub(super) fn echo_is_older(echo: Option<u32>, first_stamp: Option<u32>) -> bool {
    match (echo, first_stamp) {
        (Some(echo), Some(stamp)) if echo != 0 => (echo.wrapping_sub(stamp) as i32) < 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3708 and Linux's tcp_check_dsack: only DSACKs for data of this recovery confirm its retransmissions.
    #[test]
    fn a_recovery_is_spurious_once_dsacks_cover_all_its_retransmissions() {
        let confirmed = |dsacks: &[(i64, u32)]| {
            let mut undo = UndoState::default();
            undo.begin(1000, 0);
            assert!(undo.can_undo() && !undo.all_retransmissions_were_duplicates(), "nothing was retransmitted");
            undo.on_retransmit(7);
            undo.on_retransmit(9);
            dsacks.iter().for_each(|(end, segments)| undo.on_dsack(*end, *segments));
            (undo.all_retransmissions_were_duplicates(), undo.first_stamp())
        };
        assert_eq!(confirmed(&[(1001, 1)]), (false, Some(7)));
        assert_eq!(confirmed(&[(1001, 1), (2000, 1)]), (true, Some(7)));
        assert!(confirmed(&[(2000, 2)]).0);
        assert!(!confirmed(&[(1000, 2)]).0, "data from before the recovery");
        assert!(!confirmed(&[(-5, 2)]).0, "data from before the stream");
        let mut undo = UndoState::default();
        undo.begin(1000, 1);
        undo.on_dsack(2000, 1);
        assert!(undo.all_retransmissions_were_duplicates(), "a retransmission from before the recovery");
        undo.forget();
        assert!(!undo.can_undo() && !undo.all_retransmissions_were_duplicates() && undo.first_stamp().is_none());
    }

    /// Eifel (RFC 3522 section 3.2), on a clock that wraps.
    #[test]
    fn an_older_echo_belongs_to_the_original_segment() {
        let older = |echo, stamp| echo_is_older(Some(echo), Some(stamp));
        assert_eq!([older(5, 6), older(6, 6), older(7, 6), older(u32::MAX, 3)], [true, false, false, true]);
        assert!(!older(0, 6), "an ACK without an echo");
        assert!(!echo_is_older(None, Some(6)) && !echo_is_older(Some(5), None));
    }
}
