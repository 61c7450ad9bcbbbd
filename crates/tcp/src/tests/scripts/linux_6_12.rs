//! The differences between Linux 6.1 and 6.12: each test runs the same script with both profiles.

use super::script::{PEER, Script, linux, receive_buffer};
use crate::{AckSettings, BufferRule, Profile, TimerGrain};
use lopsided_core::{Bytes, Duration};

/// Linux 6.12 with exact timers and a large send buffer, like the profile [`linux`] for Linux 6.1.
fn linux_6_12() -> Profile {
    let (exact, newer) = (linux(), Profile::linux_6_12());
    Profile {
        grain: exact.grain,
        ack: AckSettings { grain: exact.ack.grain, ..newer.ack },
        send_buffer: exact.send_buffer,
        send_buffer_accounting: exact.send_buffer_accounting,
        ..newer
    }
}

/// The first `tcp_syn_linear_timeouts` timeouts of a SYN do not double (tcp_retransmit_timer), and do not count as
/// retries (tcp_write_timeout).
#[test]
fn the_first_four_syn_timeouts_do_not_double() {
    let mut t = Script::connect(linux_6_12(), PEER);
    for at in [0, 1000, 2000, 3000, 4000, 5000, 7000, 11_000, 19_000, 35_000, 67_000] {
        t.expect(at, "S 0:0");
    }
    t.expect_nothing_until(130_999);
    t.expect_no_event();
    // The timeouts of a SYN-ACK double from the first timeout on, as in 6.1.
    let mut t = Script::listen(linux_6_12(), PEER);
    t.inject(0, &t.peer_syn("S"));
    for at in [0, 1000, 3000, 7000] {
        t.expect(at, "S. 0:0 ack 1");
    }
}

/// tcp_cwnd_test has no exception for a FIN. tcp_snd_wnd_test still counts the FIN against the peer's window.
#[test]
fn the_segment_with_the_fin_waits_for_the_congestion_window() {
    let with_full_window = |profile| {
        let mut t = Script::established(profile, PEER);
        t.sends_train(100, 10_500, 1, 10_001);
        t.close(110);
        t
    };
    with_full_window(linux()).expect(110, "F. 10001:10501 ack 1");
    let mut t = with_full_window(linux_6_12());
    t.expect_nothing_until(199);
    t.answers(200, "ack 1001", "F. 10001:10501 ack 1");

    let mut t = Script::established(linux_6_12(), PEER);
    t.inject(100, "ack 1 win 1024");
    t.sends(100, 1512, "1:1001 .");
    t.close(100);
    t.inject(200, "ack 1001 win 512");
    t.expect_nothing_until(220);
    t.answers(230, "ack 1001 win 768", "F. 1001:1513 ack 1");
}

/// Returns a script with an RTT of 400 ms. Segments have arrived 1 s apart, and each segment has doubled the
/// delayed-ACK timeout.
fn slow_peer(profile: Profile) -> Script {
    let grain = TimerGrain::Wheel(Duration::from_millis(4));
    let ack = AckSettings { quick_acks: 0, grain, ..profile.ack };
    let mut t = Script::connect(Profile { ack, ..receive_buffer(profile, 64_000) }, PEER);
    t.expect(0, "S 0:0");
    t.answers(400, &t.peer_syn("S. ack 1"), "ack 1");
    for n in 1..4 {
        t.inject(n * 1000, &format!("{}:{}", n * 1000 - 999, n * 1000 + 1));
        t.drain_until(n * 1000 + 500);
    }
    t
}

/// tcp_delack_max: the delay of an ACK is less than the minimum RTO. tcp_delack_timer_handler: the adaptive timeout is
/// at most TCP_DELACK_MAX.
#[test]
fn an_ack_is_delayed_by_less_than_the_minimum_rto() {
    let mut t = slow_peer(linux());
    assert_eq!(t.info().ato, Duration::from_millis(320));
    t.inject(4000, "3001:4001");
    t.expect(4204, "ack 4001");
    let mut t = slow_peer(linux_6_12());
    assert_eq!(t.info().ato, Duration::from_millis(200));
    t.inject(4000, "3001:4001");
    t.expect(4200, "ack 4001");
    // `min_rto` changes the maximum delay of an ACK.
    let mut t = slow_peer(Profile { rto: linux().rto.with_min(Duration::from_millis(100)), ..linux_6_12() });
    t.inject(4000, "3001:4001");
    t.expect(4100, "ack 4001");
}

