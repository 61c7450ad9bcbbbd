//! Segments of a peer or an attacker that violates the protocol (RFC 5961, RFC 7323 section 5, Savage et al. 1999).

use super::script::{PEER, Script, TIMESTAMPS, freebsd, linux};
use crate::State;

#[test]
fn ack_division_does_not_make_the_window_grow_faster() {
    // ACK division (RFC 3465 section 2.3): ten ACKs for one segment count as one segment.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 60_000, 1, 10_001);
    for piece in 1..=10 {
        t.inject(200, &format!("ack {}", piece * 100 + 1));
        match piece {
            5 => t.expect(200, "10001:11001 ."),
            10 => t.expect(200, "11001:12001 ."),
            _ => {}
        }
    }
    t.expect_cwnd(11);
}

#[test]
fn an_ack_of_data_never_sent_is_ignored_by_linux_and_answered_by_freebsd() {
    // RFC 9293 section 3.10.7.4, fifth check: an ACK of data that was never sent is answered with an ACK.
    let mut t = Script::established(freebsd(), PEER);
    t.sends_train(100, 4_000, 1, 4_001);
    t.answers(200, "ack 4002", ". 4001:4001 ack 1");
    assert_eq!(t.info().unacked, 4);
    // Linux's tcp_ack drops the segment without an answer.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 20_000, 1, 10_001);
    t.inject(200, "ack 10002");
    t.expect_nothing_until(201);
    assert_eq!(t.info().unacked, 10);
    t.expect_cwnd(10);
}

#[test]
fn an_ack_older_than_the_largest_window_is_challenged() {
    // RFC 5961 section 5.2: the acknowledgement number is older than SND.UNA - MAX.SND.WND.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "ack -2000000", ". 1:1 ack 1");
    t.expect_state(State::Established);
}

#[test]
fn a_reset_in_the_window_but_not_at_its_edge_is_challenged() {
    // RFC 5961 section 3.2: a reset in the window whose sequence number is not the next expected one is answered with a
    // challenge ACK.
    let mut t = Script::established(linux(), PEER);
    t.answers(200, "R 500:500", ". 1:1 ack 1");
    t.expect_state(State::Established);
    // A reset outside of the window is dropped.
    t.inject(1200, "R 500000:500000");
    t.inject(1200, "R 0:0");
    t.expect_state(State::Established);
}

#[test]
fn a_syn_with_any_sequence_number_is_challenged() {
    // RFC 5961: a SYN is answered with a challenge ACK (section 4.2), and the rate of challenge ACKs is limited
    // (section 7).
    let mut t = Script::established(linux(), PEER);
    t.answers(200, "S 500:500", ". 1:1 ack 1");
    t.inject(300, "S 600:600");
    t.answers(800, "S 600:600", ". 1:1 ack 1");
    t.expect_state(State::Established);
}

#[test]
fn segments_without_data_outside_the_window_are_answered_at_most_twice_per_second() {
    // Two ends that disagree about their sequence numbers must not answer each other forever.
    let mut t = Script::established(linux(), PEER);
    t.answers(200, "900000:900000 ack 1", ". 1:1 ack 1");
    for at in 201..300 {
        t.inject(at, "900000:900000 ack 1");
    }
    t.answers(700, "900000:900000 ack 1", ". 1:1 ack 1");
}

#[test]
fn segments_with_old_timestamps_are_rejected_and_answered() {
    // PAWS (RFC 7323 section 5.3 R1): a segment with an old timestamp is dropped and answered with an ACK.
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.answers(200, "1:1001 ts 200:100", "ack 1001 ts 200:200");
    t.answers(210, "1001:2001 ts 150:100", "ack 1001 ts 210:200");
    t.answers(220, "1001:2001 ts 200:100", "ack 2001 ts 220:200");
}

#[test]
fn only_a_segment_at_the_left_edge_sets_the_echoed_timestamp() {
    // RFC 7323 section 4.3: the ACK echoes the timestamp of the earliest segment that the ACK covers, so that the
    // sender's RTT sample includes the delay caused by delayed ACKs and holes.
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.answers(200, "1:1001 ts 200:100", "ack 1001 ts 200:200");
    t.answers(210, "2001:3001 ts 210:100", "ack 1001 sack 2001:3001 ts 210:200");
    t.answers(220, "1001:2001 ts 205:100", "ack 3001 ts 220:205");
}

#[test]
fn a_delayed_ack_echoes_the_timestamp_of_its_first_segment() {
    // RFC 7323 section 4.3 case A.
    let mut t = Script::established(super::script::freebsd(), TIMESTAMPS);
    t.inject(200, "1:1001 ts 200:100");
    t.answers(210, "1001:2001 ts 210:100", "ack 2001 ts 210:200");
}

#[test]
fn a_segment_without_ack_is_dropped() {
    // RFC 9293 section 3.10.7.4, fifth check: if the ACK bit is off, drop the segment.
    let mut t = Script::established(linux(), PEER);
    t.inject_bare(200, "1:1001");
    t.answers(300, "1:1001", "ack 1001");
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut t = Script::established(super::script::receive_buffer(linux(), 2000), PEER);
    t.reads = false;
    t.answers(100, "1:3001", "ack 2001 win 0");
    assert_eq!(t.connection.readable(), 2000);
}
