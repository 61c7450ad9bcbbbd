//! The windows and the rules for small segments: slow start, Nagle, silly windows, zero windows, idle periods.

use super::script::{MSS, NO_SACK, PEER, Peer, Script, freebsd, linux, send_buffer};
use crate::cc::{Idle, Setup, build};
use crate::{BufferRule, ByteCounting, IdleRestart, Profile, SendBufferAccounting, State};
use lopsided_core::{BitRate, Bytes, Duration, Payload, Time};
use std::collections::VecDeque;

#[test]
fn linux_starts_with_ten_segments_and_grows_by_the_delivered_data() {
    // RFC 6928 section 2: the initial window is ten segments. An ACK that covers eight segments grows the window by
    // eight segments.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 60_000, 1, 10_001);
    t.inject(200, "ack 1001");
    t.expect_train(200, 10_001, 12_001);
    t.expect_cwnd(11);
    t.inject(200, "ack 9001");
    t.expect_train(200, 12_001, 28_001);
    t.expect_cwnd(19);
}

#[test]
fn freebsd_starts_with_four_segments_and_grows_by_one_per_ack() {
    // RFC 3390 equation 1: the initial window is four segments. RFC 5681 equation 2 without byte counting: an ACK that
    // covers three segments adds as much as an ACK that covers one segment.
    let mut t = Script::established(freebsd(), PEER);
    t.sends_train(100, 20_000, 1, 4001);
    t.inject(200, "ack 1001");
    t.expect_train(200, 4001, 6001);
    t.expect_cwnd(5);
    t.inject(200, "ack 4001");
    t.expect_train(200, 6001, 10_001);
    t.expect_cwnd(6);
}

#[test]
fn a_window_that_the_application_does_not_fill_does_not_grow() {
    // RFC 7661: five segments do not fill the window of ten segments, so the window does not grow. In slow start, Linux
    // lets the window grow to twice the outstanding data.
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 5000, 1, 5001);
    t.inject(200, "ack 5001");
    t.expect_cwnd(10);
    t.sends_train(200, 6000, 5001, 11_001);
    t.inject(300, "ack 11001");
    t.expect_cwnd(16);
}

/// Returns a script at 400 ms: no data is outstanding, and the window is 40 segments. The last segment was sent at 300
/// ms; the RTO is 300 ms.
fn after_a_transfer(profile: Profile) -> Script {
    let mut t = Script::established(profile, PEER);
    t.sends_train(100, 40_000, 1, 10_001);
    t.inject(200, "ack 10001");
    t.expect_train(200, 10_001, 30_001);
    t.inject(300, "ack 30001");
    t.expect_train(300, 30_001, 40_001);
    t.inject(400, "ack 40001");
    t.expect_cwnd(40);
    assert_eq!(t.info().rto, Duration::from_millis(300));
    t
}

#[test]
fn linux_halves_the_window_per_idle_rto_down_to_the_initial_window() {
    // RFC 2861 section 3.2, tcp_slow_start_after_idle: the window does not change during the first RTO, and is then
    // halved once per RTO that has passed.
    for (resumes, segments) in [(600, 40), (601, 20), (900, 20), (901, 10), (5000, 10)] {
        let mut t = after_a_transfer(linux());
        t.sends_train(resumes, 80_000, 40_001, 40_001 + segments * 1000);
        t.expect_cwnd(segments);
    }
}

/// Returns a script without SACK in which four of 40 segments are lost, and five segments follow. The recovery takes
/// four round trips.
fn repaired_for_longer_than_the_timeout(profile: Profile) -> Script {
    let mut t = Script::established(profile, NO_SACK);
    t.write(100, 75_000);
    t.drain();
    for (at, ack) in [(200, 10_001), (300, 30_001)] {
        t.deliver(at, &format!("ack {ack}"));
    }
    for _ in 0..36 {
        t.deliver(400, "ack 30001");
    }
    for (at, ack) in [(500, 32_001), (600, 34_001), (700, 36_001), (800, 75_001)] {
        t.deliver(at, &format!("ack {ack}"));
    }
    t
}