/// tcp_measure_rcv_mss: a segment of 1,000 bytes has an overhead of 832 bytes, so the window is 139/256 of the buffer.
/// In 6.1, the window is half of the buffer.
#[test]
fn the_window_depends_on_the_memory_of_a_measured_segment() {
    for (profile, most) in [(linux(), 65_536 - 1012), (linux_6_12(), 70_173)] {
        let mut t = Script::established(profile, PEER);
        for n in 0..40 {
            t.deliver(100, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
        }
        assert_eq!(t.info().rcv_ssthresh, Bytes::new(most), "{}", t.story());
    }
}

/// tcp_select_initial_window has no limit of 65,535 bytes in 6.12, so a large buffer is advertised at once. The window of
/// the SYN, 197 segments of 1,012 bytes, counts as advertised. tcp_select_window does not reduce it, although
/// tcp_init_buffer_space keeps a whole segment in reserve.
#[test]
fn a_large_buffer_is_advertised_at_once() {
    let receive_buffer = BufferRule::Fixed(Bytes::new(200_000));
    for (profile, offered) in [(linux(), 65_536), (linux_6_12(), 199_364)] {
        let mut t = Script::connect(Profile { receive_buffer, ..profile }, PEER);
        t.expect(0, "S 0:0 win 65535");
        t.answers(100, &t.peer_syn("S. ack 1"), &format!("ack 1 win {offered}"));
    }
}

/// tcp_select_window: a window that the header field cannot express counts as advertised. With a scale of 1, the field
/// expresses at most 131,070 bytes. After half a segment, the rest of the window is still larger than that, so the field does
/// not change. If only 131,070 bytes counted, the field would fall, because the data behind the gap leaves too little memory.
#[test]
fn a_window_beyond_the_header_field_counts_as_advertised() {
    let receive_buffer = BufferRule::Fixed(Bytes::new(130_000));
    let mut t = Script::established(Profile { receive_buffer, ..linux_6_12() }, PEER);
    for n in 0..60 {
        t.deliver(100, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    }
    for n in 61..140 {
        t.deliver(110, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
    }
    t.drain_until(119);
    t.answers(120, "60001:60501", "ack 60501 win 131070 sack 61001:140001");
}

/// tcp_data_queue_ofo calls tcp_measure_rcv_mss, so the first segment behind a gap updates the segment size.
#[test]
fn a_segment_after_a_gap_updates_the_segment_size() {
    for (profile, measured) in [(linux(), 536), (linux_6_12(), 1000)] {
        let mut t = Script::established(profile, PEER);
        t.deliver(100, "1001:2001");
        assert_eq!(t.info().rcv_mss, Bytes::new(measured));
    }
}

/// tcp_select_initial_window: without scaling the window is at most 65,535 bytes, so a read sends no window update.
#[test]
fn a_window_without_scaling_is_at_most_65535_octets() {
    for profile in [linux(), linux_6_12()] {
        let buffer = BufferRule::Auto { initial: Bytes::new(270_000), max: Bytes::new(6 << 20) };
        let mut t = Script::connect(Profile { receive_buffer: buffer, ..profile }, PEER);
        (t.peer.wscale, t.peer.window, t.reads) = (0, 65_535, false);
        t.expect(0, "S 0:0");
        t.answers(100, "S. 0:0 ack 1 win 65535 mss 1000 sackok", "ack 1 win 65535");
        t.answers(100, "1:1001", "ack 1001 win 65535");
        t.read(110, 1000);
        t.expect_nothing_until(200);
    }
}
