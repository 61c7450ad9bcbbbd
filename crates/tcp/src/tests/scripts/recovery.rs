//! Loss recovery without a timeout: fast retransmit and recovery (RFC 5681, 6582, 6675), RACK (RFC 8985 section 6) and
//! PRR (RFC 6937).

use super::script::{MSS, NO_SACK, PEER, Peer, Script, TIMESTAMPS, linux};
use crate::{CaState, CwndReduction, FastRecovery, LossDetection, Profile};
use lopsided_core::Bytes;

/// Returns a script in which ten segments were sent at 100 ms. No segment is acknowledged, and more data waits to be
/// sent.
fn ten_out(profile: Profile, no_sack: bool) -> Script {
    let mut t = Script::established(profile, if no_sack { NO_SACK } else { PEER });
    t.sends_train(100, 60_000, 1, 10_001);
    t
}

/// Returns a script in SACK recovery at 202 ms. The first segment is lost. Two SACKs release new data (RFC 3042), and
/// the third SACK triggers the retransmission.
fn in_sack_recovery(profile: Profile) -> Script {
    let mut t = ten_out(profile, false);
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 .");
    t.expect_ca_state(CaState::Disorder);
    t.answers(201, "ack 1 sack 1001:3001", "11001:12001 .");
    t.answers(202, "ack 1 sack 1001:4001", "1:1001 .");
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(5);
    t
}

#[test]
fn prr_sends_one_segment_per_two_delivered_until_ssthresh_is_reached() {
    // RFC 6937 section 3.1: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out. Here ssthresh is five segments and
    // RecoverFS ten.
    let mut t = in_sack_recovery(linux());
    t.inject(203, "ack 1 sack 1001:5001");
    t.answers(204, "ack 1 sack 1001:6001", "12001:13001 .");
    t.inject(205, "ack 1 sack 1001:7001");
    t.answers(206, "ack 1 sack 1001:8001", "13001:14001 .");
    t.inject(207, "ack 1 sack 1001:9001");
    // The number of segments in flight, five, equals the threshold. From now on one segment is sent for each delivered
    // segment.
    t.inject(208, "ack 1 sack 1001:10001");
    t.answers(300, "ack 1 sack 1001:11001", "14001:15001 .");
    t.answers(301, "ack 1 sack 1001:12001", "15001:16001 .");
    t.answers(302, "ack 12001", "16001:17001 .");
    t.expect_ca_state(CaState::Open);
    t.expect_cwnd(5);
    // Congestion avoidance: the window grows by one segment per delivered window. The last ACK has already contributed
    // one segment to this count.
    for (ack, new) in [(13_001, 17_001), (14_001, 18_001), (15_001, 19_001)] {
        t.answers(400, &format!("ack {ack}"), &format!("{new}:{} .", new + 1000));
        t.expect_cwnd(5);
    }
    t.inject(401, "ack 16001");
    t.expect_train(401, 20_001, 22_001);
    t.expect_cwnd(6);
}

#[test]
fn prr_grows_back_to_ssthresh_in_slow_start_after_heavy_loss() {
    // RFC 6937 section 3.1, slow-start reduction bound. Linux adds a segment only for an ACK that acknowledges new
    // data.
    let mut t = ten_out(linux(), false);
    t.answers(200, "ack 1 sack 6001:7001", "10001:11001 .");
    t.answers(201, "ack 1 sack 6001:8001", "11001:12001 .");
    t.answers(202, "ack 1 sack 6001:9001", "1:1001 .");
    t.answers(203, "ack 1 sack 6001:10001", "1001:2001 .");
    t.answers(300, "ack 1 sack 6001:11001", "2001:3001 .");
    t.answers(301, "ack 1 sack 6001:12001", "3001:4001 .");
    t.inject(302, "ack 1001 sack 6001:12001");
    t.expect_train(302, 4001, 6001);
}