#[test]
fn a_recovery_without_new_data_does_not_count_as_idle_time() {
    let mut t = repaired_for_longer_than_the_timeout(linux());
    assert!(t.info().rto.as_millis_f64() < 400.0);
    t.sends_train(800, 60_000, 75_001, 95_001);
}

#[test]
fn with_abc_half_the_window_grows_by_half_of_the_acknowledged_data() {
    // Balakrishnan et al. 1999, figure 19: incr_count = acked / (2 * mss), which is multiplied by mss in slow start.
    let profile = Profile {
        byte_counting: ByteCounting::Half,
        initial_window_segments: 8,
        initial_window_cap: None,
        ..freebsd()
    };
    let mut t = Script::established(profile, PEER);
    t.sends_train(100, 8000, 1, 8001);
    t.inject(200, "ack 2001");
    t.expect_cwnd(9);
    t.inject(201, "ack 3001");
    t.inject(202, "ack 4001");
    t.expect_cwnd(10);
    t.inject(203, "ack 8001");
    t.expect_cwnd(12);
}

#[test]
fn freebsd_restarts_from_the_initial_window() {
    // RFC 5681 section 4.1: after an idle period of more than one RTO, the window is at most the initial window of four
    // segments. Before that, four segments that are acknowledged one by one grow the window to eight segments.
    let mut t = Script::established(freebsd(), PEER);
    t.sends_train(100, 4000, 1, 4001);
    for ack in [1001, 2001, 3001, 4001] {
        t.inject(200, &format!("ack {ack}"));
    }
    t.expect_cwnd(8);
    t.sends_train(2000, 10_000, 4001, 8001);
    t.expect_cwnd(4);
}

#[test]
fn with_minshall_a_short_segment_waits_for_an_outstanding_short_segment() {
    // Nagle with Minshall's modification (draft-minshall-nagle), as in Linux: outstanding full segments do not delay a
    // short segment.
    let mut t = Script::established(linux(), PEER);
    t.sends(100, 1500, "1:1001 .");
    t.expect(100, "1001:1501 .");
    t.write(110, 300);
    t.inject(200, "ack 1001");
    t.answers(201, "ack 1501", "1501:1801 .");
}

/// In a capture of Linux 6.1 (20 Mbit/s, 400 ms), an ACK wakes an application that writes 128 KiB, and then more. The
/// first write ends with a short segment, which the second write does not fill.
#[test]
fn linux_sends_the_short_end_of_a_write_before_the_next_write() {
    let mut t = Script::established(linux(), PEER);
    let write = |t: &mut Script, octets| t.connection.write(&Payload::virtual_len(octets)).expect("open");
    write(&mut t, 2500);
    write(&mut t, 2700);
    t.write(100, 600);
    t.expect_train(100, 1, 2001);
    t.expect(100, "2001:2501 .");
    // The short segment is outstanding, so the end of the second write waits (Minshall), and the third write fills it.
    t.expect_train(100, 2501, 5501);
    t.answers(200, "ack 2501", "5501:5801 .");
}

#[test]
fn the_next_write_fills_a_short_segment_that_a_window_holds_back() {
    let mut t = Script::established(linux(), PEER);
    t.connection.write(&Payload::virtual_len(10_500)).expect("open");
    t.write(100, 500);
    t.expect_train(100, 1, 10_001);
    t.answers(200, "ack 1001", "10001:11001 .");
    // The peer's window has space for four segments.
    let mut t = Script::established(linux(), Peer { window: 4_096, ..PEER });
    t.connection.write(&Payload::virtual_len(4_500)).expect("open");
    t.write(100, 500);
    t.expect_train(100, 1, 4001);
    t.answers(200, "ack 1001", "4001:5001 .");
    // After an idle period, the window of 40 segments is reduced to ten segments.
    let mut t = after_a_transfer(linux());
    t.connection.write(&Payload::virtual_len(20_500)).expect("open");
    t.write(5000, 500);
    t.expect_train(5000, 40_001, 50_001);
    t.inject(5100, "ack 50001");
    t.expect_train(5100, 50_001, 61_001);
}

