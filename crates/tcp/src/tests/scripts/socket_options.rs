//! Tests of socket options that an application changes during a connection.

use super::script::{MSS, PEER, Script, instant, linux, receive_buffer};
use crate::ack_policy::AckPolicy;
use crate::cc::{Setup, build};
use crate::{AckSettings, ConnError, ConnEvent, KeepAlive, Profile, State};
use lopsided_core::{BitRate, Bytes, Duration};

fn established(profile: Profile) -> Script {
    let mut t = Script::established(profile, PEER);
    t.expect_event(ConnEvent::Established);
    t
}

fn policy(name: &'static str) -> Box<dyn AckPolicy> {
    let settings = AckSettings { policy: name, ..AckSettings::delayed(Duration::from_millis(150)) };
    crate::receive::ack_policy::build(&settings).expect("it is built in")
}

#[test]
fn another_ack_policy_decides_from_now_on() {
    let mut t = established(linux());
    t.connection.set_ack_policy(policy("delayed"));
    t.inject(200, "1:1001");
    t.expect_nothing_until(300);
    t.connection.set_ack_policy(policy("immediate"));
    t.answers(310, "1001:2001", ". ack 2001");
    t.answers(320, "2001:3001", ". ack 3001");
}

#[test]
fn nodelay_sends_a_short_segment_after_another() {
    let mut t = established(linux());
    t.sends(100, 300, "1:301 .");
    t.write(110, 300);
    t.expect_nothing_until(110);
    // Enabling the option sends the waiting data.
    t.connection.set_nodelay(true);
    t.pump();
    t.expect(110, "301:601 .");
    t.sends(120, 300, "601:901 .");
    t.connection.set_nodelay(false);
    t.write(130, 300);
    t.expect_nothing_until(130);
    t.answers(200, "ack 901", "901:1201 .");
}

#[test]
fn cork_delays_a_short_segment_until_it_is_full_or_uncorked_or_for_one_rto() {
    let mut t = established(linux());
    t.connection.set_cork(true);
    t.sends(100, 1300, "1:1001 .");
    t.inject(200, "ack 1001");
    // tcp(7) states a limit of 200 ms. The actual limit is one RTO, which the probe timer sets.
    let rto = t.info().rto.as_millis_f64();
    t.expect(200.0 + rto, "1001:1301 .");
    t.write(600, 400);
    t.expect_nothing_until(610);
    t.sends(610, 600, "1301:2301 .");
    t.write(620, 100);
    t.connection.set_cork(false);
    t.pump();
    t.expect_nothing_until(620);
    t.answers(700, "ack 2301", "2301:2401 .");
}

#[test]
fn a_fin_is_sent_despite_cork() {
    let mut t = established(linux());
    t.connection.set_cork(true);
    t.write(100, 300);
    t.expect_nothing_until(101);
    t.close(101);
    t.expect(101, "F. 1:301 ack 1");
}

#[test]
fn a_new_congestion_control_takes_over_the_window() {
    let profile = linux();
    let setup = Setup::new(&profile, Bytes::new(MSS), 0);
    let mut t = established(profile);
    t.sends_train(100, 30_000, 1, 10_001);
    t.deliver(200, "ack 10001");
    let before = t.info();
    assert_eq!(before.snd_cwnd, Bytes::new(20 * MSS));
    for name in ["cubic", "bbr", "vegas", "prague"] {
        t.connection.set_controller(instant(200), build(name, &setup).expect("built in"));
        assert_eq!(t.info().snd_cwnd, before.snd_cwnd, "{name}");
    }
}

#[test]
fn buffer_sizes_can_be_changed_on_an_open_connection() {
    let mut t = established(linux());
    t.connection.set_send_buffer(Bytes::new(5000));
    assert_eq!(t.connection.writable(), 5000);
    t.sends_train(100, 5000, 1, 5001);
    t.connection.set_send_buffer(Bytes::new(2000));
    assert_eq!(t.connection.writable(), 0);
    t.inject(200, "ack 4001");
    assert_eq!(t.connection.writable(), 1000);

    let mut t = established(receive_buffer(linux(), 20_000));
    t.reads = false;
    t.connection.set_receive_buffer(Bytes::new(50_000));
    t.answers(100, "1:1001", "ack 1001 win 49000");
    // A smaller buffer does not reduce a window that was advertised.
    t.connection.set_receive_buffer(Bytes::new(5000));
    t.answers(101, "1001:2001", "ack 2001 win 48000");
}

