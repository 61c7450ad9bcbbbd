//! Proportional rate reduction with the slow-start bound (RFC 6937 section 3.1), in whole segments.

use super::progress::Reduction;

/// Processes an ACK that delivered `delivered` bytes. `safe`: the ACK advanced and reported no further loss.
pub(super) fn update(reduction: &mut Reduction, in_flight: u64, mss: u64, delivered: u64, safe: bool) {
    reduction.delivered += delivered;
    let mut send = if in_flight > reduction.target {
        // RFC 6937 section 3.1: reduce the sending rate to target / prior_cwnd of the delivery rate.
        let share = u128::from(reduction.delivered) * u128::from(reduction.target);
        (share.div_ceil(u128::from(reduction.prior_cwnd)) as u64).saturating_sub(reduction.sent)
    } else {
        // Slow-start bound: at most one segment more than was delivered, and only if the ACK shows no loss.
        let owed = reduction.delivered.saturating_sub(reduction.sent).max(delivered);
        let bound = owed + if safe { mss } else { 0 };
        bound.min(reduction.target - in_flight)
    };
    if reduction.sent == 0 {
        // The first retransmission is sent whatever is in flight (Linux's tcp_cwnd_reduction).
        send = send.max(mss);
    }
    reduction.cwnd = in_flight + send.div_ceil(mss) * mss;
}
