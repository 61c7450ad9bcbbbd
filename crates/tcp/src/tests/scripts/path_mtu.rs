//! Path-MTU discovery (RFC 1191). Linux's behaviour comes from a kernel capture (tests/python/test_path_mtu.py).

use super::script::{PEER, Script, linux};
use crate::{CaState, Profile};
use lopsided_core::Bytes;

/// Returns a script in which ten segments were sent at 100 ms. At 110 ms, a router reports a path MTU that permits
/// segments of 800 bytes.
fn after_packet_too_big(octets: u32) -> Script {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, octets, 1, 10_001);
    t.too_big(110, 1, 840);
    t
}

#[test]
fn outstanding_data_is_retransmitted_at_once_in_smaller_segments() {
    let mut t = after_packet_too_big(60_000);
    // The window of ten segments has space for two pieces of each of the first five records.
    for start in [1, 1001, 2001, 3001, 4001] {
        t.expect(110, &format!("{start}:{} .", start + 800));
        t.expect(110, &format!("{}:{} .", start + 800, start + 1000));
    }
    t.expect_ca_state(CaState::Loss);
    assert_eq!(t.info().snd_cwnd.get(), 10 * 800);
    assert_eq!((t.info().pmtu.get(), t.info().snd_mss.get()), (840, 800));
    // The loss is not a congestion signal: the window is unchanged, and slow start continues.
    assert_eq!(t.info().snd_ssthresh, None);
    // Messages about the other segments change nothing.
    for start in [1001, 2001, 9001] {
        t.too_big(110, start, 840);
    }
    t.inject(210, "ack 1001");
    for piece in ["5001:5801 .", "5801:6001 .", "6001:6801 .", "6801:7001 ."] {
        t.expect(210, piece);
    }
    assert_eq!(t.info().snd_cwnd.get(), 12 * 800);
    t.inject(211, "ack 7001");
    for start in [7001, 8001, 9001] {
        t.expect(211, &format!("{start}:{} .", start + 800));
        t.expect(211, &format!("{}:{} .", start + 800, start + 1000));
    }
    // Data that was written before the change keeps its old segment boundaries. The rest of an old segment is sent in a
    // separate segment.
    t.expect(211, "10001:10801 .");
    t.expect(211, "10801:11001 .");
    t.drain();
    t.deliver(310, "ack 10001");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().counters.timeouts, 0);
}

#[test]
fn the_rest_of_an_old_segment_counts_as_a_segment_in_flight() {
    let mut t = after_packet_too_big(60_000);
    t.drain();
    t.deliver(210, "ack 10001");
    // Linux counts packets: a piece of 800 bytes and the following piece of 200 bytes take the space of two segments in
    // the window.
    let info = t.info();
    assert!(info.unacked >= 10, "{info:?}");
    assert_eq!(info.in_flight.get(), u64::from(info.unacked) * 800, "{info:?}");
    assert_eq!(info.in_flight, info.snd_cwnd, "{info:?}");
}

#[test]
fn later_data_is_sent_in_full_segments_of_the_new_size() {
    let mut t = after_packet_too_big(10_000);
    t.drain();
    t.inject(210, "ack 10001");
    t.expect_ca_state(CaState::Open);
    t.write(220, 2_400);
    for start in [10_001, 10_801, 11_601] {
        t.expect(220, &format!("{start}:{} .", start + 800));
    }
}

/// In a capture of Linux 6.1, an application filled the send buffer with 21 segments of 1,448 bytes before the path MTU
/// decreased, and then with 14 and with 18 segments of 1,348 bytes. Linux counts the memory of each segment. A segment
/// that was written before the change is one segment until a piece of it is sent.
#[test]
fn the_send_buffer_counts_old_segments_and_their_pieces() {
    let mut t = Script::established(Profile::linux_6_1(), PEER);
    t.write(100, 27_000);
    t.drain();
    assert_eq!(t.connection.writable(), 0, "27 segments of 1,000 bytes fill the buffer");
    t.too_big(110, 1, 840);
    t.drain();
    // A segment takes 768 bytes of memory and its payload. The buffer has 2,304 bytes for each segment of two windows.
    let room = |cwnd: u64, len: u64, segments: u64| (2 * cwnd * 2_304 - len - segments * 768).div_ceil(800 + 768) * 800;
    // Ten pieces are acknowledged and twenty pieces are outstanding. Twelve old segments are unsent.
    t.inject(210, "ack 5001");
    assert_eq!(t.info().snd_cwnd.get(), 20 * 800);
    assert_eq!(t.connection.writable(), room(20, 22_000, 20 + 12));
    t.drain();
    t.inject(310, "ack 10001");
    assert_eq!(t.info().snd_cwnd.get(), 30 * 800);
    assert_eq!(t.connection.writable(), room(30, 17_000, 30 + 2));
    t.drain();
}

