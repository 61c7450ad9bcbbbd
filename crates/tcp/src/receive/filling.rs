//! The fill level of a receive buffer and the segment sizes: the inputs of the window.

/// Payload sizes of segments, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentSizes {
    /// Agreed by both ends.
    pub agreed: u32,
    /// Measured size of the peer's full segments (Linux's rcv_mss).
    pub full: u32,
    /// The largest payload that this end's MSS option allows, without timestamps (Linux's advmss).
    pub own: u32,
}

/// The inputs of the window other than the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    /// In-order bytes that the application has not read, and their memory records.
    pub unread: u64,
    pub unread_records: u64,
    /// The same for data held behind a gap.
    pub held: u64,
    pub held_records: u64,
    pub sizes: SegmentSizes,
    /// The last offered window, and what is left of it.
    pub offered: u64,
    pub open: u64,
    pub scale: u8,
}

impl Filling {
    /// The largest window that the header can express.
    pub fn largest(&self) -> u64 {
        u64::from(u16::MAX) << self.scale
    }

    pub fn agreed(&self) -> u64 {
        u64::from(self.sizes.agreed)
    }

    pub fn full(&self) -> u64 {
        u64::from(self.sizes.full)
    }

    pub fn own(&self) -> u64 {
        u64::from(self.sizes.own)
    }
}
