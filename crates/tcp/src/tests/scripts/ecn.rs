//! Explicit congestion notification (RFC 3168).

use super::script::{PEER, Peer, Script, linux};
use crate::{CaState, EcnRule, Profile};

const ECN: Peer = Peer { ecn: true, ..PEER };

fn ecn() -> Profile {
    Profile { ecn: EcnRule::On, ..linux() }
}

/// Returns a script that sent ten ECN-capable segments at 100 ms.
fn ten_out() -> Script {
    let mut t = Script::established(ecn(), ECN);
    t.write(100, 60_000);
    for n in 0..10 {
        t.expect(100, &format!("{}:{} . ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t
}

#[test]
fn ecn_is_used_only_if_both_ends_offer_it() {
    // Section 6.1.1: an ECN-setup SYN carries ECE and CWR, and an ECN-setup SYN-ACK carries only ECE. Neither segment
    // is ECN-capable.
    let mut t = Script::connect(ecn(), ECN);
    t.expect(0, "SEW 0:0");
    t.answers(100, &t.peer_syn("S. ack 1"), "ack 1");
    t.sends(100, 1000, "1:1001 . ect0");

    let mut t = Script::established(ecn(), PEER);
    t.sends(100, 1000, "1:1001 .");

    let mut t = Script::listen(ecn(), ECN);
    t.answers(0, &t.peer_syn("S"), "S.E 0:0 ack 1");

    let mut t = Script::listen(Profile { ecn: EcnRule::Off, ..linux() }, ECN);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
}

#[test]
fn linux_accepts_ecn_and_does_not_request_it() {
    let mut t = Script::listen(linux(), ECN);
    t.answers(0, &t.peer_syn("S"), "S.E 0:0 ack 1");

    let mut t = Script::connect(linux(), ECN);
    t.expect(0, "S 0:0");
}

/// Linux's tcp_newreno_mark_lost also counts duplicate ACKs in the CWR state. A sender with ECN is usually in the CWR
/// state.
#[test]
fn without_sack_three_duplicates_also_start_a_recovery_in_cwr() {
    let mut t = Script::established(ecn(), Peer { sack: false, ..ECN });
    t.write(100, 60_000);
    t.drain();
    t.deliver(200, "E. ack 1001");
    t.expect_ca_state(CaState::Cwr);
    t.inject(201, "E. ack 1001");
    t.deliver(202, "E. ack 1001");
    t.inject(203, "E. ack 1001");
    t.expect_ca_state(CaState::Recovery);
    // PRR sends one segment for every two delivered segments (RFC 6937).
    t.answers(204, "E. ack 1001", "1001:2001 .");
}

#[test]
fn a_retransmitted_syn_does_not_request_ecn() {
    // Section 6.1.1.1: the path may drop ECN-setup SYNs.
    let mut t = Script::connect(ecn(), ECN);
    t.expect(0, "SEW 0:0");
    t.expect(1000, "S 0:0");
}

/// Linux treats the timeout of a SYN like any other timeout (tcp_enter_loss), so the first data carries CWR.
#[test]
fn after_a_lost_syn_the_first_data_carries_cwr() {
    let mut t = Script::connect(ecn(), ECN);
    t.expect(0, "SEW 0:0");
    t.expect(1000, "S 0:0");
    t.answers(1100, &t.peer_syn("S.E ack 1"), "ack 1");
    t.sends(1100, 2000, "1:1001 .W ect0");
    t.expect(1100, "1001:2001 . ect0");
}

#[test]
fn an_ecn_echo_halves_the_window_once_per_round_trip_and_new_data_carries_cwr() {
    // Section 6.1.2.
    let mut t = ten_out();
    t.answers(200, "ack 1001 E", "10001:11001 .W ect0");
    t.expect_ca_state(CaState::Cwr);
    t.expect_ssthresh(5);
    t.inject(201, "ack 2001 E");
    t.answers(202, "ack 3001 E", "11001:12001 . ect0");
    t.expect_ssthresh(5);
    assert_eq!(t.info().counters.ecn_reductions, 1);
}

#[test]
fn the_receiver_echoes_a_mark_until_cwr_arrives() {
    // Section 6.1.3.
    let mut t = Script::established(ecn(), ECN);
    t.answers(100, "1:1001 ect0", ". ack 1001");
    t.answers(101, "1001:2001 ce", ".E ack 2001");
    t.answers(102, "2001:3001 ect0", ".E ack 3001");
    t.sends(103, 500, "1:501 .E ect0");
    t.answers(104, "3001:4001 W ect0", ". ack 4001");
}

/// The expected ACKs come from captures of Linux 6.1.
#[test]
fn linux_takes_a_not_ect_segment_for_a_retransmission_and_sends_two_quick_acks() {
    let quick = |repair: &str| {
        let mut t = Script::established(ecn(), ECN);
        let mut arrives = |n: u32, codepoint: &str| {
            let before = t.info().counters.pure_acks_out;
            t.deliver(100 + n, &format!("{}:{} {codepoint}", 1 + n * 1000, 1001 + n * 1000));
            t.info().counters.pure_acks_out - before
        };
        // The initial quick ACKs are used up at the first segment that is not acknowledged separately.
        let mut n = 0;
        while arrives(n, "ect0") > 0 {
            n += 1;
        }
        assert_eq!(arrives(n + 1, "ect0"), 1);
        [arrives(n + 2, repair), arrives(n + 3, "ect0")]
    };
    assert_eq!([quick("ect0"), quick("")], [[0, 1], [1, 1]]);
}

/// Linux 6.1's __tcp_ecn_check_ce: marks that arrive while the first mark is still being echoed grant no quick ACKs.
#[test]
fn linux_sends_two_quick_acks_at_the_first_mark() {
    let mut t = Script::established(ecn(), ECN);
    let mut n = 0;
    let mut arrives = |t: &mut Script, flags: &str| {
        let before = t.info().counters.pure_acks_out;
        t.deliver(100 + n, &format!("{}:{} {flags}", 1 + n * 1000, 1001 + n * 1000));
        n += 1;
        t.info().counters.pure_acks_out - before
    };
    while arrives(&mut t, "ect0") > 0 {}
    assert_eq!(arrives(&mut t, "ect0"), 1);
    assert_eq!(["ce", "ce", "ce", "ce", "ce"].map(|mark| arrives(&mut t, mark)), [1, 1, 0, 1, 0]);
    // CWR shows that the peer has reduced its window. The data with CWR is acknowledged at once, and the next mark
    // counts as a first mark.
    assert_eq!(["W ect0", "ce", "ce", "ce", "ce"].map(|mark| arrives(&mut t, mark)), [1, 1, 1, 0, 1]);
}

#[test]
fn a_retransmission_is_not_ecn_capable_and_the_next_new_segment_carries_cwr() {
    // Section 6.1.5: a retransmission is not ECN-capable. Section 6.1.2: CWR announces a reduction for any reason.
    let mut t = ten_out();
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 . ect0");
    t.answers(201, "ack 1 sack 1001:3001", "11001:12001 . ect0");
    t.answers(202, "ack 1 sack 1001:4001", "1:1001 .");
    t.inject(203, "ack 1 sack 1001:5001");
    t.answers(204, "ack 1 sack 1001:6001", "12001:13001 .W ect0");
}

/// RFC 8257 section 3.5, and Linux for congestion controls with TCP_CONG_NEEDS_ECN: SYNs, pure ACKs and retransmissions
/// are ECN-capable.
#[test]
fn every_segment_of_dctcp_is_ecn_capable() {
    let mut t = Script::connect_with(linux(), ECN, "dctcp");
    t.expect(0, "SEW 0:0 ect0");
    t.answers(100, &t.peer_syn("S.E ack 1"), "ack 1 ect0");
    t.write(100, 5000);
    for n in 0..5 {
        t.expect(100, &format!("{}:{} . ect0", n * 1000 + 1, n * 1000 + 1001));
    }
    t.answers(200, "ack 1 sack 1001:4001", "1:1001 . ect0");
}

/// Linux's tcp_ecn_create_request: an ECN-capable SYN comes from a peer with DCTCP, so a listener with another
/// congestion control declines ECN.
#[test]
fn a_listener_without_dctcp_declines_an_ecn_capable_syn() {
    let mut t = Script::listen(ecn(), ECN);
    t.answers(0, &(t.peer_syn("S") + " ect0"), "S. 0:0 ack 1");
}

/// tcp_fastretrans_alert: CWR ends when data beyond its recovery point is acknowledged, because the flag CWR has then
/// reached the receiver.
#[test]
fn the_cwr_state_lasts_until_data_sent_after_the_mark_is_acknowledged() {
    let mut t = ten_out();
    t.deliver(200, "E. ack 1001");
    t.expect_ca_state(CaState::Cwr);
    // At the time of the mark, data up to 10001 had been sent.
    for (at, ack) in [(210, 3001), (220, 9001), (230, 10_001)] {
        t.deliver(at, &format!("ack {ack}"));
        t.expect_ca_state(CaState::Cwr);
    }
    t.deliver(300, "ack 11001");
    t.expect_ca_state(CaState::Open);
}