#[test]
fn with_nagle_a_short_segment_waits_for_any_outstanding_data() {
    // Nagle (RFC 9293 section 3.7.4), as in FreeBSD: a short segment waits while any data is outstanding.
    let mut t = Script::established(freebsd(), PEER);
    t.sends(100, 300, "1:301 .");
    t.sends(110, 1500, "301:1301 .");
    t.inject(200, "ack 301");
    t.answers(201, "ack 1301", "1301:1801 .");
}

#[test]
fn a_fin_does_not_wait_for_nagle() {
    let mut t = Script::established(freebsd(), PEER);
    t.sends(100, 300, "1:301 .");
    t.write(110, 200);
    t.close(120);
    t.expect(120, "F. 301:501 ack 1");
}

#[test]
fn linux_sends_the_segment_with_the_fin_beyond_the_congestion_window() {
    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 11_500, 1, 10_001);
    t.close(110);
    t.expect_nothing_until(150);
    // The second-to-last segment uses the space that an ACK frees. The last segment is sent although the window is
    // full.
    t.answers(200, "ack 1001", "10001:11001 .");
    t.expect(200, "F. 11001:11501 ack 1");

    let mut t = Script::established(linux(), PEER);
    t.sends_train(100, 10_500, 1, 10_001);
    t.close(110);
    t.expect(110, "F. 10001:10501 ack 1");
    let mut t = Script::established(Profile { fin_beyond_cwnd: false, ..linux() }, PEER);
    t.sends_train(100, 10_500, 1, 10_001);
    t.close(110);
    t.expect_nothing_until(150);
}

#[test]
fn linux_delays_the_last_segment_until_the_peers_window_has_space_for_its_fin() {
    let closed_with_512_left = |profile| {
        let mut t = Script::established(profile, PEER);
        t.inject(100, "ack 1 win 1024");
        t.sends(100, 1512, "1:1001 .");
        t.close(100);
        t.inject(200, "ack 1001 win 512");
        t
    };
    let mut t = closed_with_512_left(linux());
    t.expect_nothing_until(220);
    t.answers(230, "ack 1001 win 768", "F. 1001:1513 ack 1");
    let mut t = closed_with_512_left(Profile { fin_uses_window: false, ..linux() });
    t.expect(200, "F. 1001:1513 ack 1");
}

#[test]
fn the_peers_window_limits_the_outstanding_data() {
    let mut t = Script::established(linux(), Peer { window: 3072, ..PEER });
    t.inject(100, "ack 1");
    t.sends_train(100, 10_000, 1, 3001);
    t.inject(200, "ack 3001");
    t.expect_train(200, 3001, 6001);
}

#[test]
fn a_zero_window_is_probed_with_backoff_until_it_opens() {
    // RFC 9293 section 3.8.6.1: the first probe is sent after one RTO, later probes with exponential backoff. The
    // connection stays open.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "ack 1 win 0");
    t.write(100, 2000);
    for at in [400, 1000, 2200, 4600, 9400] {
        t.expect(at, ". 0:0 ack 1");
    }
    t.inject(9500, "ack 1 win 65536");
    t.expect_train(9500, 1, 2001);
    // The backoff of the window probes does not change the RTO of data segments.
    assert_eq!(t.info().rto, Duration::from_millis(300));
    assert_eq!((t.info().retransmits, t.info().backoff), (0, 0));
}

#[test]
fn a_window_smaller_than_a_segment_is_used_only_after_the_override_timeout() {
    // RFC 9293 section 3.8.6.2.1: a segment that is shorter than a full segment waits for a larger window or for the
    // override timeout.
    let mut t = Script::established(linux(), PEER);
    t.inject(100, "ack 1 win 512");
    t.write(100, 5000);
    t.expect_nothing_until(399);
    t.expect(400, "1:513 .");
    t.answers(500, "ack 513 win 65536", "513:1513 .");
    t.expect(500, "1513:2513 .");
    t.expect(500, "2513:3513 .");
    t.expect(500, "3513:4513 .");
    t.expect(500, "4513:5001 .");
}

