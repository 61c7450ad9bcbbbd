//! How full a receiver's buffer is and how large segments are, which its window depends on.

/// Octets of data of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentSizes {
    /// As both ends agreed on.
    pub agreed: u32,
    /// The peer's full ones, as measured (Linux's rcv_mss).
    pub full: u32,
    /// The largest that this end told the peer to take, without timestamps (Linux's advmss).
    pub own: u32,
}

/// What the window depends on beside the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    /// Octets in order that the application has not read, and the records of memory that they are in.
    pub unread: u64,
    pub unread_records: u64,
    /// The same of what waits for a gap to be filled.
    pub held: u64,
    pub held_records: u64,
    pub sizes: SegmentSizes,
    /// The window that was offered last, and what is left of it.
    pub offered: u64,
    pub open: u64,
    pub scale: u8,
}

impl Filling {
    /// The largest window that the header can say.
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
