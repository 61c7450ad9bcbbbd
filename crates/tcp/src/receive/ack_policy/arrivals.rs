//! Full segments of 1,000 bytes for the tests of ACK policies.

use super::{AckView, Arrival, ArrivedData};
use lopsided_core::{Duration, Ecn};

pub const IN_ORDER: Arrival = Arrival::InOrder { closed_gap: false, gaps_left: false };

/// A full segment that has just arrived.
pub fn arrived(arrival: Arrival) -> ArrivedData {
    ArrivedData { arrival, end: 1000, len: 1000, advance: 1000, push: false, window_opened: false, ecn: Ecn::NotEct }
}

/// The view of a connection that has `segments` unacknowledged segments and whose RTT is unknown.
pub fn waiting(segments: u32) -> AckView {
    AckView {
        rtt: None,
        srtt: None,
        rto: Duration::from_millis(300),
        window: 1 << 20,
        sack: true,
        rcv_mss: 1000,
        unacked_bytes: u64::from(segments) * 1000,
        unacked_segments: segments,
        scheduled: false,
        window_falls: false,
        half_filled: false,
    }
}
