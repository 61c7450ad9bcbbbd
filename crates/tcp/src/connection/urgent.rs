//! Segments that precede any data. They are rare, so they are boxed and one check finds them.

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
    /// The acknowledgement number of a segment that acknowledges data never sent. That segment is answered with a reset
    /// (RFC 9293 section 3.10.7).
    pub refused: Option<Seq>,
    /// A pending ACK from before a mark began or ended (RFC 8257 section 3.2), or the ACK of the handshake.
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
    /// True if a closed connection still has a segment to send.
    pub fn outlives(&self) -> bool {
        self.reset || self.refused.is_some()
    }

    pub fn is_empty(&self) -> bool {
        !self.outlives() && self.prepared.is_none() && self.old_ack.is_none() && !self.keepalive
    }
}
