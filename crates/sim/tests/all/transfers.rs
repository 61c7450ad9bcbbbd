//! Applications: single and repeated transfers, pauses, on-off sources, and stopping.

use crate::{run, run_seed};
use lopsided_core::DropReason;

fn line(flow: &str) -> String {
    format!(
        r#"
        [scenario]
        duration = "20 s"
        [link]
        rtt = "40 ms"
        down = {{ rate = "8 Mbit/s", queue = "100 packets" }}
        up = {{ rate = "1 Mbit/s", queue = "100 packets" }}
        [[flow]]
        name = "flow"
        direction = "down"
        {flow}
        [record]
        interval = "100 ms"
        "#
    )
}

#[test]
fn a_short_transfer_takes_1_5_round_trips_plus_transmission() {
    let result = run(&line(r#"app = "10 kB""#));
    assert_eq!(result.flows.transfers, [1]);
    assert_eq!(result.flows.delivered_bytes, [10_000]);
    // SYN and SYN-ACK take 40 ms. The data fits into the initial window and takes 20 ms of delay and 10 ms of
    // transmission.
    let completion = result.flows.completion_s[0];
    assert!((0.070..0.073).contains(&completion), "{completion}");
    // A flow of transfers is active only during its transfers.
    assert_eq!(result.flows.active_s, [completion]);
    assert!((result.flows.goodput_bps[0] - 80_000.0 / completion).abs() < 1e-6);
}

#[test]
fn transfers_are_separated_by_the_configured_pause() {
    let result = run(&line(r#"app = { size = "10 kB", repeat = 5, pause = "1 s" }"#));
    assert_eq!(result.flows.transfers, [5]);
    assert_eq!(result.flows.delivered_bytes, [50_000]);
    assert_eq!(result.transfers.flow, [0; 5]);
    assert_eq!(result.transfers.size_bytes, [10_000; 5]);
    for pair in result.transfers.start_s.windows(2) {
        // The pause starts when the sender is notified of the close, one RTT after it sent the last byte.
        assert!((1.09..1.12).contains(&(pair[1] - pair[0])), "{pair:?}");
    }
    let longest = result.transfers.completion_s.iter().copied().fold(0.0, f64::max);
    assert_eq!(result.flows.completion_max_s, [longest]);
}

#[test]
fn endless_transfers_end_at_the_stop_time() {
    let result = run(&line(
        r#"app = { size = "10 kB", repeat = "forever", pause = "100 ms" }
        start = "1 s"
        stop = "6 s""#,
    ));
    let last = result.transfers.start_s.last().copied().expect("there were transfers");
    assert!((5.7..6.0).contains(&last), "{last}");
    assert_eq!(result.flows.delivered_bytes[0], 10_000 * result.flows.transfers[0]);
    // A cycle takes 70 ms until the last byte arrives, 20 ms until the sender is notified, and 100 ms of pause.
    assert!((26..=27).contains(&result.flows.transfers[0]), "{:?}", result.flows.transfers);
}

#[test]
fn closed_connections_release_their_ports() {
    // With enough transfers the host could run out of ports, because TIME-WAIT reserves each port for one minute.
    let result = run(&line(r#"app = { size = "1 B", repeat = "forever", pause = "0 s" }"#));
    let transfers = result.flows.transfers[0];
    assert!(transfers > 190, "{transfers}");
    assert_eq!(result.flows.delivered_bytes, [transfers]);
}

#[test]
fn an_on_off_application_sends_only_during_the_on_phases() {
    let result = run(&line(r#"app = { on = "2 s", off = "3 s" }"#));
    let samples = &result.samples;
    let delivered = |time: f64| {
        let row = samples.time_s.iter().position(|sampled| (sampled - time).abs() < 1e-9).expect("a sample");
        samples.delivered_bytes[row]
    };
    for begin in [0.0, 5.0, 10.0] {
        // Deliveries continue after the burst of 2 s, because data in the send buffer must still be sent.
        assert!(delivered(begin + 2.0) > delivered(begin + 0.5) + 500_000, "on from {begin}");
        assert_eq!(delivered(begin + 4.9), delivered(begin + 3.5), "off from {}", begin + 2.0);
    }
}

#[test]
fn a_bulk_flow_closes_at_its_stop_time() {
    let result = run(&line("start = \"1 s\"\nstop = \"5 s\""));
    let last = result.samples.delivered_bytes.len() - 1;
    let at = |time: f64| result.samples.time_s.iter().position(|t| (t - time).abs() < 1e-9).expect("a sample");
    assert_eq!(result.samples.delivered_bytes[at(0.9)], 0);
    assert!(result.samples.delivered_bytes[at(4.9)] > 3_000_000);
    assert_eq!(result.samples.delivered_bytes[last], result.samples.delivered_bytes[at(7.0)]);
    assert_eq!(result.samples.state[last], "closed");
    assert_eq!(result.flows.active_s, [4.0]);
    // All written data was delivered and acknowledged.
    assert_eq!(result.flows.acked_bytes, result.flows.delivered_bytes);
}

#[test]
fn start_jitter_spreads_the_starts() {
    let text = line("start = \"2 s\"\nstart_jitter = \"500 ms\"");
    let starts: Vec<f64> = (1..6).map(|seed| run_seed(&text, seed).flows.start_s[0]).collect();
    assert!(starts.iter().all(|start| (2.0..2.5).contains(start)), "{starts:?}");
    assert!(starts.windows(2).all(|pair| pair[0] != pair[1]), "{starts:?}");
}

#[test]
fn a_flow_can_delay_its_first_byte_after_the_handshake() {
    let text = line(r#"app = { kind = "bulk", wait = "2 s", wait_jitter = "500 ms" }"#);
    // The jitter depends on the seed.
    let begins: Vec<f64> = (1..4)
        .map(|seed| {
            let result = run_seed(&text, seed);
            let samples = &result.samples;
            let connected = samples.state.iter().position(|state| *state == "open").expect("the flow connects");
            // The wait delays the first byte, but the connection opens immediately.
            assert!(samples.time_s[connected] <= 0.2, "the handshake does not wait");
            samples.time_s[samples.sent_bytes.iter().position(|sent| *sent > 0).expect("the flow sends data")]
        })
        .collect();
    assert!(begins.iter().all(|begin| (2.0..2.7).contains(begin)), "{begins:?}");
    assert!(begins.windows(2).any(|pair| pair[0] != pair[1]), "{begins:?}");
}

/// A compressed header that cannot be decompressed costs one packet; all data still arrives exactly once.
#[test]
fn transfers_complete_although_compressed_headers_lose_their_context() {
    const COMPRESSED: &str = include_str!("../../../../scenarios/compressed-headers.toml");
    let transfer = COMPRESSED.replace("direction = \"down\"", "direction = \"down\"\napp = \"500 kB\"");
    for (seed, timestamps) in [(1, "false"), (2, "false"), (1, "true")] {
        let text = transfer.replace("timestamps = false", &format!("timestamps = {timestamps}"));
        let result = run_seed(&text, seed);
        assert_eq!(result.flows.delivered_bytes, [500_000]);
        assert!(result.conservation.holds());
    }
    let result = run(COMPRESSED);
    let of = |reason: DropReason| {
        let row = result
            .drops
            .reason
            .iter()
            .position(|name| *name == reason.name())
            .expect("packets were dropped for this reason");
        (result.drops.direction[row], result.drops.packets[row])
    };
    let ((lost_where, lost), (tossed_where, tossed)) = (of(DropReason::RandomLoss), of(DropReason::ContextLost));
    assert_eq!((lost_where, tossed_where), ("up", "up"));
    // After a loss, the receiver cannot decompress any packet until the next full header.
    assert!(tossed > 5 * lost, "each of {lost} costs those behind it, {tossed} in all");
    let goodput = |text: &str| run(text).flows.goodput_bps[0];
    let clean = COMPRESSED.replace("loss = \"1 %\"", "");
    assert!(goodput(&clean) > 2.0 * goodput(COMPRESSED), "a lost context waits for a timeout");
    let timestamps = clean.replace("timestamps = false", "timestamps = true");
    assert!(goodput(&timestamps) < goodput(&clean), "a changed option is sent in full");
}
