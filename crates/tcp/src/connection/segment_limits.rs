//! The sizes that limit a connection's segments.

use crate::config::PathMtu;
use lopsided_core::Bytes;

/// The sizes that limit a connection's segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentLimits {
    /// MTU of the interface, in bytes.
    mtu: Bytes,
    /// The path MTU that a router reported; `None` if none was reported or it has expired.
    pub known: Option<PathMtu>,
    /// Payload of a full segment as negotiated, in bytes; `u32::MAX` before the handshake.
    pub agreed: u32,
    /// Header space that the accurate-ECN option takes in every segment, in bytes.
    pub reserved: u32,
}

impl SegmentLimits {
    pub fn new(mtu: Bytes, known: Option<PathMtu>) -> SegmentLimits {
        SegmentLimits { mtu, known, agreed: u32::MAX, reserved: 0 }
    }

    /// The largest IP packet that may be sent, in bytes.
    pub fn mtu(&self) -> Bytes {
        self.known.map_or(self.mtu, |known| known.mtu.min(self.mtu))
    }
}
