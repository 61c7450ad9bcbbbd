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
    let mut t = Script::established(receive_buffer(linux(), 64_000), peer);
    for n in 0..16 {
        t.inject(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.expect(100 + n, &format!("ack {}", n * 1000 + 1001));
    }
    t
}

#[test]
fn linux_acknowledges_sixteen_segments_at_once_and_then_every_second() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.inject(117, "17001:18001");
    t.expect(117, "ack 18001");
    t.inject(118, "18001:19001");
    t.inject(119, "19001:20001");
    t.expect(119, "ack 20001");
}

#[test]
fn linux_waits_forty_milliseconds_for_a_second_segment_and_longer_when_it_waited_in_vain() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.expect(156, "ack 17001");
    t.inject(300, "17001:18001");
    t.expect(380, "ack 18001");
    // The delayed-ACK timeout is at most one RTT.
    t.inject(500, "18001:19001");
    t.expect(600, "ack 19001");
}

#[test]
fn linux_waits_no_longer_than_two_hundred_milliseconds() {
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.inject(400, &t.peer_syn("S. ack 1"));
    t.expect(400, "ack 1");
    for n in 0..16 {
        t.inject(400, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.expect(400, &format!("ack {}", n * 1000 + 1001));
    }
    for (n, (at, wait)) in [(401, 40), (700, 80), (1000, 160), (1400, 200), (1800, 200)].into_iter().enumerate() {
        let start = 16_001 + n * 1000;
        t.inject(at, &format!("{start}:{}", start + 1000));
        t.expect(at + wait, &format!("ack {}", start + 1000));
    }
}

#[test]
fn while_its_window_opens_linux_acknowledges_every_segment() {
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
fn linux_acknowledges_at_once_what_ends_a_message() {
    let mut t = after_quick_acks();
    t.inject(200, "16001:17001");
    t.expect(240, "ack 17001");
    // A short segment and a full segment with PSH are acknowledged once the application has read them.
    t.inject(300, "17001:17101");
    t.expect(300, "ack 17101");
    t.inject(400, "P 17101:18101");
    t.expect(400, "ack 18101");
    t.reads = false;
    t.inject(500, "P 18101:19101");
    t.read(510, 1000);
    t.expect(510, "ack 19101");
}

#[test]
fn an_older_linux_does_not_heed_a_push_on_a_full_segment() {
    let mut t = Script::established(receive_buffer(Profile::linux_2_6(), 64_000), PEER);
    for n in 0..16 {
        t.inject(100 + n, &format!("P {}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.expect(100 + n, &format!("ack {}", n * 1000 + 1001));
    }
    t.inject(120, "P 16001:17001");
    t.expect(160, "ack 17001");
}

#[test]
fn after_a_pause_linux_acknowledges_at_once_again() {
    // A sender that has paused for more than one RTO restarts with a small window.
    let mut t = after_quick_acks();
    t.inject(1000, "16001:17001");
    t.expect(1000, "ack 17001");
}

#[test]
fn a_loss_that_took_long_to_repair_is_a_pause_to_linux() {
    // The receiver's RTO has been 300 ms since the handshake. Out-of-order data is ignored when the time between
    // segments is measured.
    let mut t = after_quick_acks();
    for n in 0..4 {
        t.inject(200 + n * 100, &format!("{}:{}", n * 1000 + 17_001, n * 1000 + 18_001));
        t.drain_until(202 + n * 100);
    }
    t.inject(600, "16001:17001");
    t.expect(600, "ack 21001");
    t.inject(610, "21001:22001");
    t.expect(610, "ack 22001");
    t.inject(620, "22001:23001");
    t.expect(620, "ack 23001");
}

#[test]
fn freebsd_acknowledges_two_of_three_segments_and_any_after_a_hundred_milliseconds() {
    // Every second segment is acknowledged when it arrives, before the application reads, so its data reduces the
    // advertised window. The following read could open the window by two segments, so the third segment is acknowledged
    // as well. In a capture the window alternates between 1530 and 1552, with two ACKs for three segments.
    let mut t = Script::established(freebsd(), PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 3000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.inject(at + 10, &format!("{}:{}", start + 1001, start + 2001));
        t.expect(at + 10, &format!("ack {} win 65000", start + 2001));
        t.inject(at + 20, &format!("{}:{}", start + 2001, start + 3001));
        t.expect(at + 20, &format!("ack {} win 66000", start + 3001));
    }
    t.inject(200, "9001:10001");
    t.expect(300, "ack 10001 win 66000");
}

#[test]
fn a_window_that_the_header_cannot_say_calls_for_no_update() {
    // FreeBSD without window scaling: the header can express only 65,535 of the buffer's 66,000 bytes. After two of
    // three segments, the ACK advertises 65,000 bytes. When the third segment is read, the window could grow by only
    // 1,535 bytes, which is less than two segments.
    let mut t = Script::established(Profile { window_scaling: false, timestamps: false, ..freebsd() }, PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 2000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.inject(at + 10, &format!("{}:{}", start + 1001, start + 2001));
        t.expect(at + 10, &format!("ack {} win 65000", start + 2001));
    }
    t.expect_nothing_until(300);
}

#[test]
fn with_the_update_of_a_closed_window_freebsd_acknowledges_every_second_segment() {
    let mut t = Script::established(Profile { window_update: WindowUpdate::NearlyClosed, ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 2000 + 1, n * 2000 + 1001));
        t.inject(100 + n, &format!("{}:{}", n * 2000 + 1001, n * 2000 + 2001));
        t.expect(100 + n, &format!("ack {}", n * 2000 + 2001));
    }
}

#[test]
fn after_a_filled_gap_freebsd_offers_less_and_one_more_ack_follows_the_read() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "2001:3001");
    t.expect(100, "ack 1 win 66000 sack 2001:3001");
    t.inject(101, "4001:5001");
    t.expect(101, "ack 1 win 66000 sack 4001:5001,2001:3001");
    t.inject(103, "1:1001");
    t.expect(103, "ack 1001 win 65000 sack 4001:5001,2001:3001");
    t.inject(104, "1001:2001");
    t.expect(104, "ack 3001 win 64000 sack 4001:5001");
    t.expect(104, "ack 3001 win 66000 sack 4001:5001");
    t.inject(105, "3001:4001");
    t.expect(105, "ack 5001 win 64000");
    t.expect(105, "ack 5001 win 66000");
}

#[test]
fn what_is_written_at_once_carries_the_answer_with_the_window_before_the_read() {
    let mut t = Script::established(freebsd(), PEER);
    t.reads = false;
    t.inject(100, "1:1001");
    t.write(110, 500);
    t.expect(110, "1:501 ack 1001 win 65000");
}

#[test]
fn freebsd_holds_no_more_segments_out_of_order_than_its_limit() {
    // net.inet.tcp.reass.maxqlen is 48: segments beyond this limit are dropped and must be retransmitted. The next
    // segment in order is always accepted.
    assert_eq!(freebsd().reassembly_limit, Some(48));
    let mut t = Script::established(Profile { reassembly_limit: Some(3), ..freebsd() }, PEER);
    for n in 0..3 {
        t.inject(100 + n, &format!("{}:{}", n * 1000 + 1001, n * 1000 + 2001));
        t.expect(100 + n, &format!("ack 1 sack 1001:{}", n * 1000 + 2001));
    }
    t.inject(110, "4001:5001");
    t.expect(110, "ack 1 sack 1001:4001");
    t.inject(111, "1:1001");
    t.expect(111, "ack 4001 win 62000");
    t.expect(111, "ack 4001 win 66000");
    t.inject(112, "4001:5001");
    t.expect(212, "ack 5001");
}

/// Returns FreeBSD's window after a round trip of `segments` + 2 segments, which ends with the echo of the timestamp
/// `echoed`. If `missing` is true, one segment arrives late.
fn window_after_a_round_of(segments: u64, missing: bool, echoed: u64) -> u64 {
    let mut t = Script::established(freebsd(), TIMESTAMPS);
    // The ACK that completed the handshake began the round trip, so these two segments are counted.
    t.inject(100, "1:1001 ts 100:100");
    t.inject(101, "1001:2001 ts 101:100");
    t.drain();
    let mut start = 2001;
    if missing {
        t.inject(150, &format!("{}:{} ts 150:100", start + 1000, start + 2000));
        t.drain();
    }
    for n in 0..segments {
        if !(missing && n == 1) {
            t.inject(200, &format!("{start}:{} ts 200:100", start + 1000));
            t.drain();
        }
        start += 1000;
    }
    t.drain_until(echoed as u32 + 9);
    t.inject(echoed as u32 + 10, &format!("{start}:{} ts {}:{echoed}", start + 1000, echoed + 10));
    t.drain_until(echoed as u32 + 200);
    t.info().rcv_wnd.get()
}

#[test]
fn the_receive_buffer_of_freebsd_takes_a_step_when_a_round_trip_filled_seven_eighths_of_it() {
    // The buffer grows if the segments arrive in order, no segment is missing, and the echo took less than 1 s.
    let (whole, step) = (66_000, 16_384);
    assert_eq!(window_after_a_round_of(57, false, 300), whole + step);
    assert_eq!(window_after_a_round_of(57, true, 300), whole, "data behind a filled gap does not count");
    assert_eq!(window_after_a_round_of(50, false, 300), whole, "less than 7/8 of the buffer");
    assert_eq!(window_after_a_round_of(57, false, 1200), whole, "the echo took 1 s or more");
}

#[test]
fn what_arrives_between_two_round_trips_counts_towards_the_step_of_freebsd() {
    // tcp_input also adds a segment to the current round trip if it arrives before an ACK has begun the next round
    // trip.
    let round = |segments: u32, missing: bool| {
        let mut t = Script::established(freebsd(), TIMESTAMPS);
        let mut send = |at: u32, start: u32, echo: u32| {
            t.drain_until(at);
            t.inject(at, &format!("{start}:{} ts {at}:{echo}", start + 1000));
            t.drain();
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
fn data_carries_the_acknowledgement_that_is_owed() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "1:1001");
    t.write(150, 500);
    t.expect(150, "1:501 ack 1001");
    t.inject(180, "ack 501");
    t.expect_nothing_until(500);
}

#[test]
fn out_of_order_segments_and_filled_gaps_are_acknowledged_at_once() {
    // RFC 5681 section 4.2. RFC 2018 section 4: the newest block comes first, and the other blocks are in the order of
    // the last report.
    for profile in [linux(), Profile { window_update: WindowUpdate::NearlyClosed, ..freebsd() }] {
        let mut t = Script::established(profile, PEER);
        t.inject(100, "2001:3001");
        t.expect(100, "ack 1 sack 2001:3001");
        t.inject(101, "4001:5001");
        t.expect(101, "ack 1 sack 4001:5001,2001:3001");
        t.inject(102, "5001:6001");
        t.expect(102, "ack 1 sack 4001:6001,2001:3001");
        t.inject(103, "1:1001");
        t.expect(103, "ack 1001 sack 4001:6001,2001:3001");
        t.inject(104, "1001:2001");
        t.expect(104, "ack 3001 sack 4001:6001");
        t.inject(105, "3001:4001");
        t.expect(105, "ack 6001");
    }
}

#[test]
fn beside_timestamps_there_is_room_for_three_blocks() {
    // RFC 2018 section 3.
    for (peer, blocks, held_back_until) in [(PEER, ",17001:18001", 117.1), (TIMESTAMPS, "", 116.15)] {
        let mut t = after_quick_acks_to(peer);
        t.inject(116, "17001:18001");
        t.expect(116, "ack 16001 sack 17001:18001");
        t.inject(116, "19001:20001");
        t.expect(116, "ack 16001 sack 19001:20001,17001:18001");
        t.inject(116, "21001:22001");
        t.expect(116, "ack 16001 sack 21001:22001,19001:20001,17001:18001");
        // From the fourth consecutive duplicate ACK on, the ACK is delayed by 1 ms or 5 % of the RTT, because more
        // segments may follow.
        t.inject(116, "23001:24001");
        t.expect(held_back_until, &format!("ack 16001 sack 23001:24001,21001:22001,19001:20001{blocks}"));
    }
}

#[test]
fn of_five_blocks_the_oldest_is_forgotten_even_where_a_segment_touches_it() {
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
    // RFC 2883 section 4.1.1: a duplicate below the acknowledgement number. Section 4.1.3: a duplicate above the
    // acknowledgement number, followed by the block that contains the duplicate.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "1:1001");
    t.expect(100, "ack 1001");
    t.inject(101, "1:1001");
    t.expect(101, "ack 1001 sack 1:1001");
    t.inject(102, "2001:3001");
    t.expect(102, "ack 1001 sack 2001:3001");
    t.inject(103, "2001:3001");
    t.expect(103, "ack 1001 sack 2001:3001,2001:3001");
    t.inject(104, "3001:4001");
    t.expect(104, "ack 1001 sack 2001:4001");
}

#[test]
fn freebsd_7_reports_no_duplicates_and_acknowledges_them_at_once() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "1:1001");
    t.inject(100, "1001:2001");
    t.expect(100, "ack 2001");
    t.inject(101, "1:1001");
    t.expect(101, "ack 2001");
}

