//! How full a receiver's buffer is, which its window depends on.

/// What the window depends on beside the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    /// Octets in order that the application has not read, and the records of memory that they are in.
    pub unread: u64,
    pub unread_records: u64,
    /// The same of what waits for a gap to be filled.
    pub held: u64,
    pub held_records: u64,
    pub mss: u64,
    /// The window that was offered last, and what is left of it.
    pub offered: u64,
    pub open: u64,
    pub scale: u8,
}