#[test]
fn without_prr_the_window_is_reduced_at_once() {
    // RFC 6675 section 5: nothing is sent until the data in flight is below the new window.
    let mut t = in_sack_recovery(Profile { cwnd_reduction: CwndReduction::Immediate, ..linux() });
    t.expect_cwnd(5);
    // Including the retransmission, nine segments are in flight. After the eighth SACK, five segments are in flight.
    for (at, end) in [(203, 5001), (204, 6001), (205, 7001), (206, 8001)] {
        t.inject(at, &format!("ack 1 sack 1001:{end}"));
    }
    t.answers(207, "ack 1 sack 1001:9001", "12001:13001 .");
    t.answers(208, "ack 1 sack 1001:10001", "13001:14001 .");
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    // RFC 5681 section 3.2 step 1: without limited transmit (RFC 3042), only the third duplicate ACK causes a
    // transmission.
    let mut t = ten_out(Profile { limited_transmit: false, ..linux() }, false);
    t.inject(200, "ack 1 sack 1001:2001");
    t.inject(201, "ack 1 sack 1001:3001");
    t.answers(202, "ack 1 sack 1001:4001", "1:1001 .");
}

#[test]
fn rack_detects_a_lost_retransmission_by_data_sent_later() {
    // RFC 8985 section 6.2 step 5: the retransmission was sent at 202 ms, and data that was sent at 204 ms has been
    // delivered, so the retransmission counts as lost.
    let mut t = in_sack_recovery(linux());
    t.inject(203, "ack 1 sack 1001:5001");
    t.answers(204, "ack 1 sack 1001:6001", "12001:13001 .");
    for (at, end) in [(300, 11_001), (301, 12_001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end}"));
    }
    assert_eq!(t.info().retrans, 1);
    t.answers(304, "ack 1 sack 1001:13001", "1:1001 .");
    t.drain();
    assert_eq!(t.info().counters.retransmits, 2);
}

#[test]
fn in_freebsd_all_holes_below_the_highest_sack_are_lost() {
    let mut t = ten_out(
        Profile { loss_detection: LossDetection::FreeBsd, cwnd_reduction: CwndReduction::Immediate, ..linux() },
        false,
    );
    t.answers(200, "ack 1 sack 6001:7001", "10001:11001 .");
    t.answers(200, "ack 1 sack 6001:8001", "11001:12001 .");
    // Twelve segments are outstanding: three are SACKed, six are lost, and three are in flight. The window has space
    // for two more segments.
    t.inject(200, "ack 1 sack 6001:9001");
    t.expect_train(200, 1, 2001);
}

fn linux_2_6_recovery() -> Profile {
    Profile { loss_detection: LossDetection::Fack, cwnd_reduction: CwndReduction::RateHalving, ..linux() }
}

#[test]
fn fack_marks_holes_lost_by_their_distance_to_the_highest_sack() {
    // One SACK suffices: of the seven segments below the SACKed segment, the lower five have at least three segments
    // above them.
    let mut t = ten_out(linux_2_6_recovery(), false);
    t.answers(200, "ack 1 sack 7001:8001", "1:1001 .");
    t.expect_ca_state(CaState::Recovery);
    assert_eq!(t.info().lost, 5);
    // Two segments above a hole are fewer than the threshold of three.
    let mut t = ten_out(linux_2_6_recovery(), false);
    t.answers(200, "ack 1 sack 2001:3001", "10001:11001 .");
    t.expect_ca_state(CaState::Disorder);
    t.answers(201, "ack 1 sack 2001:4001", "1:1001 .");
    assert_eq!(t.info().lost, 1, "the second segment has two above it");
}

#[test]
fn rate_halving_sends_one_segment_per_two_acks_until_the_window_is_halved() {
    let mut t = in_sack_recovery(linux_2_6_recovery());
    // Nine segments are in flight. From now on one segment is sent per two ACKs.
    t.inject(203, "ack 1 sack 1001:5001");
    t.expect_cwnd(8);
    t.answers(204, "ack 1 sack 1001:6001", "12001:13001 .");
    t.inject(205, "ack 1 sack 1001:7001");
    t.expect_cwnd(7);
    t.answers(206, "ack 1 sack 1001:8001", "13001:14001 .");
    for (at, end) in [(207, 9001), (208, 10_001), (300, 11_001), (301, 12_001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end}"));
    }
    t.expect_cwnd(5);
    t.deliver(302, "ack 12001");
    t.expect_ca_state(CaState::Open);
    t.expect_cwnd(5);
}

