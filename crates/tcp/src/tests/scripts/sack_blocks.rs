//! ACKs of out-of-order and duplicate segments: their SACK blocks (RFC 2018, RFC 2883), and the compression of
//! duplicate ACKs.

use super::acking::{after_quick_acks, after_quick_acks_to};
use super::script::{NO_SACK, PEER, Script, TIMESTAMPS, freebsd, linux};
use crate::{AckSettings, Profile, WindowUpdate};

#[test]
fn out_of_order_segments_and_filled_gaps_are_acknowledged_at_once() {
    // RFC 5681 section 4.2. RFC 2018 section 4: the newest block comes first, and the other blocks are in the order of
    // the last report.
    for profile in [linux(), Profile { window_update: WindowUpdate::NearlyClosed, ..freebsd() }] {
        let mut t = Script::established(profile, PEER);
        t.answers(100, "2001:3001", "ack 1 sack 2001:3001");
        t.answers(101, "4001:5001", "ack 1 sack 4001:5001,2001:3001");
        t.answers(102, "5001:6001", "ack 1 sack 4001:6001,2001:3001");
        t.answers(103, "1:1001", "ack 1001 sack 4001:6001,2001:3001");
        t.answers(104, "1001:2001", "ack 3001 sack 4001:6001");
        t.answers(105, "3001:4001", "ack 6001");
    }
}

#[test]
fn with_timestamps_three_sack_blocks_fit() {
    // RFC 2018 section 3.
    for (peer, blocks, held_back_until) in [(PEER, ",17001:18001", 116.1), (TIMESTAMPS, "", 116.15)] {
        let mut t = after_quick_acks_to(peer);
        t.answers(116, "17001:18001", "ack 16001 sack 17001:18001");
        t.answers(116, "19001:20001", "ack 16001 sack 19001:20001,17001:18001");
        t.answers(116, "21001:22001", "ack 16001 sack 21001:22001,19001:20001,17001:18001");
        // From the fourth consecutive duplicate ACK on, the ACK is delayed by 5 % of the RTT and 0.1 ms, because more
        // segments may follow. Without timestamps, the receiver has no RTT sample yet.
        t.inject(116, "23001:24001");
        t.expect(held_back_until, &format!("ack 16001 sack 23001:24001,21001:22001,19001:20001{blocks}"));
    }
}

#[test]
fn of_five_sack_blocks_the_oldest_is_forgotten_even_if_it_is_extended() {
    let mut t = after_quick_acks();
    for n in 0..5u32 {
        t.inject(116 + 2 * n, &format!("{}:{}", 17_001 + n * 2000, 18_001 + n * 2000));
        t.drain_until(117.5 + 2.0 * f64::from(n));
    }
    // This data follows the block 17001:18001, which the receiver no longer stores.
    t.inject(130, "18001:18501");
    t.expect(130.1, "ack 16001 sack 18001:18501,25001:26001,23001:24001,21001:22001");
}

#[test]
fn duplicates_are_reported_once_by_dsack() {
    // RFC 2883 section 4.1.1: the first block reports a duplicate below the acknowledgement number. Section 4.1.3: the
    // first block reports a duplicate above the acknowledgement number, and the second block contains this duplicate.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1:1001", "ack 1001");
    t.answers(101, "1:1001", "ack 1001 sack 1:1001");
    t.answers(102, "2001:3001", "ack 1001 sack 2001:3001");
    t.answers(103, "2001:3001", "ack 1001 sack 2001:3001,2001:3001");
    t.answers(104, "3001:4001", "ack 1001 sack 2001:4001");
}

#[test]
fn freebsd_7_acknowledges_duplicates_at_once_without_dsack() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "1:1001");
    t.answers(100, "1001:2001", "ack 2001");
    t.answers(101, "1:1001", "ack 2001");
}

#[test]
fn a_sack_block_that_ends_with_the_fin_includes_the_fin() {
    // The FIN has a sequence number. If the block did not include this number, the sender could not detect that its
    // last segment has arrived.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "F 1001:2001", "ack 1 sack 1001:2002");
    t.answers(101, "1:1001", "ack 2002");
}

/// As in a capture of 6.1, the block triggers a retransmission, which would otherwise wait for a timeout.
#[test]
fn a_fin_without_data_after_a_gap_has_its_own_sack_block() {
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "F 3001:3001", "ack 1 sack 3001:3002");
    t.answers(101, "2001:3001", "ack 1 sack 2001:3002");
    t.answers(102, "1:1001", "ack 1001 sack 2001:3002");
    t.answers(103, "1001:2001", "ack 3002");

    let mut t = Script::established(freebsd(), PEER);
    t.answers(100, "F 3001:3001", "ack 1");
}

