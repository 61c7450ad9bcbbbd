//! The handshake (RFC 9293 section 3.5): the negotiated options, and retransmissions of the SYN and the SYN-ACK.

use super::script::{NO_SACK, PEER, Peer, Script, TIMESTAMPS, freebsd, linux, receive_buffer};
use crate::{ConnError, ConnEvent, State};
use lopsided_core::Bytes;

#[test]
fn active_open_offers_the_options_of_the_profile() {
    let mut t = Script::connect(linux(), TIMESTAMPS);
    t.expect(0, "S 0:0 mss 1012 sackok wscale 7 ts 0:0");
    t.inject(100, &t.peer_syn("S. ack 1"));
    t.expect_event(ConnEvent::Established);
    t.expect(100, ". 1:1 ack 1 ts 100:0");
    t.expect_state(State::Established);
    let info = t.info();
    assert_eq!((info.snd_mss, info.snd_wscale, info.snd_wnd), (Bytes::new(1000), 8, Bytes::new(65_535)));
}

#[test]
fn the_events_of_a_connection_include_the_first_phase_of_congestion_control() {
    let t = Script::established(linux(), PEER);
    assert!(t.story().contains(" ACK 1: "), "{}", t.story());
    assert!(t.story().contains(" congestion control starts in slow start"), "{}", t.story());
}

#[test]
fn passive_open_answers_with_the_options_that_both_ends_support() {
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1 mss 1012 sackok wscale 7");
    t.expect_state(State::SynReceived);
    t.inject(100, "ack 1");
    t.expect_event(ConnEvent::Established);
    t.expect_state(State::Established);
    assert_eq!(t.info().srtt.map(|srtt| srtt.as_micros()), Some(100_000));
}

/// In captures of 6.1, the SYN-ACK advertises 65,160 bytes, which is 45 segments of 1,448 bytes.
#[test]
fn the_window_of_a_syn_ack_is_a_whole_number_of_segments() {
    let mut t = Script::listen(linux(), TIMESTAMPS);
    t.inject(0, "S 0:0 win 65535 mss 1460 sackok wscale 8 ts 0:0");
    // Half of the buffer is 65,536 bytes, which is rounded down to whole segments of 1,000 bytes.
    t.expect(0, "S. 0:0 ack 1 win 65000");
}

#[test]
fn options_that_the_peer_did_not_offer_are_not_used() {
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, "S 0:0 mss 536 win 8000", "S. 0:0 ack 1 mss 1012");
    t.peer.wscale = 0;
    t.inject(50, "ack 1 win 8000");
    let info = t.info();
    assert_eq!((info.snd_wscale, info.rcv_wscale, info.snd_wnd), (0, 0, Bytes::new(8000)));
    // RFC 6928 section 2: ten segments of the negotiated size.
    t.write(50, 20_000);
    for n in 0..10 {
        t.expect(50, &format!("{}:{} .", 1 + n * 536, 1 + (n + 1) * 536));
    }
}

#[test]
fn without_an_mss_option_segments_have_536_octets() {
    // RFC 9293 section 3.7.1: without an MSS option, the sender assumes an MSS of 536 bytes.
    let mut t = Script::listen(linux(), NO_SACK);
    t.answers(0, "S 0:0 win 8000", "S. 0:0 ack 1");
    t.peer.wscale = 0;
    t.inject(50, "ack 1 win 8000");
    assert_eq!(t.info().snd_mss, Bytes::new(536));
}

#[test]
fn the_window_in_a_syn_is_not_scaled() {
    // RFC 7323 section 2.2.
    let mut t = Script::connect(receive_buffer(linux(), 1_000_000), PEER);
    t.expect(0, "S 0:0 win 65535 wscale 4");
    t.answers(100, &t.peer_syn("S. ack 1"), "ack 1 win 1000000");
}

#[test]
fn a_lost_syn_is_retransmitted_with_doubled_timeouts_until_the_attempt_fails() {
    // RFC 6298 rules 2.1 and 5.5: the RTO is 1 s at first and doubles at each timeout. Linux's tcp_syn_retries is 6, so
    // the attempt lasts 127 s.
    let mut t = Script::connect(linux(), PEER);
    for at in [0, 1000, 3000, 7000, 15_000, 31_000, 63_000] {
        t.expect(at, "S 0:0");
    }
    t.expect_nothing_until(126_999);
    t.expect_no_event();
    t.expect_nothing_until(127_000);
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
    t.expect_state(State::Closed);
}

#[test]
fn an_unacknowledged_syn_ack_times_out_after_63_s() {
    // Linux's tcp_synack_retries is 5, so the attempt lasts 63 s.
    let mut t = Script::listen(linux(), PEER);
    t.inject(0, &t.peer_syn("S"));
    for at in [0, 1000, 3000, 7000, 15_000, 31_000] {
        t.expect(at, "S. 0:0 ack 1");
    }
    t.expect_nothing_until(63_000);
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
}

