//! Captures of simulated runs: packets are sorted by time, and the flows' statistics equal the statistics of the run.

use crate::story::SharedFile;
use lopsided_core::tcp_event::TcpEvent;
use lopsided_core::{Dir, Duration, Time};
use lopsided_scenario::Scenario;
use lopsided_sim::{Monitor, NodeKind, RunOptions, RunResult, node_labels};
use lopsided_trace::{
    Capture, Conversation, Conversations, End, FlowSummary, FlowTable, HostTracer, Tap, of_receiver, of_sender, read,
};
use std::collections::BTreeSet;

/// A download and an upload over a link with a shaper in one direction and losses in the other.
const SCENARIO: &str = r#"
    [scenario]
    duration = "60 s"
    [link]
    rtt = "80 ms"
    down = { rate = "2400 kbit/s", queue = "20 packets", shaper = { burst = "1600 B" } }
    up = { rate = "800 kbit/s", queue = "15 packets", loss = "1 %" }
    [lan]
    rate = "100 Mbit/s"
    delay = "3 ms"
    [[flow]]
    name = "download"
    direction = "down"
    [[flow]]
    name = "upload"
    direction = "up"
    start = "5 s"
"#;

#[test]
fn a_capture_at_the_sender_matches_the_result_tables() {
    let scenario = scenario();
    let taps = node_labels(&scenario)
        .into_iter()
        .filter(|label| label.kind == NodeKind::Host)
        .map(|label| (vec![Tap::host(label.name.clone(), label.node)], Duration::ZERO));
    let (result, files) = run(&scenario, taps.collect());
    for (flow, file) in files.iter().enumerate() {
        let sent = sent_by(flow, summaries(file));
        let flows = &result.flows;
        assert_eq!(sent.retransmitted_segments, flows.retransmits[flow], "{:?}", sent.key);
        assert_eq!(sent.data_segments, flows.data_segments_out[flow]);
        assert_eq!(sent.rtt.min.as_millis_f64(), flows.rtt_min_ms[flow]);
        assert_eq!(sent.rtt.max.as_millis_f64(), flows.rtt_max_ms[flow]);
        assert!((sent.rtt.mean_ms() / flows.rtt_mean_ms[flow] - 1.0).abs() < 1e-9);
        assert!((sent.rtt.std_ms() / flows.rtt_std_ms[flow] - 1.0).abs() < 1e-6);
        // Data delivered in the last RTT has not been acknowledged yet.
        let delivered = flows.delivered_bytes[flow];
        assert!(sent.acked_bytes <= delivered && sent.acked_bytes + 100_000 > delivered);
        assert!(sent.retransmitted_segments > 0, "the scenario must contain losses");
    }
}

#[test]
fn an_observer_of_a_host_computes_the_same_summaries_as_its_capture() {
    let scenario = scenario();
    let hosts = node_labels(&scenario).into_iter().filter(|label| label.kind == NodeKind::Host);
    let (hosts, taps): (Vec<_>, Vec<_>) =
        hosts.map(|label| (label.node, (vec![Tap::host(label.name, label.node)], Duration::ZERO))).unzip();
    let observing = HostTracer::at(hosts);
    let options = RunOptions { observers: vec![Box::new(observing.clone())], ..RunOptions::default() };
    lopsided_sim::run(&scenario, 1, options, &Monitor::default()).expect("a run");
    let (_, files) = run(&scenario, taps);
    for (seen, file) in observing.flows().iter().zip(&files) {
        assert_eq!(seen.flows.len(), summaries(file).len());
        // Packets read from a file do not carry the flow number of the run.
        let of_file = summaries(file).into_iter().zip(&seen.flows);
        let of_file = of_file.map(|(of_file, seen)| FlowSummary { flow: seen.flow, ..of_file });
        assert_eq!(format!("{:?}", seen.flows), format!("{:?}", of_file.collect::<Vec<_>>()));
    }
    assert_eq!(observing.flows().len(), files.len());
}

/// The events inferred from packets equal the events that the host's TCP reports.
#[test]
fn events_inferred_from_a_capture_match_those_that_tcp_reports() {
    infers_all(scenario(), &["disorder", "recovery", "open"]);
    let silent = ("link.down.loss.outages", "[['11 s', '13 s'], ['20 s', '20.3 s']]");
    infers_all(changed(&[silent]), &["disorder", "recovery", "loss", "open"]);
}

