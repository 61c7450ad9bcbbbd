//! The ACKs of a receiver: when they are sent, their SACK blocks and their windows (RFC 5681 section 4.2, RFC 2018, RFC
//! 2883).

use super::script::{NO_SACK, PEER, Peer, Script, TIMESTAMPS, freebsd, linux, receive_buffer};
use crate::receive::SegmentSizes;
use crate::{AckSettings, BufferRule, Profile, TimerGrain, WindowUpdate};
use lopsided_core::{Bytes, Duration};

/// Returns a connection that acknowledged each of 16 segments separately between 100 and 115 ms. Its window does not
/// grow.
fn after_quick_acks() -> Script {
    after_quick_acks_to(PEER)
}

fn after_quick_acks_to(peer: Peer) -> Script {
    using_quick_acks(Script::established(receive_buffer(linux(), 64_000), peer))
}

/// Returns the connection after 16 segments, each acknowledged at once.
fn using_quick_acks(mut t: Script) -> Script {
    for n in 0..16 {
        t.answers(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    t
}

#[test]
fn linux_sends_sixteen_quick_acks_and_then_one_ack_per_two_segments() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.answers(117, "17001:18001", "ack 18001");
    t.inject(118, "18001:19001");
    t.answers(119, "19001:20001", "ack 20001");
}

#[test]
fn linux_delays_an_ack_by_40_ms_and_longer_after_each_timeout() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.expect(156, "ack 17001");
    t.inject(300, "17001:18001");
    t.expect(380, "ack 18001");
    // The delayed ACK is sent after at most one RTT.
    t.inject(500, "18001:19001");
    t.expect(600, "ack 19001");
}

