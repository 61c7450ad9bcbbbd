//! ECN from a scenario's text to its tables: queues that mark packets, and senders that respond to marks.

use super::run;
use lopsided_sim::RunResult;

fn download(queue: &str, stack: &str) -> RunResult {
    let result = run(&format!(
        r#"
        [scenario]
        duration = "30 s"
        [link]
        rtt = "20 ms"
        down = {{ rate = "10 Mbit/s", queue = {queue} }}
        up = {{ rate = "10 Mbit/s", queue = "100 packets" }}
        [stack]
        {stack}
        [[flow]]
        name = "download"
        direction = "down"
        "#
    ));
    assert!(result.conservation.holds(), "{}", result.conservation);
    result
}

/// Returns the goodput as a share of the link rate, and the mean queueing delay in milliseconds.
fn share_and_wait(result: &RunResult) -> (f64, f64) {
    (result.flows.goodput_bps[0] / 10e6, result.links.sojourn_mean_ms[0])
}

const RED: &str = r#"{ kind = "red", limit = "200 kB", min = "15 kB", max = "45 kB", probability = 0.1, ecn = true }"#;

#[test]
fn red_marks_ecn_flows_and_drops_packets_of_other_flows() {
    let marked = download(RED, "ecn = true");
    assert!(marked.links.marked_packets[0] > 20, "{}", marked.links.marked_packets[0]);
    assert_eq!((marked.links.dropped_packets[0], marked.flows.retransmits[0]), (0, 0));

    let dropped = download(RED, "ecn = false");
    assert_eq!(dropped.links.marked_packets[0], 0);
    assert!(dropped.links.dropped_packets[0] > 20 && dropped.flows.retransmits[0] >= dropped.links.dropped_packets[0]);

    // ECN is off if only one end supports it.
    let half = download(RED, "").links.marked_packets[0];
    assert_eq!(half, 0, "Linux does not ask for it");
}

#[test]
fn a_smaller_reduction_after_a_mark_keeps_the_line_busier() {
    // RFC 8511: if the queue is shorter than the BDP, halving the window empties the queue. Here the BDP is 25 kB and
    // the queue is at most 8 kB.
    let short = r#"{ kind = "step", limit = "200 kB", mark_threshold = "8 kB" }"#;
    let (halved, _) = share_and_wait(&download(short, "ecn = true"));
    let (backed_off, _) = share_and_wait(&download(short, "ecn = true\nabe = true"));
    assert!(halved < 0.92 && backed_off > halved + 0.01, "{halved} {backed_off}");
}

#[test]
fn dctcp_fills_the_line_with_a_queue_near_the_threshold() {
    // RFC 8257, section 5: the marking threshold K must exceed (C x RTT) / 7, which is 3.6 kB here. The line takes 12
    // ms to send the 15 kB of the configured threshold.
    let result = download(r#"{ kind = "step", limit = "200 kB", mark_threshold = "15 kB" }"#, r#"cc = "dctcp""#);
    let (share, wait) = share_and_wait(&result);
    assert!(share > 0.95 && (6.0..16.0).contains(&wait), "{share} {wait}");
    assert_eq!(result.flows.retransmits[0], 0);
}

#[test]
fn prague_fills_most_of_the_line_with_less_than_2_ms_of_queue() {
    let queue = r#"{ kind = "step", limit = "200 kB", mark_threshold = "2 ms", ect = "ect1" }"#;
    let result = download(queue, "cc = \"prague\"\necn = \"accurate\"");
    let (share, wait) = share_and_wait(&result);
    assert!(share > 0.88 && wait < 2.0, "{share} {wait}");
    assert_eq!(result.flows.retransmits[0], 0);
}

#[test]
fn prague_falls_back_to_reno_and_ect0_if_the_receiver_lacks_accurate_ecn() {
    // The queue marks only ECT(1) packets. This flow sends ECT(0), so it fills the queue like Reno.
    let queue = r#"{ kind = "step", limit = "50 kB", mark_threshold = "1 ms", ect = "ect1" }"#;
    let (sender, receiver) = (r#"sender_stack = { cc = "prague" }"#, r#"receiver_stack = { ecn = "on" }"#);
    let result = run(&format!(
        r#"
        [scenario]
        duration = "30 s"
        [link]
        rtt = "20 ms"
        down = {{ rate = "10 Mbit/s", queue = {queue} }}
        up = {{ rate = "10 Mbit/s", queue = "100 packets" }}
        [[flow]]
        name = "download"
        direction = "down"
        {sender}
        {receiver}
        "#
    ));
    assert_eq!(result.links.marked_packets[0], 0);
    assert!(result.links.dropped_packets[0] > 0 && result.flows.goodput_bps[0] > 9e6);
}
