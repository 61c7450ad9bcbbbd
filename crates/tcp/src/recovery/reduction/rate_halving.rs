//! Rate halving: a segment less for every second ACK, and never more than one beyond what is in flight (Mathis, Semke
//! and Mahdavi, draft-mathis-tcp-ratehalving, 1999).
//!
//! Left out: that the window may pass below the threshold (Linux lets Reno's go down to half of it).

use super::progress::Reduction;

pub(super) fn update(reduction: &mut Reduction, in_flight: u64, mss: u64) {
    reduction.acks += 1;
    if reduction.acks % 2 == 0 && reduction.cwnd > reduction.target {
        reduction.cwnd -= mss.min(reduction.cwnd - reduction.target);
    }
    reduction.cwnd = reduction.cwnd.min(in_flight + mss);
}

/// The most that the window may be when it is over.
pub(super) fn window_after(reduction: &Reduction, mss: u64) -> u64 {
    reduction.cwnd.max(mss)
}
