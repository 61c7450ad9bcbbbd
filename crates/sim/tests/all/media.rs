//! Shared media in whole runs: packets are conserved, runs are deterministic, and competition between the directions
//! reduces the goodput of flows.

use crate::{run, run_seed, scenario};
use lopsided_scenario::Scenario;
use lopsided_sim::{PartTable, RunResult};

const RADIO: &str = include_str!("../../../../scenarios/polled-radio.toml");

fn last(parts: &PartTable, part: &str, quantity: &str) -> f64 {
    let wanted =
        |row: &usize| *parts.node[*row] == *"radio" && *parts.part[*row] == *part && *parts.quantity[*row] == *quantity;
    parts.value[(0..parts.value.len()).rev().find(wanted).unwrap()]
}

fn with(loss: &str, retries: u32) -> RunResult {
    let text = RADIO.replace("loss = \"5 %\"", &format!("loss = \"{loss}\""));
    run(&text.replace("retries = 5", &format!("retries = {retries}")))
}

#[test]
fn three_polled_stations_share_the_radio_and_every_packet_is_accounted_for() {
    let result = with("5 %", 5);
    assert!(result.conservation.holds());
    assert!(result.flows.goodput_bps.iter().all(|goodput| *goodput > 1e5), "{:?}", result.flows.goodput_bps);
    assert_eq!(with("5 %", 5).digest, result.digest);
    let sent: f64 = ["field", "depot", "office"].iter().map(|part| last(&result.parts, part, "frames_sent")).sum();
    let lost: f64 = ["field", "depot", "office"].iter().map(|part| last(&result.parts, part, "frames_lost")).sum();
    assert!((lost / sent - 0.05).abs() < 0.01, "{lost} of {sent} frames were lost");
    assert!(last(&result.parts, "", "busy_s") <= 30.1);
}

#[test]
fn arq_trades_losses_for_delay_and_gives_up_only_after_the_last_retry() {
    let (clean, lossy, strict) = (with("0 %", 5), with("20 %", 12), with("20 %", 0));
    let sum = |result: &RunResult| result.flows.goodput_bps.iter().sum::<f64>();
    assert!(sum(&lossy) < 0.85 * sum(&clean));
    assert!(sum(&strict) < 0.5 * sum(&lossy), "without retries, TCP must repair every loss");
    let given_up = |result: &RunResult| {
        result
            .drops
            .reason
            .iter()
            .zip(&result.drops.packets)
            .find(|(why, _)| **why == "retries_exhausted")
            .map(|(_, n)| *n)
    };
    assert_eq!(given_up(&clean), None);
    assert!(given_up(&strict).unwrap() > 50);
}

#[test]
fn a_scenario_with_a_medium_parses_again() {
    let resolved = scenario(RADIO);
    let again = Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(Scenario { name: resolved.name.clone(), ..again }, resolved);
}

const WIFI: &str = include_str!("../../../../scenarios/wifi.toml");

#[test]
fn wifi_stations_share_the_channel_and_every_packet_is_accounted_for() {
    let short =
        WIFI.replace("duration = \"10 s\"", "duration = \"1 s\"").replace("start = \"2 s\"", "start = \"0.1 s\"");
    let result = run(&short);
    assert!(result.conservation.holds());
    assert!(result.flows.goodput_bps.iter().all(|goodput| *goodput > 1e6), "{:?}", result.flows.goodput_bps);
    assert_eq!(run(&short).digest, result.digest);
    // Without link-layer acknowledgements, TCP must repair the losses of the medium.
    let unreliable =
        run(&short.replace("\"1 s\"", "\"4 s\"").replace("kind = \"wifi\"", "kind = \"wifi\"\nacknowledge = false"));
    let lost = |result: &RunResult, reason: &str| -> u64 {
        let drops = result.drops.reason.iter().zip(&result.drops.packets);
        drops.filter(|(why, _)| **why == reason).map(|(_, packets)| *packets).sum()
    };
    assert!(unreliable.conservation.holds());
    assert!(lost(&unreliable, "random_loss") > 20, "{:?}", unreliable.drops);
    assert_eq!((lost(&result, "random_loss"), lost(&result, "collided")), (0, 0));
    let sum = |result: &RunResult| result.flows.goodput_bps.iter().sum::<f64>();
    assert!(sum(&unreliable) < 0.5 * sum(&result));
}