#[test]
fn fack_detects_a_lost_retransmission_by_new_data_sent_later() {
    let mut t = in_sack_recovery(linux_2_6_recovery());
    t.inject(203, "ack 1 sack 1001:5001");
    t.answers(204, "ack 1 sack 1001:6001", "12001:13001 .");
    t.deliver(300, "ack 1 sack 1001:12001");
    assert_eq!(t.info().counters.retransmits, 1);
    // Data that was sent at 204 ms has been delivered, but the retransmission of 202 ms has not, so the retransmission
    // counts as lost.
    t.answers(304, "ack 1 sack 1001:13001", "1:1001 .");
    assert_eq!(t.info().counters.retransmits, 2);
}

#[test]
fn rfc_6675_marks_a_hole_lost_with_three_sacked_segments_above() {
    // RFC 6675 section 4, IsLost: three segments above the first hole are SACKed, but only one segment above the second
    // hole.
    let mut t = ten_out(
        Profile { loss_detection: LossDetection::Rfc6675, cwnd_reduction: CwndReduction::Immediate, ..linux() },
        false,
    );
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 .");
    t.answers(200, "ack 1 sack 1001:3001", "11001:12001 .");
    t.answers(200, "ack 1 sack 4001:5001,1001:3001", "1:1001 .");
    assert_eq!(t.info().lost, 1);
}

#[test]
fn once_reordering_was_detected_rack_waits_a_quarter_of_the_rtt() {
    // RFC 8985 section 6.2 step 4: the reordering window is 1/4 of the minimum RTT. Linux's timer adds 2 ms.
    let mut t = ten_out(linux(), false);
    t.answers(200, "ack 1 sack 1001:2001", "10001:11001 .");
    // The first segment arrives late; it was not lost.
    t.inject(201, "ack 2001");
    t.expect_train(201, 11_001, 13_001);
    t.expect_ca_state(CaState::Open);
    for (n, at) in [202, 203, 204].into_iter().enumerate() {
        t.inject(at, &format!("ack 2001 sack 3001:{}", 4001 + n * 1000));
        t.expect(at, &format!("{}:{} .", 13_001 + n * 1000, 14_001 + n * 1000));
    }
    t.expect_ca_state(CaState::Disorder);
    t.expect(231, "2001:3001 .");
    t.expect_ca_state(CaState::Recovery);
}

/// RFC 8985 section 6.2 step 2 (Linux's tcp_skb_spurious_retrans): the original transmission caused the ACK, so
/// segments that were sent before the retransmission do not count as lost.
#[test]
fn a_spurious_retransmission_marks_no_earlier_segment_lost() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.sends_train(100, 60_000, 1, 10_001);
    for (at, end) in [(200, 2001), (201, 3001), (202, 4001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end} ts {at}:100"));
    }
    t.expect_ca_state(CaState::Recovery);
    let repaired = t.connection.send.flight.counters.retransmits;
    // The segments after the SACKed segments are still in the network. The original transmission of the first segment
    // arrives late.
    t.deliver(310, "ack 4001 ts 310:100");
    assert_eq!(t.connection.send.flight.counters.retransmits, repaired, "no other segment is retransmitted");
}

/// `prior_fack`: only segments below the highest offset SACKed before this ACK are out of order.
#[test]
fn the_sack_blocks_of_one_ack_do_not_count_as_reordering() {
    let mut t = ten_out(linux(), false);
    t.deliver(200, "ack 1 sack 5001:6001,3001:4001,1001:2001");
    assert_eq!(t.info().reord_seen, 0);
    t.deliver(201, "ack 1 sack 5001:6001,2001:4001,1001:2001");
    assert_eq!(t.info().reord_seen, 1, "below the highest offset SACKed before");
}

#[test]
fn after_much_reordering_sacked_data_also_grows_the_window() {
    let mut t = ten_out(linux(), false);
    t.inject(200, "ack 1 sack 5001:6001");
    t.expect_cwnd(10);
    t.expect(200, "10001:11001 .");
    // The first segments arrive after the sixth segment, so the reordering degree is six, twice the default of three.
    t.inject(205, "ack 6001");
    assert_eq!((t.info().reordering, t.info().reord_seen), (6, 1));
    t.expect_cwnd(15);
    t.drain();
    t.inject(210, "ack 6001 sack 7001:8001");
    t.expect_cwnd(16);
    t.drain();
}