#[test]
fn linux_delays_an_ack_by_at_most_200_ms() {
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.answers(400, &t.peer_syn("S. ack 1"), "ack 1");
    for n in 0..16 {
        t.answers(400, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    for (n, (at, wait)) in [(401, 40), (700, 80), (1000, 160), (1400, 200), (1800, 200)].into_iter().enumerate() {
        let start = 16_001 + n * 1000;
        t.inject(at, &format!("{start}:{}", start + 1000));
        t.expect(at + wait, &format!("ack {}", start + 1000));
    }
}

#[test]
fn linux_acknowledges_every_segment_while_its_window_opens() {
    let mut t = Script::established(linux(), PEER);
    let (mut singles, mut window) = (0, 0);
    // 40 segments arrive per RTT of 100 ms. This number is more than twice the initial assumption of ten segments, so
    // the window grows.
    for n in 0..120u64 {
        t.inject(200.0 + n as f64 * 2.5, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        if let Some((ack, offered)) = t.take() {
            assert_eq!(ack, (n + 1) * 1000 + 1);
            singles += u32::from(n >= 20 && offered > window);
            window = offered;
        } else {
            assert!(n >= 16, "the first sixteen are acknowledged at once");
        }
    }
    assert!(window > 120_000, "{window}");
    // The window opens by two segments for each segment that was acknowledged alone.
    assert!((u64::from(singles) * 2000).abs_diff(window - 64_000) < 4_000, "{singles} to {window}");
}

#[test]
fn linux_acknowledges_the_end_of_a_message_at_once() {
    let mut t = after_quick_acks();
    t.inject(200, "16001:17001");
    t.expect(240, "ack 17001");
    // A short segment and a full segment with PSH are acknowledged once the application has read them.
    t.answers(300, "17001:17101", "ack 17101");
    t.answers(400, "P 17101:18101", "ack 18101");
    t.reads = false;
    t.inject(500, "P 18101:19101");
    t.read(510, 1000);
    t.expect(510, "ack 19101");
}

#[test]
fn linux_2_6_ignores_push_on_a_full_segment() {
    let mut t = Script::established(receive_buffer(Profile::linux_2_6(), 64_000), PEER);
    for n in 0..16 {
        t.answers(100 + n, &format!("P {}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    t.inject(120, "P 16001:17001");
    t.expect(160, "ack 17001");
}

#[test]
fn linux_sends_quick_acks_again_after_a_pause() {
    // A sender that has paused for more than one RTO restarts with a small window.
    let mut t = after_quick_acks();
    t.answers(1000, "16001:17001", "ack 17001");
}

#[test]
fn linux_takes_a_long_recovery_for_a_pause() {
    // The receiver's RTO has been 300 ms since the handshake. Out-of-order data is ignored when the time between
    // segments is measured.
    let mut t = after_quick_acks();
    for n in 0..4 {
        t.inject(200 + n * 100, &format!("{}:{}", n * 1000 + 17_001, n * 1000 + 18_001));
        t.drain_until(202 + n * 100);
    }
    t.answers(600, "16001:17001", "ack 21001");
    t.answers(610, "21001:22001", "ack 22001");
    t.answers(620, "22001:23001", "ack 23001");
}

#[test]
fn freebsd_sends_two_acks_for_three_segments_and_delays_an_ack_by_100_ms() {
    // Every second segment is acknowledged when it arrives, before the application reads, so its data reduces the
    // advertised window. The following read could open the window by two segments, so the third segment is acknowledged
    // as well. In a capture the window alternates between 1530 and 1552, with two ACKs for three segments.
    let mut t = Script::established(freebsd(), PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 3000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.answers(at + 10, &format!("{}:{}", start + 1001, start + 2001), &format!("ack {} win 65000", start + 2001));
        t.answers(at + 20, &format!("{}:{}", start + 2001, start + 3001), &format!("ack {} win 66000", start + 3001));
    }
    t.inject(200, "9001:10001");
    t.expect(300, "ack 10001 win 66000");
}

#[test]
fn a_window_beyond_the_header_field_causes_no_window_update() {
    // FreeBSD without window scaling: the header can express only 65,535 of the buffer's 66,000 bytes. After two of
    // three segments, the ACK advertises 65,000 bytes. When the third segment is read, the window could grow by only
    // 1,535 bytes, which is less than two segments.
    let mut t = Script::established(Profile { window_scaling: false, timestamps: false, ..freebsd() }, PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 2000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.answers(at + 10, &format!("{}:{}", start + 1001, start + 2001), &format!("ack {} win 65000", start + 2001));
    }
    t.expect_nothing_until(300);
}

#[test]
fn with_closed_window_updates_freebsd_acknowledges_every_second_segment() {
    let mut t = Script::established(Profile { window_update: WindowUpdate::NearlyClosed, ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 2000 + 1, n * 2000 + 1001));
        t.answers(100 + n, &format!("{}:{}", n * 2000 + 1001, n * 2000 + 2001), &format!("ack {}", n * 2000 + 2001));
    }
}

#[test]
fn after_a_filled_gap_freebsd_sends_a_window_update_when_data_is_read() {
    let mut t = Script::established(freebsd(), PEER);
    t.answers(100, "2001:3001", "ack 1 win 66000 sack 2001:3001");
    t.answers(101, "4001:5001", "ack 1 win 66000 sack 4001:5001,2001:3001");
    t.answers(103, "1:1001", "ack 1001 win 65000 sack 4001:5001,2001:3001");
    t.answers(104, "1001:2001", "ack 3001 win 64000 sack 4001:5001");
    t.expect(104, "ack 3001 win 66000 sack 4001:5001");
    t.answers(105, "3001:4001", "ack 5001 win 64000");
    t.expect(105, "ack 5001 win 66000");
}

#[test]
fn data_written_before_the_read_carries_the_ack_with_the_old_window() {
    let mut t = Script::established(freebsd(), PEER);
    t.reads = false;
    t.inject(100, "1:1001");
    t.sends(110, 500, "1:501 ack 1001 win 65000");
}

#[test]
fn freebsd_limits_the_number_of_out_of_order_segments() {
    // net.inet.tcp.reass.maxqlen is 48: segments beyond this limit are dropped and must be retransmitted. The next
    // segment in order is always accepted.
    assert_eq!(freebsd().reassembly_limit, Some(48));
    let mut t = Script::established(Profile { reassembly_limit: Some(3), ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 1000 + 1001, n * 1000 + 2001));
        t.expect(100 + n, &format!("ack 1 sack 1001:{}", n * 1000 + 2001));
    }
    t.answers(110, "4001:5001", "ack 1 sack 1001:4001");
    t.answers(111, "1:1001", "ack 4001 win 62000");
    t.expect(111, "ack 4001 win 66000");
    t.inject(112, "4001:5001");
    t.expect(212, "ack 5001");
}

/// Returns FreeBSD's window after a round trip of `segments` + 2 segments. The round trip ends with the echo of the
/// timestamp `echoed`. If `missing` is true, one segment arrives late.
fn window_after_a_round_of(segments: u64, missing: bool, echoed: u64) -> u64 {
    let mut t = Script::established(freebsd(), TIMESTAMPS);
    // The ACK that completed the handshake began the round trip, so these two segments are counted.
    t.inject(100, "1:1001 ts 100:100");
    t.deliver(101, "1001:2001 ts 101:100");
    let mut start = 2001;
    if missing {
        t.deliver(150, &format!("{}:{} ts 150:100", start + 1000, start + 2000));
    }
    for n in 0..segments {
        if !(missing && n == 1) {
            t.deliver(200, &format!("{start}:{} ts 200:100", start + 1000));
        }
        start += 1000;
    }
    t.drain_until(echoed as u32 + 9);
    t.inject(echoed as u32 + 10, &format!("{start}:{} ts {}:{echoed}", start + 1000, echoed + 10));
    t.drain_until(echoed as u32 + 200);
    t.info().rcv_wnd.get()
}

#[test]
fn freebsd_enlarges_the_receive_buffer_when_a_round_trip_fills_7_8_of_it() {
    // The buffer grows if the segments arrive in order, no segment is missing, and the echo took less than 1 s.
    let (whole, step) = (66_000, 16_384);
    assert_eq!(window_after_a_round_of(57, false, 300), whole + step);
    assert_eq!(window_after_a_round_of(57, true, 300), whole, "data behind a filled gap does not count");
    assert_eq!(window_after_a_round_of(50, false, 300), whole, "less than 7/8 of the buffer");
    assert_eq!(window_after_a_round_of(57, false, 1200), whole, "the echo took 1 s or more");
}

#[test]
fn data_between_two_round_trips_counts_for_freebsds_receive_buffer() {
    // tcp_input also adds a segment to the current round trip if it arrives before an ACK has begun the next round
    // trip.
    let round = |segments: u32, missing: bool| {
        let mut t = Script::established(freebsd(), TIMESTAMPS);
        let mut send = |at: u32, start: u32, echo: u32| {
            t.drain_until(at);
            t.deliver(at, &format!("{start}:{} ts {at}:{echo}", start + 1000));
        };
        // The ACK of the handshake began a round trip at 100 ms, which this segment ends. The ACK of the next segment
        // begins the next round trip.
        send(200, 1, 150);
        if missing {
            send(200, 3001, 150);
        }
        for n in 0..segments {
            send(200, 1001 + n * 1000, 150);
        }
        send(400, 1001 + segments * 1000, 300);
        t.drain_until(600);
        t.info().rcv_wnd.get()
    };
    assert_eq!(round(57, false), 66_000, "at most 7/8 of the buffer");
    assert_eq!(round(58, false), 66_000 + 16_384, "the first segment arrived between two round trips");
    assert_eq!(round(58, true), 66_000, "missing data restarts the count");
}

#[test]
fn data_carries_the_pending_ack() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "1:1001");
    t.sends(150, 500, "1:501 ack 1001");
    t.inject(180, "ack 501");
    t.expect_nothing_until(500);
}

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
    for (peer, blocks, held_back_until) in [(PEER, ",17001:18001", 117.1), (TIMESTAMPS, "", 116.15)] {
        let mut t = after_quick_acks_to(peer);
        t.answers(116, "17001:18001", "ack 16001 sack 17001:18001");
        t.answers(116, "19001:20001", "ack 16001 sack 19001:20001,17001:18001");
        t.answers(116, "21001:22001", "ack 16001 sack 21001:22001,19001:20001,17001:18001");
        // From the fourth consecutive duplicate ACK on, the ACK is delayed by 1 ms or 5 % of the RTT, because more
        // segments may follow.
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
    t.expect(131.1, "ack 16001 sack 18001:18501,25001:26001,23001:24001,21001:22001");
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
    // tcp_comp_sack_delay_ns: the smaller of 1 ms and 5 % of the RTT, plus a slack of 0.1 ms.
    let mut t = after_quick_acks();
    for n in 0..3 {
        t.inject(116, &format!("{}:{}", 17_001 + n * 1000, 18_001 + n * 1000));
        t.expect(116, &format!("ack 16001 sack 17001:{}", 18_001 + n * 1000));
    }
    t.inject(116, "20001:21001");
    t.inject(116.5, "21001:22001");
    t.expect(117.1, "ack 16001 sack 17001:22001");
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
    t.expect(120.1, "ack 18001 sack 19001:24001");
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
    t.inject(155.5, "22001:23001");
    t.expect(156, "ack 18001 sack 19001:23001");
}

#[test]
fn small_segments_are_also_acknowledged_in_pairs() {
    // The size of a full segment is the measured size, not the default of 536 bytes.
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.answers(100, "S. 0:0 ack 1 win 65535 mss 400 sackok wscale 8", "ack 1");
    for n in 0..16 {
        t.answers(100 + n, &format!("{}:{}", n * 400 + 1, n * 400 + 401), &format!("ack {}", n * 400 + 401));
    }
    t.inject(120, "6401:6801");
    t.answers(121, "6801:7201", "ack 7201");
}

/// tcp_measure_rcv_mss: if segments are shorter than negotiated, two consecutive segments of the same size count as
/// full.
#[test]
fn repeated_short_segments_count_as_full_segments() {
    let mut t = Script::established(receive_buffer(linux(), 64_000), PEER);
    let mut at = 100;
    let mut bring = |t: &mut Script, n: u64| {
        at += 1;
        t.inject(at as f64, &format!("{}:{}", n * 200 + 1, n * 200 + 201));
        t.take().is_some()
    };
    let acknowledged: Vec<bool> = (0..24).map(|n| bring(&mut t, n)).collect();
    assert!(acknowledged[..16].iter().all(|acknowledged| *acknowledged), "quick ACKs");
    assert_eq!(acknowledged[18..], [false, true, false, true, false, true]);
}

#[test]
fn a_segment_with_an_old_ack_number_does_not_set_the_echoed_timestamp() {
    // RFC 7323 section 4.3: the segment arrives late. It is acceptable, but its old acknowledgement number means that
    // its timestamp must not be echoed.
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.sends(100, 1000, "1:1001 .");
    t.inject(200, "ack 1001");
    t.answers(210, "1:1001 ack 501 ts 205:100", "ack 1001 ts 210:200");
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
fn a_full_buffer_closes_the_window_and_reads_open_it_by_at_least_one_segment() {
    // RFC 9293 section 3.8.6.2.2.
    let mut t = Script::established(receive_buffer(linux(), 4000), PEER);
    t.reads = false;
    t.answers(100, "1:4001", "ack 4001 win 0");
    // Data or a probe beyond the window is discarded and answered with an ACK.
    t.answers(110, "4001:4002", "ack 4001 win 0");
    t.read(120, 900);
    t.answers(700, "4000:4000", "ack 4001 win 0");
    t.read(800, 1100);
    t.expect(800, "ack 4001 win 2000");
}

#[test]
fn the_right_edge_of_a_scaled_window_never_moves_back() {
    // RFC 9293 section 3.8.6 discourages receivers from shrinking the window. RFC 7323 section 2.4 explains how
    // rounding can shrink the window.
    let mut t = Script::established(receive_buffer(linux(), 1_000_000), PEER);
    t.reads = false;
    let mut edge = 0;
    for n in 0..40u64 {
        let (start, end) = (n * 101 + 1, n * 101 + 102);
        t.inject(100, &format!("{start}:{end}"));
        let sent = t.take();
        if let Some((ack, window)) = sent {
            assert!(ack + window >= edge, "{} after {edge}", ack + window);
            edge = ack + window;
        }
    }
    assert!(edge > 1_000_000);
}

#[test]
fn the_receive_window_grows_to_twice_the_data_per_round_trip() {
    // Dynamic right-sizing (Fisk and Feng 2001).
    let mut t = Script::established(linux(), TIMESTAMPS);
    let (mut window, mut start) = (0, 1);
    // The peer is in slow start until it sends 60 segments per RTT of 100 ms.
    for (round, segments) in [10, 20, 40, 60, 60, 60, 60, 60, 60].into_iter().enumerate() {
        let at = 200 + round as u64 * 100;
        for _ in 0..segments {
            t.inject(at as u32, &format!("{start}:{}{}", start + 1000, stamp(at)));
            window = t.take().map_or(window, |(_, offered)| offered);
            start += 1000;
        }
        // With an odd number of segments, wait for the delayed ACK of the last segment.
        t.drain_until(at as u32 + 50);
    }
    // Linux's formula: 2 * 40 + 16 segments for the largest round, multiplied by 3 because this round was twice as
    // large as the previous round.
    assert!((200_000..400_000).contains(&window), "{window}");
}

/// Returns the timestamps of a segment that arrives at `at` and echoes the time one RTT earlier.
fn stamp(at: u64) -> String {
    format!(" ts {at}:{}", at - 100)
}

#[test]
fn without_timestamps_the_first_filled_window_gives_the_rtt_sample() {
    // Without timestamps, Linux measures the receiver's RTT only as the time in which a window fills. The handshake
    // provides no sample for the receiver. In a kernel capture (1264/128 kbit/s, 193 ms, both ends without SACK and
    // timestamps) a window of 501 * 2^7 is advertised until 64,240 bytes have arrived, 0.70 s after the SYN.
    let mut t = Script::established(linux(), PEER);
    let mut at = 200;
    for n in 0..66u32 {
        at += 10;
        t.deliver(at, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        let expected = (n == 65).then_some(650_000);
        let rtt = t.connection.recv.rtt().map(|rtt| rtt.as_micros());
        assert_eq!(rtt, expected, "after {} segments", n + 1);
    }
    // The buffer grows from the next read on. That read counts all data that arrived while the window was being filled.
    assert_eq!(t.info().rcv_space, Bytes::new(66_000));
}

#[test]
fn a_fixed_receive_window_does_not_grow() {
    let mut t = Script::established(receive_buffer(linux(), 50_000), PEER);
    for n in 0..200u64 {
        t.inject(100 + n as u32, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        if let Some((_, offered)) = t.take() {
            assert!(offered <= 50_000);
        }
    }
    assert_eq!(t.connection.profile().receive_buffer, BufferRule::Fixed(Bytes::new(50_000)));
}

#[test]
fn data_released_by_a_filled_gap_counts_for_the_round_trip_after_its_first_record() {
    // Linux checks after each copied record whether a round trip has ended. In a kernel capture (one CUBIC flow on
    // 3000/1000 kbit/s) the buffer grows after a recovery as if 139,008 bytes had been read, although only 108,600
    // bytes have arrived since the gap was filled.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for start in (1001..30_000).step_by(1000) {
        t.deliver(150, &format!("{start}:{}{}", start + 1000, stamp(150)));
    }
    t.drain_until(249);
    t.inject(250, &format!("1:1001{}", stamp(250)));
    t.drain_until(300);
    assert_eq!(t.info().rcv_space, Bytes::new(10_000), "the round that ends here delivered one segment");
    t.inject(360, &format!("30001:31001{}", stamp(360)));
    t.drain_until(400);
    assert_eq!(t.info().rcv_space, Bytes::new(30_000));
}

#[test]
fn the_window_opens_by_the_memory_before_records_are_joined() {
    // When the gap is filled, the out-of-order data still counts in separate records. In a kernel capture (one Reno
    // flow on 3000/1000 kbit/s), the window is therefore 384 bytes smaller from the 372nd packet on than it would be
    // with joined records.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..21u64 {
        let at = if n < 20 { 150 } else { 200 };
        t.deliver(at as u32, &format!("{}:{}{}", n * 1000 + 1, n * 1000 + 1001, stamp(at)));
    }
    // 21 segments arrive per round trip, more than the initial assumption of ten, so the buffer grows to 185 segments
    // of 2,024 bytes each. A segment in a separate record occupies 768 bytes more than its data.
    let room = |held: u64| (185 * 2024 - held * (1000 + 768)) / 2;
    let gap = |n: u64| 21_001 + 2000 * n;
    for n in 0..50 {
        t.deliver(210, &format!("{}:{}{}", gap(n) + 1000, gap(n) + 2000, stamp(210)));
    }
    let before = t.connection.recv.window_threshold();
    for n in 0..40 {
        t.deliver(220, &format!("{}:{}{}", gap(n), gap(n) + 1000, stamp(220)));
        // The new segment and each of the out-of-order segments occupy separate records.
        let expected = before.max(room(51 - n));
        assert_eq!(t.connection.recv.window_threshold(), expected, "gap {n}");
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

#[test]
fn in_pingpong_mode_answers_carry_the_acks() {
    // Linux's pingpong mode: a request that is answered within the delayed-ACK timeout ends the quick ACKs.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1:301", "ack 301");
    t.sends(110, 500, "1:501 ack 301");
    t.inject(210, "301:601 ack 501");
    t.sends(220, 500, "501:1001 ack 601");
    // A request is not answered, so the delayed-ACK timer expires and ends pingpong mode.
    t.inject(320, "601:901 ack 1001");
    t.expect(360, "ack 901");
    t.answers(370, "901:1201", "ack 1201");
}

#[test]
fn outside_pingpong_mode_a_short_segment_is_acknowledged_when_it_is_read() {
    let mut t = after_quick_acks();
    t.answers(200, "16001:16301", "ack 16301");
}

#[test]
fn this_ends_fin_carries_the_ack_of_the_peers_fin() {
    let mut t = after_quick_acks();
    t.inject(200, "F 16001:16001");
    t.close(210);
    t.expect(210, "F. 1:1 ack 16002");
    // If this end does not close, the ACK waits for the delayed-ACK timeout.
    let mut t = after_quick_acks();
    t.inject(200, "F 16001:16001");
    t.expect(240, "ack 16002");
}

#[test]
fn the_delayed_ack_timeout_is_a_whole_number_of_ticks() {
    let ack = AckSettings { grain: TimerGrain::Wheel(Duration::from_millis(4)), ..linux().ack };
    let mut t = Script::established(receive_buffer(Profile { ack, ..linux() }, 64_000), PEER);
    let mut next = 1;
    let mut segment = |t: &mut Script, at: u32| {
        t.inject(at, &format!("{next}:{}", next + 1000));
        next += 1000;
    };
    for at in 200..240 {
        segment(&mut t, at);
        t.drain();
    }
    t.drain_until(300);
    // A single segment waits until the timer expires. The expiry doubles the timeout of ten ticks.
    segment(&mut t, 400);
    t.expect(444, ". ack 41001");
    for at in [500, 504, 508, 512, 516, 520] {
        segment(&mut t, at);
        t.drain();
    }
    // At each arrival, the timeout becomes half of its value, rounded down to whole ticks, plus five ticks: 20, 15, 12,
    // 11, 10, and then 10 again. Without rounding, the timeout would remain above 10 ticks.
    segment(&mut t, 560);
    t.expect(604, ". ack 48001");
}

#[test]
fn an_ack_that_is_nearly_due_is_sent_at_the_next_short_segment() {
    let mut t = Script::established(linux(), PEER);
    for n in 0..20 {
        t.deliver(200 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    }
    t.drain_until(300);
    t.reads = false;
    t.inject(400, "20001:20401");
    // The deadline is at 440 ms. The remaining 8 ms are less than 1/4 of the current timeout, which is between 20 and
    // 32 ms.
    t.answers(432, "20401:20801", ". ack 20801");
}

/// RFC 7323 section 4.3: the ACK echoes the timestamp of the retransmission, because the retransmission does not begin
/// beyond Last.ACK.sent.
#[test]
fn the_timestamp_of_a_retransmission_of_the_last_acked_segment_is_echoed() {
    for (profile, dsack) in [(linux(), true), (freebsd(), false)] {
        let sack = |block: &str| if dsack { format!(" sack {block}") } else { String::new() };
        let mut t = Script::established(receive_buffer(profile, 64_000), TIMESTAMPS);
        t.deliver(100, "1:1001 ts 100:100");
        t.deliver(101, "1001:2001 ts 101:100");
        t.answers(400, "1001:2001 ts 400:100", &format!("ack 2001{} ts 400:400", sack("1001:2001")));
        // A segment that ends before the last ACK is outside of the window, so its timestamp is ignored.
        t.answers(500, "1:1001 ts 500:100", &format!("ack 2001{} ts 500:400", sack("1:1001")));
    }
}

/// Returns a connection that has used all quick ACKs at 115 ms. Its buffer has `octets` bytes of Linux memory, and its
/// application has stopped reading.
fn unread_after_quick_acks(octets: u64) -> Script {
    let buffer = BufferRule::Fixed(Bytes::new(octets));
    let mut t = using_quick_acks(Script::established(Profile { receive_buffer: buffer, ..linux() }, PEER));
    t.reads = false;
    t
}

/// tcp_cleanup_rbuf: unread data would reduce the window, so an ACK for two segments waits for a read.
#[test]
fn an_ack_that_would_reduce_the_window_waits_for_the_read() {
    let mut t = unread_after_quick_acks(64_000);
    t.inject(116, "16001:17001");
    t.inject(117, "17001:18001");
    t.read(130, 1000);
    t.expect(130, "ack 18001");
    // If the application does not read, the timer of the first segment sends the ACK.
    t.inject(135, "18001:19001");
    t.inject(150, "19001:20001");
    t.expect(175, "ack 20001");
}

#[test]
fn the_first_unacknowledged_segment_sets_the_delayed_ack_timer() {
    let mut t = unread_after_quick_acks(64_000);
    t.inject(116, "16001:17001");
    t.inject(140, "17001:18001");
    t.read(141, 2000);
    t.expect(141, "ack 18001");
    // The timer is still running. When it expires, it sends a compressed ACK.
    for n in 0..3 {
        t.inject(150, &format!("{}:{}", 19_001 + n * 1000, 20_001 + n * 1000));
        t.expect(150, &format!("ack 18001 sack 19001:{}", 20_001 + n * 1000));
    }
    t.inject(155.5, "22001:23001");
    t.expect(156, "ack 18001 sack 19001:23001");
}

/// __tcp_select_window ends the quick ACKs if less than half of the buffer is free.
#[test]
fn quick_acks_end_once_the_buffer_is_half_full() {
    for (segments, quick) in [(60, true), (90, false)] {
        let mut t =
            Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
        t.reads = false;
        for n in 0..segments {
            t.deliver(110 + n, &format!("{}:{}", n * 200 + 1, n * 200 + 201));
        }
        t.drain_until(300);
        // A duplicate of the last segment grants 16 quick ACKs.
        let end = segments * 200 + 201;
        t.answers(310, &format!("{}:{}", end - 400, end - 200), &format!("ack {0} sack {1}:{0}", end - 200, end - 400));
        t.inject(320, &format!("{}:{end}", end - 200));
        t.expect(if quick { 320 } else { 360 }, &format!("ack {end}"));
    }
}

/// tcp_rcv_rtt_update: the RTT is stored in units of 1/8 us, and rounding raises the mean.
#[test]
fn the_receivers_rtt_is_stored_in_eighths_of_a_microsecond() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..11u32 {
        let rtt = if n == 0 { 20 } else { 21 };
        let (at, start) = (200 + 10 * n, n * 1000 + 1);
        t.deliver(at, &format!("{start}:{} ts {at}:{}", start + 1000, at - rtt));
    }
    // In units of 1/8 us, the mean is 160,000, then 161,000, 161,875 and 162,641. With exact eighths the last value
    // would be smaller by one. After ten samples the difference is 5/8 us.
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    // If an ACK without data has already carried the same echo, a data segment with this echo provides no sample.
    t.inject(360, "ack 1 ts 360:350");
    t.deliver(361, "11001:12001 ts 361:350");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    t.deliver(362, "12001:13001 ts 362:351");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(11)));
}

/// tcp_win_from_space: the window is half of the memory, rounded up.
#[test]
fn the_window_is_half_of_the_memory_rounded_up() {
    // One record of seven fragments needs 7 * 999 + 768 = 7,761 bytes of memory.
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..7u32 {
        t.deliver(110 + n, &format!("{}:{}", n * 999 + 1, n * 999 + 1000));
    }
    let sizes = SegmentSizes { agreed: 1000, full: 1, own: 1000 };
    t.connection.recv.note_ack_due(sizes, 0);
    assert_eq!(t.connection.recv.offer_window(sizes, 0), (40_000 - 7761u16).div_ceil(2));
}

/// __tcp_select_window: without scaling, the window is a multiple of the measured segment size.
#[test]
fn without_scaling_windows_are_multiples_of_the_measured_segment_size() {
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..60u32 {
        t.deliver(110 + n, &format!("{}:{}", n * 300 + 1, n * 300 + 301));
    }
    t.drain_until(300);
    t.read(300, 18_000);
    // The window is 20,000 bytes minus one segment of 1,012 bytes, which is kept in reserve.
    t.expect(300, "ack 18001 win 18900");
}

/// tcp_init_buffer_space and tcp_grow_window use the largest acceptable segment (1,012 bytes), not the negotiated size
/// (1,000 bytes).
#[test]
fn windows_are_computed_from_the_largest_acceptable_segment() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
    assert_eq!(t.info().advmss, Bytes::new(1012));
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012);
    t.deliver(110, "1:1001");
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012, "the window has reached its maximum");
}

