//! FreeBSD's recovery: duplicate ACKs are counted, retransmissions and new data share one window, and ssthresh is half
//! of the smaller window: the congestion window or the peer's window. The expected segments agree with captures of
//! FreeBSD's own TCP.

use super::script::{NO_SACK, PEER, Peer, Script, freebsd};
use crate::{CaState, Profile};

/// Returns a script that sent ten segments at 100 ms and has more data to send.
fn ten_out() -> Script {
    ten_out_to(PEER)
}

fn ten_out_to(peer: Peer) -> Script {
    let window = Profile { initial_window_segments: 10, initial_window_cap: None, ..freebsd() };
    let mut t = Script::established(window, peer);
    t.sends_train(100, 30_000, 1, 10_001);
    t
}

#[test]
fn three_counted_duplicates_start_a_recovery_and_the_first_two_release_a_segment_each() {
    // A duplicate ACK that reports three segments counts as one duplicate. Limited transmit (RFC 3042) uses the same
    // count.
    let mut t = ten_out();
    t.answers(200, "ack 1 sack 1001:4001", "10001:11001 .");
    t.expect_ca_state(CaState::Disorder);
    t.answers(201, "ack 1 sack 1001:7001", "11001:12001 .");
    t.answers(202, "ack 1 sack 1001:8001", "1:1001 .");
    t.expect_ca_state(CaState::Recovery);
    t.expect_cwnd(1);
    t.expect_ssthresh(5);
}

#[test]
fn an_ack_with_another_window_is_not_a_duplicate_and_resets_the_count() {
    let mut t = ten_out();
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 .");
    t.answers(201, "ack 1 sack 1001:3001", "11001:12001 .");
    // This ACK advertises a smaller window, as if the peer's application had unread data. The ACK is therefore not a
    // duplicate.
    t.inject(202, "ack 1 sack 1001:4001 win 1047552");
    t.expect_ca_state(CaState::Disorder);
    for (at, end) in [(203, 5001), (204, 6001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end} win 1047552"));
        t.expect_ca_state(CaState::Disorder);
    }
    t.answers(205, "ack 1 sack 1001:7001 win 1047552", "1:1001 .");
    t.expect_ca_state(CaState::Recovery);
}

#[test]
fn holes_at_the_front_are_retransmitted_one_per_round_trip() {
    // In the capture of an upload, segments 8 to 12 are retransmitted at 121.59, 121.84, 122.08, 122.31 and 122.39 s.
    let mut t = ten_out();
    for (at, end) in [(200, 6001), (201, 7001), (202, 8001)] {
        t.inject(at, &format!("ack 1 sack 5001:{end}"));
        if at < 202 {
            t.drain();
        }
    }
    t.expect(202, "1:1001 .");
    t.answers(302, "ack 1001 sack 5001:8001", "1001:2001 .");
    t.answers(402, "ack 2001 sack 5001:8001", "2001:3001 .");
    // An ACK that covers two segments permits two further segments.
    t.answers(502, "ack 4001 sack 5001:8001", "4001:5001 .");
    t.expect(502, "12001:13001 .");
    t.deliver(602, "ack 12001");
    t.expect_ca_state(CaState::Open);
}

