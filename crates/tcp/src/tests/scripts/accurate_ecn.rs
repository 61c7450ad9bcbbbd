//! Accurate ECN feedback (RFC 9768), as implemented in Linux 7.0.

use super::script::{NO_SACK, PEER, Peer, Script, TIMESTAMPS, linux};
use crate::{CaState, EcnRule, Profile};

/// A profile with accurate ECN. Scripts specify all ECN bits of the peer's segments.
fn accurate() -> Profile {
    Profile { ecn: EcnRule::Accurate, ..linux() }
}

/// Returns a script after an active open. The ACE field of the SYN-ACK is `answer`, and the ACE field of the peer's
/// first segment is `first`.
fn opened(answer: u8, first: u8) -> Script {
    opened_by(accurate(), PEER, &format!("ace {answer}"), first)
}

/// Like [`opened`], but `answer` is added to the text of the SYN-ACK.
fn opened_by(profile: Profile, peer: Peer, answer: &str, first: u8) -> Script {
    let mut t = Script::connect(profile, peer);
    t.expect(0, "SAWE 0:0");
    let syn_ack = format!("{} {answer}", t.peer_syn("S. ack 1"));
    t.inject(100, &syn_ack);
    // The ACK reports the ECN field of the SYN-ACK.
    let field = if answer.contains(" ce") { 6 } else { 2 };
    let capable = if ["2", "5"].contains(&answer.split(' ').nth(1).expect("the ACE field")) { "ect0" } else { "" };
    let option = if answer.contains("octets") { "octets1 1,0,1" } else { "" };
    t.expect(100, &format!("ack 1 ace {field} {capable} {option}"));
    t.inject(100, &format!("ack 1 ace {first}"));
    t
}

/// Returns a script after an active open with a peer that sends the option. All segments of this end then also carry
/// the option.
fn opened_with_option(peer: Peer) -> Script {
    opened_by(accurate(), peer, "ace 2 octets0 1,0,1", 5)
}

/// Returns a script of a passive open up to the SYN-ACK, which carries the accurate-ECN option.
fn listening(profile: Profile) -> Script {
    let mut t = Script::listen(profile, PEER);
    t.answers(0, &format!("{} AWE", t.peer_syn("S")), "S. 0:0 ack 1 ace 2 octets1 1,0,1");
    t
}