#[test]
fn dsack_extends_the_reordering_wait_only_after_reordering() {
    let wait_after_dsack = |reordered: bool| {
        let mut t = ten_out(linux(), false);
        if reordered {
            t.deliver(200, "ack 1 sack 1001:2001");
        }
        t.deliver(200, "ack 2001");
        t.inject(201, "ack 2001 sack 3001:6001");
        t.drain_until(339);
        assert_eq!(t.info().counters.retransmits, 1, "the original was late, and one retransmission was sent");
        let sent = t.connection.send.flight.nxt() + 1;
        t.deliver(340, &format!("ack {sent}"));
        t.inject(341, &format!("ack {sent} sack 2001:3001"));
        t.drain_until(439);
        t.inject(440, &format!("ack {sent} sack {}:{}", sent + 1000, sent + 2000));
        t.drain_until(441);
        let timer = t.connection.poll_timeout().expect("a reordering timer");
        (timer.as_nanos() / 1_000_000).saturating_sub(440)
    };
    // The reordering window is 1/4 or 2/4 of the RTT. Linux's timer adds 2 ms.
    assert_eq!((wait_after_dsack(false), wait_after_dsack(true)), (27, 52));
}

/// tcp_dsack_seen: an unnecessary retransmission counts as delivered, but at most once.
#[test]
fn a_spurious_retransmission_counts_as_delivered_once() {
    let mut t = ten_out(linux(), false);
    t.deliver(200, "ack 1 sack 1001:4001");
    t.deliver(205, "ack 4001");
    assert_eq!((t.info().counters.retransmits, t.info().delivered), (1, Bytes::new(4000)));
    t.inject(210, "ack 4001 sack 1:1001");
    assert_eq!(t.info().delivered, Bytes::new(5000));
    t.drain();
    t.inject(211, "ack 4001 sack 1:1001");
    assert_eq!(t.info().delivered, Bytes::new(5000), "the DSACK does not match a retransmission");
    t.drain();
}

#[test]
fn newreno_retransmits_one_hole_per_round_trip() {
    // RFC 6582 section 3.2: segments 1 and 5 are lost. Duplicate ACKs inflate the window. A partial acknowledgement
    // deflates the window by the acknowledged bytes minus one segment. This leaves space for the next retransmission
    // and one new segment.
    let mut t = ten_out(Profile { cwnd_reduction: CwndReduction::Immediate, ..linux() }, true);
    t.answers(200, "ack 1", "10001:11001 .");
    t.answers(201, "ack 1", "11001:12001 .");
    t.answers(202, "ack 1", "1:1001 .");
    t.expect_ssthresh(5);
    for at in [203, 204, 205, 206] {
        t.inject(at, "ack 1");
    }
    t.answers(207, "ack 1", "12001:13001 .");
    t.answers(300, "ack 1", "13001:14001 .");
    t.answers(301, "ack 1", "14001:15001 .");
    t.answers(302, "ack 4001", "4001:5001 .");
    t.expect(302, "15001:16001 .");
    t.expect_ca_state(CaState::Recovery);
    t.inject(402, "ack 15001");
    t.expect_ca_state(CaState::Open);
    t.expect_cwnd(5);
    t.expect_train(402, 16_001, 20_001);
}

#[test]
fn without_sack_prr_counts_one_segment_per_duplicate() {
    // RFC 6937 section 3: without SACK, DeliveredData is one segment for each duplicate ACK.
    let mut t = ten_out(linux(), true);
    t.answers(200, "ack 1", "10001:11001 .");
    t.answers(201, "ack 1", "11001:12001 .");
    t.answers(202, "ack 1", "1:1001 .");
    t.inject(203, "ack 1");
    t.answers(204, "ack 1", "12001:13001 .");
    t.inject(205, "ack 1");
    t.answers(206, "ack 1", "13001:14001 .");
    t.inject(207, "ack 1");
    t.inject(300, "ack 1");
    t.answers(301, "ack 1", "14001:15001 .");
    t.answers(302, "ack 4001", "4001:5001 .");
    t.expect(302, "15001:16001 .");
}