#[test]
fn a_shrinking_window_stops_only_new_data() {
    // RFC 9293 section 3.8.6: the usable window may become negative.
    let mut t = Script::established(Profile { tlp: false, ..linux() }, PEER);
    t.sends_train(100, 30_000, 1, 10_001);
    t.inject(200, "ack 2001 win 2048");
    t.expect(500, "2001:3001 .");
    // Only the oldest lost segment is retransmitted, because all other segments are beyond the window.
    t.expect(1100, "2001:3001 .");
    t.expect_nothing_until(1500);
    t.answers(1600, "ack 10001 win 65536", "10001:11001 .");
    t.drain();
}

#[test]
fn sack_blocks_shorten_the_data_of_segments() {
    // RFC 9293 section 3.7.1: options take space from the data, so that no packet exceeds the peer's MSS.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1001:2001", ". ack 1 sack 1001:2001");
    t.answers(100, "3001:4001", ". ack 1 sack 3001:4001,1001:2001");
    t.write(110, 3000);
    // An option with two SACK blocks takes 20 bytes, so a full segment carries 980 bytes of data.
    for start in [1, 981, 1961] {
        t.expect(110, &format!("{start}:{} ack 1 sack 3001:4001,1001:2001", start + 980));
    }
    t.expect(110, "2941:3001 ack 1 sack 3001:4001,1001:2001");
}

#[test]
fn max_burst_limits_each_burst_and_spreads_bursts_over_the_rtt() {
    // Balakrishnan, Padmanabhan and Katz 1999, figure 19: the time between bursts is maxburst / (cwnd / srtt). Here,
    // cwnd is 10 segments and srtt is 100 ms.
    let mut t = Script::established(Profile { max_burst: 4, ..linux() }, PEER);
    t.sends_train(100, 60_000, 1, 4001);
    t.expect_nothing_until(139);
    t.expect_train(140, 4001, 8001);
    t.expect_train(180, 8001, 10_001);
    t.expect_nothing_until(199);
    // A full burst is sent at once. No timer is armed for segments that the window does not permit.
    t.inject(200, "ack 2001");
    t.expect_train(200, 10_001, 14_001);
    t.inject(201, "ack 3001");
    t.expect_train(201, 14_001, 16_001);
}

#[test]
fn the_pause_between_bursts_follows_an_ack_that_was_late_and_not_lost() {
    // Balakrishnan, Padmanabhan and Katz 1999, section 8.3: the exact SRTT has a sample of every ACK of new data.
    let mut t =
        Script::established(Profile { max_burst: 1, initial_window_segments: 4, ..Profile::ns2_reno() }, NO_SACK);
    t.write(100, 60_000);
    t.expect_train(100, 1, 4001);
    // The first sample is 100 ms, and the window is 5 segments.
    t.inject(200, "ack 1001");
    t.expect(200, "4001:5001 .");
    t.expect(220, "5001:6001 .");
    // ACKs wait in a queue for so long that the timer expires. The late ACK covers the retransmission. Its sample is that
    // of the last segment, 500 ms, so the SRTT is 150 ms. The window is 2 segments.
    t.expect(500, "1001:2001 .");
    t.inject(720, "ack 6001");
    t.expect(720, "6001:7001 .");
    t.expect_nothing_until(794);
    t.expect(795, "7001:8001 .");
}

