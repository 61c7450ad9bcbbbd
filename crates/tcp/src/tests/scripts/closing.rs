//! The end of a connection (RFC 9293 section 3.6) on every path through the states, and resets.

use super::script::{PEER, Script, TIMESTAMPS, freebsd, linux};
use crate::{ConnError, ConnEvent, State};
use lopsided_core::Payload;
use std::net::Shutdown;

/// Returns a script with an established connection, after its first event.
fn established() -> Script {
    let mut t = Script::established(linux(), PEER);
    t.expect_event(ConnEvent::Established);
    t
}

#[test]
fn the_end_that_closes_first_stays_in_time_wait_for_a_minute() {
    // RFC 9293 figure 12.
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.expect_state(State::FinWait1);
    t.inject(200, "ack 2");
    t.expect_state(State::FinWait2);
    t.expect_no_event();
    t.answers(300, "F 1:1", ". 2:2 ack 2");
    t.expect_event(ConnEvent::PeerClosed);
    t.expect_event(ConnEvent::Closed);
    t.expect_state(State::TimeWait);
    // The last ACK was lost, so the peer repeats its FIN. The ACK is sent again, and TIME-WAIT restarts.
    t.answers(1300, "F 1:1", ". 2:2 ack 2");
    t.expect_nothing_until(61_299);
    t.expect_state(State::TimeWait);
    t.expect_nothing_until(61_300);
    t.expect_state(State::Closed);
    t.expect_no_event();
}

#[test]
fn freebsd_repeats_its_fin_in_each_ack_until_it_is_acknowledged() {
    // 4.4BSD's tcp_output derives the flags from the state, so each ACK repeats a FIN that was already sent. RFC 9293
    // figure 13: both ends close at the same time.
    let mut t = Script::established(freebsd(), PEER);
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.inject(120, "1:1001 ack 1");
    t.answers(130, "1001:2001 ack 1", "F. 1:1 ack 2001");
    t.answers(150, "F 2001:2001 ack 1", "F. 1:1 ack 2002");
    t.expect_state(State::Closing);
    t.inject(200, "ack 2");
    t.expect_state(State::TimeWait);
    t.answers(300, "F 2001:2001 ack 2", ". 2:2 ack 2002");
    // Linux repeats a FIN only when its retransmission timer expires.
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.answers(150, "F 1:1 ack 1", ". 2:2 ack 2");
}

#[test]
fn the_end_that_closes_second_is_closed_by_the_last_ack() {
    let mut t = established();
    t.answers(100, "F 1:1", "ack 2");
    t.expect_event(ConnEvent::PeerClosed);
    t.expect_state(State::CloseWait);
    // The other direction stays open.
    t.sends(150, 1000, "1:1001 ack 2");
    t.close(160);
    t.expect(160, "F. 1001:1001 ack 2");
    t.expect_state(State::LastAck);
    t.inject(260, "ack 1001");
    t.expect_state(State::LastAck);
    t.inject(261, "ack 1002");
    t.expect_event(ConnEvent::Closed);
    t.expect_state(State::Closed);
}

#[test]
fn both_ends_can_close_at_the_same_time() {
    // RFC 9293 figure 13.
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.answers(150, "F 1:1 ack 1", ". 2:2 ack 2");
    t.expect_state(State::Closing);
    t.inject(200, "2:2 ack 2");
    t.expect_state(State::TimeWait);
}

#[test]
fn a_fin_that_acknowledges_this_ends_fin_closes_both_directions() {
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.answers(200, "F 1:1 ack 2", ". 2:2 ack 2");
    t.expect_state(State::TimeWait);
}

#[test]
fn a_lost_fin_is_retransmitted() {
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    // The FIN is first retransmitted as a tail loss probe, then after timeouts.
    t.expect(400, "F. 1:1 ack 1");
    t.expect(700, "F. 1:1 ack 1");
    t.expect(1300, "F. 1:1 ack 1");
    t.inject(1400, "ack 2");
    t.expect_state(State::FinWait2);
}

#[test]
fn written_data_is_sent_before_the_fin() {
    let mut t = established();
    t.sends_train(100, 12_500, 1, 10_001);
    t.close(100);
    t.expect_state(State::FinWait1);
    t.inject(200, "ack 10001");
    t.expect_train(200, 10_001, 12_001);
    t.expect(200, "F. 12001:12501 ack 1");
    t.inject(300, "ack 12502");
    t.expect_state(State::FinWait2);
}