#[test]
fn without_sack_more_duplicates_than_outstanding_segments_indicate_reordering() {
    // Ten segments are outstanding and the peer's window is full. The first segment is missing, so at most nine
    // segments can cause duplicate ACKs. After a tenth duplicate ACK, Linux therefore assumes that the path reorders,
    // and sets the threshold of duplicate ACKs to the number of outstanding segments.
    let mut t = ten_out(linux(), true);
    t.inject(200, "ack 1 win 10240");
    for _ in 0..12 {
        t.deliver(200, "ack 1 win 10240");
    }
    t.expect_ca_state(CaState::Recovery);
    t.deliver(300, "ack 10001 win 65536");
    t.deliver(400, &format!("ack {} win 65536", t.connection.send.flight.nxt() + 1));
    t.expect_ca_state(CaState::Open);
    let una = t.connection.send.flight.una() + 1;
    for _ in 0..4 {
        t.deliver(500, &format!("ack {una} win 65536"));
    }
    t.expect_ca_state(CaState::Disorder);
}

#[test]
fn without_sack_a_recovery_ends_only_beyond_the_recovery_point() {
    // RFC 6582 section 3.2: duplicate ACKs for the recovery point itself are caused by spurious retransmissions.
    let mut t = ten_out(linux(), true);
    for n in 0..3 {
        t.deliver(200 + n, "ack 1");
    }
    t.deliver(300, "ack 12001");
    t.expect_ca_state(CaState::Recovery);
    for at in [302, 303, 304] {
        t.deliver(at, "ack 12001");
    }
    t.expect_ca_state(CaState::Recovery);
    t.deliver(400, "ack 13001");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().counters.fast_retransmits, 1);
}

#[test]
fn without_sack_duplicate_acks_of_the_recovery_point_deliver_nothing() {
    // Linux's tcp_fastretrans_alert returns before tcp_add_reno_sack, so these duplicate ACKs deliver nothing
    // (tcpi_delivered), and PRR permits no new data for them.
    let mut t = ten_out(linux(), true);
    for n in 0..3 {
        t.deliver(200 + n, "ack 1");
    }
    t.deliver(300, "ack 12001");
    let delivered = t.connection.send.flight.delivery.total();
    for n in 1..=3 {
        t.inject(300 + n, "ack 12001");
    }
    t.expect_ca_state(CaState::Recovery);
    assert_eq!(t.connection.send.flight.delivery.total(), delivered);
}

#[test]
fn without_sack_a_timeout_after_a_recovery_halves_the_window_in_force() {
    // tcp_enter_loss: the threshold is computed from tp->snd_cwnd, which PRR sets, and not from the recovery's target.
    let mut t = Script::established(linux(), Peer { sack: false, ..PEER });
    t.write(100, 90_000);
    t.drain();
    t.deliver(150, "ack 10001");
    // Two of the 20 segments are lost. While they are repaired, PRR releases more new data than the target of 10 segments.
    for n in 0..20 {
        t.deliver(200 + n, "ack 10001");
    }
    t.expect_ssthresh(10);
    t.deliver(300, "ack 20001");
    for n in 1..=18 {
        t.deliver(300 + n, "ack 20001");
    }
    t.deliver(350, "ack 32001");
    t.expect_ca_state(CaState::Recovery);
    t.drain_until(1000);
    t.expect_ca_state(CaState::Loss);
    t.expect_ssthresh(13);
}

#[test]
fn without_sack_the_ack_of_the_recovery_point_forgets_the_first_retransmission() {
    // tcp_is_non_sack_preventing_reopen deletes retrans_stamp. After the next timeout, an echo is compared with the
    // retransmission of that timeout, and not with that of the earlier recovery.
    let mut t = Script::established(linux(), Peer { sack: false, ..TIMESTAMPS });
    t.write(100, 60_000);
    t.drain();
    for n in 0..3 {
        t.deliver(200 + n, "ack 1 ts 200:100");
    }
    t.deliver(300, "ack 12001 ts 300:202");
    t.expect_ca_state(CaState::Recovery);
    t.drain_until(1000);
    t.expect_ca_state(CaState::Loss);
    t.deliver(1100, "ack 13001 ts 1100:300");
    assert_eq!(t.info().counters.undos, 1);
}