#[test]
fn a_scenario_with_wifi_parses_again() {
    let resolved = scenario(WIFI);
    let again = Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(Scenario { name: resolved.name.clone(), ..again }, resolved);
}

const FWP: &str = include_str!("../../../../scenarios/fwp.toml");

/// With a connection for each range, as with one `curl` per range, a handshake and a request precede each answer. On a
/// shared connection, only the first range waits for a handshake. One connection at a time fetches one range at a time.
#[test]
fn a_connection_for_each_range_costs_its_handshake() {
    // Start time and end time of each repair, in seconds.
    let repairs = |key: &str| {
        let text = FWP.replace("20 MB", "300 kB").replace("\"8 s\"", "\"20 s\"");
        let text = text.replace("kind = \"repair\"", &format!("kind = \"repair\"{key}"));
        let result = run_seed(&text, 1);
        assert!(result.conservation.holds());
        let table = &result.transfers;
        assert_eq!(table.what.iter().filter(|what| **what == "object").count(), 1, "the object is not whole");
        let rows = (0..table.what.len()).filter(|row| *table.what[*row] == *"repair");
        rows.map(|row| (table.start_s[row], table.start_s[row] + table.completion_s[row])).collect::<Vec<_>>()
    };
    let quickest = |times: &[(f64, f64)]| times.iter().map(|(from, to)| to - from).fold(f64::INFINITY, f64::min);
    let (shared, one) = (repairs(""), repairs(", range_connections = 1"));
    assert!(shared.len() > 10 && one.len() > 10, "{} and {}", shared.len(), one.len());
    // The base RTT is 40 ms.
    assert!((0.04..0.08).contains(&quickest(&shared)), "{}", quickest(&shared));
    assert!((0.08..0.12).contains(&quickest(&one)), "{}", quickest(&one));
    // Because of rounding, the computed end of a repair may differ in its last digit from the start of the next repair.
    assert!(one.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-9), "{one:?}");
    let many = repairs(", range_connections = 8");
    assert!((0.08..0.12).contains(&quickest(&many)), "{}", quickest(&many));
    assert!(many.windows(2).any(|pair| pair[1].0 < pair[0].1), "{many:?}");
}

/// The object is complete despite losses, and the path carries more bytes than the object.
#[test]
fn an_object_is_repaired_over_a_channel_without_retransmissions() {
    let sent = |error: &str, seed: u64| {
        let text = FWP.replace("frame_error = 0.1", &format!("frame_error = {error}"));
        let text = text.replace("placeholders = 0.1", &format!("placeholders = {error}")).replace("20 MB", "2 MB");
        // If 40 % of the frames are lost, a request may wait for several timeouts: some objects take 10 s.
        let result = run_seed(&text.replace("duration = \"8 s\"", "duration = \"30 s\""), seed);
        assert!(result.conservation.holds());
        let objects = result.transfers.what.iter().filter(|what| **what == "object").count();
        assert_eq!(objects, 1, "the object is incomplete at a frame error rate of {error}");
        let link = (0..result.links.link.len())
            .find(|row| *result.links.link[*row] == *"server-router" && *result.links.direction[*row] == *"down");
        result.links.sent_bytes[link.unwrap()] as f64
    };
    let clean = sent("0.0", 1);
    // Over 12 seeds, the additional bytes are 0.13 and 0.95 times the object's size (standard deviations 0.01 and
    // 0.05).
    for (error, least, most) in [("0.1", 0.08, 0.2), ("0.4", 0.5, 1.1)] {
        let mean = (1..=4).map(|seed| sent(error, seed)).sum::<f64>() / 4.0;
        let more = mean / clean - 1.0;
        assert!((least..most).contains(&more), "{more} more at {error}");
    }
}