#[test]
fn retransmissions_after_a_timeout_are_sent_in_bursts() {
    // Balakrishnan, Padmanabhan and Katz 1999, section 6.3: the limit applies to all packets that are sent back to back.
    let mut t =
        Script::established(Profile { max_burst: 1, initial_window_segments: 4, ..Profile::ns2_reno() }, NO_SACK);
    t.write(100, 60_000);
    t.expect_train(100, 1, 4001);
    t.inject(200, "ack 1001");
    t.expect(200, "4001:5001 .");
    t.expect(220, "5001:6001 .");
    t.expect(500, "1001:2001 .");
    // The ACK opens the window by two segments, to 2 segments and a part of a third.
    t.inject(600, "ack 3001");
    t.expect(600, "3001:4001 .");
    t.expect_nothing_until(620);
    t.drain();
}

#[test]
fn a_fast_retransmit_does_not_wait_for_the_next_burst() {
    let mut t =
        Script::established(Profile { max_burst: 1, initial_window_segments: 4, ..Profile::ns2_reno() }, NO_SACK);
    t.write(100, 60_000);
    t.expect_train(100, 1, 4001);
    t.inject(200, "ack 1001");
    t.expect(200, "4001:5001 .");
    // The next burst is due at 220 ms.
    for at in [201, 202, 203] {
        t.inject(at, "ack 1001");
    }
    t.expect(203, "1001:2001 .");
}

/// Simulates a connection that sends one segment every 100 ms until `until_ms`. Returns the first window and each
/// changed window, in segments.
fn windows_of_a_slow_application(profile: Profile, until_ms: u32) -> Vec<u64> {
    let mut t = Script::established(profile, PEER);
    t.write(100, 10_000);
    t.drain_until(101);
    t.inject(200, "ack 10001");
    t.write(200, 20_000);
    t.drain_until(201);
    t.inject(300, "ack 30001");
    let mut seen = vec![t.info().snd_cwnd.get() / MSS];
    for (number, at) in (310..until_ms).step_by(100).enumerate() {
        t.write(at, 1000);
        t.drain();
        let window = t.info().snd_cwnd.get() / MSS;
        if seen.last() != Some(&window) {
            seen.push(window);
        }
        t.inject(at + 90, &format!("ack {}", 31_001 + 1000 * number));
    }
    seen
}

#[test]
fn linux_halves_the_distance_of_an_unused_window_to_the_used_data_each_rto() {
    // RFC 2861 section 3.1: the window shrinks towards its used part, but not below the initial window.
    assert_eq!(windows_of_a_slow_application(linux(), 2000), [40, 25, 17, 13, 11, 10]);
    let never = Profile { idle_restart: IdleRestart::Never, ..linux() };
    assert_eq!(windows_of_a_slow_application(never, 2000), [40]);
}

/// Linux's tcp_is_cwnd_limited: in slow start a window counts as fully used if more than half of it is used.
#[test]
fn in_slow_start_a_window_decays_one_rto_after_it_was_last_half_used() {
    let mut t = Script::established(linux(), PEER);
    t.write(100, 30_000);
    t.drain();
    t.deliver(200, "ack 10001");
    t.inject(300, "ack 30001");
    t.expect_cwnd(40);
    let mut written = 30_000;
    let mut burst = |t: &mut Script, at: u32| {
        t.write(at, 25_000);
        t.drain();
        let window = t.info().snd_cwnd.get() / MSS;
        written += 25_000;
        t.inject(at + 90, &format!("ack {}", written + 1));
        window
    };
    // The RTO of 300 ms is measured from 310 ms, not from the time at which the window was last full.
    assert_eq!([310, 410, 510, 630].map(|at| burst(&mut t, at)), [40, 65, 65, 45]);
}

/// Linux calls tcp_cwnd_validate when a segment was sent, or when only the window prevented a segment.
#[test]
fn an_ack_that_releases_no_segment_does_not_validate_the_window() {
    let mut t = Script::established(linux(), PEER);
    t.write(100, 10_000);
    t.drain();
    t.inject(200, "ack 5001");
    t.expect_cwnd(15);
    t.write(210, 3000);
    t.drain();
    t.inject(220, "ack 10001");
    t.expect_cwnd(20);
    t.inject(310, "ack 13001");
    t.expect_cwnd(23);
}