#[test]
fn a_lost_syn_ack_is_retransmitted_by_timer_and_for_a_repeated_syn() {
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
    t.expect(1000, "S. 0:0 ack 1");
    t.answers(1500, &t.peer_syn("S"), "S. 0:0 ack 1");
    t.inject(1600, "ack 1");
    t.expect_state(State::Established);
    // Karn's rule: the ACK may answer any of the SYN-ACKs, so it provides no RTT sample.
    assert_eq!(t.info().srtt, None);
}

#[test]
fn after_a_retransmitted_syn_the_rto_starts_at_3_s() {
    // RFC 6298 rule 5.7: the SYN-ACK may answer any of the SYNs, so it provides no RTT sample.
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.expect(1000, "S 0:0");
    t.answers(1100, &t.peer_syn("S. ack 1"), "ack 1");
    assert_eq!(t.info().srtt, None);
    t.sends(1100, 1000, "1:1001 .");
    // Linux: without an RTT, the tail loss probe is sent after the initial RTO of 1 s. The RTO expires 3 s after the
    // probe.
    t.expect(2100, "1:1001 .");
    t.expect(5100, "1:1001 .");
}

#[test]
fn after_a_retransmitted_syn_the_echoed_timestamp_gives_the_rtt() {
    // RFC 7323 section 4.1: the echoed timestamp identifies the SYN that is answered.
    let mut t = Script::connect(linux(), TIMESTAMPS);
    t.expect(0, "S 0:0 ts 0:0");
    t.expect(1000, "S 0:0 ts 1000:0");
    t.answers(1100, "S. 0:0 ack 1 win 65535 mss 1012 sackok wscale 8 ts 1100:1000", "ack 1 ts 1100:1100");
    assert_eq!(t.info().srtt.map(|srtt| srtt.as_micros()), Some(100_000));
    assert_eq!(t.info().backoff, 0);
}

#[test]
fn a_syn_lost_twice_reduces_the_window_to_one_segment() {
    // RFC 5681 section 3.1: if the SYN was lost, the initial window is one segment. Linux 3.0 and later reduce the
    // window only if the SYN was lost at least twice, because the initial RTO is only 1 s.
    for (lost, segments) in [(1, 10), (2, 1)] {
        let mut t = Script::connect(linux(), PEER);
        let starts = &[0, 1000, 3000][..=lost];
        for at in starts {
            t.expect(*at, "S 0:0");
        }
        let answered = starts[lost] + 500;
        t.answers(answered, &t.peer_syn("S. ack 1"), "ack 1");
        t.expect_cwnd(segments);
    }
}

/// Linux's tcp_try_undo_spurious_syn: if the SYN-ACK answers the first SYN, the SYN-ACK was late and no SYN counts as
/// lost.
#[test]
fn a_late_answer_to_the_first_of_three_syns_keeps_the_initial_window() {
    for (echo, segments) in [(0, 10), (1000, 1), (3000, 1)] {
        let mut t = Script::connect(linux(), TIMESTAMPS);
        for at in [0, 1000, 3000] {
            t.expect(at, &format!("S 0:0 ts {at}:0"));
        }
        t.inject(3900, &format!("S. 0:0 ack 1 win 65535 mss 1012 sackok wscale 8 ts 3900:{echo}"));
        t.expect(3900, "ack 1 ts 3900:3900");
        t.expect_cwnd(segments);
    }
    // In a passive open, a late ACK of the first SYN-ACK keeps the initial window too. It echoes the timestamp of the
    // first SYN-ACK.
    for (echo, segments) in [(0, 10), (1000, 1)] {
        let mut t = Script::listen(linux(), TIMESTAMPS);
        t.inject(0, "S 0:0 win 65535 mss 1012 sackok wscale 8 ts 0:0");
        for at in [0, 1000, 3000] {
            t.expect(at, "S. 0:0 ack 1");
        }
        t.inject(3900, &format!("ack 1 ts 3900:{echo}"));
        t.expect_cwnd(segments);
    }
}

/// Linux's req->num_retrans: a SYN-ACK that answers a repeated SYN counts as lost if it has also timed out.
#[test]
fn a_syn_ack_for_a_repeated_syn_counts_as_lost_if_one_has_also_timed_out() {
    for (timeout, segments) in [(false, 10), (true, 1)] {
        let mut t = Script::listen(linux(), PEER);
        t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
        t.answers(500, &t.peer_syn("S"), "S. 0:0 ack 1");
        if timeout {
            t.expect(1500, "S. 0:0 ack 1");
        } else {
            t.answers(1400, &t.peer_syn("S"), "S. 0:0 ack 1");
        }
        t.inject(1600, "ack 1");
        t.expect_cwnd(segments);
    }
}

/// The counters correspond to Linux's `tcpi_total_retrans` and `TCPTimeouts`.
#[test]
fn syns_count_as_retransmissions_and_timeouts() {
    let mut t = Script::connect(linux(), PEER);
    for at in [0, 1000, 3000] {
        t.expect(at, "S 0:0");
    }
    assert_eq!((t.info().counters.retransmits, t.info().counters.timeouts), (2, 2));
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
    t.answers(500, &t.peer_syn("S"), "S. 0:0 ack 1");
    assert_eq!((t.info().counters.retransmits, t.info().counters.timeouts), (1, 0));
}

