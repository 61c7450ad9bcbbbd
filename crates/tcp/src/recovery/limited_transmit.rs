//! Limited transmit as FreeBSD counts it (RFC 3042): the first and the second duplicate ACK let a segment go each,
//! whatever SACK reports. One that could not be used by the first is there for the second.

/// Duplicates that let something go.
const DUPLICATES: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct LimitedTransmit {
    sent: u32,
    credit: u32,
}

impl LimitedTransmit {
    /// The `count`th duplicate in a row arrived.
    pub fn on_duplicate(&mut self, count: u32) {
        if count == 1 {
            self.sent = 0;
        }
        self.credit = if count <= DUPLICATES { count - self.sent.min(count) } else { 0 };
    }

    /// Segments that went before the last recovery.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Segments that may go now beyond what is in flight.
    #[inline]
    pub fn credit(&self) -> u32 {
        self.credit
    }

    #[inline]
    pub fn on_sent(&mut self) {
        if self.credit > 0 {
            self.credit -= 1;
            self.sent += 1;
        }
    }

    /// Something else happened: what was not used is void.
    #[inline]
    pub fn end(&mut self) {
        self.credit = 0;
    }
}