#[test]
fn a_block_that_ends_with_the_fin_includes_it() {
    // The FIN has a sequence number. If the block did not include this number, the sender could not detect that its
    // last segment has arrived.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "F 1001:2001");
    t.expect(100, "ack 1 sack 1001:2002");
    t.inject(101, "1:1001");
    t.expect(101, "ack 2002");
}

/// As in a capture of 6.1, the block triggers a retransmission, which would otherwise wait for a timeout.
#[test]
fn a_fin_without_data_behind_a_gap_is_a_block_of_its_own() {
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "F 3001:3001");
    t.expect(100, "ack 1 sack 3001:3002");
    t.inject(101, "2001:3001");
    t.expect(101, "ack 1 sack 2001:3002");
    t.inject(102, "1:1001");
    t.expect(102, "ack 1001 sack 2001:3002");
    t.inject(103, "1001:2001");
    t.expect(103, "ack 3002");

    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "F 3001:3001");
    t.expect(100, "ack 1");
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
fn an_ack_of_what_a_filled_gap_leads_up_to_is_none_of_the_duplicates_before_compression() {
    let mut t = after_quick_acks();
    for (segment, sack) in [("17001:18001", "17001:18001"), ("19001:20001", "19001:20001,17001:18001")] {
        t.inject(116, segment);
        t.expect(116, &format!("ack 16001 sack {sack}"));
    }
    t.inject(117, "16001:17001");
    t.expect(117, "ack 18001 sack 19001:20001");
    for n in 0..3 {
        t.inject(118, &format!("{}:{}", 20_001 + n * 1000, 21_001 + n * 1000));
        t.expect(118, &format!("ack 18001 sack 19001:{}", 21_001 + n * 1000));
    }
    t.inject(119, "23001:24001");
    t.expect(120.1, "ack 18001 sack 19001:24001");
}