#[test]
fn freebsd_retransmits_a_syn_after_3_s() {
    let mut t = Script::connect(freebsd(), PEER);
    t.expect(0, "S 0:0 mss 1012 sackok wscale 3");
    t.expect(3000, "S 0:0");
}

#[test]
fn data_in_the_last_segment_of_the_handshake_is_accepted() {
    let mut t = Script::listen(linux(), PEER);
    t.reads = false;
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
    t.inject(100, "1:1001 ack 1");
    t.expect_state(State::Established);
    t.expect(100, ". 1:1 ack 1001");
    assert_eq!(t.connection.readable(), 1000);
}

#[test]
fn data_completes_the_handshake_if_its_last_ack_was_lost() {
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
    // The client's ACK and its first data segment were lost, and its second data segment arrives.
    t.inject(100, "1001:2001 ack 1");
    t.expect_state(State::Established);
    t.expect(100, "ack 1 sack 1001:2001");
}

#[test]
fn a_repeated_syn_ack_is_acknowledged_again() {
    // This end's ACK was lost, so the peer repeats its SYN-ACK. This is the case of a SYN in a synchronized state (RFC
    // 9293 section 3.10.7.4).
    let mut t = Script::established(linux(), PEER);
    t.answers(1100, &t.peer_syn("S. ack 1"), ". 1:1 ack 1");
    t.expect_state(State::Established);
}

#[test]
fn syn_sent_answers_an_unacceptable_ack_with_a_reset() {
    // RFC 9293 section 3.10.7.3, first step: the answer is <SEQ=SEG.ACK><CTL=RST>, and the attempt continues.
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.answers(10, "S. 0:0 ack 500", "R 500:500");
    t.expect_state(State::SynSent);
    t.answers(20, "1:1 ack 0", "R 0:0");
    t.answers(100, &t.peer_syn("S. ack 1"), "ack 1");
}

#[test]
fn syn_sent_drops_segments_without_syn_and_a_syn_without_ack() {
    // RFC 9293 section 3.10.7.3, fifth step: a segment with neither SYN nor RST is dropped. Simultaneous opens are not
    // supported, so a SYN without ACK is dropped too.
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.inject(10, "0:0 ack 1");
    t.expect_state(State::SynSent);
    t.inject(20, &t.peer_syn("S"));
    t.expect_state(State::SynSent);
    t.answers(100, &t.peer_syn("S. ack 1"), "ack 1");
}

#[test]
fn syn_sent_accepts_a_reset_only_with_an_acceptable_ack() {
    // RFC 9293 section 3.10.7.3, second check.
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.inject(10, "R. 0:0 ack 7");
    t.inject(10, "R 0:0");
    t.expect_state(State::SynSent);
    t.inject(20, "R. 0:0 ack 1");
    t.expect_event(ConnEvent::Failed(ConnError::Refused));
    t.expect_state(State::Closed);
}

#[test]
fn syn_received_ends_only_with_an_ack_of_its_syn() {
    // RFC 9293 section 3.10.7.4, fifth check: an unacceptable ACK is answered with <SEQ=SEG.ACK><CTL=RST>.
    let mut t = Script::listen(linux(), PEER);
    t.answers(0, &t.peer_syn("S"), "S. 0:0 ack 1");
    t.answers(50, "1:1 ack 5001", "R 5001:5001");
    t.expect_state(State::SynReceived);
    t.inject(100, "1:1 ack 1");
    t.expect_state(State::Established);
}

#[test]
fn listen_answers_an_ack_with_a_reset() {
    // RFC 9293 section 3.10.7.2: a reset is ignored. A segment with an acknowledgement belongs to an earlier connection
    // and is answered with a reset.
    let mut t = Script::listen(linux(), PEER);
    t.inject(0, "R 0:0");
    t.answers(10, "5:5 ack 77", "R 77:77");
    t.expect_state(State::Listen);
}

#[test]
fn data_written_before_the_handshake_is_sent_when_the_handshake_ends() {
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.write(0, 2000);
    t.answers(100, &t.peer_syn("S. ack 1"), "1:1001 ack 1");
    t.expect(100, "1001:2001 ack 1");
}

#[test]
fn both_ends_can_send_at_the_same_time() {
    let mut t = Script::established(linux(), Peer { window: 1 << 18, ..PEER });
    t.sends(100, 1000, "1:1001 ack 1");
    t.answers(150, "1:1001 ack 1", "1001:1001 ack 1001");
    t.answers(200, "1001:2001 ack 1001", "1001:1001 ack 2001");
    assert_eq!(t.info().in_flight, Bytes::ZERO);
}

#[test]
fn a_close_in_syn_sent_sends_nothing() {
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.close(10);
    t.expect_state(State::Closed);
    t.expect_nothing_until(200_000);
}
