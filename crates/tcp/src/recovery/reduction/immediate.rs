//! The window is down at once (RFC 6675).

/// The most that the window may be when it is over: little may be left in flight, and there shall be no burst up to the
/// target (RFC 6582 section 3.2 step 3 option 1, and 4.4BSD's descendants).
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding.max(mss) + mss
}
