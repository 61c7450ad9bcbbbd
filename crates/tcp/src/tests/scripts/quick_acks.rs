//! Linux's quick ACKs: their number, the events that grant them, and the events that use them up.

use super::script::{PEER, Script, linux, receive_buffer};

/// Returns a connection that used up its 16 quick ACKs between 100 and 115 ms. Its window does not grow.
fn past_quick_acks() -> Script {
    let mut t = Script::established(receive_buffer(linux(), 64_000), PEER);
    for n in 0..16 {
        t.answers(100 + n, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001), &format!("ack {}", n * 1000 + 1001));
    }
    t
}

/// Sends full segments from byte 16001 on, 1 ms apart. Checks that the first `acks` segments are acknowledged
/// separately, and that the next segment is not.
#[track_caller]
fn expect_quick(t: &mut Script, from_ms: u64, acks: u64) {
    for n in 0..acks {
        let (at, start) = ((from_ms + n) as u32, 16_001 + n * 1000);
        t.answers(at, &format!("{start}:{}", start + 1000), &format!("ack {}", start + 1000));
    }
    let (at, start) = ((from_ms + acks) as u32, 16_001 + acks * 1000);
    t.inject(at, &format!("{start}:{}", start + 1000));
    t.expect_nothing_until(at + 30);
    t.drain_until(at + 100);
}

/// tcp_send_dupack: old data outside of the window grants new quick ACKs. The ACK of the old data does not use up a
/// quick ACK.
#[test]
fn old_data_outside_the_window_grants_sixteen_quick_acks() {
    let mut t = past_quick_acks();
    t.answers(130, "1:1001", "ack 16001 sack 1:1001");
    expect_quick(&mut t, 131, 16);
    // Data beyond the window is also acknowledged at once, but grants no quick ACKs.
    let mut t = past_quick_acks();
    t.answers(130, "900001:901001", "ack 16001");
    expect_quick(&mut t, 131, 0);
}

/// tcp_data_queue: data that ends at the last ACK is within the window, so its ACK is a quick ACK.
#[test]
fn a_duplicate_within_the_window_uses_up_a_quick_ack() {
    let mut t = past_quick_acks();
    t.answers(130, "15001:16001", "ack 16001 sack 15001:16001");
    expect_quick(&mut t, 131, 15);
}

/// Linux's tcp_enter_quickack_mode ends pingpong mode.
#[test]
fn old_data_outside_the_window_ends_pingpong_mode() {
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1:301", "ack 301");
    t.sends(110, 500, "1:501 ack 301");
    t.inject(210, "301:601 ack 501");
    t.sends(220, 500, "501:1001 ack 601");
    t.answers(300, "1:301 ack 1001", "ack 601 sack 1:301");
    t.answers(310, "601:901", "ack 901");
}

/// tcp_incr_quickack: one quick ACK per two full segments of the advertised window.
#[test]
fn a_small_window_grants_few_quick_acks() {
    for (window, quick) in [(3900, 1), (6000, 3)] {
        let mut t = Script::established(receive_buffer(linux(), window), PEER);
        for n in 0..=quick {
            let at = 100 + n as u32;
            t.inject(at, &format!("{}:{}", n * 1000 + 1, n * 1000 + 1001));
            if n < quick {
                t.expect(at, &format!("ack {}", n * 1000 + 1001));
            } else {
                t.expect(at + 40, &format!("ack {}", n * 1000 + 1001));
            }
        }
    }
}

/// tcp_event_data_recv: a pause grants new quick ACKs but does not change the delayed-ACK timeout.
#[test]
fn a_pause_does_not_change_the_delayed_ack_timeout() {
    let mut t = past_quick_acks();
    t.inject(200, "16001:17001");
    t.expect(240, "ack 17001");
    assert_eq!(t.info().ato.as_millis_f64(), 80.0);
    t.answers(1000, "17001:18001", "ack 18001");
    assert_eq!(t.info().ato.as_millis_f64(), 80.0);
}

/// tcp_event_data_recv: the time between segments adapts the delay.
#[test]
fn the_delay_follows_the_time_between_segments() {
    let mut t = Script::established(linux(), PEER);
    for (number, (at, delay)) in [(100, 40), (130, 50), (145, 45), (165, 42)].into_iter().enumerate() {
        t.deliver(at, &format!("{}:{}", 1000 * number + 1, 1000 * number + 1001));
        assert_eq!(t.info().ato.as_nanos() / 1_000_000, delay, "after {at} ms");
    }
}