#[test]
fn the_decay_of_an_unused_window_sets_ssthresh_to_three_quarters() {
    // RFC 2861 section 3: a loss had reduced ssthresh to 5 segments. When an unused window of 40 segments decays,
    // ssthresh rises to 3/4 of the window, which is 30 segments.
    let segments = |count: u64| Bytes::new(count * MSS);
    let setup = Setup::new(&linux(), segments(1), 0);
    let mut reno = build("reno", &setup).expect("built in");
    let path = Script::established(linux(), PEER).connection.send.path();
    reno.on_established(Time::ZERO, &path);
    reno.adopt(Time::ZERO, segments(40), Some(segments(5)));
    reno.on_idle(Time::ZERO, Idle::Unused { window: segments(25) }, &path);
    assert_eq!((reno.cwnd(), reno.ssthresh()), (segments(25), Some(segments(30))));
}

/// In a capture of Linux 6.1, a bulk sender's first write ends at the same offset.
#[test]
fn linuxs_first_send_buffer_holds_two_initial_windows() {
    let room = |segments: u32| {
        let profile = Profile { initial_window_segments: segments, ..Profile::linux_6_1() };
        Script::established(profile, PEER).connection.writable()
    };
    assert_eq!([room(4), room(10), room(20)], [27_000, 27_000, 53_000]);
    // Linux provides 1,280 bytes for a segment of up to 512 bytes. A segment of 500 bytes takes 1,268 bytes.
    let mut small = Script::connect(Profile::linux_6_1(), PEER);
    small.expect(0, "S 0:0");
    small.answers(100, "S. 0:0 ack 1 win 65535 mss 500 wscale 8 sackok", "ack 1");
    assert_eq!(small.connection.writable(), 21 * 500);
    // Hybla sets its own initial window, which is four segments at 100 ms. Linux sizes the buffer for at least ten
    // segments.
    let hybla = Profile { initial_window_segments: 20, ..Profile::linux_6_1() };
    assert_eq!(Script::established_with(hybla, PEER, "hybla").connection.writable(), 27_000);
}

/// The expected PSH flags come from captures of Linux 6.1.
#[test]
fn linux_sets_push_at_the_end_of_a_write_and_after_each_half_window() {
    let mut t = Script::established(linux(), Peer { window: 65_536, ..PEER });
    t.write(100, 80_000);
    let mut pushed = vec![t.drain_pushed()];
    for (at, ack) in [(200, 10_001), (300, 30_001), (400, 70_001)] {
        t.inject(at, &format!("ack {ack}"));
        pushed.push(t.drain_pushed());
    }
    // PSH is set after half of the largest advertised window, which is 32,768 bytes.
    assert_eq!(pushed, [vec![], vec![], vec![33_001, 66_001], vec![80_001]]);
}

/// tcp_sendmsg_locked: if a write fills the buffer, PSH is set on its last segment unless this segment was sent at once.
#[test]
fn a_write_that_fills_the_buffer_sets_push_only_on_a_segment_that_waits() {
    let pushed = |buffer, octets| {
        let profile = Profile { send_buffer: BufferRule::Fixed(Bytes::new(buffer)), ..Profile::linux_6_1() };
        let mut t = Script::established(profile, PEER);
        let accepted = t.write_what_fits(100, octets);
        let mut pushed = t.drain_pushed();
        t.inject(200, "ack 10001");
        pushed.extend(t.drain_pushed());
        (accepted, pushed)
    };
    assert_eq!(pushed(1, 3000), (3000, vec![3001]), "a complete write");
    assert_eq!(pushed(1, 60_000), (3000, vec![]), "all accepted data is sent at once");
    assert_eq!(pushed(20_000, 60_000), (23_000, vec![23_001]), "the window holds ten segments");
}

#[test]
fn a_fin_without_data_has_no_push() {
    let mut t = Script::established(linux(), PEER);
    t.write(100, 300);
    assert_eq!(t.drain_pushed(), [301]);
    t.close(100);
    assert_eq!(t.drain_pushed(), [0i64; 0]);
    t.inject(200, "ack 302");
    t.expect_state(State::FinWait2);
}

