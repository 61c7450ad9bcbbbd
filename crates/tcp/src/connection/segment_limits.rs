//! The sizes that limit a connection's segments.

use crate::config::PathMtu;
use lopsided_core::Bytes;

/// The sizes that bound a connection's segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentLimits {
    /// MTU of the interface.
    mtu: Bytes,
    pub known: Option<PathMtu>,
    /// Payload of a full segment that both ends agreed on, in bytes.
    pub agreed: u32,
}

impl SegmentLimits {
    pub fn new(mtu: Bytes, known: Option<PathMtu>) -> SegmentLimits {
        SegmentLimits { mtu, known, agreed: u32::MAX }
    }

    /// The largest IP packet that may be sent.
    pub fn mtu(&self) -> Bytes {
        self.known.map_or(self.mtu, |known| known.mtu.min(self.mtu))
    }
}
