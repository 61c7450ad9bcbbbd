//! A round trip by sequence numbers: it is over when what was sent until it began is acknowledged.

use super::PathState;

/// The round that a controller is in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The next sequence number to be sent as it began.
    end: u64,
}

impl Round {
    /// One that ends when all that is out now is acknowledged.
    pub fn begin(path: &PathState) -> Round {
        Round { end: path.nxt }
    }

    /// Whether something that was sent behind it is acknowledged: Linux's `after(ack, beg_snd_nxt)`.
    pub fn is_passed(self, path: &PathState) -> bool {
        path.una > self.end
    }

    /// Whether all of it is acknowledged, which may be an ACK earlier: `!before(snd_una, next_seq)` of Linux's DCTCP.
    pub fn is_acknowledged(self, path: &PathState) -> bool {
        path.una >= self.end
    }
}
