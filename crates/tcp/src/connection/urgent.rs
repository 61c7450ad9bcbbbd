//! What a connection sends before any data. There is mostly nothing, so it lies apart, and one look tells.

use super::segment::Segment;
use lopsided_core::Seq;
use lopsided_core::tcp_event::AckReason;

#[derive(Debug, Default)]
pub(super) struct Urgent {
    /// An acknowledgement that was made before the segment that came was looked at.
    pub prepared: Option<Segment>,
    pub reset: bool,
    /// A segment that acknowledged what this end never sent is refused with a reset from that number (RFC 9293 section
    /// 3.10.7).
    pub refused: Option<Seq>,
    /// The acknowledgement that is owed from before a mark came or went (RFC 8257 section 3.2), or to the handshake.
    pub old_ack: Option<OldAck>,
    pub keepalive: bool,
}

/// An acknowledgement of less than what has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldAck {
    pub ack: Seq,
    /// With this ECN echo.
    pub echo: bool,
    pub why: AckReason,
}

impl Urgent {
    /// Whether a connection that is closed still has to say something.
    pub fn outlives(&self) -> bool {
        self.reset || self.refused.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.outlives() && self.prepared.is_none() && self.old_ack.is_none() && !self.keepalive
    }
}