/// Returns a script in which the first of twelve segments was retransmitted at 200 ms. A partial acknowledgement up to
/// `ack` arrives at 300 ms.
fn with_only_a_tail_left(ack: u64) -> Script {
    let mut t = ten_out();
    for end in [2001, 3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    t.inject(300, &format!("ack {ack}"));
    t
}

#[test]
fn without_a_retransmission_in_flight_all_outstanding_data_fills_the_window() {
    // tcp_output counts the new data since the recovery began only while `sack_bytes_rxmt` is not zero. An empty
    // segment is sent in both cases, as at 1.077 s in the capture of a download.
    let mut t = with_only_a_tail_left(6001);
    t.expect(300, ". 12001:12001 ack 1");
    t.expect_cwnd(2);
    t.expect_nothing_until(350);
    // The window permits two segments, one of which is outstanding.
    let mut t = with_only_a_tail_left(11_001);
    t.expect(300, ". 12001:12001 ack 1");
    t.expect(300, "12001:13001 .");
    t.expect_nothing_until(350);
}

#[test]
fn a_partial_ack_that_releases_no_data_is_answered_with_an_empty_segment() {
    // TF_ACKNOW in tcp_sack_partialack: if data may be sent, the data segment carries the ACK.
    let mut t = ten_out();
    for end in [2001, 3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    t.answers(210, "ack 1 sack 5001:10001,1001:4001", "4001:5001 .");
    // The peer's window has no space for more data.
    t.answers(300, "ack 4001 sack 5001:10001 win 7936", ". 12001:12001 ack 1");
}

#[test]
fn a_duplicate_adds_a_segment_while_the_data_in_flight_is_below_ssthresh() {
    let mut t = ten_out();
    for end in [3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 2001:{end}"));
    }
    t.answers(200, "ack 1 sack 2001:5001", "1:1001 .");
    // Twelve segments are outstanding. The retransmission and the segments after the highest SACK count as being in the
    // network.
    for (at, end) in [(210, 6001), (211, 7001), (212, 8001)] {
        t.inject(at, &format!("ack 1 sack 2001:{end}"));
    }
    t.expect_cwnd(1);
    // Four segments after the highest SACK plus one retransmission reach the threshold; three segments plus one
    // retransmission do not.
    t.answers(213, "ack 1 sack 2001:9001", "1001:2001 .");
    t.expect_cwnd(2);
}

#[test]
fn new_data_of_a_recovery_is_not_retransmitted_during_that_recovery() {
    let mut t = ten_out();
    for end in [2001, 3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    for (at, end) in [(201, 8001), (202, 9001), (203, 10_001), (204, 11_001), (205, 12_001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end}"));
    }
    let out = t.info().unacked;
    assert!(out > 13, "new segments went: {out}");
    // The first new segment is lost, and the following segments arrive.
    for end in [14_001, 15_001] {
        t.deliver(300, &format!("ack 1 sack 13001:{end},1001:12001"));
    }
    assert_eq!(t.info().counters.retransmits, 1);
}

#[test]
fn ssthresh_is_half_of_the_peers_window_if_that_window_is_smaller() {
    let mut t = ten_out();
    t.inject(150, "ack 1 win 8192");
    t.peer.window = 8192;
    for end in [2001, 3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(4);
}

#[test]
fn each_timeout_sets_ssthresh_to_half_of_the_current_window() {
    // 4.4BSD halves the window in force at each timeout. According to RFC 5681 section 3.1, the threshold does not
    // change if the same segment times out again. The slop is not doubled.
    let mut t = ten_out();
    t.expect(600, "1:1001 .");
    t.expect_ssthresh(5);
    t.expect(1400, "1:1001 .");
    t.expect_ssthresh(2);
    t.expect(2800, "1:1001 .");
}

#[test]
fn after_a_timeout_three_duplicates_start_a_recovery() {
    let mut t = ten_out();
    t.expect(600, "1:1001 .");
    t.inject(700, "ack 1001");
    t.expect_train(700, 1001, 3001);
    t.inject(800, "ack 3001");
    t.expect_train(800, 3001, 6001);
    t.deliver(900, "ack 3001 sack 5001:6001");
    t.deliver(901, "ack 3001 sack 5001:7001");
    t.expect_ca_state(CaState::Loss);
    t.answers(902, "ack 3001 sack 5001:8001", "3001:4001 .");
    t.expect_ca_state(CaState::Recovery);
}

#[test]
fn after_a_timeout_sacked_data_is_skipped_and_counts_as_in_flight() {
    // In a capture, a segment is retransmitted at 130.083 s, and a duplicate ACK with SACK permits another
    // retransmission at 130.248 s. Two ACKs later no segment is sent: the data after the second retransmission was
    // SACKed, but still fills the window.
    let mut t = ten_out();
    t.deliver(200, "ack 4001");
    let out = t.info().unacked;
    t.drain_until(800);
    t.expect_ca_state(CaState::Loss);
    assert_eq!(t.info().counters.retransmits, 1);
    t.answers(850, &format!("ack 4001 sack 6001:{}", 4001 + out * 1000), "5001:6001 .");
    t.inject(900, &format!("ack 5001 sack 6001:{}", 4001 + out * 1000));
    t.expect_cwnd(2);
}

#[test]
fn the_ack_that_ends_a_recovery_does_not_grow_the_window() {
    // The ACK that ends the recovery sets the window to min(ssthresh, outstanding data + 1 segment), which is one
    // segment in this test. In a capture, a single segment is sent at 122.577 s.
    let mut t = ten_out();
    for end in [2001, 3001, 4001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    t.inject(300, "ack 12001");
    t.expect_ca_state(CaState::Open);
    t.expect(300, "12001:13001 .");
    t.expect_cwnd(1);
}

#[test]
fn a_window_equal_to_ssthresh_still_grows_as_in_slow_start() {
    // In a trace of FreeBSD with segments of 1448 bytes, the window after a timeout is 1448, 2896 (the threshold),
    // 4344, 4826 and 5260 bytes.
    let mut t = ten_out();
    t.drain_until(1400);
    t.expect_ssthresh(2);
    let mut windows = Vec::new();
    for (at, ack) in [(1500, 1001), (1600, 2001), (1700, 3001), (1800, 4001)] {
        t.deliver(at, &format!("ack {ack}"));
        windows.push(t.connection.cwnd().get());
    }
    assert_eq!(windows, [2000, 3000, 3333, 3633]);
}

#[test]
fn the_fast_path_does_not_grow_a_window_larger_than_the_peers() {
    let mut t = ten_out();
    t.deliver(200, "ack 1001 win 8192");
    t.expect_cwnd(11);
    // The first ACK acknowledges new data and does not change the window. The second ACK changes the window, so the
    // fast path does not process it.
    t.deliver(201, "ack 2001 win 8192");
    t.expect_cwnd(11);
    t.deliver(202, "ack 3001 win 7936");
    t.expect_cwnd(12);
}

/// Returns a script without SACK in which segments 1 and 5 of ten are lost. Two duplicate ACKs release new segments,
/// and the third triggers the retransmission. Twelve segments are outstanding at 202 ms.
fn without_sack_after_the_first_repair() -> Script {
    let mut t = ten_out_to(NO_SACK);
    t.answers(200, "ack 1", "10001:11001 .");
    t.answers(201, "ack 1", "11001:12001 .");
    t.answers(202, "ack 1", "1:1001 .");
    t.expect_ssthresh(5);
    t
}

#[test]
fn without_sack_the_recoverys_window_counts_duplicates_that_released_no_segment() {
    // The window is the threshold of five segments plus one segment for one of the three duplicates. Twelve segments
    // are outstanding, so seven more duplicates must arrive before the next segment is sent.
    let mut t = without_sack_after_the_first_repair();
    t.expect_cwnd(6);
    for at in 203..209 {
        t.inject(at, "ack 1");
    }
    t.expect_cwnd(12);
    t.answers(209, "ack 1", "12001:13001 .");
}

#[test]
fn without_sack_a_partial_ack_deflates_the_window_by_the_acknowledged_data() {
    // RFC 6582 section 3.2 step 3 applies even if the window falls below the threshold. Linux, and the pipe of RFC
    // 6675, would keep the threshold.
    let mut t = without_sack_after_the_first_repair();
    for at in [203, 204] {
        t.inject(at, "ack 1");
    }
    t.expect_cwnd(8);
    t.answers(302, "ack 4001", "4001:5001 .");
    t.expect_cwnd(5);
    t.answers(402, "ack 9001", "9001:10001 .");
    t.expect_cwnd(1);
    t.deliver(502, "ack 12001");
    t.expect_ca_state(CaState::Open);
}

#[test]
fn without_sack_duplicates_below_the_recovery_point_start_no_recovery() {
    // RFC 6582 section 4.1: after a timeout, spurious retransmissions cause duplicate ACKs. The first and the second of
    // every three duplicates release a segment each.
    let mut t = ten_out_to(NO_SACK);
    let rto = t.info().rto.as_millis_f64();
    t.expect(100.0 + rto, "1:1001 .");
    t.expect_ca_state(CaState::Loss);
    t.inject(700, "ack 3001");
    t.expect_train(700, 3001, 5001);
    for (at, next) in [(701, 5001), (702, 6001), (704, 7001), (705, 8001)] {
        t.answers(at, "ack 3001", &format!("{next}:{} .", next + 1000));
        if at == 702 {
            t.inject(703, "ack 3001");
        }
    }
    t.inject(706, "ack 3001");
    t.expect_nothing_until(750);
    assert_eq!(t.info().counters.fast_retransmits, 0);
    t.deliver(800, "ack 10001");
    t.expect_ca_state(CaState::Open);
}

#[test]
fn an_undone_timeout_restores_the_window_before_the_interrupted_recovery() {
    let mut t = ten_out();
    for end in [2001, 3001, 4001] {
        t.inject(200, &format!("ack 1 sack 1001:{end}"));
        if end < 4001 {
            t.drain();
        }
    }
    t.expect(200, "1:1001 .");
    let rto = t.info().rto.as_millis_f64();
    t.expect(200.0 + rto, "1:1001 .");
    t.expect_ca_state(CaState::Loss);
    // An ACK that arrives within half an RTT after the second retransmission must be caused by the first
    // retransmission.
    t.deliver(205.0 + rto, "ack 1001 sack 1001:4001");
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(5);
    t.expect_cwnd(1);
}
