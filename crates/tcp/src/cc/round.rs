//! A round trip, measured by stream offsets. The round trip ends when all data sent before its start has been
//! acknowledged.

use super::PathState;

/// The current round of a controller.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Value of `nxt` when the round began.
    end: u64,
}

impl Round {
    /// Begins a round that ends when all data outstanding now is acknowledged.
    pub fn begin(path: &PathState) -> Round {
        Round { end: path.nxt }
    }

    /// True if data that was sent after the round began has been acknowledged (Linux's `after(ack, beg_snd_nxt)`).
    pub fn is_passed(self, path: &PathState) -> bool {
        path.una > self.end
    }

    /// True if all data sent before the round began is acknowledged (`!before(snd_una, next_seq)` in Linux's DCTCP).
    pub fn is_acknowledged(self, path: &PathState) -> bool {
        path.una >= self.end
    }
}
