//! When a receiver sends ACKs (RFC 5681 section 4.2), and which segments carry them.

use super::script::{PEER, Peer, Script, TIMESTAMPS, freebsd, linux, receive_buffer};
use crate::{AckSettings, BufferRule, Profile, TimerGrain};
use lopsided_core::{Bytes, Duration};

/// Returns a connection that acknowledged each of 16 segments separately between 100 and 115 ms. Its window does not
/// grow.
pub(super) fn after_quick_acks() -> Script {
    after_quick_acks_to(PEER)
}

pub(super) fn after_quick_acks_to(peer: Peer) -> Script {
    using_quick_acks(Script::established(receive_buffer(linux(), 64_000), peer))
}

/// Returns the connection after 16 segments, each acknowledged at once.
fn using_quick_acks(mut t: Script) -> Script {
    for n in 0..16 {
        t.answers(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    t
}

#[test]
fn linux_sends_sixteen_quick_acks_and_then_one_ack_per_two_segments() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.answers(117, "17001:18001", "ack 18001");
    t.inject(118, "18001:19001");
    t.answers(119, "19001:20001", "ack 20001");
}

#[test]
fn linux_delays_an_ack_by_40_ms_and_longer_after_each_timeout() {
    let mut t = after_quick_acks();
    t.inject(116, "16001:17001");
    t.expect(156, "ack 17001");
    t.inject(300, "17001:18001");
    t.expect(380, "ack 18001");
    // The delayed ACK is sent after at most one RTT.
    t.inject(500, "18001:19001");
    t.expect(600, "ack 19001");
}

#[test]
fn linux_delays_an_ack_by_at_most_200_ms() {
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.answers(400, &t.peer_syn("S. ack 1"), "ack 1");
    for n in 0..16 {
        t.answers(400, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    for (n, (at, wait)) in [(401, 40), (700, 80), (1000, 160), (1400, 200), (1800, 200)].into_iter().enumerate() {
        let start = 16_001 + n * 1000;
        t.inject(at, &format!("{start}:{}", start + 1000));
        t.expect(at + wait, &format!("ack {}", start + 1000));
    }
}

#[test]
fn linux_acknowledges_every_segment_while_its_window_opens() {
    let mut t = Script::established(linux(), PEER);
    let (mut singles, mut window) = (0, 0);
    // 40 segments arrive per RTT of 100 ms. This number is more than twice the initial assumption of ten segments, so
    // the window grows.
    for n in 0..120u64 {
        t.inject(200.0 + n as f64 * 2.5, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        if let Some((ack, offered)) = t.take() {
            assert_eq!(ack, (n + 1) * 1000 + 1);
            singles += u32::from(n >= 20 && offered > window);
            window = offered;
        } else {
            assert!(n >= 16, "the first sixteen are acknowledged at once");
        }
    }
    assert!(window > 120_000, "{window}");
    // The window opens by two segments for each segment that was acknowledged alone.
    assert!((u64::from(singles) * 2000).abs_diff(window - 64_000) < 4_000, "{singles} to {window}");
}

#[test]
fn linux_acknowledges_the_end_of_a_message_at_once() {
    let mut t = after_quick_acks();
    t.inject(200, "16001:17001");
    t.expect(240, "ack 17001");
    // A short segment and a full segment with PSH are acknowledged once the application has read them.
    t.answers(300, "17001:17101", "ack 17101");
    t.answers(400, "P 17101:18101", "ack 18101");
    t.reads = false;
    t.inject(500, "P 18101:19101");
    t.read(510, 1000);
    t.expect(510, "ack 19101");
}

#[test]
fn linux_2_6_ignores_push_on_a_full_segment() {
    let mut t = Script::established(receive_buffer(Profile::linux_2_6(), 64_000), PEER);
    for n in 0..16 {
        t.answers(100 + n, &format!("P {}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    t.inject(120, "P 16001:17001");
    t.expect(160, "ack 17001");
}

#[test]
fn linux_sends_quick_acks_again_after_a_pause() {
    // A sender that has paused for more than one RTO restarts with a small window.
    let mut t = after_quick_acks();
    t.answers(1000, "16001:17001", "ack 17001");
}

#[test]
fn linux_takes_a_long_recovery_for_a_pause() {
    // The receiver's RTO has been 300 ms since the handshake. Out-of-order data is ignored when the time between
    // segments is measured.
    let mut t = after_quick_acks();
    for n in 0..4 {
        t.inject(200 + n * 100, &format!("{}:{}", n * 1000 + 17_001, n * 1000 + 18_001));
        t.drain_until(202 + n * 100);
    }
    t.answers(600, "16001:17001", "ack 21001");
    t.answers(610, "21001:22001", "ack 22001");
    t.answers(620, "22001:23001", "ack 23001");
}

#[test]
fn freebsd_sends_two_acks_for_three_segments_and_delays_an_ack_by_100_ms() {
    // Every second segment is acknowledged when it arrives, before the application reads, so its data reduces the
    // advertised window. The following read could open the window by two segments, so the third segment is acknowledged
    // as well. In a capture the window alternates between 1530 and 1552, with two ACKs for three segments.
    let mut t = Script::established(freebsd(), PEER);
    for n in 0..3 {
        let (at, start) = (100 + n * 30, n * 3000);
        t.inject(at, &format!("{}:{}", start + 1, start + 1001));
        t.answers(at + 10, &format!("{}:{}", start + 1001, start + 2001), &format!("ack {} win 65000", start + 2001));
        t.answers(at + 20, &format!("{}:{}", start + 2001, start + 3001), &format!("ack {} win 66000", start + 3001));
    }
    t.inject(200, "9001:10001");
    t.expect(300, "ack 10001 win 66000");
}

#[test]
fn data_carries_the_pending_ack() {
    let mut t = Script::established(freebsd(), PEER);
    t.inject(100, "1:1001");
    t.sends(150, 500, "1:501 ack 1001");
    t.inject(180, "ack 501");
    t.expect_nothing_until(500);
}

#[test]
fn small_segments_are_also_acknowledged_in_pairs() {
    // The size of a full segment is the measured size, not the default of 536 bytes.
    let mut t = Script::connect(receive_buffer(linux(), 64_000), PEER);
    t.expect(0, "S 0:0");
    t.answers(100, "S. 0:0 ack 1 win 65535 mss 400 sackok wscale 8", "ack 1");
    for n in 0..16 {
        t.answers(100 + n, &format!("{}:{}", n * 400 + 1, n * 400 + 401), &format!("ack {}", n * 400 + 401));
    }
    t.inject(120, "6401:6801");
    t.answers(121, "6801:7201", "ack 7201");
}

/// tcp_measure_rcv_mss: if segments are shorter than negotiated, two consecutive segments of the same size count as
/// full.
#[test]
fn repeated_short_segments_count_as_full_segments() {
    let mut t = Script::established(receive_buffer(linux(), 64_000), PEER);
    let mut at = 100;
    let mut bring = |t: &mut Script, n: u64| {
        at += 1;
        t.inject(at as f64, &format!("{}:{}", n * 200 + 1, n * 200 + 201));
        t.take().is_some()
    };
    let acknowledged: Vec<bool> = (0..24).map(|n| bring(&mut t, n)).collect();
    assert!(acknowledged[..16].iter().all(|acknowledged| *acknowledged), "quick ACKs");
    assert_eq!(acknowledged[18..], [false, true, false, true, false, true]);
}

#[test]
fn a_segment_with_an_old_ack_number_does_not_set_the_echoed_timestamp() {
    // RFC 7323 section 4.3: the segment arrives late. It is acceptable, but its old acknowledgement number means that
    // its timestamp must not be echoed.
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.sends(100, 1000, "1:1001 .");
    t.inject(200, "ack 1001");
    t.answers(210, "1:1001 ack 501 ts 205:100", "ack 1001 ts 210:200");
}

#[test]
fn in_pingpong_mode_answers_carry_the_acks() {
    // Linux's pingpong mode: a request that is answered within the delayed-ACK timeout ends the quick ACKs.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1:301", "ack 301");
    t.sends(110, 500, "1:501 ack 301");
    t.inject(210, "301:601 ack 501");
    t.sends(220, 500, "501:1001 ack 601");
    // A request is not answered, so the delayed-ACK timer expires and ends pingpong mode.
    t.inject(320, "601:901 ack 1001");
    t.expect(360, "ack 901");
    t.answers(370, "901:1201", "ack 1201");
}

#[test]
fn outside_pingpong_mode_a_short_segment_is_acknowledged_when_it_is_read() {
    let mut t = after_quick_acks();
    t.answers(200, "16001:16301", "ack 16301");
}

#[test]
fn this_ends_fin_carries_the_ack_of_the_peers_fin() {
    let mut t = after_quick_acks();
    t.inject(200, "F 16001:16001");
    t.close(210);
    t.expect(210, "F. 1:1 ack 16002");
    // If this end does not close, the ACK waits for the delayed-ACK timeout.
    let mut t = after_quick_acks();
    t.inject(200, "F 16001:16001");
    t.expect(240, "ack 16002");
}

#[test]
fn the_delayed_ack_timeout_is_a_whole_number_of_ticks() {
    let ack = AckSettings { grain: TimerGrain::Wheel(Duration::from_millis(4)), ..linux().ack };
    let mut t = Script::established(receive_buffer(Profile { ack, ..linux() }, 64_000), PEER);
    let mut next = 1;
    let mut segment = |t: &mut Script, at: u32| {
        t.inject(at, &format!("{next}:{}", next + 1000));
        next += 1000;
    };
    for at in 200..240 {
        segment(&mut t, at);
        t.drain();
    }
    t.drain_until(300);
    // A single segment waits until the timer expires. The expiry doubles the timeout of ten ticks.
    segment(&mut t, 400);
    t.expect(444, ". ack 41001");
    for at in [500, 504, 508, 512, 516, 520] {
        segment(&mut t, at);
        t.drain();
    }
    // At each arrival, the timeout becomes half of its value, rounded down to whole ticks, plus five ticks: 20, 15, 12,
    // 11, 10, and then 10 again. Without rounding, the timeout would remain above 10 ticks.
    segment(&mut t, 560);
    t.expect(604, ". ack 48001");
}

#[test]
fn an_ack_that_is_nearly_due_is_sent_at_the_next_short_segment() {
    let mut t = Script::established(linux(), PEER);
    for n in 0..20 {
        t.deliver(200 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    }
    t.drain_until(300);
    t.reads = false;
    t.inject(400, "20001:20401");
    // The deadline is at 440 ms. The remaining 8 ms are less than 1/4 of the current timeout, which is between 20 and
    // 32 ms.
    t.answers(432, "20401:20801", ". ack 20801");
}

/// RFC 7323 section 4.3: the ACK echoes the timestamp of the retransmission, because the retransmission does not begin
/// beyond Last.ACK.sent.
#[test]
fn the_timestamp_of_a_retransmission_of_the_last_acked_segment_is_echoed() {
    for (profile, dsack) in [(linux(), true), (freebsd(), false)] {
        let sack = |block: &str| if dsack { format!(" sack {block}") } else { String::new() };
        let mut t = Script::established(receive_buffer(profile, 64_000), TIMESTAMPS);
        t.deliver(100, "1:1001 ts 100:100");
        t.deliver(101, "1001:2001 ts 101:100");
        t.answers(400, "1001:2001 ts 400:100", &format!("ack 2001{} ts 400:400", sack("1001:2001")));
        // A segment that ends before the last ACK is outside of the window, so its timestamp is ignored.
        t.answers(500, "1:1001 ts 500:100", &format!("ack 2001{} ts 500:400", sack("1:1001")));
    }
}

/// Returns a connection that has used all quick ACKs at 115 ms. Its buffer has `octets` bytes of Linux memory, and its
/// application has stopped reading.
fn unread_after_quick_acks(octets: u64) -> Script {
    let buffer = BufferRule::Fixed(Bytes::new(octets));
    let mut t = using_quick_acks(Script::established(Profile { receive_buffer: buffer, ..linux() }, PEER));
    t.reads = false;
    t
}

/// tcp_cleanup_rbuf: unread data would reduce the window, so an ACK for two segments waits for a read.
#[test]
fn an_ack_that_would_reduce_the_window_waits_for_the_read() {
    let mut t = unread_after_quick_acks(64_000);
    t.inject(116, "16001:17001");
    t.inject(117, "17001:18001");
    t.read(130, 1000);
    t.expect(130, "ack 18001");
    // If the application does not read, the timer of the first segment sends the ACK.
    t.inject(135, "18001:19001");
    t.inject(150, "19001:20001");
    t.expect(175, "ack 20001");
}

#[test]
fn the_first_unacknowledged_segment_sets_the_delayed_ack_timer() {
    let mut t = unread_after_quick_acks(64_000);
    t.inject(116, "16001:17001");
    t.inject(140, "17001:18001");
    t.read(141, 2000);
    t.expect(141, "ack 18001");
    // The timer is still running. When it expires, it sends a compressed ACK.
    for n in 0..3 {
        t.inject(150, &format!("{}:{}", 19_001 + n * 1000, 20_001 + n * 1000));
        t.expect(150, &format!("ack 18001 sack 19001:{}", 20_001 + n * 1000));
    }
    t.inject(155.95, "22001:23001");
    t.expect(156, "ack 18001 sack 19001:23001");
}

/// __tcp_select_window ends the quick ACKs if less than half of the buffer is free.
#[test]
fn quick_acks_end_once_the_buffer_is_half_full() {
    for (segments, quick) in [(60, true), (90, false)] {
        let mut t =
            Script::established(Profile { receive_buffer: BufferRule::Fixed(Bytes::new(20_000)), ..linux() }, PEER);
        t.reads = false;
        for n in 0..segments {
            t.deliver(110 + n, &format!("{}:{}", n * 200 + 1, n * 200 + 201));
        }
        t.drain_until(300);
        // A duplicate of the last segment grants 16 quick ACKs.
        let end = segments * 200 + 201;
        t.answers(310, &format!("{}:{}", end - 400, end - 200), &format!("ack {0} sack {1}:{0}", end - 200, end - 400));
        t.inject(320, &format!("{}:{end}", end - 200));
        t.expect(if quick { 320 } else { 360 }, &format!("ack {end}"));
    }
}
