//! Throughput of congestion controls, alone and in competition: 20 Mbit/s, an RTT of 50 ms, a buffer of one BDP.

use super::{flow, run};
use lopsided_sim::RunResult;

/// Payload rate of the bottleneck in bit/s, for frames of 1,514 bytes.
const CAPACITY: f64 = 20e6 * 1448.0 / 1514.0;

/// Runs one download per congestion control in the list. Each download starts 10 s after the previous one.
fn share(seconds: u32, controls: &[&str], line: &str) -> RunResult {
    let mut text = format!(
        "[scenario]\nduration = \"{seconds} s\"\n[link]\nrtt = \"50 ms\"\nqueue = \"1 BDP\"\n{line}\n\
         down.rate = \"20 Mbit/s\"\nup.rate = \"20 Mbit/s\"\n"
    );
    for (number, control) in controls.iter().enumerate() {
        let start = 10 * number;
        text += &format!(
            "[[flow]]\nname = \"{control}-{number}\"\ndirection = \"down\"\ncc = \"{control}\"\nstart = \"{start} s\"\n"
        );
    }
    run(&text)
}

/// Returns the goodput of a flow as a fraction of the bottleneck's payload rate.
fn goodput(result: &RunResult, name: &str) -> f64 {
    result.flows.goodput_bps[flow(&result.flows, name)] / CAPACITY
}

#[test]
fn bbr3_alone_fills_the_line_with_a_short_queue() {
    let result = share(30, &["bbr3"], "");
    let (goodput, rtt) = (goodput(&result, "bbr3-0"), result.flows.rtt_mean_ms[0]);
    assert!(goodput > 0.93 && rtt < 60.0, "{goodput} of the line, {rtt} ms");
    let lost = result.flows.retransmits[0] as f64 / result.flows.data_segments_out[0] as f64;
    assert!(lost < 0.002, "{lost} of the packets were retransmitted");
}

#[test]
fn bbr3_flows_converge() {
    let result = share(60, &["bbr3", "bbr3"], "");
    // The first flow runs for 60 s and is alone for the first 10 s.
    let (first, second) = (goodput(&result, "bbr3-0") * 60.0 - 10.0, goodput(&result, "bbr3-1") * 50.0);
    assert!((0.65..1.5).contains(&(first / second)), "{first} and {second} seconds of the line");
}

/// draft-ietf-ccwg-bbr, section 5.3.3.8: BBRv3 is designed to leave loss-based flows a larger share than BBR does.
#[test]
fn bbr3_leaves_more_to_cubic_than_bbr() {
    let left_by = |name| goodput(&share(60, &["cubic", name], ""), "cubic-0");
    let (by_bbr3, by_bbr) = (left_by("bbr3"), left_by("bbr"));
    assert!(by_bbr3 > 0.35 && by_bbr3 > 1.3 * by_bbr, "next to bbr3 {by_bbr3}, next to bbr {by_bbr}");
}

#[test]
fn bbr3_tolerates_one_percent_of_random_loss() {
    let [bbr3, cubic] =
        ["bbr3", "cubic"].map(|name| goodput(&share(30, &[name], "down.loss = \"1 %\""), &format!("{name}-0")));
    assert!(bbr3 > 0.6 && bbr3 > 3.0 * cubic, "bbr3 {bbr3}, cubic {cubic}");
}