#[test]
fn without_sack_a_timeout_keeps_the_reordering_degree() {
    // tcp_enter_loss reduces the degree if enough segments were SACKed. Without SACK, tcp_timeout_mark_lost has already set
    // the count of duplicate ACKs to 0.
    let mut t = ten_out(linux(), true);
    t.inject(200, "ack 1 win 10240");
    for _ in 0..12 {
        t.deliver(200, "ack 1 win 10240");
    }
    t.deliver(300, "ack 10001 win 65536");
    t.deliver(400, &format!("ack {} win 65536", t.connection.send.flight.nxt() + 1));
    let una = t.connection.send.flight.una() + 1;
    for _ in 0..4 {
        t.deliver(500, &format!("ack {una} win 65536"));
    }
    t.expect_ca_state(CaState::Disorder);
    t.drain_until(3000);
    t.expect_ca_state(CaState::Loss);
    assert_eq!(t.info().reordering, 10);
}

#[test]
fn without_sack_an_undone_recovery_stays_in_its_state() {
    // Linux's tcp_try_undo_recovery restores the threshold and the window, and PRR continues until data beyond the
    // recovery point is acknowledged. Until then, duplicate ACKs caused by spurious retransmissions start no recovery.
    let mut t = Script::established(linux(), Peer { sack: false, ..TIMESTAMPS });
    t.write(100, 60_000);
    t.drain();
    for n in 0..3 {
        t.deliver(200 + n, "ack 1 ts 200:100");
    }
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(5);
    t.inject(300, "ack 12001 ts 300:100");
    // PRR counts nine segments that the duplicates did not report, and one for the new acknowledgement.
    t.expect_train(300, 12_001, 22_001);
    t.expect_ca_state(CaState::Recovery);
    assert_eq!((t.info().counters.undos, t.connection.send.flight.controller.ssthresh()), (1, None));
    for at in [302, 303, 304] {
        t.deliver(at, "ack 12001 ts 301:202");
    }
    t.expect_ca_state(CaState::Recovery);
    t.deliver(400, "ack 13001 ts 400:300");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().counters.fast_retransmits, 1);
}