#[test]
fn a_compressed_ack_has_the_clock_of_the_last_segment_and_leaves_before_it_would_hide_a_block() {
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
    t.inject(120.1, "27001:28001");
    t.expect(120.1, "ack 16001 sack 25001:26001,23001:24001,21001:22001");
    t.expect_nothing_until(125);
}

fn block(n: u32) -> String {
    format!("{}:{}", 17_001 + n * 2000, 18_001 + n * 2000)
}

#[test]
fn the_timer_of_a_delayed_ack_takes_a_compressed_one_along() {
    // In Linux, the delayed-ACK timer keeps running after the delayed ACK was sent.
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.inject(117, "17001:18001");
    t.expect(117, "ack 18001");
    for n in 0..3 {
        t.inject(150, &format!("{}:{}", 19_001 + n * 1000, 20_001 + n * 1000));
        t.expect(150, &format!("ack 18001 sack 19001:{}", 20_001 + n * 1000));
    }
    t.inject(155.5, "22001:23001");
    t.expect(156, "ack 18001 sack 19001:23001");
}

#[test]
fn small_segments_are_acknowledged_in_pairs_too() {
    // The size of a full segment is the measured size, not the default of 536 bytes.
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.inject(100, "S. 0:0 ack 1 win 65535 mss 400 sackok wscale 8");
    t.expect(100, "ack 1");
    for n in 0..16 {
        t.inject(100 + n, &format!("{}:{}", n * 400 + 1, n * 400 + 401));
        t.expect(100 + n, &format!("ack {}", n * 400 + 401));
    }
    t.inject(120, "6401:6801");
    t.inject(121, "6801:7201");
    t.expect(121, "ack 7201");
}

