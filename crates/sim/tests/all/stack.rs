//! TCP settings of a scenario change the packets on the wire.

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
        app = "1 MB"
        stack = {{ {stack} }}
        [record]
        events = true
        "#
    ))
}

/// Returns the number of data segments (`server`) or pure ACKs (`client`).
fn sent(result: &RunResult, from: &str) -> usize {
    let events = &result.packet_events;
    (0..events.event.len()).filter(|row| events.event[*row] == "sent" && *events.node[*row] == *from).count()
}

fn largest_payload(result: &RunResult) -> Option<u32> {
    result.packet_events.payload_bytes.iter().copied().max()
}

#[test]
fn mss_and_options_determine_the_payload() {
    // The payload is the MTU of 1,500 bytes minus 40 bytes of headers and 12 bytes of timestamps.
    assert_eq!(largest_payload(&with_stack("")), Some(1448));
    assert_eq!(largest_payload(&with_stack("timestamps = false")), Some(1460));
    // RFC 6691: the MSS does not account for options, so the payload is smaller by the 12 bytes of timestamps.
    assert_eq!(largest_payload(&with_stack("mss = \"1000 B\"")), Some(988));
}

#[test]
fn delayed_acks_reduce_the_number_of_acks() {
    let (usual, every) =
        (with_stack("profile = \"freebsd-7\""), with_stack("profile = \"freebsd-7\", delayed_ack = \"off\""));
    // The profile sends two ACKs for three segments. Without delayed ACKs, each of the 691 segments is acknowledged
    // separately. The handshake adds one ACK.
    assert!((455..475).contains(&sent(&usual, "client")), "{}", sent(&usual, "client"));
    assert!((691..700).contains(&sent(&every, "client")), "{}", sent(&every, "client"));
}

#[test]
fn the_initial_window_limits_the_first_round_trip() {
    let in_first_round_trip = |stack: &str| {
        let result = with_stack(stack);
        let events = &result.packet_events;
        let rows = 0..events.event.len();
        let data = |row: &usize| events.event[*row] == "sent" && events.payload_bytes[*row] > 0;
        // The handshake ends after 40 ms. The first ACK for data arrives another 40 ms later.
        rows.filter(data).filter(|row| events.time_s[*row] < 0.075).count()
    };
    assert_eq!(in_first_round_trip(""), 10);
    assert_eq!(in_first_round_trip("initial_window = \"3 segments\""), 3);
    assert_eq!(in_first_round_trip("initial_window = \"5000 B\""), 3);
}

#[test]
fn the_buffers_limit_the_goodput() {
    let goodput = |stack: &str| with_stack(stack).flows.goodput_bps[0];
    // A window of 20 kB per RTT of at least 40 ms limits the rate to 4 Mbit/s.
    let narrow = goodput("receive_buffer = \"20 kB\"");
    assert!((1_000_000.0..4_000_000.0).contains(&narrow), "{narrow}");
    let narrow = goodput("send_buffer = \"20 kB\"");
    assert!((1_000_000.0..4_000_000.0).contains(&narrow), "{narrow}");
    // Slow start ends when the last segment is lost, as on Linux. 1 MB takes 1.1 s, and the timer adds 0.5 s.
    assert!(goodput("") > 4_500_000.0);
    // This stack always advertises a window of 16 KiB, unless its receive buffer may grow.
    let offered = |stack: &str| with_stack(stack).samples.snd_wnd_bytes.into_iter().max();
    let (fixed, grown) = (
        offered("profile = \"bsdi-3\""),
        offered("profile = \"bsdi-3\", send_buffer = \"auto\", receive_buffer = \"auto\""),
    );
    assert!(fixed <= Some(16_384) && grown > Some(32_768), "{fixed:?} {grown:?}");
}

#[test]
fn samples_report_the_receive_space_of_the_receiver() {
    // The sender receives no data, so its own value never grows.
    let space = with_stack("").samples.rcv_space_bytes.into_iter().max();
    assert!(space > Some(14_480), "{space:?}");
}

#[test]
fn max_window_limits_the_congestion_window() {
    for bound in
        ["max_window = \"20 kB\"", "max_window = \"14 segments\"", "profile = \"freebsd-7\", max_window = \"20 kB\""]
    {
        let flows = with_stack(bound).flows;
        assert!((1_000_000.0..4_000_000.0).contains(&flows.goodput_bps[0]), "{bound}: {}", flows.goodput_bps[0]);
        let largest = flows.cwnd_max_bytes[0].unwrap();
        // 20,272 bytes are 14 segments of 1,448 bytes, because the bound is rounded to whole segments.
        assert!(largest <= 20_272, "{bound}: {largest}");
    }
}

#[test]
fn a_remembered_threshold_ends_the_first_slow_start() {
    let overshoot = |stack: &str| with_stack(stack).flows.cwnd_max_bytes[0].unwrap();
    // Above the remembered threshold, the window grows by one segment per round trip instead of doubling.
    for remembered in ["remembered_threshold = \"20 kB\"", "remembered_threshold = \"13 segments\""] {
        let stack = format!("cc = \"reno\", {remembered}");
        assert!(2 * overshoot(&stack) < overshoot("cc = \"reno\""), "{remembered}: {}", overshoot(&stack));
    }
}

