//! Limited transmit as in FreeBSD (RFC 3042): each of the first two duplicate ACKs releases one segment, even with
//! SACK.

/// Number of duplicate ACKs that release a segment.
const DUPLICATES: u32 = 2;

#[derive(Debug, Default)]
/// State of limited transmit.
pub(super) struct LimitedTransmit {
    /// Number of segments that limited transmit has sent since the first duplicate ACK.
    sent: u32,
    /// Number of segments that may still be sent.
    credit: u32,
}

impl LimitedTransmit {
    /// Handles the `count`th consecutive duplicate ACK.
    pub fn on_duplicate(&mut self, count: u32) {
        if count == 1 {
            self.sent = 0;
        }
        self.credit = if count <= DUPLICATES { count - self.sent.min(count) } else { 0 };
    }

    /// Number of segments that limited transmit released before the last recovery.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Number of segments that may be sent now although the window is full.
    #[inline]
    pub fn credit(&self) -> u32 {
        self.credit
    }

    /// Records a sent segment.
    #[inline]
    pub fn on_sent(&mut self) {
        if self.credit > 0 {
            self.credit -= 1;
            self.sent += 1;
        }
    }

    /// Discards the unused credit.
    #[inline]
    pub fn end(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3042 section 2: each of the first two duplicate ACKs permits one segment.
    #[test]
    fn the_first_two_duplicates_release_one_segment_each() {
        let mut limited = LimitedTransmit::default();
        let mut on = |count, sends: u32| {
            limited.on_duplicate(count);
            let credit = limited.credit();
            (0..sends).for_each(|_| limited.on_sent());
            (credit, limited.credit(), limited.sent())
        };
        assert_eq!([on(1, 1), on(2, 1), on(3, 1)], [(1, 0, 1), (1, 0, 2), (0, 0, 2)]);
        // A segment that the first duplicate did not send may follow the second one.
        assert_eq!([on(1, 0), on(2, 3)], [(1, 1, 0), (2, 0, 2)]);
        limited.on_duplicate(1);
        limited.end();
        limited.on_sent();
        assert_eq!((limited.credit(), limited.sent()), (0, 0));
    }
}
