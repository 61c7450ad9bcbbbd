//! The inputs of the window computation: the fill level of a receive buffer, and the segment sizes.

/// Payload sizes of segments, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentSizes {
    /// Payload of a full segment as negotiated in the handshake.
    pub agreed: u32,
    /// Estimated payload of the peer's full segments (Linux's rcv_mss).
    pub full: u32,
    /// Largest payload that this end's MSS option allows, without timestamps (Linux's advmss).
    pub own: u32,
}

/// The inputs of the window computation, except the buffer itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    /// In-order bytes that the application has not read.
    pub unread: u64,
    /// Number of memory records of the unread bytes.
    pub unread_records: u64,
    /// Out-of-order bytes, stored behind a gap.
    pub held: u64,
    /// Number of memory records of the out-of-order bytes.
    pub held_records: u64,
    pub sizes: SegmentSizes,
    /// The last advertised window, in bytes.
    pub offered: u64,
    /// Part of the advertised window that the peer has not used yet, in bytes.
    pub open: u64,
    /// Window-scale shift of this end (RFC 7323).
    pub scale: u8,
}

impl Filling {
    /// Largest window that the header can express with this scale, in bytes.
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
