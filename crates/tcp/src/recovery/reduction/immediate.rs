//! Immediate reduction: the window falls to the target at once (RFC 6675).

/// Returns the maximum window after the reduction, in bytes: the outstanding data plus one segment, and at least two
/// segments (RFC 6582 section 3.2 step 3 option 1; 4.4BSD).
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding.max(mss) + mss
}
