//! The sender's timers: retransmission timeout (RFC 6298) and tail loss probe (RFC 8985 section 7). Also the undo of
//! spurious timeouts and retransmissions: F-RTO (RFC 5682), Eifel (RFC 3522, 4015), DSACK (RFC 3708) and 4.4BSD's
//! early-ACK rule.

use super::script::{NO_SACK, PEER, Peer, Script, TIMESTAMPS, freebsd, instant, linux};
use crate::{CaState, Profile, TimerGrain};
use lopsided_core::Duration;

/// Linux without tail loss probes, so that the RTO expires first.
fn no_probe() -> Profile {
    Profile { tlp: false, ..linux() }
}

#[test]
fn the_first_rtt_sample_sets_the_rto() {
    // RFC 6298 rule 2.2: SRTT + 4 * RTTVAR is 100 + 4 * 50 ms. Linux's minimum of 200 ms applies to the second term.
    // FreeBSD adds 200 ms.
    assert_eq!(Script::established(linux(), PEER).info().rto, Duration::from_millis(300));
    assert_eq!(Script::established(freebsd(), PEER).info().rto, Duration::from_millis(500));
}

#[test]
fn each_timeout_doubles_the_next_and_sends_one_segment() {
    // RFC 6298 rules 5.4 to 5.6: a timeout retransmits the first segment and doubles the RTO. RFC 5681 section 3.1: the
    // window becomes one segment.
    let mut t = Script::established(no_probe(), PEER);
    t.sends_train(100, 5000, 1, 5001);
    for at in [400, 1000, 2200, 4600] {
        t.expect(at, "1:1001 .");
        t.expect_cwnd(1);
        t.expect_ssthresh(5);
        t.expect_ca_state(CaState::Loss);
    }
    assert_eq!(t.info().backoff, 4);
}

#[test]
fn a_segment_that_the_interface_rejects_is_retried_every_500_ms() {
    // Linux's tcp_send_probe0: the first attempt is made after the RTO, and later attempts after
    // TCP_RESOURCE_PROBE_INTERVAL without backoff.
    let mut t = Script::established(linux(), PEER);
    t.interface_full = true;
    t.write(100, 1000);
    for tried in [400, 900, 1400, 1900] {
        assert_eq!(t.connection.poll_timeout(), Some(instant(tried)));
        t.expect_nothing_until(tried);
    }
    t.interface_full = false;
    t.expect_nothing_until(2399);
    t.expect(2400, "1:1001 .");
    assert_eq!((t.info().backoff, t.info().rto), (0, Duration::from_millis(300)));
}

/// Linux's tcp_ack_probe: a window that takes all waiting data ends the probes and their backoff.
#[test]
fn a_window_for_all_waiting_data_ends_the_window_probes() {
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "ack 1 win 0");
    t.write(200, 300);
    t.drain_until(1600);
    assert!(t.info().backoff > 0);
    t.inject(1600, "ack 1 win 512");
    t.drain();
    assert_eq!((t.info().backoff, t.info().rto), (0, Duration::from_millis(300)));
}

/// tcp_enter_cwr: a full queue of the interface reduces the window once for the outstanding data.
#[test]
fn a_full_interface_reduces_the_window_once() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 4_000, 1, 4_001);
    t.interface_full = true;
    for at in [110, 111] {
        t.write(at, 3_000);
        t.expect_ca_state(crate::CaState::Cwr);
        t.expect_ssthresh(5);
        assert_eq!(t.info().counters.local_congestion, 1);
    }
    t.interface_full = false;
    t.pump();
    t.drain();
}