#[test]
fn a_close_after_a_write_sends_a_separate_fin() {
    // Kernel capture: if an application writes 3,202 bytes and closes at once, Linux sends two full segments, a short
    // segment and then a FIN.
    let mut t = established();
    let closing = |t: &mut Script, octets| {
        t.connection.write(&Payload::virtual_len(octets)).expect("open");
        t.connection.shutdown(Shutdown::Write);
        t.pump();
    };
    closing(&mut t, 2200);
    t.expect(100, "1:1001 .");
    t.expect(100, "1001:2001 .");
    t.expect(100, "2001:2201 .");
    t.expect(100, "F. 2201:2201 ack 1");
    // If the window or Nagle's rule delays the last segment, that segment carries the FIN.
    let mut t = established();
    closing(&mut t, 10_200);
    t.expect_train(100, 1, 10_001);
    t.expect(100, "F. 10001:10201 ack 1");
    let mut t = established();
    t.sends(100, 200, "1:201 .");
    closing(&mut t, 300);
    t.expect(100, "F. 201:501 ack 1");
}

#[test]
fn data_written_before_the_handshake_is_delivered_despite_a_close() {
    let mut t = Script::connect(linux(), PEER);
    t.expect(0, "S 0:0");
    t.write(0, 1500);
    t.close(0);
    t.answers(100, &t.peer_syn("S. ack 1"), "1:1001 ack 1");
    t.expect(100, "F. 1001:1501 ack 1");
    t.expect_state(State::FinWait1);
}

#[test]
fn a_half_closed_connection_still_receives() {
    let mut t = Script::established(freebsd(), PEER);
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.inject(200, "ack 2");
    // In FIN-WAIT-2, ACKs are delayed as in ESTABLISHED.
    t.inject(300, "1:1001");
    t.expect(400, ". 2:2 ack 1001");
    t.answers(500, "F 1001:1501", ". 2:2 ack 1502");
    t.expect_state(State::TimeWait);
}

#[test]
fn an_out_of_order_fin_is_stored_until_the_gap_is_filled() {
    let mut t = established();
    t.answers(100, "F 1001:1001", "ack 1 sack 1001:1002");
    t.expect_no_event();
    t.answers(110, "1:1001", "ack 1002");
    t.expect_event(ConnEvent::PeerClosed);
    t.expect_state(State::CloseWait);
}

#[test]
fn a_stale_fin_does_not_end_the_stream() {
    let mut t = established();
    t.answers(100, "1:1001", "ack 1001");
    t.answers(101, "F 1000:1000", "ack 1001");
    t.expect_state(State::Established);
    t.answers(102, "1001:2001", "ack 2001");
}

#[test]
fn a_reset_at_rcv_nxt_ends_the_connection() {
    let mut t = established();
    t.sends(100, 1000, "1:1001 .");
    t.inject(150, "R 1:1");
    t.expect_event(ConnEvent::Failed(ConnError::Reset));
    t.expect_state(State::Closed);
    t.expect_nothing_until(100_000);
}

#[test]
fn a_reset_after_a_fin_ends_the_connection() {
    // RCV.NXT is the sequence number after the FIN.
    let mut t = established();
    t.answers(100, "F 1:1", "ack 2");
    t.inject(150, "R 2:2");
    t.expect_event(ConnEvent::PeerClosed);
    t.expect_event(ConnEvent::Failed(ConnError::Reset));
    t.expect_state(State::Closed);
}

#[test]
fn a_reset_ends_time_wait_without_an_event() {
    // RFC 9293 section 3.10.7.4, second check.
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.answers(200, "F 1:1 ack 2", ". 2:2 ack 2");
    t.expect_event(ConnEvent::PeerClosed);
    t.expect_event(ConnEvent::Closed);
    t.inject(300, "R 2:2");
    t.expect_state(State::Closed);
    t.expect_no_event();
}

#[test]
fn an_abort_sends_a_reset() {
    let mut t = established();
    t.sends(100, 1000, "1:1001 .");
    t.abort(150);
    t.expect(150, "R. 1001:1001 ack 1");
    t.expect_state(State::Closed);
    assert!(t.connection.is_finished());
}

#[test]
fn an_abort_in_time_wait_sends_nothing() {
    // RFC 9293 section 3.10.5.
    let mut t = established();
    t.close(100);
    t.expect(100, "F. 1:1 ack 1");
    t.answers(200, "F 1:1 ack 2", ". 2:2 ack 2");
    t.abort(300);
    t.expect_state(State::Closed);
}

#[test]
fn the_fin_of_a_close_acknowledges_in_order_data_with_a_fin() {
    // Linux: after the peer's FIN, this end is expected to send data or a FIN, so quick ACKs end. The FIN that this end
    // sends carries the acknowledgement.
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "1:1001", "ack 1001");
    t.closes = true;
    t.answers(101, "FP 1001:1501", "F 1:1 ack 1502");
    t.expect_nothing_until(140);
}