/// skb_page_frag_refill: a page of 32 KiB ends before a segment that would exceed it by 24 bytes. The next 17 segments
/// share one record.
#[test]
fn a_page_with_24_free_octets_stores_no_part_of_the_next_segment() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(64_000)), ..linux() }, PEER);
    let bring = |t: &mut Script, n: u32| {
        t.deliver(110.0 + f64::from(n) / 10.0, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    };
    (0..1409).for_each(|n| bring(&mut t, n));
    t.reads = false;
    (1409..1426).for_each(|n| bring(&mut t, n));
    let sizes = SegmentSizes { agreed: 1000, full: 1000, own: 1012 };
    t.connection.recv.note_ack_due(sizes, 0);
    let window = u32::from(t.connection.recv.offer_window(sizes, 0));
    assert_eq!(window, (128_000 - 17_000 - 768) / 2 / 1000 * 1000);
}

/// Linux records echoes only after the connection is established, so the first data provides an RTT sample. In a kernel
/// capture (3000/1000 kbit/s) the window is 501 * 2^7 until 36,200 bytes have arrived.
#[test]
fn the_first_data_gives_an_rtt_sample_from_the_handshakes_timestamp() {
    let mut t = Script::listen(linux(), TIMESTAMPS);
    t.deliver(0, "S 0:0 win 65535 mss 1460 sackok wscale 8 ts 0:0");
    t.deliver(20, "ack 1 ts 20:0");
    t.deliver(20, "1:1001 ts 20:0");
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(20)));
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
