//! What a scenario says about a stack reaches the wire.

use crate::run;
use lopsided_sim::RunResult;

fn with_stack(stack: &str) -> RunResult {
    run(&format!(
        r#"
        [scenario]
        duration = "10 s"
        [link]
        rtt = "40 ms"
        down = {{ rate = "8 Mbit/s", queue = "100 packets" }}
        up = {{ rate = "8 Mbit/s", queue = "100 packets" }}
        [[flow]]
        name = "file"
        direction = "down"
        transfer = "1 MB"
        stack = {{ {stack} }}
        [record]
        events = true
        "#
    ))
}

/// Segments with data and pure ACKs of the receiver, as sent by the hosts (server and client are nodes 0 and 1).
fn sent(result: &RunResult, from: u32) -> usize {
    let events = &result.packet_events;
    (0..events.event.len()).filter(|row| events.event[*row] == "sent" && events.node[*row] == from).count()
}

fn largest_payload(result: &RunResult) -> Option<u32> {
    result.packet_events.payload_bytes.iter().copied().max()
}

#[test]
fn the_segment_size() {
    assert_eq!(largest_payload(&with_stack("")), Some(1448));
    assert_eq!(largest_payload(&with_stack("timestamps = false")), Some(1460));
    assert_eq!(largest_payload(&with_stack("mss = \"1000 B\"")), Some(988));
}

#[test]
fn delayed_acks() {
    let (usual, every) =
        (with_stack("profile = \"freebsd-7\""), with_stack("profile = \"freebsd-7\", delayed_ack = \"off\""));
    // One for two, or for each of 691 segments; and the handshake's.
    assert!((340..370).contains(&sent(&usual, 1)), "{}", sent(&usual, 1));
    assert!((691..700).contains(&sent(&every, 1)), "{}", sent(&every, 1));
}

#[test]
fn the_initial_window() {
    let in_first_round_trip = |stack: &str| {
        let result = with_stack(stack);
        let events = &result.packet_events;
        let rows = 0..events.event.len();
        let data = |row: &usize| events.event[*row] == "sent" && events.payload_bytes[*row] > 0;
        // The handshake ends after 40 ms, the first data is acknowledged another 40 ms later.
        rows.filter(data).filter(|row| events.time_s[*row] < 0.075).count()
    };
    assert_eq!(in_first_round_trip(""), 10);
    assert_eq!(in_first_round_trip("initial_window = \"3 segments\""), 3);
    assert_eq!(in_first_round_trip("initial_window = \"5000 B\""), 3);
}

#[test]
fn the_buffers() {
    let goodput = |stack: &str| with_stack(stack).flows.goodput_bps[0];
    // A window of 20 kB in 40 ms and more is below 4 Mbit/s.
    let narrow = goodput("receive_buffer = \"20 kB\"");
    assert!((1_000_000.0..4_000_000.0).contains(&narrow), "{narrow}");
    let narrow = goodput("send_buffer = \"20 kB\"");
    assert!((1_000_000.0..4_000_000.0).contains(&narrow), "{narrow}");
    assert!(goodput("") > 6_000_000.0);
    // This stack offers 16 KiB for good, unless it is told to let the buffer grow.
    let offered = |stack: &str| with_stack(stack).samples.snd_wnd_bytes.into_iter().max();
    let (fixed, grown) = (
        offered("profile = \"bsdi-3\""),
        offered("profile = \"bsdi-3\", send_buffer = \"auto\", receive_buffer = \"auto\""),
    );
    assert!(fixed <= Some(16_384) && grown > Some(32_768), "{fixed:?} {grown:?}");
}

#[test]
fn the_largest_window() {
    for bound in
        ["max_window = \"20 kB\"", "max_window = \"14 segments\"", "profile = \"freebsd-7\", max_window = \"20 kB\""]
    {
        let flows = with_stack(bound).flows;
        assert!((1_000_000.0..4_000_000.0).contains(&flows.goodput_bps[0]), "{bound}: {}", flows.goodput_bps[0]);
        assert!(flows.cwnd_max_bytes[0] <= 20_272, "{bound}: {}", flows.cwnd_max_bytes[0]);
    }
}