#[test]
fn a_maximum_pacing_rate_spaces_segments() {
    let mut t = established(linux());
    // The rate corresponds to one segment of 1,000 bytes every 5 ms.
    t.connection.set_max_pacing_rate(Some(BitRate::from_bps(1_600_000)));
    t.write(100, 20_000);
    // Linux does not pace the first ten segments of a connection.
    t.expect_train(100, 1, 10_001);
    t.answers(200, "ack 10001", "10001:11001 .");
    // After an idle period Linux's pacing credits half of a segment's time, so the first gap is 2.5 ms instead of 5 ms.
    for segment in 11..20 {
        t.expect(202.5 + 5.0 * (segment - 11) as f64, &format!("{}:{} .", segment * MSS + 1, (segment + 1) * MSS + 1));
    }
    assert_eq!(t.info().max_pacing_rate, Some(BitRate::from_bps(1_600_000)));
}

#[test]
fn keepalive_probes_a_silent_peer_and_then_resets() {
    let mut t = established(linux());
    let times = KeepAlive { idle: Duration::from_secs(10), interval: Duration::from_secs(1), probes: 3 };
    t.connection.set_keepalive(instant(100), Some(times));
    t.expect(10_100, "0:0 ack 1");
    t.inject(10_200, "ack 1");
    // The keep-alive timer restarts when a segment arrives.
    for at in [20_200, 21_200, 22_200] {
        t.expect(at, "0:0 ack 1");
    }
    t.expect(23_200, "R. 1:1 ack 1");
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
    t.expect_state(State::Closed);
}

#[test]
fn keepalive_sends_no_probe_while_data_is_outstanding() {
    let mut t = established(linux());
    let times = KeepAlive { idle: Duration::from_millis(50), interval: Duration::from_millis(50), probes: 1 };
    t.connection.set_keepalive(instant(100), Some(times));
    t.sends(120, 1000, "1:1001 .");
    t.expect(420, "1:1001 .");
    t.inject(430, "ack 1001");
    t.expect(480, "1000:1000 ack 1");
    t.connection.set_keepalive(instant(480), None);
    t.expect_nothing_until(100_000);
}

#[test]
fn the_user_timeout_ends_a_connection_before_the_last_retransmission() {
    let mut t = established(linux());
    t.connection.set_user_timeout(Some(Duration::from_millis(1000)));
    t.sends(100, 1000, "1:1001 .");
    // A tail loss probe is sent first, and then the RTO expires. The first timeout starts the user timeout.
    t.expect(400, "1:1001 .");
    t.expect(700, "1:1001 .");
    t.expect(1300, "1:1001 .");
    t.expect_nothing_until(1700);
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
}

/// RFC 5482 section 2: the timeout limits the time without an acknowledgement of the data. A duplicate ACK acknowledges
/// none.
#[test]
fn a_duplicate_ack_does_not_extend_the_user_timeout() {
    let mut t = established(linux());
    t.connection.set_user_timeout(Some(Duration::from_millis(1000)));
    t.sends(100, 1000, "1:1001 .");
    t.expect(400, "1:1001 .");
    t.expect(700, "1:1001 .");
    t.inject(800, "ack 1");
    t.expect(1300, "1:1001 .");
    t.expect_nothing_until(1700);
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
}

#[test]
fn the_user_timeout_ends_a_connection_with_a_closed_window() {
    let mut t = established(linux());
    t.connection.set_user_timeout(Some(Duration::from_millis(1000)));
    t.inject(100, "ack 1 win 0");
    t.write(200, 1000);
    t.expect(500, "0:0 ack 1");
    t.expect(1100, "0:0 ack 1");
    t.expect_nothing_until(2300);
    t.expect_event(ConnEvent::Failed(ConnError::TimedOut));
}