fn infers_all(mut scenario: Scenario, must_pass: &[&str]) {
    scenario.record.tcp_events = true;
    let mut passed = BTreeSet::new();
    let hosts = node_labels(&scenario).into_iter().filter(|label| label.kind == NodeKind::Host);
    let taps = hosts.map(|label| (vec![Tap::host(label.name.clone(), label.node)], Duration::ZERO));
    let (result, files) = run(&scenario, taps.collect());
    let reported = &result.tcp_events;
    for flow in 0..2 {
        let of_it = |end: &str, event: &str| -> Vec<usize> {
            let rows = 0..reported.event.len();
            rows.filter(|row| reported.flow[*row] == flow && reported.end[*row] == end && reported.event[*row] == event)
                .collect()
        };
        let conversations: Vec<Conversation> = files.iter().map(|file| conversation(file, flow as usize)).collect();
        // Host 0 sends flow 0, and host 1 sends flow 1.
        let sender = of_sender(&conversations[flow as usize], End::Opener);
        let receiver = of_receiver(&conversations[1 - flow as usize], End::Answerer);

        let again = of_it("sender", "retransmitted").into_iter();
        let again = again.map(|row| (reported.time_s[row], reported.offset_bytes[row], reported.length_bytes[row]));
        let inferred = sender.iter().filter_map(|one| match one.event {
            TcpEvent::Retransmitted { start, len, .. } => {
                Some((one.at.as_secs_f64(), Some(start), Some(u64::from(len))))
            }
            _ => None,
        });
        assert_eq!(inferred.collect::<Vec<_>>(), again.collect::<Vec<_>>());

        let states = of_it("sender", "ca_state").into_iter();
        let states: Vec<_> = states
            .map(|row| (reported.time_s[row], reported.from[row], reported.to[row], reported.reason[row]))
            .collect();
        let inferred = sender.iter().filter_map(|one| match one.event {
            TcpEvent::CaState { from, to, why } => Some((one.at.as_secs_f64(), from.name(), to.name(), why.name())),
            _ => None,
        });
        assert_eq!(inferred.collect::<Vec<_>>(), states);
        passed.extend(states.iter().map(|(_, _, to, _)| *to));

        let acks = of_it("receiver", "ack_sent").into_iter().map(|row| (reported.time_s[row], reported.reason[row]));
        let inferred = receiver.iter().map(|one| match one.event {
            TcpEvent::AckSent { why, .. } => (one.at.as_secs_f64(), why.name()),
            _ => panic!("a receiver of data must send ACKs: {one:?}"),
        });
        assert_eq!(acks.len(), receiver.len());
        for ((at, reported), (then, inferred)) in acks.zip(inferred) {
            assert_eq!(at, then);
            assert!(
                reported == inferred || looks_the_same(reported, inferred),
                "{at}: {reported} was inferred as {inferred}"
            );
        }
    }
    assert!(must_pass.iter().all(|state| passed.contains(state)), "the scenario contains too few packets: {passed:?}");
}

/// Returns true if packets cannot distinguish the reported reason for an ACK from the inferred reason.
fn looks_the_same(reported: &str, inferred: &str) -> bool {
    match reported {
        // Linux holds back some ACKs until a timer expires: ACKs that ACK compression delays, and ACKs of two segments
        // that would have reduced the window. Packets do not show that the timer sent these ACKs.
        "delay" => ["out of order", "enough segments"].contains(&inferred),
        // Linux does not acknowledge the second segment if the ACK would advertise a smaller window than the previous
        // ACK. A filled gap, the quick ACKs at the start or a read by the application can then cause an ACK at once;
        // packets reveal none of these causes.
        "gap filled" => inferred == "enough segments",
        "quick ACK" => ["gap filled", "enough segments"].contains(&inferred),
        "message read" => ["quick ACK", "enough segments"].contains(&inferred),
        _ => false,
    }
}

fn conversation(file: &[u8], flow: usize) -> Conversation {
    let mut conversations = Conversations::default();
    read(file, |at, packet| conversations.observe(at, packet)).expect("our own file");
    let mut all = conversations.all().to_vec();
    all.sort_by_key(|one| one.key);
    all.swap_remove(flow)
}

/// In builds with debug assertions, the capture itself panics if a packet is reported too late.
#[test]
fn a_link_reports_departures_at_most_one_delay_late() {
    let scenario = scenario();
    let labels: Vec<_> =
        node_labels(&scenario).into_iter().filter(|label| matches!(label.kind, NodeKind::Link(_))).collect();
    let taps = scenario.graph.links.iter().zip(labels.chunks(Dir::BOTH.len())).map(|(link, nodes)| {
        let taps = nodes.iter().map(|label| Tap::link(label.name.clone(), label.node, None).with_drops()).collect();
        (taps, link.down.delay.max(link.up.delay))
    });
    let (result, files) = run(&scenario, taps.collect());
    let mut packets = 0;
    for file in &files {
        let mut last = Time::ZERO;
        let done = read(&file[..], |at, _| {
            assert!(at >= last, "{at:?} after {last:?}");
            last = at;
        });
        packets = packets.max(done.expect("our own file").packets);
    }
    assert!(packets > 10_000 && result.conservation.holds());
}

fn scenario() -> Scenario {
    changed(&[])
}

fn changed(settings: &[(&str, &str)]) -> Scenario {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(SCENARIO, "captured.toml", &settings).expect("a valid scenario")
}

fn run(scenario: &Scenario, taps: Vec<(Vec<Tap>, Duration)>) -> (RunResult, Vec<Vec<u8>>) {
    let (files, captures): (Vec<SharedFile>, Vec<Capture>) = taps
        .into_iter()
        .map(|(taps, lateness)| {
            let file = SharedFile::default();
            (file.clone(), Capture::new(file, taps, lateness))
        })
        .unzip();
    let options = RunOptions {
        observers: captures.iter().map(|capture| Box::new(capture.clone()) as _).collect(),
        ..RunOptions::default()
    };
    let result = lopsided_sim::run(scenario, 1, options, &Monitor::default()).expect("a run");
    captures.iter().for_each(|capture| assert!(capture.finish().expect("memory does not fail") > 0));
    (result, files.iter().map(SharedFile::bytes).collect())
}

fn summaries(file: &[u8]) -> Vec<FlowSummary> {
    let mut table = FlowTable::default();
    read(file, |at, packet| table.observe(at, packet)).expect("our own file");
    table.summaries()
}

/// Returns the summary of the flow that this host sends. The first host sends the download, the second host the upload.
/// The summaries are sorted by addresses.
fn sent_by(host: usize, mut summaries: Vec<FlowSummary>) -> FlowSummary {
    assert_eq!(summaries.len(), 2, "each flow carries data one way");
    summaries.swap_remove(host)
}
