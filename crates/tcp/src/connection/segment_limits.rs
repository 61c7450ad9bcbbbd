//! How large a connection's segments may be.

use crate::config::PathMtu;
use lopsided_core::Bytes;

/// The sizes that bound a connection's segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentLimits {
    /// Of the interface.
    mtu: Bytes,
    pub known: Option<PathMtu>,
    /// The octets of data in a segment that both ends agreed on.
    pub agreed: u32,
}

impl SegmentLimits {
    pub fn new(mtu: Bytes, known: Option<PathMtu>) -> SegmentLimits {
        SegmentLimits { mtu, known, agreed: u32::MAX }
    }

    /// The largest IP packet that may leave.
    pub fn mtu(&self) -> Bytes {
        self.known.map_or(self.mtu, |known| known.mtu.min(self.mtu))
    }
}