/// Runs a transfer in which every twentieth segment is lost.
fn with_losses(stack: &str) -> RunResult {
    run(&format!(
        r#"
        [scenario]
        duration = "10 s"
        [link]
        rtt = "40 ms"
        down = {{ rate = "8 Mbit/s", queue = "100 packets", loss = "5 %" }}
        up = {{ rate = "8 Mbit/s", queue = "100 packets" }}
        [[flow]]
        name = "file"
        direction = "down"
        app = "1 MB"
        stack = {{ {stack} }}
        [record]
        events = true
        "#
    ))
}

/// Each switch changes the packets on the wire. Setting a switch to the profile's own value changes nothing.
#[test]
fn every_switch_changes_the_packets_on_the_wire() {
    for (profile, other, own) in [
        ("linux-6.1", "sack = false", "sack = true"),
        ("linux-6.1", "timestamps = false", "timestamps = true"),
        ("linux-6.1", "window_scaling = false", "window_scaling = true"),
        ("linux-6.1", "rack = false", "rack = true"),
        ("linux-6.1", "fack = true, rack = false", "fack = false"),
        ("linux-6.1", "prr = false", "prr = true"),
        ("linux-6.1", "rate_halving = true, prr = false", "rate_halving = false"),
        ("linux-6.1", "limited_transmit = false, rack = false, fack = true", "limited_transmit = true"),
        ("linux-6.1", "abc = 0", "delayed_ack = \"on\""),
        ("linux-2.6", "abc = 2", "abc = 0"),
        ("linux-2.6", "fack = false", "fack = true"),
        ("linux-2.6", "rate_halving = false", "rate_halving = true"),
        ("linux-2.6", "prr = true, rate_halving = false", "prr = false"),
        ("freebsd-7", "delayed_ack = { segments = 4 }", "delayed_ack = { segments = 2, timeout = \"100 ms\" }"),
        ("freebsd-7", "initial_window = \"1 segments\"", "initial_window = \"4380 B\""),
        ("freebsd-7", "fack = true", "prr = false"),
        ("bsdi-3", "fast_recovery = \"newreno\"", "fast_recovery = \"reno\""),
        ("ns2-reno", "fast_recovery = \"reno\"", "fast_recovery = \"careful-reno\""),
    ] {
        let digest = |more: &str| with_losses(&format!("profile = \"{profile}\", {more}")).digest;
        let plain = with_losses(&format!("profile = \"{profile}\"")).digest;
        assert_ne!(digest(other), plain, "{profile}: {other}");
        assert_eq!(digest(own), plain, "{profile}: {own}");
    }
}

/// The last segment and the FIN are lost. The retransmission timer expires `min_rto` after the last ACK of new data.
#[test]
fn the_rto_is_at_least_min_rto() {
    let silent_for = |stack: &str| {
        let result = run(&format!(
            r#"
            [scenario]
            duration = "10 s"
            [link]
            rtt = "40 ms"
            down = {{ rate = "8 Mbit/s", queue = "100 packets", loss = {{ packets = [3, 4] }} }}
            up = {{ rate = "8 Mbit/s", queue = "100 packets" }}
            [[flow]]
            direction = "down"
            app = "1 kB"
            stack = {{ tlp = false, {stack} }}
            [record]
            events = true
            "#
        ));
        let events = &result.packet_events;
        let data = |row: &usize| events.event[*row] == "sent" && events.payload_bytes[*row] > 0;
        let times: Vec<f64> = (0..events.event.len()).filter(data).map(|row| events.time_s[row]).collect();
        assert_eq!(times.len(), 2, "the segment and its repetition");
        times[1] - times[0]
    };
    // Linux adds the smoothed RTT of 40 ms to the minimum, and its clock has a tick of 4 ms.
    let usual = silent_for("min_rto = \"200 ms\"");
    assert!((0.236..0.260).contains(&usual), "{usual}");
    let long = silent_for("min_rto = \"1 s\"");
    assert!((1.036..1.120).contains(&long), "{long}");
}

/// A call competes with a download. The call's DSCP selects the first of two priority bands.
#[test]
fn the_dscp_selects_the_band() {
    let call = |dscp: u32| {
        let result = run(&format!(
            r#"
            [scenario]
            duration = "10 s"
            [link]
            rtt = "20 ms"
            up.rate = "1 Mbit/s"
            down.rate = "2 Mbit/s"
            down.queue = {{ kind = "prio", bands = ["50 packets", "50 packets"], classify = [{{ class = 0, dscp = 46 }}] }}
            [[flow]]
            direction = "down"
            [[flow]]
            direction = "down"
            app = {{ kind = "udp", rate = "64 kbit/s", size = "200 B" }}
            stack.dscp = {dscp}
            "#
        ));
        result.flows.rtt_mean_ms[1]
    };
    // One packet of the download may be on the line, which takes 6 ms for 1,500 bytes. The call's own packet takes 0.8
    // ms.
    assert!(call(46) < 10.0 + 6.0 + 0.8, "{}", call(46));
    assert!(call(0) > 100.0, "{}", call(0));
}