/// Returns a script that sent ten ECN-capable segments at 100 ms, with the initial packet count of five.
fn ten_out() -> Script {
    let mut t = opened(2, 5);
    t.write(100, 60_000);
    for n in 0..10 {
        t.expect(100, &format!("{}:{} . ace 5 ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t
}

/// Returns the number of packets that the peer has reported as marked.
fn delivered_ce(t: &Script) -> u64 {
    t.info().accurate_ecn.expect("accurate ECN").delivered_ce
}

// The handshake.

#[test]
fn accurate_ecn_is_negotiated_if_both_ends_support_it() {
    // Section 3.1.1: a SYN with all three bits requests accurate ECN. The SYN-ACK reports the ECN field with which the
    // SYN arrived, and the ACK reports the ECN field of the SYN-ACK. In this test both fields are not-ECT: 0b010.
    let mut t = listening(accurate());
    t.inject(100, "ack 1 ace 2");
    t.sends(100, 1000, "1:1001 . ace 5 ect0");
    t = opened(2, 5);
    t.sends(100, 1000, "1:1001 . ace 5 ect0");
}

#[test]
fn accept_accurate_accepts_requests_and_sends_none() {
    // Linux's tcp_ecn = 5: ECN is accepted but not requested.
    let passive = Profile { ecn: EcnRule::AcceptAccurate, ..linux() };
    let mut t = Script::connect(passive.clone(), PEER);
    t.expect(0, "S 0:0");
    let mut t = listening(passive);
    t.inject(100, "ack 1 ace 2");
    t.sends(100, 1000, "1:1001 . ace 5 ect0");
}

#[test]
fn the_syn_ack_reports_the_ecn_field_of_the_syn() {
    // Table 2: a marked SYN counts as a marked packet, so the count is then six.
    for (arrived, answer, count) in [("ect0", 4, 5), ("ect1", 3, 5), ("ce", 6, 6)] {
        let mut t = Script::listen(accurate(), PEER);
        t.inject(0, &format!("{} AWE {arrived}", t.peer_syn("S")));
        t.expect(0, &format!("S. 0:0 ack 1 ace {answer} octets1 1,0,1"));
        t.inject(100, "ack 1 ace 2");
        t.sends(100, 1000, &format!("1:1001 . ace {count} ect0"));
    }
}

#[test]
fn a_repeated_syn_is_reported_and_can_end_ecn_capable_segments() {
    // Section 3.1.5: the second SYN-ACK reports the ECN field of the second SYN, and carries no option.
    for (again, data) in [("AWE ect1", "ect0"), ("ect1", "")] {
        let mut t = listening(accurate());
        t.answers(50, &format!("{} {again}", t.peer_syn("S")), "S. 0:0 ack 1 ace 3");
        t.inject(100, "ack 1 ace 2");
        t.write(100, 1000);
        // After a SYN without a request the peer may be unable to use ECN.
        t.expect(100, &format!("1:1001 . ace 5 {data}"));
    }
    // A client that receives a second SYN-ACK reports the ECN field of that SYN-ACK.
    let mut t = opened(2, 5);
    t.answers(200, &format!("{} ect0", t.peer_syn("S. ack 1")), "ack 1 ace 4 ect0");
}

#[test]
fn the_third_syn_ack_does_not_use_ecn() {
    // Section 3.1.4.2: the SYN-ACK is sent again without the option, and then without the bits.
    let mut t = listening(accurate());
    t.expect(1000, "S. 0:0 ack 1 ace 2");
    t.expect(3000, "S. 0:0 ack 1");
    t.inject(3100, "ack 1 ace 2");
    t.write(3100, 1000);
    // This end still sends feedback, but no ECN-capable segments, because the peer may send no feedback.
    t.expect(3100, "1:1001 . ace 5");
    // After one timeout, ECN stays in use.
    let mut t = listening(accurate());
    t.expect(1000, "S. 0:0 ack 1 ace 2");
    t.inject(1100, "ack 1 ace 2");
    t.sends(1100, 1000, "1:1001 . ace 5 ect0");
}

#[test]
fn older_peers_get_classic_ecn() {
    // Section 3.1.2: this end opens a connection to a server with classic ECN, and then accepts a connection from a
    // client with classic ECN.
    let mut t = Script::connect(accurate(), PEER);
    t.expect(0, "SAWE 0:0");
    t.answers(100, &format!("{} E", t.peer_syn("S. ack 1")), "ack 1");
    t.write(100, 60_000);
    for n in 0..10 {
        t.expect(100, &format!("{}:{} . ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t.answers(200, "ack 1001 E", "10001:11001 .W ect0");

    let mut t = Script::listen(accurate(), PEER);
    t.answers(0, &format!("{} WE", t.peer_syn("S")), "S.E 0:0 ack 1");

    // A server that supports only classic ECN receives a request for accurate ECN.
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &format!("{} AWE", t.peer_syn("S")), "S.E 0:0 ack 1");

    // A server without ECN, and a server that copies the ECN bits of the SYN.
    for answer in ["", "AWE"] {
        let mut t = Script::connect(accurate(), PEER);
        t.expect(0, "SAWE 0:0");
        t.answers(100, &format!("{} {answer}", t.peer_syn("S. ack 1")), "ack 1");
        t.sends(100, 1000, "1:1001 .");
    }
}

#[test]
fn unknown_ecn_bits_are_taken_as_accurate_ecn() {
    // Section 3.1.3: in a SYN, any combination of bits except 0b000 (no ECN) and 0b011 (classic ECN) requests accurate
    // ECN. In a SYN-ACK, 0b101 accepts accurate ECN.
    for asked in [1, 2, 4, 5, 6] {
        let mut t = Script::listen(accurate(), PEER);
        t.answers(0, &format!("{} ace {asked}", t.peer_syn("S")), "S. 0:0 ack 1 ace 2 octets1 1,0,1");
    }
    let mut t = opened(5, 5);
    t.sends(100, 1000, "1:1001 . ace 5 ect0");
}

#[test]
fn a_syn_requests_ecn_twice_and_then_omits_it() {
    // Section 3.1.4.1: only the first retransmission of a SYN requests ECN.
    let mut t = Script::connect(accurate(), PEER);
    t.expect(0, "SAWE 0:0");
    t.expect(1000, "SAWE 0:0");
    t.expect(3000, "S 0:0");
    // Linux's tcp_ecn_fallback = 0: each retransmission requests ECN.
    let mut t = Script::connect(Profile { ecn_fallback: false, ..accurate() }, PEER);
    t.expect(0, "SAWE 0:0");
    t.expect(1000, "SAWE 0:0");
    t.expect(3000, "SAWE 0:0");
}

#[test]
fn a_changed_ecn_field_or_a_zero_count_ends_ecn_capable_packets() {
    // Section 3.2.2.3: the SYN was sent as not-ECT, so a SYN-ACK that reports another codepoint is invalid. Accurate
    // feedback is still used.
    for answer in [3, 4, 6] {
        let mut t = opened(answer, 5);
        t.sends(100, 1000, "1:1001 . ace 5");
        t.answers(101, "1:1001 ce", "ack 1001 ace 6");
    }
    // Section 3.2.2.4: a packet count of zero shows that a middlebox has cleared the field.
    let mut t = opened(2, 0);
    t.sends(100, 1000, "1:1001 . ace 5");
    // Table 4: the server checks the field in the ACK of its SYN-ACK. 0 shows a cleared field. 3, 4 and 6 show that the
    // path has changed the SYN-ACK's ECN field, which was sent as not-ECT.
    for last in [0, 3, 4, 6] {
        let mut t = listening(accurate());
        t.inject(100, &format!("ack 1 ace {last}"));
        t.sends(100, 1000, "1:1001 . ace 5");
    }
    // Only a pure ACK reports the SYN-ACK. In a segment with data, the field is a packet count.
    let mut t = listening(accurate());
    t.answers(100, "1:101 ack 1 ace 6", "ack 101 ace 5 ect0");
}

#[test]
fn a_marked_syn_ack_is_counted_at_both_ends() {
    // Section 3.2.2.1: the client counts the SYN-ACK as a marked packet.
    let mut t = opened_by(accurate(), PEER, "ace 2 ce", 5);
    t.sends(100, 1000, "1:1001 . ace 6 ect0");
    // The last ACK of the handshake reports the marked SYN-ACK to the server. The client's next count includes the same
    // mark, so this count reports no new mark. The SYN-ACK was sent as not-ECT, so the mark shows that the path changes
    // the ECN field. Without fallback, this end ignores the change.
    for (ecn_fallback, capable) in [(false, "ect0"), (true, "")] {
        let mut t = listening(Profile { ecn_fallback, ..accurate() });
        t.inject(100, "ack 1 ace 6");
        assert_eq!(delivered_ce(&t), 1);
        t.sends(100, 1000, &format!("1:1001 . ace 5 {capable}"));
        t.inject(200, "ack 1001 ace 6");
        assert_eq!(delivered_ce(&t), 1);
    }
}

// The ECN field of outgoing segments.

#[test]
fn all_segments_after_the_handshake_are_ecn_capable() {
    // tcp_ecn_send: with accurate ECN, pure ACKs, retransmissions and FINs are also ECT(0).
    let mut t = opened(2, 5);
    t.answers(101, "1:1001 ect0", "ack 1001 ace 5 ect0");
    t.sends(102, 1000, "1:1001 . ace 5 ect0");
    t.drain_until(1000);
    t.inject(1000, "ack 1001 ace 5");
    t.close(1001);
    t.expect(1001, "1001:1001 F. ace 5 ect0");

    let mut t = ten_out();
    t.answers(200, "ack 1 ace 5 sack 1001:4001", "1:1001 . ace 5 ect0");
    t.drain();
}

#[test]
fn segments_without_data_are_not_ecn_capable_with_classic_ecn() {
    let mut t = Script::established(Profile { ecn: EcnRule::On, ..linux() }, Peer { ecn: true, ..PEER });
    t.answers(101, "1:1001 ect0", "ack 1001");
}

#[test]
fn a_time_wait_socket_sends_no_counts() {
    let mut t = opened(2, 5);
    t.leave(101);
    t.expect(101, "1:1 F. ace 5 ect0");
    t.inject(102, "ack 2 ace 5");
    t.answers(103, "1:1 F ace 5", "ack 2 ect0");
}

// The receiver.

#[test]
fn the_receiver_counts_marked_packets_and_octets_by_codepoint() {
    let mut t = opened_with_option(PEER);
    t.answers(101, "1:1001 ect0", "ack 1001 ace 5 octets1 1,0,1001 ect0");
    t.answers(102, "1001:2001 ce", "ack 2001 ace 6 octets1 1,1000,1001 ect0");
    t.answers(103, "2001:2501 ce", "ack 2501 ace 7 octets1 1,1500,1001 ect0");
    // In RFC 9768 the receiver does not repeat an echo, so CWR has no meaning. The first ACKs of Linux are quick ACKs:
    // each segment is acknowledged separately.
    t.answers(104, "2501:3501 ect1", "ack 3501 ace 7 octets1 1001,1500,1001 ect0");
    // Data that this end sends also carries the packet count.
    t.sends(105, 500, "1:501 . ace 7 octets1 1001,1500,1001 ect0");
}

#[test]
fn the_option_is_sent_once_the_peer_has_sent_it_and_shortens_the_data() {
    let mut t = opened(2, 5);
    t.answers(101, "1:1001 ect0", "ack 1001 ace 5 ect0");
    t.inject(102, "ack 1 ace 5 octets0 1,0,1");
    t.answers(103, "1001:2001 ect0", "ack 2001 ace 5 octets1 1,0,2001 ect0");
    // The option takes 12 bytes of each segment.
    t.sends(104, 2000, "1:989 . ace 5 octets1 1,0,2001 ect0");
    t.expect(104, "989:1977 . ace 5 octets1 1,0,2001 ect0");
    t.drain();
    // tcp_ecn_option = 0: no option, whatever the peer sends.
    let silent = Profile { ecn_option: false, ..accurate() };
    let mut t = Script::listen(silent, PEER);
    t.answers(0, &format!("{} AWE", t.peer_syn("S")), "S. 0:0 ack 1 ace 2");
    t.inject(100, "ack 1 ace 2 octets0 1,0,1");
    t.sends(100, 1000, "1:1001 . ace 5 ect0");
}

#[test]
fn the_initial_window_is_ten_segments_with_the_option() {
    let mut t = opened_with_option(PEER);
    t.write(101, 60_000);
    for n in 0..10 {
        t.expect(101, &format!("{}:{} . ace 5 octets1 1,0,1 ect0", n * 988 + 1, n * 988 + 989));
    }
    t.expect_nothing_until(102);
}

#[test]
fn changed_counters_displace_the_third_sack_block() {
    // With timestamps, three SACK blocks fill the header. The change of a counter displaces the oldest block.
    let mut t = opened_with_option(TIMESTAMPS);
    t.answers(110, "1001:2001 ect1", "ack 1 ace 5 sack 1001:2001 octets1 1001,0,1 ect0");
    t.answers(120, "3001:4001 ect1", "ack 1 ace 5 sack 3001:4001,1001:2001 octets1 2001,0 ect0");
    t.answers(130, "5001:6001 ce", "ack 1 ace 6 sack 5001:6001,3001:4001 octets1 2001,1000 ect0");
    // No counter has changed since the last option, so the ACK carries three SACK blocks.
    t.answers(140, "7001:8001", "ack 1 ace 6 sack 7001:8001,5001:6001,3001:4001 ect0");
}

#[test]
fn the_option_ends_if_acks_with_the_option_are_lost() {
    // Section 3.2.3.2.2, tcp_rcv_spurious_retrans: the same data arrives a third time, so the path probably drops ACKs
    // with the option.
    let mut t = opened_with_option(PEER);
    t.answers(110, "1:1001 ect0", "ack 1001 ace 5 octets1 1,0,1001 ect0");
    t.answers(120, "1:1001 ect0", "ack 1001 ace 5 sack 1:1001 octets1 1,0,2001 ect0");
    t.answers(130, "1:1001 ect0", "ack 1001 ace 5 sack 1:1001 ect0");
    t.answers(140, "1001:2001 ect0", "ack 2001 ace 5 ect0");
}

#[test]
fn a_changed_codepoint_is_acknowledged_at_once_but_not_on_acks() {
    let mut t = opened(2, 5);
    for n in 0..30 {
        t.deliver(110 + n, &format!("{}:{} ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t.reads = false;
    t.inject(145, "30001:30501 ect0");
    t.expect_nothing_until(146);
    t.answers(146, "30501:31001 ce", "ack 31001 ace 6 ect0");
    // Marked segments without data are counted. These segments are not acknowledged, but the next data is acknowledged
    // at once.
    for n in 1..8 {
        t.inject(146 + n, "ack 1 ace 5 ce");
    }
    t.expect_nothing_until(300);
    t.answers(300, "31001:31501 ce", "ack 31501 ace 6 ect0");
}

// The sender.

#[test]
fn a_higher_count_halves_the_window_once_per_round_trip() {
    let mut t = ten_out();
    t.inject(200, "ack 1001 ace 6 octets0 1,1000,1");
    // The segment does not carry CWR, because the CWR bit is a part of the packet count.
    t.expect(200, "10001:10989 . ace 5 octets1 1,0,1 ect0");
    t.expect_ca_state(CaState::Cwr);
    t.expect_ssthresh(5);
    t.deliver(201, "ack 2001 ace 7 octets0 1,2000,1");
    t.deliver(202, "ack 3001 ace 7 octets0 1001,2000,1");
    t.expect_ssthresh(5);
    assert_eq!(t.info().counters.ecn_reductions, 1);
    assert_eq!(delivered_ce(&t), 2);
}

#[test]
fn the_count_of_an_old_ack_is_ignored() {
    let mut t = ten_out();
    t.answers(200, "ack 2001 ace 6", "10001:11001 . ace 5 ect0");
    // An ACK arrives after an ACK that was sent later. The older packet count of five must not be interpreted as a
    // count that has wrapped.
    t.inject(201, "ack 1001 ace 5");
    t.answers(202, "ack 3001 ace 6", "11001:12001 . ace 5 ect0");
    assert_eq!((t.info().counters.ecn_reductions, delivered_ce(&t)), (1, 1));
}

#[test]
fn the_count_of_an_ack_with_a_newer_timestamp_is_used() {
    // FLAG_TS_PROGRESS: the ACK acknowledges no new data, but a newer timestamp shows that the ACK is not old.
    for (stamp, marks) in [(100, 0), (101, 1)] {
        let mut t = opened_by(accurate(), TIMESTAMPS, "ace 2", 5);
        t.sends(101, 1000, "1:1001 . ace 5 ect0");
        t.inject(150, &format!("ack 1 ace 6 ts {stamp}:100"));
        assert_eq!(delivered_ce(&t), marks, "timestamp {stamp}");
        t.drain_until(2000);
    }
    // Without outstanding data, the marked packet was a pure ACK of this end, so the window is not reduced.
    let mut t = opened_by(accurate(), TIMESTAMPS, "ace 2", 5);
    t.inject(150, "ack 1 ace 6 ts 150:100");
    assert_eq!((delivered_ce(&t), t.info().counters.ecn_reductions), (1, 0));
}

#[test]
fn a_large_ack_may_hide_a_wrap_of_the_count() {
    // One ACK covers nine segments. The 3-bit count has not changed, so either no segment or eight segments were
    // marked.
    let mut t = ten_out();
    t.deliver(200, "ack 1001 ace 5");
    t.deliver(201, "ack 10001 ace 5");
    assert_eq!(delivered_ce(&t), 8, "the worst case");
    // The first ACK covers ten segments, so ACKs are thinned, and the count is assumed not to have wrapped.
    let mut t = ten_out();
    t.deliver(200, "ack 10001 ace 6");
    assert_eq!(delivered_ce(&t), 1);
    // The option reports that no byte was marked.
    for peer in [PEER, NO_SACK] {
        let mut t = opened_with_option(peer);
        t.write(101, 9880);
        t.drain();
        t.deliver(200, "ack 989 ace 5 octets0 989,0,1");
        t.deliver(201, "ack 9881 ace 5 octets0 9881,0,1");
        assert_eq!(delivered_ce(&t), 0);
    }
}

#[test]
fn arriving_marks_are_counted_for_tcp_info() {
    let mut t = opened(2, 5);
    let received = |t: &Script| t.info().accurate_ecn.expect("accurate ECN").received_ce;
    let before = received(&t);
    for (at, segment) in [(110, "1:1001 ace 5 ce"), (111, "1001:2001 ace 5 ect0"), (112, "2001:3001 ace 5 ce")] {
        t.deliver(at, segment);
    }
    assert_eq!(received(&t) - before, 2);
}
