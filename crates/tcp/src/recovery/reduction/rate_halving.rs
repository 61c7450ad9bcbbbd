//! Rate halving: the window shrinks by one segment per two ACKs (Mathis, Semke and Mahdavi,
//! draft-mathis-tcp-ratehalving, 1999).
//!
//! Not modelled: windows below the threshold (Linux lets Reno's window fall to half of the threshold).

use super::progress::Reduction;

/// Processes an ACK that delivered data.
pub(super) fn update(reduction: &mut Reduction, in_flight: u64, mss: u64) {
    reduction.acks += 1;
    if reduction.acks % 2 == 0 && reduction.cwnd > reduction.target {
        reduction.cwnd -= mss.min(reduction.cwnd - reduction.target);
    }
    reduction.cwnd = reduction.cwnd.min(in_flight + mss);
}

/// Returns the maximum window after the reduction, in bytes.
pub(super) fn window_after(reduction: &Reduction, mss: u64) -> u64 {
    reduction.cwnd.max(mss)
}