#[test]
fn a_filled_gap_is_acknowledged_before_the_application_closes() {
    let mut t = Script::established(linux(), PEER);
    t.answers(100, "FP 1001:1501", "ack 1 sack 1001:1502");
    t.closes = true;
    t.answers(120, "1:1001", "ack 1502");
    t.expect(120, "F 1:1 ack 1502");
}

#[test]
fn with_a_closed_window_acks_after_the_peers_fin_are_processed() {
    // After the FIN, the sequence numbers of the peer's segments are one beyond a window of zero. The acknowledgements
    // in these segments are still processed.
    let mut t = Script::established(super::script::receive_buffer(linux(), 2000), PEER);
    t.reads = false;
    t.answers(100, "1:1001", "ack 1001");
    t.answers(101, "F 1001:2001", "ack 2002 win 0");
    t.sends(110, 500, "1:501 ack 2002 win 0");
    t.inject(210, "2002:2002 ack 501");
    assert_eq!(t.info().unacked, 0);
}

/// Linux's __tcp_ack_snd_check counts the FIN: 1,001 bytes are more than a full segment of 1,000 bytes.
#[test]
fn a_full_segment_with_a_fin_is_acknowledged_at_once() {
    let without_quick_acks = || {
        let mut t = established();
        (0..32).for_each(|n| {
            t.deliver(100, &format!("{}:{}", 1000 * n + 1, 1000 * n + 1001));
        });
        t.drain_until(140);
        t
    };
    let mut t = without_quick_acks();
    t.answers(150, "F 32001:33001", "ack 33002");
    // The ACK of a short segment is delayed by 40 ms.
    let mut t = without_quick_acks();
    t.inject(150, "F 32001:32501");
    t.expect_nothing_until(189);
    t.expect(190, "ack 32502");
}

/// Linux's tcp_fin enters pingpong mode, so the ACK of a FIN without data is delayed. Without earlier data the delay is
/// zero.
#[test]
fn the_ack_of_a_fin_without_data_is_delayed_if_data_was_received() {
    let mut t = established();
    t.answers(100, "1:1001", "ack 1001");
    t.inject(105, "F 1001:1001");
    t.expect_nothing_until(144);
    t.expect(145, "ack 1002");
    let mut t = established();
    t.answers(100, "F 1:1", "ack 2");
}

/// Linux's tcp_send_active_reset reads the clock for the timestamp.
#[test]
fn a_reset_carries_the_current_timestamp() {
    let mut t = Script::established(linux(), TIMESTAMPS);
    t.sends(100, 1000, "1:1001 .");
    t.abort(150);
    t.expect(150, "R. 1001:1001 ack 1 ts 150:100");
}

/// The last segment is the second segment that is not acknowledged. If unread data would reduce the window, the ACK
/// waits for the read (`__tcp_ack_snd_check`). Linux's tcp_cleanup_rbuf then sends the ACK before the application can
/// close.
#[test]
fn a_read_is_acknowledged_before_the_application_closes() {
    for buffer in [3 << 20, 60_000] {
        let mut t = Script::established(super::script::receive_buffer(linux(), buffer), PEER);
        (0..100).for_each(|n| {
            t.deliver(100, &format!("{}:{}", 1000 * n + 1, 1000 * n + 1001));
        });
        t.closes = true;
        t.inject(110, "100001:101001");
        t.expect_nothing_until(111);
        t.answers(112, "FP 101001:101753", "ack 101754");
        t.expect(112, "F 1:1 ack 101754");
    }
}

#[test]
fn a_connection_is_finished_once_its_reset_is_sent() {
    let mut t = Script::established(linux(), PEER);
    assert!(!t.connection.is_finished() && t.connection.has_events());
    t.expect_event(ConnEvent::Established);
    assert!(!t.connection.has_events());
    t.connection.abort();
    assert!(!t.connection.is_finished(), "the reset is still to be sent");
    t.pump();
    t.expect(100, "R. 1:1 ack 1");
    assert!(t.connection.is_finished());
}

/// Linux's tcp_fin_timeout: a closed socket waits for the peer's FIN for 60 s.
#[test]
fn a_socket_that_is_closed_after_its_fin_was_acknowledged_waits_60_s() {
    let mut t = Script::established(linux(), PEER);
    t.close(200);
    t.expect(200, "F. 1:1 ack 1");
    t.inject(300, "ack 2");
    t.expect_state(State::FinWait2);
    t.expect_nothing_until(100_000);
    t.expect_state(State::FinWait2);
    t.leave(100_000);
    t.expect_nothing_until(159_999);
    t.expect_state(State::FinWait2);
    t.expect_nothing_until(160_000);
    t.expect_state(State::Closed);
}