#[test]
fn the_backed_off_rto_stays_until_new_data_gives_a_sample() {
    // Karn's algorithm (RFC 6298 section 3): the ACK of a retransmitted segment provides no RTT sample.
    let mut t = Script::established(no_probe(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect(400, "1:1001 .");
    t.inject(500, "ack 1001");
    assert_eq!(t.info().rto, Duration::from_millis(600));
    t.sends(500, 1000, "1001:2001 .");
    t.inject(600, "ack 2001");
    assert_eq!(t.info().rto, Duration::from_millis(300));
}

#[test]
fn a_stack_that_counts_ticks_measures_the_rtt_of_one_segment_at_a_time() {
    // 4.4BSD's t_rtt: without timestamps the RTT of one segment at a time is measured. ns-2 measures the RTT in ticks
    // of 100 ms.
    let ns2 = Profile { initial_window_segments: 4, ..Profile::ns2_reno() };
    let mut t = Script::established(ns2, NO_SACK);
    assert_eq!(t.info().rto, Duration::from_secs(6), "ns-2 takes no sample from the handshake");
    t.sends_train(100, 4000, 1, 4001);
    t.deliver(200, "ack 1001");
    assert_eq!(t.info().rto, Duration::from_millis(300), "an RTT of one tick, and a deviation of half a tick");
    for (at, ack) in [(490, 2001), (780, 3001), (1070, 4001)] {
        t.deliver(at, &format!("ack {ack}"));
        assert_eq!(t.info().rto, Duration::from_millis(300), "the RTT of this segment is not measured");
    }
}

#[test]
fn an_ack_of_new_data_restarts_the_timer() {
    // RFC 6298 rule 5.3.
    let mut t = Script::established(no_probe(), PEER);
    t.sends_train(100, 2000, 1, 2001);
    t.inject(250, "ack 1001");
    let rto = t.info().rto.as_millis_f64();
    t.expect(250.0 + rto, "1001:2001 .");
}

#[test]
fn a_sack_of_data_sent_before_the_retransmission_restarts_the_rto() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 60_000, 1, 10_001);
    for (at, end) in [(200, 2001), (201, 3001), (202, 4001), (250, 5001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{end}"));
    }
    // The retransmission of 202 ms was sent later than the segment that the last SACK reports, so the ACK of the
    // retransmission may still arrive.
    let rto = t.info().rto.as_millis_f64();
    t.expect(250.0 + rto, "1:1001 .");
}

#[test]
fn data_sent_later_does_not_restart_the_rto() {
    // RFC 6298 rule 5.1: the RTO is measured from the oldest segment.
    let mut t = Script::established(no_probe(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.sends(350, 1000, "1001:2001 .");
    t.expect(400, "1:1001 .");
}

#[test]
fn a_connection_fails_after_15_retransmissions() {
    // RFC 9293 section 3.8.3: the connection fails after R2 retransmissions. In Linux, R2 is tcp_retries2, which is 15.
    let mut t = Script::established(no_probe(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect_event(crate::ConnEvent::Established);
    let mut at = 100.0;
    let mut rto = 300.0f64;
    for _ in 0..15 {
        at += rto;
        rto = (2.0 * rto).min(120_000.0);
        t.expect(at, "1:1001 .");
    }
    t.expect_no_event();
    t.expect_nothing_until(at + rto);
    t.expect_event(crate::ConnEvent::Failed(crate::ConnError::TimedOut));
}

#[test]
fn linux_timers_expire_at_the_end_of_a_slot_of_the_timer_wheel() {
    // 64 slots of 4 ms are followed by slots of 32 ms. 300 ms is in the second level, whose slots end at multiples of
    // 32 ms.
    let mut t = Script::established(Profile { grain: TimerGrain::Wheel(Duration::from_millis(4)), ..no_probe() }, PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect(416, "1:1001 .");
}

#[test]
fn after_a_timeout_freebsd_retransmits_all_outstanding_data() {
    // 4.4BSD continues at SND.UNA, even if later data was SACKed.
    let mut t = Script::established(freebsd(), PEER);
    t.sends_train(100, 10_000, 1, 4001);
    t.expect(600, "1:1001 .");
    t.inject(700, "ack 1001");
    t.expect_train(700, 1001, 3001);
    t.expect_cwnd(2);
}

#[test]
fn freebsd_without_timestamps_measures_the_rtt_of_one_segment_per_window() {
    // 4.4BSD's t_rtttime. The handshake took 100 ms. Only the first of four segments is measured: its RTT of 200 ms
    // leads to an SRTT of 112.5 ms. The other three segments are acknowledged later and provide no sample.
    let mut t = Script::established(freebsd(), PEER);
    let before = t.info().srtt.expect("of the handshake");
    t.sends_train(100, 4000, 1, 4001);
    for (at, ack) in [(300, 1001), (400, 2001), (500, 3001), (600, 4001)] {
        t.inject(at, &format!("ack {ack}"));
    }
    let sample = Duration::from_millis(200);
    assert_eq!(t.info().srtt, Some((before * 7 + sample) / 8));
}

#[test]
fn freebsd_backs_off_without_the_slop() {
    // The RTO without slop, (100 + 4 * 50) ms, is doubled; then 200 ms of slop are added.
    let mut t = Script::established(freebsd(), PEER);
    t.sends(100, 1000, "1:1001 .");
    for at in [600, 1400, 2800] {
        t.expect(at, "1:1001 .");
    }
}

// Tail loss probes.

#[test]
fn a_probe_sends_the_last_segment_after_two_round_trips() {
    // RFC 8985 section 7.2: the probe is sent after 2 * SRTT, plus Linux's 2 ms. Section 7.3: there is no new data, so
    // the last segment is sent again. The RTO is then measured from the probe.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 3000, 1, 3001);
    t.expect(302, "2001:3001 .");
    t.expect_ca_state(CaState::Open);
    t.expect(602, "1:1001 .");
    t.expect_ca_state(CaState::Loss);
    t.expect(1202, "1:1001 .");
    assert_eq!((t.info().counters.tail_probes, t.info().counters.timeouts), (1, 2));
}

#[test]
fn a_probe_sends_new_data_if_there_is_any() {
    // The probe is sent even if the congestion window is full.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 20_000, 1, 10_001);
    t.expect(302, "10001:11001 .");
    t.expect(602, "1:1001 .");
}

#[test]
fn a_probe_for_a_single_segment_allows_for_a_delayed_ack_but_not_beyond_the_timeout() {
    // RFC 8985 section 7.2: the probe timeout of 2 * 100 + 200 ms exceeds the RTO of 300 ms.
    let mut t = Script::established(linux(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect(400, "1:1001 .");
    t.expect_ca_state(CaState::Open);
    t.expect(700, "1:1001 .");
    t.expect_ca_state(CaState::Loss);
}

/// Returns a script in which the last of three segments was retransmitted at 500 ms, as a tail loss probe.
fn probed() -> Script {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 3000, 1, 3001);
    t.inject(200, "ack 2001");
    t.expect(500, "2001:3001 .");
    t
}

#[test]
fn a_loss_repaired_by_the_probe_halves_the_window() {
    // RFC 8985 section 7.4.2: data sent after the probe is acknowledged, and no DSACK has arrived, so the probe
    // repaired a loss.
    let mut t = probed();
    t.inject(600, "ack 3001");
    t.sends(600, 1000, "3001:4001 .");
    t.expect_cwnd(10);
    t.inject(700, "ack 4001");
    t.expect_cwnd(5);
    t.expect_ssthresh(5);
    t.expect_ca_state(CaState::Open);
}

#[test]
fn a_spurious_probe_does_not_reduce_the_window() {
    // A DSACK reports that the original transmission has also arrived, so the probe repaired no loss.
    let mut t = probed();
    t.inject(590, "ack 3001");
    t.inject(600, "ack 3001 sack 2001:3001");
    t.sends(600, 1000, "3001:4001 .");
    t.inject(700, "ack 4001");
    t.expect_cwnd(10);
}

#[test]
fn the_sack_of_a_probe_starts_a_recovery() {
    // Two segments before the last segment are lost. After one RTT, a single SACK above the holes suffices to detect
    // these losses.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 4000, 1, 4001);
    t.inject(200, "ack 1001");
    // Three segments have been outstanding since 100 ms. The probe is due 202 ms after the ACK.
    t.expect(402, "3001:4001 .");
    t.inject(502, "ack 1001 sack 3001:4001");
    t.expect_train(502, 1001, 2001);
    t.expect_ca_state(CaState::Recovery);
    t.answers(602, "ack 2001 sack 3001:4001", "2001:3001 .");
}

#[test]
fn without_sack_partial_acks_after_a_timeout_retransmit_no_segment_twice() {
    let mut t = Script::established(linux(), NO_SACK);
    t.sends_train(100, 10_000, 1, 10_001);
    t.expect(400, "1:1001 .");
    t.deliver(500, "ack 1001");
    let mut at = 501;
    while t.connection.send.flight.una() < 10_000 {
        at += 20;
        t.deliver(at, &format!("ack {}", t.connection.send.flight.una() + 1001));
    }
    assert_eq!(t.info().counters.retransmits, 10);
}

// Spurious retransmissions.

/// Returns a script in which ten segments were sent at 100 ms and more data waits. The RTO caused the retransmission of
/// the first segment at 400 ms.
fn timed_out(peer: Peer) -> Script {
    let mut t = Script::established(no_probe(), peer);
    t.sends_train(100, 60_000, 1, 10_001);
    t.expect(400, "1:1001 .");
    t.expect_cwnd(1);
    t
}

#[test]
fn frto_sends_new_data_and_undoes_the_timeout_when_original_data_is_acknowledged() {
    // RFC 5682 section 3.1: the first ACK releases new data (step 2b). The second ACK acknowledges data that was never
    // retransmitted, so the timeout was spurious (step 3b).
    let mut t = timed_out(PEER);
    t.inject(450, "ack 1001");
    t.expect_train(450, 10_001, 12_001);
    t.inject(460, "ack 2001");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().snd_ssthresh, None);
    assert_eq!(t.info().counters.undos, 1);
    t.expect_cwnd(11);
    t.expect(460, "12001:13001 .");
}

#[test]
fn without_sack_an_ack_that_covers_a_retransmission_undoes_no_timeout() {
    // tcp_clean_rtx_queue: the second segment may have arrived before the timeout. With SACK, a SACK would have reported
    // it, so this ACK would show that an original arrived after the timeout.
    let mut t = timed_out(NO_SACK);
    t.inject(450, "ack 2001");
    // The window of three segments permits two new segments (RFC 5682 section 3.1 step 2b) and a retransmission.
    t.expect_train(450, 10_001, 12_001);
    t.expect(450, "2001:3001 .");
    t.expect_ca_state(CaState::Loss);
    assert_eq!(t.info().counters.undos, 0);
    let mut t = timed_out(PEER);
    t.deliver(450, "ack 2001");
    assert_eq!(t.info().counters.undos, 1);
}

#[test]
fn frto_sends_no_retransmission_if_the_peers_window_stops_new_data() {
    // tcp_xmit_recovery returns after new data was sent. The peer's window has no space for a third segment.
    let mut t = timed_out(NO_SACK);
    t.inject(450, "ack 2001 win 10240");
    t.expect_train(450, 10_001, 12_001);
    t.expect_nothing_until(460);
}

#[test]
fn the_retransmission_of_a_timeout_does_not_count_as_use_of_the_window() {
    // tcp_retransmit_timer does not try to send new data (tcp_write_xmit), so tcp_cwnd_validate does not see the full window of
    // one segment. The peer's window limits the sender before the timeout and after its undo, so the window does not grow.
    let mut t = Script::established(no_probe(), TIMESTAMPS);
    t.inject(100, "ack 1 win 5120 ts 100:100");
    t.sends_train(100, 60_000, 1, 5_001);
    t.expect(400, "1:1001 .");
    t.deliver(450, "ack 5001 win 5120 ts 450:100");
    assert_eq!(t.info().counters.undos, 1);
    t.expect_cwnd(10);
}

#[test]
fn without_sack_the_end_of_the_loss_state_counts_earlier_duplicates() {
    // tcp_fastretrans_alert calls tcp_identify_packet_loss after tcp_process_loss, and resets the count of duplicate ACKs only
    // afterwards. Three duplicate ACKs for new data mark the next segment as lost.
    let mut t = timed_out(Peer { sack: false, ..TIMESTAMPS });
    t.deliver(450, "ack 1001 ts 450:400");
    t.deliver(460, "ack 1001 ts 460:400");
    t.deliver(500, "ack 9001 ts 500:460");
    for n in 0..3 {
        t.deliver(510 + n, "ack 9001 ts 510:460");
    }
    t.deliver(550, "ack 10001 ts 550:500");
    t.expect_ca_state(CaState::Loss);
    let before = t.connection.cwnd();
    t.answers(600, "ack 11001 ts 600:500", "11001:12001 .");
    t.expect_ca_state(CaState::Recovery);
    // tcp_reno_undo_cwnd: PRR has set the window to the data in flight, now that the duplicates do not count any more. The undo
    // keeps this window, because it is larger than the window before.
    let in_force = t.connection.cwnd();
    assert!(in_force > before);
    t.deliver(610, "ack 12001 ts 610:450");
    assert_eq!((t.info().counters.undos, t.connection.cwnd()), (1, in_force));
}

#[test]
fn frto_continues_the_recovery_after_a_duplicate_ack() {
    // Step 3a.
    let mut t = timed_out(PEER);
    t.inject(500, "ack 1001");
    t.expect_train(500, 10_001, 12_001);
    t.answers(600, "ack 1001 sack 10001:11001", "1001:2001 .");
    t.expect_ca_state(CaState::Loss);
    t.expect_ssthresh(5);
}

#[test]
fn after_an_undone_timeout_a_lost_retransmission_waits_for_the_next_timeout() {
    // The undo removes the loss mark of the segment, but its retransmission stays outstanding. tcp_mark_skb_lost then
    // only marks the segment. tcp_rack_detect_loss removes it from the list by send time. In a kernel capture
    // (2416/64 kbit/s, hybla), Linux repeats the segment 3 s later, after the next timeout. tcp_xmit_retransmit_queue
    // sends nothing while as many segments are retransmitted as are lost: the second segment is lost at 450 ms and
    // retransmitted at 560 ms.
    let mut t = timed_out(PEER);
    t.inject(450, "ack 1 sack 2001:3001");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().counters.undos, 1);
    t.deliver(452, "ack 1 sack 2001:4001");
    t.deliver(455, "ack 1 sack 2001:5001");
    t.deliver(460, "ack 1 sack 2001:6001");
    t.drain_until(540);
    t.inject(560, "ack 1 sack 10001:11001,2001:6001");
    t.expect(560, "1001:2001 .");
    t.expect(560, "6001:7001 .");
    assert_eq!((t.info().lost, t.info().retrans), (6, 3));
    t.answers(570, "ack 1 sack 1001:6001,10001:11001", "7001:8001 .");
    assert_eq!(t.info().counters.lost_retransmits, 0);
    t.expect(1282.11865, "1:1001 .");
    t.expect_ca_state(CaState::Loss);
}

#[test]
fn a_retransmission_that_is_lost_after_a_timeout_starts_a_recovery() {
    // tcp_fastretrans_alert: FLAG_LOST_RETRANS ends the Loss state.
    let mut t = timed_out(PEER);
    t.inject(500, "ack 1001");
    t.expect_train(500, 10_001, 12_001);
    t.answers(600, "ack 1001 sack 10001:11001", "1001:2001 .");
    t.expect_ca_state(CaState::Loss);
    t.answers(620, "ack 1001 sack 10001:12001", "2001:3001 .");
    t.expect_ca_state(CaState::Loss);
    let recoveries = t.info().counters.fast_retransmits;
    t.answers(750, "ack 1001 sack 2001:3001,10001:12001", "1001:2001 .");
    t.expect_ca_state(CaState::Recovery);
    assert_eq!(t.info().counters.lost_retransmits, 1);
    assert_eq!(t.info().counters.fast_retransmits, recoveries + 1);
}

#[test]
fn without_sack_a_loss_state_ends_only_beyond_its_recovery_point() {
    // RFC 6582 section 4.1, which Linux also applies after a timeout. In a kernel capture (1056/184 kbit/s without
    // SACK) six duplicate ACKs caused by spurious retransmissions released no segment.
    for (repeated, retransmits) in [(false, 1), (true, 2)] {
        let mut t = timed_out(NO_SACK);
        if repeated {
            // F-RTO finds that the loss was real, so a normal recovery follows.
            t.inject(450, "ack 1001");
            t.expect_train(450, 10_001, 12_001);
            t.deliver(460, "ack 1001");
        }
        t.inject(500, "ack 10001");
        t.expect_ca_state(CaState::Loss);
        t.drain();
        for at in 501..507 {
            t.inject(at, "ack 10001");
            t.expect_nothing_until(at);
        }
        t.deliver(600, "ack 11001");
        t.expect_ca_state(CaState::Open);
        assert_eq!(t.info().counters.retransmits, retransmits);
    }
}

#[test]
fn without_sack_a_syn_timeout_also_counts_as_a_timeout_of_the_first_data() {
    // In a kernel capture (1056/184 kbit/s without SACK) the ACK after the timeout releases a retransmission of the
    // second segment instead of F-RTO's new data.
    let mut t = Script::connect(no_probe(), NO_SACK);
    t.expect(0, "S 0:0");
    t.expect(1000, "S 0:0");
    t.answers(1100, &t.peer_syn("S. ack 1"), "ack 1");
    t.inject(1100, "ack 1");
    t.expect_ca_state(CaState::Loss);
    t.sends_train(1100, 20_000, 1, 10_001);
    t.expect(4100, "1:1001 .");
    t.answers(4200, "ack 1001", "1001:2001 .");
    t.expect(4200, "2001:3001 .");
}

#[test]
fn without_sack_eifel_restores_the_window_and_keeps_the_loss_state() {
    // Linux's tcp_try_undo_loss: the duplicate ACKs that follow are caused by the retransmission and start no recovery.
    let mut t = timed_out(Peer { sack: false, ..TIMESTAMPS });
    t.inject(450, "ack 1001 ts 450:100");
    t.expect_ca_state(CaState::Loss);
    assert_eq!(t.info().counters.undos, 1);
    t.drain();
    for at in [451, 452, 453, 454] {
        t.deliver(at, &format!("ack 1001 ts {at}:100"));
    }
    assert_eq!(t.info().counters.retransmits, 1);
}

#[test]
fn eifel_undoes_a_timeout_if_the_ack_echoes_the_original() {
    // RFC 3522 section 3.2: the ACK echoes the timestamp of the original transmission, so the timeout was spurious. RFC
    // 4015 section 3.2: the window and ssthresh are restored.
    let mut t = timed_out(TIMESTAMPS);
    t.inject(450, "ack 1001 ts 450:100");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().snd_ssthresh, None);
    t.expect_cwnd(11);
    t.expect_train(450, 10_001, 12_001);
}

/// Returns a script in which the first segment was late and was retransmitted unnecessarily at 202 ms, after two new
/// segments.
fn fast_retransmitted(peer: super::script::Peer, stamp: &str) -> Script {
    let mut t = Script::established(linux(), peer);
    t.sends_train(100, 60_000, 1, 10_001);
    t.answers(200, &format!("ack 1 sack 1001:2001{stamp}"), "10001:11001 .");
    t.answers(201, &format!("ack 1 sack 1001:3001{stamp}"), "11001:12001 .");
    t.answers(202, &format!("ack 1 sack 1001:4001{stamp}"), "1:1001 .");
    t.expect_ssthresh(5);
    t
}

#[test]
fn eifel_undoes_a_fast_retransmit() {
    let mut t = fast_retransmitted(TIMESTAMPS, " ts 200:100");
    t.inject(210, "ack 10001 ts 210:100");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().snd_ssthresh, None);
    // The window is ten segments again, and slow start adds the seven segments that this ACK delivered.
    t.expect_cwnd(17);
    t.expect_train(210, 12_001, 27_001);
}

/// Linux's tcp_try_to_open clears `retrans_stamp` after a recovery, so that the next timeout records a new timestamp.
#[test]
fn eifel_compares_with_the_retransmission_of_this_timeout_not_of_an_earlier_recovery() {
    let mut t = Script::established(no_probe(), TIMESTAMPS);
    t.write(100, 60_000);
    t.drain();
    for (at, sacked) in [(200, 2001), (201, 3001), (202, 4001)] {
        t.deliver(at, &format!("ack 1 sack 1001:{sacked} ts {at}:100"));
    }
    t.expect_ca_state(CaState::Recovery);
    t.deliver(302, "ack 12001 ts 302:202");
    t.expect_ca_state(CaState::Open);
    t.drain_until(650);
    t.expect_ca_state(CaState::Loss);
    // The ACK echoes the timestamp of the original transmission at 302 ms. This transmission was sent after the
    // recovery's retransmission, but before the timeout's retransmission.
    t.deliver(650, "ack 13001 ts 650:302");
    t.expect_ca_state(CaState::Open);
    assert_eq!(t.info().counters.undos, 1);
}

#[test]
fn dsack_undoes_a_fast_retransmit_after_the_recovery() {
    // RFC 3708: a DSACK reports the only retransmission as a duplicate, so the window and ssthresh are restored.
    let mut t = fast_retransmitted(PEER, "");
    t.inject(210, "ack 10001");
    t.expect_train(210, 12_001, 15_001);
    t.answers(300, "ack 11001", "15001:16001 .");
    t.answers(301, "ack 12001", "16001:17001 .");
    t.expect_cwnd(5);
    t.inject(302, "ack 12001 sack 1:1001");
    t.expect_cwnd(10);
    assert_eq!((t.info().snd_ssthresh, t.info().counters.undos), (None, 1));
    t.expect_train(302, 17_001, 22_001);
}

#[test]
fn freebsd_undoes_a_timeout_if_the_ack_arrives_within_half_of_the_rtt() {
    // An ACK of the retransmission that was sent at 600 ms cannot arrive before 650 ms.
    for (at, early) in [(640, true), (660, false)] {
        let mut t = Script::established(freebsd(), PEER);
        t.sends_train(100, 10_000, 1, 4001);
        t.expect(600, "1:1001 .");
        t.inject(at, "ack 1001");
        assert_eq!(t.info().counters.undos, u64::from(early));
        if early {
            t.expect_cwnd(5);
            t.expect_train(at, 4001, 6001);
        } else {
            t.expect_cwnd(2);
            t.expect_train(at, 1001, 3001);
        }
    }
}

/// RFC 8985 section 7.4.2: an ACK beyond a retransmitted probe shows that the probe repaired a loss, which reduces the
/// window. A duplicate ACK before it shows that the original and the probe have both arrived.
#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window_unless_both_copies_arrived() {
    for (duplicate, reduced) in [(false, true), (true, false)] {
        let mut t = Script::established(linux(), PEER);
        t.sends(100, 1000, "1:1001 .");
        t.expect(400, "1:1001 .");
        t.inject(450, "ack 1001");
        t.sends(455, 1000, "1001:2001 .");
        if duplicate {
            t.inject(460, "ack 1001");
        }
        t.inject(560, "ack 2001");
        assert_eq!(t.info().snd_ssthresh.is_some(), reduced, "duplicate: {duplicate}");
        t.expect_ca_state(CaState::Open);
        t.expect_cwnd(if reduced { 5 } else { 10 });
    }
}