#[test]
fn linux_compresses_duplicate_acks_after_the_third() {
    // tcp_comp_sack_delay_ns: the smaller of 1 ms and 5 % of the RTT, plus a slack of 0.1 ms. Before the receiver's first
    // RTT sample, Linux computes with an RTT of 0.
    let mut t = after_quick_acks();
    for n in 0..3 {
        t.inject(116, &format!("{}:{}", 17_001 + n * 1000, 18_001 + n * 1000));
        t.expect(116, &format!("ack 16001 sack 17001:{}", 18_001 + n * 1000));
    }
    t.inject(116, "20001:21001");
    t.inject(116.05, "21001:22001");
    t.expect(116.1, "ack 16001 sack 17001:22001");
}

/// As in a capture of 6.1, the ACK of a filled gap is sent at once, and does not count as one of the three uncompressed
/// duplicate ACKs (`__tcp_ack_snd_check`).
#[test]
fn the_ack_of_a_filled_gap_does_not_count_towards_ack_compression() {
    let mut t = after_quick_acks();
    for (segment, sack) in [("17001:18001", "17001:18001"), ("19001:20001", "19001:20001,17001:18001")] {
        t.answers(116, segment, &format!("ack 16001 sack {sack}"));
    }
    t.answers(117, "16001:17001", "ack 18001 sack 19001:20001");
    for n in 0..3 {
        t.inject(118, &format!("{}:{}", 20_001 + n * 1000, 21_001 + n * 1000));
        t.expect(118, &format!("ack 18001 sack 19001:{}", 21_001 + n * 1000));
    }
    t.inject(119, "23001:24001");
    t.expect(119.1, "ack 18001 sack 19001:24001");
}

#[test]
fn a_compressed_ack_has_the_last_segments_clock_and_is_sent_before_a_block_is_displaced() {
    let mut t = after_quick_acks_to(TIMESTAMPS);
    for n in 0..3 {
        t.inject(116, &format!("{}:{}", 17_001 + n * 2000, 18_001 + n * 2000));
        t.expect(116, &format!("ack 16001 sack {}", (0..=n).rev().map(block).collect::<Vec<_>>().join(",")));
    }
    t.inject(116.9, "23001:24001");
    t.expect(117.05, &format!("ack 16001 sack 23001:24001,{},{} ts 116:115", block(2), block(1)));
    t.inject(120, "25001:26001");
    // The third block would displace one of the first two blocks, so the delayed ACK is sent now. The new segment
    // itself triggers no ACK.
    t.answers(120.1, "27001:28001", "ack 16001 sack 25001:26001,23001:24001,21001:22001");
    t.expect_nothing_until(125);
}

fn block(n: u32) -> String {
    format!("{}:{}", 17_001 + n * 2000, 18_001 + n * 2000)
}

#[test]
fn the_delayed_ack_timer_also_sends_a_compressed_ack() {
    // In Linux, the delayed-ACK timer keeps running after the delayed ACK was sent.
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.answers(117, "17001:18001", "ack 18001");
    for n in 0..3 {
        t.inject(150, &format!("{}:{}", 19_001 + n * 1000, 20_001 + n * 1000));
        t.expect(150, &format!("ack 18001 sack 19001:{}", 20_001 + n * 1000));
    }
    t.inject(155.95, "22001:23001");
    t.expect(156, "ack 18001 sack 19001:23001");
}

#[test]
fn without_sack_duplicate_acks_are_not_compressed() {
    let mut t = Script::established(linux(), NO_SACK);
    for n in 0..16 {
        t.answers(100, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    for n in 0..6 {
        t.answers(116, &format!("{}:{}", 17_001 + n * 1000, 18_001 + n * 1000), "ack 16001");
    }
}

#[test]
fn in_order_data_that_overlaps_out_of_order_data_is_reported_by_dsack() {
    // Linux's tcp_ofo_queue; RFC 2883 section 4: the first block reports the duplicate, below the acknowledgement
    // number.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1001:2001", "ack 1 sack 1001:2001");
    t.answers(101, "3001:4001", "ack 1 sack 3001:4001,1001:2001");
    t.answers(102, "1:1501", "ack 2001 sack 1001:1501,3001:4001");
    t.answers(103, "2001:5001", "ack 5001 sack 3001:4001");
}

/// Balakrishnan, Padmanabhan and Katz 1999, section 6.3: a sender that does not count duplicates needs a marked
/// duplicate ACK.
#[test]
fn acc_marks_duplicate_acks_after_mark_duplicates_out_of_order_segments() {
    for (mark_duplicates, marked) in [(3, " X"), (0, "")] {
        let ack = AckSettings { policy: "acc", mark_duplicates, ..Profile::ns2_reno().ack };
        let mut t = Script::established(Profile { ack, ..Profile::ns2_reno() }, NO_SACK);
        t.answers(100, "1:1001", "ack 1001");
        t.answers(101, "2001:3001", "ack 1001");
        t.answers(102, "3001:4001", "ack 1001");
        t.answers(103, "4001:5001", &format!("ack 1001{marked}"));
        t.answers(104, "5001:6001", &format!("ack 1001{marked}"));
        t.answers(105, "1001:2001", "ack 6001");
        t.answers(106, "7001:8001", "ack 6001");
    }
}
