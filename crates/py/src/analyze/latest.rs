//! The latest second of a capture that is still being read.

use lopsided_capture::{Analysis, Vantage};

/// A direction in the latest second of a capture: addresses and ports, goodput in bit/s, mean RTT and queueing delays
/// in ms, retransmitted packets, limit.
pub(super) type Latest = (String, u16, String, u16, f64, f64, f64, f64, u32, &'static str);

/// Returns the directions that carried data in the latest second of the capture, fastest first.
pub(super) fn latest(found: &Analysis) -> Vec<Latest> {
    let now = found.times.1;
    let since = now.saturating_sub(1_000_000_000);
    let mut rows: Vec<Latest> = Vec::new();
    for connection in found.connections.iter().filter(|connection| connection.times.1 >= since) {
        for sender in 0..2 {
            let shows_pacing = connection.vantage(sender) == Vantage::Sender;
            let Some((begin, bin)) = connection.directions[sender].latest(since, shows_pacing) else { continue };
            let (from, to) = (connection.ends[sender], connection.ends[1 - sender]);
            let goodput = bin.acked_bytes as f64 * 8e9 / now.saturating_sub(begin).max(1) as f64;
            let limit = bin.verdict().map_or("", |(limit, _)| limit.name());
            rows.push((
                from.address.to_string(),
                from.port,
                to.address.to_string(),
                to.port,
                goodput,
                bin.rtt_ms.mean(),
                bin.data_wait_ms.mean(),
                bin.ack_wait_ms.mean(),
                bin.retransmitted,
                limit,
            ));
        }
    }
    rows.sort_by(|one, other| other.4.total_cmp(&one.4));
    rows
}