/// socket(7): SOCK_MIN_SNDBUF.
#[test]
fn the_minimum_send_buffer_accepts_three_segments() {
    let profile = Profile { send_buffer: BufferRule::Fixed(Bytes::new(1)), ..Profile::linux_6_1() };
    let mut t = Script::established(profile, PEER);
    t.sends_train(100, 3000, 1, 3001);
    assert_eq!(t.connection.writable(), 0);
}

/// BBR's ProbeRTT: after ten seconds the window is four segments for 200 ms and one round. The RTT is 100 ms.
#[test]
fn bbr_drains_the_queue_in_probe_rtt_after_ten_seconds() {
    const STEP_MS: usize = 10;
    let mut t = Script::established_with(linux(), Peer { window: 32_768, ..PEER }, "bbr");
    let mut sent = Vec::new();
    let mut small = Vec::new();
    for step in 10..1300 {
        let _ = t.connection.write(&Payload::virtual_len(100_000));
        t.pump();
        t.drain_until((step * STEP_MS) as f64);
        sent.push(t.connection.send.flight.nxt());
        if let Some(acked) = sent.len().checked_sub(100 / STEP_MS + 1) {
            t.deliver((step * STEP_MS) as f64, &format!("ack {}", sent[acked] + 1));
        }
        if step > 100 && t.connection.cwnd() == Bytes::new(4 * MSS) {
            small.push(step * STEP_MS);
        }
    }
    let (first, last) = (small[0], small[small.len() - 1]);
    assert!((10_000..10_400).contains(&first), "from {first} ms");
    assert!((200..500).contains(&(last - first)), "for {} ms", last - first);
}

/// Linux (`bbr_packets_in_net_at_edt`): Drain ends at one BDP plus the allowance for offload, which is 14 segments in
/// this test. The line delivers one segment every 10 ms.
#[test]
fn bbr_ends_drain_by_the_data_in_flight_at_the_next_departure() {
    let mut t = Script::established_with(linux(), PEER, "bbr");
    let (mut acks, mut sent, mut free) = (VecDeque::new(), 0, 0);
    let mut seen = Vec::new();
    for now in 100_u32..1600 {
        let _ = t.connection.write(&Payload::virtual_len(100_000));
        t.pump();
        t.drain_until(now);
        while sent < t.connection.send.flight.nxt() {
            sent += MSS;
            free = now.max(free) + 10;
            acks.push_back((free + 90, sent));
        }
        while acks.front().is_some_and(|(at, _)| *at <= now) {
            let (_, acked) = acks.pop_front().expect("there is one");
            t.deliver(now, &format!("ack {}", acked + 1));
        }
        let sender = &t.connection.send;
        seen.push((now, sender.flight.controller.state().phase, sender.in_flight() / MSS));
    }
    // With 15 outstanding segments, pacing permits the next segment in 25 ms. Before that, the line delivers two
    // segments.
    let end = seen.iter().rposition(|(_, phase, _)| *phase == "drain").expect("it drains");
    assert_eq!(seen[end..end + 2], [(1540, "drain", 16), (1541, "probe bandwidth", 15)]);
}

#[test]
fn freebsd_rounds_buffers_up_to_whole_segments() {
    // tcp_mss also rounds up a buffer size that the application has set.
    let profile = Profile { receive_buffer: BufferRule::Fixed(Bytes::new(8192)), ..send_buffer(freebsd(), 8192) };
    let mut t = Script::established(profile, PEER);
    assert_eq!(t.connection.writable(), 9000);
    t.inject(100, "1:1001");
    t.drain_until(300);
    assert_eq!(t.info().rcv_wnd, Bytes::new(9000));
    t.connection.set_send_buffer(Bytes::new(8192));
    assert_eq!(t.connection.writable(), 8192, "a size set later is not rounded");
}

