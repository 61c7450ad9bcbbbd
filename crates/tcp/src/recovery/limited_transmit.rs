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
