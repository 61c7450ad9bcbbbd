//! Proportional rate reduction with the slow-start bound (RFC 6937 section 3.1), in whole segments.

use super::progress::Reduction;

/// Updates the window for an ACK. `safe` is true if the ACK acknowledged new data and reported no further loss.
pub(super) fn update(reduction: &mut Reduction, in_flight: u64, mss: u64, delivered: u64, safe: bool) {
    reduction.delivered += delivered;
    let mut send = if in_flight > reduction.target {
        // RFC 6937 section 3.1: the sending rate is the delivery rate multiplied by target / prior_cwnd.
        let share = u128::from(reduction.delivered) * u128::from(reduction.target);
        (share.div_ceil(u128::from(reduction.prior_cwnd)) as u64).saturating_sub(reduction.sent)
    } else {
        // RFC 6937 section 3.1, slow-start bound: send at most one segment more than was delivered; the additional
        // segment requires that the ACK shows no further loss.
        let owed = reduction.delivered.saturating_sub(reduction.sent).max(delivered);
        let bound = owed + if safe { mss } else { 0 };
        bound.min(reduction.target - in_flight)
    };
    if reduction.sent == 0 {
        // tcp_cwnd_reduction: the first retransmission is sent even if the window is full.
        send = send.max(mss);
    }
    reduction.cwnd = in_flight + send.div_ceil(mss) * mss;
}