#[test]
fn in_freebsd_a_writer_waits_until_2_kib_are_free() {
    // sosend: a writer waits for MCLBYTES of free space in the send buffer, unless its whole write fits.
    let mut t = Script::established(send_buffer(freebsd(), 9000), PEER);
    t.write(100, 9000);
    t.drain();
    let more = Payload::virtual_len(4000);
    for (at, ack, taken) in [(200, 1001, 0), (201, 2001, 0), (202, 3001, 3000), (203, 4001, 0)] {
        t.inject(at, &format!("ack {ack}"));
        assert_eq!(t.connection.writable(), taken);
        assert_eq!(t.connection.write(&more), Ok(taken));
        t.pump();
        t.drain();
    }
    t.write(204, 700);
}

/// RFC 9293 section 3.8.6.2.1, the sender's silly window avoidance: less than a segment is sent if it is at least half of
/// the largest window that the peer has offered.
#[test]
fn half_of_a_small_peers_buffer_is_worth_a_segment() {
    for (window, sends) in [(600, true), (599, false), (0, false)] {
        let mut t = Script::connect(linux(), Peer { wscale: 0, window: 1200, ..PEER });
        t.expect(0, "S 0:0");
        t.answers(100, "S. 0:0 ack 1 win 1200 mss 1000 wscale 0 sackok", "ack 1");
        t.sends(100, 5000, "1:1001 .");
        t.answers(200, "ack 1001", "1001:2001 .");
        t.inject(300, &format!("ack 2001 win {window}"));
        if sends {
            t.expect(300, "2001:2601 .");
        }
        t.expect_nothing_until(400);
    }
}

/// tcp_sndbuf_expand: the buffer holds twice the window or twice the reordering degree, whichever is larger. A segment of 1,000
/// bytes counts as 1,768 bytes, and 2,304 bytes are provided for it. After the ACK, 18 of 27 segments are left. A third of
/// 50,688 bytes is then free, but not a third of 46,080 bytes.
#[test]
fn the_send_buffer_also_holds_twice_the_reordering_degree() {
    let send_buffer = BufferRule::Auto { initial: Bytes::new(46_080), max: Bytes::new(4 << 20) };
    let send_buffer_accounting = SendBufferAccounting::Memory { per_segment: 768 };
    for (duplicates, reordering, may_write) in [(3, 3, false), (12, 10, true)] {
        let mut t = Script::established(Profile { send_buffer, send_buffer_accounting, ..linux() }, NO_SACK);
        let write = |t: &mut Script| t.connection.write(&Payload::virtual_len(100_000)).expect("open");
        assert_eq!(write(&mut t), 27_000);
        t.drain();
        t.deliver(200, "ack 1 win 10240");
        (0..duplicates).for_each(|_| t.deliver(200, "ack 1 win 10240"));
        t.deliver(300, "ack 9001 win 10240");
        assert_eq!((t.info().reordering, write(&mut t) > 0), (reordering, may_write));
    }
}

/// tcp_update_pacing_rate: with a maximum pacing rate, Linux paces at 200 % of the window per round trip in slow start,
/// and at 120 % later.
#[test]
fn the_usual_pacing_rate_depends_on_slow_start() {
    for (ssthresh, percent) in [(None, 200), (Some(41), 200), (Some(40), 120)] {
        let profile = Profile { remembered_threshold: ssthresh.map(|segments| Bytes::new(segments * MSS)), ..linux() };
        let mut t = Script::established(profile, PEER);
        t.connection.set_max_pacing_rate(Some(BitRate::from_bps(1_000_000_000)));
        t.write(100, 100_000);
        t.drain();
        t.deliver(200, "ack 10001");
        t.expect_cwnd(20);
        t.drain_until(299);
        let sent = t.info().unacked;
        // 20 segments per 100 ms, and half a segment as credit for the idle time before.
        let expected = (99 * 20 * percent / 100 / 100 + 1).min(20);
        assert!(sent.abs_diff(expected) <= 1, "{ssthresh:?}: {sent} and {expected}");
    }
}