#[test]
fn a_message_about_data_that_is_not_outstanding_is_ignored() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 10_000, 1, 10_001);
    for seq in [-5000, 20_001] {
        t.too_big(110, seq, 840);
    }
    t.inject(200, "ack 10001");
    t.too_big(210, 9001, 840);
    assert_eq!(t.info().snd_mss.get(), 1000);
    assert_eq!(t.info().counters.retransmits, 0);
    // Linux also accepts SND.NXT (`between`).
    t.too_big(220, 10_001, 840);
    assert_eq!(t.info().snd_mss.get(), 800);
}

#[test]
fn data_that_sack_reported_is_neither_cut_nor_sent_again() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 10_000, 1, 10_001);
    t.deliver(150, "ack 1 sack 5001:6001");
    t.too_big(160, 1, 840);
    assert_eq!(t.info().sacked, 1);
    // The window of ten segments has space for nine pieces next to the SACKed segment.
    for start in [1, 1001, 2001, 3001] {
        t.expect(160, &format!("{start}:{} .", start + 800));
        t.expect(160, &format!("{}:{} .", start + 800, start + 1000));
    }
    t.expect(160, "4001:4801 .");
    t.drain();
    t.deliver(260, "ack 1 sack 5001:7001");
    assert_eq!(t.info().sacked, 3, "the second thousand in two pieces");
    t.deliver(270, "ack 10001");
}

/// tcp_current_ssthresh: outside of a recovery the threshold is at least 3/4 of the window.
#[test]
fn a_smaller_segment_size_keeps_three_quarters_of_the_window_as_threshold() {
    for (remembered, threshold) in [(4_000, 7 * 800), (9_000, 9 * 800)] {
        let profile = Profile { remembered_threshold: Some(Bytes::new(remembered)), ..linux() };
        let mut t = Script::established(profile, PEER);
        t.write(100, 10_000);
        t.drain();
        t.expect_cwnd(10);
        t.too_big(110, 1, 840);
        t.drain();
        assert_eq!(t.info().snd_ssthresh, Some(Bytes::new(threshold)));
    }
}

/// The interface has an MTU of 1,052 bytes, but the peer accepts only 1,000 bytes per segment.
#[test]
fn a_message_that_leaves_the_segment_size_leaves_the_recovery() {
    let windows = |told: &[u64]| {
        let mut t = Script::established(linux(), PEER);
        t.sends_train(100, 30_000, 1, 10_001);
        t.deliver(200, "ack 1 sack 1001:4001");
        t.expect_ca_state(CaState::Recovery);
        for mtu in told {
            t.too_big(201, 5001, *mtu);
        }
        let first = t.info().snd_cwnd;
        t.deliver(202, "ack 1 sack 1001:5001");
        (first, t.info().snd_cwnd, t.info().in_flight)
    };
    assert_eq!(windows(&[1051, 1040]), windows(&[]));
}

#[test]
fn segments_are_not_reduced_below_linuxs_minimum() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 2_000, 1, 2_001);
    t.too_big(110, 1, 68);
    assert_eq!((t.info().pmtu.get(), t.info().snd_mss.get()), (552, 512));
    t.drain();
}

#[test]
fn larger_segments_are_tried_again_after_ten_minutes() {
    let mut t = after_packet_too_big(10_000);
    t.drain();
    t.inject(210, "ack 10001");
    t.write(600_109, 1_600);
    for start in [10_001, 10_801] {
        t.expect(600_109, &format!("{start}:{} .", start + 800));
    }
    t.inject(600_209, "ack 11601");
    t.sends_train(600_209, 2_000, 11_601, 13_601);
    assert_eq!(t.info().pmtu.get(), 1052);
}