#[test]
fn an_ack_with_data_or_with_another_window_is_not_a_duplicate() {
    // RFC 5681 section 2.
    let mut t = ten_out(linux(), true);
    for n in 0..4 {
        t.answers(200 + n, &format!("{}:{} ack 1", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
        t.inject(200 + n, &format!("ack 1 win {}", 65_536 + n * 512));
    }
    t.expect_ca_state(CaState::Open);
}

#[test]
fn data_is_retransmitted_if_the_receiver_reneges() {
    // RFC 2018 section 8: the acknowledgement number stops directly below SACKed data, so the receiver has discarded
    // this data.
    let mut t = in_sack_recovery(linux());
    t.deliver(210, "ack 1 sack 1001:10001");
    t.deliver(302, "ack 1001");
    // In the end all data from 1001 on is acknowledged, one segment at a time.
    let mut at = 400;
    while t.connection.send.flight.una() < 12_000 {
        at += 100;
        let una = t.connection.send.flight.una();
        t.deliver(at, &format!("ack {}", una + 1001));
    }
    assert!(t.info().counters.retransmits >= 10);
}

fn reno(fast_recovery: FastRecovery) -> Profile {
    Profile { cwnd_reduction: CwndReduction::Immediate, fast_recovery, limited_transmit: false, ..linux() }
}

/// Returns a script in which segments 1 and 5 of ten are lost. The first ACK of new data ends the recovery. Nine
/// segments are outstanding at 302 ms, the first of which is the next hole.
fn after_renos_first_repair(fast_recovery: FastRecovery) -> Script {
    let mut t = ten_out(reno(fast_recovery), true);
    for at in [200, 201] {
        t.inject(at, "ack 1");
    }
    t.answers(202, "ack 1", "1:1001 .");
    t.expect_ssthresh(5);
    for at in [203, 204] {
        t.inject(at, "ack 1");
    }
    for (at, new) in [(205, 10_001), (206, 11_001), (207, 12_001)] {
        t.answers(at, "ack 1", &format!("{new}:{} .", new + 1000));
    }
    t.inject(302, "ack 4001");
    t.expect_ca_state(CaState::Open);
    t.expect_cwnd(5);
    t
}

#[test]
fn reno_ends_a_recovery_at_the_first_new_ack_and_halves_again_for_the_next_hole() {
    // RFC 5681 section 3.2: the first ACK of new data ends the recovery (step 6). Three more duplicate ACKs start
    // another recovery (step 2).
    let mut t = after_renos_first_repair(FastRecovery::Reno);
    t.inject(303, "ack 4001");
    t.inject(304, "ack 4001");
    t.answers(305, "ack 4001", "4001:5001 .");
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(2);
}

#[test]
fn careful_reno_repairs_the_next_hole_by_timeout() {
    // RFC 6582 section 3.2 step 2, without the rules for partial acknowledgements. In ns-2, duplicate ACKs for data
    // that was outstanding at the start of the recovery do not enlarge the window either, so these duplicate ACKs
    // release no segment.
    let mut t = after_renos_first_repair(FastRecovery::CarefulReno);
    for at in [303, 304, 305, 306, 307] {
        t.inject(at, "ack 4001");
    }
    t.expect_ssthresh(5);
    let rto = t.info().rto.as_millis_f64();
    t.expect(302.0 + rto, "4001:5001 .");
    t.expect_ca_state(CaState::Loss);
    // This timeout and each later timeout halve the window of five segments again.
    t.expect_ssthresh(2);
}

#[test]
fn ns2_halves_the_window_without_rounding() {
    // ns-2's window is a real number: half of eleven segments is 5.5, and only the threshold is rounded.
    let halved = |fast_recovery| {
        let mut t = Script::established(Profile { initial_window_segments: 11, ..reno(fast_recovery) }, NO_SACK);
        t.sends_train(100, 60_000, 1, 11_001);
        for at in [200, 201, 202] {
            t.inject(at, "ack 1");
        }
        t.drain();
        t.expect_ssthresh(5);
        t.connection.send.flight.controller.cwnd().get()
    };
    assert_eq!((halved(FastRecovery::CarefulReno), halved(FastRecovery::Reno)), (5500, 5000));
}

#[test]
fn a_marked_ack_triggers_a_retransmission_at_once() {
    // Balakrishnan, Padmanabhan and Katz 1999, section 6.3: the sender retransmits at the first duplicate ACK that a
    // filter has marked.
    let mut t = ten_out(Profile { marked_retransmit: true, ..reno(FastRecovery::NewReno) }, true);
    t.answers(200, "ack 1 X", "1:1001 .");
    t.expect_ca_state(CaState::Recovery);
    let mut t = ten_out(reno(FastRecovery::NewReno), true);
    t.inject(200, "ack 1 X");
    t.expect_ca_state(CaState::Disorder);
}

/// Linux's tcp_try_undo_partial: the new threshold of duplicate ACKs is the number of segments by which the original
/// transmission was late.
#[test]
fn a_late_original_sets_the_reordering_degree() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.write(100, 20_000);
    t.drain();
    t.deliver(200, "ack 1 sack 1001:7001 ts 200:100");
    assert_eq!((t.info().counters.retransmits, t.info().reordering), (1, 3));
    t.deliver(201, "ack 7001 ts 201:100");
    assert_eq!((t.info().reordering, t.info().reord_seen), (7, 1));
}

/// Linux notifies the congestion control of an ACK before the ACK ends the recovery (`tcp_clean_rtx_queue`), so the ACK
/// does not grow H-TCP's window (captures of 6.1).
#[test]
fn the_ack_that_ends_a_recovery_still_counts_as_part_of_it() {
    let mut t = Script::established_with(linux(), PEER, "htcp");
    t.sends_train(100, 60_000, 1, 10_001);
    for (at, sacked) in [(200, 2001), (201, 3001), (202, 10_001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{sacked}"));
    }
    t.expect_ca_state(CaState::Recovery);
    t.expect_ssthresh(5);
    let mut acked = t.connection.send.flight.nxt() + 1;
    assert!(acked >= 14_001, "the last ACK delivers segments that were not SACKed");
    t.deliver(300, &format!("ack {acked}"));
    t.expect_ca_state(CaState::Open);
    let mut windows = Vec::new();
    for _ in 0..6 {
        acked += MSS;
        t.deliver(400, &format!("ack {acked}"));
        windows.push(t.connection.cwnd().get() / MSS);
    }
    assert_eq!(windows, [5, 5, 5, 5, 5, 6]);
}

/// tcp_limit_reno_sacked: without SACK, more duplicate ACKs than outstanding segments indicate reordering.
#[test]
fn without_sack_more_duplicates_than_segments_raise_the_threshold() {
    for (peer, reordering) in [(NO_SACK, 4), (PEER, 3)] {
        let mut t = Script::established(linux(), peer);
        t.sends_train(100, 4_000, 1, 4_001);
        for at in 200..206 {
            t.deliver(at, "ack 1");
        }
        assert_eq!(t.info().reordering, reordering, "{peer:?}");
        t.drain();
    }
}

/// RFC 6582 section 3.2 step 3 option 1: after the recovery, the window is at most one segment more than the outstanding
/// data, and at least two segments.
#[test]
fn a_recovery_without_prr_ends_without_a_burst() {
    let mut t = Script::established(Profile { cwnd_reduction: CwndReduction::Immediate, ..linux() }, PEER);
    t.write(100, 10_000);
    t.drain();
    for end in [2001, 3001, 4001, 10_001] {
        t.deliver(200, &format!("ack 1 sack 1001:{end}"));
    }
    t.expect_ca_state(CaState::Recovery);
    // Nothing is outstanding after this ACK, which delivers one segment.
    t.deliver(300, "ack 10001");
    t.expect_ca_state(CaState::Open);
    t.expect_cwnd(3);
    t.expect_ssthresh(5);
}

/// RFC 6582 section 3.2: an ACK of exactly the recovery point ends the recovery. Retransmissions may cause duplicate ACKs
/// of this point, so two of them start no other recovery.
#[test]
fn without_sack_an_ack_of_the_recovery_point_leaves_new_data_in_disorder() {
    let profile =
        Profile { loss_detection: LossDetection::Rfc6675, cwnd_reduction: CwndReduction::Immediate, ..linux() };
    let mut t = ten_out(profile.clone(), true);
    for n in 0..10 {
        t.deliver(200 + n, "ack 1");
    }
    t.expect_ca_state(CaState::Recovery);
    assert!(t.connection.send.flight.nxt() > 12_000, "duplicates release new data");
    t.deliver(300, "ack 12001");
    t.expect_ca_state(CaState::Disorder);
    for n in 0..2 {
        t.deliver(310 + n, "ack 12001");
    }
    assert_eq!(t.info().counters.fast_retransmits, 1);
    // Nothing is outstanding beyond the recovery point.
    let mut t = Script::established(profile, NO_SACK);
    t.sends_train(100, 5_000, 1, 5_001);
    for n in 0..3 {
        t.deliver(200 + n, "ack 1");
    }
    t.expect_ca_state(CaState::Recovery);
    t.deliver(300, "ack 5001");
    t.expect_ca_state(CaState::Open);
}

/// RFC 6675 section 2: with SACK, only an ACK that SACKs new data is a duplicate acknowledgement.
#[test]
fn rfc_6675_ignores_duplicates_without_sack_blocks() {
    let mut t = ten_out(Profile { loss_detection: LossDetection::Rfc6675, ..linux() }, false);
    for n in 0..5 {
        t.deliver(200 + n, "ack 1");
    }
    assert_eq!(t.info().counters.retransmits, 0);
    t.deliver(210, "ack 1 sack 9001:10001");
    assert_eq!(t.info().counters.retransmits, 1, "the count of duplicates is reached");
}

/// RFC 2018 section 2: SACK is used only if both ends have permitted it.
#[test]
fn sack_blocks_without_permission_are_ignored() {
    let mut t = ten_out(linux(), true);
    t.deliver(200, "ack 1 sack 5001:10001");
    assert_eq!((t.info().sacked, t.info().delivered), (0, Bytes::new(1000)), "a duplicate stands for one segment");
}
