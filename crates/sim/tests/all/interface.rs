//! A host's own interface: it delays packets before the link, and notifies TCP when it is full.

use super::{flow, run, scenario};
use lopsided_scenario::Scenario;

/// Returns a scenario whose line sends two packets per millisecond (24 Mbit/s).
fn text(interface: &str) -> String {
    format!(
        r#"
        [scenario]
        duration = "20 s"
        [link]
        delay = "1 ms"
        rate = "24 Mbit/s"
        down.queue = "4000 packets"
        {interface}
        [[flow]]
        name = "download"
        direction = "down"
        app = "20 MB"
        [record]
        traces = true
        "#
    )
}

#[test]
fn a_delay_in_the_interface_adds_to_the_rtt() {
    let result = run(&text("[host.server.interface]\ndelay = \"100 ms\""));
    let row = flow(&result.flows, "download");
    assert!(result.flows.rtt_min_ms[row] > 102.0 && result.flows.rtt_min_ms[row] < 104.0);
    assert_eq!(result.flows.local_congestion[row], 0);
}

#[test]
fn a_full_interface_reduces_the_window_without_losses() {
    let result = run(&text("[host.server.interface]\ndelay = \"100 ms\"\nlimit = \"150 packets\""));
    let row = flow(&result.flows, "download");
    let flows = &result.flows;
    assert!(flows.local_congestion[row] >= 1);
    assert_eq!((flows.retransmits[row], flows.timeouts[row], flows.transfers[row]), (0, 0, 1));
    assert_eq!(result.conservation.dropped.packets, 0);
    // At most 150 packets are sent per RTT. The window is reduced each time the interface is full, so the mean rate is
    // 75 % of the maximum rate.
    let most = 150.0 * 1448.0 * 8.0 / 0.102;
    assert!(flows.goodput_bps[row] < most && flows.goodput_bps[row] > 0.5 * most, "{}", flows.goodput_bps[row]);
}

/// With a transmit ring, packets wait in the interface. The line sends the same packets as without a ring.
#[test]
fn with_a_transmit_ring_packets_wait_in_the_interface() {
    let without = run(&text("[host.server.interface]\ndelay = \"20 ms\""));
    let with = run(&text("[host.server.interface]\ndelay = \"20 ms\"\nring = \"10 packets\""));
    assert!(without.links.max_backlog_packets[0] > 50);
    // The ring has ten places. The line is sending one of the ten packets, so at most nine packets are in the queue.
    assert_eq!(with.links.max_backlog_packets[0], 9);
    assert_eq!(with.flows.completion_s, without.flows.completion_s);
    let limited =
        run(&text("[host.server.interface]\ndelay = \"20 ms\"\nring = \"10 packets\"\nlimit = \"60 packets\""));
    assert!(limited.flows.local_congestion[0] > 0, "the path holds 40 packets, the interface 60");
}

/// If the interface rejects a packet while no data is in flight, only a timer can send the packet again.
#[test]
fn a_flow_makes_progress_while_another_flow_fills_the_interface() {
    let flood = "
        [[flow]]
        name = \"flood\"
        direction = \"down\"
        app = { kind = \"udp\", rate = \"30 Mbit/s\", size = \"1500 B\" }
        stop = \"10 s\"";
    let interface = "[host.server.interface]\ndelay = \"10 ms\"\nring = \"5 packets\"\nlimit = \"20 packets\"";
    let result = run(&format!("{}{flood}", text(interface)));
    let (download, udp) = (flow(&result.flows, "download"), flow(&result.flows, "flood"));
    assert!(result.flows.lost_packets[udp] > 1000, "packets that the full interface rejects are lost for UDP");
    assert!(result.flows.delivered_bytes[download] > 1_000_000);
}

#[test]
fn invalid_interface_settings_are_rejected() {
    let refused = |interface: &str| Scenario::parse(&text(interface), "test.toml", &[]).unwrap_err().to_string();
    assert!(refused("[host.server.interface]\nlimit = \"150 kB\"").contains("`limit` must be a number of packets"));
    let ring = scenario(&text("down.shaper = \"1600 B\"\n[host.server.interface]\nring = \"5 packets\""));
    let error = lopsided_sim::run(&ring, 1, Default::default(), &Default::default()).unwrap_err();
    assert!(error.to_string().contains("a ring needs one link with a rate"), "{error}");
}
