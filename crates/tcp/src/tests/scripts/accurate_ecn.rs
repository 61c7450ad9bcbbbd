//! Accurate ECN feedback (RFC 9768).

use super::script::{PEER, Script, linux};
use crate::{CaState, EcnRule, Profile};

/// A profile with accurate ECN. Scripts specify all ECN bits of the peer's segments.
fn accurate() -> Profile {
    Profile { ecn: EcnRule::Accurate, ..linux() }
}

/// An active open. The peer's SYN-ACK has the ACE field `answer`, and its first segment has the ACE field `first`.
fn opened(answer: u8, first: u8) -> Script {
    let mut t = Script::connect(accurate(), PEER);
    t.expect(0, "SAWE 0:0");
    let syn_ack = format!("{} ace {answer}", t.peer_syn("S. ack 1"));
    t.inject(100, &syn_ack);
    t.expect(100, "ack 1 ace 2");
    t.inject(100, &format!("ack 1 ace {first}"));
    t
}

/// A script in which ten ECN-capable segments were sent at 100 ms. Each of them carries the initial packet count of
/// five.
fn ten_out() -> Script {
    let mut t = opened(2, 5);
    t.write(100, 60_000);
    for n in 0..10 {
        t.expect(100, &format!("{}:{} . ace 5 ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t
}

#[test]
fn both_ends_know_it() {
    // Section 3.1.1: a SYN with all three bits requests accurate ECN. The SYN-ACK reports the ECN field of the SYN as
    // it arrived, and the ACK reports that of the SYN-ACK. In this test both are not-ECT: 0b010.
    let mut t = Script::listen(accurate(), PEER);
    t.inject(0, &format!("{} AWE", t.peer_syn("S")));
    t.expect(0, "S. 0:0 ack 1 ace 2 octets0 1,0");
    t.inject(100, "ack 1 ace 2");
    t.write(100, 1000);
    t.expect(100, "1:1001 . ace 5 ect0");
    t = opened(2, 5);
    t.write(100, 1000);
    t.expect(100, "1:1001 . ace 5 ect0");
}

#[test]
fn the_answer_tells_how_the_syn_arrived() {
    // Table 2: a marked SYN counts as a marked packet, so the count is then six.
    for (arrived, answer, count) in [("ect0", 4, 5), ("ect1", 3, 5), ("ce", 6, 6)] {
        let mut t = Script::listen(accurate(), PEER);
        t.inject(0, &format!("{} AWE {arrived}", t.peer_syn("S")));
        t.expect(0, &format!("S. 0:0 ack 1 ace {answer}"));
        t.inject(100, "ack 1 ace 2");
        t.write(100, 1000);
        t.expect(100, &format!("1:1001 . ace {count} ect0"));
    }
}

#[test]
fn older_peers_get_what_they_know() {
    // Section 3.1.2: this end opens a connection to a classic server, and then accepts one from a classic client.
    let mut t = Script::connect(accurate(), PEER);
    t.expect(0, "SAWE 0:0");
    t.inject(100, &format!("{} E", t.peer_syn("S. ack 1")));
    t.expect(100, "ack 1");
    t.write(100, 60_000);
    for n in 0..10 {
        t.expect(100, &format!("{}:{} . ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t.inject(200, "ack 1001 E");
    t.expect(200, "10001:11001 .W ect0");

    let mut t = Script::listen(accurate(), PEER);
    t.inject(0, &format!("{} WE", t.peer_syn("S")));
    t.expect(0, "S.E 0:0 ack 1");

    // A server that supports only classic ECN receives a request for accurate ECN.
    let mut t = Script::listen(linux(), PEER);
    t.inject(0, &format!("{} AWE", t.peer_syn("S")));
    t.expect(0, "S.E 0:0 ack 1");

    // A server without ECN, and a server that copies the ECN bits of the SYN.
    for answer in ["", "AWE"] {
        let mut t = Script::connect(accurate(), PEER);
        t.expect(0, "SAWE 0:0");
        t.inject(100, &format!("{} {answer}", t.peer_syn("S. ack 1")));
        t.expect(100, "ack 1");
        t.write(100, 1000);
        t.expect(100, "1:1001 .");
    }
}

#[test]
fn what_is_unknown_is_taken_for_its_successor() {
    // Section 3.1.3: any combination of bits except the old ones requests accurate ECN, and 0b101 accepts it.
    for asked in [1, 2, 4, 5, 6] {
        let mut t = Script::listen(accurate(), PEER);
        t.inject(0, &format!("{} ace {asked}", t.peer_syn("S")));
        t.expect(0, "S. 0:0 ack 1 ace 2");
    }
    let mut t = opened(5, 5);
    t.write(100, 1000);
    t.expect(100, "1:1001 . ace 5 ect0");
}

#[test]
fn a_syn_asks_twice_and_then_does_without() {
    // Section 3.1.4.1.
    let mut t = Script::connect(accurate(), PEER);
    t.expect(0, "SAWE 0:0");
    t.expect(1000, "SAWE 0:0");
    t.expect(3000, "S 0:0");
}

#[test]
fn a_mangled_field_or_a_zeroed_count_ends_the_capable_packets() {
    // Section 3.2.2.3: the SYN was sent as not-ECT, so a SYN-ACK that reports another codepoint is invalid. Accurate
    // feedback is used in spite of this.
    for answer in [3, 4, 6] {
        let mut t = opened(answer, 5);
        t.write(100, 1000);
        t.expect(100, "1:1001 . ace 5");
        t.inject(101, "1:1001 ce");
        t.expect(101, "ack 1001 ace 6");
    }
    // Section 3.2.2.4: a packet count of zero.
    let mut t = opened(2, 0);
    t.write(100, 1000);
    t.expect(100, "1:1001 . ace 5");
    // Table 4: the checks of a passive open.
    for last in [0, 3, 4, 6] {
        let mut t = Script::listen(accurate(), PEER);
        t.inject(0, &format!("{} AWE", t.peer_syn("S")));
        t.expect(0, "S. 0:0 ack 1 ace 2");
        t.inject(100, &format!("ack 1 ace {last}"));
        t.write(100, 1000);
        t.expect(100, "1:1001 . ace 5");
    }
}

#[test]
fn the_receiver_counts_marked_packets_and_octets_by_codepoint() {
    let mut t = opened(2, 5);
    t.inject(101, "1:1001 ect0");
    t.expect(101, "ack 1001 ace 5 octets0 1001,0");
    t.inject(102, "1001:2001 ce");
    t.expect(102, "ack 2001 ace 6 octets0 1001,1000");
    t.inject(103, "2001:2501 ce");
    t.expect(103, "ack 2501 ace 7 octets0 1001,1500");
    // In RFC 9768 the receiver does not repeat an echo, and CWR has no meaning. Linux's first ACKs are quick ACKs, one
    // for each segment.
    t.inject(104, "2501:3501 ect1");
    t.expect(104, "ack 3501 ace 7 octets1 1001,1500,1001");
    // Data that this end sends also carries the packet count.
    t.write(105, 500);
    t.expect(105, "1:501 . ace 7 ect0");
}

#[test]
fn sack_goes_before_the_counters() {
    let mut t = opened(2, 5);
    t.inject(101, "1:1001 ect0");
    t.expect(101, "ack 1001 ace 5 octets0 1001,0");
    t.inject(102, "2001:3001 ce");
    t.expect(102, "ack 1001 ace 6 sack 2001:3001 octets0 1001,1000");
}

#[test]
fn a_count_that_rose_halves_the_window_once_a_round_trip() {
    let mut t = ten_out();
    t.inject(200, "ack 1001 ace 6 octets0 1,1000");
    // The segment does not carry CWR: that bit is a part of the packet count.
    t.expect(200, "10001:11001 . ace 5 ect0");
    t.expect_ca_state(CaState::Cwr);
    t.expect_ssthresh(5);
    t.inject(201, "ack 2001 ace 7 octets0 1,2000");
    t.inject(202, "ack 3001 ace 7 octets0 1001,2000");
    t.expect(202, "11001:12001 . ace 5 ect0");
    t.expect_ssthresh(5);
    assert_eq!(t.info().counters.ecn_reductions, 1);
}

#[test]
fn an_old_ack_is_no_count() {
    let mut t = ten_out();
    t.inject(200, "ack 2001 ace 6 octets0 1001,1000");
    t.expect(200, "10001:11001 . ace 5 ect0");
    // An ACK that was sent before the last one arrives after it. Its packet count of five must not be interpreted as a
    // count that has wrapped.
    t.inject(201, "ack 1001 ace 5 octets0 1001,0");
    t.inject(202, "ack 3001 ace 6 octets0 2001,1000");
    t.expect(202, "11001:12001 . ace 5 ect0");
    assert_eq!(t.info().counters.ecn_reductions, 1);
}
