//! The state of a connection as `tcp_info` reports it.

use super::script::{MSS, NO_SACK, PEER, Script, TIMESTAMPS, instant, linux, receive_buffer, send_buffer};
use lopsided_core::{BitRate, Bytes, Duration, Payload};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[test]
fn the_info_contains_the_negotiated_options_and_sizes() {
    let info = Script::established(linux(), TIMESTAMPS).info();
    assert!(info.options.timestamps && info.options.sack && info.options.window_scaling && !info.options.ecn);
    assert_eq!((info.advmss, info.pmtu), (Bytes::new(MSS), Bytes::new(MSS + 52)));
    let info = Script::established(linux(), PEER).info();
    assert!(!info.options.timestamps);
    assert_eq!((info.advmss, info.snd_mss), (Bytes::new(MSS + 12), Bytes::new(MSS)));
}

#[test]
fn the_info_contains_the_time_since_the_last_segment_of_each_kind() {
    let mut t = Script::established(linux(), PEER);
    assert_eq!(t.info().last_data_recv, None);
    t.sends(200, 1000, "1:1001 .");
    t.answers(300, "1:1001 ack 1001", "ack 1001");
    t.expect_nothing_until(450);
    let info = t.info();
    assert_eq!(
        (info.last_data_sent, info.last_data_recv, info.last_ack_recv),
        (Some(MS(250)), Some(MS(150)), Some(MS(150)))
    );
}

#[test]
fn delivered_data_gives_a_delivery_rate() {
    let mut t = Script::established(linux(), PEER);
    assert_eq!(t.info().delivery_rate, None);
    t.sends_train(100, 5000, 1, 5001);
    t.inject(200, "ack 5001");
    let info = t.info();
    assert_eq!(info.delivered, Bytes::new(5000));
    assert_eq!(info.delivery_rate, Some(BitRate::from_bps(400_000)));
    assert!(!info.delivery_rate_app_limited, "the first flight was stamped before the application had no more");
}

/// Linux's tcp_rate_gen: samples are app-limited until all data outstanding at the pause is delivered.
#[test]
fn rate_samples_after_a_pause_are_app_limited() {
    let mut t = Script::established(linux(), PEER);
    t.write(100, 5000);
    t.drain();
    t.inject(200, "ack 5001");
    t.sends_train(1000, 100_000, 5001, 15_001);
    // The app-limited sample is reported, because its rate is higher than the rate of the last sample.
    t.deliver(1100, "ack 15001");
    let info = t.info();
    assert_eq!((info.delivery_rate, info.delivery_rate_app_limited), (Some(BitRate::from_bps(800_000)), true));
    t.deliver(1200, "ack 20001");
    assert!(!t.info().delivery_rate_app_limited);
}

#[test]
fn busy_time_is_divided_by_the_limit_of_the_sender() {
    // At first the peer's window of two segments limits the sender; later the send buffer does.
    let mut t = Script::established(send_buffer(linux(), 4000), PEER);
    t.inject(100, "ack 1 win 2048");
    t.sends_train(200, 4000, 1, 2001);
    t.inject(300, "ack 2001 win 1048576");
    t.expect_train(300, 2001, 4001);
    t.inject(400, "ack 4001");
    t.expect_nothing_until(1000);
    let info = t.info();
    assert_eq!((info.busy_time, info.rwnd_limited, info.sndbuf_limited), (MS(200), MS(100), Duration::ZERO));
}

#[test]
fn probes_and_unsent_data_are_counted() {
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "ack 1 win 0");
    t.write(200, 3000);
    assert_eq!(t.info().notsent, Bytes::new(3000));
    t.expect(500, "0:0 ack 1");
    assert_eq!(t.info().probes, 1);
    t.inject(600, "ack 1 win 0");
    assert_eq!(t.info().probes, 0, "the peer has answered");
}

