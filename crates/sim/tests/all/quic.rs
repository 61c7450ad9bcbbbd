//! Flows over QUIC: delivery, counters, and repeatability.

use super::{run, scenario};
use lopsided_sim::{Job, Monitor, RunControllers, RunOptions, RunResult, run as run_scenario, run_many};
use std::process::Command;

fn line(app: &str, more: &str) -> String {
    format!(
        r#"
        [scenario]
        duration = "30 s"
        [link]
        rtt = "40 ms"
        queue = "60 packets"
        down.rate = "8 Mbit/s"
        up.rate = "400 kbit/s"
        {more}
        [[flow]]
        name = "it"
        direction = "down"
        cc = "cubic"
        app = {app}
        transport = "quic"
    "#
    )
}

fn with(text: &str, settings: &[(&str, &str)]) -> RunResult {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = lopsided_scenario::Scenario::parse(text, "quic.toml", &settings).expect("a valid scenario");
    run_scenario(&scenario, scenario.seed, RunOptions::default(), &Monitor::default()).expect("it runs")
}

/// Each object of a page has its own stream, and is reported once despite losses.
#[test]
fn pages_over_quic_streams_are_complete_despite_losses() {
    for loss in ["0 %", "3 %"] {
        let app = r#"{ kind = "http", objects = 12, object_size = "30 kB", index_size = "20 kB", pages = 4 }"#;
        let result = run(&line(app, &format!("down.loss = \"{loss}\"\nup.loss = \"{loss}\"")));
        let count = |what: &str| result.transfers.what.iter().filter(|word| **word == what).count();
        assert_eq!((count("page"), count("index"), count("object"), count("connect")), (4, 4, 48, 4), "{loss}");
        assert_eq!(result.flows.transfers, [4]);
    }
}

/// Every byte of every transfer arrives exactly once.
#[test]
fn quic_transfers_are_complete_despite_loss_and_reordering() {
    let harm = r#"down = { loss = "2 %", jitter = "20 ms", reorder = true }"#;
    for more in ["", "down.loss = \"5 %\"\nup.loss = \"5 %\"", harm] {
        let Ok(_) = lopsided_scenario::Scenario::parse(&line("\"1 B\"", more), "quic.toml", &[]) else {
            continue;
        };
        let app = r#"{ kind = "transfer", size = "300 kB", repeat = 5, pause = "100 ms" }"#;
        let result = run(&line(app, more));
        assert_eq!(result.flows.transfers, [5], "{more}");
        assert_eq!(result.flows.delivered_bytes, [1_500_000], "{more}");
        assert_eq!(result.flows.acked_bytes, [1_500_000], "{more}");
    }
}

/// The counters of a flow agree with each other.
#[test]
fn the_counters_of_a_quic_flow_are_consistent() {
    let result = run(&line(r#""bulk""#, "down.loss = \"1 %\""));
    let flows = &result.flows;
    assert_eq!((&*flows.profile[0], &*flows.cc[0]), ("quic", "cubic"));
    assert!(flows.retransmits[0] > 0);
    assert!(flows.sent_bytes[0] >= flows.acked_bytes[0]);
    assert!(flows.delivered_bytes[0] >= flows.acked_bytes[0], "acknowledged data was read");
    assert!(flows.rtt_min_ms[0] >= 40.0);
    assert!(flows.cwnd_max_bytes[0].is_some_and(|cwnd| cwnd > 14_520));
}

/// If this environment variable is set, the test below writes its digest to the named file.
const DIGEST_TO: &str = "LOPSIDED_QUIC_DIGEST_TO";

/// The same seed produces the same digest on any number of threads and in another process. Another seed produces
/// another digest.
#[test]
fn a_seed_gives_the_same_digest_on_threads_and_in_another_process() {
    let text = line(r#"{ kind = "http", objects = 9, object_size = "40 kB" }"#, "down.loss = \"1 %\"");
    let first = run(&text);
    if let Some(file) = std::env::var_os(DIGEST_TO) {
        std::fs::write(file, format!("{:016x}", first.digest)).expect("a file can be written");
        return;
    }
    assert_eq!(first.digest, run(&text).digest, "twice in one process");
    assert_ne!(first.digest, with(&text, &[("scenario.seed", "2")]).digest, "another seed");
    let its = scenario(&text);
    let jobs = [its.seed; 2].map(|seed| Job { scenario: &its, seed });
    for result in run_many(&jobs, 2, &RunControllers::default(), &Monitor::default()) {
        assert_eq!(first.digest, result.expect("it runs").digest, "on threads");
    }
    let file = std::env::temp_dir().join(format!("lopsided-quic-{}", std::process::id()));
    let name = "quic::a_seed_gives_the_same_digest_on_threads_and_in_another_process";
    let child = Command::new(std::env::current_exe().expect("a test binary"))
        .args([name, "--exact"])
        .env(DIGEST_TO, &file)
        .output()
        .expect("the test binary runs again");
    let digest = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert!(child.status.success(), "{child:?}");
    assert_eq!(digest.expect("the second process wrote it"), format!("{:016x}", first.digest), "another process");
}

/// ACK_FREQUENCY frames, or the receiver's own policy, reduce the number of ACKs.
#[test]
fn the_receiver_sends_acks_at_the_configured_frequency() {
    let text = line(r#""bulk""#, "up.rate = \"10 Mbit/s\"").replace("up.rate = \"400 kbit/s\"", "");
    let ratio = |settings: &[(&str, &str)]| {
        let result = with(&text, settings);
        let acks = result.links.arrived_packets[1] as f64;
        acks / result.links.sent_packets[0] as f64
    };
    let (usual, asked) =
        (ratio(&[]), ratio(&[("flow.it.transport.ack_packets", "10"), ("flow.it.transport.ack_frequency", "true")]));
    let alone = ratio(&[("flow.it.transport.ack_packets", "10")]);
    assert!((0.45..0.6).contains(&usual), "{usual}");
    assert!((0.09..0.15).contains(&asked), "{asked}");
    assert!((0.09..0.15).contains(&alone), "{alone}");
}

/// Settings of the transport are written and read back.
#[test]
fn a_quic_flow_is_written_and_parsed_again() {
    let text = line(r#""bulk""#, "");
    let before = scenario(&text);
    let after = lopsided_scenario::Scenario::parse(&before.to_toml(), "quic.toml", &[]).expect("valid");
    assert_eq!(before.flows, after.flows);
}

/// Paced BBR keeps the queue short and loses few packets. quinn's own BBR fills the queue.
#[cfg(feature = "noq")]
#[test]
fn bbr_is_paced_by_its_rate_over_noq() {
    let text = line(r#""bulk""#, "").replace("60 packets", "100 packets").replace("400 kbit/s", "4 Mbit/s");
    for cc in ["bbr", "bbr3"] {
        let [quic, tcp] = ["quic", "tcp"].map(|transport| {
            let flows = with(&text, &[("flow.it.cc", cc), ("flow.it.transport", transport)]).flows;
            (
                flows.goodput_bps[0],
                flows.rtt_mean_ms[0],
                flows.retransmits[0] as f64 / flows.data_segments_out[0] as f64,
            )
        });
        assert!(quic.0 > 0.95 * tcp.0, "{cc}: {quic:?} {tcp:?}");
        assert!(quic.1 < 1.15 * tcp.1, "{cc}: {quic:?} {tcp:?}");
        assert!(quic.2 < tcp.2 + 0.01, "{cc}: {quic:?} {tcp:?}");
    }
}
