//! Packets take the right paths, at the right rates.

use crate::{flow, run, scenario};
use lopsided_core::{Bytes, Cx, Dir, DropReason, Node, Packet, Port, Time};
use lopsided_sim::{BuildError, MiddleboxPlacement, Monitor, RunError, RunOptions, RunResult};

#[test]
fn a_datagram_flow_has_the_configured_rate_and_delay() {
    let result = run(r#"
        [scenario]
        duration = "10 s"
        [link]
        delay = "30 ms"
        down = { rate = "1 Mbit/s", queue = "10 packets" }
        up = { rate = "160 kbit/s", queue = "10 packets" }
        [[flow]]
        name = "call"
        direction = "up"
        start = "1 s"
        stop = "9 s"
        app = { kind = "udp", rate = "64 kbit/s", size = "200 B" }
    "#);
    // The flow sends 40 packets per second for 8 s. The transmission time of a packet is 10 ms, and the propagation
    // delay is 30 ms.
    assert_eq!(result.flows.data_segments_out, [320]);
    assert_eq!(result.flows.data_segments_in, [320]);
    assert_eq!(result.flows.delivered_bytes, [320 * 200]);
    assert_eq!(result.flows.goodput_bps, [64_000.0]);
    assert_eq!(result.flows.lost_packets, [0]);
    for delay in [result.flows.rtt_min_ms[0], result.flows.rtt_mean_ms[0], result.flows.rtt_max_ms[0]] {
        assert!((delay - 40.0).abs() < 1e-6, "{delay}");
    }
    assert!((result.links.utilisation[1] - 0.32).abs() < 1e-3, "{:?}", result.links.utilisation);
}

#[test]
fn an_overloaded_link_delivers_exactly_its_rate() {
    let result = run(r#"
        [scenario]
        duration = "20 s"
        [link]
        delay = "0 ms"
        down = { rate = "1 Mbit/s", queue = "10 packets" }
        up = { rate = "1 Mbit/s", queue = "10 packets" }
        [[flow]]
        name = "flood"
        direction = "down"
        app = { kind = "udp", rate = "3 Mbit/s", size = "1250 B" }
    "#);
    // The line delivers one packet every 10 ms.
    assert_eq!(result.flows.data_segments_in, [2000]);
    assert_eq!(result.links.max_backlog_packets[0], 10);
    let lost = result.links.dropped_packets[0];
    // Every packet is delivered, dropped, or still in the queue at the end.
    assert_eq!(result.flows.data_segments_out[0], 2000 + lost + result.conservation.held.packets);
    // The largest delay is the time to send a full queue of 10 packets and one more packet.
    assert!((result.flows.rtt_max_ms[0] - 110.0).abs() <= 10.0, "{}", result.flows.rtt_max_ms[0]);
}

const PARKING_LOT: &str = r#"
    [scenario]
    duration = "10 s"
    [topology]
    hosts = ["a", "b", "c", "d"]
    routers = ["r1", "r2", "r3"]
    [[topology.link]]
    name = "first"
    between = ["r1", "r2"]
    rate = "1 Mbit/s"
    delay = "5 ms"
    queue = "50 packets"
    [[topology.link]]
    name = "second"
    between = ["r3", "r2"]
    rate = "2 Mbit/s"
    delay = "5 ms"
    queue = "50 packets"
    [[topology.link]]
    between = ["a", "r1"]
    rate = "10 Mbit/s"
    queue = "50 packets"
    [[topology.link]]
    between = ["b", "r2"]
    rate = "10 Mbit/s"
    queue = "50 packets"
    [[topology.link]]
    between = ["c", "r3"]
    rate = "10 Mbit/s"
    queue = "50 packets"
    [[topology.link]]
    between = ["d", "r3"]
    rate = "10 Mbit/s"
    queue = "50 packets"
    [[flow]]
    name = "long"
    from = "a"
    to = "c"
    app = { kind = "udp", rate = "100 kbit/s", size = "500 B" }
    [[flow]]
    name = "short"
    from = "d"
    to = "b"
    app = { kind = "udp", rate = "400 kbit/s", size = "1000 B" }
    [[flow]]
    name = "local"
    from = "c"
    to = "d"
    app = { kind = "udp", rate = "800 kbit/s", size = "1000 B" }
"#;

#[test]
fn every_packet_takes_only_the_links_of_its_path() {
    let result = run(PARKING_LOT);
    let sent = |link: &str, direction: &str| {
        let rows = result.links.link.iter().zip(&result.links.direction);
        let row =
            rows.into_iter().position(|(name, dir)| **name == *link && *dir == direction).expect("the link exists");
        result.links.sent_packets[row]
    };
    // The flows send 25, 50 and 100 packets per second for 10 s.
    assert_eq!(result.flows.data_segments_out, [250, 500, 1000]);
    assert_eq!((sent("first", "down"), sent("first", "up")), (250, 0));
    // The link is declared from r3 to r2, so the flow on the longer path crosses it in the direction `up`.
    assert_eq!((sent("second", "down"), sent("second", "up")), (500, 250));
    assert_eq!((sent("c-r3", "down"), sent("c-r3", "up")), (1000, 250));
    assert_eq!((sent("d-r3", "down"), sent("d-r3", "up")), (500, 1000));
    assert_eq!(sent("b-r2", "up"), 500);
}

#[test]
fn tcp_over_several_bottlenecks_fills_the_slowest() {
    // Without `app`, the flow `long` is a TCP download.
    let text = PARKING_LOT.replace(r#"app = { kind = "udp", rate = "100 kbit/s", size = "500 B" }"#, "");
    let result = run(&text);
    let goodput = result.flows.goodput_bps[flow(&result.flows, "long")];
    // 1,448 of 1,500 bytes are payload, and slow start reduces the goodput slightly.
    assert!((800_000.0..966_000.0).contains(&goodput), "{goodput}");
}

/// A middlebox that drops every tenth data packet.
#[derive(Debug, Default)]
struct Tenth {
    seen: u64,
    through: Option<Packet>,
}

impl Node for Tenth {
    fn handle_packet(&mut self, _port: Port, packet: Packet, cx: &mut Cx<'_>) {
        self.seen += u64::from(!packet.payload().is_empty());
        if !packet.payload().is_empty() && self.seen % 10 == 0 {
            return cx.drop(packet, DropReason::Policed);
        }
        assert!(self.through.replace(packet).is_none(), "it is polled after each packet");
    }

    fn handle_timeout(&mut self, _cx: &mut Cx<'_>) {}

    fn poll_transmit(&mut self, _cx: &mut Cx<'_>) -> Option<(Port, Packet)> {
        self.through.take().map(|packet| (Port(0), packet))
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }
}

fn with_middlebox(link: usize) -> Result<RunResult, RunError> {
    let scenario = scenario(
        r#"
        [scenario]
        duration = "60 s"
        [link]
        rtt = "20 ms"
        down = { rate = "5 Mbit/s", queue = "50 packets" }
        up = { rate = "1 Mbit/s", queue = "50 packets" }
        [[flow]]
        name = "file"
        direction = "down"
        app = "1 MB"
        "#,
    );
    let placed = MiddleboxPlacement { name: "tenth".into(), link, dir: Dir::Down, node: Box::new(Tenth::default()) };
    let options = RunOptions { middleboxes: vec![placed], ..RunOptions::default() };
    lopsided_sim::run(&scenario, 1, options, &Monitor::default())
}

#[test]
fn a_transfer_survives_a_middlebox_that_drops_packets() {
    let result = with_middlebox(0).expect("it runs");
    assert_eq!(result.flows.delivered_bytes, [1_000_000]);
    assert_eq!(result.flows.transfers, [1]);
    let sent = result.flows.data_segments_out[0];
    // All drops that were not made by the queue were made by the middlebox.
    assert_eq!(result.conservation.dropped.packets - result.links.dropped_packets[0], sent / 10);
    assert!(result.flows.retransmits[0] >= sent / 10);
    assert!(result.conservation.holds());
    assert!(result.conservation.originated.bytes > Bytes::new(1_000_000));
}

#[test]
fn a_middlebox_on_a_nonexistent_link_is_rejected() {
    let error = with_middlebox(7).expect_err("there is one link");
    assert!(matches!(error, RunError::Build(BuildError::Link { .. })), "{error}");
}