/// tcp_measure_rcv_mss: if segments are shorter than negotiated, two consecutive segments of the same size count as
/// full.
#[test]
fn short_segments_that_keep_coming_are_full_ones() {
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
fn an_old_acknowledgement_leaves_the_timestamp_to_echo_alone() {
    // RFC 7323 section 4.3. The segment itself is nevertheless acceptable.
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.write(100, 1000);
    t.expect(100, "1:1001 .");
    t.inject(200, "ack 1001");
    t.inject(210, "1:1001 ack 501 ts 205:100");
    t.expect(210, "ack 1001 ts 210:200");
}

#[test]
fn without_sack_every_duplicate_ack_counts_and_none_is_left_out() {
    let mut t = Script::established(linux(), NO_SACK);
    for n in 0..16 {
        t.inject(100, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.expect(100, &format!("ack {}", n * 1000 + 1001));
    }
    for n in 0..6 {
        t.inject(116, &format!("{}:{}", 17_001 + n * 1000, 18_001 + n * 1000));
        t.expect(116, "ack 16001");
    }
}

#[test]
fn a_full_buffer_closes_the_window_and_reading_opens_it_by_no_less_than_a_segment() {
    // RFC 9293 section 3.8.6.2.2.
    let mut t = Script::established(receive_buffer(linux(), 4000), PEER);
    t.reads = false;
    t.inject(100, "1:4001");
    t.expect(100, "ack 4001 win 0");
    // Data or a probe beyond the window is discarded and answered with an ACK.
    t.inject(110, "4001:4002");
    t.expect(110, "ack 4001 win 0");
    t.read(120, 900);
    t.inject(700, "4000:4000");
    t.expect(700, "ack 4001 win 0");
    t.read(800, 1100);
    t.expect(800, "ack 4001 win 2000");
}

#[test]
fn the_right_edge_of_a_scaled_window_does_not_move_back() {
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
fn the_receive_window_grows_to_twice_what_a_round_trip_brings() {
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
fn without_timestamps_the_first_window_that_was_filled_gives_the_round_trip() {
    // Without timestamps, Linux measures the receiver's RTT only as the time in which a window fills. The handshake
    // provides no sample for the receiver. In a kernel capture (1264/128 kbit/s, 193 ms, both ends without SACK and
    // timestamps) a window of 501 * 2^7 is advertised until 64,240 bytes have arrived, 0.70 s after the SYN.
    let mut t = Script::established(linux(), PEER);
    let mut at = 200;
    for n in 0..66u32 {
        at += 10;
        t.inject(at, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.drain();
        let expected = (n == 65).then_some(650_000);
        let rtt = t.connection.recv.rtt().map(|rtt| rtt.as_micros());
        assert_eq!(rtt, expected, "after {} segments", n + 1);
    }
    // The buffer grows from the next read on, which counts all data that arrived while the window was being filled.
    assert_eq!(t.info().rcv_space, Bytes::new(66_000));
}

#[test]
fn a_fixed_receive_window_stays() {
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
fn what_a_filled_gap_releases_counts_for_the_round_trip_that_begins_behind_its_first_record() {
    // Linux checks after each copied record whether a round trip has ended. In a kernel capture (one CUBIC flow on
    // 3000/1000 kbit/s) the buffer grows after a recovery as if 139,008 bytes had been read, although only 108,600
    // bytes have arrived since the gap was filled.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for start in (1001..30_000).step_by(1000) {
        t.inject(150, &format!("{start}:{}{}", start + 1000, stamp(150)));
        t.drain();
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
fn the_window_opens_by_the_memory_there_was_before_a_gap_was_closed() {
    // When the gap is filled, the out-of-order data still counts in separate records. In a kernel capture (one Reno
    // flow on 3000/1000 kbit/s), the window is therefore 384 bytes smaller from the 372nd packet on than it would be
    // with joined records.
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..21u64 {
        let at = if n < 20 { 150 } else { 200 };
        t.inject(at as u32, &format!("{}:{}{}", n * 1000 + 1, n * 1000 + 1001, stamp(at)));
        t.drain();
    }
    // 21 segments arrive per round trip, more than the initial assumption of ten, so the buffer grows to 185 segments
    // of 2,024 bytes each. A segment in a separate record occupies 768 bytes more than its data.
    let room = |held: u64| (185 * 2024 - held * (1000 + 768)) / 2;
    let gap = |n: u64| 21_001 + 2000 * n;
    for n in 0..50 {
        t.inject(210, &format!("{}:{}{}", gap(n) + 1000, gap(n) + 2000, stamp(210)));
        t.drain();
    }
    let before = t.connection.recv.window_threshold();
    for n in 0..40 {
        t.inject(220, &format!("{}:{}{}", gap(n), gap(n) + 1000, stamp(220)));
        t.drain();
        // The new segment and each of the out-of-order segments occupy separate records.
        let expected = before.max(room(51 - n));
        assert_eq!(t.connection.recv.window_threshold(), expected, "gap {n}");
    }
}

#[test]
fn data_in_order_that_covers_what_is_held_is_reported_by_dsack() {
    // Linux's tcp_ofo_queue; RFC 2883 section 4: the first block reports the duplicate, below the acknowledgement
    // number.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "1001:2001");
    t.expect(100, "ack 1 sack 1001:2001");
    t.inject(101, "3001:4001");
    t.expect(101, "ack 1 sack 3001:4001,1001:2001");
    t.inject(102, "1:1501");
    t.expect(102, "ack 2001 sack 1001:1501,3001:4001");
    t.inject(103, "2001:5001");
    t.expect(103, "ack 5001 sack 3001:4001");
}

/// Returns a connection that has used up its quick ACKs. This end takes part in a request-response protocol.
fn past_quick_acks() -> Script {
    let mut t = after_quick_acks();
    t.reads = true;
    t
}

#[test]
fn an_end_that_answers_acknowledges_with_its_answers() {
    // Linux's pingpong mode: a request that is answered within the delayed-ACK timeout ends the quick ACKs.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "1:301");
    t.expect(100, "ack 301");
    t.write(110, 500);
    t.expect(110, "1:501 ack 301");
    t.inject(210, "301:601 ack 501");
    t.write(220, 500);
    t.expect(220, "501:1001 ack 601");
    // A request is not answered, so the delayed-ACK timer expires and ends pingpong mode.
    t.inject(320, "601:901 ack 1001");
    t.expect(360, "ack 901");
    t.inject(370, "901:1201");
    t.expect(370, "ack 1201");
}

#[test]
fn without_answers_a_short_segment_is_acknowledged_when_it_is_read() {
    let mut t = past_quick_acks();
    t.inject(200, "16001:16301");
    t.expect(200, "ack 16301");
}

#[test]
fn the_acknowledgement_of_a_fin_rides_on_this_ends_own() {
    let mut t = past_quick_acks();
    t.inject(200, "F 16001:16001");
    t.close(210);
    t.expect(210, "F. 1:1 ack 16002");
    // If this end does not close, the ACK waits for the delayed-ACK timeout.
    let mut t = past_quick_acks();
    t.inject(200, "F 16001:16001");
    t.expect(240, "ack 16002");
}

#[test]
fn the_timeout_of_a_delayed_ack_is_kept_in_whole_ticks() {
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
fn an_ack_that_would_wait_a_little_longer_only_goes_with_the_next_short_segment() {
    let mut t = Script::established(linux(), PEER);
    for n in 0..20 {
        t.inject(200 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.drain();
    }
    t.drain_until(300);
    t.reads = false;
    t.inject(400, "20001:20401");
    // The deadline is at 440 ms. The remaining 8 ms are less than 1/4 of the current timeout, which is between 20 and
    // 32 ms.
    t.inject(432, "20401:20801");
    t.expect(432, ". ack 20801");
}

/// RFC 7323 section 4.3: the ACK echoes the timestamp of the retransmission, because the retransmission does not begin
/// beyond Last.ACK.sent.
#[test]
fn a_retransmission_of_what_was_acknowledged_last_has_its_timestamp_echoed() {
    for (profile, dsack) in [(linux(), true), (freebsd(), false)] {
        let sack = |block: &str| if dsack { format!(" sack {block}") } else { String::new() };
        let mut t = Script::established(receive_buffer(profile, 64_000), TIMESTAMPS);
        t.inject(100, "1:1001 ts 100:100");
        t.drain();
        t.inject(101, "1001:2001 ts 101:100");
        t.drain();
        t.inject(400, "1001:2001 ts 400:100");
        t.expect(400, &format!("ack 2001{} ts 400:400", sack("1001:2001")));
        // A segment that ends before the last ACK is outside of the window, so its timestamp is ignored.
        t.inject(500, "1:1001 ts 500:100");
        t.expect(500, &format!("ack 2001{} ts 500:400", sack("1:1001")));
    }
}

/// Returns a connection that has used all quick ACKs at 115 ms. Its buffer has `octets` bytes of Linux memory, and its
/// application has stopped reading.
fn unread_after_quick_acks(octets: u64) -> Script {
    let buffer = BufferRule::Fixed(Bytes::new(octets));
    let mut t = Script::established(Profile { receive_buffer: buffer, ..linux() }, PEER);
    for n in 0..16 {
        t.inject(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.expect(100 + n, &format!("ack {}", n * 1000 + 1001));
    }
    t.reads = false;
    t
}

/// tcp_cleanup_rbuf: unread data would reduce the window, so an ACK for two segments waits for a read.
#[test]
fn an_ack_that_would_offer_less_waits_for_the_read() {
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
fn the_first_segment_that_waits_sets_the_timer_of_all() {
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
fn nothing_is_acknowledged_quickly_once_the_buffer_is_half_full() {
    for (segments, quick) in [(60, true), (90, false)] {
        let mut t =
            Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
        t.reads = false;
        for n in 0..segments {
            t.inject(110 + n, &format!("{}:{}", n * 200 + 1, n * 200 + 201));
            t.drain();
        }
        t.drain_until(300);
        // A duplicate of the last segment grants 16 quick ACKs.
        let end = segments * 200 + 201;
        t.inject(310, &format!("{}:{}", end - 400, end - 200));
        t.expect(310, &format!("ack {0} sack {1}:{0}", end - 200, end - 400));
        t.inject(320, &format!("{}:{end}", end - 200));
        t.expect(if quick { 320 } else { 360 }, &format!("ack {end}"));
    }
}

/// tcp_rcv_rtt_update: the RTT is stored in units of 1/8 us, and rounding raises the mean.
#[test]
fn the_receivers_round_trip_is_kept_in_eighths_of_a_microsecond() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    for n in 0..11u32 {
        let rtt = if n == 0 { 20 } else { 21 };
        let (at, start) = (200 + 10 * n, n * 1000 + 1);
        t.inject(at, &format!("{start}:{} ts {at}:{}", start + 1000, at - rtt));
        t.drain();
    }
    // In units of 1/8 us, the mean is 160,000, then 161,000, 161,875 and 162,641. With exact eighths the last value
    // would be smaller by one. After ten samples the difference is 5/8 us.
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    // If an ACK without data has already carried the same echo, a data segment with this echo provides no sample.
    t.inject(360, "ack 1 ts 360:350");
    t.inject(361, "11001:12001 ts 361:350");
    t.drain();
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_micros(20_737)));
    t.inject(362, "12001:13001 ts 362:351");
    t.drain();
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(11)));
}

/// tcp_win_from_space: the window is half of the memory, rounded up.
#[test]
fn of_odd_memory_the_larger_half_is_offered() {
    // One record of seven fragments needs 7 * 999 + 768 = 7,761 bytes of memory.
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..7u32 {
        t.inject(110 + n, &format!("{}:{}", n * 999 + 1, n * 999 + 1000));
        t.drain();
    }
    let sizes = SegmentSizes { agreed: 1000, full: 1, own: 1000 };
    t.connection.recv.note_ack_due(sizes, 0);
    assert_eq!(t.connection.recv.offer_window(sizes, 0), (40_000 - 7761u16).div_ceil(2));
}

/// __tcp_select_window: without scaling, the window is a multiple of the measured segment size.
#[test]
fn windows_are_rounded_to_segments_as_they_come() {
    let buffer = BufferRule::Fixed(Bytes::new(20_000));
    let mut t = Script::established(Profile { receive_buffer: buffer, window_scaling: false, ..linux() }, PEER);
    t.reads = false;
    for n in 0..60u32 {
        t.inject(110 + n, &format!("{}:{}", n * 300 + 1, n * 300 + 301));
        t.drain();
    }
    t.drain_until(300);
    t.read(300, 18_000);
    // The window is 20,000 bytes minus one segment of 1,012 bytes, which is kept in reserve.
    t.expect(300, "ack 18001 win 18900");
}

/// tcp_init_buffer_space and tcp_grow_window use the largest acceptable segment (1,012 bytes), not the negotiated size
/// (1,000 bytes).
#[test]
fn windows_grow_by_the_segments_that_were_offered_to_be_taken() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
    assert_eq!(t.info().advmss, Bytes::new(1012));
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012);
    t.inject(110, "1:1001");
    t.drain();
    assert_eq!(t.connection.recv.window_threshold(), 20_000 - 1012, "the window has reached its maximum");
}

/// skb_page_frag_refill: a page of 32 KiB ends before a segment that would exceed it by 24 bytes. The next 17 segments
/// share one record.
#[test]
fn a_page_with_hardly_any_room_left_holds_no_part_of_the_next_segment() {
    let mut t = Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(64_000)), ..linux() }, PEER);
    let bring = |t: &mut Script, n: u32| {
        t.inject(110.0 + f64::from(n) / 10.0, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        t.drain();
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
fn the_first_data_tells_a_round_trip_with_the_echo_of_the_handshake() {
    let mut t = Script::listen(linux(), TIMESTAMPS);
    t.inject(0, "S 0:0 win 65535 mss 1460 sackok wscale 8 ts 0:0");
    t.drain();
    t.inject(20, "ack 1 ts 20:0");
    t.drain();
    t.inject(20, "1:1001 ts 20:0");
    t.drain();
    assert_eq!(t.connection.recv.rtt(), Some(Duration::from_millis(20)));
}

/// Balakrishnan, Padmanabhan and Katz 1999, section 6.3: a sender that does not count duplicates needs a marked
/// duplicate ACK.
#[test]
fn acc_marks_duplicates_after_a_number_of_segments_out_of_order() {
    for (mark_duplicates, marked) in [(3, " X"), (0, "")] {
        let ack = AckSettings { policy: "acc", mark_duplicates, ..Profile::ns2_reno().ack };
        let mut t = Script::established(Profile { ack, ..Profile::ns2_reno() }, NO_SACK);
        t.inject(100, "1:1001");
        t.expect(100, "ack 1001");
        t.inject(101, "2001:3001");
        t.expect(101, "ack 1001");
        t.inject(102, "3001:4001");
        t.expect(102, "ack 1001");
        t.inject(103, "4001:5001");
        t.expect(103, &format!("ack 1001{marked}"));
        t.inject(104, "5001:6001");
        t.expect(104, &format!("ack 1001{marked}"));
        t.inject(105, "1001:2001");
        t.expect(105, "ack 6001");
        t.inject(106, "7001:8001");
        t.expect(106, "ack 6001");
    }
}
