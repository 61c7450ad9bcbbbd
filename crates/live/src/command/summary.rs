//! The summary that a command prints when it ends.

use crate::Pumped;
use crate::emulate::Emulated;
use crate::rate::bits;
use lopsided_sim::RunResult;
use std::fmt::Write;

/// Formats one row per link direction, then the numbers of rejected and delayed packets.
pub(super) fn of(emulated: &Emulated) -> String {
    let Emulated { result, pumped, refused, starved, exit_code } = emulated;
    let mut text = format!("\nline  {:.1} s, exit code {exit_code}\n", result.duration_s);
    text.push_str(&of_line(result, pumped));
    text.push_str(&of_flows(result));
    if *refused > 0 {
        let _ = writeln!(text, "{refused} packets were rejected by the kernel behind the line");
    }
    if *starved > 0 {
        let _ = writeln!(
            text,
            "{starved} times a connection or a datagram flow had no file descriptor; a higher limit (`ulimit -n`) helps"
        );
    }
    text
}

/// Formats the rows of the links, and the delay with which packets left relative to their scheduled times.
pub(super) fn of_line(result: &RunResult, pumped: &Pumped) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<12} {:<4} {:>12} {:>10} {:>11} {:>11} {:>9} {:>8}",
        "link", "", "mean rate", "packets", "wait mean", "wait 95 %", "dropped", "lost"
    );
    let links = &result.links;
    for row in 0..links.link.len() {
        // The duration is 0 if the run was stopped immediately.
        let rate = 8.0 * links.sent_bytes[row] as f64 / result.duration_s.max(1e-9);
        let _ = writeln!(
            text,
            "{:<12} {:<4} {:>12} {:>10} {:>11} {:>11} {:>9} {:>8}",
            &*links.link[row],
            links.direction[row],
            bits(rate),
            links.sent_packets[row],
            millis(links.sojourn_mean_ms[row]),
            millis(links.sojourn_p95_ms[row]),
            links.dropped_packets[row],
            links.lost_packets[row],
        );
    }
    let late = |share| pumped.lateness.quantile(share).map_or(0, |late| late.as_micros());
    let _ = writeln!(text, "packets left the line {} us late (median), {} us (99 %)", late(0.5), late(0.99));
    if pumped.malformed > 0 {
        let _ = writeln!(text, "{} packets were not IP packets", pumped.malformed);
    }
    text
}

/// Formats the rows of the scenario's flows; empty if no flow ran.
fn of_flows(result: &RunResult) -> String {
    let (mut text, flows) = (String::new(), &result.flows);
    if flows.name.is_empty() {
        return text;
    }
    let _ = writeln!(text, "{:<17} {:<12} {:>10} {:>11} {:>11}", "flow", "stack", "goodput", "RTT mean", "retransmits");
    for row in 0..flows.name.len() {
        let _ = writeln!(
            text,
            "{:<17} {:<12} {:>10} {:>11} {:>11}",
            flows.name[row],
            &*flows.profile[row],
            bits(flows.goodput_bps[row]),
            millis(flows.rtt_mean_ms[row]),
            flows.retransmits[row],
        );
    }
    text
}

fn millis(ms: f64) -> String {
    if ms.is_nan() { "-".to_owned() } else { format!("{ms:.2} ms") }
}
