//! Segments that must be sent before any data. They are rare, so they share one box.

use super::segment::Segment;
use lopsided_core::Seq;
use lopsided_core::tcp_event::AckReason;

/// Segments that must be sent before any data.
#[derive(Debug, Default)]
pub(super) struct Urgent {
    /// An ACK that was built before the last arriving segment was processed.
    pub prepared: Option<Segment>,
    /// True if a reset must be sent.
    pub reset: bool,
    /// Acknowledgement number of an arriving segment that acknowledges data that was never sent. The answer is a reset
    /// (RFC 9293 section 3.10.7).
    pub refused: Option<Seq>,
    /// The ACK that was pending when the CE mark changed (RFC 8257 section 3.2), or the handshake's ACK.
    pub old_ack: Option<OldAck>,
    /// True if a keep-alive probe must be sent.
    pub keepalive: bool,
}

/// An ACK that covers only a part of the received data.
#[derive(Clone, Copy, Debug)]
pub(super) struct OldAck {
    pub ack: Seq,
    /// The ECN echo of the ACK.
    pub echo: bool,
    pub why: AckReason,
}

impl Urgent {
    /// True if a segment must still be sent after the connection is closed.
    pub fn outlives(&self) -> bool {
        self.reset || self.refused.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.outlives() && self.prepared.is_none() && self.old_ack.is_none() && !self.keepalive
    }
}
