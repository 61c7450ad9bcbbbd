//! Immediate reduction: the window falls to the target at once (RFC 6675).

/// Returns the maximum window after the reduction, in bytes: one segment more than the outstanding data, and at least
/// two segments. Without this limit, a sender with little outstanding data would send a burst (RFC 6582 section 3.2
/// step 3 option 1, and 4.4BSD's descendants).
pub(super) fn window_after(outstanding: u64, mss: u64) -> u64 {
    outstanding.max(mss) + mss
}
