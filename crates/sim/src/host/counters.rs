//! Sums of connections' counters.

use lopsided_tcp::Counters;

pub(crate) fn add_counters(a: Counters, b: Counters) -> Counters {
    Counters {
        bytes_sent: a.bytes_sent + b.bytes_sent,
        bytes_retransmitted: a.bytes_retransmitted + b.bytes_retransmitted,
        bytes_marked: a.bytes_marked + b.bytes_marked,
        bytes_acked: a.bytes_acked + b.bytes_acked,
        bytes_received: a.bytes_received + b.bytes_received,
        segments_out: a.segments_out + b.segments_out,
        segments_in: a.segments_in + b.segments_in,
        data_segments_out: a.data_segments_out + b.data_segments_out,
        data_segments_in: a.data_segments_in + b.data_segments_in,
        retransmits: a.retransmits + b.retransmits,
        lost_retransmits: a.lost_retransmits + b.lost_retransmits,
        timeouts: a.timeouts + b.timeouts,
        fast_retransmits: a.fast_retransmits + b.fast_retransmits,
        tail_probes: a.tail_probes + b.tail_probes,
        undos: a.undos + b.undos,
        dsacks_received: a.dsacks_received + b.dsacks_received,
        duplicates_received: a.duplicates_received + b.duplicates_received,
        out_of_order_received: a.out_of_order_received + b.out_of_order_received,
        pure_acks_out: a.pure_acks_out + b.pure_acks_out,
        ecn_reductions: a.ecn_reductions + b.ecn_reductions,
        local_congestion: a.local_congestion + b.local_congestion,
    }
}