#[test]
fn the_info_contains_retransmitted_octets_and_rcv_ssthresh() {
    let mut t = Script::established(receive_buffer(linux(), 20_000), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect(400, "1:1001 .");
    let info = t.info();
    assert_eq!(info.counters.bytes_retransmitted, Bytes::new(1000));
    assert_eq!(info.rcv_ssthresh, Bytes::new(20_000));
    t.inject(450, "ack 1001");
    assert!(t.connection.read(instant(450), 10).is_err());
    assert_eq!(t.connection.write(&Payload::EMPTY), Ok(0));
}

/// tcp_ack_update_rtt: if an ACK acknowledges one segment and SACKs another segment, the SACKed segment is newer.
#[test]
fn the_minimum_rtt_is_sampled_from_the_newest_sacked_segment() {
    let mut t = Script::established(linux(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.sends_train(120, 2000, 1001, 3001);
    t.inject(210, "ack 1001 sack 2001:3001");
    assert_eq!(t.info().min_rtt, Some(MS(90)));
}

/// tcp_ack_update_rtt: the RTT of a retransmitted segment is computed from the echoed timestamp, and not from the send
/// time.
#[test]
fn the_minimum_rtt_after_a_retransmission_is_computed_from_the_echo() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.sends_train(100, 4000, 1, 4001);
    t.deliver(200, "ack 1 sack 1001:4001 ts 200:100");
    assert_eq!((t.info().counters.retransmits, t.info().min_rtt), (1, Some(MS(100))));
    t.inject(250, "ack 4001 ts 250:200");
    assert_eq!(t.info().min_rtt, Some(MS(50)));
}

/// tcp_update_rtt_min: the ACK of a single short segment may be delayed, so it does not replace an expired minimum RTT.
#[test]
fn an_ack_that_may_be_delayed_does_not_replace_the_minimum_rtt() {
    for (octets, predicted, smallest) in [(500, true, 100), (500, false, 100), (1000, true, 140)] {
        let mut t = Script::established(linux(), PEER);
        t.connection.prediction.off = !predicted;
        t.sends(350_000, octets, &format!("1:{} .", octets + 1));
        t.inject(350_140, &format!("ack {}", octets + 1));
        assert_eq!(t.info().min_rtt, Some(MS(smallest)), "{octets} octets, predicted: {predicted}");
        t.sends(350_200, 500, &format!("{}:{} .", octets + 1, octets + 501));
        t.inject(350_250, &format!("ack {}", octets + 501));
        assert_eq!(t.info().min_rtt, Some(MS(50)));
    }
    // The first short segment was acknowledged while the second segment was outstanding, so the ACK of the second
    // segment was not delayed.
    let mut t = Script::established(linux(), PEER);
    t.connection.set_nodelay(true);
    t.sends(350_000, 300, "1:301 .");
    t.sends(350_010, 300, "301:601 .");
    t.inject(350_140, "ack 301");
    assert_eq!(t.info().min_rtt, Some(MS(100)));
    t.inject(350_141, "ack 601");
    assert_eq!(t.info().min_rtt, Some(MS(131)));
}

/// tcp_info counts consecutive timeouts in tcpi_retransmits and tcpi_backoff, and lost retransmissions separately.
#[test]
fn consecutive_timeouts_are_counted() {
    let mut t = Script::established(linux(), PEER);
    t.sends(100, 1000, "1:1001 .");
    t.expect(400, "1:1001 .");
    assert_eq!((t.info().retransmits, t.info().counters.tail_probes), (0, 1));
    t.expect(700, "1:1001 .");
    t.expect(1300, "1:1001 .");
    let info = t.info();
    assert_eq!((info.retransmits, info.backoff, info.counters.timeouts), (2, 2, 2));
    assert_eq!((info.counters.retransmits, info.counters.lost_retransmits), (3, 2));
    t.inject(1400, "ack 1001");
    // Karn's algorithm: without timestamps, only an ACK of new data ends the backoff.
    assert_eq!((t.info().retransmits, t.info().backoff), (0, 2));
    t.sends(1500, 1000, "1001:2001 .");
    t.inject(1600, "ack 2001");
    assert_eq!(t.info().backoff, 0);
}

/// Linux's tcp_check_sack_reordering: an original transmission that arrives below the highest SACK was reordered.
#[test]
fn the_reordering_degree_is_the_distance_to_the_highest_sack() {
    let mut t = Script::established(linux(), PEER);
    t.write(100, 10_000);
    t.drain();
    t.deliver(200, "ack 1 sack 5001:6001");
    assert_eq!((t.info().reordering, t.info().reord_seen), (3, 0));
    t.deliver(201, "ack 1 sack 1001:2001,5001:6001");
    assert_eq!((t.info().reordering, t.info().reord_seen), (5, 1));
    t.deliver(202, "ack 1 sack 3001:4001,1001:2001,5001:6001");
    assert_eq!((t.info().reordering, t.info().reord_seen), (5, 2), "a smaller distance");
}

/// Linux's tcp_limit_reno_sacked: more duplicate ACKs than segments above the hole show that the path reorders.
#[test]
fn without_sack_too_many_duplicates_are_a_sign_of_reordering() {
    let mut t = Script::established(linux(), NO_SACK);
    t.write(100, 4000);
    t.drain();
    for at in [200, 201, 202] {
        t.deliver(at, "ack 1");
    }
    assert_eq!(t.info().reordering, 3);
    t.deliver(203, "ack 1");
    assert_eq!(t.info().reordering, 4, "four segments are outstanding");
}

/// RFC 9293 section 3.10.7.4: a pure ACK before the window is answered, and its acknowledgement still counts.
#[test]
fn an_old_pure_ack_still_acknowledges_but_one_beyond_the_window_does_not() {
    for (seq, acknowledged) in [(1, true), (90_000_001, false)] {
        let mut t = Script::established(linux(), PEER);
        for start in [1, 1001, 2001, 3001] {
            t.deliver(110, &format!("{start}:{}", start + 1000));
        }
        t.sends(120, 1000, "1:1001 .");
        t.deliver(200, &format!("{seq}:{seq} ack 1001"));
        assert_eq!(t.info().unacked, u32::from(!acknowledged), "{seq}");
    }
}
